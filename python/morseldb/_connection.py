"""Connections and cursors."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from types import TracebackType
from typing import Any, TypeVar

from . import _errors, _frames
from ._errors import PLAIN_ERRORS, InterfaceError, ProgrammingError, native, raise_own
from ._morseldb import Result, Session, parameter_names
from ._relation import Fetching, Relation, Source, quoted, text_of

Parameters = Sequence[Any] | Mapping[str, Any] | None
Self = TypeVar("Self", bound="Cursor")

_UNDEFINED_TABLE = "42P01"
# The types of pandas.NaT and pandas.NA.
_MISSING = frozenset(["NaTType", "NAType"])
# Types of values that are passed on as they are.
_PLAIN = frozenset([int, str, float, bool, bytes, type(None)])


class Cursor(Fetching):
    """A session: runs statements and reads their rows. Cursors are independent of each other; each thread has its own.
    They are closed with their connection.

    A statement has effect when it ends, unless it is part of a transaction of several: ``with con.transaction():``, or
    ``begin``, ``commit`` and ``rollback``. A transaction is its session's: other cursors see nothing of it before it ends.
    """

    Warning = _errors.Warning
    Error = _errors.Error
    InterfaceError = _errors.InterfaceError
    DatabaseError = _errors.DatabaseError
    DataError = _errors.DataError
    OperationalError = _errors.OperationalError
    IntegrityError = _errors.IntegrityError
    InternalError = _errors.InternalError
    ProgrammingError = _errors.ProgrammingError
    NotSupportedError = _errors.NotSupportedError

    _closed = "the cursor is closed, or its connection"

    def __init__(self, session: Session, connection: Connection | None) -> None:
        self._session: Session | None = session
        self._connection = connection
        self._result: Result | None = None
        self._notices: list[str] = []
        self._row_count = -1
        self._find = _frames.Caller()
        self.arraysize = 1

    def _connected(self) -> Session:
        if self._session is None:
            raise InterfaceError(self._closed)
        return self._session

    def _home(self) -> Connection:
        assert self._connection is not None
        return self._connection

    def _check_open(self) -> None:
        self._connected()

    def _open(self) -> Result:
        self._connected()
        if self._result is None or not self._result.has_rows():
            raise InterfaceError("there is no result with rows: execute a query first")
        return self._result

    def _peeked(self) -> Result | None:
        return self._result

    def execute(self: Self, sql: str, parameters: Parameters = None) -> Self:
        """Runs a statement, with values for ``?`` or ``$1``, or a mapping for ``$name``; without parameters also a
        script of several statements.

        Returns the cursor itself: ``cursor.execute(...).fetchall()``. Tables that do not exist are looked for among
        the caller's variables: pyarrow, pandas and Polars frames, and all with ``__arrow_c_stream__``.
        """
        self._result = None
        self._row_count = -1
        result = self._run(sql, _listed(sql, parameters), self._find)
        self._row_count = result.row_count()
        self._result = result
        return self

    def _run(
        self, sql: str, parameters: list[Any], find: _frames.Find, found: Callable[[str], Any] | None = None
    ) -> Result:
        """Runs a statement. ``found`` looks names up instead of ``find`` itself."""
        try:
            return (self._session or self._connected()).execute(sql, parameters, found or find)
        except PLAIN_ERRORS as error:
            raise_own(error)
        except ProgrammingError as error:
            if error.sqlstate == _UNDEFINED_TABLE and find.hint is not None:
                error._suggest(find.hint)
            raise

    def executemany(self: Self, sql: str, parameters: Iterable[Sequence[Any] | Mapping[str, Any]]) -> Self:
        """Runs a statement once for each sequence of values."""
        self._result = None
        self._row_count = -1
        self._connected()
        find = _frames.Lookup(_frames.caller())
        if not isinstance(parameters, Iterable):
            raise ProgrammingError("executemany takes sequences of values: [(1, 'a'), (2, 'b')]")
        total, last = -1, None
        for values in parameters:
            last = self._run(sql, _listed(sql, values), find)
            if last.row_count() >= 0:
                total = max(total, 0) + last.row_count()
        self._result, self._row_count = last, total
        return self

    def executescript(self: Self, sql: str) -> Self:
        """Runs all statements of a script."""
        return self.execute(sql)

    def sql(self, query: str, parameters: Parameters = None) -> Relation:
        """Runs a statement; the relation has a query's rows, or shows what another statement did."""
        find = _frames.Lookup(_frames.caller())
        found: dict[str, Any] = {}

        def remembering(name: str) -> Any:
            if name not in found:
                found[name] = find(name)
            return found[name]

        values = _listed(query, parameters)
        result = self._run(query, values, find, remembering)
        # A relation that runs again sees the same data frames. It does not keep the caller's other variables.
        return self._relation(query, values, found, result)

    def _relation(
        self, query: str, parameters: list[Any], frames: Mapping[str, Any], result: Result | None = None
    ) -> Relation:
        """The relation of a query that is run now, unless it runs already."""
        run = functools.partial(self._again, query, parameters, frames)
        source = Source(query, parameters, frames, self._relation)
        return Relation(run, run() if result is None else result, source)

    def _again(self, query: str, parameters: list[Any], frames: Mapping[str, Any]) -> Result:
        return native(self._connected().execute, query, parameters, frames.get)

    query = sql

    def table(self, name: str) -> Relation:
        """All rows of a table."""
        return self.sql(f"SELECT * FROM {'.'.join(map(quoted, name.split('.')))}")

    def read_csv(self, path: str | os.PathLike[str] | Sequence[str], **options: Any) -> Relation:
        """The rows of CSV files; options are those of SQL's ``read_csv``: ``read_csv("f.csv", delim=";")``."""
        return self._read_files("read_csv", path, options)

    def read_parquet(self, path: str | os.PathLike[str] | Sequence[str], **options: Any) -> Relation:
        """The rows of Parquet files."""
        return self._read_files("read_parquet", path, options)

    def read_json(self, path: str | os.PathLike[str] | Sequence[str], **options: Any) -> Relation:
        """The rows of JSON files."""
        return self._read_files("read_json", path, options)

    def _read_files(self, reader: str, path: Any, options: Mapping[str, Any]) -> Relation:
        given = [_literal(path), *(f"{name} = {_literal(value)}" for name, value in options.items())]
        return self.sql(f"SELECT * FROM {reader}({', '.join(given)})")

    @property
    def rowcount(self) -> int:
        """Rows that the last statement wrote; -1 for queries."""
        return self._row_count

    @property
    def notices(self) -> list[str]:
        """What statements of this session have told besides their results (RAISE NOTICE), the oldest first; may be cleared."""
        self._notices.extend(self._connected().take_notices())
        return self._notices

    def callproc(self, name: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Calls a procedure (PEP 249); returns what it gives back in the places of its last parameters, if it does."""
        places = ", ".join("?" for _ in parameters)
        given = list(parameters)
        self.execute(f"call {name}({places})", given)
        row = self.fetchone() if self.description else None
        if row is not None:
            self._result = None
            given[max(0, len(given) - len(row)) :] = row
        return given

    def register(self, name: str, frame: Any) -> None:
        """Makes a copy of a data frame usable in FROM under a name, in all sessions."""
        found = _frames.streamable(frame)
        if found is None:
            raise InterfaceError(f"a {type(frame).__name__} is no data frame: it has no __arrow_c_stream__")
        native(self._connected().register, name, found)

    def unregister(self, name: str) -> None:
        """Forgets a registered data frame."""
        native(self._connected().unregister, name)

    def interrupt(self) -> None:
        """Stops the running statement, from another thread."""
        self._connected().interrupt()

    def begin(self, isolation: str | None = None, read_only: bool = False) -> None:
        """Begins a transaction: ``commit`` makes what it does visible to others, ``rollback`` takes it back.

        ``isolation`` is ``"serializable"`` (the usual), ``"repeatable read"`` or ``"read committed"``.
        """
        level = "" if isolation is None else f" isolation level {_level(isolation)}"
        self._command(f"begin{level}{' read only' if read_only else ''}")

    def commit(self) -> None:
        """Ends the transaction and makes what it has done visible; outside of one, statements have effect anyway.

        Raises OperationalError (SQLSTATE 40001) if another transaction was faster: then nothing of it has happened.
        """
        self._command("commit")

    def rollback(self) -> None:
        """Takes back what the transaction has done, and ends it; outside of one, there is nothing to take back."""
        self._command("rollback")

    @contextlib.contextmanager
    def transaction(self, isolation: str | None = None, read_only: bool = False) -> Iterator[None]:
        """A transaction for a ``with`` block: committed at its end, rolled back if an exception leaves it."""
        self.begin(isolation, read_only)
        try:
            yield
        except BaseException:
            self.rollback()
            raise
        self.commit()

    def _command(self, sql: str) -> None:
        native(self._connected().execute, sql, [], lambda _name: None)

    def cursor(self) -> Cursor:
        """Another session of the same database, for another thread."""
        made = Cursor(self._connected().fork(), self._home())
        self._home()._adopt(made)
        return made

    def close(self) -> None:
        """Closes the session; statements that run in other threads are stopped."""
        self._result = None
        session, self._session = self._session, None
        if session is not None:
            session.interrupt()

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Does nothing (PEP 249)."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing (PEP 249)."""

    def __next__(self) -> tuple[Any, ...]:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def __enter__(self: Self) -> Self:
        self._connected()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Connection(Cursor):
    """A database in main memory, and a session of it. Has all of a cursor's methods."""

    _closed = "the connection is closed"

    def __init__(self, session: Session) -> None:
        # Not itself its connection: without a cycle it goes at once when nobody uses it.
        super().__init__(session, None)
        # Not a plain lock: a handler of signals may interrupt what holds it.
        self._lock = threading.RLock()
        self._cursors: weakref.WeakSet[Cursor] = weakref.WeakSet()

    def _home(self) -> Connection:
        return self

    def _adopt(self, cursor: Cursor) -> None:
        """Makes a cursor one that is interrupted and closed with the connection."""
        with self._lock:
            self._connected()
            self._cursors.add(cursor)

    def _adopted(self) -> list[Cursor]:
        with self._lock:
            return list(self._cursors)

    def interrupt(self) -> None:
        """Stops the running statements of the connection and of its cursors, from another thread."""
        super().interrupt()
        for cursor in self._adopted():
            session = cursor._session
            if session is not None:
                session.interrupt()

    def close(self) -> None:
        """Closes the connection and its cursors: the database goes. Statements of other threads are stopped."""
        with self._lock:
            super().close()
            cursors = self._adopted()
        for cursor in cursors:
            cursor.close()

    @property
    def threads(self) -> int:
        """Threads that run queries."""
        return self._connected().threads()

    @property
    def memory_used(self) -> int:
        """Bytes that tables and running queries use."""
        return self._connected().memory_used()

    def __repr__(self) -> str:
        return "<morseldb.Connection (closed)>" if self._session is None else "<morseldb.Connection>"


def _level(isolation: str) -> str:
    level = isolation.replace("_", " ").lower()
    if level not in ("serializable", "repeatable read", "read committed"):
        raise ProgrammingError(f'"{isolation}" is no isolation level')
    return level


def _listed(sql: str, parameters: Parameters) -> list[Any]:
    if parameters is None:
        return []
    # Nearly all are these, and nothing needs to be found out about them.
    if (type(parameters) is tuple or type(parameters) is list) and _PLAIN.issuperset(map(type, parameters)):
        return list(parameters)
    if isinstance(parameters, Mapping):
        parameters = _by_name(sql, parameters)
    if isinstance(parameters, (str, bytes)) or not isinstance(parameters, Iterable):
        raise InterfaceError("parameters are a sequence of values: (1, 'a')")
    if isinstance(parameters, Set):
        raise ProgrammingError("a set has no order: parameters are a sequence of values: (1, 'a')")
    return [None if type(value).__name__ in _MISSING and _is_pandas(value) else value for value in parameters]


def _literal(value: Any) -> str:
    """A value of an option as SQL has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_literal(name)}: {_literal(each)}" for name, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return text_of(value if isinstance(value, str) else str(os.fspath(value)))


def _by_name(sql: str, parameters: Mapping[str, Any]) -> list[Any]:
    names = parameter_names(sql)
    given = {str(name).lower(): value for name, value in parameters.items()}
    if not names and given:
        raise InterfaceError("the statement has no parameters with names: write $name where a value belongs")
    missing = [name for name in names if name not in given]
    if missing:
        raise InterfaceError(f"there is no value for the parameter ${missing[0]}")
    unknown = [name for name in given if name not in names]
    if unknown:
        raise InterfaceError(f"the statement has no parameter ${unknown[0]}")
    return [given[name] for name in names]


def _is_pandas(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "pandas"


def connect(database: str | None = None, **settings: str | int | bool | None) -> Connection:
    """Opens a new database in main memory: ``connect(threads=2, memory_limit="4GB")``.

    ``database`` is None or ``":memory:"``. For statements of others there is
    ``connect(enable_external_access=False, lock_configuration=True)``, which closes files, and the variables of the
    program, to them. The settings, each with its default unless given:

    """
    if database not in (None, "", ":memory:"):
        raise _errors.NotSupportedError(
            "databases live in main memory: connect() or connect(':memory:')", sqlstate="0A000"
        )
    texts = [(name, _text(value)) for name, value in settings.items() if value is not None]
    try:
        return Connection(native(Session, texts))
    except _errors.DataError as error:
        raise ProgrammingError(str(error), error.sqlstate, None, error.hint, error.detail) from error


connect.__doc__ = (connect.__doc__ or "") + "\n".join(f"    {name}: {text}" for name, text in Session.settings())


def _text(value: str | int | bool) -> str:
    """The value of a setting as SQL has it."""
    return ("on" if value else "off") if isinstance(value, bool) else str(value)
