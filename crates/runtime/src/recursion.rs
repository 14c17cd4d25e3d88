//! Rows that are added in rounds: WITH RECURSIVE (decision 41).
//!
//! Workers add rows to areas of their own. Between two rounds, when no pipeline of the recursion runs, what was added since the
//! last time becomes the round that pipelines read. Rows that nobody reads later go with their round.
//!
//! Where rows are distinct (UNION), all rounds share a hash set of addresses: 256 tables by the first bits of the hash, each
//! behind a lock that is held for one look-up. A row is looked for when it is complete, and taken back from its area if there is
//! one like it, so that duplicates never need memory. Whoever finds a row in the set may compare with it at once: a row that is
//! added owns its strings.
//!
//! Rows of integers whose bounds are known are told apart by bits instead ([`domain`]).
//!
//! Complexity: O(1) a row. Invariants: a table is at most half full; a row that was read by a round is never written again.

mod domain;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::memory::Reservation;
use base::{Area, Budget, Result};
use pipeline::ir::{OUTSIDE, RecursionState, RowLayout, RowSet, Ty};

use self::domain::Domain;
use crate::pairs::PairFns;
use crate::rows::{Mark, PerWorker, RowsLocal, Segment, StringFields, area_segments};
use crate::source::RowSource;
use crate::state::State;
use crate::worker::Worker;

const OPERATOR: &str = "recursion";
/// Tables of the set: the first bits of a hash choose one.
const TABLES: usize = 256;
/// Slots of a table that has just come to be.
const FIRST_SLOTS: usize = 64;
/// Bits of an address; those above say in which round a row was added.
const ADDRESS_BITS: u32 = 48;

/// A recursion's rows.
#[derive(Debug)]
pub(crate) struct Recursion {
    locals: PerWorker<RecursionLocal>,
    layout: RowLayout,
    budget: Budget,
    seen: Option<Arc<Seen>>,
    kept: bool,
    round: Mutex<Round>,
    rounds: AtomicU64,
}

/// One worker's part: generated code allocates rows as it does for any state with rows.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct RecursionLocal {
    rows: RowsLocal,
    seen: Option<Arc<Seen>>,
    /// The rows up to here belong to rounds that have begun.
    read: Mark,
}

/// What pipelines read in the present round.
#[derive(Debug, Default)]
struct Round {
    segments: Vec<Segment>,
    /// The rows and their strings, if they go with the round.
    _areas: Vec<(Area, Area)>,
}

/// The distinct rows of all rounds.
#[derive(Debug)]
struct Seen {
    tables: Box<[Table]>,
    /// Of those that have a bit: they are in no table.
    domain: Option<Domain>,
    pairs: PairFns,
    strings: StringFields,
    budget: Budget,
    /// Number of the round that adds rows.
    round: AtomicU64,
}

/// On a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Table(Mutex<Slots>);

/// Open addressing.
#[derive(Debug, Default)]
struct Slots {
    slots: Vec<Slot>,
    used: usize,
    memory: Option<Reservation>,
}

/// A row's hash and address, which has the last bits of its round's number above it; 0: none.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    hash: u64,
    row: u64,
}

impl Slot {
    fn new(hash: u64, row: *mut u8, round: u64) -> Self {
        Self { hash, row: row as u64 | round << ADDRESS_BITS }
    }
    fn row(self) -> *mut u8 {
        (self.row & ((1 << ADDRESS_BITS) - 1)) as *mut u8
    }
    /// Whether it was added in that round, and nobody has read it.
    fn is_of(self, round: u64) -> bool {
        self.row >> ADDRESS_BITS == round & ((1 << (u64::BITS - ADDRESS_BITS)) - 1)
    }
}

impl Slots {
    /// Room for one more.
    fn reserve(&mut self, budget: &Budget) -> Result<()> {
        if 2 * (self.used + 1) <= self.slots.len() {
            return Ok(());
        }
        let more = (2 * self.slots.len()).max(FIRST_SLOTS);
        let memory = budget.reserve(more * size_of::<Slot>(), OPERATOR)?;
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); more]);
        for slot in old.into_iter().filter(|slot| slot.row != 0) {
            let mut at = self.first(slot.hash);
            while self.slots[at].row != 0 {
                at = self.next(at);
            }
            self.slots[at] = slot;
        }
        self.memory = Some(memory);
        Ok(())
    }

    fn first(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }
    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }
}

impl Seen {
    fn table(&self, hash: u64) -> MutexGuard<'_, Slots> {
        let table = &self.tables[(hash >> (u64::BITS - TABLES.ilog2())) as usize];
        table.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the row, unless there is one like it, which then is the one of both that is shown.
    ///
    /// # Safety
    /// It must be a complete row of the state, the caller's own, and its strings alive.
    unsafe fn add(&self, worker: &mut Worker, rows: &mut RowsLocal, row: *mut u8) -> Result<bool> {
        // SAFETY: rows begin with their hash.
        let hash = unsafe { row.cast::<u64>().read() };
        let round = self.round.load(Ordering::Relaxed);
        let mut table = self.table(hash);
        table.reserve(&self.budget)?;
        let mut at = table.first(hash);
        while table.slots[at].row != 0 {
            let slot = table.slots[at];
            // SAFETY: both are rows of the state, and while the lock is held nobody writes one that was added.
            if slot.hash == hash && unsafe { self.equal(worker, slot.row(), row)? } {
                if slot.is_of(round) {
                    // SAFETY: as above; nobody reads a row before its round has begun.
                    unsafe { self.pairs.combine.call(worker, slot.row(), row)? };
                }
                return Ok(false);
            }
            at = table.next(at);
        }
        // SAFETY: the caller's own row.
        unsafe { rows.own_strings_of(row, &self.strings)? };
        table.slots[at] = Slot::new(hash, row, round);
        table.used += 1;
        Ok(true)
    }

    /// Whether rows with equal hashes are equal.
    ///
    /// # Safety
    /// Both must be rows of the state that nobody writes.
    unsafe fn equal(&self, worker: &mut Worker, a: *mut u8, b: *mut u8) -> Result<bool> {
        match &self.pairs.equal {
            // SAFETY: as the caller promises.
            Some(equal) => unsafe { equal.call(worker, a, b) },
            None => Ok(true),
        }
    }
}

impl RecursionLocal {
    /// Adds the worker's last row, or takes it back.
    ///
    /// # Safety
    /// As [`Seen::add`]; it must be the row that was allocated last.
    pub(crate) unsafe fn add(&mut self, worker: &mut Worker, row: *mut u8) -> Result<bool> {
        let Some(seen) = &self.seen else { return Ok(true) };
        // SAFETY: as the caller promises.
        let added = unsafe { seen.add(worker, &mut self.rows, row)? };
        if !added {
            // SAFETY: the last row, which is nowhere else.
            unsafe { self.rows.take_back() };
        }
        Ok(added)
    }

    /// What was added since the last time; its memory too, if it goes with the round.
    fn take(&mut self, keeps: bool) -> (Vec<Segment>, Option<(Area, Area)>) {
        if keeps {
            let (segments, end) = self.rows.since(self.read);
            self.read = end;
            return (segments, None);
        }
        let (rows, text) = self.rows.take();
        (area_segments(&rows, self.rows.stride).collect(), Some((rows, text)))
    }
}

/// Whether a recursion's row of these integers is seen for the first time; then it is noted.
///
/// # Safety
/// `local` must be the worker's part of a recursion whose rows are distinct.
pub(crate) unsafe extern "C" fn first_seen(local: *const RecursionLocal, one: i64, other: i64) -> u64 {
    // SAFETY: as the caller promises; whoever looks shares it.
    let seen = unsafe { (*local).seen.as_ref() };
    seen.and_then(|seen| seen.domain.as_ref()).map_or(OUTSIDE, |domain| domain.first([one, other]))
}

impl Recursion {
    /// `pairs`: of a state whose rows are distinct.
    pub(crate) fn new(state: &RecursionState, budget: &Budget, pairs: Option<PairFns>) -> Self {
        let mut unkept = state.layout.clone();
        unkept.fields.iter_mut().for_each(|field| field.kept &= field.ty != Ty::Str);
        let seen = pairs.filter(|_| state.distinct.is_some()).map(|pairs| {
            let tables = (0..TABLES).map(|_| Table::default()).collect();
            let strings = StringFields::of(&unkept);
            let (domain, budget) = (Domain::new(&state.domains, budget, OPERATOR), budget.clone());
            Arc::new(Seen { tables, domain, pairs, strings, budget, round: AtomicU64::new(0) })
        });
        let (locals, round, rounds) = (PerWorker::default(), Mutex::default(), AtomicU64::new(0));
        let (layout, budget, kept) = (state.layout.clone(), budget.clone(), state.kept);
        Self { locals, layout, budget, seen, kept, round, rounds }
    }

    /// Begins a round with the rows that were added since the last one began, and says how many these are.
    ///
    /// # Safety
    /// No pipeline that fills or reads the state may run.
    pub(crate) unsafe fn begin_round(&self) -> u64 {
        let mut next = Round::default();
        // What the set refers to stays, too.
        let keeps = self.kept || self.seen.is_some();
        // SAFETY: as the caller promises, nobody else touches the items.
        for local in unsafe { self.locals.iter_mut() } {
            let (segments, areas) = local.take(keeps);
            next.segments.extend(segments.into_iter().filter(|segment| segment.rows() > 0));
            next._areas.extend(areas);
        }
        let rows = next.segments.iter().map(|segment| segment.rows() as u64).sum();
        *self.lock() = next;
        self.seen.iter().for_each(|seen| _ = seen.round.fetch_add(1, Ordering::Relaxed));
        self.rounds.fetch_add(u64::from(rows > 0), Ordering::Relaxed);
        rows
    }

    /// How many rounds have begun.
    pub(crate) fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Round> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State for Recursion {
    fn local(&self, worker: usize) -> *mut u8 {
        let make = || {
            let rows = RowsLocal::new(&self.layout, &self.budget, OPERATOR, None);
            RecursionLocal { rows, seen: self.seen.clone(), read: Mark::default() }
        };
        self.locals.get_or(worker, make).cast()
    }

    fn end_morsel(&self, worker: usize, _: Range<u64>, _: bool) -> Result<()> {
        // SAFETY: called by the worker itself.
        unsafe { (*self.locals.get(worker)).rows.own_strings() }
    }

    fn written(&self, worker: usize) -> u64 {
        // SAFETY: called by the worker itself.
        unsafe { (*self.locals.get(worker)).rows.written() }
    }

    fn source(self: Arc<Self>, rows: RowSet) -> Option<RowSource> {
        let segments = match rows {
            RowSet::Round => self.lock().segments.clone(),
            // SAFETY: asked for when there are no more rounds.
            _ => unsafe { self.locals.iter() }.flat_map(|local| local.rows.segments()).collect(),
        };
        Some(RowSource::new(segments, RowSet::All, self))
    }
}
