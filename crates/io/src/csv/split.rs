//! Cutting a file into ranges that begin at records.
//!
//! Whether a line end is inside of quotes depends on everything before it. Cuts are made after line ends; then each
//! range is walked from both states that it could begin in (inside and outside of quotes), by whoever has time, and
//! composing the results from the first range on gives the true states. A range that begins inside of quotes gives the bytes up
//! to its first record to the range before it. One pass over the file, over quotes only; files without quotes cost
//! `memchr`. Exact for whatever [`Records`](super::records::Records) accepts: a quote opens only at the start of a field.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::Result;

use super::dialect::Dialect;
use crate::input::Input;

/// Bytes read at once while looking for a line end.
const STEP: u64 = 64 << 10;

/// `count` ranges of `[start, length)`, whose boundaries are found range by range.
pub struct Split {
    start: u64,
    cuts: OnceLock<Result<Vec<u64>>>,
    /// By range.
    walks: Box<[OnceLock<Result<[Walk; 2]>>]>,
    bounds: OnceLock<Result<Vec<u64>>>,
}

impl Split {
    pub fn new(start: u64, count: usize) -> Self {
        let walks = (0..count).map(|_| OnceLock::new()).collect();
        Self { start, cuts: OnceLock::new(), walks, bounds: OnceLock::new() }
    }

    /// Number of ranges.
    pub fn ranges(&self) -> usize {
        self.walks.len()
    }

    /// Whether ranges have to be walked.
    pub fn needs_walks(&self, dialect: &Dialect) -> bool {
        dialect.quote.is_some() && self.ranges() > 1 && self.bounds.get().is_none()
    }

    /// Walks a range, if nobody has.
    pub fn walk(&self, input: &Input, name: &str, dialect: &Dialect, range: usize) -> Result<()> {
        if let Some(quote) = dialect.quote {
            self.walked(input, name, dialect, quote, range)?;
        }
        Ok(())
    }

    fn walked(&self, input: &Input, name: &str, dialect: &Dialect, quote: u8, range: usize) -> Result<[Walk; 2]> {
        let cuts = self.cuts(input, name, dialect)?;
        let find = || {
            let text = input.read(name, cuts[range], cuts[range + 1])?;
            Ok([false, true].map(|inside| walk(&text, dialect, quote, inside)))
        };
        self.walks[range].get_or_init(find).clone()
    }

    /// Where the ranges are cut: after line ends, of which some may be inside of quotes.
    fn cuts(&self, input: &Input, name: &str, dialect: &Dialect) -> Result<&[u64]> {
        let find = || {
            let (length, count) = (input.len(), self.ranges());
            let mut cuts = vec![self.start];
            for i in 1..count {
                let nominal = self.start + (u128::from(length - self.start) * i as u128 / count as u128) as u64;
                let previous = cuts[i - 1];
                cuts.push(if nominal <= previous { previous } else { line_after(input, name, dialect, nominal)? });
            }
            cuts.push(length);
            Ok(cuts)
        };
        self.cuts.get_or_init(find).as_deref().map_err(Clone::clone)
    }

    /// One offset more than there are ranges, each (but the last) the start of a record. Walks what nobody has.
    pub fn boundaries(&self, input: &Input, name: &str, dialect: &Dialect) -> Result<&[u64]> {
        let find = || {
            let cuts = self.cuts(input, name, dialect)?;
            let Some(quote) = dialect.quote.filter(|_| self.ranges() > 1) else { return Ok(cuts.to_vec()) };
            let mut bounds = Vec::with_capacity(cuts.len());
            let mut inside = false;
            for (range, &cut) in cuts[..self.ranges()].iter().enumerate() {
                let walk = self.walked(input, name, dialect, quote, range)?[usize::from(inside)];
                // Without a record's start in it, the range is empty and belongs to the one before.
                bounds.push(walk.first.map_or(u64::MAX, |first| cut + first as u64));
                inside = walk.inside;
            }
            bounds.push(input.len());
            for i in (0..self.ranges()).rev() {
                bounds[i] = bounds[i].min(bounds[i + 1]);
            }
            Ok(bounds)
        };
        self.bounds.get_or_init(find).as_deref().map_err(Clone::clone)
    }

    /// The same with threads of its own: for whoever is no worker.
    pub fn boundaries_at_once(&self, input: &Input, name: &str, dialect: &Dialect) -> Result<&[u64]> {
        if self.needs_walks(dialect) {
            let next = AtomicUsize::new(0);
            // An error is met again when the boundaries are composed.
            let work = || {
                let ranges = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
                let ranges = ranges.take_while(|&range| range < self.ranges());
                ranges.for_each(|range| drop(self.walk(input, name, dialect, range)));
            };
            let threads = std::thread::available_parallelism().map_or(1, usize::from).min(self.ranges());
            std::thread::scope(|scope| {
                (1..threads).for_each(|_| drop(scope.spawn(work)));
                work();
            });
        }
        self.boundaries(input, name, dialect)
    }
}

/// The offset past the first line end at or after `from` that an escape does not hide.
fn line_after(input: &Input, name: &str, dialect: &Dialect, from: u64) -> Result<u64> {
    // A line end right before `from` will do.
    let mut at = from - 1;
    while at < input.len() {
        let text = input.read(name, at, (at + STEP).min(input.len()))?;
        for p in memchr::memchr_iter(dialect.eol, &text) {
            let end = at + p as u64;
            if !dialect.text_format || !escaped(input, name, dialect.escape, end)? {
                return Ok(end + 1);
            }
        }
        at += text.len() as u64;
    }
    Ok(input.len())
}

/// Whether an odd number of escapes stands before `end`.
fn escaped(input: &Input, name: &str, escape: u8, end: u64) -> Result<bool> {
    let (mut at, mut count) = (end, 0);
    loop {
        let from = at.saturating_sub(64);
        let text = input.read(name, from, at)?;
        let run = text.iter().rev().take_while(|b| **b == escape).count();
        count += run;
        if run < text.len() || from == 0 {
            return Ok(count % 2 == 1);
        }
        at = from;
    }
}

/// What a walk over a range finds.
#[derive(Clone, Copy, Debug)]
struct Walk {
    /// Offset of the first record that begins in the range.
    first: Option<usize>,
    /// Whether the range ends inside of quotes.
    inside: bool,
}

/// Walks over a range that begins after a line end, inside of quotes or not.
fn walk(text: &[u8], dialect: &Dialect, quote: u8, mut inside: bool) -> Walk {
    let mut first = (!inside).then_some(0);
    let mut at = 0;
    loop {
        if inside {
            let Some(p) = memchr::memchr2(quote, dialect.escape, &text[at..]).map(|p| p + at) else {
                return Walk { first, inside };
            };
            let next = text.get(p + 1).copied();
            let escapes = text[p] == dialect.escape
                && (next == Some(quote) || (dialect.escape != quote && next == Some(dialect.escape)));
            at = p + 1 + usize::from(escapes);
            inside = escapes || text[p] != quote;
        } else {
            let found = match first {
                Some(_) => memchr::memchr(quote, &text[at..]),
                None => memchr::memchr2(quote, dialect.eol, &text[at..]),
            };
            let Some(p) = found.map(|p| p + at) else { return Walk { first, inside } };
            at = p + 1;
            if text[p] == quote {
                inside = p == 0 || text[p - 1] == dialect.delimiter || text[p - 1] == dialect.eol;
            } else if at < text.len() {
                first = Some(at);
            } else {
                // The record begins with the next range.
                return Walk { first: None, inside: false };
            }
        }
    }
}
