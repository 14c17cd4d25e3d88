//! Entries in their order: runs that are read where they lie, and merged.

use std::cmp::Ordering;

use base::memory::Reservation;
use base::{Result, statement};

use super::super::{integer_of_word, word_of_integer};
use super::{PIECE, Shape};
use crate::worker::Worker;

/// Entries that a run should have in the mean: else they are sorted.
const LEAST_OF_RUN: usize = 32;
/// Runs that another one may follow.
const LATEST: usize = 8;

/// Lists of entries that are in their order, one behind the other.
type Run<'w> = Vec<&'w [u64]>;

/// The entries of a group.
pub(super) enum Entries<'w> {
    /// In their order.
    One(Run<'w>),
    /// Each in its order.
    Two(Run<'w>, Run<'w>),
}

/// Room for entries that do not stay where they lie, and what it is charged to.
#[derive(Default)]
pub(super) struct Room {
    words: [Vec<u64>; 2],
    charged: [Option<Reservation>; 2],
}

impl Room {
    /// Makes room for so many words.
    pub(super) fn reserve(&mut self, worker: &Worker, number: usize, words: usize) -> Result<&mut Vec<u64>> {
        if self.charged[number].is_none() {
            let bytes = words * size_of::<u64>();
            self.charged[number] = Some(worker.inner.shared.budget.reserve(bytes, "aggregation")?);
            self.words[number].reserve_exact(words);
        }
        Ok(&mut self.words[number])
    }
}

impl Entries<'_> {
    pub(super) fn words(&self) -> usize {
        match self {
            Self::One(run) => words_of(run),
            Self::Two(a, b) => words_of(a) + words_of(b),
        }
    }

    /// Calls for each entry, in their order.
    ///
    /// # Safety
    /// They must be of that shape, and their texts alive.
    pub(super) unsafe fn each(&self, shape: Shape, mut call: impl FnMut(&[u64])) -> Result<()> {
        let width = shape.width();
        let mut left = PIECE;
        let mut show = |list: &[u64]| {
            for piece in list.chunks(PIECE * width) {
                left = left.saturating_sub(piece.len() / width);
                if left == 0 {
                    statement::check()?;
                    left = PIECE;
                }
                piece.chunks_exact(width).for_each(&mut call);
            }
            Ok(())
        };
        match self {
            Self::One(run) => run.iter().try_for_each(|list| show(list)),
            // SAFETY: as the caller promises.
            Self::Two(a, b) => unsafe { merge(a, b, shape, show) },
        }
    }
}

impl Entries<'_> {
    /// Calls for each with a place and its last word; none if they are `flagged` and the word before says so.
    pub(super) fn each_word<T>(
        &self,
        shape: Shape,
        flagged: bool,
        to: &mut [T],
        write: impl Fn(&mut T, Option<i64>),
    ) -> Result<()> {
        let mut to = to.iter_mut();
        let last = shape.words - 1;
        let show = |entry: &[u64]| {
            let is_there = !flagged || entry[last - 1] == word_of_integer(0);
            write(to.next().expect("room for each element"), is_there.then(|| integer_of_word(entry[last])));
        };
        // SAFETY: entries of words have no texts.
        unsafe { self.each(shape, show) }
    }
}

pub(super) fn words_of(run: &Run<'_>) -> usize {
    run.iter().map(|list| list.len()).sum()
}

/// One or two runs, or none.
pub(super) fn pair(mut runs: Vec<Run<'_>>) -> Entries<'_> {
    let second = if runs.len() > 1 { runs.pop() } else { None };
    let first = runs.pop().unwrap_or_default();
    match second {
        Some(second) => Entries::Two(first, second),
        None => Entries::One(first),
    }
}

/// Parts of lists that are in their order, put together where one goes on behind another; none if they are short. Each entry is
/// shown to `see`.
///
/// # Safety
/// They must be entries of that shape, whose texts are alive.
pub(super) unsafe fn runs_of<'w>(
    lists: &[&'w [u64]],
    shape: Shape,
    mut see: impl FnMut(&[u64]),
) -> Result<Option<Vec<Run<'w>>>> {
    let width = shape.width();
    // SAFETY: as the caller promises.
    let goes_on = |a: &[u64], b: &[u64]| unsafe { shape.compare(a, b) }.is_le();
    let most = 2 + lists.iter().map(|list| list.len()).sum::<usize>() / width / LEAST_OF_RUN;
    let mut found: Vec<&[u64]> = Vec::new();
    let mut breaks = 0;
    for &list in lists {
        let (mut from, mut left) = (0, PIECE);
        for (at, entry) in list.chunks_exact(width).enumerate() {
            see(entry);
            left -= 1;
            if left == 0 {
                statement::check()?;
                left = PIECE;
            }
            let at = at * width;
            if at > from && breaks < most && !goes_on(&list[at - width..at], entry) {
                found.push(&list[from..at]);
                from = at;
                breaks += 1;
            }
        }
        if from < list.len() {
            found.push(&list[from..]);
        }
    }
    if breaks == most {
        return Ok(None);
    }
    // What begins first comes first, so each goes on behind the latest run that ends before it.
    // SAFETY: likewise.
    found.sort_by(|a, b| unsafe { shape.compare(a, b) });
    let mut runs: Vec<Run<'w>> = Vec::new();
    for list in found {
        let ends_before =
            |run: &&mut Run<'w>| run.last().is_some_and(|last| goes_on(&last[last.len() - width..], list));
        match runs.iter_mut().rev().take(LATEST).find(ends_before) {
            Some(run) => run.push(list),
            None => runs.push(vec![list]),
        }
    }
    Ok(Some(runs))
}

/// Sorts the entries of each piece.
///
/// # Safety
/// They must be entries of that shape, whose texts are alive.
pub(super) unsafe fn sort<const W: usize>(words: &mut [u64], shape: Shape) -> Result<()> {
    let (entries, _) = words.as_chunks_mut::<W>();
    for piece in entries.chunks_mut(PIECE) {
        statement::check()?;
        // SAFETY: as the caller promises.
        piece.sort_by(|a, b| unsafe { shape.compare(a, b) });
    }
    Ok(())
}

/// Merges runs that lie one behind the other in the first room, as these ends say, until there are two.
///
/// # Safety
/// They must be entries of that shape, whose texts are alive.
pub(super) unsafe fn merge_all<'w>(
    worker: &Worker,
    room: &'w mut Room,
    mut ends: Vec<usize>,
    shape: Shape,
) -> Result<Entries<'w>> {
    let mut now = 0;
    while ends.len() > 2 {
        let words = room.words[now].len();
        room.reserve(worker, 1 - now, words)?.clear();
        let [first, second] = &mut room.words;
        let (from, to) = if now == 0 { (first, second) } else { (second, first) };
        // SAFETY: as the caller promises.
        ends = unsafe { merge_pairs(&cut(from, &ends), shape, to)? };
        now = 1 - now;
    }
    Ok(pair(cut(&room.words[now], &ends)))
}

/// The runs that end there.
fn cut<'w>(words: &'w [u64], ends: &[usize]) -> Vec<Run<'w>> {
    let begins = std::iter::once(0).chain(ends.iter().copied());
    begins.zip(ends).map(|(begin, &end)| vec![&words[begin..end]]).collect()
}

/// Merges each two runs; where they end.
///
/// # Safety
/// They must be entries of that shape, whose texts are alive.
pub(super) unsafe fn merge_pairs(runs: &[Run<'_>], shape: Shape, to: &mut Vec<u64>) -> Result<Vec<usize>> {
    let mut ends = Vec::with_capacity(runs.len().div_ceil(2));
    for pair in runs.chunks(2) {
        statement::check()?;
        let mut put = |list: &[u64]| {
            to.extend_from_slice(list);
            Ok(())
        };
        match pair {
            // SAFETY: as the caller promises.
            [a, b] => unsafe { merge(a, b, shape, put)? },
            rest => rest.iter().flatten().try_for_each(|list| put(list))?,
        }
        ends.push(to.len());
    }
    Ok(ends)
}

/// Merges two runs: shows lists of entries in their order.
///
/// # Safety
/// They must be entries of that shape, whose texts are alive.
unsafe fn merge(a: &[&[u64]], b: &[&[u64]], shape: Shape, mut show: impl FnMut(&[u64]) -> Result<()>) -> Result<()> {
    let (mut of_a, mut of_b) = (a.iter(), b.iter());
    let (mut a, mut b) = (of_a.next().copied(), of_b.next().copied());
    while let (Some(left), Some(right)) = (a, b) {
        // SAFETY: as the caller promises.
        let count = unsafe { leading(left, shape, |order| order.is_le(), right) };
        if count > 0 {
            show(&left[..count])?;
        }
        let rest = &left[count..];
        if rest.is_empty() {
            a = of_a.next().copied();
            continue;
        }
        a = Some(rest);
        // SAFETY: likewise.
        let count = unsafe { leading(right, shape, |order| order.is_lt(), rest) };
        show(&right[..count])?;
        b = Some(&right[count..]).filter(|rest| !rest.is_empty()).or_else(|| of_b.next().copied());
    }
    a.into_iter().chain(of_a.copied()).chain(b).chain(of_b.copied()).try_for_each(show)
}

/// Words of the first entries whose order beside the first of `than` is such: by steps that grow, then by halves.
///
/// # Safety
/// They must be entries of that shape, whose texts are alive.
unsafe fn leading(list: &[u64], shape: Shape, is: impl Fn(Ordering) -> bool, than: &[u64]) -> usize {
    let (width, count) = (shape.width(), list.len() / shape.width());
    // SAFETY: as the caller promises.
    let holds = |at: usize| is(unsafe { shape.compare(&list[at * width..], than) });
    let (mut low, mut step) = (0, 1);
    // All before `low` are; the one at `low + step - 1` is looked at.
    while low + step <= count && holds(low + step - 1) {
        low += step;
        step *= 2;
    }
    let mut high = count.min(low + step - 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle + 1 } else { high = middle }
    }
    low * width
}
