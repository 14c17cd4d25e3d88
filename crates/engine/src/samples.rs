//! Samples of files, kept from one statement to the next: taking one decodes a piece of the file. A sample has the columns
//! that statements have asked for.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use base::Budget;
use base::memory::Reservation;
use io::{FileSource, Identity, Known, Step};
use types::{Chunk, Column, ColumnBuilder, Physical, Str};

/// Whose memory samples are.
const OPERATOR: &str = "samples of files";
/// Rows of a file's sample.
const ROWS: usize = 1024;
/// Bytes that the texts of a sample have together, at most: of long ones there are fewer rows.
const TEXTS: usize = 1 << 20;

/// Some columns of some of a file's first rows.
#[derive(Clone, Debug)]
pub(crate) struct FileSample(Arc<Taken>);

#[derive(Debug)]
struct Taken {
    /// The columns, in order.
    attributes: Vec<usize>,
    /// All of the file's columns, the others NULL. None where reading failed: running the query will say why.
    chunk: Option<Arc<Chunk>>,
    /// How many values each of the columns has, and how many of them once: counted when first asked for.
    values: Vec<OnceLock<(usize, usize)>>,
    /// The memory of the chunk.
    _charged: Option<Reservation>,
}

impl FileSample {
    fn new(attributes: Vec<usize>, chunk: Option<Arc<Chunk>>, charged: Option<Reservation>) -> Self {
        let values = attributes.iter().map(|_| OnceLock::new()).collect();
        Self(Arc::new(Taken { attributes, chunk, values, _charged: charged }))
    }

    /// Whether these columns are among those that it has.
    pub fn has(&self, attributes: &[usize]) -> bool {
        attributes.iter().all(|attribute| self.0.attributes.binary_search(attribute).is_ok())
    }

    /// The rows.
    pub fn chunk(&self) -> Option<Arc<Chunk>> {
        self.0.chunk.clone()
    }

    /// Distinct values of one of the columns among so many rows: if most of the sample's are different, so are most of all
    /// rows' (first-order jackknife).
    pub fn distinct(&self, attribute: usize, rows: f64) -> Option<f64> {
        let Taken { attributes, chunk, values, .. } = &*self.0;
        let (at, chunk) = (attributes.binary_search(&attribute).ok()?, chunk.as_ref()?);
        let &(distinct, once) = values[at].get_or_init(|| count_values(chunk.column(attribute)));
        let n = chunk.rows().max(1) as f64;
        let share = (n / rows.max(n)).min(1.0);
        Some((distinct as f64 / (1.0 - (1.0 - share) * once as f64 / n).max(share)).min(rows))
    }
}

/// How many values a column has, and how many of them once.
fn count_values(column: &Column) -> (usize, usize) {
    let mut counts = HashMap::new();
    for row in 0..column.rows() {
        *counts.entry(column.value(row)).or_insert(0u32) += 1;
    }
    (counts.len(), counts.values().filter(|&&count| count == 1).count())
}

/// The first rows, with these columns as far as they can be read.
fn first_rows(file: &Arc<dyn FileSource>, attributes: &[usize]) -> Option<Chunk> {
    let is_readable = |attribute: &usize| file.schema()[*attribute].unsupported.is_none();
    let readable: Vec<usize> = attributes.iter().copied().filter(is_readable).collect();
    let mut reader = (file.morsels() > 0).then(|| file.clone().read_first(&readable).ok()).flatten()?;
    let first = loop {
        match reader.step().ok()? {
            Step::Chunk(chunk) => break chunk,
            Step::More => {}
            // Not worth waiting for.
            Step::Wait(_) => return None,
            Step::End => return None,
        }
    };
    let rows = rows_of(&first)?;
    let columns = file.schema().iter().enumerate().map(|(attribute, field)| {
        let mut builder = ColumnBuilder::new(field.sql_type, rows);
        match readable.binary_search(&attribute) {
            Ok(at) => spread(&first, rows).for_each(|row| builder.push_value(&first.column(at).value(row))),
            Err(_) => (0..rows).for_each(|_| builder.push_null()),
        }
        builder.finish()
    });
    Some(Chunk::new(rows, columns.collect()))
}

/// So many rows of a chunk, spread over it: files are often ordered.
fn spread(chunk: &Chunk, rows: usize) -> impl Iterator<Item = usize> {
    let all = chunk.rows();
    (0..rows).map(move |i| i * all / rows)
}

/// How many rows of a chunk make a sample. None if a single one is too long, which a dictionary's entry may be for all rows.
fn rows_of(chunk: &Chunk) -> Option<usize> {
    let is_text = |column: &&Column| column.physical() == Physical::Str;
    let texts: Vec<&[Str]> = chunk.columns().iter().filter(is_text).map(Column::values::<Str>).collect();
    let bytes = |row: usize| texts.iter().map(|text| text[row].len()).sum::<usize>();
    let mut rows = chunk.rows().min(ROWS);
    while rows > 0 && spread(chunk, rows).map(bytes).sum::<usize>() > TEXTS {
        rows /= 2;
    }
    (rows > 0 || chunk.rows() == 0).then_some(rows)
}

/// The samples that a database keeps, at most a thousand rows a file, within its budget.
#[derive(Debug)]
pub(crate) struct Samples {
    kept: Known<FileSample>,
    budget: Budget,
}

impl Samples {
    /// No samples yet.
    pub fn new(budget: Budget) -> Self {
        Self { kept: Known::default(), budget }
    }

    /// Reads these columns, and those of an older sample, and keeps that for files with an identity. Without room for them
    /// there are no rows, and nothing is kept: there may be room next time.
    pub fn take(
        &self,
        file: &Arc<dyn FileSource>,
        attributes: &[usize],
        older: Option<&FileSample>,
        identity: Option<Identity>,
    ) -> FileSample {
        let mut attributes: Vec<usize> =
            attributes.iter().chain(older.iter().flat_map(|older| &older.0.attributes)).copied().collect();
        attributes.sort_unstable();
        attributes.dedup();
        let rows = first_rows(file, &attributes);
        let charged = rows.as_ref().map(|rows| self.budget.reserve(rows.bytes(), OPERATOR)).transpose();
        let Ok(charged) = charged else { return FileSample::new(attributes, None, None) };
        let sample = FileSample::new(attributes, rows.map(Arc::new), charged);
        identity.into_iter().for_each(|identity| self.kept.keep(identity, sample.clone()));
        sample
    }

    /// The sample of files that are as they were.
    pub fn get(&self, identity: &Identity) -> Option<FileSample> {
        self.kept.get(identity)
    }
}

#[cfg(test)]
mod tests {
    use io::{Field, MemorySource};
    use types::SqlType;

    use super::*;

    #[test]
    fn a_file_that_changed_is_another_one() {
        let path = std::env::temp_dir().join(format!("morsel-sample-{}", std::process::id()));
        let identity = |content: &str, age: u64| {
            std::fs::write(&path, content).unwrap();
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(age)).unwrap();
            Identity::of(std::slice::from_ref(&path))
        };
        // What was written just now may be written again without a trace.
        assert_eq!(identity("a", 0), None);
        let (first, second) = (identity("a", 100).unwrap(), identity("b", 50).unwrap());
        let samples = Samples::new(Budget::new(usize::MAX));
        let sample = FileSample::new(vec![1, 4], None, None);
        assert!(sample.has(&[4, 1]) && sample.has(&[]) && !sample.has(&[1, 2]));
        samples.kept.keep(first.clone(), sample.clone());
        assert!(samples.get(&first).is_some() && samples.get(&second).is_none());
        for _ in 0..64 {
            let other = Identity::of(std::slice::from_ref(&path)).unwrap();
            samples.kept.keep(other, sample.clone());
        }
        assert!(samples.get(&first).is_some(), "one file is kept once");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(Identity::of(std::slice::from_ref(&path)), None);
    }

    /// A file of a text that all rows share, as those of a dictionary do.
    fn repeated(text: &str, rows: usize) -> Arc<dyn FileSource> {
        let mut builder = ColumnBuilder::new(SqlType::Text, 1);
        builder.push_str(text);
        let chunk = Chunk::new(rows, vec![Column::coded(builder.finish(), vec![0; rows], None)]);
        Arc::new(MemorySource::new(vec![Field::new("t", SqlType::Text)], vec![chunk]))
    }

    #[test]
    fn samples_of_long_texts_have_few_rows() {
        let samples = Samples::new(Budget::new(usize::MAX));
        for (length, rows) in
            [(10, Some(1024)), (1000, Some(1024)), (100_000, Some(8)), (TEXTS, Some(1)), (TEXTS + 1, None)]
        {
            let sample = samples.take(&repeated(&"x".repeat(length), 2000), &[0], None, None);
            assert_eq!(sample.chunk().map(|chunk| chunk.rows()), rows, "{length}");
            let bytes = sample.chunk().map_or(0, |chunk| chunk.bytes());
            assert!(bytes < TEXTS + (1 << 18), "{length}: {bytes}");
            assert_eq!(samples.budget.used(), bytes);
        }
        assert_eq!(samples.budget.used(), 0);
    }

    #[test]
    fn without_room_there_is_no_sample() {
        let samples = Samples::new(Budget::new(1000));
        assert!(samples.take(&repeated("a text", 2000), &[0], None, None).chunk().is_none());
        assert!(samples.take(&repeated("a text", 10), &[0], None, None).chunk().is_some());
        assert!(samples.take(&repeated("a text", 0), &[0], None, None).chunk().is_none_or(|chunk| chunk.rows() == 0));
    }
}
