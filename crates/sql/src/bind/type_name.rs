//! The many names of types.

use base::{Error, Result, SqlState};
use catalog::{Name, below_unsigned};
use sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, Ident, ObjectName, ObjectNamePart, TimezoneInfo,
};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};
use types::ops::numeric;
use types::{SqlType, StructField};

use super::fold;
use super::registered_kind::registered_type;
use crate::Resolver;
use crate::dialect::MorselDialect;
use crate::parse::structs;

/// What a name of a type means that is not built in; none if there is none of that name.
pub(super) type Custom<'a> = &'a dyn Fn(&ObjectName) -> Result<Option<SqlType>>;

/// The type that a type name means.
pub(super) fn sql_type(name: &DataType, custom: Custom<'_>) -> Result<SqlType> {
    Ok(match name {
        DataType::Bool | DataType::Boolean => SqlType::Bool,
        DataType::TinyInt(_) | DataType::SmallInt(_) | DataType::Int2(_) => SqlType::SmallInt,
        DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_) | DataType::MediumInt(_) => SqlType::Integer,
        DataType::BigInt(_) | DataType::Int8(_) | DataType::Int64 => SqlType::BigInt,
        DataType::Int16 => SqlType::SmallInt,
        DataType::Int32 => SqlType::Integer,
        unsigned if let Some(below) = unsigned_name(unsigned).and_then(below_unsigned) => below,
        DataType::HugeInt | DataType::Int128 => SqlType::decimal(38, 0),
        DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => decimal(info)?,
        DataType::Real | DataType::Float4 | DataType::Float32 => SqlType::Real,
        DataType::Float(ExactNumberInfo::Precision(1..=24)) => SqlType::Real,
        DataType::Float(ExactNumberInfo::None | ExactNumberInfo::Precision(25..=53)) => SqlType::Double,
        DataType::Float(_) => {
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "precision for type float must be 1 to 53 bits"));
        }
        DataType::Double(_) | DataType::DoublePrecision | DataType::Float8 | DataType::Float64 => SqlType::Double,
        DataType::Text | DataType::String(_) | DataType::Clob(_) | DataType::TinyText => SqlType::Text,
        DataType::MediumText | DataType::LongText | DataType::CharacterLargeObject(_) => SqlType::Text,
        DataType::CharLargeObject(_) => SqlType::Text,
        DataType::Varchar(length)
        | DataType::CharacterVarying(length)
        | DataType::CharVarying(length)
        | DataType::Nvarchar(length) => match length {
            None | Some(CharacterLength::Max) => SqlType::Text,
            Some(CharacterLength::IntegerLength { length, .. }) => SqlType::Varchar(limit(*length, "varchar")?),
        },
        DataType::Char(length) | DataType::Character(length) => match length {
            None => SqlType::Char(1),
            Some(CharacterLength::IntegerLength { length, .. }) => SqlType::Char(limit(*length, "char")?),
            Some(CharacterLength::Max) => return Err(unknown(&name.to_string())),
        },
        DataType::Date | DataType::Date32 => SqlType::Date,
        DataType::Timestamp(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)
        | DataType::TimestampNtz(_)
        | DataType::Datetime(_) => SqlType::Timestamp,
        DataType::Timestamp(..) => SqlType::Timestamptz,
        DataType::Time(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => SqlType::Time,
        DataType::Time(..) => SqlType::Timetz,
        DataType::Uuid => SqlType::Uuid,
        DataType::Interval { fields: None, precision: None } => SqlType::Interval,
        DataType::Interval { .. } => {
            return Err(Error::unsupported(format!("the type {}", name.to_string().to_lowercase()))
                .hint("intervals have all fields; date_trunc takes some away"));
        }
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::Qualified(element, _)
            | ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::Parenthesis(element),
        ) => array_of(sql_type(element, custom)?)?,
        DataType::Array(_) => return Err(Error::unsupported("an array without a type of its elements")),
        DataType::JSON => SqlType::Json,
        DataType::JSONB => SqlType::Jsonb,
        // Texts in the form in which PostgreSQL shows these.
        DataType::TsVector | DataType::TsQuery => SqlType::Text,
        DataType::Bytea | DataType::Blob(_) | DataType::Bytes(_) => SqlType::Bytea,
        DataType::Binary(None) | DataType::Varbinary(None) => SqlType::Bytea,
        DataType::Regclass => SqlType::BigInt,
        DataType::Custom(written, arguments) => {
            let last = match written.0.last() {
                Some(ObjectNamePart::Identifier(ident)) => ident.value.to_lowercase(),
                _ => return Err(unknown(&name.to_string())),
            };
            if let ([ObjectNamePart::Identifier(schema), _], []) = (written.0.as_slice(), arguments.as_slice())
                && fold(schema) == "pg_catalog"
            {
                let tokens = Tokenizer::new(&MorselDialect, &last).tokenize().unwrap_or_default();
                let own = Parser::new(&MorselDialect).with_tokens(tokens).parse_data_type();
                return sql_type(&own.map_err(|_| unknown(&name.to_string()))?, custom);
            }
            match (last.as_str(), arguments.as_slice()) {
                ("bpchar", []) => SqlType::Text,
                ("bpchar", [n]) => SqlType::Char(limit(n.parse().unwrap_or(0), "char")?),
                ("string" | "name" | "refcursor", []) => SqlType::Text,
                ("hugeint", []) => SqlType::decimal(38, 0),
                ("long" | "oid", []) => SqlType::BigInt,
                _ if registered_type(name).is_some() => SqlType::BigInt,
                ("short", []) => SqlType::SmallInt,
                ("signed", []) => SqlType::Integer,
                ("logical", []) => SqlType::Bool,
                ("timestamp_s" | "timestamp_ms" | "timestamp_us" | "timestamp_ns", []) => SqlType::Timestamp,
                ("timestamptz", []) => SqlType::Timestamptz,
                ("timetz", []) => SqlType::Timetz,
                ("map", [text]) => {
                    let parts = structs::key_and_value(text).map_err(|_| unknown(&format!("map({text})")))?;
                    let [key, value] = &parts;
                    SqlType::map_of(sql_type(key, custom)?, sql_type(value, custom)?)
                }
                (written @ ("struct" | "composite"), [text]) => {
                    let fields = structs::fields(text).map_err(|_| unknown(&format!("struct({text})")))?;
                    let field = |(name, of): &(Ident, DataType)| {
                        Ok(StructField { name: fold(name), sql_type: sql_type(of, custom)? })
                    };
                    let of = fields.iter().map(field).collect::<Result<Vec<_>>>()?;
                    if written == "struct" { struct_of(of)? } else { SqlType::row_of(of) }
                }
                (name, []) if let Some((_, range)) = SqlType::RANGES.iter().find(|(known, _)| *known == name) => *range,
                (name, []) => {
                    if let Some(own) = custom(written)? {
                        return Ok(own);
                    }
                    // As PostgreSQL's catalog names the types of arrays.
                    let element = name.strip_prefix('_').and_then(|name| parsed_type(name).ok());
                    let element = element.and_then(|name| sql_type(&name, &|_| Ok(None)).ok());
                    return array_of(element.ok_or_else(|| unknown(&written.to_string()))?);
                }
                _ => return Err(unknown(&name.to_string())),
            }
        }
        other => return Err(unknown(&other.to_string())),
    })
}

/// What DuckDB calls an unsigned type, or one of a byte, that the parser knows; `uinteger` is a name like those of other domains.
pub(super) fn unsigned_name(name: &DataType) -> Option<&'static str> {
    Some(match name {
        DataType::TinyInt(_) => "tinyint",
        DataType::UTinyInt | DataType::UInt8 | DataType::TinyIntUnsigned(_) => "utinyint",
        DataType::USmallInt | DataType::UInt16 | DataType::SmallIntUnsigned(_) | DataType::Int2Unsigned(_) => {
            "usmallint"
        }
        DataType::UInt32 | DataType::IntUnsigned(_) | DataType::Int4Unsigned(_) | DataType::IntegerUnsigned(_) => {
            "uinteger"
        }
        DataType::UBigInt | DataType::UInt64 | DataType::BigIntUnsigned(_) | DataType::Int8Unsigned(_) => "ubigint",
        DataType::UHugeInt | DataType::UInt128 => "uhugeint",
        _ => return None,
    })
}

/// What the domain of a time with less than all digits of a second is called.
pub(super) fn rounded_name(name: &DataType) -> Option<String> {
    use TimezoneInfo as Zone;
    let (sql_type, digits) = match name {
        DataType::Timestamp(Some(digits), Zone::None | Zone::WithoutTimeZone) => (SqlType::Timestamp, digits),
        DataType::Timestamp(Some(digits), _) => (SqlType::Timestamptz, digits),
        DataType::Time(Some(digits), Zone::None | Zone::WithoutTimeZone) => (SqlType::Time, digits),
        DataType::Custom(name, arguments) if arguments.is_empty() => match name.to_string().to_lowercase().as_str() {
            "timestamp_s" => (SqlType::Timestamp, &0),
            "timestamp_ms" => (SqlType::Timestamp, &3),
            _ => return None,
        },
        _ => return None,
    };
    catalog::rounded_name(sql_type, u8::try_from(*digits).ok()?)
}

/// A type's name, from its text.
fn parsed_type(text: &str) -> Result<DataType> {
    let tokens = Tokenizer::new(&MorselDialect, text).tokenize_with_location().map_err(|_| unknown(text))?;
    let mut parser = Parser::new(&MorselDialect).with_tokens_with_locations(structs::types(tokens));
    let name = parser.parse_data_type().map_err(|_| unknown(text))?;
    if parser.peek_token_ref().token == Token::EOF { Ok(name) } else { Err(unknown(text)) }
}

/// A name of a schema and what is in it, or of that alone.
fn object_of(written: &ObjectName) -> Option<crate::ObjectName> {
    let parts: Option<Vec<String>> = written.0.iter().map(|part| part.as_ident().map(fold)).collect();
    let (schema, name) = match parts.as_deref() {
        Some([name]) => (None, name.clone()),
        Some([schema, name]) => (Some(schema.clone()), name.clone()),
        _ => return None,
    };
    Some(crate::ObjectName { schema, name, position: None })
}

/// Whether a text names a domain.
pub fn names_domain(text: &str, resolver: &dyn Resolver) -> bool {
    match parsed_type(text) {
        Ok(DataType::Custom(name, arguments)) if arguments.is_empty() => {
            object_of(&name).is_some_and(|name| resolver.domain(&name).is_some())
        }
        Ok(name) => rounded_name(&name).is_some(),
        Err(_) => false,
    }
}

/// The domain of each field of the composite type that a text names, if some are of one.
pub fn domains_of_fields(text: &str, resolver: &dyn Resolver) -> Vec<Option<Name>> {
    let Ok(DataType::Custom(name, arguments)) = parsed_type(text) else { return Vec::new() };
    let named = object_of(&name).filter(|_| arguments.is_empty());
    let domain = named.and_then(|name| resolver.domain(&name));
    domain.map(|(_, domain)| domain.fields.clone()).unwrap_or_default()
}

/// The type that a text names.
pub fn type_named(text: &str, resolver: &dyn Resolver) -> Result<SqlType> {
    sql_type(&parsed_type(text)?, &|written: &ObjectName| {
        let Some(name) = object_of(written) else { return Ok(None) };
        let domain = || resolver.domain(&name).map(|(_, domain)| domain.sql_type);
        Ok(resolver.user_type(&name).map(|user_type| user_type.sql_type()).or_else(domain))
    })
}

/// The type of structs of such fields, 42701 if two have one name.
pub(super) fn struct_of(fields: Vec<StructField>) -> Result<SqlType> {
    for (at, field) in fields.iter().enumerate() {
        if fields[..at].iter().any(|other| other.name.to_lowercase() == field.name.to_lowercase()) {
            let message = format!("field \"{}\" specified more than once", field.name);
            return Err(Error::new(SqlState("42701"), message));
        }
    }
    Ok(SqlType::struct_of(fields))
}

/// The type of arrays of such elements, 54000 if these have too many dimensions already.
pub(super) fn array_of(element: SqlType) -> Result<SqlType> {
    let (dimensions, most) = (element.dimensions() + 1, SqlType::MAX_DIMENSIONS);
    if dimensions > most {
        let message = format!("number of array dimensions ({dimensions}) exceeds the maximum allowed ({most})");
        return Err(Error::new(SqlState::PROGRAM_LIMIT, message));
    }
    Ok(SqlType::array_of(element))
}

fn unknown(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{}\" does not exist", name.to_lowercase())).hint(
        "types are boolean, smallint, integer, bigint, decimal(p,s), real, double, text, varchar(n), char(n), date, time, \
         timestamp, timestamptz, interval, uuid, json, jsonb, bytea, structs such as struct(a integer, b text), and arrays of them, such as integer[]",
    )
}

fn limit(length: u64, kind: &str) -> Result<u32> {
    const MAX: u64 = 10_485_760;
    if (1..=MAX).contains(&length) {
        return Ok(length as u32);
    }
    let message = format!("length for type {kind} must be 1 to {MAX}");
    Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
}

/// `composite(a integer, ...)`, as which a row type is written.
pub(super) fn is_composite(name: &DataType) -> bool {
    matches!(name, DataType::Custom(name, arguments) if arguments.len() == 1 && name.to_string().eq_ignore_ascii_case("composite"))
}

/// `numeric` without digits.
pub(super) fn is_bare_numeric(name: &DataType) -> bool {
    matches!(name, DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) if *info == ExactNumberInfo::None)
}

/// Of up to 38 digits, the usual places of the point, it is a decimal, which is much faster than what has no limits.
fn decimal(info: &ExactNumberInfo) -> Result<SqlType> {
    let (precision, scale) = match *info {
        ExactNumberInfo::None => return Ok(SqlType::NUMERIC),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    const MOST: u64 = numeric::MAX_PRECISION as u64;
    if !(1..=MOST).contains(&precision) {
        let message = format!("NUMERIC precision {precision} must be between 1 and {MOST}");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    if scale.unsigned_abs() > MOST {
        let message = format!("NUMERIC scale {scale} must be between -{MOST} and {MOST}");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    if precision <= SqlType::MAX_PRECISION.into() && (0..=precision as i64).contains(&scale) {
        return Ok(SqlType::decimal(precision as u8, scale as u8));
    }
    Ok(SqlType::Numeric { precision: precision as u16, scale: scale as i16 })
}
