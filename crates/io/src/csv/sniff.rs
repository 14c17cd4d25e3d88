//! Names and types of columns from a sample.

use std::collections::HashMap;

use types::SqlType;
use types::ops::cast::parse;
use types::ops::date::names_zone;

use super::dialect::Dialect;
use super::forms::Forms;
use super::records::{Record, Records, Span, unescape};

const BOOL: u8 = 1;
const INTEGER: u8 = 2;
const DOUBLE: u8 = 4;
const DATE: u8 = 8;
const TIMESTAMP: u8 = 16;
const TIMESTAMPTZ: u8 = 32;
const ALL: u8 = 63;

/// Texts that mean NULL in columns that are not text, where the caller names none.
pub const NULLS: [&str; 4] = ["", "NA", "N/A", "NULL"];
/// Texts that mean NULL in text columns, where the caller names none.
pub const TEXT_NULLS: [&str; 2] = ["", "NA"];

/// What texts mean.
#[derive(Clone, Debug)]
pub struct Texts {
    /// These mean NULL.
    pub nulls: Vec<Vec<u8>>,
    /// How numbers and moments are written.
    pub forms: Forms,
    /// Records may have fewer fields than columns.
    pub may_be_short: bool,
}

/// The types that all values of a column so far could have.
#[derive(Clone, Copy, Debug)]
pub struct Candidates {
    types: u8,
    any: bool,
}

impl Candidates {
    /// Before the first value.
    pub const NEW: Self = Self { types: ALL, any: false };

    /// Before the first value of what can be a moment or else is text.
    pub const MOMENTS: Self = Self { types: DATE | TIMESTAMP | TIMESTAMPTZ, any: false };

    /// The same of what can be a whole number, too.
    pub const MOMENTS_AND_INTEGERS: Self = Self { types: Self::MOMENTS.types | INTEGER, any: false };

    /// Notes a value.
    pub fn see(&mut self, field: &[u8]) {
        self.any = true;
        if self.types != 0 {
            self.types &= admitted(field, self.types);
        }
    }

    /// What both admit.
    pub fn merge(&mut self, other: Self) {
        self.types &= other.types;
        self.any |= other.any;
    }

    /// What is left if only these types are looked for: the greatest of them that holds numbers holds all.
    pub fn among(mut self, wanted: &[SqlType]) -> Self {
        let bit = |sql_type: &SqlType| match sql_type {
            SqlType::Bool => BOOL,
            t if t.is_integer() => INTEGER,
            t if t.is_numeric() => DOUBLE,
            SqlType::Date => DATE,
            SqlType::Timestamp => TIMESTAMP,
            SqlType::Timestamptz => TIMESTAMPTZ,
            _ => 0,
        };
        self.types &= wanted.iter().fold(0, |all, sql_type| all | bit(sql_type));
        self
    }

    /// The first that fits: boolean, bigint, double, date, timestamp, timestamptz, text.
    pub fn sql_type(self) -> SqlType {
        match self.types {
            _ if !self.any => SqlType::Text,
            t if t & BOOL != 0 => SqlType::Bool,
            t if t & INTEGER != 0 => SqlType::BigInt,
            t if t & DOUBLE != 0 => SqlType::Double,
            t if t & DATE != 0 => SqlType::Date,
            t if t & TIMESTAMP != 0 => SqlType::Timestamp,
            t if t & TIMESTAMPTZ != 0 => SqlType::Timestamptz,
            _ => SqlType::Text,
        }
    }
}

/// Whether digits, perhaps behind a sign, begin with a zero that no number needs.
fn has_zero_in_front(field: &[u8]) -> bool {
    let digits = field.strip_prefix(b"-").or(field.strip_prefix(b"+")).unwrap_or(field);
    digits.len() > 1 && digits[0] == b'0'
}

/// Which of `types` the value could have.
fn admitted(field: &[u8], types: u8) -> u8 {
    let Some(&first) = field.first() else { return 0 };
    let mut out = 0;
    if types & (INTEGER | DOUBLE) != 0 && matches!(first, b'0'..=b'9' | b'-' | b'+' | b'.' | b'N' | b'n' | b'I' | b'i')
    {
        let digits = field.iter().filter(|b| b.is_ascii_digit()).count();
        let plain = digits + usize::from(matches!(first, b'-' | b'+')) == field.len();
        if plain {
            // Whole numbers beyond 64 bits are not read as doubles: that would change digits silently. Nor are numbers what has a zero
            // too many, as codes of places and telephones do.
            if parse::i64(field).is_ok() && !has_zero_in_front(field) {
                out |= INTEGER | DOUBLE;
            }
        } else if !field.last().is_some_and(u8::is_ascii_whitespace) && parse::f64(field).is_ok() {
            out |= DOUBLE;
        }
    }
    if types & (DATE | TIMESTAMP | TIMESTAMPTZ) != 0
        && field.len() >= 10
        && first.is_ascii_digit()
        && field[4] == b'-'
        && field[7] == b'-'
    {
        if field.len() == 10 {
            if parse::date(field).is_ok() {
                out |= DATE | TIMESTAMP | TIMESTAMPTZ;
            }
        } else if matches!(field[10], b' ' | b'T') && parse::timestamp(field).is_ok() {
            // Among moments, one without a zone is in the session's.
            out |= if names_zone(field) { TIMESTAMPTZ } else { TIMESTAMP | TIMESTAMPTZ };
        }
    }
    if types & BOOL != 0 && (field.eq_ignore_ascii_case(b"true") || field.eq_ignore_ascii_case(b"false")) {
        out |= BOOL;
    }
    out
}

/// Columns of a sample as far as it was seen.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Candidates by column.
    pub columns: Vec<Candidates>,
    /// Records seen.
    pub records: usize,
    /// Bytes seen.
    pub bytes: usize,
    /// A record with another number of fields, or bad quotes, was seen.
    pub irregular: bool,
}

/// Looks at up to `limit` records of `text`. Those that mean NULL say nothing.
pub fn sample(text: &[u8], dialect: Dialect, texts: &Texts, width: usize, limit: usize) -> Sample {
    let mut out = Sample { columns: vec![Candidates::NEW; width], records: 0, bytes: 0, irregular: false };
    let mut records = Records::new(dialect);
    let mut fields: Vec<Span> = Vec::new();
    while out.records < limit {
        let Some(Record { start, end, problem, .. }) = records.next(text, &mut fields) else { break };
        if is_blank(text, &fields) && width > 1 {
            continue;
        }
        let is_short = texts.may_be_short && fields.len() < width;
        if fields.len() != width && !is_short || problem.is_some() {
            out.irregular = true;
            continue;
        }
        out.records += 1;
        out.bytes += end - start;
        for (candidates, field) in out.columns.iter_mut().zip(&fields) {
            let bytes = field.bytes(text);
            if !texts.nulls.iter().any(|n| n == bytes) {
                candidates.see(&texts.forms.plain(bytes));
            }
        }
    }
    out
}

/// Whether the record is an empty line.
pub fn is_blank(text: &[u8], fields: &[Span]) -> bool {
    matches!(fields, [one] if !one.quoted() && one.bytes(text).is_empty())
}

/// The texts of the first record that is not an empty line, and the offset past it.
pub fn first_record(text: &[u8], dialect: Dialect) -> Option<(Vec<String>, usize)> {
    let mut records = Records::new(dialect);
    let mut fields = Vec::new();
    loop {
        let record = records.next(text, &mut fields)?;
        if !is_blank(text, &fields) {
            let texts = fields.iter().map(|f| {
                let raw = f.bytes(text);
                let bytes = if f.escaped() { unescape(raw, &dialect) } else { raw.to_vec() };
                String::from_utf8_lossy(&bytes).into_owned()
            });
            return Some((texts.collect(), record.end));
        }
    }
}

/// Whether the first record names the columns of the records after it: some value is not of its column's type, or all
/// columns are text and the values look like names.
pub fn looks_like_header(first: &[String], rest: &Sample, nulls: &[Vec<u8>]) -> bool {
    if first.iter().any(|f| nulls.iter().any(|n| n == f.as_bytes()) && !f.is_empty()) {
        return false;
    }
    let typed = |f: &String| admitted(f.as_bytes(), ALL) != 0;
    let contradicts = first
        .iter()
        .zip(&rest.columns)
        .any(|(f, c)| c.any && c.sql_type() != SqlType::Text && !f.is_empty() && admitted(f.as_bytes(), c.types) == 0);
    let all_text = rest.columns.iter().all(|c| !c.any || c.sql_type() == SqlType::Text);
    let mut unique = first.to_vec();
    unique.sort_unstable();
    unique.dedup();
    let names = unique.len() == first.len() && first.iter().all(|f| !f.is_empty() && !typed(f) && f.len() <= 64);
    contradicts || (all_text && names)
}

/// Column names that are all there and all different.
pub fn names(first: Option<&[String]>, width: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::with_capacity(width);
    // Of each name, the number that the next of that name gets.
    let mut known: HashMap<String, usize> = HashMap::with_capacity(width);
    for i in 0..width {
        let given = first.and_then(|f| f.get(i)).map(|n| n.trim()).filter(|n| !n.is_empty());
        let name = given.map_or_else(|| format!("column{i}"), str::to_owned);
        let mut unique = name.clone();
        let mut suffix = known.get(&name).copied().unwrap_or(0);
        while known.contains_key(&unique) {
            suffix += 1;
            unique = format!("{name}_{suffix}");
        }
        known.insert(name, suffix);
        known.entry(unique.clone()).or_insert(0);
        out.push(unique);
    }
    out
}
