//! COPY's options, checked as PostgreSQL checks them.

use std::path::Path;

use base::{Error, Result, SqlState};

use crate::across;
use crate::csv::{Columns, CsvFormat, CsvOptions, Header};
use crate::format::{Format, format_of};
use crate::input::Compression;

/// Options of `read_csv` that are none of COPY: its columns are those of a table or query.
const FOREIGN: [&str; 15] = [
    "columns",
    "types",
    "dtypes",
    "column_types",
    "names",
    "column_names",
    "normalize_names",
    "auto_type_candidates",
    "buffer_size",
    "max_line_size",
    "files_to_sniff",
    "all_varchar",
    "sample_size",
    "auto_detect",
    "row_group_size",
];
/// Names that mean the same.
const SYNONYMS: [(&str, &str); 3] = [("delim", "delimiter"), ("sep", "delimiter"), ("nullstr", "null")];

/// Which way rows go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Into a table.
    From,
    /// Into a file.
    To,
}

/// The format of a COPY: as its options say, else as the path's ending says, else CSV if there is any.
pub fn format(path: &str, options: &[(String, String)]) -> Format {
    match options.iter().find(|(name, _)| name == "format") {
        Some((_, format)) if format.eq_ignore_ascii_case("parquet") => Format::Parquet,
        Some((_, format)) if format.eq_ignore_ascii_case("json") => Format::Json,
        Some((_, format)) if ["arrow", "feather"].iter().any(|name| format.eq_ignore_ascii_case(name)) => Format::Arrow,
        Some(_) => Format::Csv,
        None => format_of(path).unwrap_or(Format::Csv),
    }
}

/// Refuses an option that is said twice, also by two of its names.
pub fn check_redundant(options: &[(String, String)]) -> Result<()> {
    let plain =
        |name: &str| SYNONYMS.iter().find(|(n, _)| *n == name).map_or(name.to_owned(), |(_, n)| (*n).to_owned());
    for (i, (name, _)) in options.iter().enumerate() {
        if options[..i].iter().any(|(other, _)| plain(other) == plain(name)) {
            let message = format!("conflicting or redundant options: \"{name}\" is given twice");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
    }
    Ok(())
}

/// Options of COPY for a text file with columns of these names. Unlike PostgreSQL's, the format of a file without the
/// option is CSV unless its name ends in `.txt` or `.dat`; a CSV file read without the option HEADER has one if its
/// first line names the columns.
pub fn parse(path: &str, columns: &[&str], options: &[(String, String)], direction: Direction) -> Result<CsvOptions> {
    check_redundant(options)?;
    let mut csv = CsvOptions::copy();
    let lower = path.to_ascii_lowercase();
    let stem = [".gz", ".gzip", ".zst", ".zstd"].iter().find_map(|s| lower.strip_suffix(s)).unwrap_or(&lower);
    let extension = Path::new(stem).extension().and_then(|e| e.to_str());
    if matches!(extension, Some("txt" | "dat")) {
        csv.format = CsvFormat::Text;
    }
    for (name, value) in options {
        if FOREIGN.contains(&name.as_str()) {
            return Err(Error::new(SqlState::SYNTAX_ERROR, format!("option \"{name}\" not recognized")));
        }
        csv.set(name, value)?;
    }
    if csv.format == CsvFormat::Csv && csv.delimiter.is_none() {
        csv.delimiter = match extension {
            Some("tsv") => Some(b'\t'),
            Some("tbl" | "psv") => Some(b'|'),
            _ => None,
        };
    }
    csv.check()?;
    check_direction(&csv, options, direction)?;
    check_columns(&csv, columns)?;
    Ok(csv)
}

/// The compression of a file to write.
pub fn compression(path: &str, csv: &CsvOptions) -> Compression {
    csv.compression.unwrap_or_else(|| Compression::of_path(Path::new(path)))
}

fn check_direction(csv: &CsvOptions, options: &[(String, String)], direction: Direction) -> Result<()> {
    let one_way: &[&str] = match direction {
        Direction::From => &["force_quote"],
        Direction::To => {
            &["force_not_null", "force_null", "default", "on_error", "ignore_errors", "skip", "freeze", "null_padding"]
        }
    };
    let way = if direction == Direction::From { "COPY FROM" } else { "COPY TO" };
    for (name, _) in options {
        let upper = name.to_uppercase();
        if one_way.contains(&name.as_str()) {
            return invalid(format!("COPY {upper} cannot be used with {way}"));
        }
        let csv_only = matches!(name.as_str(), "force_quote" | "force_not_null" | "force_null");
        if csv_only && csv.format != CsvFormat::Csv {
            return invalid(format!("COPY {upper} requires CSV mode"));
        }
    }
    if direction == Direction::To && csv.encoding.is_some() {
        return Err(Error::unsupported("writing in another encoding than UTF-8"));
    }
    if direction == Direction::To && csv.header == Some(Header::Match) {
        return invalid("cannot use \"match\" with HEADER in COPY TO".to_owned());
    }
    Ok(())
}

/// The columns that FORCE_QUOTE and the like name are among those that are copied.
fn check_columns(csv: &CsvOptions, columns: &[&str]) -> Result<()> {
    for (option, names) in
        [("FORCE_QUOTE", &csv.force_quote), ("FORCE_NOT_NULL", &csv.force_not_null), ("FORCE_NULL", &csv.force_null)]
    {
        let Columns::Named(names) = names else { continue };
        if let Some(name) = names.iter().find(|n| !columns.contains(&n.as_str())) {
            let message = format!("{option} column \"{name}\" not referenced by COPY");
            return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message));
        }
    }
    Ok(())
}

#[cold]
fn invalid(message: String) -> Result<()> {
    Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
}

/// Options of Parquet files that are read, and of those that are written.
const READ: [&str; 3] = ["format", "compression", "row_group_size"];
const WRITTEN: [&str; 6] =
    ["format", "compression", "compression_level", "row_group_size", "kv_metadata", "parquet_version"];

/// Refuses what Parquet files have no use for.
pub fn refuse_options(options: &[(String, String)], direction: Direction) -> Result<()> {
    let known: &[&str] = if direction == Direction::To { &WRITTEN } else { &READ };
    match options.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        Some((name, _)) => {
            let message = format!("option \"{name}\" not recognized for Parquet files");
            let known = [known, &across::NAMES].concat();
            Err(Error::new(SqlState::SYNTAX_ERROR, message).hint(format!("options are {}", known.join(", "))))
        }
        None => Ok(()),
    }
}
