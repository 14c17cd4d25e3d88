//! Numbers of rows that several workers write, each at places of its own: what orders writes before reads is whoever runs
//! the phases.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use base::memory::Reservation;
use base::{Budget, Error, Result, SqlState};

use super::OPERATOR;

/// So many numbers, 0 at first.
#[derive(Debug)]
pub(super) struct Numbers {
    numbers: Box<[AtomicU32]>,
    _charged: Reservation,
}

impl Numbers {
    pub(super) fn new(rows: usize, budget: &Budget) -> Result<Self> {
        if u32::try_from(rows).is_err() {
            let message = "a window with an order of its own is limited to 4294967295 rows";
            return Err(Error::new(SqlState::PROGRAM_LIMIT, message));
        }
        let charged = budget.reserve(rows * size_of::<u32>(), OPERATOR)?;
        Ok(Self { numbers: (0..rows).map(|_| AtomicU32::new(0)).collect(), _charged: charged })
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> usize {
        self.numbers[at].load(Relaxed) as usize
    }

    #[inline]
    pub(super) fn set(&self, at: usize, number: usize) {
        self.numbers[at].store(number as u32, Relaxed);
    }
}
