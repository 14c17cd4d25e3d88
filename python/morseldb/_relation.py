"""Results: rows, Arrow, data frames, and a table to look at."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from . import _pandas, _polars
from ._errors import InterfaceError, ProgrammingError, native
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
        rows = native(self._open().fetch, 1)
        return rows[0] if rows else None

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


class Relation(Fetching):
    """A query's result that can be looked at, read in several ways, and used in FROM of other queries.

    The query starts when the relation is made; whoever reads all of it a second time runs it again.
    """

    def __init__(self, run: Callable[[], Result], result: Result) -> None:
        self._run = run
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
