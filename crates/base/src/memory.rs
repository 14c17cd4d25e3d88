//! Memory that is accounted for: budgets that refuse before the machine does, and areas of large pages.

mod area;
mod budget;

pub use area::Area;
pub use budget::{Budget, Reservation};
