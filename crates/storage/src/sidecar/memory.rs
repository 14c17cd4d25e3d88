//! What windows take of a budget, and what is reserved for them: some more, so that not every change asks for it.

use std::sync::Mutex;

use base::memory::Reservation;
use base::{Budget, Result};

use crate::lock::lock;

/// Bytes that are reserved for a window beyond those that it uses.
const MORE: usize = 1024;

/// What is reserved for all windows.
#[derive(Debug)]
pub(super) struct Memory(Mutex<Reservation>);

/// What one of them uses, and what of it is its own. Both are looked at under the window's latch.
#[derive(Debug, Default)]
pub(super) struct Share {
    used: usize,
    reserved: usize,
}

impl Memory {
    pub(super) fn new(budget: &Budget) -> Result<Self> {
        Ok(Self(Mutex::new(budget.reserve(0, "update")?)))
    }

    /// Exchanges what is reserved for a window.
    fn exchange(&self, before: usize, after: usize) -> Result<()> {
        let mut reserved = lock(&self.0);
        let bytes = (reserved.bytes() + after).saturating_sub(before);
        reserved.resize(bytes)
    }
}

impl Share {
    fn reserve(&mut self, bytes: usize, memory: &Memory) -> Result<()> {
        memory.exchange(self.reserved, bytes)?;
        self.reserved = bytes;
        Ok(())
    }

    /// A change is about to take about so many bytes.
    pub(super) fn charge(&mut self, bytes: usize, memory: &Memory) -> Result<()> {
        let needed = self.used + bytes;
        if needed <= self.reserved { Ok(()) } else { self.reserve(needed + MORE, memory) }
    }

    /// What took `before` bytes takes `after`.
    pub(super) fn settle(&mut self, before: usize, after: usize, memory: &Memory) {
        self.used = (self.used + after).saturating_sub(before);
        if self.used > self.reserved || self.used + 4 * MORE < self.reserved {
            // What was estimated too low by little is not worth an error.
            let _ = self.reserve(self.used + MORE, memory);
        }
    }
}
