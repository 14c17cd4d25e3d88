"""Results: rows, Arrow, data frames, and a table to look at."""

from __future__ import annotations

import dataclasses
import importlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from . import _pandas, _polars
from ._errors import PLAIN_ERRORS, InterfaceError, ProgrammingError, native, raise_own
from ._morseldb import Result

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Row = tuple[Any, ...]


class TypeObject:
    """A kind of column, for comparison with the second entry of ``description`` (PEP 249)."""

    def __init__(self, *names: str) -> None:
        self._names = frozenset(names)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return other.partition("(")[0] in self._names
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TypeObject({', '.join(sorted(self._names))})"


class Fetching:
    """What connections, cursors and relations have in common: the rows of a result."""

    arraysize: int = 1

    def _open(self) -> Result:
        """The result to read from."""
        raise NotImplementedError

    def _take(self) -> Result:
        """The result to read all of."""
        return self._open()

    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, bool]] | None:
        """Name, type, and whether NULL is possible, of each column (PEP 249)."""
        result = self._peeked()
        if result is None or not result.has_rows():
            return None
        return [(name, kind, None, None, None, None, nullable) for name, kind, nullable in result.columns()]

    def _peeked(self) -> Result | None:
        return self._open()

    def fetchone(self) -> Row | None:
        """The next row; None at the end."""
        # Not through `native`: of a statement that takes microseconds, each call counts.
        try:
            return self._open().fetch_one()
        except PLAIN_ERRORS as error:
            raise_own(error)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """The next ``size`` rows, or fewer at the end."""
        size = self.arraysize if size is None else size
        if isinstance(size, int) and size < 0:
            raise ProgrammingError(f"cannot fetch {size} rows")
        return native(self._open().fetch, size)

    def fetchall(self) -> list[Row]:
        """The remaining rows."""
        return native(self._open().fetch)

    def __iter__(self) -> Iterator[Row]:
        result = self._open()
        while rows := native(result.fetch, 1024):
            yield from rows
            self._check_open()

    def _check_open(self) -> None:
        """Raises if there is nothing more to be read because of a connection or cursor that has been closed."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows as a stream of Arrow's C interface, in a capsule; the query runs while the stream is read."""
        return self._take().stream()

    def _read(self, reader: Callable[[Any], Any]) -> Any:
        """What ``reader`` makes of the stream. Consumers wrap errors of a stream: the original is raised instead."""
        result = self._take()
        try:
            value = reader(_Stream(result.stream()))
        except BaseException:
            result.check()
            raise
        result.check()
        return value

    def arrow(self) -> pyarrow.Table:
        """The rows as a pyarrow Table."""
        _needed("arrow", "pyarrow")
        import pyarrow

        return self._read(lambda stream: pyarrow.RecordBatchReader.from_stream(stream).read_all())

    fetch_arrow_table = arrow

    def df(self, decimals: Literal["float", "exact"] = "float") -> pandas.DataFrame:
        """The rows as a pandas DataFrame.

        Integers and booleans with NULLs have pandas' nullable types. Decimals without fraction are integers; others, and
        numerics, are floats, which can be plotted, or with ``decimals="exact"`` objects of ``decimal.Decimal``.
        """
        _needed("df", "pandas", "pyarrow")
        return _pandas.frame_of(self.arrow(), decimals == "exact")

    fetchdf = df

    def pl(self) -> polars.DataFrame:
        """The rows as a Polars DataFrame; intervals as durations, with months of 30 days (by pyarrow)."""
        _needed("pl", "polars")
        intervals = [place for place, column in enumerate(self.description or []) if column[1] == "interval"]
        frame: polars.DataFrame = self._read(lambda stream: _polars.frame_of(stream, intervals))
        return frame


def _needed(method: str, *modules: str) -> None:
    """Raises an ImportError that says what to install if one of the modules is missing."""
    for module in modules:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            both = " ".join(modules)
            raise ImportError(f"{method}() needs {both.replace(' ', ' and ')}: pip install {both}", name=module) from error


class _Stream:
    """A capsule as an object that consumers of Arrow's C interface accept."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._capsule


@dataclasses.dataclass(frozen=True)
class Source:
    """What a relation is of: a query, the values of its parameters, and the data frames that it names."""

    query: str
    parameters: list[Any]
    frames: Mapping[str, Any]
    #: Makes the relation of another query.
    start: Callable[[str, list[Any], Mapping[str, Any]], Relation]

    def inside(self, name: str) -> str:
        """The query as a table of that name in FROM."""
        query = self.query.rstrip().rstrip(";")
        return f"(\n{query}\n) AS {quoted(name)}"


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


class Relation(Fetching):
    """A query's result that can be looked at, read in several ways, and used in FROM of other queries.

    The query starts when the relation is made; whoever reads all of it a second time runs it again. Relations are made of
    relations, each a query of its own, in which SQL's expressions stand: ``con.table("t").filter("a > 1").order("b DESC")``.
    """

    def __init__(self, run: Callable[[], Result], result: Result, source: Source | None = None) -> None:
        self._run = run
        self._source = source
        self.alias = "relation"
        # What a statement without rows did: it is not run again.
        self._did = None if result.has_rows() else result.tag()
        self._result: Result | None = result
        self._columns = result.columns()
        self._touched = False

    def _check_rows(self) -> None:
        if self._did is not None:
            raise InterfaceError(f"{self._did} gives no rows")

    def _open(self) -> Result:
        self._check_rows()
        if self._result is None:
            self._result = self._run()
        self._touched = True
        return self._result

    def _peeked(self) -> Result | None:
        self._check_rows()
        if self._result is None:
            self._result, self._touched = self._run(), False
        return self._result

    def _take(self) -> Result:
        self._check_rows()
        fresh = self._result if self._result is not None and not self._touched else self._run()
        self._result, self._touched = None, False
        return fresh

    def fetchall(self) -> list[Row]:
        """The remaining rows; all of them if none has been fetched."""
        rows = native(self._open().fetch)
        self._result, self._touched = None, False
        return rows

    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, bool]]:
        """Name, type, and whether NULL is possible, of each column."""
        return [(name, kind, None, None, None, None, nullable) for name, kind, nullable in self._columns]

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [name for name, _, _ in self._columns]

    @property
    def types(self) -> list[str]:
        """SQL types of the columns."""
        return [kind for _, kind, _ in self._columns]

    def show(self, max_rows: int = 40) -> None:
        """Prints the first rows."""
        print(self._render(max_rows))

    def __repr__(self) -> str:
        return self._render(40)

    def _render(self, limit: int) -> str:
        if self._did is not None:
            return self._did
        result = self._peeked()
        if result is None:
            raise InterfaceError("the result is closed")
        text, rows, more = native(result.render, limit, shutil.get_terminal_size().columns)
        return text + (f"first {rows} rows" if more else f"{rows} row{'' if rows == 1 else 's'}")

    def _derived(self, query: Callable[..., str], *others: Relation) -> Relation:
        """The relation of a query over these relations, whose places in FROM it is told."""
        parts = []
        for relation in (self, *others):
            relation._check_rows()
            if relation._source is None:
                raise InterfaceError("this relation is of no query")
            parts.append(relation._source)
        given = [part for part in parts if part.parameters]
        if len(given) > 1 and any("$" in part.query for part in given):
            raise InterfaceError("two relations with parameters like $1: write them as ?")
        names = [relation.alias for relation in (self, *others)]
        if len(set(names)) < len(names):
            names = [f"{name}_{number}" for number, name in enumerate(names, 1)]
        text = query(*(part.inside(name) for part, name in zip(parts, names)))
        parameters = given[0].parameters if len(given) == 1 else [value for part in given for value in part.parameters]
        frames = {name: frame for part in parts for name, frame in part.frames.items()}
        return parts[0].start(text, parameters, frames)

    def set_alias(self, alias: str) -> Relation:
        """The same with the name that conditions of a join know it by."""
        relation = self._derived(lambda table: f"SELECT * FROM {table}")
        relation.alias = alias
        return relation

    def filter(self, condition: str) -> Relation:
        """The rows for which a condition is true."""
        return self._derived(lambda table: f"SELECT * FROM {table} WHERE {condition}")

    def select(self, *columns: str) -> Relation:
        """Columns, or expressions of them: ``select("a", "b + 1 AS c")``, ``select("* EXCLUDE (b)")``."""
        return self._derived(lambda table: f"SELECT {', '.join(columns)} FROM {table}")

    project = select

    def aggregate(self, columns: str, group_by: str = "") -> Relation:
        """Aggregates: ``aggregate("city, sum(price)")``, by what is no aggregate, or by ``group_by``."""
        return self._derived(lambda table: f"SELECT {columns} FROM {table} GROUP BY {group_by or 'ALL'}")

    def order(self, *keys: str) -> Relation:
        """The rows in an order: ``order("a DESC", "b")``."""
        return self._derived(lambda table: f"SELECT * FROM {table} ORDER BY {', '.join(keys)}")

    sort = order

    def limit(self, rows: int, offset: int = 0) -> Relation:
        """So many of the first rows, after others that are passed over."""
        return self._derived(lambda table: f"SELECT * FROM {table} LIMIT {int(rows)} OFFSET {int(offset)}")

    def distinct(self) -> Relation:
        """Each row once."""
        return self._derived(lambda table: f"SELECT DISTINCT * FROM {table}")

    def union(self, other: Relation) -> Relation:
        """The rows of both, those that are equal too."""
        return self._derived(lambda one, two: f"SELECT * FROM {one} UNION ALL SELECT * FROM {two}", other)

    def intersect(self, other: Relation) -> Relation:
        """The rows that are in both, each once."""
        return self._derived(lambda one, two: f"SELECT * FROM {one} INTERSECT SELECT * FROM {two}", other)

    def except_(self, other: Relation) -> Relation:
        """The rows that are not in the other one, each once."""
        return self._derived(lambda one, two: f"SELECT * FROM {one} EXCEPT SELECT * FROM {two}", other)

    def join(self, other: Relation, on: str, how: str = "inner") -> Relation:
        """The pairs for which a condition is true, or whose columns of these names are equal: ``join(other, "id, day")``.

        In a condition the two are known by their aliases (:meth:`set_alias`). ``how`` is ``inner``, ``left``, ``right``,
        ``full``, ``semi`` or ``anti``.
        """
        kinds = ("inner", "left", "right", "full", "semi", "anti")
        if how.lower() not in kinds:
            raise ProgrammingError(f'"{how}" is no kind of join: there are {", ".join(kinds)}')
        names = [name.strip() for name in on.split(",")]
        is_names = all(name.isidentifier() for name in names)
        condition = f"USING ({', '.join(names)})" if is_names else f"ON {on}"
        return self._derived(lambda one, two: f"SELECT * FROM {one} {how} JOIN {two} {condition}", other)

    def query(self, name: str, sql: str) -> Relation:
        """Another query, in which the relation is a table of that name."""
        return self._derived(lambda table: f"WITH {quoted(name)} AS (SELECT * FROM {table}) {sql}")

    def describe(self) -> Relation:
        """What is in each column: least and greatest values, how many there are, how many are NULL."""
        return self._derived(lambda table: f"SUMMARIZE SELECT * FROM {table}")

    def explain(self) -> str:
        """How the query is run."""
        rows = self._derived(lambda table: f"EXPLAIN SELECT * FROM {table}").fetchall()
        return "\n".join(row[0] for row in rows)

    def create(self, table: str) -> None:
        """Makes a table of the rows."""
        self._derived(lambda inside: f"CREATE TABLE {_parts(table)} AS SELECT * FROM {inside}")

    to_table = create

    def insert_into(self, table: str) -> None:
        """Adds the rows to a table, by the places of the columns."""
        self._derived(lambda inside: f"INSERT INTO {_parts(table)} SELECT * FROM {inside}")

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the rows to a Parquet file."""
        self._to(path, "FORMAT parquet")

    write_parquet = to_parquet

    def to_csv(self, path: str | os.PathLike[str], header: bool = True, sep: str = ",") -> None:
        """Writes the rows to a CSV file."""
        self._to(path, f"FORMAT csv, HEADER {'true' if header else 'false'}, DELIMITER {text_of(sep)}")

    write_csv = to_csv

    def _to(self, path: str | os.PathLike[str], options: str) -> None:
        self._derived(lambda table: f"COPY (SELECT * FROM {table}) TO {text_of(os.fspath(path))} ({options})")


def _parts(name: str) -> str:
    """A name with its schema as SQL has it."""
    return ".".join(quoted(part) for part in name.split("."))


def text_of(value: str) -> str:
    """A text as SQL has it."""
    return "'" + value.replace("'", "''") + "'"
