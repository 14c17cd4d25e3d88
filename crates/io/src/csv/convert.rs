//! Fields to columns.

use std::borrow::Cow;

use types::ops::cast::{TooLong, parse, to_char_n, to_varchar};
use types::ops::date::Zone;
use types::ops::{Bad, array, bytes, json, map, numeric, range, structure};
use types::{ColumnBuilder, Interval, Physical, SqlType, Value};

use super::dialect::Dialect;
use super::forms::Forms;
use super::records::{Span, unescape};
use base::{Error, Result, SqlState};

/// How the fields of one column are read.
#[derive(Clone, Debug)]
pub struct Reader {
    /// The type of its values.
    pub sql_type: SqlType,
    /// Texts that mean NULL.
    pub nulls: Vec<Vec<u8>>,
    /// Whether a field in quotes can mean NULL.
    pub quoted_nulls: bool,
    /// The text that means the default, and this default.
    pub default: Option<(Vec<u8>, Value)>,
    /// The zone of moments whose text names none.
    pub zone: Zone,
    /// How numbers and moments are written.
    pub forms: Forms,
}

impl Reader {
    /// Whether a text that means NULL might also be a value of a type that is not text.
    fn nulls_look_like_values(&self) -> bool {
        self.nulls.iter().any(|n| !n.is_empty() && !matches!(&n[..], b"NA" | b"N/A" | b"NULL" | b"\\N"))
    }

    #[inline]
    fn is_null(&self, field: &[u8], quoted: bool) -> bool {
        (!quoted || self.quoted_nulls) && self.nulls.iter().any(|n| n == field)
    }

    /// Appends the field `column` of each record; `fields` holds `width` fields a record. `clean`: all of the text is
    /// valid UTF-8 without zero bytes. Fails with the record's number.
    pub fn append(
        &self,
        text: &[u8],
        dialect: &Dialect,
        (fields, width, column): (&[Span], usize, usize),
        clean: bool,
        out: &mut ColumnBuilder,
    ) -> Result<(), (usize, Error)> {
        let column = Fields { reader: self, text, dialect, fields, width, column };
        let forms = &self.forms;
        match (self.sql_type, self.sql_type.physical()) {
            (SqlType::Date, _) if forms.date.is_some() => {
                column.each(out, |f| forms.date(f).unwrap_or_else(|| parse::date(f)))
            }
            (SqlType::Timestamp, _) if forms.timestamp.is_some() => {
                column.each(out, |f| forms.timestamp(f).unwrap_or_else(|| parse::timestamp(f)))
            }
            (SqlType::Decimal { precision, scale }, Physical::I64) if forms.has_numbers() => {
                column.each(out, |f| parse::decimal(&forms.number(f), precision, scale).map(|d| d as i64))
            }
            (SqlType::Decimal { precision, scale }, _) if forms.has_numbers() => {
                column.each(out, |f| parse::decimal(&forms.number(f), precision, scale))
            }
            (SqlType::SmallInt, _) if forms.has_numbers() => column.each(out, |f| parse::i16(&forms.number(f))),
            (SqlType::Integer, _) if forms.has_numbers() => column.each(out, |f| parse::i32(&forms.number(f))),
            (SqlType::BigInt, _) if forms.has_numbers() => column.each(out, |f| parse::i64(&forms.number(f))),
            (SqlType::Real, _) if forms.has_numbers() => column.each(out, |f| parse::f32(&forms.number(f))),
            (SqlType::Double, _) if forms.has_numbers() => column.each(out, |f| parse::f64(&forms.number(f))),
            (SqlType::Null | SqlType::Bool, _) => column.each(out, |f| parse::bool(f).map(u8::from)),
            (SqlType::SmallInt, _) => column.each(out, parse::i16),
            (SqlType::Integer, _) => column.each(out, parse::i32),
            (SqlType::BigInt, _) => column.each(out, parse::i64),
            (SqlType::Decimal { precision, scale }, Physical::I64) => {
                column.each(out, |f| parse::decimal(f, precision, scale).map(|d| d as i64))
            }
            (SqlType::Decimal { precision, scale }, _) => column.each(out, |f| parse::decimal(f, precision, scale)),
            (SqlType::Real, _) => column.each(out, parse::f32),
            (SqlType::Double, _) => column.each(out, |f| match fast_double(f) {
                Some(value) => Ok(value),
                None => parse::f64(f),
            }),
            (SqlType::Date, _) => column.each(out, parse::date),
            (SqlType::Time, _) => column.each(out, parse::time),
            (SqlType::Timetz, _) => column.each(out, |f| parse::timetz(f, &self.zone)),
            (SqlType::Timestamptz, _) => column.each(out, |f| parse::timestamptz(f, &self.zone)),
            (SqlType::Timestamp, _) => column.each(out, parse::timestamp),
            (SqlType::Enum(of), _) => {
                let labels = of.labels();
                column.each(out, |f| parse::label(f, labels))
            }
            (SqlType::Uuid, _) => column.each(out, |f| parse::uuid(f).map(types::ops::uuid::stored)),
            (SqlType::Interval, _) => column.each::<Interval>(out, parse::interval),
            (SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_), _) => column.strings(out, forms, clean),
            (
                SqlType::Numeric { .. }
                | SqlType::Bytea
                | SqlType::Json
                | SqlType::Jsonb
                | SqlType::Array(_)
                | SqlType::Struct(_)
                | SqlType::Range(_)
                | SqlType::Map(_),
                _,
            ) => column.strings(out, forms, clean),
        }
    }
}

/// Plain decimal numbers; what else PostgreSQL accepts (blanks, `Infinity`) and what is out of range is left to the
/// general reader.
#[inline]
fn fast_double(text: &[u8]) -> Option<f64> {
    if !matches!(text.last(), Some(b'0'..=b'9')) || !matches!(text[0], b'0'..=b'9' | b'-' | b'.') {
        return None;
    }
    fast_float2::parse(text).ok().filter(|v: &f64| v.is_normal())
}

/// Text as PostgreSQL admits it: UTF-8 without the character of code zero.
fn utf8(bytes: &[u8]) -> Result<&str> {
    let bad = |what: &str| {
        Error::new(SqlState::INVALID_ENCODING, format!("invalid byte sequence for encoding \"UTF8\"{what}"))
    };
    let text = std::str::from_utf8(bytes).map_err(|_| bad(""))?;
    if text.contains('\0') { Err(bad(": 0x00")) } else { Ok(text) }
}

/// What is stored of an array, from its text form.
fn form(read: Result<Value>) -> Result<String> {
    match read? {
        Value::Str(form) => Ok(form.to_string()),
        _ => Err(Error::internal("an array or a struct is no text")),
    }
}

/// The fields of one column in a batch of records.
struct Fields<'a> {
    reader: &'a Reader,
    text: &'a [u8],
    dialect: &'a Dialect,
    fields: &'a [Span],
    width: usize,
    column: usize,
}

impl<'a> Fields<'a> {
    fn spans(&self) -> impl Iterator<Item = Span> + use<'a> {
        self.fields.iter().skip(self.column).step_by(self.width).copied()
    }

    /// The field as the value's text; none if it means NULL.
    fn content(&self, span: Span) -> Option<Cow<'a, [u8]>> {
        let raw = span.bytes(self.text);
        if self.reader.is_null(raw, span.quoted()) {
            return None;
        }
        Some(if span.escaped() { Cow::Owned(unescape(raw, self.dialect)) } else { Cow::Borrowed(raw) })
    }

    fn each<T: types::column::Plain>(
        &self,
        out: &mut ColumnBuilder,
        parse: impl Fn(&[u8]) -> Result<T, Bad>,
    ) -> Result<(), (usize, Error)> {
        // Most fields are values; whether one means NULL or the default is asked where that can be.
        let simple = self.reader.default.is_none() && !self.reader.nulls_look_like_values();
        for (row, span) in self.spans().enumerate() {
            if simple
                && !span.escaped()
                && let Ok(value) = parse(span.bytes(self.text))
            {
                out.push(value);
                continue;
            }
            self.unusual(out, span, &parse).map_err(|e| (row, e))?;
        }
        Ok(())
    }

    #[inline(never)]
    fn unusual<T: types::column::Plain>(
        &self,
        out: &mut ColumnBuilder,
        span: Span,
        parse: &impl Fn(&[u8]) -> Result<T, Bad>,
    ) -> Result<()> {
        if self.default(out, span) {
            return Ok(());
        }
        let Some(content) = self.content(span) else {
            out.push_null();
            return Ok(());
        };
        out.push(parse(&content).map_err(|bad| parse::error(bad, self.reader.sql_type, &content))?);
        Ok(())
    }

    fn default(&self, out: &mut ColumnBuilder, span: Span) -> bool {
        match &self.reader.default {
            Some((text, value)) if !span.quoted() && text == span.bytes(self.text) => {
                out.push_value(value);
                true
            }
            _ => false,
        }
    }

    /// Texts, and what lies in memory as one.
    fn strings(&self, out: &mut ColumnBuilder, forms: &Forms, clean: bool) -> Result<(), (usize, Error)> {
        for (row, span) in self.spans().enumerate() {
            if self.default(out, span) {
                continue;
            }
            let Some(content) = self.content(span) else {
                out.push_null();
                continue;
            };
            // Escapes of the text format can make any byte.
            let checked = clean && !(span.escaped() && self.dialect.text_format);
            let text = if checked {
                // SAFETY: the whole text is valid UTF-8 (`clean`), and fields are cut out of it at ASCII characters.
                Ok(unsafe { std::str::from_utf8_unchecked(&content) })
            } else {
                utf8(&content)
            };
            let text = text.and_then(|text| match self.reader.sql_type {
                SqlType::Varchar(limit) => to_varchar(text, limit, TooLong::Refuse).map(Cow::Borrowed),
                SqlType::Char(limit) => to_char_n(text, limit, TooLong::Refuse).map(Cow::Borrowed),
                SqlType::Numeric { precision, scale } => {
                    let number = numeric::parse(&forms.number(text.as_bytes()));
                    let number = number.map_err(|bad| parse::error(bad, self.reader.sql_type, &content));
                    number.and_then(|n| numeric::fit(n, precision, scale)).map(Cow::Owned)
                }
                SqlType::Bytea => bytes::parse(text).map(Cow::Owned),
                SqlType::Json => json::check(text).map(|()| Cow::Borrowed(text)),
                SqlType::Jsonb => json::normalised(text).map(Cow::Owned),
                SqlType::Array(&element) => form(array::parse(text, element, TooLong::Refuse)).map(Cow::Owned),
                SqlType::Struct(of) => form(structure::parse(text, of)).map(Cow::Owned),
                SqlType::Range(&element) => form(range::parse(text, element)).map(Cow::Owned),
                SqlType::Map(of) => form(map::parse(text, of)).map(Cow::Owned),
                _ => Ok(Cow::Borrowed(text)),
            });
            out.push_str(&text.map_err(|e| (row, e))?);
        }
        Ok(())
    }
}
