//! Looking into a node: whether a key fits its path, where a byte's child is, which child comes next.
//!
//! Bytes of small nodes are in no order, so that entering one writes nothing but a free slot. A node of 16 is searched by one
//! comparison of vectors, one of four by arithmetic on a word.

use std::ops::{Range, RangeInclusive};

use base::prefetch::prefetch;

use super::{Head, Kind, LINE, Link, Node, PATH, Slot, Symbol};
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
    pub(crate) fn list(self, symbols: RangeInclusive<u16>, up: bool, to: &mut Vec<Link<W>>) {
        if self.is_small() {
            return self.list_small(symbols, up, to);
        }
        let list = Listing::new(to, symbols.clone().count());
        let bytes = usize::from(symbols.start().saturating_sub(1))..usize::from(*symbols.end());
        if self.kind == Kind::N256 {
            let slots = self.n256().children[bytes].iter().map(Slot::load);
            return if up { list.enter_all(slots.rev()) } else { list.enter_all(slots) };
        }
        let node = self.n48();
        let links = bytes.map(|byte| {
            let place = usize::from(node.places[byte].load(Acquire));
            // One that is not used looks at some slot.
            let link = node.children[place.clamp(1, 48) - 1].load();
            if place == 0 { Link::NULL } else { link }
        });
        if up { list.enter_all(links.rev()) } else { list.enter_all(links) }
    }

    /// As [`list`](Self::list), of a small node, whose children are in no order.
    #[inline(always)]
    fn list_small(self, symbols: RangeInclusive<u16>, up: bool, to: &mut Vec<Link<W>>) {
        if self.kind == Kind::N4 {
            let (links, count) = self.list_of_4(symbols, up);
            return to.extend_from_slice(&links[..count]);
        }
        // The count is read first, as everywhere.
        let count = usize::from(self.head().count.load(Acquire)).min(16);
        let node = self.n16();
        let bytes = node.bytes.each_ref().map(|word| word.load(Relaxed));
        let byte = |slot: usize| (bytes[slot / 8] >> (8 * (slot % 8))) as u8;
        let (mut links, mut there, mut number) = ([Link::NULL; 16], [0_u64; 2], 0);
        for (slot, link) in node.children[..count].iter().enumerate() {
            links[slot] = link.load();
            let is_there = symbols.contains(&(u16::from(byte(slot)) + 1)) && !links[slot].is_null();
            there[slot / 8] |= u64::from(is_there) << (8 * (slot % 8));
            number += usize::from(is_there);
        }
        // Each goes to the place of as many as come before it.
        let mut sorted = [Link::NULL; 17];
        for (slot, link) in links[..count].iter().enumerate() {
            let up_to = at_most_in_16(bytes, byte(slot), there);
            let place = if up { number.wrapping_sub(up_to) } else { up_to.wrapping_sub(1) };
            let is_there = there[slot / 8] >> (8 * (slot % 8)) & 1 != 0;
            sorted[if is_there { place.min(16) } else { 16 }] = *link;
        }
        to.extend_from_slice(&sorted[..number]);
    }

    /// As [`list`](Self::list), of a node of four.
    #[inline(always)]
    pub(crate) fn list_of_4(self, symbols: RangeInclusive<u16>, up: bool) -> ([Link<W>; 4], usize) {
        // The count is read first, as everywhere.
        let count = usize::from(self.head().count.load(Acquire));
        let (mut bytes, mut symbol_of_0) = (self.head().bytes.load(Relaxed), 1);
        if self.is_end() {
            (bytes, symbol_of_0) = (1 << 8, 0);
        }
        let links = self.n4().children.each_ref().map(Slot::load);
        // What is to be sorted: the symbol comes first, then the slot.
        let mut order: [u16; 4] = std::array::from_fn(|slot| {
            let symbol = u16::from((bytes >> (8 * slot)) as u8) + symbol_of_0;
            let is_there = (slot < count) & symbols.contains(&symbol) & !links[slot].is_null();
            if is_there { symbol << 4 | slot as u16 } else { ABSENT }
        });
        for (low, high) in [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)] {
            (order[low], order[high]) = (order[low].min(order[high]), order[low].max(order[high]));
        }
        if up {
            order.reverse();
        }
        let (mut listed, mut end) = ([Link::NULL; 4], 0);
        for at in order {
            listed[end & 3] = links[usize::from(at) & 3];
            end += usize::from(at != ABSENT);
        }
        (listed, end)
    }

    /// Fetches the slots of a range of symbols.
    #[inline(always)]
    pub(crate) fn fetch(self, symbols: RangeInclusive<u16>) {
        let at = self.head.as_ptr().cast::<u8>().cast_const();
        let lines = |bytes: Range<usize>| bytes.step_by(LINE).for_each(|line| prefetch(at.wrapping_add(line)));
        match self.kind {
            Kind::N4 => {}
            Kind::N16 | Kind::N48 => lines(LINE..self.kind.bytes::<W>()),
            Kind::N256 => {
                let slot = |symbol: u16| {
                    size_of::<Head<W>>() + size_of::<Slot<W>>() * (usize::from(symbol.clamp(1, LAST)) - 1)
                };
                lines(slot(*symbols.start())..slot(*symbols.end()) + LINE);
            }
        }
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

/// What comes behind all symbols.
const ABSENT: u16 = u16::MAX;

/// Children that are added to a list, for which there is room.
struct Listing<'l, W> {
    to: &'l mut Vec<Link<W>>,
    /// Behind the last one.
    end: *mut Link<W>,
}

impl<'l, W> Listing<'l, W> {
    #[inline(always)]
    fn new(to: &'l mut Vec<Link<W>>, most: usize) -> Self {
        to.reserve(most + 1);
        // SAFETY: as many as there are.
        Self { end: unsafe { to.as_mut_ptr().add(to.len()) }, to }
    }

    /// Adds a child, if it is there. There are at most as many calls as the listing was made for.
    #[inline(always)]
    fn enter(&mut self, link: Link<W>, is_there: bool) {
        // SAFETY: there is room for one more than are entered.
        unsafe {
            self.end.write(link);
            self.end = self.end.add(usize::from(is_there));
        }
    }

    #[inline(always)]
    fn enter_all(mut self, links: impl Iterator<Item = Link<W>>) {
        links.for_each(|link| self.enter(link, !link.is_null()));
        self.finish();
    }

    /// The list has what was added.
    #[inline(always)]
    fn finish(self) {
        // SAFETY: all up to the end has been written, in one allocation; what is behind is not dropped.
        unsafe {
            let len = self.end.offset_from(self.to.as_ptr()) as usize;
            self.to.set_len(len);
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

/// How many bytes of 16 are not greater, of the places that have a one.
#[inline(always)]
fn at_most_in_16(bytes: [u64; 2], byte: u8, places: [u64; 2]) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{
            _mm_and_si128, _mm_cmpeq_epi8, _mm_cvtsi128_si64, _mm_min_epu8, _mm_sad_epu8, _mm_set_epi64x,
            _mm_set1_epi8, _mm_setzero_si128, _mm_unpackhi_epi64,
        };
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let all = _mm_set_epi64x(bytes[1] as i64, bytes[0] as i64);
            let at_most = _mm_cmpeq_epi8(all, _mm_min_epu8(all, _mm_set1_epi8(byte as i8)));
            let counted = _mm_and_si128(at_most, _mm_set_epi64x(places[1] as i64, places[0] as i64));
            let halves = _mm_sad_epu8(counted, _mm_setzero_si128());
            (_mm_cvtsi128_si64(halves) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(halves, halves))) as usize
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let is_counted = |place: usize| places[place / 8] >> (8 * (place % 8)) & 1 != 0;
        let is_at_most = |place: usize| (bytes[place / 8] >> (8 * (place % 8))) as u8 <= byte;
        (0..16).filter(|place| is_counted(*place) && is_at_most(*place)).count()
    }
}
