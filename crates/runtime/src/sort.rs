//! Sorting (thesis 4.5.6, but by dealing out instead of merging).
//!
//! 1. Each worker materialises rows. With a limit, it throws all but the best away whenever it has several times as many
//!    as asked for: O(1) a row amortised, and the memory stays bounded. What it knows then becomes the [`threshold`](crate::threshold) that
//!    lets scans leave rows out.
//! 2. Rows that came in their order, or its reverse, are left as they are ([`presorted`]). Of others a sample says how many of the order's fields tell rows apart ([`sample`]), and the bounds of these say how they are
//!    packed into words ([`coder`]).
//! 3. Rows are dealt out to ranges as (words, address), in pieces and in parallel ([`exchange`]); or as words alone, if
//!    these hold all of the row.
//! 4. Each range is sorted by its words ([`radix`]) and its addresses written to their place, or its rows, over those that
//!    came in. What lies before the offset or behind the limit is not sorted.
//! 5. Where limit and offset count anew for each value of the leading keys (`SortState::partition`), workers throw rows
//!    away by groups ([`best`]) as long as that makes them fewer. What is left is sorted, and then each stretch of the
//!    output drops, in parallel, the rows that lie before or behind the slice of their group.
//!
//! Every pass over rows is morsels; what is done between them depends on the number of pieces and on a sample of fixed
//! size. Few rows are sorted by one worker after the other. Whatever looks at rows goes on in steps, so that others get their
//! turn. Ties are decided by all else that the rows hold ([`order`]): the
//! result is the same with any number of workers.
//!
//! Complexity: O(n) a byte of the words that tell rows apart, O(n log n) where they do not; top-k O(n + k log k).

mod begins;
mod best;
mod bounds;
mod coder;
mod exchange;
mod few;
mod item;
mod measured;
mod merge;
mod numbers;
mod order;
mod output;
mod presorted;
mod radix;
mod sample;
mod separators;
mod slice;
mod tail;
#[cfg(test)]
mod tests;
mod ties;
mod top;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use base::memory::{Buffer, Reservation};
use base::{Budget, Result};
use pipeline::ir::{RowSet, SortState};
use scheduler::{Cutting, Offsets, Progress, TaskSet, Tasks};

use crate::rows::{Bound, RowLists, Segment};
use crate::source::{Address, RowSource};
use crate::state::{State, Workers};
use crate::threshold::Threshold;

pub(crate) use begins::Begins;
use best::Best;
use coder::Coder;
use exchange::{BATCH, Deal, PIECE};
use few::Few;
use item::Item;
use measured::{Measured, OfPiece};
pub use order::Order;
pub(crate) use output::Output;
use presorted::{Presorted, Stretches};
use sample::Sample;
use slice::Slices;
use top::Top;

const OPERATOR: &str = "sort";

/// What a piece of work is to whoever does it: nobody else waits.
fn lock<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Up to so many rows are sorted by one worker.
const FEW: usize = 16 << 10;

/// A sort state.
#[derive(Debug)]
pub(crate) struct Sort {
    rows: RowLists,
    /// What keeps them few, if only the first ones are asked for.
    top: Option<Arc<Top>>,
    measured: Option<Measured>,
    /// The morsels' rows, if all stay.
    stretches: Option<Stretches>,
    order: Arc<Order>,
    /// See [`SortState::partition`].
    partition: usize,
    offset: u64,
    limit: Option<u64>,
    /// Rows before the offset that do not come.
    passed_over: AtomicU64,
    budget: Budget,
    /// The numbers of leading keys for which it is asked where they change, and the answer.
    begins_of: Box<[usize]>,
    begins: OnceLock<Begins>,
    progress: Mutex<Finalised>,
}

#[derive(Debug, Default)]
enum Finalised {
    #[default]
    Filling,
    /// Morsels run that do this, and what comes after the last one.
    Running(&'static str, Then),
    Sorted(Sorted),
}

/// What a phase of the finalisation comes to.
enum Step {
    /// What is done by morsels, they, and what to do after the last one.
    Morsels(&'static str, Box<dyn TaskSet>, Then),
    Sorted(Sorted),
}

/// The rest of a finalisation. It is dropped, not called, when the query ends early.
struct Then(Box<Rest>);

type Rest = dyn FnOnce(&Finalisation<'_>) -> Result<Step> + Send;
/// The beginning of an exchange that keeps everything.
type Again = dyn FnOnce(&Finalisation<'_>) -> Arc<dyn Deal> + Send;

impl std::fmt::Debug for Then {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Then")
    }
}

/// The sorted rows.
#[derive(Debug)]
enum Sorted {
    All(Output),
    Slices(Arc<Slices>),
}

impl Sort {
    pub(crate) fn new(state: &SortState, budget: &Budget) -> Self {
        let order = Arc::new(Order::new(&state.keys, &state.layout));
        let SortState { partition, offset, limit, .. } = *state;
        let needed = limit.and_then(|l| usize::try_from(l.saturating_add(offset)).ok());
        let top = needed.filter(|_| partition == 0).map(|needed| Arc::new(Top::new(&order, needed)));
        let best = || Some(Arc::new(Best::new(&order, partition, needed?)) as Arc<dyn Bound>);
        let bound = top.clone().map(|top| top as Arc<dyn Bound>).or_else(best);
        // Rows that some are thrown away of have other bounds in the end.
        let stretches = bound.is_none().then(Stretches::default);
        let measured = (bound.is_none() && Measured::suits(&order)).then(Measured::default);
        let rows = RowLists::new(&state.layout, budget, OPERATOR, bound);
        Self {
            rows,
            top,
            measured,
            stretches,
            order,
            partition,
            offset,
            limit,
            passed_over: AtomicU64::new(0),
            budget: budget.clone(),
            begins_of: Box::default(),
            begins: OnceLock::new(),
            progress: Mutex::default(),
        }
    }

    /// A sort of all rows that also tells where so many leading keys change.
    pub(crate) fn with_begins(state: &SortState, keys: impl IntoIterator<Item = usize>, budget: &Budget) -> Self {
        Self { begins_of: keys.into_iter().collect(), ..Self::new(state, budget) }
    }

    /// All rows in their order and where keys change, once they are sorted.
    pub(crate) fn sorted(&self) -> Option<(Output, Begins)> {
        match &*self.progress() {
            Finalised::Sorted(Sorted::All(rows)) => Some((rows.clone(), self.begins.get()?.clone())),
            _ => None,
        }
    }

    /// The places of the rows that are wanted.
    fn wanted(&self) -> Range<usize> {
        if self.partition > 0 {
            return 0..usize::MAX;
        }
        let place = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let offset = self.offset - self.passed_over.load(Ordering::Relaxed);
        place(offset)..self.limit.map_or(usize::MAX, |limit| place(offset.saturating_add(limit)))
    }

    fn progress(&self) -> MutexGuard<'_, Finalised> {
        lock(&self.progress)
    }
}

impl State for Sort {
    fn local(&self, worker: usize) -> *mut u8 {
        self.rows.local(worker)
    }

    fn written(&self, worker: usize) -> u64 {
        self.rows.written(worker)
    }
    fn end_morsel(&self, worker: usize, _: Range<u64>, _: bool) -> Result<()> {
        self.rows.end_morsel(worker)?;
        if let Some(measured) = &self.measured {
            measured.look(worker, &self.rows, &self.order);
        }
        if let Some(stretches) = &self.stretches {
            stretches.note(worker, &self.rows);
        }
        Ok(())
    }

    fn pass_over(&self, rows: u64) -> bool {
        assert!(self.partition == 0 && rows <= self.offset, "only what comes before the offset may be missing");
        self.passed_over.store(rows, Ordering::Relaxed);
        true
    }

    fn threshold(&self) -> Option<&Threshold> {
        self.top.as_ref()?.threshold()
    }

    fn look(&self, worker: usize) -> Result<()> {
        self.rows.prune(worker)
    }

    fn finalize(self: Arc<Self>, _: &dyn Workers, _: usize, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
        let finalisation = Finalisation { sort: &self, cut };
        let mut progress = self.progress();
        let step = match std::mem::take(&mut *progress) {
            Finalised::Filling => finalisation.begin()?,
            Finalised::Running(_, Then(then)) => then(&finalisation)?,
            sorted @ Finalised::Sorted(..) => {
                *progress = sorted;
                return Ok(None);
            }
        };
        Ok(match step {
            Step::Morsels(name, tasks, then) => {
                *progress = Finalised::Running(name, then);
                Some(tasks)
            }
            Step::Sorted(sorted) => {
                *progress = Finalised::Sorted(sorted);
                None
            }
        })
    }

    fn phase(&self) -> &'static str {
        match &*self.progress() {
            Finalised::Running(name, _) => name,
            _ => "sort",
        }
    }

    /// The sorted rows, offset and limit applied.
    fn source(self: Arc<Self>, rows: RowSet) -> Option<RowSource> {
        let (segments, restoring) = match &*self.progress() {
            Finalised::Sorted(Sorted::All(output)) => {
                let Range { start, end } = self.wanted();
                let end = end.min(output.len());
                let start = start.min(end);
                (output.slice(start..end), output.restoring(start))
            }
            Finalised::Sorted(Sorted::Slices(slices)) => (slices.segments(), None),
            _ => (Vec::new(), None),
        };
        Some(match restoring {
            Some(restoring) => RowSource::completed(segments, self, restoring),
            None => RowSource::new(segments, rows, self),
        })
    }
}

/// The phases of a finalisation, in the order in which they follow one another.
struct Finalisation<'a> {
    sort: &'a Arc<Sort>,
    cut: &'a Cutting,
}

impl Finalisation<'_> {
    /// A phase of `count` pieces of work, which together have all rows. `run` goes on with one until it is done, which it
    /// tells, or steps are used up.
    fn phase(
        &self,
        name: &'static str,
        count: usize,
        run: impl Fn(&Sort, usize, &mut u64) -> bool + Send + Sync + 'static,
        then: impl FnOnce(&Finalisation<'_>) -> Result<Step> + Send + 'static,
    ) -> Step {
        let (sort, cut) = (self.sort.clone(), self.cut.clone());
        let rows: usize = sort.rows.segments().iter().map(Segment::rows).sum();
        let offsets = Offsets::new((0..count).map(|_| rows.div_ceil(count).max(1) as u64));
        let tasks = Tasks::boxed(self.cut.pieces(&offsets), move |_, morsel| {
            let slice = cut.begin();
            while !run(&sort, offsets.piece(morsel.begin), &mut cut.steps.clone()) {
                if slice.is_over() {
                    return Ok(Progress::Yielded(morsel));
                }
            }
            Ok(Progress::Done)
        });
        Step::Morsels(name, tasks, Then(Box::new(then)))
    }

    fn begin(&self) -> Result<Step> {
        let segments = self.sort.rows.segments();
        let rows: usize = segments.iter().map(Segment::rows).sum();
        if !self.sort.begins_of.is_empty() {
            let begins = Begins::new(&self.sort.begins_of, rows, &self.sort.budget)?;
            self.sort.begins.set(begins).expect("asked for once");
        }
        if rows <= FEW {
            return self.sort_few(segments, rows);
        }
        // SAFETY: rows of this state, whose strings live as long as the query.
        let presorted = self.sort.stretches.as_ref().and_then(|s| unsafe { s.in_order(&self.sort.order) });
        match presorted {
            Some(presorted) => Ok(self.look(presorted, segments, rows)),
            None => self.sample(segments, rows),
        }
    }

    /// Are the rows in order already?
    fn look(&self, presorted: Presorted, segments: Vec<Segment>, rows: usize) -> Step {
        let presorted = Arc::new(presorted);
        let of = presorted.clone();
        self.phase(
            "look",
            of.stretches().len(),
            // SAFETY: rows of this state, whose strings live as long as the query.
            move |sort, stretch, steps| unsafe { of.look(stretch, &sort.order, steps) },
            move |f| if presorted.holds() { f.keep(presorted, rows) } else { f.sample(segments, rows) },
        )
    }

    /// They are: they stay where they are, or at least only their addresses are written.
    fn keep(&self, presorted: Arc<Presorted>, rows: usize) -> Result<Step> {
        if !presorted.is_reversed() && self.sort.partition == 0 && self.sort.begins.get().is_none() {
            return Ok(self.sorted(Output::of_rows(presorted.stretches().to_vec())));
        }
        let charged = self.sort.budget.reserve(rows * size_of::<Address>(), OPERATOR)?;
        // SAFETY: any bits are an address, which nobody follows before it is written.
        let addresses = Arc::new(unsafe { Buffer::recycled(rows) });
        let into = addresses.clone();
        Ok(self.phase(
            "place",
            presorted.stretches().len(),
            move |_, stretch, _| {
                // SAFETY: each stretch is placed once, in room for all rows.
                unsafe { presorted.place(stretch, &into) };
                true
            },
            move |f| {
                let addresses = Arc::into_inner(addresses).expect("the phase is over");
                f.note(Output::of_addresses(addresses, charged))
            },
        ))
    }

    fn sample(&self, segments: Vec<Segment>, rows: usize) -> Result<Step> {
        // Items, of which pieces and ranges each make copies while they last.
        let charged = self.sort.budget.reserve(rows * size_of::<Item<1, Address>>(), OPERATOR)?;
        let pieces: Arc<[Segment]> = segments.into_iter().flat_map(|s| s.cut(PIECE)).collect();
        let sample = Arc::new(Mutex::new(None));
        let (of, into) = (pieces.clone(), sample.clone());
        Ok(self.phase(
            "sample",
            1,
            move |sort, _, steps| {
                // SAFETY: rows of this state, whose strings live as long as the query.
                unsafe { lock(&into).get_or_insert_with(|| Sample::take(&of)).sort(&sort.order, steps) }
            },
            move |f| f.measure(pieces, lock(&sample).take().expect("taken in this phase"), charged),
        ))
    }

    fn sort_few(&self, segments: Vec<Segment>, rows: usize) -> Result<Step> {
        let charged = self.sort.budget.reserve(rows * size_of::<Address>(), OPERATOR)?;
        let few = Arc::new(Mutex::new(None));
        let into = few.clone();
        let go_on = move |sort: &Sort, _, steps: &mut u64| {
            // SAFETY: rows of this state, whose strings live as long as the query.
            unsafe { lock(&into).get_or_insert_with(|| Few::new(&segments, &sort.order)).go_on(&sort.order, steps) }
        };
        Ok(self.phase("sort", 1, go_on, move |f| {
            let sorted = lock(&few).take().expect("sorted in this phase").sorted();
            f.note(Output::of_addresses(Buffer::from(&*sorted), charged))
        }))
    }

    /// Where keys change in rows that were not dealt out.
    fn note(&self, rows: Output) -> Result<Step> {
        if self.sort.begins.get().is_none() {
            return Ok(self.sorted(rows));
        }
        let noted: Box<[Mutex<usize>]> = (0..rows.len().div_ceil(PIECE)).map(|_| Mutex::default()).collect();
        let (of, pieces) = (rows.clone(), noted.len());
        let go_on = move |sort: &Sort, piece: usize, steps: &mut u64| {
            let (mut noted, rows, start) = (lock(&noted[piece]), of.addresses(), piece * PIECE);
            let all = PIECE.min(rows.len() - start);
            while *noted < all && *steps > 0 {
                let some = *noted..all.min(*noted + BATCH);
                *steps = steps.saturating_sub(some.len() as u64);
                *noted = some.end;
                let some = start + some.start..start + some.end;
                sort.begins.get().expect("asked before").note_rows(rows, some, &sort.order);
            }
            *noted == all
        };
        Ok(self.phase("sort", pieces, go_on, move |f| Ok(f.sorted(rows))))
    }

    /// The bounds of the fields that the sample asks for: all, if words may hold the rows.
    fn measure(&self, pieces: Arc<[Segment]>, sample: Sample, charged: Reservation) -> Result<Step> {
        let order = &self.sort.order;
        if let Some(measured) = &self.sort.measured {
            return self.deal(pieces, sample, Coder::new(&order.fields, &measured.bounds()), charged);
        }
        // SAFETY: rows of this state, whose strings live as long as the query.
        let fields = unsafe { if sample.is_reversible(order) { order.fields.len() } else { sample.fields(order) } };
        let bounds: Arc<[Mutex<OfPiece>]> = pieces.iter().map(|_| Mutex::default()).collect();
        let (of, into) = (pieces.clone(), bounds.clone());
        Ok(self.phase(
            "bounds",
            pieces.len(),
            move |sort, piece, steps| {
                // SAFETY: rows of this state, whose strings live as long as the query.
                unsafe { lock(&into[piece]).go_on(&sort.order.fields[..fields], &of[piece], steps) }
            },
            move |f| {
                let all = bounds.iter().fold(Vec::new(), |all, of| measured::join(all, lock(of).take()));
                f.deal(pieces, sample, Coder::new(&f.sort.order.fields, &all), charged)
            },
        ))
    }

    fn deal(&self, pieces: Arc<[Segment]>, sample: Sample, coder: Coder, mut charged: Reservation) -> Result<Step> {
        let order = &self.sort.order;
        // SAFETY: rows of this state, whose strings live as long as the query.
        let (words, separators) = unsafe { sample.words(&coder) };
        // One more word costs as much as an address. Slices are cut by comparing rows.
        let whole = coder.is_reversible(&order.fields) && coder.words() <= words + 1 && self.sort.partition == 0;
        let words = if whole { coder.words() } else { words };
        let rows: usize = pieces.iter().map(Segment::rows).sum();
        // Items, and what is left of them when they are sorted: the words or the address.
        charged.resize(rows * 8 * if whole { 2 * words } else { words + 2 })?;
        let begin = move |f: &Finalisation<'_>, wanted: &Range<usize>| {
            let keep = exchange::wanted_ranges(rows, wanted, separators.len());
            exchange::exchange((words, whole), pieces.clone(), &f.sort.order, coder.clone(), &separators, keep)
        };
        let exchange = begin(self, &self.sort.wanted());
        Ok(self.deal_out(exchange, charged, Some(Box::new(move |f| begin(f, &(0..rows))))))
    }

    /// Deals out, `again` if not all was kept that is wanted.
    fn deal_out(&self, exchange: Arc<dyn Deal>, charged: Reservation, again: Option<Box<Again>>) -> Step {
        let dealing = exchange.clone();
        self.phase(
            "deal out",
            exchange.pieces(),
            move |_, piece, steps| dealing.deal(piece, steps),
            move |f| match again {
                Some(again) if !exchange.has_kept(&f.sort.wanted()) => {
                    drop(exchange);
                    Ok(f.deal_out(again(f), charged, None))
                }
                _ => Ok(f.sort_ranges(exchange, charged)),
            },
        )
    }

    fn sort_ranges(&self, exchange: Arc<dyn Deal>, charged: Reservation) -> Step {
        let (wanted, sorting) = (self.sort.wanted(), exchange.clone());
        self.phase(
            "sort",
            exchange.ranges(),
            move |sort, range, steps| sorting.sort(range, &wanted, sort.begins.get().map(|b| (b, &*sort.order)), steps),
            move |f| {
                if let Some(begins) = f.sort.begins.get() {
                    exchange.begin_ranges(begins, &f.sort.order);
                }
                Ok(f.sorted(exchange.finish(f.sort.rows.segments(), charged)?))
            },
        )
    }

    /// All rows are sorted: that is all, unless groups have slices.
    fn sorted(&self, rows: Output) -> Step {
        if let Some(begins) = self.sort.begins.get() {
            begins.finish();
        }
        if self.sort.partition == 0 {
            return Step::Sorted(Sorted::All(rows));
        }
        let slices = Arc::new(Slices::new(rows, self.sort.offset, self.sort.limit));
        let cutting = slices.clone();
        self.phase(
            "cut groups",
            slices.stretches(),
            move |sort, stretch, steps| {
                // SAFETY: rows of this state, whose strings live as long as the query.
                cutting.cut(stretch, |a, b| unsafe { sort.order.agree(sort.partition, a, b) }, steps)
            },
            |_| Ok(Step::Sorted(Sorted::Slices(slices))),
        )
    }
}
