//! Rows that came in their order, or in its reverse: those of each morsel in order, and no two morsels side by side. A
//! table that grows with the time is read so, by as many workers as there are, and need not be sorted by it. Rows in any
//! other order are told by a few comparisons.

use std::cmp::Ordering;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use base::memory::Buffer;
use pipeline::ir::Ty;

use super::lock;
use super::order::{Field, Order};
use crate::rows::{Mark, PerWorker, RowLists, Segment};
use crate::source::Address;

/// So many stretches are put in order by one worker while all wait.
const MOST_STRETCHES: usize = 1 << 13;
/// Rows that are looked at in one go, and those of a step: they lie one after the other.
const BATCH: usize = 64;
const ROWS_A_STEP: u64 = 4;

/// The rows of each morsel, as workers note them.
#[derive(Debug, Default)]
pub(super) struct Stretches(PerWorker<Noted>);

#[derive(Debug, Default)]
struct Noted {
    rows: Mark,
    stretches: Vec<Segment>,
}

impl Stretches {
    /// Notes the rows that are new. Called by the worker itself at the end of a morsel.
    pub(super) fn note(&self, worker: usize, rows: &RowLists) {
        // SAFETY: the worker's own.
        let noted = unsafe { &mut *self.0.get_or(worker, Noted::default) };
        if noted.stretches.len() <= MOST_STRETCHES {
            let (segments, end) = rows.since(worker, noted.rows);
            noted.stretches.extend(segments.into_iter().filter(|segment| segment.rows() > 0));
            noted.rows = end;
        }
    }

    /// The stretches one behind the other, if none reaches into another. Called when no worker notes any more.
    ///
    /// # Safety
    /// They must be rows of the order's layout, with all strings alive.
    pub(super) unsafe fn in_order(&self, order: &Order) -> Option<Presorted> {
        // SAFETY: nobody writes any more.
        let mut all: Vec<Segment> =
            unsafe { self.0.iter() }.flat_map(|noted| noted.stretches.iter().copied()).collect();
        if all.len() > MOST_STRETCHES {
            return None;
        }
        // SAFETY: as the caller promises; none is empty.
        let compare =
            |(a, at): (&Segment, usize), (b, bt): (&Segment, usize)| unsafe { order.compare(a.row(at), b.row(bt)) };
        let last = |segment: &Segment| segment.rows() - 1;
        let long = all.iter().find(|segment| segment.rows() > 1)?;
        let reversed = compare((long, 0), (long, last(long))).is_gt();
        let wrong = if reversed { Ordering::Less } else { Ordering::Greater };
        all.sort_by(|a, b| if reversed { compare((b, 0), (a, 0)) } else { compare((a, 0), (b, 0)) });
        let apart = all.windows(2).all(|pair| compare((&pair[0], last(&pair[0])), (&pair[1], 0)) != wrong);
        apart.then(|| Presorted::new(all, reversed))
    }
}

/// Rows that seem to be sorted: only the insides of the stretches are unknown.
#[derive(Debug)]
pub(super) struct Presorted {
    /// In the order in which they came, which is the sort's, or its reverse.
    stretches: Box<[Segment]>,
    /// The rows before each.
    starts: Box<[usize]>,
    rows: usize,
    reversed: bool,
    /// How many rows of each were looked at.
    looked_at: Box<[Mutex<usize>]>,
    disproved: AtomicBool,
}

impl Presorted {
    fn new(stretches: Vec<Segment>, reversed: bool) -> Self {
        let mut rows = 0;
        let start = |segment: &Segment| {
            rows += segment.rows();
            rows - segment.rows()
        };
        let starts = stretches.iter().map(start).collect();
        let looked_at = stretches.iter().map(|_| Mutex::new(1)).collect();
        Self { stretches: stretches.into(), starts, rows, reversed, looked_at, disproved: AtomicBool::new(false) }
    }

    pub(super) fn stretches(&self) -> &[Segment] {
        &self.stretches
    }
    pub(super) fn is_reversed(&self) -> bool {
        self.reversed
    }

    /// Goes on looking whether a stretch is in order, until that is known, which is told, or steps are used up.
    ///
    /// # Safety
    /// They must be rows of the order's layout, with all strings alive.
    pub(super) unsafe fn look(&self, stretch: usize, order: &Order, steps: &mut u64) -> bool {
        let (segment, mut looked_at) = (&self.stretches[stretch], lock(&self.looked_at[stretch]));
        let wrong = if self.reversed { Ordering::Less } else { Ordering::Greater };
        while *looked_at < segment.rows() && !self.disproved.load(Relaxed) {
            if *steps == 0 {
                return false;
            }
            let end = segment.rows().min(*looked_at + BATCH);
            let batch = segment.slice(*looked_at - 1..end);
            *steps = steps.saturating_sub(batch.rows() as u64 / ROWS_A_STEP);
            // SAFETY: as the caller promises.
            let pair = |at: usize| unsafe { order.compare(batch.row(at - 1), batch.row(at)) };
            // SAFETY: likewise.
            let told = order.fields.first().is_some_and(|key| unsafe { is_told_by_key(key, &batch, self.reversed) });
            if !told && (1..batch.rows()).any(|at| pair(at) == wrong) {
                self.disproved.store(true, Relaxed);
            }
            *looked_at = end;
        }
        true
    }

    /// Whether all are in order, once all were looked at.
    pub(super) fn holds(&self) -> bool {
        !self.disproved.load(Relaxed)
    }

    /// Writes the addresses of a stretch's rows to their places among those of all.
    ///
    /// # Safety
    /// Once for each stretch, into room for all rows.
    pub(super) unsafe fn place(&self, stretch: usize, into: &Buffer<Address>) {
        let (segment, start) = (&self.stretches[stretch], self.starts[stretch]);
        let end = start + segment.rows();
        let range = if self.reversed { self.rows - end..self.rows - start } else { start..end };
        // SAFETY: stretches do not overlap, and the caller writes each once.
        let places = unsafe { into.places(range) };
        // SAFETY: rows of the segment.
        let rows = (0..segment.rows()).map(|at| Address(unsafe { segment.row(at) }));
        if self.reversed {
            places.iter_mut().rev().zip(rows).for_each(|(place, row)| *place = row);
        } else {
            places.iter_mut().zip(rows).for_each(|(place, row)| *place = row);
        }
    }
}

/// Whether the first key alone says that each row comes behind the one before, quickly: it is an integer, and no two rows
/// share one.
///
/// # Safety
/// As [`Presorted::look`].
unsafe fn is_told_by_key(key: &Field, rows: &Segment, reversed: bool) -> bool {
    let falls = key.descending != reversed;
    // SAFETY: as the caller promises.
    unsafe {
        match key.ty {
            _ if key.null.is_some() => false,
            Ty::I16 => rises(|at| key.read::<i16>(rows.row(at)), rows.rows(), falls),
            Ty::I32 => rises(|at| key.read::<i32>(rows.row(at)), rows.rows(), falls),
            Ty::I64 => rises(|at| key.read::<i64>(rows.row(at)), rows.rows(), falls),
            _ => false,
        }
    }
}

/// Whether each value is above the one before, or if it `falls`, below.
fn rises<T: Ord + Copy>(value: impl Fn(usize) -> T, rows: usize, falls: bool) -> bool {
    let all = |in_order: fn(&T, &T) -> bool| {
        let step = |(ordered, before): (bool, T), at: usize| {
            let next = value(at);
            (ordered & in_order(&before, &next), next)
        };
        (1..rows).fold((true, value(0)), step).0
    };
    if falls { all(T::gt) } else { all(T::lt) }
}
