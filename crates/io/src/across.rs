//! Many files as one table: options about which file a row is from, and how columns of files go together.

mod labelled;
mod numbered;
mod partitions;
mod union;

use std::path::PathBuf;
use std::sync::Arc;

use base::{Error, Result, SqlState};
use types::{SqlType, Value};

use crate::option::{bad, flag, typed_columns};
use crate::source::{Field, FileSource};
use labelled::{Label, Labelled};
use numbered::Numbered;

pub use partitions::{NULL_PARTITION, encoded};

/// The names of all options.
pub const NAMES: [&str; 6] =
    ["filename", "file_row_number", "union_by_name", "hive_partitioning", "hive_types", "hive_types_autocast"];

/// Opens some files as one source, with types for columns of which more is known than one file tells.
pub type Open<'a> = &'a dyn Fn(&[PathBuf], &[(String, SqlType)]) -> Result<Arc<dyn FileSource>>;

/// What is said of the files together.
#[derive(Default)]
pub struct Across {
    /// The name of the column that holds each row's file.
    filename: Option<String>,
    /// There is a column that numbers the rows of each file.
    is_numbered: bool,
    /// A file may lack columns that others have.
    union_by_name: bool,
    /// Folders `key=value` are columns; none: if all files lie in such.
    partitions: Option<bool>,
    /// The types of these columns; others are found out.
    types: Vec<(String, SqlType)>,
    /// Types are not found out.
    is_text: bool,
}

impl Across {
    /// Takes those options away.
    pub fn take(options: &[(String, String)]) -> Result<(Self, Vec<(String, String)>)> {
        let (mut across, mut others) = (Self::default(), Vec::new());
        for (name, value) in options {
            match name.as_str() {
                "filename" => {
                    across.filename = match flag(name, value) {
                        Ok(is_on) => is_on.then(|| name.clone()),
                        Err(_) if value.is_empty() => return Err(bad(name, value)),
                        Err(_) => Some(value.clone()),
                    }
                }
                "file_row_number" => across.is_numbered = flag(name, value)?,
                "union_by_name" => across.union_by_name = flag(name, value)?,
                "hive_partitioning" if value == "auto" => across.partitions = None,
                "hive_partitioning" => across.partitions = Some(flag(name, value)?),
                "hive_types" => across.types = typed_columns(name, value)?,
                "hive_types_autocast" => across.is_text = !flag(name, value)?,
                _ => others.push((name.clone(), value.clone())),
            }
        }
        Ok((across, others))
    }

    /// Opens the files.
    pub fn open(&self, files: &[PathBuf], open: Open<'_>) -> Result<Arc<dyn FileSource>> {
        let source = if self.union_by_name && files.len() > 1 { union::open(files, open)? } else { open(files, &[])? };
        let source = match self.is_numbered {
            true => Arc::new(Numbered::new(source, "file_row_number")?),
            false => source,
        };
        let mut labels = Vec::new();
        if let Some(name) = &self.filename {
            let values = files.iter().map(|file| Value::str(file.display().to_string())).collect();
            labels.push(Label { field: Field { nullable: false, ..Field::new(name, SqlType::Text) }, values });
        }
        if self.partitions != Some(false) {
            labels.extend(partitions::labels(files, self.partitions.is_some(), &self.types, self.is_text)?);
        }
        if let Some((unknown, _)) = self.types.iter().find(|(name, _)| !labels.iter().any(|l| l.field.name == *name)) {
            let message = format!("no folder names the partition column \"{unknown}\"");
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
        }
        Ok(if labels.is_empty() { source } else { Arc::new(Labelled::new(source, labels)) })
    }
}
