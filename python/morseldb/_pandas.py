"""pandas: what its frames and Arrow's types do not share."""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING, Any

from ._errors import DataError

if TYPE_CHECKING:
    import pandas
    import pyarrow


def frame_of(table: pyarrow.Table, exact: bool) -> pandas.DataFrame:
    """The frame of a table. Numerics, and decimals with a fraction, become floats, unless they shall be exact."""
    table = _with_numbers(table, exact)
    nullable = _nullable()
    # The columns that pandas has a type of its own for, as soon as there is a NULL among them: otherwise integers would
    # become floats, and large ones other numbers.
    places = [place for place, column in enumerate(table.columns) if column.null_count and column.type in nullable]
    rest = table
    for place in reversed(places):
        rest = rest.remove_column(place)
    try:
        frame: pandas.DataFrame = rest.to_pandas()
    except (ValueError, OverflowError) as error:
        raise DataError(f"pandas cannot hold the result: {error}") from error
    for place in places:
        column = table.column(place).to_pandas(types_mapper=nullable.get)
        frame.insert(place, table.column_names[place], column, allow_duplicates=True)
    for place, field in enumerate(table.schema):
        if _is_numeric(field):
            exactly = [None if text is None else decimal.Decimal(text) for text in table.column(place).to_pylist()]
            frame.isetitem(place, exactly)
    return frame


def _is_numeric(field: pyarrow.Field) -> bool:
    """Whether the texts of a column are numbers of any length."""
    return (field.metadata or {}).get(b"ARROW:extension:name") == b"morseldb.numeric"


def _nullable() -> dict[Any, Any]:
    import pandas
    import pyarrow

    return {
        pyarrow.bool_(): pandas.BooleanDtype(),
        pyarrow.int16(): pandas.Int16Dtype(),
        pyarrow.int32(): pandas.Int32Dtype(),
        pyarrow.int64(): pandas.Int64Dtype(),
    }


def _with_numbers(table: pyarrow.Table, exact: bool) -> pyarrow.Table:
    """The table with decimals as numbers that pandas can calculate with: objects are exact, but of no use there."""
    import pyarrow

    for place, field in enumerate(table.schema):
        if _is_numeric(field) and not exact:
            # Its texts are those of floats, too: NaN and Infinity.
            table = table.set_column(place, field.name, table.column(place).cast(pyarrow.float64()))
        if not pyarrow.types.is_decimal(field.type):
            continue
        if field.type.scale == 0:
            try:
                column = table.column(place).cast(pyarrow.int64())
            except pyarrow.ArrowInvalid:
                # Beyond 64 bits they stay what they are.
                continue
        elif exact:
            continue
        else:
            column = table.column(place).cast(pyarrow.float64())
        table = table.set_column(place, field.with_type(column.type), column)
    return table
