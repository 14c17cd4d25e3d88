//! What this crate's tests share.

use std::sync::Arc;

use base::Random;
use types::ops::like::{DEFAULT_ESCAPE, LikePattern};
use types::{Chunk, Column, ColumnBuilder, SqlType, Value};

/// Types of every layout.
pub(crate) const TYPES: [SqlType; 16] = [
    SqlType::Bool,
    SqlType::SmallInt,
    SqlType::Integer,
    SqlType::BigInt,
    SqlType::Decimal { precision: 12, scale: 2 },
    SqlType::Decimal { precision: 30, scale: 2 },
    SqlType::Real,
    SqlType::Double,
    SqlType::Text,
    SqlType::Date,
    SqlType::Time,
    SqlType::Uuid,
    SqlType::Timestamptz,
    SqlType::Interval,
    SqlType::Array(&SqlType::Integer),
    SqlType::Array(&SqlType::Text),
];

/// A value of the type, of which there are about `distinct`.
pub(crate) fn value(random: &mut Random, sql_type: SqlType, distinct: u64) -> Value {
    let n = random.below(distinct) as i64 - distinct as i64 / 2;
    match sql_type {
        SqlType::Null => Value::Null,
        SqlType::Bool => Value::Bool(n & 1 == 0),
        SqlType::SmallInt => Value::Int((n as i16).into()),
        SqlType::Integer => Value::Int((n as i32).into()),
        SqlType::BigInt => Value::Int(n),
        SqlType::Decimal { .. } => Value::Decimal(n.into()),
        SqlType::Real | SqlType::Double => match n {
            0 => Value::Float(f64::NAN),
            1 => Value::Float(-0.0),
            2 => Value::Float(0.0),
            3 => Value::Float(f64::INFINITY),
            n => Value::Float(n as f64 / 4.0),
        },
        SqlType::Date => Value::Date(n as i32),
        SqlType::Enum(_) => Value::Enum(n as i32),
        SqlType::Time => Value::Time(n),
        SqlType::Timetz => Value::Timetz(n),
        SqlType::Uuid => Value::Uuid((i128::from(n) << 64) as u128),
        SqlType::Timestamp | SqlType::Timestamptz => Value::Timestamp(n),
        SqlType::Interval => {
            Value::Interval(types::Interval { months: (n % 3) as i32, days: (n % 40) as i32, micros: n / 7 })
        }
        SqlType::Map(of) => types::ops::map::encode(&[], of).expect("a map"),
        SqlType::Struct(of) => {
            let values: Vec<Value> = of.fields.iter().map(|f| value(random, f.sql_type, distinct)).collect();
            types::ops::structure::encode(&values, of).expect("fields of the type")
        }
        SqlType::Array(&element) => {
            let values: Vec<Value> =
                (0..n.unsigned_abs() % 4).map(|_| self::value(random, element, distinct)).collect();
            types::ops::array::encode(&values, element).expect("elements of the type")
        }
        // Nothing here knows what a text means.
        SqlType::Numeric { .. } => {
            Value::str(types::ops::numeric::encode(&types::ops::numeric::of_decimal(n.into(), 3)))
        }
        SqlType::Range(&element) => {
            types::ops::range::make(&value(random, element, distinct), &Value::Null, "[)", element).expect("a range")
        }
        SqlType::Bytea => Value::str(types::ops::bytes::form(&n.to_be_bytes())),
        SqlType::Json | SqlType::Jsonb => Value::str(format!("[{n}]")),
        SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => Value::str(match n % 4 {
            0 => format!("{n}"),
            1 => format!("prefix {n}"),
            2 => "x".repeat(n.unsigned_abs() as usize % 50),
            _ => format!("a rather long text, number {n}"),
        }),
    }
}

/// A pattern that never fails and that texts of [`value`] match now and then.
pub(crate) fn pattern(random: &mut Random) -> Arc<LikePattern> {
    const PATTERNS: [&str; 16] = [
        "%",
        "",
        "7",
        "prefix 1%",
        "p%1",
        "%7",
        "%11",
        "%er 12",
        "%number%",
        "%xx%",
        "%t%n%",
        "%number 1%",
        "pre%fix%",
        "%refix -%",
        "%x",
        "a rather long text, number -%",
    ];
    let pattern = random.pick(&PATTERNS);
    let fold = random.below(4) == 0;
    let compile = if fold { LikePattern::case_insensitive } else { LikePattern::new };
    Arc::new(compile(pattern, DEFAULT_ESCAPE).expect("a pattern"))
}

pub(crate) fn column(sql_type: SqlType, values: &[Value]) -> Column {
    let mut builder = ColumnBuilder::new(sql_type, values.len());
    values.iter().for_each(|v| builder.push_value(v));
    builder.finish()
}

/// A chunk of integers: one slice a column.
pub(crate) fn integers(columns: &[&[i64]]) -> Chunk {
    let build = |values: &&[i64]| {
        let values: Vec<Value> = values.iter().map(|&v| Value::Int(v)).collect();
        column(SqlType::BigInt, &values)
    };
    Chunk::new(columns[0].len(), columns.iter().map(build).collect())
}
