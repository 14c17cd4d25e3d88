//! Samples of files, kept from one statement to the next: taking one decodes a piece of the file. A sample has the columns
//! that statements have asked for.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use io::{FileSource, Identity, Step};
use types::{Chunk, Column, ColumnBuilder};

/// Files whose samples are kept: those asked for last.
const MOST: usize = 64;
/// Rows of a file's sample.
const ROWS: usize = 1024;

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
}

impl FileSample {
    fn new(attributes: Vec<usize>, chunk: Option<Arc<Chunk>>) -> Self {
        let values = attributes.iter().map(|_| OnceLock::new()).collect();
        Self(Arc::new(Taken { attributes, chunk, values }))
    }

    /// Whether these columns are among those that it has.
    pub fn has(&self, attributes: &[usize]) -> bool {
        attributes.iter().all(|attribute| self.0.attributes.binary_search(attribute).is_ok())
    }

    /// The rows.
    pub fn chunk(&self) -> Option<Arc<Chunk>> {
        self.0.chunk.clone()
    }

    /// Reads these columns, and those of an older sample.
    pub fn read(file: &Arc<dyn FileSource>, attributes: &[usize], older: Option<&Self>) -> Self {
        let mut attributes: Vec<usize> =
            attributes.iter().chain(older.iter().flat_map(|older| &older.0.attributes)).copied().collect();
        attributes.sort_unstable();
        attributes.dedup();
        let chunk = first_rows(file, &attributes).map(Arc::new);
        Self::new(attributes, chunk)
    }

    /// Distinct values of one of the columns among so many rows: if most of the sample's are different, so are most of all
    /// rows' (first-order jackknife).
    pub fn distinct(&self, attribute: usize, rows: f64) -> Option<f64> {
        let Taken { attributes, chunk, values } = &*self.0;
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
            Step::End => return None,
        }
    };
    let rows = first.rows().min(ROWS);
    let columns = file.schema().iter().enumerate().map(|(attribute, field)| {
        let mut builder = ColumnBuilder::new(field.sql_type, rows);
        match readable.binary_search(&attribute) {
            // Spread over the chunk: files are often ordered.
            Ok(at) => {
                (0..rows).for_each(|i| builder.push_value(&first.column(at).value(i * first.rows() / rows.max(1))))
            }
            Err(_) => (0..rows).for_each(|_| builder.push_null()),
        }
        builder.finish()
    });
    Some(Chunk::new(rows, columns.collect()))
}

/// The samples that a database keeps, a thousand rows a file.
#[derive(Debug, Default)]
pub(crate) struct Samples(Mutex<VecDeque<(Identity, FileSample)>>);

impl Samples {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(Identity, FileSample)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sample of files that are as they were.
    pub fn get(&self, identity: &Identity) -> Option<FileSample> {
        let mut samples = self.lock();
        let at = samples.iter().position(|(known, _)| known == identity)?;
        let found = samples.remove(at)?;
        samples.push_front(found.clone());
        Some(found.1)
    }

    /// Keeps a sample.
    pub fn keep(&self, identity: Identity, sample: FileSample) {
        let mut samples = self.lock();
        samples.retain(|(known, _)| *known != identity);
        samples.push_front((identity, sample));
        samples.truncate(MOST);
    }
}

#[cfg(test)]
mod tests {
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
        let samples = Samples::default();
        let sample = FileSample::new(vec![1, 4], None);
        assert!(sample.has(&[4, 1]) && sample.has(&[]) && !sample.has(&[1, 2]));
        samples.keep(first.clone(), sample.clone());
        assert!(samples.get(&first).is_some() && samples.get(&second).is_none());
        for _ in 0..MOST {
            let other = Identity::of(std::slice::from_ref(&path)).unwrap();
            samples.keep(other, sample.clone());
        }
        assert!(samples.get(&first).is_some(), "one file is kept once");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(Identity::of(std::slice::from_ref(&path)), None);
    }
}
