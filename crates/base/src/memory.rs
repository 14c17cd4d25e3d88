//! Memory that is accounted for: budgets that refuse before the machine does, and areas of large pages.

mod area;
mod budget;
mod buffer;
mod clear;
mod extents;
mod free;
mod holders;
mod idle;
mod mapping;
mod nodes;
mod pages;
mod spare;

pub use area::{Area, Mark};
pub use budget::{Budget, Reservation};
pub use buffer::Buffer;
pub use clear::clear;
pub use extents::Extent;
pub use free::{Free, free};
pub use idle::{are_free, expect_nobody, look_soon, thread_is_idle, when_idle};
pub use nodes::{OnNode, Spread, node, node_of, on_node, set_machine, set_machine_node, set_node};
pub use pages::{HUGE_PAGE, Pages};
