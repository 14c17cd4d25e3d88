"""Data frames by name: what ``FROM df`` means when no table has that name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

from . import _polars


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
        return pyarrow.Table.from_pandas(frame, preserve_index=False).__arrow_c_stream__(requested_schema)


class Lookup:
    """A function from names to data frames among the variables of a frame: local ones first, then global ones."""

    def __init__(self, frame: FrameType | None) -> None:
        self._scopes: list[Mapping[str, Any]] = [] if frame is None else [frame.f_locals, frame.f_globals]
        self.hint: str | None = None
        """Why the last name that was looked up is no data frame although a variable has it."""

    def __call__(self, name: str) -> Any:
        self.hint = None
        for variables in self._scopes:
            found = streamable(variables.get(name))
            if found is not None:
                return found
        # SQL folds names to lower case: one variable that differs in case only is meant.
        for variables in self._scopes:
            alike = [value for key, value in variables.items() if key.lower() == name.lower()]
            found = [f for f in map(streamable, alike) if f is not None]
            if len(found) == 1:
                return found[0]
        for variables in self._scopes:
            if name in variables:
                kind = type(variables[name]).__name__
                self.hint = f'the variable "{name}" is a {kind}; data frames and Arrow tables can be used as tables'
                break
        return None
