//! Looking into a node: whether a key fits its path, where a byte's child is, which child comes next.
//!
//! Bytes of small nodes are in no order, so that entering one writes nothing but a free slot. A node of 16 is searched by one
//! comparison of vectors, one of four by arithmetic on a word.

use std::ops::RangeInclusive;

use super::{Kind, Link, Node, PATH, Slot, Symbol};
use crate::sync::{Acquire, Relaxed};

/// The greatest symbol as a number.
pub(crate) const LAST: u16 = 256;

/// How far a key goes along with a node's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meets {
    /// To the node's level, as far as the node knows; and whether it knows all of it.
    Agrees { known: bool },
    /// It doesn't.
    Differs,
}

impl<'g, W> Node<'g, W> {
    /// Compares the path behind `depth` with a key that is at least as long as the level.
    #[inline(always)]
    pub(crate) fn meets(self, key: &[u8], depth: usize) -> Meets {
        let level = self.level();
        if level == depth {
            return Meets::Agrees { known: true };
        }
        let known = self.known(depth);
        if key[level - known.len()..level] != *known {
            return Meets::Differs;
        }
        Meets::Agrees { known: level - depth <= PATH }
    }

    /// What the node knows of the path behind `depth`: all of it, or its last bytes.
    #[inline(always)]
    pub(crate) fn known(self, depth: usize) -> &'g [u8] {
        &self.head().path[PATH - (self.level() - depth).min(PATH)..]
    }

    /// Where the child of a symbol is, which may be absent all the same.
    #[inline(always)]
    pub(crate) fn slot(self, symbol: Symbol) -> Option<&'g Slot<W>> {
        if self.is_end() {
            return Some(&self.n4().children[usize::from(symbol.is_some())]);
        }
        self.slot_of(symbol?)
    }

    #[inline(always)]
    pub(crate) fn slot_of(self, byte: u8) -> Option<&'g Slot<W>> {
        match self.kind {
            // The count is read first: a slot that is counted keeps its byte for as long as anybody looks.
            Kind::N4 => {
                let count = usize::from(self.head().count.load(Acquire));
                let place = first_in_4(self.head().bytes.load(Relaxed), byte);
                (place < count).then(|| &self.n4().children[place & 3])
            }
            Kind::N16 => {
                let count = u32::from(self.head().count.load(Acquire));
                let node = self.n16();
                let found = all_in_16([node.bytes[0].load(Relaxed), node.bytes[1].load(Relaxed)], byte);
                let place = found.trailing_zeros();
                (found != 0 && place < count).then(|| &node.children[place as usize & 15])
            }
            Kind::N48 => {
                let node = self.n48();
                match node.places[usize::from(byte)].load(Acquire) {
                    0 => None,
                    place => node.children.get(usize::from(place) - 1),
                }
            }
            Kind::N256 => Some(&self.n256().children[usize::from(byte)]),
        }
    }

    /// Whether its children are in no order, so that all of them are looked at for any.
    #[inline(always)]
    pub(crate) fn is_small(self) -> bool {
        self.kind <= Kind::N16
    }

    /// Lists the children whose symbols are in a range, the one that comes last, going up or down, first. Symbols are numbers here:
    /// the end is 0, a byte one more than itself; in an end node 1 stands for all that goes on.
    ///
    /// Nothing is branched by whether there is a child, which nobody can foresee.
    #[inline]
    pub(crate) fn list(self, symbols: RangeInclusive<u16>, up: bool, to: &mut Vec<(u16, Link<W>)>) {
        let mut list = Listing::new(to, if self.is_small() { SMALL } else { symbols.clone().count() });
        if self.is_small() {
            self.each_of_small(|symbol, slot| list.enter(symbol, slot.load(), symbols.contains(&symbol)));
            return sort(list.finish(), up);
        }
        let bytes = usize::from(symbols.start().saturating_sub(1))..usize::from(*symbols.end());
        let mut enter = |byte: usize, slot: &Slot<W>, is_used: bool| list.enter(byte as u16 + 1, slot.load(), is_used);
        match (self.kind, up) {
            (Kind::N256, true) => {
                let slots = &self.n256().children[bytes.clone()];
                bytes.zip(slots).rev().for_each(|(byte, slot)| enter(byte, slot, true));
            }
            (Kind::N256, false) => {
                let slots = &self.n256().children[bytes.clone()];
                bytes.zip(slots).for_each(|(byte, slot)| enter(byte, slot, true));
            }
            (_, up) => {
                let node = self.n48();
                let mut of = |byte: usize| {
                    let place = usize::from(node.places[byte].load(Acquire));
                    // One that is not used looks at some slot.
                    enter(byte, &node.children[place.clamp(1, 48) - 1], place != 0);
                };
                if up { bytes.rev().for_each(&mut of) } else { bytes.for_each(&mut of) }
            }
        }
        list.finish();
    }

    /// The used slots of a small node, in no order.
    #[inline(always)]
    fn each_of_small(self, mut each: impl FnMut(u16, &Slot<W>)) {
        debug_assert!(self.is_small());
        if self.is_end() {
            return self.n4().children.iter().take(2).zip(0..).for_each(|(slot, symbol)| each(symbol, slot));
        }
        // The count is read first, as everywhere.
        let count = usize::from(self.head().count.load(Acquire));
        if self.kind == Kind::N4 {
            let bytes = self.head().bytes.load(Relaxed).to_le_bytes();
            let slots = self.n4().children.iter().take(count);
            return slots.zip(bytes).for_each(|(slot, byte)| each(u16::from(byte) + 1, slot));
        }
        let node = self.n16();
        let bytes = node.bytes.iter().flat_map(|word| word.load(Relaxed).to_le_bytes());
        node.children.iter().take(count).zip(bytes).for_each(|(slot, byte)| each(u16::from(byte) + 1, slot));
    }

    /// Some child, of a node that has one.
    pub(crate) fn any(self) -> Link<W> {
        let links = || self.slots().iter().map(Slot::load);
        match self.kind {
            Kind::N4 if self.is_end() => links().find(|link| !link.is_null()),
            Kind::N4 | Kind::N16 | Kind::N48 => {
                let count = usize::from(self.head().count.load(Acquire));
                links().take(count).find(|link| !link.is_null())
            }
            Kind::N256 => links().find(|link| !link.is_null()),
        }
        .unwrap_or(Link::NULL)
    }

    /// The byte of a used slot of a node of 4 or 16.
    pub(super) fn byte_at(self, place: usize) -> u8 {
        match self.kind {
            Kind::N4 => (self.head().bytes.load(Relaxed) >> (8 * place)) as u8,
            _ => (self.n16().bytes[place / 8].load(Relaxed) >> (8 * (place % 8))) as u8,
        }
    }

    /// All children, in no order.
    pub(crate) fn children(self) -> impl Iterator<Item = (Symbol, Link<W>)> + use<'g, W> {
        let slots = self.slots().len();
        let range = if self.kind == Kind::N48 { 0..256 } else { 0..slots };
        range.filter_map(move |at| {
            let (symbol, link) = match self.kind {
                Kind::N4 if self.is_end() => (if at == 0 { None } else { Some(0) }, self.n4().children[at].load()),
                Kind::N4 | Kind::N16 => (Some(self.byte_at(at)), self.slots()[at].load()),
                Kind::N48 | Kind::N256 => (Some(at as u8), self.slot_of(at as u8)?.load()),
            };
            (!link.is_null()).then_some((symbol, link))
        })
    }
}

/// So many children a small node has at most.
const SMALL: usize = 16;

/// Children that are added to a list, for which there is room.
struct Listing<'l, W> {
    to: &'l mut Vec<(u16, Link<W>)>,
    /// Behind the last one.
    end: *mut (u16, Link<W>),
    first: usize,
}

impl<'l, W> Listing<'l, W> {
    #[inline(always)]
    fn new(to: &'l mut Vec<(u16, Link<W>)>, most: usize) -> Self {
        to.reserve(most + 1);
        // SAFETY: as many as there are.
        Self { end: unsafe { to.as_mut_ptr().add(to.len()) }, first: to.len(), to }
    }

    /// Adds a child, if it is there and wanted. There are at most as many calls as the listing was made for.
    #[inline(always)]
    fn enter(&mut self, symbol: u16, link: Link<W>, is_wanted: bool) {
        // SAFETY: there is room for one more than are entered.
        unsafe {
            self.end.write((symbol, link));
            self.end = self.end.add(usize::from(is_wanted & !link.is_null()));
        }
    }

    /// The list has what was added.
    #[inline(always)]
    fn finish(self) -> &'l mut [(u16, Link<W>)] {
        // SAFETY: all up to the end has been written, in one allocation; what is behind is not dropped.
        unsafe {
            let len = self.end.offset_from(self.to.as_ptr()) as usize;
            self.to.set_len(len);
        }
        &mut self.to[self.first..]
    }
}

/// Sorts a few children by their symbols, the greatest first, or last.
#[inline(always)]
fn sort<W>(children: &mut [(u16, Link<W>)], up: bool) {
    for end in 1..children.len() {
        let mut at = end;
        while at > 0 && (children[at - 1].0 < children[at].0) == up {
            children.swap(at - 1, at);
            at -= 1;
        }
    }
}

/// The first place of a byte in a word of four, or 4.
#[inline(always)]
fn first_in_4(bytes: u32, byte: u8) -> usize {
    const ONES: u32 = 0x0101_0101;
    let other = bytes ^ (ONES * u32::from(byte));
    // The highest bit of each byte that is zero; above the first such byte there may be false ones.
    let zero = other.wrapping_sub(ONES) & !other & (ONES << 7);
    zero.trailing_zeros() as usize / 8
}

/// A bit for each place of a byte among 16; those above the first may be false.
#[inline(always)]
fn all_in_16(bytes: [u64; 2], byte: u8) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let all = _mm_set_epi64x(bytes[1] as i64, bytes[0] as i64);
            _mm_movemask_epi8(_mm_cmpeq_epi8(all, _mm_set1_epi8(byte as i8))) as u32
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        const ONES: u64 = 0x0101_0101_0101_0101;
        let place = |bytes: u64| {
            let other = bytes ^ (ONES * u64::from(byte));
            (other.wrapping_sub(ONES) & !other & (ONES << 7)).trailing_zeros() / 8
        };
        let (low, high) = (place(bytes[0]), place(bytes[1]));
        if low < 8 { 1 << low } else { ((1u64 << high) & 0xff) as u32 * 256 }
    }
}
