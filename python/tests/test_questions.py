"""The page of questions says what comes out: its statements, one after the other, and its answers."""

import re
from pathlib import Path

import pytest

import morseldb

PAGE = Path(__file__).parents[2] / "docs" / "questions.md"
BLOCKS = re.findall(r"```sql\n(.*?)\n```(?:\n\n```text\n(.*?)\n```)?", PAGE.read_text(), flags=re.DOTALL)


def answer(connection, statement):
    """What Python prints, or nothing for a statement without rows."""
    if statement.lstrip().startswith("COPY"):
        connection.execute(statement)
        return ""
    return repr(connection.sql(statement))


def test_answers_are_those_of_the_page(flights, tmp_path, monkeypatch):
    for file in flights.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    assert len(BLOCKS) == 22
    with morseldb.connect(threads=2) as connection:
        for statement, expected in BLOCKS:
            assert answer(connection, statement) == expected, statement


@pytest.mark.skipif("not config.getoption('write_page')", reason="writes the page: --write-page")
def test_write(flights, tmp_path, monkeypatch):
    for file in flights.iterdir():
        (tmp_path / file.name).symlink_to(file)
    text = PAGE.read_text()
    monkeypatch.chdir(tmp_path)
    with morseldb.connect(threads=2) as connection:

        def written(block):
            told = answer(connection, block[1])
            return f"```sql\n{block[1]}\n```" + (f"\n\n```text\n{told}\n```" if told else "")

        text = re.sub(r"```sql\n(.*?)\n```(?:\n\n```text\n.*?\n```)?", written, text, flags=re.DOTALL)
    PAGE.write_text(text)
