//! What one worker has of one query, and what all workers share.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use base::ids::Id;
use base::memory::{Mark, Pages};
use base::{Area, Budget, Error, IdMap, Result};
use pipeline::ir::{Site, SiteId, StateId};
use scheduler::EachWorker;
use types::Str;

use crate::again::Again;
use crate::lists::Lists;
use crate::params::Params;
use crate::remembered::Memory;
use crate::selection::Selection;
use crate::slot::Slot;

/// What one worker has of one query. Generated code reads the fields up to `resume`.
#[repr(C)]
pub struct Worker {
    /// Values of the query's parameters, by `ParamId`.
    pub params: *const Slot,
    /// This worker's part of each state, by `StateId`, as the state's operator lays it out.
    pub locals: *const *mut u8,
    /// The shared part of each finished state, by `StateId`: a join's table, the only row of a group state without keys
    /// (`Operation::OnlyRow`).
    pub shared: *const *const u8,
    /// Batch buffers of the running pipeline, as many bytes as its code asks for, aligned to 64.
    pub scratch: *mut u8,
    /// Counters of EXPLAIN ANALYZE.
    pub counters: *mut u64,
    /// The operator that this worker works for, for EXPLAIN ANALYZE: its counter plus one, 0 for none. Others read it.
    pub operator: *const AtomicU32,
    /// Written by generated code when a call or check fails: the number of the position in
    /// [`Program::positions`](pipeline::ir::Program::positions) plus one, 0 for none.
    pub error_position: u64,
    /// Candidates and deliveries that generators may still look at before the batch pauses.
    pub steps: u64,
    /// The stage that a paused batch goes on at, plus one; 0 if there is none. Generated code's own.
    pub resume: u64,
    /// Rust's own part.
    pub inner: Box<WorkerState>,
}

/// Bytes that a worker keeps for the texts that functions make.
const MADE: usize = 64 << 10;

/// The part of a [`Worker`] that generated code does not see.
#[derive(Debug)]
pub struct WorkerState {
    /// The first error of the worker that was not yet taken.
    pub error: Option<Error>,
    /// Number of the worker.
    pub index: usize,
    /// What all workers share.
    pub shared: Arc<Shared>,
    /// Counters of EXPLAIN ANALYZE.
    pub(crate) counters: Box<[u64]>,
    /// The running morsel: rows of the source.
    pub(crate) morsel: Range<u64>,
    locals: Box<[*mut u8]>,
    /// What the interpreter knows of a paused batch.
    pub interpreted: Option<Box<dyn Any + Send>>,
    scratch: Option<Pages>,
    /// Where functions make texts, one after the other.
    pub(crate) made: String,
    /// Lists that lambdas make.
    pub(crate) lists: Lists,
    /// What is remembered of each site.
    sites: Vec<Memory>,
    /// What functions have made of texts.
    pub(crate) again: Again,
    /// Text of the running morsel.
    passing: Option<Area>,
    /// By stage of a batch that may pause: where the text begins that was made since its generator did; none: all of it.
    marks: Vec<Option<Mark>>,
    /// What lives as long as the query, as the worker does.
    keep: Area,
    /// The values of the group whose percentile is looked for.
    pub(crate) selection: Selection,
}

impl WorkerState {
    /// Takes what is remembered of a site.
    pub(crate) fn memory_of(&mut self, site: SiteId) -> Memory {
        if self.sites.len() <= site.index() {
            self.sites.resize_with(self.shared.sites.len(), Memory::default);
        }
        self.sites.get_mut(site.index()).map(std::mem::take).unwrap_or_default()
    }

    /// Puts it back.
    pub(crate) fn put_memory(&mut self, site: SiteId, memory: Memory) {
        if let Some(place) = self.sites.get_mut(site.index()) {
            *place = memory;
        }
    }

    /// Where text lives until the morsel ends.
    fn passing(&mut self) -> &mut Area {
        let budget = &self.shared.budget;
        self.passing.get_or_insert_with(|| Area::new(budget.clone(), "string functions"))
    }
}

/// What all workers of a query share but for its states.
#[derive(Debug)]
pub struct Shared {
    /// What generated code sees of finished states, by `StateId`.
    pub(crate) finished: Box<[AtomicPtr<u8>]>,
    /// The query's constants.
    pub params: Params,
    /// Byte offsets in the SQL text, by the numbers that code has for them.
    pub(crate) positions: Box<[u32]>,
    /// Calls through boxed values.
    pub sites: IdMap<SiteId, Site>,
    pub(crate) budget: Budget,
    /// Number of the counters of EXPLAIN ANALYZE.
    pub(crate) counters: usize,
    /// What each worker does, see [`Worker::operator`].
    pub(crate) working_for: EachWorker<WorkingFor>,
}

/// The operator that a worker works for, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct WorkingFor(pub(crate) AtomicU32);

/// How [`Worker::operator`] holds an operator.
pub fn operator_mark(operator: Option<u32>) -> u32 {
    operator.map_or(0, |o| o + 1)
}

/// What a worker knows of a paused batch. Any worker of the query may go on with it.
#[derive(Debug)]
pub struct Suspended {
    scratch: Option<Pages>,
    passing: Option<Area>,
    marks: Vec<Option<Mark>>,
    resume: u64,
    interpreted: Option<Box<dyn Any + Send>>,
}

impl Suspended {
    /// Gives back the text that the batch does not need to go on: what later stages than the one that it has paused at have made
    /// of what was delivered to them.
    ///
    /// # Safety
    /// The states must own what they keep: the morsel has ended at the batch.
    unsafe fn forget_delivered(&mut self) {
        let Some(stage) = usize::try_from(self.resume).ok().and_then(|resume| resume.checked_sub(1)) else { return };
        match (self.marks.get(stage), &mut self.passing) {
            // SAFETY: what the batch knows lies in the buffers of the stages up to this one, which were filled before its
            // generator began.
            (Some(Some(mark)), Some(passing)) => unsafe { passing.truncate(*mark) },
            (Some(None), passing) => *passing = None,
            _ => {}
        }
    }
}

// SAFETY: the pointers of a worker lead to its own parts of the states, which no other thread touches while this worker
// is in use, and to constants; whoever has the worker keeps both alive.
unsafe impl Send for Worker {}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("index", &self.inner.index).field("error", &self.inner.error).finish()
    }
}

impl Worker {
    /// Worker number `index`, with its parts of the states, which must live as long.
    pub(crate) fn new(shared: &Arc<Shared>, index: usize, locals: Box<[*mut u8]>) -> Self {
        let mut inner = Box::new(WorkerState {
            error: None,
            index,
            shared: shared.clone(),
            counters: vec![0; shared.counters].into_boxed_slice(),
            morsel: 0..0,
            locals,
            interpreted: None,
            scratch: None,
            made: String::new(),
            lists: Lists::default(),
            sites: Vec::new(),
            again: Again::default(),
            passing: None,
            marks: Vec::new(),
            keep: Area::new(shared.budget.clone(), "aggregation"),
            selection: Selection::default(),
        });
        Self {
            params: shared.params.slots().as_ptr(),
            locals: inner.locals.as_ptr(),
            // An `AtomicPtr` lies in memory as a pointer. Generated code reads only states that were published before
            // its pipeline started, which the scheduler orders.
            shared: shared.finished.as_ptr().cast(),
            scratch: std::ptr::null_mut(),
            counters: inner.counters.as_mut_ptr(),
            operator: &raw const shared.working_for.get_or(index, WorkingFor::default).0,
            error_position: 0,
            steps: u64::MAX,
            resume: 0,
            inner,
        }
    }

    /// Its part of a state is another one from here on, which must live as long.
    pub(crate) fn renew(&mut self, state: StateId, local: *mut u8) {
        self.inner.locals[state.index()] = local;
        self.locals = self.inner.locals.as_ptr();
    }

    /// Makes [`scratch`](Self::scratch) at least `bytes` large, aligned to 64. Cheap if it is: call it before every morsel.
    pub fn reserve_scratch(&mut self, bytes: usize) {
        if bytes > self.inner.scratch.as_ref().map_or(0, Pages::len) {
            let pages = Pages::zeroed(bytes.next_power_of_two());
            self.scratch = pages.as_ptr();
            self.inner.scratch = Some(pages);
        }
    }

    /// Takes away what the worker knows of the batch that has paused: its scratch memory, and the text that was made for it. The
    /// morsel must end here before anybody goes on.
    pub fn suspend(&mut self) -> Suspended {
        self.scratch = std::ptr::null_mut();
        Suspended {
            scratch: self.inner.scratch.take(),
            passing: self.inner.passing.take(),
            marks: std::mem::take(&mut self.inner.marks),
            resume: std::mem::take(&mut self.resume),
            interpreted: self.inner.interpreted.take(),
        }
    }

    /// Gives it back, to this worker or another one of the query, once the morsel has ended where the batch has paused: the next
    /// call of the pipeline's code goes on.
    pub fn go_on(&mut self, mut suspended: Suspended) {
        // SAFETY: who suspends a batch ends its morsel before it is gone on with.
        unsafe { suspended.forget_delivered() };
        let Suspended { scratch, passing, marks, resume, interpreted } = suspended;
        self.scratch = scratch.as_ref().map_or(std::ptr::null_mut(), Pages::as_ptr);
        (self.inner.scratch, self.inner.passing, self.inner.marks) = (scratch, passing, marks);
        (self.resume, self.inner.interpreted) = (resume, interpreted);
    }

    /// Starts a morsel: rows `rows` of the source. Results that must come in order come in the order of these.
    pub fn begin_morsel(&mut self, rows: Range<u64>) {
        self.inner.morsel = rows;
    }

    /// The generator of a stage begins: should the batch pause at it, text that is made from here on is of no use by then.
    pub(crate) fn mark_text(&mut self, stage: usize) {
        let mark = self.inner.passing.as_ref().map(Area::mark);
        self.inner.marks.resize(stage, None);
        self.inner.marks.push(mark);
    }

    /// Forgets the text that was made for the morsel. States that keep rows own their text by now.
    pub(crate) fn forget_text(&mut self) {
        self.inner.passing = None;
    }

    /// A header of `text`, whose payload is copied where it lives until the morsel ends.
    #[inline]
    pub fn text(&mut self, text: &str) -> Result<Str> {
        if text.len() <= Str::INLINE {
            return Ok(Str::new(text.as_bytes()));
        }
        crate::rows::copy_text(self.inner.passing(), text.as_bytes())
    }

    /// The text that is written to the string, which is empty; none if that returns false.
    #[inline(always)]
    pub(crate) fn make(&mut self, make: impl FnOnce(&mut String) -> Result<bool>) -> Result<Option<Str>> {
        let mut made = std::mem::take(&mut self.inner.made);
        made.clear();
        let text = if make(&mut made)? { Some(self.text(&made)?) } else { None };
        self.keep_made(made);
        Ok(text)
    }

    /// Keeps the memory for the next text; what one long text took is not kept.
    #[inline(always)]
    pub(crate) fn keep_made(&mut self, made: String) {
        if made.capacity() <= MADE {
            self.inner.made = made;
        }
    }

    /// As [`text`](Self::text), of `length` bytes of texts one after another.
    #[inline]
    pub(crate) fn joined<'t>(&mut self, length: usize, texts: impl Iterator<Item = &'t str>) -> Result<Str> {
        self.written(length, |to| {
            let mut at = 0;
            for text in texts {
                to[at..at + text.len()].copy_from_slice(text.as_bytes());
                at += text.len();
            }
            debug_assert_eq!(at, length);
            Ok(())
        })
    }

    /// As [`text`](Self::text), of `length` bytes that are written, which must be a text.
    #[inline]
    pub(crate) fn written(&mut self, length: usize, write: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<Str> {
        let mut inline = [0; Str::INLINE];
        let to = match inline.get_mut(..length) {
            Some(to) => to,
            // SAFETY: memory just taken, which outlives the header that is made of it; all of it is written first.
            None => unsafe {
                let start = self.inner.passing().allocate_any(length)?;
                std::slice::from_raw_parts_mut(start.as_ptr(), length)
            },
        };
        write(to)?;
        Ok(Str::new(to))
    }

    /// A text whose payload is copied where it lives as long as the query.
    pub(crate) fn keep_text(&mut self, text: Str) -> Result<Str> {
        if text.is_inline() {
            return Ok(text);
        }
        // SAFETY: the payload of a text of a tuple is alive.
        crate::rows::copy_text(&mut self.inner.keep, unsafe { text.bytes() })
    }

    /// Zeroed memory that lives as long as the query, aligned to 16.
    pub(crate) fn keep_zeroed(&mut self, bytes: usize) -> Result<*mut u8> {
        self.inner.keep.allocate(bytes).map(|start| start.as_ptr())
    }

    /// Memory that lives as long as the query, aligned to 16, for who writes before reading.
    pub(crate) fn keep_any(&mut self, bytes: usize) -> Result<*mut u8> {
        self.inner.keep.allocate_any(bytes.next_multiple_of(16)).map(|start| start.as_ptr())
    }

    /// Tells whoever watches (EXPLAIN ANALYZE) the operator that this worker works for.
    pub fn now_working_for(&self, operator: Option<u32>) {
        // SAFETY: it lies in the part that all workers share, which this worker keeps alive.
        unsafe { &*self.operator }.store(operator_mark(operator), Ordering::Relaxed);
    }

    /// Stores an error and returns the code of failure.
    #[cold]
    pub fn fail(&mut self, error: Error) -> u32 {
        self.inner.error.get_or_insert(error);
        1
    }

    /// The error that a call or generated code left, with its position.
    #[cold]
    pub fn take_error(&mut self) -> Error {
        let number = std::mem::take(&mut self.error_position).checked_sub(1).and_then(|p| usize::try_from(p).ok());
        let position = number.and_then(|number| self.inner.shared.positions.get(number).copied());
        let error = self.inner.error.take();
        error.unwrap_or_else(|| Error::internal("generated code failed without an error")).at(position)
    }
}

/// What generated code calls must not unwind into it, which would end the process: a panic becomes an error.
pub(crate) fn guarded<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    let panicked = |panic| Err(Error::internal(base::panics::message(panic)));
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(panicked)
}
