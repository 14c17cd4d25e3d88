//! Work that can be divided, and those who help with it.

use std::sync::Arc;

use crate::Result;

/// Does a part of a piece of some work that takes some hundred microseconds, and says whether that was the piece's last.
pub type PieceStep = Arc<dyn Fn(usize) -> Result<bool> + Send + Sync>;

/// Those who help where work can be divided.
pub trait Helpers: Send + Sync {
    /// Does the pieces `0..count`, many at once.
    fn each(&self, count: usize, step: PieceStep) -> Result<()>;
}

/// Nobody: the pieces are done one after the other.
pub struct Alone;

impl Helpers for Alone {
    fn each(&self, count: usize, step: PieceStep) -> Result<()> {
        for piece in 0..count {
            while !step(piece)? {}
        }
        Ok(())
    }
}
