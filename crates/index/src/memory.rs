//! Memory of nodes: counted, charged to a budget in steps, and refused without a trace.

mod slabs;

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::mem;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use base::memory::Reservation;
use base::{Budget, Error, Result, SqlState};

use crate::node::{Head, Kind, Link, Node, Path, Symbol, fork};

/// Who holds the memory, as errors name it.
const HOLDER: &str = "index";
/// The budget is asked for so many bytes at a time, so that threads seldom meet there.
const STEP: usize = 64 << 10;

/// What a tree's nodes take. Alone in its cache lines, as every new node writes here.
#[repr(align(128))]
pub(crate) struct Memory {
    used: AtomicUsize,
    charged: AtomicUsize,
    reservation: Mutex<Reservation>,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.used())
    }
}

impl Memory {
    pub(crate) fn new(budget: &Budget) -> Self {
        let reservation = budget.reserve(0, HOLDER).expect("nothing is not too much");
        Self { used: 0.into(), charged: 0.into(), reservation: Mutex::new(reservation) }
    }

    /// Bytes of nodes.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    fn charge(&self, bytes: usize) -> Result<()> {
        let used = self.used.fetch_add(bytes, Relaxed) + bytes;
        if used <= self.charged.load(Relaxed) {
            return Ok(());
        }
        let charged = self.reserve(used);
        if charged.is_err() {
            self.used.fetch_sub(bytes, Relaxed);
        }
        charged
    }

    #[cold]
    fn reserve(&self, used: usize) -> Result<()> {
        let mut reservation = self.reservation.lock().unwrap_or_else(PoisonError::into_inner);
        if used > reservation.bytes() {
            // Close to the limit only what is needed.
            reservation.resize(used + STEP).or_else(|_| reservation.resize(used))?;
            self.charged.store(reservation.bytes(), Relaxed);
        }
        Ok(())
    }

    pub(crate) fn release(&self, bytes: usize) {
        let used = self.used.fetch_sub(bytes, Relaxed) - bytes;
        if used + 3 * STEP < self.charged.load(Relaxed) {
            self.give_back();
        }
    }

    #[cold]
    fn give_back(&self) {
        let mut reservation = self.reservation.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = self.used() + STEP;
        if bytes < reservation.bytes() && reservation.resize(bytes).is_ok() {
            self.charged.store(bytes, Relaxed);
        }
    }

    /// A new node at a path, without children.
    pub(crate) fn node<W: Default>(&self, kind: Kind, path: Path) -> Result<Fresh<'_, W>> {
        self.charge(kind.bytes::<W>())?;
        let Some(at) = allocate::<W>(kind) else {
            self.release(kind.bytes::<W>());
            return Err(Error::new(SqlState::OUT_OF_MEMORY, "out of memory in index"));
        };
        // SAFETY: zeroed memory of the kind's size.
        unsafe { Head::write(at.as_ptr(), kind, path) };
        Ok(Fresh { link: Link::of_node(at.as_ptr(), kind), memory: self })
    }

    /// A new node with two children, of which one may be a key that ends.
    pub(crate) fn fork<W: Default>(&self, path: Path, two: [(Symbol, Link<W>); 2]) -> Result<Fresh<'_, W>> {
        let node = self.node(Kind::N4, path)?;
        if two.iter().any(|(symbol, _)| symbol.is_none()) {
            // SAFETY: nobody else knows of the node.
            unsafe { (*node.link.node()).end() };
        }
        fork(node.node(), two);
        Ok(node)
    }
}

/// Whether nodes lie in slabs. Miri and the sanitizers know of a node's end only if the allocator does.
const SLABS: bool = !cfg!(watched);

fn layout<W>(kind: Kind) -> Layout {
    Layout::from_size_align(kind.bytes::<W>(), 8).expect("a small power of two")
}

/// Zeroed memory for a node.
fn allocate<W>(kind: Kind) -> Option<NonNull<Head<W>>> {
    let bytes = kind.bytes::<W>();
    if !SLABS {
        // SAFETY: no node is empty.
        return NonNull::new(unsafe { alloc_zeroed(layout::<W>(kind)) }.cast());
    }
    let size = kind as usize + if size_of::<W>() == 0 { 0 } else { Kind::ALL.len() };
    let piece = slabs::take(size, bytes);
    // SAFETY: a piece of so many bytes that nobody else has.
    unsafe { piece.write_bytes(0, bytes) };
    Some(piece.cast())
}

/// Frees the memory of a node, which [`Memory::release`] has been told of.
///
/// # Safety
/// Nobody looks at the node any more.
pub(crate) unsafe fn free<W>(link: Link<W>) {
    // SAFETY: it was allocated so; a protocol's word has nothing to drop.
    unsafe {
        if SLABS {
            slabs::give(NonNull::new_unchecked(link.node().cast()));
        } else {
            dealloc(link.node().cast(), layout::<W>(link.kind()));
        }
    }
}

/// A node that is not in the tree yet: dropped, it is gone, without its children.
pub(crate) struct Fresh<'m, W> {
    link: Link<W>,
    memory: &'m Memory,
}

impl<W> Fresh<'_, W> {
    pub(crate) fn node(&self) -> Node<'_, W> {
        // SAFETY: it is freed when this is dropped, not before.
        unsafe { self.link.follow() }
    }

    /// The node, for a slot of the tree.
    pub(crate) fn publish(self) -> Link<W> {
        let link = self.link;
        mem::forget(self);
        link
    }
}

impl<W> Drop for Fresh<'_, W> {
    fn drop(&mut self) {
        self.memory.release(self.link.kind().bytes::<W>());
        // SAFETY: nobody else knew of the node.
        unsafe { free(self.link) };
    }
}

/// Frees all nodes below a link, one after the other: a tree may be as deep as its longest key.
pub(crate) struct Subtree<'m, W>(pub(crate) Link<W>, pub(crate) &'m Memory);

impl<W> Drop for Subtree<'_, W> {
    fn drop(&mut self) {
        let mut left = vec![self.0];
        while let Some(link) = left.pop() {
            if !link.is_node() {
                continue;
            }
            // SAFETY: whoever drops is alone with the tree.
            let node = unsafe { link.follow() };
            left.extend(node.children().map(|(_, child)| child));
            self.1.release(link.kind().bytes::<W>());
            // SAFETY: its children are known, and nothing else is read of it.
            unsafe { free(link) };
        }
    }
}
