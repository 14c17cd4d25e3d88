"""MorselDB: a main-memory relational database for Python.

>>> import morseldb
>>> morseldb.sql("select 1 + 1").fetchone()
(2,)

`connect()` opens a database; `sql()` and `execute()` of the module use one that all share.
"""

from __future__ import annotations

import datetime as _datetime
import threading as _threading
import time as _time
from collections.abc import Mapping as _Mapping
from collections.abc import Sequence as _Sequence
from typing import Any as _Any

from ._connection import Connection, Cursor, connect
from ._errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)
from ._morseldb import __version__
from ._relation import Relation, TypeObject

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"

STRING = TypeObject("text", "varchar", "char")
BINARY = TypeObject()
NUMBER = TypeObject("smallint", "integer", "bigint", "decimal", "numeric", "real", "double")
DATETIME = TypeObject("date", "timestamp", "interval")
ROWID = TypeObject()

Date = _datetime.date
Time = _datetime.time
Timestamp = _datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> _datetime.date:
    """The date of seconds since the epoch (PEP 249)."""
    return _datetime.date(*_time.localtime(ticks)[:3])


def TimestampFromTicks(ticks: float) -> _datetime.datetime:
    """The time of seconds since the epoch (PEP 249)."""
    return _datetime.datetime(*_time.localtime(ticks)[:6])


_lock = _threading.Lock()
_default: Connection | None = None


def default_connection() -> Connection:
    """The connection that the module's own functions use; made when first asked for."""
    global _default
    with _lock:
        if _default is None or _default._session is None:
            _default = connect()
        return _default


def sql(query: str, parameters: _Sequence[_Any] | _Mapping[str, _Any] | None = None) -> Relation:
    """Runs a statement in the default database; the relation has a query's rows, or shows what another one did."""
    return default_connection().sql(query, parameters)


def execute(query: str, parameters: _Sequence[_Any] | _Mapping[str, _Any] | None = None) -> Connection:
    """Runs a statement in the default database and returns its connection."""
    return default_connection().execute(query, parameters)


def read_csv(path: _Any, **options: _Any) -> Relation:
    """The rows of CSV files, by the default database."""
    return default_connection().read_csv(path, **options)


def read_parquet(path: _Any, **options: _Any) -> Relation:
    """The rows of Parquet files, by the default database."""
    return default_connection().read_parquet(path, **options)


def read_json(path: _Any, **options: _Any) -> Relation:
    """The rows of JSON files, by the default database."""
    return default_connection().read_json(path, **options)


__all__ = [
    "BINARY",
    "Binary",
    "Connection",
    "Cursor",
    "DATETIME",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NUMBER",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "ROWID",
    "Relation",
    "STRING",
    "Time",
    "Timestamp",
    "TimestampFromTicks",
    "TypeObject",
    "Warning",
    "__version__",
    "apilevel",
    "connect",
    "default_connection",
    "execute",
    "paramstyle",
    "read_csv",
    "read_json",
    "read_parquet",
    "sql",
    "threadsafety",
]
