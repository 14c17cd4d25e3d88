//! About how many distinct values a group has: their hashes while these are few, then a HyperLogLog
//! ([`types::ops::hyperloglog`]), in memory that lives as long as the query.

use base::Result;
use types::ops::hyperloglog::{self, REGISTERS, Registers};

use crate::worker::Worker;

/// The values of a group row. Zeroed memory is no value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Distinct(*mut Head);

/// What stands before a table of hashes, 0 where there is none, or before registers.
#[derive(Debug)]
#[repr(C)]
struct Head {
    /// Hashes in the table.
    used: u32,
    /// Hashes that the table has room for, a power of two; 0 before registers.
    room: u32,
}

/// Hashes of the first table, and those that are kept at most; a table is at most half full.
const FIRST: usize = 8;
const MOST: usize = 256;

/// What a group has.
enum Seen<'s> {
    Nothing,
    Hashes(&'s mut [u64]),
    Registers(&'s mut Registers),
}

impl Distinct {
    /// # Safety
    /// The memory must have been zeroed and only been touched by workers of this query, one at a time.
    unsafe fn seen<'s>(self) -> Seen<'s> {
        if self.0.is_null() {
            return Seen::Nothing;
        }
        // SAFETY: behind a head are as many hashes as it says, or registers.
        unsafe {
            let data = self.0.add(1);
            match (*self.0).room as usize {
                0 => Seen::Registers(&mut *data.cast()),
                room => Seen::Hashes(std::slice::from_raw_parts_mut(data.cast(), room)),
            }
        }
    }

    /// Adds a hash.
    ///
    /// # Safety
    /// The memory must have been zeroed and only been touched by workers of this query, one at a time.
    pub(crate) unsafe fn add(&mut self, worker: &mut Worker, hash: u64) -> Result<()> {
        // A 0 is no hash; one more that collides does not matter.
        let hash = hash.max(1);
        // SAFETY: as the caller promises.
        match unsafe { self.seen() } {
            Seen::Registers(registers) => _ = hyperloglog::insert(registers, hash),
            Seen::Hashes(table) => {
                let place = place(table, hash);
                if table[place] == hash {
                    return Ok(());
                }
                // SAFETY: there is a head.
                let used = unsafe { &mut (*self.0).used };
                if *used as usize * 2 < table.len() && (*used as usize) < MOST {
                    table[place] = hash;
                    *used += 1;
                    return Ok(());
                }
                // SAFETY: as the caller promises.
                unsafe {
                    self.grow(worker, table)?;
                    return self.add(worker, hash);
                }
            }
            Seen::Nothing => {
                *self = Self::with_room(worker, FIRST)?;
                // SAFETY: as the caller promises.
                unsafe { return self.add(worker, hash) };
            }
        }
        Ok(())
    }

    /// What has room for so many hashes, or registers for 0.
    fn with_room(worker: &mut Worker, room: usize) -> Result<Self> {
        let bytes = if room == 0 { REGISTERS } else { room * size_of::<u64>() };
        let head = worker.keep_zeroed(size_of::<Head>() + bytes)?.cast::<Head>();
        // SAFETY: fresh memory for a head, aligned to 16.
        unsafe { head.write(Head { used: 0, room: room as u32 }) };
        Ok(Self(head))
    }

    /// A larger table, or registers, for the hashes of a full one.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    #[cold]
    unsafe fn grow(&mut self, worker: &mut Worker, table: &[u64]) -> Result<()> {
        let room = if table.len() < 2 * MOST { table.len() * 2 } else { 0 };
        let mut larger = Self::with_room(worker, room)?;
        for &hash in table.iter().filter(|&&hash| hash != 0) {
            // SAFETY: memory of this worker, which has room for all of them.
            unsafe { larger.add(worker, hash)? };
        }
        *self = larger;
        Ok(())
    }

    /// Adds what another one has, which must not be used any more.
    ///
    /// # Safety
    /// As for [`add`](Self::add), of both.
    pub(crate) unsafe fn merge(&mut self, worker: &mut Worker, other: &Self) -> Result<()> {
        if self.0.is_null() {
            *self = *other;
            return Ok(());
        }
        // SAFETY: as the caller promises, here and below.
        match unsafe { other.seen() } {
            Seen::Nothing => {}
            Seen::Hashes(table) => {
                for &hash in table.iter().filter(|&&hash| hash != 0) {
                    // SAFETY: likewise.
                    unsafe { self.add(worker, hash)? };
                }
            }
            Seen::Registers(registers) => {
                // SAFETY: likewise.
                let own = unsafe { self.seen() };
                if let Seen::Hashes(table) = own {
                    for &hash in table.iter().filter(|&&hash| hash != 0) {
                        hyperloglog::insert(registers, hash);
                    }
                    *self = *other;
                } else if let Seen::Registers(own) = own {
                    hyperloglog::merge(own, registers);
                }
            }
        }
        Ok(())
    }

    /// About how many there are.
    ///
    /// # Safety
    /// As for [`add`](Self::add).
    pub(crate) unsafe fn count(self) -> i64 {
        // SAFETY: as the caller promises; there is a head unless nothing was seen.
        match unsafe { (self.seen(), self.0.as_ref()) } {
            (Seen::Nothing, _) | (_, None) => 0,
            (Seen::Hashes(_), Some(head)) => head.used.into(),
            (Seen::Registers(registers), _) => hyperloglog::estimate(registers).round() as i64,
        }
    }
}

/// Where a hash is in a table, or would be.
fn place(table: &[u64], hash: u64) -> usize {
    let last = table.len() - 1;
    let mut place = hash as usize & last;
    while table[place] != 0 && table[place] != hash {
        place = (place + 1) & last;
    }
    place
}

#[cfg(test)]
mod tests {
    use base::{Budget, Random};

    use super::*;
    use crate::query::QueryContext;
    use crate::testing::program;

    #[test]
    fn few_are_counted_and_many_estimated_however_they_are_merged() {
        let context = QueryContext::new(&program(vec![]), Budget::new(usize::MAX), |_| None).unwrap();
        let mut worker = context.worker(0);
        for size in [0, 1, 5, 200, 256, 257, 1000, 100_000] {
            let mut counts = Vec::new();
            for parts in [1, 2, 5] {
                let mut random = Random(9);
                let hashes: Vec<u64> = (0..size).map(|_| random.bits()).collect();
                let mut all = vec![Distinct(std::ptr::null_mut()); parts];
                for (i, &hash) in hashes.iter().chain(&hashes).enumerate() {
                    // SAFETY: memory of this worker's query.
                    unsafe { all[i % parts].add(&mut worker, hash).unwrap() };
                }
                let mut whole = all.pop().unwrap();
                for part in all {
                    // SAFETY: likewise.
                    unsafe { whole.merge(&mut worker, &part).unwrap() };
                }
                // SAFETY: likewise.
                counts.push(unsafe { whole.count() });
            }
            assert!(counts.iter().all(|&count| count == counts[0]), "{counts:?}");
            let off = (counts[0] - size as i64).unsigned_abs();
            assert!(if size <= MOST { off == 0 } else { off as f64 <= size as f64 * 0.05 }, "{size}: {counts:?}");
        }
    }
}
