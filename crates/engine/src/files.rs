//! Files as tables: opening, and the statistics that planning sees of them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use base::Result;
use catalog::{ColumnStatistics, Field, Statistics};
use io::{FileSource, OpenContext, Step};
use sql::Table;
use types::{Chunk, Column, ColumnBuilder, Value};

use crate::samples::Samples;
use crate::source::Source;

/// Rows of a file's sample.
const SAMPLE: usize = 1024;

/// A file as FROM sees it.
pub(crate) fn table(name: &str, file: Arc<dyn FileSource>, samples: &Arc<Samples>) -> Table {
    let fields = file
        .schema()
        .iter()
        .map(|f| Field { name: f.name.clone(), sql_type: f.sql_type, nullable: f.nullable })
        .collect();
    let statistics = Arc::new(FileStatistics { file: file.clone(), sample: OnceLock::new(), samples: samples.clone() });
    Table { name: name.into(), fields, defaults: Vec::new(), statistics, source: Source::File(file).into_handle() }
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

/// Statistics of a file: what its footer says, and a sample of its first rows, read when first asked for.
struct FileStatistics {
    file: Arc<dyn FileSource>,
    sample: OnceLock<Option<Arc<Chunk>>>,
    samples: Arc<Samples>,
}

impl fmt::Debug for FileStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileStatistics")
    }
}

impl Statistics for FileStatistics {
    fn rows(&self) -> u64 {
        self.file.estimated_rows()
    }

    fn sample(&self) -> Option<Arc<Chunk>> {
        let find = || {
            let identity = self.file.identity();
            if let Some(known) = identity.as_ref().and_then(|identity| self.samples.get(identity)) {
                return Some(known);
            }
            let sample = Arc::new(read_sample(&self.file)?);
            identity.into_iter().for_each(|identity| self.samples.keep(identity, sample.clone()));
            Some(sample)
        };
        self.sample.get_or_init(find).clone()
    }

    fn column(&self, attribute: usize) -> ColumnStatistics {
        let known = self.file.statistics(attribute);
        let rows = self.file.exact_rows();
        let null_fraction = match (known.nulls, rows) {
            (Some(nulls), Some(rows)) if rows > 0 => Some(nulls as f64 / rows as f64),
            (Some(0), _) => Some(0.0),
            _ => None,
        };
        let distinct = self.sample().map(|sample| distinct(sample.column(attribute), self.rows() as f64));
        ColumnStatistics { distinct, min: known.min, max: known.max, null_fraction }
    }
}

/// Distinct values of the sample, scaled: if most are different, so are most of all rows (first-order jackknife).
fn distinct(column: &Column, rows: f64) -> f64 {
    let mut counts = std::collections::HashMap::new();
    for row in 0..column.rows() {
        *counts.entry(column.value(row)).or_insert(0u32) += 1;
    }
    let n = column.rows().max(1) as f64;
    let once = counts.values().filter(|&&c| c == 1).count() as f64;
    let share = (n / rows.max(n)).min(1.0);
    (counts.len() as f64 / (1.0 - (1.0 - share) * once / n).max(share)).min(rows)
}

/// The first rows; None where reading them fails: running the query will say why. Columns that cannot be read are NULL.
fn read_sample(file: &Arc<dyn FileSource>) -> Option<Chunk> {
    let readable: Vec<usize> = (0..file.schema().len()).filter(|&c| file.schema()[c].unsupported.is_none()).collect();
    let mut reader = (file.morsels() > 0).then(|| file.clone().read_first(&readable).ok()).flatten()?;
    let first = loop {
        match reader.step().ok()? {
            Step::Chunk(chunk) => break chunk,
            Step::More => {}
            Step::End => return None,
        }
    };
    let rows = first.rows().min(SAMPLE);
    // Spread over the chunk: files are often ordered.
    let picked: Vec<usize> = (0..rows).map(|i| i * first.rows() / rows.max(1)).collect();
    let mut columns = Vec::new();
    for (index, field) in file.schema().iter().enumerate() {
        let mut builder = ColumnBuilder::new(field.sql_type, rows);
        let source = readable.iter().position(|&c| c == index);
        for &row in &picked {
            match source {
                Some(at) => builder.push_value(&first.column(at).value(row)),
                None => builder.push_null(),
            }
        }
        columns.push(builder.finish());
    }
    Some(Chunk::new(rows, columns))
}

/// Writes chunks to a file in the format that options or the path's ending say.
pub(crate) struct Writer(Box<dyn io::ChunkWriter>);

impl Writer {
    pub fn create(path: &str, columns: &[Field], options: &[(String, String)], outside: &OpenContext) -> Result<Self> {
        let fields: Vec<io::Field> = columns
            .iter()
            .map(|c| io::Field { nullable: c.nullable, ..io::Field::new(c.name.clone(), c.sql_type) })
            .collect();
        Ok(Self(io::create(path, &fields, options, outside.budget.as_ref())?))
    }
    pub fn write(&mut self, chunk: &Chunk) -> Result<()> {
        self.0.write(chunk)
    }
    pub fn finish(self) -> Result<()> {
        self.0.finish()
    }
}
