//! Samples of files, kept from one statement to the next: taking one decodes a piece of the file.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use io::Identity;
use types::Chunk;

/// Files whose samples are kept: those asked for last.
const MOST: usize = 64;

/// The samples that a database keeps, a thousand rows a file.
#[derive(Debug, Default)]
pub(crate) struct Samples(Mutex<VecDeque<(Identity, Arc<Chunk>)>>);

impl Samples {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(Identity, Arc<Chunk>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sample of files that are as they were.
    pub fn get(&self, identity: &Identity) -> Option<Arc<Chunk>> {
        let mut samples = self.lock();
        let at = samples.iter().position(|(known, _)| known == identity)?;
        let found = samples.remove(at)?;
        samples.push_front(found.clone());
        Some(found.1)
    }

    /// Keeps a sample.
    pub fn keep(&self, identity: Identity, sample: Arc<Chunk>) {
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
        let sample = Arc::new(Chunk::new(3, Vec::new()));
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
