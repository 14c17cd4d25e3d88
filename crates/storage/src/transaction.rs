//! Transactions: what they have done, how they end, and whether they may.

mod done;
mod effects;
mod log;
#[cfg(test)]
mod tests;
mod validate;

pub use crate::clock::{Clock, Conflict, Stamp, View};
pub use effects::{ChangedRows, Effect};
pub use log::{Transaction, Wanted};
pub use validate::Reads;
