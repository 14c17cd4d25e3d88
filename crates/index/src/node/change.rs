//! Changing a node, by whoever has the right to: its only writer, while readers of some protocols look on.

use super::{Head, Kind, Link, Node, PATH, Slot, Symbol};
use crate::sync::{AtomicU8, AtomicU32, Relaxed, Release};

impl<'g, W> Node<'g, W> {
    /// Number of children.
    pub(crate) fn live(self) -> usize {
        match self.kind {
            Kind::N256 => usize::from(self.head().count.load(Relaxed)) + 1,
            _ => self.slots().iter().filter(|slot| !slot.load().is_null()).count(),
        }
    }

    /// Whether [`add`](Self::add) finds a place for the byte.
    pub(crate) fn has_room(self, byte: u8) -> bool {
        self.kind == Kind::N256
            || usize::from(self.head().count.load(Relaxed)) < self.kind.room()
            || self.slot_of(byte).is_some()
    }

    /// Enters a child for a byte that has none. A reader without a lock sees the byte only with its child, as the slot counts
    /// last.
    pub(crate) fn add(self, byte: u8, link: Link<W>) {
        if let Some(slot) = self.slot_of(byte)
            && self.kind != Kind::N256
        {
            // The slot of a child that is gone: no other byte got it.
            return slot.store(link);
        }
        let count = self.head().count.load(Relaxed);
        let place = usize::from(count);
        match self.kind {
            Kind::N4 => {
                self.n4().children[place].store(link);
                self.set_byte(place, byte);
            }
            Kind::N16 => {
                self.n16().children[place].store(link);
                self.set_byte(place, byte);
            }
            Kind::N48 => {
                self.n48().children[place].store(link);
                self.n48().places[usize::from(byte)].store(count + 1, Release);
            }
            Kind::N256 => self.n256().children[usize::from(byte)].store(link),
        }
        self.head().count.store(count.wrapping_add(1), Release);
    }

    /// Takes a child away and leaves its slot as it is, for readers that look at it.
    pub(crate) fn vacate(self, slot: &Slot<W>) {
        slot.store(Link::NULL);
        if self.kind == Kind::N256 {
            self.less();
        }
    }

    /// Takes a child away and closes the gap; readers must find out.
    pub(crate) fn close(self, byte: u8, slot: &Slot<W>) {
        if self.kind == Kind::N256 {
            return self.vacate(slot);
        }
        let last = self.less();
        let last_slot = &self.slots()[last];
        let place = self.slots().iter().position(|other| std::ptr::eq(other, slot)).unwrap_or(last);
        slot.store(last_slot.load());
        last_slot.store(Link::NULL);
        if self.kind == Kind::N48 {
            let places = &self.n48().places;
            if let Some(moved) = places.iter().find(|place| usize::from(place.load(Relaxed)) == last + 1) {
                moved.store(place as u8 + 1, Relaxed);
            }
            places[usize::from(byte)].store(0, Relaxed);
        } else {
            self.set_byte(place, self.byte_at(last));
        }
    }

    /// One less in the count, which is returned.
    fn less(self) -> usize {
        let less = self.head().count.load(Relaxed).wrapping_sub(1);
        self.head().count.store(less, Relaxed);
        usize::from(less)
    }

    fn set_byte(self, place: usize, byte: u8) {
        if self.kind == Kind::N4 {
            let shift = 8 * place;
            let bytes = &self.head().bytes;
            bytes.store(bytes.load(Relaxed) & !(0xff << shift) | u32::from(byte) << shift, Relaxed);
        } else {
            let (bytes, shift) = (&self.n16().bytes[place / 8], 8 * (place % 8));
            bytes.store(bytes.load(Relaxed) & !(0xff << shift) | u64::from(byte) << shift, Relaxed);
        }
    }

    /// Enters all children of another node but the one in a slot.
    pub(crate) fn fill(self, from: Node<'_, W>, without: Option<Link<W>>) {
        for (symbol, link) in from.children() {
            if let Some(byte) = symbol
                && Some(link) != without
            {
                self.add(byte, link);
            }
        }
    }

    /// The child that is not this one, of two.
    pub(crate) fn other_than(self, link: Link<W>) -> Option<Link<W>> {
        self.children().map(|(_, other)| other).find(|other| *other != link)
    }
}

impl<W: Default> Head<W> {
    /// Makes a node of zeroed memory.
    ///
    /// # Safety
    /// The memory is zeroed, has the bytes of the kind, and nobody else knows of it.
    pub(crate) unsafe fn write(at: *mut Self, kind: Kind, path: Path) {
        let count = if kind == Kind::N256 { u8::MAX } else { 0 };
        let head = Self {
            word: W::default(),
            level: path.level,
            path: path.bytes,
            is_end: false,
            count: AtomicU8::new(count),
            bytes: AtomicU32::new(0),
        };
        // SAFETY: as the caller says.
        unsafe { at.write(head) };
    }

    /// Makes an end node of a node of four: the key that ends, and what goes on.
    pub(crate) fn end(&mut self) {
        self.is_end = true;
    }
}

impl<W> Node<'_, W> {
    /// Fills an end node.
    pub(crate) fn set_end(self, ends: Link<W>, goes_on: Link<W>) {
        self.n4().children[0].store(ends);
        self.n4().children[1].store(goes_on);
        self.head().count.store(2, Release);
    }

    /// Where the node stands.
    pub(crate) fn path(self) -> Path {
        Path { level: self.head().level, bytes: self.head().path }
    }
}

/// The path of a new node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    level: u32,
    bytes: [u8; PATH],
}

impl Path {
    /// The first `level` bytes of a key, which has at least so many.
    pub(crate) fn of(key: &[u8], level: usize) -> Self {
        let mut bytes = [0; PATH];
        let known = level.min(PATH);
        bytes[PATH - known..].copy_from_slice(&key[level - known..level]);
        Self { level: level as u32, bytes }
    }
}

/// What two keys do behind a path that they share.
pub(crate) fn fork<W>(node: Node<'_, W>, [a, b]: [(Symbol, Link<W>); 2]) {
    match (a, b) {
        ((None, ends), (_, goes_on)) | ((_, goes_on), (None, ends)) => node.set_end(ends, goes_on),
        ((Some(a), of_a), (Some(b), of_b)) => {
            node.add(a, of_a);
            node.add(b, of_b);
        }
    }
}
