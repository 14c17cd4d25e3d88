//! Files by path, with options by name.

use std::path::PathBuf;
use std::sync::Arc;

use base::{Error, Result, SqlState};
use types::SqlType;

use crate::across::{self, Across};
use crate::arrow_file::open_arrow;
use crate::context::OpenContext;
use crate::copy_options::{self, Direction};
use crate::csv::{CsvOptions, open_csv, open_csv_bytes};
use crate::format::{Format, format_of};
use crate::functions;
use crate::json::{JsonOptions, Layout, open_json, open_json_bytes};
use crate::option::{flag, unknown};
use crate::parquet_in::{describe, open_parquet};
use crate::paths::expand_paths;
use crate::source::FileSource;

/// The functions in FROM that read files.
pub const FUNCTIONS: [&str; 17] = [
    "glob",
    "parquet_file_metadata",
    "parquet_kv_metadata",
    "parquet_metadata",
    "parquet_schema",
    "read_arrow",
    "read_blob",
    "read_csv",
    "read_csv_auto",
    "read_json",
    "read_json_auto",
    "read_ndjson",
    "read_ndjson_auto",
    "read_parquet",
    "read_text",
    "sniff_csv",
    "parquet_scan",
];

/// Opens what FROM names: `function` is one of [`FUNCTIONS`], or empty for a bare path whose ending decides.
pub fn open(
    function: &str,
    paths: &[String],
    options: &[(String, String)],
    context: OpenContext,
) -> Result<Arc<dyn FileSource>> {
    if function == "glob" {
        refuse_all(function, options)?;
        return functions::glob(paths, &context);
    }
    let files = expand_paths(paths, &context)?;
    let format = match function {
        "read_text" | "read_blob" => {
            refuse_all(function, options)?;
            return functions::contents(files, function == "read_text", context);
        }
        "sniff_csv" => {
            let mut csv = CsvOptions::detect();
            options.iter().try_for_each(|(name, value)| csv.set(name, value))?;
            context.lend(&mut csv);
            return functions::sniff(&files, &csv);
        }
        "parquet_schema" | "parquet_metadata" | "parquet_file_metadata" | "parquet_kv_metadata" => {
            refuse_all(function, options)?;
            return describe(function, &files, &context);
        }
        "read_arrow" => Some(Format::Arrow),
        "read_csv" | "read_csv_auto" => Some(Format::Csv),
        "read_parquet" | "parquet_scan" => Some(Format::Parquet),
        "read_json" | "read_json_auto" | "read_ndjson" | "read_ndjson_auto" => Some(Format::Json),
        _ => files.first().and_then(|f| format_of(&f.to_string_lossy())),
    };
    let Some(format) = format else { return Err(unknown_format(paths.first().map_or("", String::as_str))) };
    let (across, options) = Across::take(options)?;
    across.open(&files, &|files, types| open_some(function, format, files, &options, types, context.clone()))
}

/// Refuses options of a function that has none.
fn refuse_all(function: &str, options: &[(String, String)]) -> Result<()> {
    match options.first() {
        Some((name, _)) => Err(Error::new(SqlState::SYNTAX_ERROR, format!("option \"{name}\" not recognized"))
            .hint(format!("{function} has no options"))),
        None => Ok(()),
    }
}

/// Opens files of one format, some of whose columns are to be of these types.
fn open_some(
    function: &str,
    format: Format,
    files: &[PathBuf],
    options: &[(String, String)],
    types: &[(String, SqlType)],
    context: OpenContext,
) -> Result<Arc<dyn FileSource>> {
    match format {
        Format::Csv => {
            let mut csv = CsvOptions::detect();
            if let Some((name, _)) = options.iter().find(|(name, _)| matches!(name.as_str(), "default" | "force_quote"))
            {
                return Err(Error::new(SqlState::SYNTAX_ERROR, format!("option \"{name}\" is one of COPY only")));
            }
            options.iter().try_for_each(|(name, value)| csv.set(name, value))?;
            csv.types.extend_from_slice(types);
            context.lend(&mut csv);
            open_csv(files, &csv)
        }
        Format::Arrow => {
            if let Some((name, _)) = options.first() {
                return Err(unknown(name, &across::NAMES));
            }
            open_arrow(files, &context)
        }
        Format::Parquet => {
            copy_options::refuse_options(options, Direction::From)?;
            open_parquet(files, &context)
        }
        Format::Json => {
            let mut json = context.json();
            if function.starts_with("read_ndjson") {
                json.layout = Some(Layout::Lines);
            }
            options.iter().try_for_each(|(name, value)| json.set(name, value))?;
            json.types = types.to_vec();
            open_json(files, &json)
        }
    }
}

#[cold]
fn unknown_format(path: &str) -> Error {
    Error::new(SqlState::UNDEFINED_FILE, format!("cannot tell the format of \"{path}\" by its name"))
        .hint("use read_csv('...'), read_parquet('...'), read_json('...') or read_arrow('...')")
}

/// As [`open_for_copy`], for data that are given: in PostgreSQL's text format, unless the options say another.
pub fn open_given_for_copy(
    data: &str,
    expected: &[(String, SqlType)],
    options: &[(String, String)],
    context: OpenContext,
) -> Result<Arc<dyn FileSource>> {
    // A file of that ending has this format.
    const NAME: &str = "stdin.txt";
    match copy_options::format(NAME, options) {
        Format::Csv => {}
        Format::Json => {
            return open_json_bytes(
                "STDIN",
                data.as_bytes().to_vec().into(),
                &json_for_copy(expected, options, context)?,
            );
        }
        Format::Parquet | Format::Arrow => {
            return Err(Error::unsupported("COPY FROM STDIN in a binary format").hint("name a file"));
        }
    }
    let names: Vec<&str> = expected.iter().map(|(name, _)| name.as_str()).collect();
    let mut csv = copy_options::parse(NAME, &names, options, Direction::From)?;
    csv.columns = Some(expected.to_vec());
    context.lend(&mut csv);
    open_csv_bytes("STDIN", data.as_bytes().to_vec().into(), &csv)
}

/// Opens the file of a COPY FROM into columns of these names and types, in this order. Parquet files have types of
/// their own; their columns are found by name.
pub fn open_for_copy(
    path: &str,
    expected: &[(String, SqlType)],
    options: &[(String, String)],
    context: OpenContext,
) -> Result<Arc<dyn FileSource>> {
    // Mistakes in options first, as PostgreSQL does.
    if copy_options::format(path, options) == Format::Parquet {
        copy_options::check_redundant(options)?;
        copy_options::refuse_options(options, Direction::From)?;
        let files = expand_paths(&[path.to_owned()], &context)?;
        return crate::source::select_columns(open_parquet(&files, &context)?, expected, path);
    }
    if copy_options::format(path, options) == Format::Arrow {
        copy_options::check_redundant(options)?;
        if let Some((name, _)) = options.iter().find(|(name, _)| name != "format") {
            return Err(unknown(name, &["format"]));
        }
        let files = expand_paths(&[path.to_owned()], &context)?;
        let source = open_arrow(&files, &context)?;
        return crate::source::select_columns(source, expected, path);
    }
    if copy_options::format(path, options) == Format::Json {
        let json = json_for_copy(expected, options, context.clone())?;
        return open_json(&expand_paths(&[path.to_owned()], &context)?, &json);
    }
    let names: Vec<&str> = expected.iter().map(|(name, _)| name.as_str()).collect();
    let mut csv = copy_options::parse(path, &names, options, Direction::From)?;
    csv.columns = Some(expected.to_vec());
    let files = expand_paths(&[path.to_owned()], &context)?;
    context.lend(&mut csv);
    open_csv(&files, &csv)
}

/// Options of a COPY FROM of JSON: members are columns by their names. ARRAY says whether they are in
/// an array, which is found out otherwise.
fn json_for_copy(
    expected: &[(String, SqlType)],
    options: &[(String, String)],
    context: OpenContext,
) -> Result<JsonOptions> {
    copy_options::check_redundant(options)?;
    let mut json = context.json();
    for (name, value) in options.iter().filter(|(name, _)| name != "format") {
        match name.as_str() {
            "array" => json.layout = Some(if flag(name, value)? { Layout::Array } else { Layout::Lines }),
            "columns" | "records" => return Err(unknown(name, &["format", "array", "ignore_errors", "compression"])),
            _ => json.set(name, value)?,
        }
    }
    json.columns = Some(expected.to_vec());
    Ok(json)
}
