//! Opening: the dialect, the header, the types.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base::{Error, Result, SqlState};
use bytes::Bytes;
use types::SqlType;
use types::ops::string::strip_accents;

use super::{CsvSource, Lines, TextFile};
use crate::csv::convert::Reader;
use crate::csv::delimiter;
use crate::csv::dialect::{self, Dialect};
use crate::csv::options::{CsvFormat, CsvOptions, Header};
use crate::csv::records::MAX_TEXT;
use crate::csv::sniff::{self, Sample, Texts};
use crate::csv::split::{Split, Text};
use crate::input::{Compression, Input, OPERATOR};
use crate::source::{Field, FileSource};
use base::helpers::PieceStep;

/// Bytes of a morsel.
const MORSEL: u64 = 8 << 20;
/// Records that are looked at from a file's start.
const SAMPLE_RECORDS: usize = 20_480;
/// Bytes that hold them.
const SAMPLE_BYTES: u64 = 4 << 20;
/// Files smaller than this are sniffed whole, in pieces of so many bytes.
const WHOLE: u64 = 64 << 20;
const PIECE: u64 = 128 << 10;
/// Other places that are looked at in greater files, and bytes at each.
const PLACES: u64 = 16;
const PLACE_BYTES: u64 = 128 << 10;

/// Words that are no names without quotes.
const RESERVED: [&str; 40] = [
    "all", "and", "any", "array", "as", "asc", "between", "both", "case", "cast", "check", "column", "create",
    "default", "desc", "distinct", "else", "end", "except", "false", "for", "from", "group", "having", "in", "into",
    "limit", "not", "null", "on", "or", "order", "select", "table", "then", "true", "union", "user", "when", "where",
];

const HINT: &str = "give the type with types = '{column: type}', look at more rows with sample_size = -1, or read all \
    columns as text with all_varchar = true";

/// Opens text files. They have the same columns in the same order; the first says which.
pub fn open_csv(paths: &[PathBuf], options: &CsvOptions) -> Result<Arc<dyn FileSource>> {
    let inputs = paths.iter().map(|path| {
        let compression = options.compression.unwrap_or_else(|| Compression::of_path(path));
        let name = path.display().to_string();
        let input = in_utf8(Input::open(path, compression, options.means())?, &name, options)?;
        Ok((name, input))
    });
    Ok(Arc::new(open(inputs.collect::<Result<_>>()?, options)?))
}

/// A file whose characters are written in UTF-8, and whose delimiters are bytes.
fn in_utf8(input: Input, name: &str, options: &CsvOptions) -> Result<Input> {
    let input = match options.encoding {
        Some(encoding) => encoding.decoded(&input, name, options.means())?,
        None => input,
    };
    match &options.long_delimiter {
        Some(delimiter) => delimiter::replaced(&input, name, delimiter, options),
        None => Ok(input),
    }
}

/// What was found out about a text file.
pub struct Sniffed {
    /// The file.
    pub name: String,
    /// Its structural characters.
    pub dialect: Dialect,
    /// Whether the first line names the columns.
    pub has_header: bool,
    /// The columns.
    pub columns: Vec<Field>,
}

/// Finds out how a text file would be read.
pub fn sniff_csv(path: &Path, options: &CsvOptions) -> Result<Sniffed> {
    let compression = options.compression.unwrap_or_else(|| Compression::of_path(path));
    let name = path.display().to_string();
    let input = in_utf8(Input::open(path, compression, options.means())?, &name, options)?;
    let mut source = open(vec![(name.clone(), input)], options)?;
    let file = &source.files[0];
    let head = file.input.read(&name, 0, file.start)?;
    // Without a header, the records begin where lines to skip end.
    let skipped = skip_lines(&head, options.skip, source.dialect.eol).unwrap_or(head.len());
    let has_header = file.start > skipped as u64;
    Ok(Sniffed { name, dialect: source.dialect, has_header, columns: std::mem::take(&mut source.schema) })
}

/// Opens a text file in memory.
pub fn open_csv_bytes(name: &str, bytes: Bytes, options: &CsvOptions) -> Result<Arc<dyn FileSource>> {
    let input = in_utf8(Input::Memory { text: bytes, _charged: None }, name, options)?;
    Ok(Arc::new(open(vec![(name.to_owned(), input)], options)?))
}

/// What is known of a file before its types.
struct Opened {
    file: TextFile,
    /// Names in the header, or none.
    header: Option<Vec<String>>,
    width: usize,
    sample: Sample,
    /// The first record has a delimiter after its last field.
    trailing_delimiter: bool,
}

fn open(inputs: Vec<(String, Input)>, options: &CsvOptions) -> Result<CsvSource> {
    options.check()?;
    let Some((name, input)) = inputs.first() else {
        return Err(Error::new(SqlState::UNDEFINED_FILE, "no file to read"));
    };
    let head = input.read(name, 0, input.len().min(SAMPLE_BYTES))?;
    let dialect = dialect_of(&head, options);
    let mut opened = Vec::new();
    let mut header = options.header;
    for (name, input) in inputs {
        let first = open_one(name, input, dialect, header, options)?;
        if opened.is_empty() && header.is_none() {
            // All files have a header if the first has one.
            header = Some(if first.header.is_some() { Header::Yes } else { Header::No });
        }
        opened.push(first);
    }
    let (names, width) = same_columns(&opened, options)?;
    let sniffed: Vec<SqlType> = (0..width)
        .map(|c| {
            let merged = opened.iter().filter_map(|o| o.sample.columns.get(c).copied()).reduce(|mut a, b| {
                a.merge(b);
                a
            });
            let merged = merged.map(|c| options.candidates.as_ref().map_or(c, |wanted| c.among(wanted)));
            merged.map_or(SqlType::Text, |c| c.sql_type())
        })
        .collect();
    let types = types_of(&names, &sniffed, options)?;
    let readers = names.iter().zip(&types).enumerate().map(|(i, (n, t))| reader(i, n, *t, options)).collect();
    let (records, bytes) =
        opened.iter().fold((0, 0), |(r, b), o| (r + o.sample.records as u64, b + o.sample.bytes as u64));
    let all: u64 = opened.iter().map(|o| o.file.input.len() - o.file.start).sum();
    let rows =
        if records == 0 { all / 64 } else { (u128::from(all) * u128::from(records) / u128::from(bytes.max(1))) as u64 };
    Ok(CsvSource {
        schema: names.into_iter().zip(types).map(|(n, t)| Field::new(n, t)).collect(),
        readers,
        dialect,
        skip_blank: options.auto_detect && width > 1,
        null_padding: options.null_padding,
        trailing_delimiter: opened.iter().all(|o| o.trailing_delimiter),
        ignore_errors: options.ignore_errors,
        rejects: options.rejects.clone(),
        budget: options.budget.clone(),
        cancel: options.cancel.clone(),
        hint: options.auto_detect.then_some(HINT),
        files: opened.into_iter().map(|o| o.file).collect(),
        rows,
        arriving: Mutex::default(),
    })
}

fn dialect_of(head: &[u8], options: &CsvOptions) -> Dialect {
    if options.format == CsvFormat::Text {
        let delimiter = options.delimiter.unwrap_or(b'\t');
        let eol = options.new_line.unwrap_or_else(|| dialect::sniff_eol(head));
        return Dialect { delimiter, quote: None, escape: b'\\', eol, text_format: true, comment: None };
    }
    let quote = options.quote.unwrap_or(Some(b'"'));
    let given = Dialect {
        delimiter: options.delimiter.unwrap_or(b','),
        quote,
        escape: options.escape.or(quote).unwrap_or(b'"'),
        eol: options.new_line.unwrap_or_else(|| dialect::sniff_eol(head)),
        text_format: false,
        comment: options.comment,
    };
    if !options.auto_detect {
        return given;
    }
    let skipped = skip_lines(head, options.skip, given.eol).unwrap_or(head.len());
    dialect::sniff(&head[skipped..], given, options.delimiter, options.quote.is_some())
}

/// Offset past a byte order mark and `count` lines; none if the text ends before.
fn skip_lines(text: &[u8], count: usize, eol: u8) -> Option<usize> {
    let mark = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut ends = memchr::memchr_iter(eol, text);
    (0..count).try_fold(mark, |_, _| ends.next().map(|p| p + 1))
}

/// What texts mean as the sniffer sees it.
fn sniffed_nulls(options: &CsvOptions) -> Texts {
    let nulls = match &options.null {
        Some(given) => given.iter().map(|n| n.clone().into_bytes()).collect(),
        None => sniff::NULLS.map(|n| n.as_bytes().to_vec()).to_vec(),
    };
    Texts { nulls, forms: options.forms.clone(), may_be_short: options.null_padding }
}

fn open_one(
    name: String,
    input: Input,
    dialect: Dialect,
    header: Option<Header>,
    options: &CsvOptions,
) -> Result<Opened> {
    let nulls = sniffed_nulls(options);
    let mut wanted = SAMPLE_BYTES;
    // Lines to skip and the header's line may be longer than the sample.
    let (head, skipped) = loop {
        let head = input.read(&name, 0, input.len().min(wanted))?;
        match skip_lines(&head, options.skip, dialect.eol) {
            Some(at) => break (head, at),
            None if head.len() as u64 == input.len() => break (head.clone(), head.len()),
            None => wanted = (wanted * 4).min(MAX_TEXT as u64),
        }
    };
    let first = sniff::first_record(&head[skipped..], dialect);
    let (texts, end) = first.unwrap_or_default();
    let width = match &options.columns {
        Some(columns) => columns.len(),
        None => texts.len(),
    };
    let data = |skip: usize| &head[skipped + skip..];
    let whole = head.len() as u64 == input.len();
    let rest = sniff::sample(complete(data(end), dialect.eol, whole), dialect, &nulls, width, SAMPLE_RECORDS);
    let names_given = options.columns.as_ref().is_some_and(|c| c.iter().map(|(n, _)| n).eq(&texts));
    let has_header = match header {
        Some(header) => header != Header::No,
        None if options.auto_detect => {
            // A line of exactly the columns' names is no data.
            names_given
                || !texts.is_empty() && texts.len() == width && sniff::looks_like_header(&texts, &rest, &nulls.nulls)
        }
        None => false,
    };
    let trailing_delimiter = options.columns.is_some() && texts.len() == width + 1 && texts[width].is_empty();
    let start = (skipped + if has_header { end } else { 0 }) as u64;
    let mut sample = rest;
    if !has_header {
        sample = sniff::sample(complete(data(0), dialect.eol, whole), dialect, &nulls, width, SAMPLE_RECORDS);
    }
    let size = if options.morsel_bytes == 0 { MORSEL } else { options.morsel_bytes as u64 };
    let morsels = usize::try_from((input.len() - start).div_ceil(size)).unwrap_or(usize::MAX).max(1);
    // What looks like quotes in a comment is none: who walks over a range knows no lines.
    let morsels = if options.comment.is_some() && dialect.quote.is_some() { 1 } else { morsels };
    let file =
        TextFile { name, input: Arc::new(input), start, split: Split::new(start, morsels), lines: Lines::default() };
    let types_known = options.all_varchar || options.columns.is_some() || !options.auto_detect;
    if !types_known {
        sample_more(&file, dialect, &nulls, width, options, &mut sample)?;
    }
    Ok(Opened { file, header: has_header.then_some(texts), width, sample, trailing_delimiter })
}

/// Without the record that the sample's end cuts in two.
fn complete(text: &[u8], eol: u8, whole: bool) -> &[u8] {
    if whole { text } else { &text[..memchr::memrchr(eol, text).map_or(0, |p| p + 1)] }
}

/// Looks at the rest of the file: all of it if it is small or wanted, else at places across it.
fn sample_more(
    file: &TextFile,
    dialect: Dialect,
    nulls: &Texts,
    width: usize,
    options: &CsvOptions,
    sample: &mut Sample,
) -> Result<()> {
    let length = file.input.len();
    let whole = match options.sample_size {
        Some(n) if n < 0 => true,
        Some(_) => return Ok(()),
        None => length < WHOLE,
    };
    let mut merge = |more: &Sample| {
        sample.columns.iter_mut().zip(&more.columns).for_each(|(a, b)| a.merge(*b));
    };
    let place = |place: u64| file.start + (length - file.start) / (PLACES + 1) * place;
    if whole {
        file.input.fetch(std::iter::once(file.start..length))?;
        if length - file.start > SAMPLE_BYTES / 4 {
            merge(&sniff_whole(file, dialect, nulls, width, options)?);
        }
        return Ok(());
    }
    file.input.fetch((1..=PLACES).map(|at| place(at)..(place(at) + PLACE_BYTES).min(length)))?;
    for from in (1..=PLACES).map(place) {
        let text = file.input.read(&file.name, from, (from + PLACE_BYTES).min(length))?;
        let Some(begin) = memchr::memchr(dialect.eol, &text) else { continue };
        // Whether this line begins a record is not known for certain; if what follows does not look like it, the place
        // says nothing. A sample decides which types are tried, never what is read.
        let more = sniff::sample(complete(&text[begin + 1..], dialect.eol, false), dialect, nulls, width, usize::MAX);
        if !more.irregular {
            merge(&more);
        }
    }
    Ok(())
}

/// All records of a file, by whoever helps.
fn sniff_whole(file: &TextFile, dialect: Dialect, nulls: &Texts, width: usize, options: &CsvOptions) -> Result<Sample> {
    let pieces = usize::try_from((file.input.len() - file.start) / PIECE).unwrap_or(usize::MAX).max(1);
    let (input, name, nulls) = (file.input.clone(), file.name.clone(), nulls.clone());
    let (budget, cancel) = (options.budget.clone(), options.cancel.clone());
    let split = Arc::new(Split::new(file.start, pieces));
    let walk: PieceStep = {
        let (input, name, split, cancel) = (input.clone(), name.clone(), split.clone(), cancel.clone());
        Arc::new(move |piece| {
            cancel.check()?;
            split.walk(Text { input: &input, name: &name, dialect: &dialect }, piece)
        })
    };
    let found = Arc::new(Mutex::new(sniff::sample(&[], dialect, &nulls, width, 0)));
    let all = found.clone();
    let look: PieceStep = Arc::new(move |piece| {
        cancel.check()?;
        let (start, end) = split.range(Text { input: &input, name: &name, dialect: &dialect }, piece)?;
        // Longer pieces are read in error anyway.
        let end = end.min(start + MAX_TEXT as u64);
        let _charged = budget.as_ref().map(|b| b.reserve((end - start) as usize, OPERATOR)).transpose()?;
        let sample = sniff::sample(&input.read(&name, start, end)?, dialect, &nulls, width, usize::MAX);
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        all.columns.iter_mut().zip(&sample.columns).for_each(|(a, b)| a.merge(*b));
        Ok(true)
    });
    options.each(pieces, walk)?;
    options.each(pieces, look)?;
    let found = found.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(found.clone())
}

/// The names of the columns and their number, which all files agree on.
fn same_columns(opened: &[Opened], options: &CsvOptions) -> Result<(Vec<String>, usize)> {
    let bad = |message: String| Err(Error::new(SqlState::BAD_COPY_FILE, message));
    let first = &opened[0];
    if let Some(columns) = &options.columns {
        let names: Vec<String> = columns.iter().map(|(n, _)| n.clone()).collect();
        if options.header == Some(Header::Match) {
            for file in opened {
                let header = file.header.as_deref().unwrap_or_default();
                if header.len() != names.len() {
                    let (file, have, want) = (&file.file.name, header.len(), names.len());
                    return bad(format!(
                        "wrong number of fields in header line of \"{file}\": got {have}, expected {want}"
                    ));
                }
                if let Some(i) = (0..names.len()).find(|&i| header[i] != names[i]) {
                    return bad(format!(
                        "column name mismatch in header line field {} of \"{}\": got \"{}\", expected \"{}\"",
                        i + 1,
                        file.file.name,
                        header[i],
                        names[i]
                    ));
                }
            }
        }
        return Ok((names, columns.len()));
    }
    if first.width == 0 {
        return bad(format!("file \"{}\" is empty: it has no columns", first.file.name));
    }
    for other in &opened[1..] {
        if other.header != first.header || other.width != first.width {
            let (a, b) = (&first.file.name, &other.file.name);
            return bad(format!("files \"{a}\" and \"{b}\" have different columns"));
        }
    }
    let mut names = sniff::names(first.header.as_deref(), first.width);
    if options.normalize_names {
        names.iter_mut().for_each(|name| *name = normal_name(name));
    }
    if options.names.len() > names.len() {
        let (given, width) = (options.names.len(), names.len());
        return bad(format!("{given} names are given, but file \"{}\" has {width} columns", first.file.name));
    }
    for (name, given) in names.iter_mut().zip(&options.names) {
        name.clone_from(given);
    }
    Ok((sniff::names(Some(&names), first.width), first.width))
}

/// A name that needs no quotes: letters without accents and in lower case, digits and underscores.
fn normal_name(name: &str) -> String {
    let plain = strip_accents(name).unwrap_or_else(|_| name.to_owned()).to_lowercase();
    let kept = plain.chars().filter_map(|c| match c {
        c if c.is_ascii_alphanumeric() || c == '_' => Some(c),
        c if c.is_whitespace() => Some('_'),
        _ => None,
    });
    let kept: String = kept.collect();
    let kept = kept.trim_matches('_');
    match kept.is_empty() || kept.starts_with(|c: char| c.is_ascii_digit()) || RESERVED.contains(&kept) {
        true => format!("_{kept}"),
        false => kept.to_owned(),
    }
}

fn types_of(names: &[String], sniffed: &[SqlType], options: &CsvOptions) -> Result<Vec<SqlType>> {
    if let Some(columns) = &options.columns {
        return Ok(columns.iter().map(|(_, t)| *t).collect());
    }
    let detect = options.auto_detect && !options.all_varchar;
    let mut types: Vec<SqlType> = sniffed.iter().map(|t| if detect { *t } else { SqlType::Text }).collect();
    if options.first_types.len() > types.len() {
        let message =
            format!("{} types are given, but the file has {} columns", options.first_types.len(), types.len());
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    for (known, given) in types.iter_mut().zip(&options.first_types) {
        *known = *given;
    }
    for (name, sql_type) in &options.types {
        let Some(at) = names.iter().position(|n| n == name) else {
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, format!("the file has no column \"{name}\"")));
        };
        types[at] = *sql_type;
    }
    Ok(types)
}

fn reader(index: usize, name: &str, sql_type: SqlType, options: &CsvOptions) -> Reader {
    let text = |t: &str| t.as_bytes().to_vec();
    let nulls = match &options.null {
        _ if options.force_not_null.contains(name) => Vec::new(),
        Some(given) => given.iter().map(|n| text(n)).collect(),
        None if options.auto_detect && sql_type.is_string() => sniff::TEXT_NULLS.map(text).to_vec(),
        None if options.auto_detect => sniff::NULLS.map(text).to_vec(),
        None if options.format == CsvFormat::Text => vec![text("\\N")],
        None => vec![Vec::new()],
    };
    // What is not there is NULL.
    let nulls = match options.null_padding && !nulls.iter().any(Vec::is_empty) {
        true => nulls.into_iter().chain([Vec::new()]).collect(),
        false => nulls,
    };
    let quoted_nulls = options.force_null.contains(name) || (options.auto_detect && !sql_type.is_string());
    let default =
        options.default.as_ref().and_then(|(marker, values)| Some((text(marker), values.get(index)?.clone())));
    Reader { sql_type, nulls, quoted_nulls, default, zone: options.zone.clone(), forms: options.forms.clone() }
}
