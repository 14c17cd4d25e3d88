"""Exceptions of the DB-API (PEP 249), with what MorselDB knows about an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


class Warning(Exception):  # noqa: A001 - the DB-API's name
    """Something important that is no error."""


@dataclass(frozen=True)
class Diagnostic:
    """What is known of an error, by psycopg's names; None where there is nothing."""

    sqlstate: str | None = None
    message_primary: str | None = None
    message_detail: str | None = None
    message_hint: str | None = None
    schema_name: str | None = None
    table_name: str | None = None
    column_name: str | None = None
    constraint_name: str | None = None
    datatype_name: str | None = None


class Error(Exception):
    """Any error of MorselDB.

    ``sqlstate`` is the five-character code of the SQL standard, ``position`` the character of the statement (from 0)
    that the error is about, ``hint`` what could be done, ``detail`` a second sentence; ``schema_name``, ``table_name``,
    ``column_name``, ``constraint_name`` and ``datatype_name`` are what it is about. None where there is none.
    """

    sqlstate: str | None
    position: int | None
    hint: str | None
    detail: str | None
    schema_name: str | None
    table_name: str | None
    column_name: str | None
    constraint_name: str | None
    datatype_name: str | None

    def __init__(
        self,
        message: str = "",
        sqlstate: str | None = None,
        position: int | None = None,
        hint: str | None = None,
        detail: str | None = None,
        primary: str | None = None,
        about: Sequence[str | None] = (None,) * 5,
    ) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate
        self.position = position
        self.hint = hint
        self.detail = detail
        self._primary = primary
        (self.schema_name, self.table_name, self.column_name, self.constraint_name, self.datatype_name) = about

    @property
    def diag(self) -> Diagnostic:
        """The same, as psycopg calls it."""
        return Diagnostic(self.sqlstate, self._primary, self.detail, self.hint, *self._about())

    def _about(self) -> tuple[str | None, ...]:
        return self.schema_name, self.table_name, self.column_name, self.constraint_name, self.datatype_name

    def _suggest(self, hint: str) -> None:
        """Adds a hint."""
        self.args = (f"{self}\nHINT: {hint}",)
        self.hint = hint if self.hint is None else f"{self.hint}; {hint}"

    def __reduce__(self) -> tuple[object, ...]:
        known = (str(self), self.sqlstate, self.position, self.hint, self.detail, self._primary, self._about())
        return type(self), known


class InterfaceError(Error):
    """The module was used wrongly: a closed connection, rows where there are none."""


class DatabaseError(Error):
    """An error of the database."""


class DataError(DatabaseError):
    """A value is wrong: division by zero, out of range, not a date."""


class OperationalError(DatabaseError):
    """The machine or the user stopped the statement: no memory, no such file, cancelled."""


class IntegrityError(DatabaseError):
    """A constraint was violated."""


class InternalError(DatabaseError):
    """A bug in MorselDB."""


class ProgrammingError(DatabaseError):
    """The statement is wrong: syntax, a table or column that does not exist."""


class NotSupportedError(DatabaseError):
    """SQL that MorselDB does not have."""


# What the native module raises itself of Python's.
PLAIN_ERRORS = (TypeError, ValueError, OverflowError)


def raise_own(error: Exception) -> NoReturn:
    """Raises the DB-API's error for one of ``PLAIN_ERRORS`` that was just caught where the native module was called. Errors of Python
    code that it calls (a frame's ``__arrow_c_stream__``, a handler of signals) stay what they are: they have a deeper traceback."""
    if error.__traceback__ is None or error.__traceback__.tb_next is not None:
        raise error
    kind = DataError if isinstance(error, OverflowError) else ProgrammingError
    raise kind(str(error)) from error


def native(call: Callable[..., T], *arguments: Any) -> T:
    """Calls the native module; its errors are the DB-API's."""
    try:
        return call(*arguments)
    except PLAIN_ERRORS as error:
        raise_own(error)
