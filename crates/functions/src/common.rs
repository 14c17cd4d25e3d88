//! What values of two types are converted to where they must be of one.

use types::{SqlType, StructField, StructType};

/// The type to which values of both types convert implicitly; an untyped literal ([`SqlType::Null`]) takes the other's.
pub fn common_type(a: SqlType, b: SqlType) -> Option<SqlType> {
    use SqlType::*;
    Some(match (a, b) {
        (Null, t) | (t, Null) => t,
        (a, b) if a == b => a,
        (Varchar(m), Varchar(n)) => Varchar(m.max(n)),
        (Char(m), Char(n)) => Char(m.max(n)),
        (a, b) if a.is_string() && b.is_string() => Text,
        (Date, Timestamp) | (Timestamp, Date) => Timestamp,
        (Timestamptz, Date | Timestamp) | (Date | Timestamp, Timestamptz) => Timestamptz,
        (Time, Interval) | (Interval, Time) => Interval,
        (Time, Timetz) | (Timetz, Time) => Timetz,
        (Map(a), Map(b)) => SqlType::map_of(common_type(a.key, b.key)?, common_type(a.value, b.value)?),
        (Struct(a), Struct(b)) => common_struct(a, b)?,
        (Array(a), Array(b)) => SqlType::array_of(common_type(*a, *b)?),
        (a, b) if !a.is_numeric() || !b.is_numeric() => return None,
        (Double, _) | (_, Double) => Double,
        (Real, _) | (_, Real) => Real,
        // Of what has no digits of its own, none are printed for the other's sake.
        (SqlType::NUMERIC, _) | (_, SqlType::NUMERIC) => SqlType::NUMERIC,
        (Numeric { .. }, _) | (_, Numeric { .. }) => SqlType::numeric_showing(a.shown_scale().max(b.shown_scale())),
        (BigInt, b) if b.is_integer() => BigInt,
        (a, BigInt) if a.is_integer() => BigInt,
        (Integer, b) if b.is_integer() => Integer,
        (a, Integer) if a.is_integer() => Integer,
        (a, b) => {
            let ((p1, s1), (p2, s2)) = (a.as_decimal()?, b.as_decimal()?);
            let scale = s1.max(s2);
            SqlType::decimal(((p1 - s1).max(p2 - s2) + scale).min(SqlType::MAX_PRECISION), scale)
        }
    })
}

/// The fields of both, each of the common type of those of its name; of rows, of those in its place.
fn common_struct(a: &StructType, b: &StructType) -> Option<SqlType> {
    if a.is_row || b.is_row {
        let field = |(a, b): (&StructField, &StructField)| {
            let sql_type = common_type(a.sql_type, b.sql_type)?;
            Some(StructField { name: a.name.clone(), sql_type })
        };
        let fields = a.fields.iter().zip(&b.fields).map(field).collect::<Option<_>>()?;
        return (a.fields.len() == b.fields.len()).then(|| SqlType::row_of(fields));
    }
    let mut fields = a.fields.clone();
    for field in &b.fields {
        match a.position(&field.name) {
            Some(at) => fields[at].sql_type = common_type(fields[at].sql_type, field.sql_type)?,
            None => fields.push(field.clone()),
        }
    }
    Some(SqlType::struct_of(fields))
}
