//! Bytes that a thread reads and writes, by how far away the memory lies (thesis 4.6.3, the column "remote" of table 4.1).
//!
//! Whoever reads or writes many rows notes it once, for a morsel or a batch; the scheduler takes the sum behind each morsel.
//! Bytes are those of values and rows, not of the cache lines that hold them.
//! Complexity: O(1) a note; O(nodes) where memory lies on all of them.

use std::cell::{Cell, RefCell};
use std::ops::{Add, AddAssign};

use crate::memory::{set_machine_node, set_node};

/// What is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Columns of tables, read.
    Table = 0,
    /// Rows that workers have materialised, read.
    Area = 1,
    /// Such rows, written.
    Written = 2,
    /// Tables that all workers share, which lie on all nodes: directories of joins, and the rows in them.
    Shared = 3,
}

/// Number of kinds of access.
const KINDS: usize = 4;
/// Own node, nearest other ones, those beyond.
const HOPS: usize = 3;

/// Bytes by kind of access, and by the hops between the thread's node and the memory's: none, one, or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic(pub [[u64; HOPS]; KINDS]);

/// Where memory is taken to lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryPlacement {
    /// Where it is: on the node of the thread that touched it first.
    #[default]
    FirstTouch,
    /// On all nodes in turn, page by page.
    Interleaved,
    /// Tables on the first node, as if one thread had loaded them; all else on the node of who touched it first. So it comes out
    /// if the operating system decides.
    OneNode,
}

impl MemoryPlacement {
    /// All of them, with their names.
    pub const ALL: [(&str, Self); 3] =
        [("first_touch", Self::FirstTouch), ("interleaved", Self::Interleaved), ("one_node", Self::OneNode)];
}

impl Traffic {
    /// Bytes of a kind of access, by hops.
    pub fn of(&self, access: Access) -> [u64; HOPS] {
        self.0[access as usize]
    }
    /// All bytes, by hops.
    pub fn by_hops(&self) -> [u64; HOPS] {
        self.0.iter().fold([0; HOPS], |sums, bytes| std::array::from_fn(|hops| sums[hops] + bytes[hops]))
    }
    /// Bytes on the threads' own nodes.
    pub fn local(&self) -> u64 {
        self.by_hops()[0]
    }
    /// Bytes on other nodes.
    pub fn remote(&self) -> u64 {
        self.by_hops()[1..].iter().sum()
    }
    /// What has come since it was so much.
    pub fn since(self, before: Self) -> Self {
        Self(std::array::from_fn(|kind| std::array::from_fn(|hops| self.0[kind][hops] - before.0[kind][hops])))
    }
    /// Those of some kinds of access.
    pub fn only(&self, kinds: &[Access]) -> Self {
        let mut only = Self::default();
        kinds.iter().for_each(|&kind| only.0[kind as usize] = self.of(kind));
        only
    }
}

impl Add for Traffic {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|kind| std::array::from_fn(|hops| self.0[kind][hops] + other.0[kind][hops])))
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

thread_local! {
    /// Hops to each node, by number; those that are not here are as the thread's own.
    static DISTANCES: RefCell<Box<[u8]>> = RefCell::default();
    static PLACEMENT: Cell<MemoryPlacement> = const { Cell::new(MemoryPlacement::FirstTouch) };
    static TALLY: Cell<Traffic> = const { Cell::new(Traffic([[0; HOPS]; KINDS])) };
}

/// Says which node this thread runs on from now on, and how many hops it is from there to each node: 2 stands for more.
pub fn sit(node: u16, hops: Box<[u8]>) {
    set_node(node);
    DISTANCES.with(|distances| *distances.borrow_mut() = hops);
}

/// As [`sit`], where it is a node of the machine.
pub fn sit_on_machine(node: u16, hops: Box<[u8]>) {
    set_machine_node(node);
    DISTANCES.with(|distances| *distances.borrow_mut() = hops);
}

/// Begins to count for work whose memory is taken to lie so.
pub fn begin(placement: MemoryPlacement) {
    PLACEMENT.set(placement);
    TALLY.set(Traffic::default());
}

/// What was counted since.
pub fn so_far() -> Traffic {
    TALLY.get()
}

fn tally(access: Access, hops: usize, bytes: u64) {
    let mut sums = TALLY.get();
    sums.0[access as usize][hops] += bytes;
    TALLY.set(sums);
}

/// Notes bytes of memory that lies on a node.
pub fn note(access: Access, node: u16, bytes: u64) {
    let node = match (PLACEMENT.get(), access) {
        (MemoryPlacement::Interleaved, _) => return note_spread(access, bytes),
        (MemoryPlacement::OneNode, Access::Table) => 0,
        _ => usize::from(node),
    };
    let hops = DISTANCES.with(|distances| distances.borrow().get(node).copied().unwrap_or(0));
    tally(access, usize::from(hops).min(HOPS - 1), bytes);
}

/// Notes bytes of memory that this thread has touched first.
pub fn note_own(access: Access, bytes: u64) {
    match PLACEMENT.get() {
        MemoryPlacement::Interleaved => note_spread(access, bytes),
        _ => tally(access, 0, bytes),
    }
}

/// Notes bytes of memory that lies on all nodes alike.
pub fn note_spread(access: Access, bytes: u64) {
    DISTANCES.with(|distances| {
        let distances = distances.borrow();
        let nodes = distances.len().max(1) as u64;
        for (number, hops) in distances.iter().enumerate() {
            // What cannot be divided is the first ones'.
            let share = bytes / nodes + u64::from((number as u64) < bytes % nodes);
            tally(access, usize::from(*hops).min(HOPS - 1), share);
        }
        if distances.is_empty() {
            tally(access, 0, bytes);
        }
    });
}

#[cfg(test)]
mod tests;
