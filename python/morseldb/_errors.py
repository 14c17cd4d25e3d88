"""Exceptions of the DB-API (PEP 249), with what MorselDB knows about an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Warning(Exception):  # noqa: A001 - the DB-API's name
    """Something important that is no error."""


class Error(Exception):
    """Any error of MorselDB.

    ``sqlstate`` is the five-character code of the SQL standard, ``position`` the character of the statement (from 0)
    that the error is about, ``hint`` what could be done, ``detail`` a second sentence; None where there is none.
    """

    sqlstate: str | None
    position: int | None
    hint: str | None
    detail: str | None

    def __init__(
        self,
        message: str = "",
        sqlstate: str | None = None,
        position: int | None = None,
        hint: str | None = None,
        detail: str | None = None,
    ) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate
        self.position = position
        self.hint = hint
        self.detail = detail

    def _suggest(self, hint: str) -> None:
        """Adds a hint."""
        self.args = (f"{self}\nHINT: {hint}",)
        self.hint = hint if self.hint is None else f"{self.hint}; {hint}"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.sqlstate, self.position, self.hint, self.detail)


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


def native(call: Callable[..., T], *arguments: Any) -> T:
    """Calls the native module. Errors of Python's that it raises itself become the DB-API's; those of Python code that
    it calls (a frame's ``__arrow_c_stream__``, a handler of signals) do not: they have a deeper traceback."""
    try:
        return call(*arguments)
    except (TypeError, ValueError, OverflowError) as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        kind = DataError if isinstance(error, OverflowError) else ProgrammingError
        raise kind(str(error)) from error
