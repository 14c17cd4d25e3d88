//! The types of SQL and how their values lie in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::EnumType;
use crate::structs::{self, MapType, StructField, StructType};

/// A type as a user declares it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SqlType {
    /// The type of a bare NULL; unifies with every other type.
    Null,
    /// `boolean`
    Bool,
    /// `smallint`, 16 bits.
    SmallInt,
    /// `integer`, 32 bits.
    Integer,
    /// `bigint`, 64 bits.
    BigInt,
    /// `decimal(precision, scale)`: `1 <= precision <= 38`, `scale <= precision`.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// `numeric` of any length, or with more digits, or other places of the point, than a decimal has; lies in memory as a text,
    /// see [`ops::numeric`](crate::ops::numeric).
    Numeric {
        /// Digits in all, at most 1000; 0 is no limit, and then the scale is only how many digits are printed at least.
        precision: u16,
        /// Digits after the point; below 0 some before it are 0, too.
        scale: i16,
    },
    /// `real`, 32 bits.
    Real,
    /// `double precision`, 64 bits.
    Double,
    /// `text`
    Text,
    /// `varchar(n)`, n in characters.
    Varchar(u32),
    /// `char(n)`, n in characters. Stored without trailing blanks, which do not count in comparisons; padded on output.
    Char(u32),
    /// `date`
    Date,
    /// `time` of day without time zone, microseconds; 24:00:00 is one.
    Time,
    /// `time` of day with an offset from UTC, see [`ops::date::timetz`](crate::ops::date::timetz).
    Timetz,
    /// `timestamp` without time zone, microseconds.
    Timestamp,
    /// `timestamp with time zone`: a moment, as microseconds in UTC. Its text form depends on a zone.
    Timestamptz,
    /// `interval`: months, days and microseconds, kept apart.
    Interval,
    /// `uuid`: 128 bits, ordered as unsigned numbers.
    Uuid,
    /// `bytea`: a string of bytes, each the character of its number in memory; see [`ops::bytes`](crate::ops::bytes).
    Bytea,
    /// `json`: the text as it was written.
    Json,
    /// `jsonb`: the text in its [normal form](crate::ops::json).
    Jsonb,
    /// An enumerated type; a value is the code of its label, see [`enumeration`](crate::enumeration).
    Enum(&'static EnumType),
    /// An array of elements of a type, which may be arrays themselves; made by [`SqlType::array_of`]. Lies in memory as a
    /// text, see [`ops::array`](crate::ops::array).
    Array(&'static SqlType),
    /// Fields by names, made by [`SqlType::struct_of`]. Lies in memory as a text, see [`ops::structure`](crate::ops::structure).
    Struct(&'static StructType),
    /// A range of values of such a type, one of [`SqlType::RANGES`]. Lies in memory as a text, see [`ops::range`](crate::ops::range).
    Range(&'static SqlType),
    /// Values by keys, made by [`SqlType::map_of`]. Lies in memory as the array of its entries, see [`ops::map`](crate::ops::map).
    Map(&'static MapType),
}

/// How values of a type lie in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Physical {
    /// One byte, 0 or 1.
    Bool,
    /// 16-bit integer.
    I16,
    /// 32-bit integer: `integer`, `date` as days since 1970-01-01, the codes of enums.
    I32,
    /// 64-bit integer: `bigint`, timestamps as microseconds since 1970-01-01, `time` as microseconds since midnight,
    /// decimals of up to 18 digits scaled.
    I64,
    /// 128-bit integer: decimals of 19 to 38 digits, scaled; `uuid` with its first bit turned, so that its order is that of
    /// signed numbers.
    I128,
    /// IEEE single.
    F32,
    /// IEEE double.
    F64,
    /// [`Str`](crate::Str): 16 bytes.
    Str,
    /// [`Interval`](crate::Interval): 16 bytes.
    Interval,
}

impl Physical {
    /// Bytes of one value.
    pub const fn size(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::I16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
            Self::I128 | Self::Str | Self::Interval => 16,
        }
    }
}

impl SqlType {
    /// Most digits that a decimal has.
    pub const MAX_PRECISION: u8 = 38;

    /// How values of this type lie in memory. A bare NULL is stored like a boolean.
    pub const fn physical(self) -> Physical {
        match self {
            Self::Null | Self::Bool => Physical::Bool,
            Self::SmallInt => Physical::I16,
            Self::Integer | Self::Date | Self::Enum(_) => Physical::I32,
            Self::BigInt | Self::Time | Self::Timetz | Self::Timestamp | Self::Timestamptz => Physical::I64,
            Self::Decimal { precision, .. } if precision <= 18 => Physical::I64,
            Self::Decimal { .. } | Self::Uuid => Physical::I128,
            Self::Real => Physical::F32,
            Self::Double => Physical::F64,
            Self::Text | Self::Varchar(_) | Self::Char(_) => Physical::Str,
            Self::Bytea | Self::Json | Self::Jsonb | Self::Array(_) | Self::Struct(_) | Self::Map(_) => Physical::Str,
            Self::Numeric { .. } | Self::Range(_) => Physical::Str,
            Self::Interval => Physical::Interval,
        }
    }

    /// The types of ranges, with their names.
    pub const RANGES: [(&str, Self); 6] = [
        ("int4range", Self::Range(&Self::Integer)),
        ("int8range", Self::Range(&Self::BigInt)),
        ("numrange", Self::Range(&Self::NUMERIC)),
        ("tsrange", Self::Range(&Self::Timestamp)),
        ("tstzrange", Self::Range(&Self::Timestamptz)),
        ("daterange", Self::Range(&Self::Date)),
    ];

    /// The type of what is in a range.
    pub const fn subtype(self) -> Option<Self> {
        if let Self::Range(of) = self { Some(*of) } else { None }
    }

    /// The name of a type of ranges.
    fn range_name(self) -> &'static str {
        Self::RANGES.iter().find(|(_, range)| *range == self).map_or("anyrange", |(name, _)| name)
    }

    /// `numeric` without limits.
    pub const NUMERIC: Self = Self::Numeric { precision: 0, scale: 0 };

    /// `numeric` without limits, printed with at least the digits after the point that values of a type of that scale have.
    pub const fn numeric_showing(scale: i16) -> Self {
        Self::Numeric { precision: 0, scale: if scale < 0 { 0 } else { scale } }
    }

    /// Digits after the point that are printed of each value of a `numeric` or decimal; 0 of other types.
    pub const fn shown_scale(self) -> i16 {
        match self {
            Self::Decimal { scale, .. } => scale as i16,
            Self::Numeric { scale, .. } => scale,
            _ => 0,
        }
    }

    /// A decimal type.
    pub const fn decimal(precision: u8, scale: u8) -> Self {
        Self::Decimal { precision, scale }
    }

    /// Most dimensions that an array has.
    pub const MAX_DIMENSIONS: usize = 6;

    /// The type of arrays of such elements. Each is kept once and for ever: there are few, as statements name them.
    pub fn array_of(element: Self) -> Self {
        static KNOWN: Mutex<BTreeMap<String, &'static SqlType>> = Mutex::new(BTreeMap::new());
        let key = key(element);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        Self::Array(known.entry(key).or_insert_with(|| Box::leak(Box::new(element))))
    }

    /// The type of structs of these fields, kept for ever as those of arrays are.
    pub fn struct_of(fields: Vec<StructField>) -> Self {
        Self::kept_struct(StructType { fields, is_row: false })
    }

    /// The type of rows of these fields, likewise.
    pub fn row_of(fields: Vec<StructField>) -> Self {
        Self::kept_struct(StructType { fields, is_row: true })
    }

    fn kept_struct(of: StructType) -> Self {
        static KNOWN: Mutex<BTreeMap<String, &'static StructType>> = Mutex::new(BTreeMap::new());
        let named = |f: &StructField| format!("{} {}", structs::name(&f.name), key(f.sql_type));
        let named = of.fields.iter().map(named).collect::<Vec<_>>().join(", ");
        let key = if of.is_row { format!("row {named}") } else { named };
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        Self::Struct(known.entry(key).or_insert_with(|| Box::leak(Box::new(of))))
    }

    /// The type of maps from such keys to such values.
    pub fn map_of(key: Self, value: Self) -> Self {
        static KNOWN: Mutex<BTreeMap<String, &'static MapType>> = Mutex::new(BTreeMap::new());
        let field = |name: &str, sql_type| StructField { name: name.to_owned(), sql_type };
        let entry = Self::struct_of(vec![field("key", key), field("value", value)]);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        Self::Map(known.entry(self::key(entry)).or_insert_with(|| Box::leak(Box::new(MapType { key, value, entry }))))
    }

    /// A map.
    pub const fn map(self) -> Option<&'static MapType> {
        if let Self::Map(of) = self { Some(of) } else { None }
    }

    /// The type of what lies one behind the other in an array or a map.
    pub const fn items(self) -> Option<Self> {
        match self {
            Self::Array(element) => Some(*element),
            Self::Map(of) => Some(of.entry),
            _ => None,
        }
    }

    /// A struct.
    pub const fn structure(self) -> Option<&'static StructType> {
        if let Self::Struct(of) = self { Some(of) } else { None }
    }

    /// Whether a value is made of values whose forms lie one behind the other.
    pub const fn is_nested(self) -> bool {
        matches!(self, Self::Array(_) | Self::Struct(_) | Self::Map(_))
    }

    /// The type of an array's elements.
    pub const fn element(self) -> Option<Self> {
        if let Self::Array(element) = self { Some(*element) } else { None }
    }

    /// An array.
    pub const fn is_array(self) -> bool {
        matches!(self, Self::Array(_))
    }

    /// Whether it is that of a list whose elements nothing gives a type: `[]`, `[[], []]`.
    pub fn is_open_list(self) -> bool {
        self.element().is_some_and(|element| element == Self::Null || element.is_open_list())
    }

    /// The type that such a list has where nothing around it says another: one of integers, as in DuckDB. Any other type as it is.
    pub fn closed(self) -> Self {
        match self.element() {
            Some(Self::Null) => Self::array_of(Self::Integer),
            Some(element) if element.is_open_list() => Self::array_of(element.closed()),
            _ => self,
        }
    }

    /// How many dimensions values have: 0 but for arrays.
    pub fn dimensions(self) -> usize {
        std::iter::successors(self.element(), |t| t.element()).count()
    }

    /// `smallint`, `integer` or `bigint`.
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::SmallInt | Self::Integer | Self::BigInt)
    }
    /// An integer, decimal, `numeric`, real or double.
    pub const fn is_numeric(self) -> bool {
        self.is_integer() || self.is_decimal() || self.is_long_numeric() || self.is_float()
    }
    /// A `numeric` that is no decimal.
    pub const fn is_long_numeric(self) -> bool {
        matches!(self, Self::Numeric { .. })
    }
    /// `real` or `double precision`.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::Real | Self::Double)
    }
    /// A decimal.
    pub const fn is_decimal(self) -> bool {
        matches!(self, Self::Decimal { .. })
    }
    /// `text`, `varchar(n)` or `char(n)`.
    pub const fn is_string(self) -> bool {
        matches!(self, Self::Text | Self::Varchar(_) | Self::Char(_))
    }

    /// Whether a value lies in memory as a text that is not what is printed of it.
    pub const fn is_encoded(self) -> bool {
        self.is_nested() || matches!(self, Self::Bytea | Self::Numeric { .. } | Self::Range(_))
    }

    /// The enum that it is, or that its elements are of.
    pub fn enumeration(self) -> Option<&'static EnumType> {
        match self {
            Self::Enum(of) => Some(of),
            Self::Array(element) => element.enumeration(),
            Self::Struct(of) => of.fields.iter().find_map(|field| field.sql_type.enumeration()),
            Self::Map(of) => of.entry.enumeration(),
            _ => None,
        }
    }

    /// `json` or `jsonb`.
    pub const fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Jsonb)
    }

    /// Whether equal values of this type are the same value, so that one can stand for another everywhere. 0 and -0 are
    /// equal and print differently, a month equals 30 days. (Decimals of one scale and stored strings are what they
    /// print; a collation that takes different strings for equal would have to say so here.)
    pub const fn equality_is_identity(self) -> bool {
        !self.is_float() && !matches!(self, Self::Interval)
    }

    /// Digits after the point: of decimals, and 0 for integers.
    pub const fn scale(self) -> u8 {
        if let Self::Decimal { scale, .. } = self { scale } else { 0 }
    }

    /// The decimal type that holds every value of this integer or decimal type.
    pub const fn as_decimal(self) -> Option<(u8, u8)> {
        match self {
            Self::SmallInt => Some((5, 0)),
            Self::Integer => Some((10, 0)),
            Self::BigInt => Some((19, 0)),
            Self::Decimal { precision, scale } => Some((precision, scale)),
            _ => None,
        }
    }
}

/// What tells types apart that are called alike: two enums may have one name, and a `numeric` shows some digits or others.
fn key(sql_type: SqlType) -> String {
    match sql_type {
        SqlType::Enum(of) => format!("{sql_type} {}", of.number()),
        SqlType::Array(element) => format!("{}[]", key(*element)),
        SqlType::Struct(of) => {
            let fields = of.fields.iter().map(|f| format!("{} {}", structs::name(&f.name), key(f.sql_type)));
            format!("{}({})", if of.is_row { "row" } else { "" }, fields.collect::<Vec<_>>().join(", "))
        }
        SqlType::Map(of) => format!("map {}", key(of.entry)),
        SqlType::Numeric { precision: 0, scale } => format!("{sql_type} showing {scale}"),
        _ => sql_type.to_string(),
    }
}

impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("unknown"),
            Self::Bool => f.write_str("boolean"),
            Self::SmallInt => f.write_str("smallint"),
            Self::Integer => f.write_str("integer"),
            Self::BigInt => f.write_str("bigint"),
            Self::Decimal { precision, scale } => write!(f, "decimal({precision},{scale})"),
            // How many digits are printed is no matter of the type that users see.
            Self::Numeric { precision: 0, .. } => f.write_str("numeric"),
            Self::Numeric { precision, scale } => write!(f, "numeric({precision},{scale})"),
            Self::Real => f.write_str("real"),
            Self::Double => f.write_str("double"),
            Self::Text => f.write_str("text"),
            Self::Varchar(n) => write!(f, "varchar({n})"),
            Self::Char(n) => write!(f, "char({n})"),
            Self::Date => f.write_str("date"),
            Self::Time => f.write_str("time"),
            Self::Timetz => f.write_str("timetz"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Timestamptz => f.write_str("timestamptz"),
            Self::Interval => f.write_str("interval"),
            Self::Uuid => f.write_str("uuid"),
            Self::Bytea => f.write_str("bytea"),
            Self::Json => f.write_str("json"),
            Self::Jsonb => f.write_str("jsonb"),
            Self::Enum(of) => {
                let name = &of.labels().name;
                let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
                match name.chars().all(is_plain) && !name.starts_with(|c: char| c.is_ascii_digit()) {
                    true => f.write_str(name),
                    false => write!(f, "\"{}\"", name.replace('"', "\"\"")),
                }
            }
            Self::Array(element) => write!(f, "{element}[]"),
            Self::Struct(of) => write!(f, "{of}"),
            Self::Map(of) => write!(f, "map({}, {})", of.key, of.value),
            Self::Range(_) => f.write_str(self.range_name()),
        }
    }
}

impl std::str::FromStr for SqlType {
    type Err = base::Error;

    /// Reads what [`Display`](fmt::Display) prints (SQL's many synonyms are the binder's matter). The name of an enum is
    /// that of the last one that got it.
    fn from_str(text: &str) -> Result<Self, base::Error> {
        let bad = || base::Error::new(base::SqlState::UNDEFINED_OBJECT, format!("type \"{text}\" does not exist"));
        if let Some(element) = text.strip_suffix("[]") {
            return element.parse().map(Self::array_of).map_err(|_| bad());
        }
        if let Some(fields) = text.strip_prefix("struct(") {
            return structs::parse(fields.strip_suffix(')').ok_or_else(bad)?, false).ok_or_else(bad);
        }
        if let Some(fields) = text.strip_prefix("composite(") {
            return structs::parse(fields.strip_suffix(')').ok_or_else(bad)?, true).ok_or_else(bad);
        }
        if let Some(parts) = text.strip_prefix("map(") {
            return structs::parse_map(parts.strip_suffix(')').ok_or_else(bad)?).ok_or_else(bad);
        }
        if let Some((_, range)) = Self::RANGES.iter().find(|(name, _)| *name == text) {
            return Ok(*range);
        }
        let (name, arguments) = match text.split_once('(') {
            Some((name, rest)) => (name, rest.strip_suffix(')').ok_or_else(bad)?),
            None => (text, ""),
        };
        if let ("numeric", Some((precision, scale))) = (name, arguments.split_once(',')) {
            let (precision, scale) = (precision.trim().parse(), scale.trim().parse());
            return Ok(Self::Numeric { precision: precision.map_err(|_| bad())?, scale: scale.map_err(|_| bad())? });
        }
        let arguments: Vec<u32> = arguments
            .split(',')
            .filter(|a| !a.is_empty())
            .map(|a| a.trim().parse().map_err(|_| bad()))
            .collect::<Result<_, _>>()?;
        Ok(match (name, arguments.as_slice()) {
            ("unknown", []) => Self::Null,
            ("boolean", []) => Self::Bool,
            ("smallint", []) => Self::SmallInt,
            ("integer", []) => Self::Integer,
            ("bigint", []) => Self::BigInt,
            ("decimal", &[p, s]) if (1..=38).contains(&p) && s <= p => Self::decimal(p as u8, s as u8),
            ("numeric", []) => Self::NUMERIC,
            ("real", []) => Self::Real,
            ("double", []) => Self::Double,
            ("text", []) => Self::Text,
            ("varchar", &[n]) => Self::Varchar(n),
            ("char", &[n]) => Self::Char(n),
            ("date", []) => Self::Date,
            ("time", []) => Self::Time,
            ("timetz", []) => Self::Timetz,
            ("timestamp", []) => Self::Timestamp,
            ("timestamptz", []) => Self::Timestamptz,
            ("interval", []) => Self::Interval,
            ("uuid", []) => Self::Uuid,
            ("bytea", []) => Self::Bytea,
            ("json", []) => Self::Json,
            ("jsonb", []) => Self::Jsonb,
            _ => {
                let name = text.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
                let name = name.map_or(text.to_owned(), |name| name.replace("\"\"", "\""));
                Self::Enum(EnumType::named(&name).ok_or_else(bad)?)
            }
        })
    }
}
