//! Random chunks for the tests of readers and writers.

use base::Random;
use types::ops::date::make_date;
use types::{Chunk, ColumnBuilder, Interval, SqlType, Value};

use crate::source::Field;

/// Columns of every type.
pub fn fields() -> Vec<Field> {
    let types = [
        SqlType::Bool,
        SqlType::SmallInt,
        SqlType::Integer,
        SqlType::BigInt,
        SqlType::decimal(9, 2),
        SqlType::decimal(18, 6),
        SqlType::decimal(38, 10),
        SqlType::Real,
        SqlType::Double,
        SqlType::Text,
        SqlType::Varchar(100),
        SqlType::Date,
        SqlType::Timestamp,
        SqlType::Timestamptz,
        SqlType::Time,
        SqlType::Uuid,
        SqlType::Interval,
    ];
    types.iter().enumerate().map(|(i, t)| Field::new(format!("c{i}"), *t)).collect()
}

fn random_value(random: &mut Random, sql_type: SqlType) -> Value {
    let mut signed = |n: u64| random.below(2 * n) as i64 - n as i64;
    match sql_type {
        SqlType::Bool => Value::Bool(signed(1) == 0),
        SqlType::SmallInt => Value::Int(signed(1 << 15)),
        SqlType::Integer => Value::Int(signed(1 << 31)),
        SqlType::BigInt => Value::Int(signed(1 << 62)),
        SqlType::Decimal { precision: 9, .. } => Value::Decimal(signed(999_999_999).into()),
        SqlType::Decimal { precision: 18, .. } => Value::Decimal(signed(1 << 50).into()),
        SqlType::Decimal { .. } => Value::Decimal(i128::from(signed(1 << 60)) * i128::from(signed(1 << 60))),
        SqlType::Real => Value::Float(f64::from(signed(1 << 40) as f32 / 1024.0)),
        SqlType::Double => Value::Float(signed(1 << 60) as f64 / 1e6),
        SqlType::Date => Value::Date(make_date(2000, 1, 1).unwrap() + signed(20_000) as i32),
        SqlType::Uuid => Value::Uuid(signed(1 << 60) as u128),
        SqlType::Time => Value::Time(signed(1 << 50).rem_euclid(86_400_000_001)),
        SqlType::Timestamp | SqlType::Timestamptz => Value::Timestamp(signed(1 << 50)),
        SqlType::Interval => {
            Value::Interval(Interval { months: signed(100) as i32, days: signed(50) as i32, micros: signed(1 << 40) })
        }
        _ => {
            let parts =
                ["", "a", "long enough not to be inline", ",", "\"", "\n", "\r", "\\", "\t", "é", "NA", "'", "\\."];
            let count = random.below(4);
            Value::str((0..count).map(|_| random.pick(&parts)).collect::<String>())
        }
    }
}

/// A chunk of [`fields`] with up to `rows` rows.
pub fn random_chunk(random: &mut Random, rows: u64) -> Chunk {
    let rows = random.below(rows) as usize;
    let fields = fields();
    let columns = fields.iter().map(|field| {
        let mut builder = ColumnBuilder::new(field.sql_type, rows);
        for _ in 0..rows {
            match random.below(8) {
                0 => builder.push_null(),
                _ => builder.push_value(&random_value(random, field.sql_type)),
            }
        }
        builder.finish()
    });
    let columns = columns.collect();
    Chunk::new(rows, columns)
}
