//! Columns of queries as those of tables.

use base::Result;
use storage::Attribute;
use types::ops::cast::{TooLong, to_char_n, to_varchar};
use types::{Column, ColumnBuilder, SqlType, Value};

/// A column with exactly the type of an attribute of a relation of that name. Only bare NULLs and the lengths of strings can
/// differ: texts that are too long are error 22001.
pub(crate) fn typed(column: Column, attribute: &Attribute, name: &str) -> Result<Column> {
    match (column.sql_type(), attribute.sql_type) {
        (from, to) if from == to => Ok(column),
        (SqlType::Null, to) => {
            let mut nulls = ColumnBuilder::new(to, column.rows());
            (0..column.rows()).for_each(|_| nulls.push_null());
            Ok(nulls.finish())
        }
        (_, to @ (SqlType::Varchar(_) | SqlType::Char(_))) => {
            fitted_column(column, to).map_err(|e| e.detail(format!("column \"{}\" of \"{name}\"", attribute.name)))
        }
        (_, to) => Ok(column.with_type(to)),
    }
}

/// The same of one value; none: it is that already.
pub(crate) fn fitted(value: &Value, to: SqlType) -> Result<Option<Value>> {
    let Value::Str(text) = value else { return Ok(None) };
    let fitted = fitted_text(text, to)?;
    Ok((fitted.len() != text.len()).then(|| Value::str(fitted)))
}

/// A text as `varchar(n)` or `char(n)`.
fn fitted_text(text: &str, to: SqlType) -> Result<&str> {
    match to {
        SqlType::Char(n) => to_char_n(text, n, TooLong::Refuse),
        SqlType::Varchar(n) => to_varchar(text, n, TooLong::Refuse),
        _ => Ok(text),
    }
}

/// Strings as `varchar(n)` or `char(n)`; copied only if some of them changes.
fn fitted_column(column: Column, to: SqlType) -> Result<Column> {
    let fit = |text| fitted_text(text, to);
    let rows = column.rows();
    let mut changed = false;
    for row in 0..rows {
        let text = column.str(row);
        changed |= fit(text)?.len() != text.len();
    }
    if !changed {
        return Ok(column.with_type(to));
    }
    let mut builder = ColumnBuilder::new(to, rows);
    for row in 0..rows {
        if column.is_null(row) {
            builder.push_null();
        } else {
            builder.push_str(fit(column.str(row))?);
        }
    }
    Ok(builder.finish())
}
