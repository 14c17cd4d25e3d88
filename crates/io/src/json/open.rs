//! Opening: how records follow each other, the columns and their types.

use std::path::PathBuf;
use std::sync::Arc;

use base::{Error, Result, SqlState};
use bytes::Bytes;
use types::SqlType;
use types::ops::json::is_valid;
use types::ops::json::scan::trimmed;

use super::convert::Reader;
use super::options::JsonOptions;
use super::records::{Found, JsonFile, Layout, Records};
use super::shape::Shape;
use super::source::{JsonSource, checked};
use crate::csv::split::Split;
use crate::input::{Compression, Input};
use crate::lines::Lines;
use crate::source::{Field, FileSource};

/// Bytes of a morsel.
const MORSEL: u64 = 8 << 20;
/// Bytes that tell how records follow each other.
const HEAD: u64 = 1 << 20;
/// Lines of them that are looked at.
const LINES: usize = 16;
/// Bytes in which a sample ends, unless its size is given.
const SAMPLE_BYTES: u64 = 64 << 20;
/// The name of the only column where records are no objects.
const COLUMN: &str = "json";

/// Opens JSON files. Their columns are those of all records that are looked at.
pub fn open_json(paths: &[PathBuf], options: &JsonOptions) -> Result<Arc<dyn FileSource>> {
    let inputs = paths.iter().map(|path| {
        let compression = options.compression.unwrap_or_else(|| Compression::of_path(path));
        let input = Input::open(path, compression, options.means())?;
        Ok((path.display().to_string(), input))
    });
    open(inputs.collect::<Result<_>>()?, options)
}

/// Opens JSON in memory.
pub fn open_json_bytes(name: &str, bytes: Bytes, options: &JsonOptions) -> Result<Arc<dyn FileSource>> {
    open(vec![(name.to_owned(), Input::memory(bytes))], options)
}

fn open(inputs: Vec<(String, Input)>, options: &JsonOptions) -> Result<Arc<dyn FileSource>> {
    if inputs.is_empty() {
        return Err(Error::new(SqlState::UNDEFINED_FILE, "no file to read"));
    }
    let files = inputs.into_iter().map(|(name, input)| file(name, input, options)).collect::<Result<Vec<_>>>()?;
    let (shape, seen) = sample(&files, options)?;
    let records = options.records.unwrap_or(options.columns.is_some() || shape.is_objects());
    let columns = match &options.columns {
        Some(columns) => columns.clone(),
        None if records && !shape.columns().is_empty() => shape.columns(),
        None => vec![(COLUMN.to_owned(), shape.sql_type())],
    };
    // Objects without members have no columns.
    let records = records && (options.columns.is_some() || !shape.columns().is_empty());
    if !records && columns.len() != 1 {
        let message = "records that are no objects are one column";
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).hint("give one column, or records = true"));
    }
    let typed = |name: &str, sql_type: SqlType| match options.types.iter().find(|(of, _)| of == name) {
        Some((_, given)) => *given,
        None if options.auto_detect || options.columns.is_some() => sql_type,
        None => SqlType::Json,
    };
    let bytes: u64 = files.iter().map(|file| file.input.len()).sum();
    let rows = match seen {
        (0, _) => bytes / 64,
        (records, of) => (u128::from(bytes) * u128::from(records) / u128::from(of.max(1))) as u64,
    };
    Ok(Arc::new(JsonSource {
        by_name: columns.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect(),
        schema: columns.into_iter().map(|(name, of)| Field::new(name.as_str(), typed(&name, of))).collect(),
        records,
        reader: Reader { zone: options.zone.clone(), strict: options.columns.is_none() },
        ignore_errors: options.ignore_errors,
        limit: options.maximum_object_size,
        budget: options.budget.clone(),
        cancel: options.cancel.clone(),
        files,
        rows,
    }))
}

fn file(name: String, input: Input, options: &JsonOptions) -> Result<Arc<JsonFile>> {
    let head = input.read(&name, 0, input.len().min(HEAD))?;
    // A byte order mark is no part of the text.
    let start = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let whole = head.len() as u64 == input.len();
    let layout = options.layout.unwrap_or_else(|| layout_of(&head[start..], whole));
    let size = if options.morsel_bytes == 0 { MORSEL } else { options.morsel_bytes as u64 };
    let morsels = match layout {
        Layout::Lines => usize::try_from((input.len() - start as u64).div_ceil(size)).unwrap_or(usize::MAX).max(1),
        // Where a record begins is known when the one before has ended.
        Layout::Array | Layout::Values => 1,
    };
    let split = Split::new(start as u64, morsels);
    Ok(Arc::new(JsonFile { name, input, layout, split, lines: Lines::default() }))
}

/// How the records of a text follow each other, of which this is the beginning, or the whole.
fn layout_of(head: &[u8], whole: bool) -> Layout {
    let lines: Vec<&[u8]> = head.split(|b| *b == b'\n').collect();
    // The last one may be cut off.
    let complete = &lines[..lines.len() - usize::from(!whole)];
    let is_blank = |line: &&&[u8]| line.iter().all(u8::is_ascii_whitespace);
    let is_json = |line: &[u8]| std::str::from_utf8(line).is_ok_and(|line| is_valid(trimmed(line)));
    let mut filled = complete.iter().filter(|line| !is_blank(line));
    let Some(first) = filled.next() else {
        return if whole { Layout::Lines } else { Layout::Values };
    };
    match first.trim_ascii_start().first() {
        // Lines of arrays, or one array.
        Some(b'[') if is_json(first) && (filled.next().is_some() || !whole) => Layout::Lines,
        Some(b'[') => Layout::Array,
        _ if is_json(first) => Layout::Lines,
        // One bad line makes no other layout. What is indented is a part of something.
        _ if filled.take(LINES).any(|line| line.starts_with(b"{") && is_json(line)) => Layout::Lines,
        _ => Layout::Values,
    }
}

/// What the first records are, and how many of how many bytes were looked at.
fn sample(files: &[Arc<JsonFile>], options: &JsonOptions) -> Result<(Shape, (u64, u64))> {
    let (mut shape, mut count, mut bytes) = (Shape::new(options.guess), 0, 0);
    let wanted = if options.columns.is_some() { 0 } else { options.sample() };
    for file in files {
        let range = file.range(0)?.start..file.input.len();
        let budget = options.budget.as_ref();
        let mut records = Records::new(file.clone(), range.clone(), false, options.maximum_object_size, budget)?;
        while count < wanted && (options.sample_size.is_some() || bytes + records.read() < SAMPLE_BYTES) {
            options.cancel.check()?;
            match records.find()? {
                Found::End => break,
                Found::More => records.load()?,
                Found::Record(record) => {
                    let seen = checked(records.text(&record)).and_then(|text| {
                        // The levels of the record itself have no type of their own.
                        shape.see(text, options.maximum_depth.saturating_add(1))
                    });
                    match seen {
                        Err(error) if !options.ignore_errors => {
                            let place = file.error_at(error.state(), error.message(), records.offset(&record));
                            return Err(match error.get_detail() {
                                Some(detail) => place.detail(detail),
                                None => place,
                            });
                        }
                        _ => count += 1,
                    }
                }
            }
        }
        bytes += records.read() - range.start;
    }
    Ok((shape, (count, bytes)))
}
