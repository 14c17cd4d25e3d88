//! Transactions: what they have done, how they end, and whether they may.

mod done;
mod effects;
mod log;
mod point;
mod seen;
#[cfg(test)]
mod tests;
mod validate;

pub use crate::clock::{Clock, Conflict, Stamp, View};
pub use effects::{ChangedRows, Effect};
pub use log::{Transaction, Wanted};
pub use point::Point;
pub use validate::Reads;
