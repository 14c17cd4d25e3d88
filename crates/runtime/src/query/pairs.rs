//! Functions of two rows, compiled or interpreted.

use std::fmt;
use std::sync::Arc;

use base::{Error, Result};

use crate::abi::{PairFn, Worker};

/// What an interpreted function of two rows looks like.
type Interpreted = dyn Fn(&mut Worker, *mut u8, *mut u8) -> Result<bool> + Send + Sync;

/// A function of two rows.
#[derive(Clone)]
pub enum Pair {
    /// Compiled.
    Code(PairFn),
    /// Interpreted.
    Closure(Arc<Interpreted>),
}

impl Pair {
    /// A closure as a function of two rows.
    pub fn closure(f: impl Fn(&mut Worker, *mut u8, *mut u8) -> Result<bool> + Send + Sync + 'static) -> Self {
        Self::Closure(Arc::new(f))
    }

    /// Calls it; without a Bool result, the answer is false.
    ///
    /// # Safety
    /// `a` and `b` must be rows of the state that the function was made for, which nobody else writes.
    #[inline]
    pub unsafe fn call(&self, worker: &mut Worker, a: *mut u8, b: *mut u8) -> Result<bool> {
        match self {
            // SAFETY: the caller vouches for the rows; whoever made the context vouches for the code.
            Self::Code(code) => match unsafe { code(worker, a, b) } {
                0 => Ok(false),
                1 => Ok(true),
                _ => Err(worker.take_error()),
            },
            Self::Closure(f) => f(worker, a, b),
        }
    }
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Code(_) => "Code",
            Self::Closure(_) => "Closure",
        })
    }
}

/// The functions of a group state ([`GroupState`](pipeline::ir::GroupState)).
#[derive(Clone, Debug)]
pub struct PairFns {
    /// Whether two rows with equal hashes are of one group; none: always.
    pub equal: Option<Pair>,
    /// Adds the second row's aggregates to the first's.
    pub combine: Pair,
}

impl Worker {
    /// The error that a call or generated code left, with its position.
    #[cold]
    pub fn take_error(&mut self) -> Error {
        let number = std::mem::take(&mut self.error_position).checked_sub(1).and_then(|p| usize::try_from(p).ok());
        let position = number.and_then(|number| self.inner.shared.positions.get(number).copied());
        let error = self.inner.error.take();
        error.unwrap_or_else(|| Error::internal("generated code failed without an error")).at(position)
    }
}
