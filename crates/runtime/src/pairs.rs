//! Functions of two rows, compiled or interpreted.

use std::fmt;
use std::sync::Arc;

use base::Result;

use crate::worker::Worker;

/// The code of an [`ir::Function`](pipeline::ir::Function): 0 or 1 as its Bool result (0 without one), 2 if the worker
/// has an error.
pub type PairFn = unsafe extern "C" fn(worker: *mut Worker, a: *mut u8, b: *mut u8) -> u32;

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
