"""What is measured: a workload is named tables and queries over them; one module for each, listed in `registry`."""

import dataclasses
import pathlib
from collections.abc import Callable, Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@dataclasses.dataclass(frozen=True)
class Query:
    """A query, timed until its rows are there.

    `columns` are the ones whose values are determined, where ties or a LIMIT leave the others open: only they are
    compared, and no column means that the number of rows is. With `check`, the rows go to a table `answer`, and that
    query says afterwards, untimed, what is in it. With `file`, `answer` is loaded from it instead: Parquet, or CSV whose
    columns have the `types`. `{table}` in FROM is the file of a table.
    """

    name: str
    sql: str
    columns: tuple[int, ...] | None = None
    check: str | None = None
    file: str | None = None
    types: str | None = None


@dataclasses.dataclass(frozen=True)
class Workload:
    """Tables and queries, for a size: rows of the largest table, or a scale factor."""

    name: str
    full: float
    quick: float
    tables: tuple[str, ...]
    # Yields (table, pyarrow table) for a size.
    generate: Callable[[float], Iterator]
    # The queries for a size.
    queries: Callable[[float], list[Query]]
    # The folder of the data, if several workloads share one.
    shared: str | None = None
    # Whether the queries read the files themselves, so that nothing is loaded.
    from_files: bool = False

    def folder(self, size):
        return ROOT / "data" / f"{self.shared or self.name + '-'}{size:g}"

    def files(self, size):
        """The Parquet file of each table, generated if one is missing."""
        folder = self.folder(size)
        files = {table: folder / f"{table}.parquet" for table in self.tables}
        if not all(file.exists() for file in files.values()):
            folder.mkdir(parents=True, exist_ok=True)
            for table, rows in self.generate(size):
                write(rows, files[table])
        return {table: str(file) for table, file in files.items()}


def write(rows, file):
    import pyarrow.parquet

    unfinished = file.with_suffix(".unfinished")
    pyarrow.parquet.write_table(rows, unfinished, row_group_size=1 << 17)
    unfinished.rename(file)
