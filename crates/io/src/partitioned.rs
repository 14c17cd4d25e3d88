//! A folder of files, parted by the values of columns: `year=2024/month=7/data_0.parquet`, as `across` reads them.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

use base::memory::Reservation;
use base::{Error, Result, SqlState};
use types::ops::cast::format_value_in;
use types::ops::uuid;
use types::{Chunk, Column, ColumnBuilder};

use crate::across::{NULL_PARTITION, encoded};
use crate::context::OpenContext;
use crate::copy_options;
use crate::format::Format;
use crate::input::open_error;
use crate::option::{bad, flag, items};
use crate::planned::{ChunkWriter, Planned};
use crate::source::Field;

/// What stands for a file's number, and for something unique, in the pattern of names.
const NUMBER: &str = "{i}";
const UNIQUE: &str = "{uuid}";
/// Most files that are open at once. Where there are more parts, a part may get several files.
const MOST: usize = 100;
/// Bytes that a text file which is written keeps in memory; those of Parquet say it themselves.
const TEXT: usize = 1_300 << 10;
/// The name by which memory is charged.
const OPERATOR: &str = "COPY TO";

/// Options that are about the parts; others are those of the files.
#[derive(Default)]
struct Parts {
    by: Vec<String>,
    /// The folder may have files, of which those that have the names of new ones are replaced.
    into_filled: bool,
    /// What is in the folder goes.
    anew: bool,
    /// What is in the folder stays: new files have other names.
    append: bool,
    /// What files are called, `data_{i}` if nothing is said.
    pattern: Option<String>,
    /// There is a folder although rows are not parted.
    whole: bool,
    /// The files have the columns, too.
    with_columns: bool,
}

/// Writes each row to the file of its part.
pub struct PartitionedWriter {
    folder: PathBuf,
    /// Where the files take the place of others once all of them are there; until then they are in `folder`.
    replaced: Option<Replaced>,
    extension: &'static str,
    /// The columns by whose values rows are parted, and those that are written.
    by: Vec<usize>,
    written: Vec<usize>,
    names: Vec<String>,
    fields: Vec<Field>,
    options: Vec<(String, String)>,
    outside: OpenContext,
    /// Files by their folders.
    open: BTreeMap<String, Box<dyn ChunkWriter>>,
    /// Files that a folder has got, if some are no longer open.
    closed: HashMap<String, usize>,
    /// What files are called.
    pattern: String,
    charged: Option<Reservation>,
}

impl PartitionedWriter {
    /// Checks everything that can be before there are rows, and makes the folder.
    pub fn create(path: &str, fields: &[Field], options: &[(String, String)], outside: &OpenContext) -> Result<Self> {
        let (mut parts, mut others) = (Parts::default(), Vec::new());
        for (name, value) in options {
            match name.as_str() {
                "partition_by" => parts.by = items(value),
                "overwrite_or_ignore" => parts.into_filled = flag(name, value)?,
                "overwrite" => parts.anew = flag(name, value)?,
                "append" => parts.append = flag(name, value)?,
                "filename_pattern" => parts.pattern = Some(checked_pattern(name, value)?),
                // One writer has all rows.
                "per_thread_output" => parts.whole = flag(name, value)?,
                "write_partition_columns" => parts.with_columns = flag(name, value)?,
                _ => others.push((name.clone(), value.clone())),
            }
        }
        let invalid = |message: String| Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
        let find = |name: &String| {
            let found = fields.iter().position(|f| f.name == *name);
            found.or_else(|| fields.iter().position(|f| f.name.eq_ignore_ascii_case(name))).ok_or_else(|| {
                Error::new(SqlState::UNDEFINED_COLUMN, format!("PARTITION_BY column \"{name}\" does not exist"))
            })
        };
        let by = parts.by.iter().map(find).collect::<Result<Vec<_>>>()?;
        if by.is_empty() && !parts.whole || by.iter().enumerate().any(|(at, column)| by[..at].contains(column)) {
            return Err(invalid("PARTITION_BY takes one or more different columns".to_owned()));
        }
        let is_written = |column: &usize| parts.with_columns || !by.contains(column);
        let written: Vec<usize> = (0..fields.len()).filter(is_written).collect();
        if written.is_empty() {
            return Err(invalid("PARTITION_BY leaves no column to write".to_owned())
                .hint("WRITE_PARTITION_COLUMNS true writes them, too"));
        }
        let written_fields: Vec<Field> = written.iter().map(|&column| fields[column].clone()).collect();
        let extension = match copy_options::format(path, &others) {
            Format::Csv => "csv",
            Format::Parquet => "parquet",
            Format::Json => "json",
            Format::Arrow => "arrow",
        };
        drop(Planned::new(&format!("data.{extension}"), &written_fields, &others, outside)?);
        let folder = PathBuf::from(path);
        fs::create_dir_all(&folder).map_err(|e| open_error(&folder, &e))?;
        let is_filled = fs::read_dir(&folder).map_err(|e| open_error(&folder, &e))?.next().is_some();
        if [parts.into_filled, parts.anew, parts.append].into_iter().filter(|said| *said).count() > 1 {
            return Err(invalid("only one of OVERWRITE_OR_IGNORE, OVERWRITE and APPEND can be said".to_owned()));
        }
        if is_filled && !(parts.into_filled || parts.anew || parts.append) {
            // SQLSTATE 58P02: duplicate file.
            return Err(Error::new(SqlState("58P02"), format!("folder \"{path}\" is not empty")).hint(
                "OVERWRITE_OR_IGNORE writes into it all the same, APPEND keeps what is there, OVERWRITE takes it away",
            ));
        }
        let replaced = (is_filled && parts.anew).then(|| Replaced::of(&folder)).transpose()?;
        let folder = replaced.as_ref().map_or(folder, |replaced| replaced.aside.clone());
        let pattern = match parts.pattern {
            Some(pattern) if parts.append && !pattern.contains(UNIQUE) => format!("{pattern}_{UNIQUE}"),
            Some(pattern) => pattern,
            None if parts.append => format!("data_{UNIQUE}"),
            None => "data_{i}".to_owned(),
        };
        let charged = outside.budget.as_ref().filter(|_| extension != "parquet");
        Ok(Self {
            names: by.iter().map(|&column| encoded(&fields[column].name)).collect(),
            folder,
            replaced,
            extension,
            by,
            written,
            fields: written_fields,
            options: others,
            outside: outside.clone(),
            open: BTreeMap::new(),
            closed: HashMap::new(),
            pattern,
            charged: charged.map(|budget| budget.reserve(0, OPERATOR)).transpose()?,
        })
    }

    /// The folder of a row, within that of all.
    fn part(&self, chunk: &Chunk, row: usize) -> String {
        let part = self.by.iter().zip(&self.names).map(|(&at, name)| {
            let column = chunk.column(at);
            match column.is_null(row) {
                true => format!("{name}={NULL_PARTITION}"),
                false => {
                    let text = format_value_in(&column.value(row), column.sql_type(), &self.outside.zone);
                    format!("{name}={}", encoded(&text))
                }
            }
        });
        part.collect::<Vec<_>>().join("/")
    }

    /// The file of a part, which is opened if it is not.
    fn file(&mut self, part: &str) -> Result<&mut Box<dyn ChunkWriter>> {
        if !self.open.contains_key(part) {
            if self.open.len() == MOST {
                self.close()?;
            }
            if let Some(charged) = &mut self.charged {
                charged.resize((self.open.len() + 1) * TEXT)?;
            }
            let number = self.closed.get(part).copied().unwrap_or(0);
            let folder = self.folder.join(Path::new(part));
            fs::create_dir_all(&folder).map_err(|e| open_error(&folder, &e))?;
            let path = folder.join(self.name(number)).display().to_string();
            let planned = Planned::new(&path, &self.fields, &self.options, &self.outside)?;
            self.open.insert(part.to_owned(), planned.start(&path, &self.fields, &self.outside)?);
        }
        Ok(self.open.get_mut(part).expect("just opened"))
    }

    /// What the file of a part is called that has that number there.
    fn name(&self, number: usize) -> String {
        let Self { pattern, extension, .. } = self;
        let name = match pattern.contains(NUMBER) || pattern.contains(UNIQUE) {
            true => pattern.replace(NUMBER, &number.to_string()),
            false => format!("{pattern}{number}"),
        };
        let mut unique = String::new();
        uuid::write(&mut unique, uuid::of_random(random_bits()));
        format!("{}.{extension}", name.replace(UNIQUE, &unique))
    }

    /// Completes all files.
    fn close(&mut self) -> Result<()> {
        for (part, file) in std::mem::take(&mut self.open) {
            file.finish()?;
            *self.closed.entry(part).or_default() += 1;
        }
        Ok(())
    }
}

/// The pattern of files' names, which lie in their folders.
fn checked_pattern(name: &str, value: &str) -> Result<String> {
    match value.is_empty() || value.contains(['/', '\\']) {
        true => Err(bad(name, value).hint("it is a name, in which {i} is a number and {uuid} something unique")),
        false => Ok(value.to_owned()),
    }
}

/// A folder whose files go when others are complete, which until then lie in a folder of their own inside. That goes in any case.
struct Replaced {
    folder: PathBuf,
    aside: PathBuf,
}

impl Replaced {
    fn of(folder: &Path) -> Result<Self> {
        let aside = folder.join(format!(".new-{:032x}", random_bits()));
        fs::create_dir(&aside).map_err(|e| open_error(&aside, &e))?;
        Ok(Self { folder: folder.to_owned(), aside })
    }

    /// What was in the folder goes, and what is new is there.
    fn take_place(self) -> Result<()> {
        let wrong = |e| open_error(&self.folder, &e);
        for entry in fs::read_dir(&self.folder).map_err(wrong)? {
            let entry = entry.map_err(wrong)?;
            let path = entry.path();
            if path == self.aside {
                continue;
            }
            let is_folder = entry.file_type().map_err(wrong)?.is_dir();
            let removed = if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(wrong)?;
        }
        for entry in fs::read_dir(&self.aside).map_err(wrong)? {
            let entry = entry.map_err(wrong)?;
            fs::rename(entry.path(), self.folder.join(entry.file_name())).map_err(wrong)?;
        }
        Ok(())
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.aside);
    }
}

/// Bits that nobody foresees.
fn random_bits() -> u128 {
    let half = || u128::from(RandomState::new().build_hasher().finish());
    half() << 64 | half()
}

/// Some rows of a column.
fn rows_of(column: &Column, rows: &[usize]) -> Column {
    let mut out = ColumnBuilder::new(column.sql_type(), rows.len());
    rows.iter().for_each(|&row| out.push_value(&column.value(row)));
    out.finish()
}

impl ChunkWriter for PartitionedWriter {
    fn write(&mut self, chunk: &Chunk) -> Result<()> {
        let mut parts: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for row in 0..chunk.rows() {
            parts.entry(self.part(chunk, row)).or_default().push(row);
        }
        for (part, rows) in parts {
            let columns = self.written.iter().map(|&column| rows_of(chunk.column(column), &rows)).collect();
            self.file(&part)?.write(&Chunk::new(rows.len(), columns))?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.close()?;
        self.replaced.take().map_or(Ok(()), Replaced::take_place)
    }
}
