//! Whether files are still those that they were.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// Files as of a moment: their paths, sizes and times of change. Two that are equal have the same content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity(Vec<(PathBuf, [u64; 3], SystemTime)>);

/// Clocks of file systems tick slowly: a file may change again within one tick, and look the same.
const TICK: Duration = Duration::from_secs(2);

impl Identity {
    /// That of regular files; none if one is no such file, or has changed just now.
    pub fn of(paths: &[PathBuf]) -> Option<Self> {
        let files = paths.iter().map(|path| {
            let of = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
            let changed = of.modified().ok().filter(|at| at.elapsed().is_ok_and(|age| age > TICK))?;
            Some((path.clone(), numbers(&of), changed))
        });
        files.collect::<Option<Vec<_>>>().map(Self)
    }
}

/// What is known of files as they are, of those asked for last.
#[derive(Debug)]
pub struct Known<T>(Mutex<VecDeque<(Identity, T)>>);

/// Files of which something is kept.
const MOST: usize = 64;

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Known<T> {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(Identity, T)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// That of files that are as they were.
    pub fn get(&self, of: &Identity) -> Option<T> {
        let mut all = self.lock();
        let at = all.iter().position(|(known, _)| known == of)?;
        let found = all.remove(at)?;
        let known = found.1.clone();
        all.push_front(found);
        Some(known)
    }

    /// Keeps it, and forgets what was asked for longest ago.
    pub fn keep(&self, of: Identity, known: T) {
        let mut all = self.lock();
        all.retain(|(before, _)| *before != of);
        all.push_front((of, known));
        all.truncate(MOST);
    }
}

/// Size, number, and when anything about the file changed.
#[cfg(unix)]
fn numbers(of: &std::fs::Metadata) -> [u64; 3] {
    use std::os::unix::fs::MetadataExt;
    [of.size(), of.ino(), (of.ctime() as u64).wrapping_mul(1_000_000_000).wrapping_add(of.ctime_nsec() as u64)]
}

#[cfg(not(unix))]
fn numbers(of: &std::fs::Metadata) -> [u64; 3] {
    [of.len(), 0, 0]
}
