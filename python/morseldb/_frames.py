"""Data frames by name: what ``FROM df`` means when no table has that name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any, Protocol

from . import _polars
from ._errors import NotSupportedError


def caller() -> FrameType | None:
    """The innermost frame outside of this package."""
    frame: FrameType | None = sys._getframe(1)
    package = __name__.partition(".")[0]
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame = frame.f_back
    return frame


def streamable(value: Any) -> Any:
    """An object with ``__arrow_c_stream__`` for a data frame; None for anything else."""
    if isinstance(value, type) or value is None:
        return None
    module = type(value).__module__.partition(".")[0]
    if module == "pandas" and type(value).__name__ == "DataFrame":
        return _Pandas(value)
    if module == "polars" and type(value).__name__ in ("DataFrame", "LazyFrame"):
        return _polars.Readable(value)
    if hasattr(value, "__arrow_c_stream__"):
        # A column alone (a pyarrow ChunkedArray, a Polars Series) is no table.
        return None if type(value).__name__ in ("ChunkedArray", "Series") else value
    if hasattr(value, "__arrow_c_array__") and module == "pyarrow":
        import pyarrow

        return pyarrow.Table.from_batches([value]) if isinstance(value, pyarrow.RecordBatch) else None
    return None


class _Pandas:
    """A pandas frame as a stream, by pyarrow where there is one: pandas' own stream needs it anyway."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        try:
            import pyarrow
        except ImportError:
            return self._frame.__arrow_c_stream__(requested_schema)
        frame = self._frame
        # Names of columns may be numbers.
        if not all(isinstance(name, str) for name in frame.columns):
            frame = frame.rename(columns=str)
        try:
            table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        except pyarrow.ArrowException as error:
            raise NotSupportedError(f"the pandas frame cannot be read: {error}", "0A000") from error
        return table.__arrow_c_stream__(requested_schema)


class Find(Protocol):
    """A function from names to data frames; ``hint`` says why the last name is none."""

    hint: str | None

    def __call__(self, name: str) -> Any: ...


class Caller:
    """Looks names up among the variables of whoever calls this package at that moment: statements that find all their tables
    cost nothing for it."""

    def __init__(self) -> None:
        self.hint: str | None = None

    def __call__(self, name: str) -> Any:
        find = Lookup(caller())
        found = find(name)
        self.hint = find.hint
        return found


class Lookup:
    """A function from names to data frames among the variables of a frame: local ones first, then global ones.

    ``hint`` says why the last name is no data frame, if there is a variable of that name.
    """

    def __init__(self, frame: FrameType | None) -> None:
        self._frame = frame
        self.hint: str | None = None

    def __call__(self, name: str) -> Any:
        self.hint = None
        if self._frame is None:
            return None
        scopes: list[Mapping[str, Any]] = [self._frame.f_locals, self._frame.f_globals]
        for variables in scopes:
            found = streamable(variables.get(name))
            if found is not None:
                return found
        # SQL folds names to lower case: one variable that differs in case only is meant.
        others: dict[str, Any] = {}
        for variables in scopes:
            alike = {key: value for key, value in list(variables.items()) if key.lower() == name.lower()}
            frames = [frame for frame in map(streamable, alike.values()) if frame is not None]
            if len(frames) == 1:
                return frames[0]
            others = others if others or frames else alike
        if others:
            key = name if name in others else next(iter(others))
            kind = type(others[key]).__name__
            self.hint = f'the variable "{key}" is a {kind}; data frames and Arrow tables can be used as tables'
        return None
