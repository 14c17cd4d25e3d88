//! The code cache: a repeated statement is compiled once.

use std::collections::HashMap;
use std::fmt::Write;
use std::hash::Hasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Result;
use pipeline::ir::{Function, Program, State};

use crate::{Code, compile};

/// A hash of everything that a program's machine code depends on: bodies, types, layouts. Not of the values of
/// parameters, the rows of VALUES, scan predicates, limits or names.
pub fn fingerprint(program: &Program) -> u128 {
    let mut text = String::with_capacity(4096);
    let function = |text: &mut String, f: &Function| write!(text, "{f:?}");
    for state in program.states.values() {
        // Writing to a string cannot fail.
        let _ = match state {
            State::Join(j) => write!(text, "join {} {};", j.layout.stride(), j.unique),
            State::Group(g) => {
                let _ = write!(text, "group {} {} ", g.layout.stride(), g.has_keys);
                g.equal.iter().chain([&g.combine]).try_for_each(|f| function(&mut text, f))
            }
            State::Sort(s) => write!(text, "sort {};", s.layout.stride()),
            State::Rows(layout) => write!(text, "rows {};", layout.stride()),
            State::Limit { .. } => write!(text, "limit;"),
            State::Result(_) => write!(text, "result;"),
        };
    }
    for pipeline in program.pipelines.values() {
        let _ = write!(
            text,
            "pipeline {:?} {:?} {:?}",
            pipeline.vars.values().as_slice(),
            pipeline.operator,
            pipeline.body
        );
    }
    let mut second = std::hash::DefaultHasher::new();
    second.write(text.as_bytes());
    u128::from(types::ops::hash::hash_str(&text)) << 64 | u128::from(second.finish())
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
    programs: HashMap<u128, Entry>,
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

impl CodeCache {
    /// A cache of at most so many bytes of machine code and so many programs.
    pub fn new(most_bytes: usize, most_programs: usize) -> Self {
        Self { inner: Mutex::default(), most_bytes, most_programs }
    }

    /// The program's code, and whether it was here already. Of several threads that ask for the same code at once, one
    /// compiles.
    pub fn get(&self, program: &Program) -> Result<(Arc<Code>, bool)> {
        let key = fingerprint(program);
        let place = {
            let mut inner = lock(&self.inner);
            inner.clock += 1;
            let used = inner.clock;
            let entry = inner.programs.entry(key).or_insert_with(|| Entry { code: Arc::default(), used, bytes: 0 });
            entry.used = used;
            entry.code.clone()
        };
        let mut code = lock(&place);
        if let Some(code) = &*code {
            return Ok((code.clone(), true));
        }
        let compiled = Arc::new(match compile(program) {
            Ok(code) => code,
            Err(e) => {
                lock(&self.inner).programs.remove(&key);
                return Err(e);
            }
        });
        *code = Some(compiled.clone());
        drop(code);
        self.admit(key, compiled.bytes());
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
    fn admit(&self, key: u128, bytes: usize) {
        let mut guard = lock(&self.inner);
        let inner = &mut *guard;
        if let Some(entry) = inner.programs.get_mut(&key) {
            entry.bytes = bytes;
            inner.bytes += bytes;
        }
        while inner.bytes > self.most_bytes || inner.programs.len() > self.most_programs {
            // What has no size yet is being compiled.
            let oldest = inner.programs.iter().filter(|(_, e)| e.bytes > 0).min_by_key(|(_, e)| e.used);
            let Some(oldest) = oldest.map(|(&k, _)| k) else { break };
            let entry = inner.programs.remove(&oldest).expect("found above");
            inner.bytes -= entry.bytes;
        }
    }
}
