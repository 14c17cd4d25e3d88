//! The code cache: a repeated statement is compiled once.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use base::Result;
use pipeline::ir::{Program, State};

use crate::{Code, Compiling, compile};

/// Everything that a program's machine code depends on: bodies, types, layouts. Not the values of parameters, the rows of
/// VALUES, scan predicates, limits, names or positions in the SQL text. Equal fingerprints are equal programs, so nothing
/// need be compared on a hit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(Box<[u8]>);

/// Takes down what is hashed instead of hashing it.
#[derive(Default)]
struct Recorder(Vec<u8>);

impl Hasher for Recorder {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
    fn finish(&self) -> u64 {
        unreachable!("a recorder is read as a whole")
    }
}

/// So long whoever waits for the code of others sleeps.
const TICK: Duration = Duration::from_micros(100);

/// The fingerprint of a program.
pub fn fingerprint(program: &Program) -> Fingerprint {
    let mut to = Recorder(Vec::with_capacity(4096));
    for state in program.states.values() {
        std::mem::discriminant(state).hash(&mut to);
        match state {
            State::Join(j) => (j.layout.stride(), j.unique).hash(&mut to),
            State::Group(g) => (g.layout.stride(), g.has_keys, g.slots.is_some(), &g.equal, &g.combine).hash(&mut to),
            State::Recursion(r) => (r.layout.stride(), state.pair()).hash(&mut to),
            State::Sort(s) => s.layout.stride().hash(&mut to),
            State::Window(w) => w.layout.stride().hash(&mut to),
            State::Rows(layout) => layout.stride().hash(&mut to),
            State::Limit { .. } | State::Result(_) | State::Table(_) => {}
        }
    }
    for pipeline in program.pipelines.values() {
        (&pipeline.vars, pipeline.operator, &pipeline.body).hash(&mut to);
    }
    Fingerprint(to.0.into())
}

/// Machine code by fingerprint, the least recently used of which is dropped when there is too much of it. Statements that
/// run keep theirs alive.
#[derive(Debug)]
pub struct CodeCache {
    inner: Mutex<Inner>,
    most_bytes: usize,
    most_programs: usize,
}

#[derive(Debug, Default)]
struct Inner {
    programs: HashMap<Fingerprint, Entry>,
    clock: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    /// Locked while it is being compiled, so that others wait for it instead of compiling it again.
    code: Arc<Mutex<Option<Arc<Code>>>>,
    used: u64,
    bytes: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks what others hold for as long as a compilation takes.
fn wait<'m, T>(mutex: &'m Mutex<T>, check: &dyn Fn() -> Result<()>) -> Result<MutexGuard<'m, T>> {
    loop {
        match mutex.try_lock() {
            Ok(guard) => return Ok(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(TICK),
        }
        check()?;
    }
}

impl CodeCache {
    /// A cache of at most so many bytes of machine code and so many programs.
    pub fn new(most_bytes: usize, most_programs: usize) -> Self {
        Self { inner: Mutex::default(), most_bytes, most_programs }
    }

    /// The program's code, and whether it was here already. Of several threads that ask for the same code at once, one
    /// compiles, and all ask now and then whether to go on.
    pub fn get(&self, program: &Arc<Program>, compiling: Compiling<'_>) -> Result<(Arc<Code>, bool)> {
        let key = fingerprint(program);
        let place = {
            let mut inner = lock(&self.inner);
            inner.clock += 1;
            let used = inner.clock;
            let entry =
                inner.programs.entry(key.clone()).or_insert_with(|| Entry { code: Arc::default(), used, bytes: 0 });
            entry.used = used;
            entry.code.clone()
        };
        let mut code = wait(&place, compiling.check)?;
        if let Some(code) = &*code {
            return Ok((code.clone(), true));
        }
        let compiled = Arc::new(match compile(program, compiling) {
            Ok(code) => code,
            Err(e) => {
                lock(&self.inner).programs.remove(&key);
                return Err(e);
            }
        });
        *code = Some(compiled.clone());
        drop(code);
        self.admit(&key, compiled.bytes());
        Ok((compiled, false))
    }

    /// Number of programs and bytes of code.
    pub fn size(&self) -> (usize, usize) {
        let inner = lock(&self.inner);
        (inner.programs.len(), inner.bytes)
    }

    /// Drops everything.
    pub fn clear(&self) {
        *lock(&self.inner) = Inner::default();
    }

    /// Accounts for new code, and makes room.
    fn admit(&self, key: &Fingerprint, bytes: usize) {
        let mut guard = lock(&self.inner);
        let inner = &mut *guard;
        if let Some(entry) = inner.programs.get_mut(key) {
            entry.bytes = bytes;
            inner.bytes += bytes;
        }
        while inner.bytes > self.most_bytes || inner.programs.len() > self.most_programs {
            // What has no size yet is being compiled.
            let oldest = inner.programs.iter().filter(|(_, e)| e.bytes > 0).min_by_key(|(_, e)| e.used);
            let Some(oldest) = oldest.map(|(k, _)| k.clone()) else { break };
            let entry = inner.programs.remove(&oldest).expect("found above");
            inner.bytes -= entry.bytes;
        }
    }
}
