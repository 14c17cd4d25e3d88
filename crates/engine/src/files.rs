//! Files as tables: opening, and the statistics that planning sees of them.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use base::Result;
use catalog::{ColumnStatistics, Field, Statistics};
use io::{FileSource, OpenContext};
use sql::Table;
use types::{Chunk, Value};

use crate::samples::{FileSample, Samples};
use crate::source::Source;

/// A file as FROM sees it.
pub(crate) fn table(name: &str, file: Arc<dyn FileSource>, samples: &Arc<Samples>) -> Table {
    let fields = file
        .schema()
        .iter()
        .map(|f| Field { name: f.name.clone(), sql_type: f.sql_type, nullable: f.nullable })
        .collect();
    let statistics =
        Arc::new(FileStatistics { file: file.clone(), sample: Mutex::default(), samples: samples.clone() });
    let source = Source::File(file).into_handle();
    Table {
        name: name.into(),
        fields,
        computed: Vec::new(),
        fillings: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        domains: Vec::new(),
        collations: Vec::new(),
        triggers: Vec::new(),
        view: None,
        kin: None,
        definition: None,
        statistics,
        source,
    }
}

/// Options as texts.
pub(crate) fn texts(options: &[(String, Value)]) -> Vec<(String, String)> {
    options.iter().map(|(name, value)| (name.clone(), text_of(value))).collect()
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Str(s) => s.to_string(),
        Value::Bool(b) => b.to_string(),
        Value::Int(i) => i.to_string(),
        Value::Float(f) => f.to_string(),
        _ => String::new(),
    }
}

/// Statistics of a file: what its footer says, and a sample of its first rows, read when first asked for and again when asked
/// for further columns.
struct FileStatistics {
    file: Arc<dyn FileSource>,
    sample: Mutex<Option<FileSample>>,
    samples: Arc<Samples>,
}

impl fmt::Debug for FileStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileStatistics")
    }
}

impl FileStatistics {
    /// The sample, with at least these columns.
    fn sample_of(&self, attributes: &[usize]) -> FileSample {
        let mut sample = self.sample.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sample) = sample.as_ref().filter(|sample| sample.has(attributes)) {
            return sample.clone();
        }
        let identity = self.file.identity();
        let known = identity.as_ref().and_then(|identity| self.samples.get(identity)).or_else(|| sample.take());
        let found = known
            .clone()
            .filter(|known| known.has(attributes))
            .unwrap_or_else(|| self.samples.take(&self.file, attributes, known.as_ref(), identity));
        sample.insert(found).clone()
    }
}

impl Statistics for FileStatistics {
    fn rows(&self) -> u64 {
        self.file.estimated_rows()
    }

    fn sample(&self, attributes: &[usize]) -> Option<Arc<Chunk>> {
        self.sample_of(attributes).chunk()
    }

    fn column(&self, attribute: usize) -> ColumnStatistics {
        let known = self.file.statistics(attribute);
        let rows = self.file.exact_rows();
        let null_fraction = match (known.nulls, rows) {
            (Some(nulls), Some(rows)) if rows > 0 => Some(nulls as f64 / rows as f64),
            (Some(0), _) => Some(0.0),
            _ => None,
        };
        let distinct = self.sample_of(&[attribute]).distinct(attribute, self.rows() as f64);
        ColumnStatistics { distinct, min: known.min, max: known.max, null_fraction }
    }
}

/// Writes chunks to a file in the format that options or the path's ending say.
pub(crate) struct Writer(Box<dyn io::ChunkWriter>);

impl Writer {
    pub fn create(path: &str, columns: &[Field], options: &[(String, String)], outside: &OpenContext) -> Result<Self> {
        let fields: Vec<io::Field> = columns
            .iter()
            .map(|c| io::Field { nullable: c.nullable, ..io::Field::new(c.name.clone(), c.sql_type) })
            .collect();
        Ok(Self(io::create(path, &fields, options, outside)?))
    }
    pub fn write(&mut self, chunk: &Chunk) -> Result<()> {
        self.0.write(chunk)
    }
    pub fn finish(self) -> Result<()> {
        self.0.finish()
    }
}
