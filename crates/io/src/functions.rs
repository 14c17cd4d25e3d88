//! What else functions in FROM say of files: whole contents, names, and what footers of Parquet hold.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use base::memory::Reservation;
use base::{Error, Result, SqlState};
use remote::is_remote;
use types::ops::string::MAX_LENGTH;
use types::ops::{array, bytes, structure};
use types::{Chunk, ColumnBuilder, SqlType, StructField, Value};

use crate::arriving::Arriving;
use crate::context::OpenContext;
use crate::csv::{CsvOptions, sniff_csv};
use crate::input::{Compression, Input, OPERATOR, open_error};
use crate::paths::expand_paths;
use crate::source::{CHUNK_ROWS, Field, FileSource, MemorySource, PieceReader, PrunePredicate, Step};

/// A table of these columns and rows.
pub fn table(columns: &[(&str, SqlType)], rows: &[Vec<Value>]) -> Arc<dyn FileSource> {
    let chunk = |rows: &[Vec<Value>]| {
        let column = |(at, (_, sql_type)): (usize, &(&str, SqlType))| {
            let mut builder = ColumnBuilder::new(*sql_type, rows.len());
            rows.iter().for_each(|row| builder.push_value(&row[at]));
            builder.finish()
        };
        Chunk::new(rows.len(), columns.iter().enumerate().map(column).collect())
    };
    let fields = columns.iter().map(|(name, sql_type)| Field::new(*name, *sql_type)).collect();
    Arc::new(MemorySource::new(fields, rows.chunks(CHUNK_ROWS).map(chunk).collect()))
}

/// `glob('dir/*.csv')`: the paths of files.
pub fn glob(patterns: &[String], context: &OpenContext) -> Result<Arc<dyn FileSource>> {
    let mut rows = Vec::new();
    for pattern in patterns {
        let found = match expand_paths(std::slice::from_ref(pattern), context) {
            Err(error) if error.state() == SqlState::UNDEFINED_FILE => Vec::new(),
            found => found?,
        };
        let there = found.iter().filter(|path| path.to_str().is_some_and(is_remote) || path.exists());
        rows.extend(there.map(|path| vec![Value::str(path.display().to_string())]));
    }
    Ok(table(&[("file", SqlType::Text)], &rows))
}

/// `sniff_csv('file')`: how it would be read. Names are DuckDB's, as they are without quotes.
pub fn sniff(files: &[PathBuf], options: &CsvOptions) -> Result<Arc<dyn FileSource>> {
    let column = |name: &str| StructField { name: name.to_owned(), sql_type: SqlType::Text };
    let of = SqlType::struct_of(vec![column("name"), column("type")]);
    let columns = [
        ("file", SqlType::Text),
        ("delimiter", SqlType::Text),
        ("quote", SqlType::Text),
        ("escape", SqlType::Text),
        ("newlinedelimiter", SqlType::Text),
        ("comment", SqlType::Text),
        ("skiprows", SqlType::BigInt),
        ("hasheader", SqlType::Bool),
        ("columns", SqlType::array_of(of)),
        ("dateformat", SqlType::Text),
        ("timestampformat", SqlType::Text),
    ];
    let row = |file: &PathBuf| {
        let found = sniff_csv(file, options)?;
        let character = |byte: Option<u8>| byte.map_or(Value::Null, |byte| Value::str(char::from(byte).to_string()));
        let field = |field: &Field| match of.structure() {
            Some(of) => structure::encode(&[Value::str(&*field.name), Value::str(field.sql_type.to_string())], of),
            None => Ok(Value::Null),
        };
        let fields = found.columns.iter().map(field).collect::<Result<Vec<_>>>()?;
        let pattern = |pattern: &Option<String>| pattern.as_deref().map_or(Value::Null, Value::str);
        Ok(vec![
            Value::str(found.name),
            character(Some(found.dialect.delimiter)),
            character(found.dialect.quote),
            character(Some(found.dialect.escape)),
            Value::str(if found.dialect.eol == b'\r' { "\\r" } else { "\\n" }),
            character(found.dialect.comment),
            Value::Int(i64::try_from(options.skip).unwrap_or(i64::MAX)),
            Value::Bool(found.has_header),
            array::encode(&fields, of)?,
            pattern(&options.forms.date),
            pattern(&options.forms.timestamp),
        ])
    };
    Ok(table(&columns, &files.iter().map(row).collect::<Result<Vec<_>>>()?))
}

/// `read_text` and `read_blob`: a row for each file, with all that it holds.
pub fn contents(files: Vec<PathBuf>, is_text: bool, context: OpenContext) -> Result<Arc<dyn FileSource>> {
    let content = if is_text { SqlType::Text } else { SqlType::Bytea };
    let schema = vec![
        Field::new("filename", SqlType::Text),
        Field::new("content", content),
        Field::new("size", SqlType::BigInt),
        Field::new("last_modified", SqlType::Timestamptz),
    ];
    let open = |path: PathBuf| {
        let is_remote = path.to_str().is_some_and(is_remote);
        let input = is_remote.then(|| Input::open(&path, Compression::None, context.means())).transpose()?;
        Ok((path, input.map(Arc::new)))
    };
    let files = files.into_iter().map(open).collect::<Result<_>>()?;
    Ok(Arc::new(Contents { schema, files, context }))
}

/// Files as rows: a morsel is one, read when it is asked for.
struct Contents {
    schema: Vec<Field>,
    /// With what is open already: those on servers.
    files: Vec<(PathBuf, Option<Arc<Input>>)>,
    context: OpenContext,
}

impl FileSource for Contents {
    fn schema(&self) -> &[Field] {
        &self.schema
    }
    fn estimated_rows(&self) -> u64 {
        self.files.len() as u64
    }
    fn exact_rows(&self) -> Option<u64> {
        Some(self.estimated_rows())
    }
    fn morsels(&self) -> usize {
        self.files.len()
    }
    fn file_of(&self, morsel: usize) -> usize {
        morsel
    }
    fn read(
        self: Arc<Self>,
        morsel: usize,
        columns: &[usize],
        _prune: &[PrunePredicate],
        _chunk_rows: usize,
    ) -> Result<Box<dyn PieceReader>> {
        let wanted = match &self.files[morsel].1 {
            Some(input) if columns.contains(&1) => input.want(std::iter::once(0..input.len()), true)?,
            _ => None,
        };
        let reader = ContentsReader { source: self, file: Some(morsel), columns: columns.to_vec(), charged: None };
        Ok(match wanted {
            Some(wanted) => Arriving::boxed(Arc::new(wanted), move || Ok(Box::new(reader))),
            None => Box::new(reader),
        })
    }
}

struct ContentsReader {
    source: Arc<Contents>,
    file: Option<usize>,
    columns: Vec<usize>,
    charged: Option<Reservation>,
}

impl ContentsReader {
    fn content(&mut self, path: &Path, input: &Input, sql_type: SqlType) -> Result<Value> {
        let length = usize::try_from(input.len()).unwrap_or(usize::MAX);
        // The form of bytes is a little longer than these.
        if length >= MAX_LENGTH / 2 {
            let message = format!("file \"{}\" has {length} bytes, more than a value has", path.display());
            return Err(Error::new(SqlState::PROGRAM_LIMIT, message));
        }
        // The bytes, and the value that is made of them.
        let budget = self.source.context.budget.as_ref();
        self.charged = budget.map(|b| b.reserve(length.saturating_mul(3), OPERATOR)).transpose()?;
        let read = input.read(&path.display().to_string(), 0, input.len())?;
        if sql_type == SqlType::Bytea {
            return Ok(Value::str(bytes::form(&read)));
        }
        let text = std::str::from_utf8(&read).ok().filter(|text| !text.contains('\0'));
        text.map(Value::str).ok_or_else(|| {
            let message = format!("file \"{}\" is no text in UTF-8", path.display());
            Error::new(SqlState::INVALID_ENCODING, message).hint("read_blob reads any bytes")
        })
    }
}

impl PieceReader for ContentsReader {
    fn step(&mut self) -> Result<Step> {
        let Some(file) = self.file.take() else { return Ok(Step::End) };
        let source = self.source.clone();
        let (path, remote) = &source.files[file];
        let about = match remote {
            Some(_) => None,
            None => Some(std::fs::metadata(path).map_err(|e| open_error(path, &e))?),
        };
        let mut columns = Vec::with_capacity(self.columns.len());
        for column in self.columns.clone() {
            let sql_type = source.schema[column].sql_type;
            let value = match column {
                0 => Value::str(path.display().to_string()),
                1 => match remote {
                    Some(input) => self.content(path, input, sql_type)?,
                    None => {
                        let input = Input::open(path, Compression::None, source.context.means())?;
                        self.content(path, &input, sql_type)?
                    }
                },
                2 => {
                    let bytes = about.as_ref().map(Metadata::len).or(remote.as_ref().map(|input| input.len()));
                    bytes.and_then(|bytes| i64::try_from(bytes).ok()).map_or(Value::Null, Value::Int)
                }
                _ => {
                    let changed = about
                        .as_ref()
                        .and_then(|about| about.modified().ok())
                        .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
                    let micros = changed.and_then(|at| i64::try_from(at.as_micros()).ok());
                    micros.map_or(Value::Null, Value::Timestamp)
                }
            };
            let mut builder = ColumnBuilder::new(sql_type, 1);
            builder.push_value(&value);
            columns.push(builder.finish());
        }
        Ok(Step::Chunk(Chunk::new(1, columns)))
    }
}
