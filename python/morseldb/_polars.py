"""Polars: what its frames and Arrow's C interface do not share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import DataError, NotSupportedError

if TYPE_CHECKING:
    import polars
    import pyarrow

# Longer durations have more microseconds than 64 bits can count.
_MOST_DAYS = 100_000_000


class Readable:
    """A Polars frame as a stream that others can read: without types that only Polars reads as it writes them."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        import polars

        frame = self._frame.collect() if isinstance(self._frame, polars.LazyFrame) else self._frame
        for name, kind in frame.schema.items():
            shared = _shared(kind)
            if shared == kind:
                continue
            try:
                frame = frame.with_columns(frame[name].cast(shared))
            except polars.exceptions.PolarsError as error:
                raise NotSupportedError(f'column "{name}" of type {kind} (Polars): {error}', "0A000") from error
        return frame.__arrow_c_stream__(requested_schema)


def _shared(kind: Any) -> Any:
    """The type that a column is handed over in. Columns inside of columns count: the others are of use without them."""
    import polars

    if kind == polars.Null:
        return polars.String
    if str(kind) in ("Int128", "UInt128"):
        return polars.Decimal(38, 0)
    if isinstance(kind, polars.List):
        return polars.List(_shared(kind.inner))
    if isinstance(kind, polars.Array):
        return polars.Array(_shared(kind.inner), kind.size)
    if isinstance(kind, polars.Struct):
        return polars.Struct([polars.Field(field.name, _shared(field.dtype)) for field in kind.fields])
    return kind


def frame_of(stream: Any, intervals: list[int]) -> polars.DataFrame:
    """The frame of a stream whose columns at the places ``intervals`` are intervals: those become durations."""
    import polars

    if intervals:
        stream = _with_durations(stream, intervals)
    try:
        return polars.DataFrame(stream)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
        raise NotSupportedError(f"Polars cannot hold the result: {error}", "0A000") from error


def _with_durations(stream: Any, intervals: list[int]) -> pyarrow.Table:
    import pyarrow

    table = pyarrow.RecordBatchReader.from_stream(stream).read_all()
    for place in intervals:
        field = table.schema.field(place).with_type(pyarrow.duration("us"))
        chunks = [_durations(chunk) for chunk in table.column(place).chunks]
        table = table.set_column(place, field, pyarrow.chunked_array(chunks, field.type))
    return table


def _durations(intervals: pyarrow.Array) -> pyarrow.Array:
    """Intervals of months, days and nanoseconds as microseconds. Months have 30 days, as in Python's timedeltas."""
    import pyarrow
    import pyarrow.compute as compute

    def part(kind: pyarrow.DataType, place: int) -> pyarrow.Array:
        """The numbers at one place of the 16 bytes that an interval takes."""
        each = 16 * 8 // kind.bit_width
        end = each * (intervals.offset + len(intervals))
        numbers = pyarrow.Array.from_buffers(kind, end, [None, intervals.buffers()[1]])[each * intervals.offset :]
        lists = pyarrow.FixedSizeListArray.from_arrays(numbers, each, mask=intervals.is_null())
        return compute.list_element(lists, place).cast(pyarrow.int64())

    months, days, nanoseconds = part(pyarrow.int32(), 0), part(pyarrow.int32(), 1), part(pyarrow.int64(), 1)
    days = compute.add(compute.multiply(months, 30), days)
    if compute.any(compute.greater(compute.abs(days), _MOST_DAYS)).as_py():
        raise DataError("the interval is too long for a duration of Polars", "22008")
    micros = compute.add(compute.multiply(days, 86_400_000_000), compute.divide(nanoseconds, 1000))
    return micros.cast(pyarrow.duration("us"))
