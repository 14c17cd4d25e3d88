//! An ordered index in memory: the Adaptive Radix Tree, with five ways to synchronise it.
//!
//! Leis, *Query Processing and Optimization in Modern Database Systems* (TU München, 2016), chapter 3; Leis, Kemper and
//! Neumann, *The Adaptive Radix Tree* (ICDE 2013); Leis, Scheibner, Kemper and Neumann, *The ART of Practical
//! Synchronization* (DaMoN 2016).
//!
//! A [`Tree`] maps keys, which are bytes in the order of `memcmp`, to rows, which are numbers of 63 bits. It does not keep
//! the keys: whoever asks brings [`RowKeys`], which say what the key of a row is. All keys are allowed: empty ones, ones
//! that begin with another, and ones of megabytes. Several rows with equal keys are several keys, each with its row behind
//! it ([`WithRow`]).
//!
//! How threads keep out of each other's way is a type parameter, a [`Protocol`]. Decision 42 has the reasons.
//!
//! ```
//! use index::{Inserted, RowKeys, Tree, Unsynchronised};
//!
//! struct Names(Vec<&'static str>);
//!
//! impl RowKeys for Names {
//!     type Key<'a> = &'a [u8];
//!     fn key(&self, row: u64) -> &[u8] {
//!         self.0[row as usize].as_bytes()
//!     }
//! }
//!
//! let names = Names(vec!["morsel", "morse", "mouse"]);
//! let mut tree: Tree<Unsynchronised> = Tree::new(&base::Budget::new(usize::MAX));
//! let mut writer = tree.writer_mut(&names);
//! for row in 0..3 {
//!     assert_eq!(writer.insert(names.key(row), row).unwrap(), Inserted::Fresh);
//! }
//! assert_eq!(writer.insert(b"mouse", 7).unwrap(), Inserted::Taken(2));
//! assert_eq!(writer.get(b"morse"), Some(1));
//! assert_eq!(writer.starting_with(b"mo").collect::<Vec<_>>(), [1, 0, 2]);
//! assert!(writer.remove(b"morse", 1));
//! ```
//!
//! Architecture invariant: `index` knows neither SQL nor tables, and uses no other crate of the workspace but `base`.

mod collect;
mod encode;
mod fetch;
mod insert;
mod link;
mod load;
mod lookup;
mod memory;
mod node;
mod protocol;
mod remove;
mod rows;
mod scan;
mod sync;
#[cfg(test)]
mod tests;
mod tree;

pub use encode::{Absent, Key, Part};
pub use fetch::GROUP;
pub use insert::Inserted;
pub use load::{Load, Neighbours};
pub use protocol::{
    Concurrent, ElidedLatch, Hardware, LockCoupling, OptimisticLockCoupling, Protocol, Rowex, Unsynchronised,
};
pub use rows::{RowKeys, USUAL_KEY, WithRow};
pub use scan::Scan;
pub use tree::{Reader, Shape, Tree, Writer};
