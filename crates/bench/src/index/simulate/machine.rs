//! The machine: clocks of threads, caches, and who has which line.

use std::collections::HashMap;

use super::steps::{LineId, Step, Steps};

const CORES: usize = 10;
pub(super) const THREADS: usize = 2 * CORES;

// Nanoseconds. A line in the core's own cache, in the common one, in another core's (also: taking it away from others that
// share it), in memory.
const OWN: f64 = 1.3;
const COMMON: f64 = 15.0;
const FOREIGN: f64 = 60.0;
const MEMORY: f64 = 90.0;
/// What an atomic change takes beside that.
const ATOMIC: f64 = 6.0;
/// How long who waits does so before it looks again.
const PAUSE: f64 = 20.0;
/// By how much two threads of a core slow each other down.
const SHARED_CORE: f64 = 1.6;

/// Lines of a core's cache, and of the common one.
const OWN_LINES: usize = (256 << 10) / 64;
const COMMON_LINES: usize = 25_000_000 / 64;

#[derive(Default)]
struct Line {
    /// The cores that have it.
    cores: u32,
    /// One of them has changed it.
    is_dirty: bool,
    /// When it has arrived where it is going to.
    free_at: f64,
    /// How often it was changed: its version.
    changes: u64,
    /// Its lock.
    is_locked: bool,
    readers: u32,
}

pub(super) struct Machine {
    clocks: Vec<f64>,
    lines: HashMap<LineId, Line>,
    own: Vec<Vec<LineId>>,
    common: Vec<LineId>,
    /// Lines that came from another core.
    pub(super) transfers: u64,
}

impl Machine {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            clocks: vec![0.0; threads],
            lines: HashMap::new(),
            own: vec![vec![LineId::MAX; OWN_LINES]; CORES],
            common: vec![LineId::MAX; COMMON_LINES],
            transfers: 0,
        }
    }

    pub(super) fn now(&self, thread: usize) -> f64 {
        self.clocks[thread]
    }

    /// The thread whose turn it is.
    pub(super) fn earliest(&self) -> usize {
        (0..self.clocks.len()).min_by(|&a, &b| self.clocks[a].total_cmp(&self.clocks[b])).unwrap_or(0)
    }

    /// Goes on with an operation by one step; whether that was the last one.
    pub(super) fn step(&mut self, thread: usize, of: &mut Steps) -> bool {
        let Some(step) = of.next() else { return true };
        let mut is_done = true;
        match step {
            Step::Work(time) => {
                let is_shared = self.clocks.len() > CORES && (thread + CORES) % THREADS < self.clocks.len();
                self.clocks[thread] += if is_shared { time * SHARED_CORE } else { time };
            }
            Step::Begin => of.begin(),
            Step::Read(line) => _ = self.access(thread, line, false),
            Step::Write(line) => self.access(thread, line, true).changes += 1,
            Step::Add(line) => {
                self.access(thread, line, true).changes += 1;
                self.clocks[thread] += ATOMIC;
            }
            Step::Share(line) => {
                is_done = !self.access(thread, line, false).is_locked;
                if is_done {
                    self.atomic(thread, line).readers += 1;
                }
            }
            Step::Unshare(line) => self.atomic(thread, line).readers -= 1,
            Step::Lock(line) => {
                let at = self.access(thread, line, false);
                is_done = !at.is_locked && at.readers == 0;
                if is_done {
                    let at = self.atomic(thread, line);
                    (at.is_locked, at.changes) = (true, at.changes + 1);
                }
            }
            Step::Unlock(line) => {
                let at = self.atomic(thread, line);
                at.is_locked = false;
                at.changes += 1;
            }
            Step::Remember { line, waits } => {
                let at = self.access(thread, line, false);
                is_done = !waits || !at.is_locked;
                let changes = at.changes;
                if is_done {
                    of.seen.push((line, changes));
                }
            }
            Step::Check(line) => {
                let changes = self.access(thread, line, false).changes;
                if of.seen.iter().any(|seen| seen.0 == line && seen.1 != changes) {
                    return self.again(thread, of);
                }
            }
            Step::Upgrade(line) => {
                let at = self.atomic(thread, line);
                let is_same = of.seen.iter().all(|seen| seen.0 != line || seen.1 == at.changes);
                if at.is_locked || !is_same {
                    return self.again(thread, of);
                }
                at.is_locked = true;
            }
            Step::Commit => {
                let is_same = |seen: &(LineId, u64)| self.lines.get(&seen.0).is_none_or(|line| line.changes == seen.1);
                if !of.seen.iter().all(is_same) {
                    return self.again(thread, of);
                }
            }
        }
        if is_done {
            of.advance();
        } else {
            self.clocks[thread] += PAUSE;
        }
        of.next().is_none()
    }

    /// Begins an operation anew, which is not at its end then.
    fn again(&mut self, thread: usize, of: &mut Steps) -> bool {
        self.clocks[thread] += PAUSE;
        of.restart();
        false
    }

    fn atomic(&mut self, thread: usize, line: LineId) -> &mut Line {
        self.clocks[thread] += ATOMIC;
        self.access(thread, line, true)
    }

    /// Has the line come to the thread's core, for reading or for writing.
    fn access(&mut self, thread: usize, id: LineId, writes: bool) -> &mut Line {
        let core = thread % CORES;
        let bit = 1 << core;
        let place = hash(id);
        let line = self.lines.entry(id).or_default();
        let (others, has) = (line.cores & !bit, line.cores & bit != 0);
        let is_common = &mut self.common[place % COMMON_LINES];
        let clock = &mut self.clocks[thread];
        let is_transfer = others != 0 && (writes || line.is_dirty && !has);
        if is_transfer {
            self.transfers += 1;
            *clock = clock.max(line.free_at) + FOREIGN;
            line.free_at = *clock;
        } else if has {
            *clock += OWN;
        } else {
            *clock += if *is_common == id { COMMON } else { MEMORY };
        }
        *is_common = id;
        if writes {
            (line.cores, line.is_dirty) = (bit, true);
        } else {
            line.is_dirty &= has && others == 0;
            line.cores |= bit;
        }
        // What was in its place of the core's cache leaves it.
        let before = std::mem::replace(&mut self.own[core][place % OWN_LINES], id);
        if before != id
            && let Some(before) = self.lines.get_mut(&before)
        {
            before.cores &= !bit;
        }
        self.lines.entry(id).or_default()
    }
}

fn hash(id: LineId) -> usize {
    (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize
}
