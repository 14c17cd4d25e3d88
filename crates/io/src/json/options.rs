//! What a caller may say about a JSON file, by DuckDB's names.

use base::{Budget, CancelToken, Error, Result, SqlState};
use remote::Access;
use types::SqlType;
use types::ops::date::Zone;

use super::records::Layout;
use super::shape::Guess;
use crate::across;
use crate::csv::records::MAX_TEXT;
use crate::input::{Compression, Means};
use crate::option::{bad, compression, flag, typed_columns, unknown};

/// Records that types are found out from.
const SAMPLE: i64 = 20_480;
/// Most bytes of a record.
const OBJECT: usize = 16 << 20;
/// Most levels of values for which a type is found out; what lies deeper is `json`.
const DEPTH: usize = 32;

/// The names of all options.
const NAMES: [&str; 11] = [
    "format",
    "columns",
    "records",
    "sample_size",
    "maximum_object_size",
    "maximum_depth",
    "map_inference_threshold",
    "convert_strings_to_integers",
    "ignore_errors",
    "compression",
    "auto_detect",
];

/// How to read or write JSON files. `None` means: find out.
#[derive(Clone)]
pub struct JsonOptions {
    /// How records follow each other.
    pub layout: Option<Layout>,
    /// Names and types of the columns; other members are left out then.
    pub columns: Option<Vec<(String, SqlType)>>,
    /// Types of some columns; the others' are found out.
    pub types: Vec<(String, SqlType)>,
    /// Whether the members of records are columns, or records are values of one column.
    pub records: Option<bool>,
    /// Records that types are found out from; below zero: all.
    pub sample_size: Option<i64>,
    /// Most bytes of a record.
    pub maximum_object_size: usize,
    /// Most levels of values that get a type.
    pub maximum_depth: usize,
    /// How types are found out.
    pub guess: Guess,
    /// Values that do not fit are NULL, and so are records that are no JSON.
    pub ignore_errors: bool,
    /// Whether types are found out; otherwise all is `json`.
    pub auto_detect: bool,
    /// The file's compression, if not as its name says.
    pub compression: Option<Compression>,
    /// Bytes of a morsel (8 MiB if 0).
    pub morsel_bytes: usize,
    /// What texts in memory are charged to.
    pub budget: Option<Budget>,
    /// Stops opening and reading.
    pub cancel: CancelToken,
    /// Who asks servers for files.
    pub remote: Option<Access>,
    /// The zone of moments whose text names none.
    pub zone: Zone,
}

impl Default for JsonOptions {
    fn default() -> Self {
        Self {
            layout: None,
            columns: None,
            types: Vec::new(),
            records: None,
            sample_size: None,
            maximum_object_size: OBJECT,
            maximum_depth: DEPTH,
            guess: Guess::default(),
            ignore_errors: false,
            auto_detect: true,
            compression: None,
            morsel_bytes: 0,
            budget: None,
            cancel: CancelToken::default(),
            remote: None,
            zone: Zone::default(),
        }
    }
}

impl JsonOptions {
    /// What opening a file takes.
    pub(super) fn means(&self) -> Means<'_> {
        Means { limit: usize::MAX, budget: self.budget.as_ref(), cancel: &self.cancel, remote: self.remote.as_ref() }
    }

    /// Sets an option by its name in SQL (in lower case).
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let lower = value.to_ascii_lowercase();
        match name {
            "format" => {
                self.layout = match lower.as_str() {
                    "auto" => None,
                    "newline_delimited" | "nd" => Some(Layout::Lines),
                    "array" => Some(Layout::Array),
                    "unstructured" => Some(Layout::Values),
                    _ => {
                        return Err(
                            bad(name, value).hint("formats are auto, newline_delimited, array and unstructured")
                        );
                    }
                }
            }
            "columns" => {
                let columns = typed_columns(name, value)?;
                if let Some((twice, _)) =
                    columns.iter().enumerate().find_map(|(at, c)| columns[..at].iter().find(|other| other.0 == c.0))
                {
                    let message = format!("column \"{twice}\" is given twice");
                    return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
                }
                self.columns = Some(columns);
            }
            "records" if lower == "auto" => self.records = None,
            "records" => self.records = Some(flag(name, value)?),
            "sample_size" => {
                let sample = value.parse().ok().filter(|records| *records != 0);
                self.sample_size = Some(sample.ok_or_else(|| bad(name, value))?);
            }
            "maximum_object_size" => {
                self.maximum_object_size =
                    value.parse().ok().filter(|n| (1..=MAX_TEXT).contains(n)).ok_or_else(|| bad(name, value))?;
            }
            "maximum_depth" if value == "-1" => self.maximum_depth = DEPTH,
            "maximum_depth" => {
                let depth: usize = value.parse().map_err(|_| bad(name, value))?;
                self.maximum_depth = depth.min(DEPTH);
            }
            "map_inference_threshold" if value == "-1" => self.guess.members = usize::MAX,
            "map_inference_threshold" => self.guess.members = value.parse().map_err(|_| bad(name, value))?,
            "convert_strings_to_integers" => self.guess.integers_in_texts = flag(name, value)?,
            "ignore_errors" => self.ignore_errors = flag(name, value)?,
            "auto_detect" => self.auto_detect = flag(name, value)?,
            "compression" => self.compression = compression(name, value)?,
            _ => return Err(unknown(name, &[&NAMES[..], &across::NAMES].concat())),
        }
        Ok(())
    }

    /// Records that types are found out from.
    pub fn sample(&self) -> u64 {
        u64::try_from(self.sample_size.unwrap_or(SAMPLE)).unwrap_or(u64::MAX)
    }
}
