//! Single values: constants, samples, results row by row.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::SqlType;
use crate::ops::uuid;

/// An interval as PostgreSQL keeps it: months, days and microseconds do not convert into each other.
///
/// `#[repr(C)]`, 16 bytes, as in columns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(C)]
pub struct Interval {
    /// Months (12 a year).
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

impl Interval {
    /// Length with 30 days to the month and 24 hours to the day, in microseconds: what comparisons use.
    pub fn approximate_micros(self) -> i128 {
        const DAY: i128 = 86_400_000_000;
        (i128::from(self.months) * 30 + i128::from(self.days)) * DAY + i128::from(self.micros)
    }
}

/// One SQL value, without its type: an [`SqlType`] goes with it.
#[derive(Clone, Debug)]
pub enum Value {
    /// SQL NULL.
    Null,
    /// `boolean`
    Bool(bool),
    /// `smallint`, `integer`, `bigint`.
    Int(i64),
    /// Decimal, as an integer scaled by the type's scale.
    Decimal(i128),
    /// `real` (exactly representable as a double) and `double precision`.
    Float(f64),
    /// `text`, `varchar(n)`, `char(n)` (the last without trailing blanks), `json` and `jsonb`; `numeric`s, strings of bytes and arrays in
    /// [their](crate::ops::numeric) [forms](crate::ops::array).
    Str(Arc<str>),
    /// Days since 1970-01-01.
    Date(i32),
    /// `time`: microseconds since midnight.
    Time(i64),
    /// A time of day with an offset, as it lies in memory.
    Timetz(i64),
    /// `timestamp`, `timestamptz`: microseconds since 1970-01-01 00:00, of the second in UTC.
    Timestamp(i64),
    /// An interval.
    Interval(Interval),
    /// `uuid`, its first byte first.
    Uuid(u128),
    /// The code of an enum's label.
    Enum(i32),
}

impl Value {
    /// A string.
    pub fn str(text: impl Into<Arc<str>>) -> Self {
        Self::Str(text.into())
    }

    /// The value of a type whose values lie in memory as integers; none of other types. What reads memory by its physical form
    /// needs no more to know of types.
    pub fn of_integer(sql_type: SqlType, stored: i128) -> Option<Self> {
        Some(match sql_type {
            SqlType::Bool => Self::Bool(stored != 0),
            SqlType::SmallInt | SqlType::Integer | SqlType::BigInt => Self::Int(stored as i64),
            SqlType::Decimal { .. } => Self::Decimal(stored),
            SqlType::Date => Self::Date(stored as i32),
            SqlType::Time => Self::Time(stored as i64),
            SqlType::Timetz => Self::Timetz(stored as i64),
            SqlType::Timestamp | SqlType::Timestamptz => Self::Timestamp(stored as i64),
            SqlType::Uuid => Self::Uuid(uuid::of_stored(stored)),
            SqlType::Enum(_) => Self::Enum(stored as i32),
            SqlType::Null | SqlType::Real | SqlType::Double | SqlType::Interval => return None,
            SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => return None,
            SqlType::Numeric { .. }
            | SqlType::Bytea
            | SqlType::Json
            | SqlType::Jsonb
            | SqlType::Array(_)
            | SqlType::Struct(_)
            | SqlType::Range(_)
            | SqlType::Map(_) => return None,
        })
    }

    /// What lies in memory, of a value that lies there as an integer: the reverse of [`of_integer`](Self::of_integer).
    pub fn as_integer(&self) -> Option<i128> {
        Some(match self {
            Self::Bool(b) => i128::from(*b),
            Self::Int(i) | Self::Time(i) | Self::Timetz(i) | Self::Timestamp(i) => i128::from(*i),
            Self::Uuid(u) => uuid::stored(*u),
            Self::Decimal(d) => *d,
            Self::Date(d) | Self::Enum(d) => i128::from(*d),
            Self::Null | Self::Float(_) | Self::Str(_) | Self::Interval(_) => return None,
        })
    }

    /// Whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Total order of two values of one type as ORDER BY sees it, NULL last, NaN above all other numbers, -0 = 0.
    /// Values of different kinds are ordered by kind.
    pub fn total_cmp(&self, other: &Self) -> Ordering {
        use Value::*;
        match (self, other) {
            (Bool(a), Bool(b)) => a.cmp(b),
            (Int(a), Int(b)) | (Time(a), Time(b)) | (Timetz(a), Timetz(b)) | (Timestamp(a), Timestamp(b)) => a.cmp(b),
            (Decimal(a), Decimal(b)) => a.cmp(b),
            (Float(a), Float(b)) => compare_floats(*a, *b),
            (Str(a), Str(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Date(a), Date(b)) | (Enum(a), Enum(b)) => a.cmp(b),
            (Uuid(a), Uuid(b)) => a.cmp(b),
            (Interval(a), Interval(b)) => a.approximate_micros().cmp(&b.approximate_micros()),
            _ => self.kind().cmp(&other.kind()),
        }
    }

    /// Whether both are the same value, not only equal ones (see [`SqlType::equality_is_identity`]). NaNs are alike.
    ///
    /// [`SqlType::equality_is_identity`]: crate::SqlType::equality_is_identity
    pub fn is_identical(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
            (Self::Interval(a), Self::Interval(b)) => a == b,
            _ => self == other,
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Bool(_) => 0,
            Self::Int(_) => 1,
            Self::Decimal(_) => 2,
            Self::Float(_) => 3,
            Self::Str(_) => 4,
            Self::Date(_) => 5,
            Self::Timestamp(_) => 6,
            Self::Interval(_) => 7,
            Self::Time(_) => 8,
            Self::Uuid(_) => 9,
            Self::Enum(_) => 10,
            Self::Timetz(_) => 11,
            Self::Null => u8::MAX,
        }
    }
}

/// PostgreSQL's order of floats: NaN equals NaN and is above everything, -0 equals 0.
pub fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// SQL's IS NOT DISTINCT FROM: NULL equals NULL, NaN equals NaN.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.total_cmp(other) == Ordering::Equal
    }
}
impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u8(self.kind());
        match self {
            Self::Null => {}
            Self::Bool(b) => b.hash(state),
            Self::Int(i) | Self::Time(i) | Self::Timetz(i) | Self::Timestamp(i) => i.hash(state),
            Self::Decimal(d) => d.hash(state),
            Self::Float(f) if f.is_nan() => state.write_u64(u64::MAX),
            Self::Float(f) => (f + 0.0).to_bits().hash(state),
            Self::Str(s) => s.hash(state),
            Self::Date(d) | Self::Enum(d) => d.hash(state),
            Self::Interval(i) => i.approximate_micros().hash(state),
            Self::Uuid(u) => u.hash(state),
        }
    }
}
