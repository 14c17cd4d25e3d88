//! A file in blocks: those that are there, and those on their way.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use base::memory::Reservation;
use base::{Budget, CancelToken, Error, Result};
use bytes::Bytes;
use ureq::http::StatusCode;

use crate::answer::{BLOCK, Version, broken, content_range, read_blocks, read_whole};
use crate::client::{Failure, Request, changed};
use crate::place::Place;
use crate::{Access, LOOK, OPERATOR};

/// How long a morsel may take.
const LITTLE: Duration = Duration::from_millis(1);
/// Most blocks that one request asks for.
pub(crate) const RUN: usize = 16;

/// A file elsewhere, read by position. Clones are the same file.
#[derive(Clone)]
pub struct RemoteFile(Arc<Shared>);

impl std::fmt::Debug for RemoteFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteFile").field("name", &self.0.name).field("len", &self.0.len).finish_non_exhaustive()
    }
}

struct Shared {
    access: Access,
    place: Place,
    name: String,
    len: u64,
    version: Version,
    budget: Option<Budget>,
    blocks: Mutex<Blocks>,
    arrived: Condvar,
}

#[derive(Default)]
struct Blocks {
    known: BTreeMap<u64, Block>,
    /// Counts uses.
    tick: u64,
}

struct Block {
    /// Who wants it.
    pins: u32,
    used: u64,
    content: Content,
    charged: Option<Reservation>,
}

enum Content {
    /// On its way, with those who are to hear of it.
    Coming(Vec<Arc<Waiting>>),
    Here(Bytes),
    Failed(Error),
}

/// Somebody who waits for blocks.
#[derive(Default)]
struct Waiting {
    /// How many of them are on their way.
    missing: AtomicUsize,
    then: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Waiting {
    /// One block less is missing: what is to be called if it was the last.
    fn hears(&self) -> Option<Box<dyn FnOnce() + Send>> {
        if self.missing.fetch_sub(1, Ordering::AcqRel) > 1 {
            return None;
        }
        self.then.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl RemoteFile {
    /// What opens a file.
    pub(crate) fn opening(
        access: &Access,
        path: &str,
        budget: Option<&Budget>,
        cancel: &CancelToken,
    ) -> Result<impl FnOnce() -> Result<Self> + Send + 'static> {
        let place = Place::of(path, &access.s3)?;
        let (access, name, budget, cancelled) = (access.clone(), path.to_owned(), budget.cloned(), cancel.clone());
        Ok(move || {
            let wanted = || !cancelled.is_cancelled();
            access.client.persist(access.retries, &wanted, || first(&access, &place, &name, budget.as_ref(), &wanted))
        })
    }

    /// Bytes in all.
    pub fn len(&self) -> u64 {
        self.0.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Has these bytes fetched, and keeps them until this is dropped; `kept`: and as long as there is memory for them.
    pub fn want(&self, ranges: impl IntoIterator<Item = Range<u64>>, kept: bool) -> Result<Wanted> {
        let of = |range: Range<u64>| range.start / BLOCK..range.end.min(self.0.len).div_ceil(BLOCK);
        let mut numbers: Vec<u64> = ranges.into_iter().filter(|range| !range.is_empty()).flat_map(of).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let waiting = Arc::new(Waiting::default());
        let mut blocks = self.0.lock();
        // What has failed for others is tried again.
        let is_missing = |blocks: &Blocks, number: &u64| match blocks.known.get(number) {
            None => true,
            Some(block) => block.pins == 0 && matches!(block.content, Content::Failed(_)),
        };
        let missing: Vec<u64> = numbers.iter().copied().filter(|number| is_missing(&blocks, number)).collect();
        // What nobody wanted any more is wanted again before it is there.
        let is_given_up = |block: &Block| block.charged.is_none() && matches!(block.content, Content::Coming(_));
        let again: Vec<u64> =
            numbers.iter().copied().filter(|number| blocks.known.get(number).is_some_and(is_given_up)).collect();
        for number in again {
            let charged = self.0.charge(&mut blocks, number, &numbers)?;
            if let Some(block) = blocks.known.get_mut(&number) {
                block.charged = charged;
            }
        }
        let mut charges = Vec::with_capacity(missing.len());
        for &number in &missing {
            charges.push(self.0.charge(&mut blocks, number, &numbers)?);
        }
        for (&number, charged) in missing.iter().zip(charges) {
            let content = Content::Coming(Vec::new());
            blocks.known.insert(number, Block { pins: 0, used: 0, content, charged });
        }
        let mut coming = 0;
        for number in &numbers {
            let Some(block) = blocks.known.get_mut(number) else { continue };
            block.pins += 1;
            if let Content::Coming(waits) = &mut block.content {
                waits.push(waiting.clone());
                coming += 1;
            }
        }
        waiting.missing.store(coming, Ordering::Release);
        drop(blocks);
        for run in missing.chunk_by(|a, b| a + 1 == *b).flat_map(|run| run.chunks(RUN)) {
            let (file, run) = (Arc::downgrade(&self.0), run[0]..run[run.len() - 1] + 1);
            self.0.access.client.threads.run(move || fetch(&file, run));
        }
        Ok(Wanted { file: self.clone(), numbers, waiting, kept })
    }

    /// Reads bytes, and waits for those that are not there.
    pub fn read_into(&self, start: u64, room: &mut [u8], cancel: &CancelToken) -> Result<()> {
        let end = start + room.len() as u64;
        assert!(end <= self.0.len, "bytes beyond the end");
        if !self.0.copy(start, room) {
            let wanted = self.want(std::iter::once(start..end), true)?;
            wanted.wait(cancel)?;
            if !self.0.copy(start, room) {
                return Err(Error::internal("blocks that were waited for are not there"));
            }
        }
        Ok(())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bytes_of(&self, number: u64) -> usize {
        BLOCK.min(self.len - number * BLOCK) as usize
    }

    /// Charges a block, in the place of others that nobody wants if there is no room for all. Those of `numbers` stay.
    fn charge(&self, blocks: &mut Blocks, number: u64, numbers: &[u64]) -> Result<Option<Reservation>> {
        let Some(budget) = &self.budget else { return Ok(None) };
        loop {
            match budget.reserve(self.bytes_of(number), OPERATOR) {
                Ok(charged) => return Ok(Some(charged)),
                Err(error) => {
                    let is_free = |(known, block): &(&u64, &Block)| {
                        block.pins == 0
                            && !matches!(block.content, Content::Coming(_))
                            && numbers.binary_search(known).is_err()
                    };
                    let oldest = blocks.known.iter().filter(is_free).min_by_key(|(_, block)| block.used);
                    let Some(oldest) = oldest.map(|(known, _)| *known) else { return Err(error) };
                    blocks.known.remove(&oldest);
                }
            }
        }
    }

    /// Copies bytes if all of them are there.
    fn copy(&self, start: u64, room: &mut [u8]) -> bool {
        let end = start + room.len() as u64;
        let mut parts: Vec<(u64, Bytes)> = Vec::new();
        {
            let mut blocks = self.lock();
            blocks.tick += 1;
            let tick = blocks.tick;
            for number in start / BLOCK..end.div_ceil(BLOCK) {
                let Some(block) = blocks.known.get_mut(&number) else { return false };
                let Content::Here(bytes) = &block.content else { return false };
                block.used = tick;
                parts.push((number * BLOCK, bytes.clone()));
            }
        }
        for (begin, bytes) in parts {
            let from = start.max(begin);
            let to = end.min(begin + bytes.len() as u64);
            if from < to {
                room[(from - start) as usize..(to - start) as usize]
                    .copy_from_slice(&bytes[(from - begin) as usize..(to - begin) as usize]);
            }
        }
        true
    }

    /// Whether somebody waits for one of these blocks.
    fn is_wanted(&self, run: Range<u64>) -> bool {
        self.lock().known.range(run).any(|(_, block)| block.pins > 0)
    }

    /// What has become of a block.
    fn tell(&self, number: u64, content: Content) {
        let mut blocks = self.lock();
        let Some(block) = blocks.known.get_mut(&number) else { return };
        let before = std::mem::replace(&mut block.content, content);
        if block.pins == 0 {
            blocks.known.remove(&number);
        }
        let calls: Vec<_> = match before {
            Content::Coming(waits) => waits.iter().filter_map(|waiting| waiting.hears()).collect(),
            _ => Vec::new(),
        };
        drop(blocks);
        self.arrived.notify_all();
        calls.into_iter().for_each(|call| call());
    }

    /// Forgets a run that is on its way, if nobody wants any of it.
    fn give_up(&self, run: Range<u64>) -> bool {
        let mut blocks = self.lock();
        if blocks.known.range(run.clone()).any(|(_, block)| block.pins > 0) {
            return false;
        }
        blocks.known.retain(|number, block| !run.contains(number) || !matches!(block.content, Content::Coming(_)));
        true
    }

    /// What has become of those of a run that are still on their way: nothing.
    fn fail(&self, run: Range<u64>, error: &Error) {
        let is_coming = |block: &Block| matches!(block.content, Content::Coming(_));
        let left: Vec<u64> = {
            let blocks = self.lock();
            blocks.known.range(run).filter(|(_, block)| is_coming(block)).map(|(number, _)| *number).collect()
        };
        left.into_iter().for_each(|number| self.tell(number, Content::Failed(error.clone())));
    }
}

/// Fetches a run of blocks.
fn fetch(file: &Weak<Shared>, run: Range<u64>) {
    let Some(shared) = file.upgrade() else { return };
    /// Nobody waits for ever, whatever happens here.
    struct Untold(Arc<Shared>, Range<u64>);
    impl Drop for Untold {
        fn drop(&mut self) {
            // Otherwise all has been told, and others may have asked for blocks anew.
            if std::thread::panicking() {
                self.0.fail(self.1.clone(), &Error::internal("a request that was given up"));
            }
        }
    }
    let _untold = Untold(shared.clone(), run.clone());
    let client = shared.access.client.clone();
    let is_unwanted = Cell::new(false);
    let is_wanted = || {
        let wanted = Arc::strong_count(&shared) > 2 && shared.is_wanted(run.clone());
        is_unwanted.set(!wanted);
        wanted
    };
    let mut at = run.start;
    loop {
        let fetched = match is_wanted() {
            true => {
                client.persist(shared.access.retries, &is_wanted, || fetch_once(&shared, &mut at, run.end, &is_wanted))
            }
            false => Err(base::cancel::canceled()),
        };
        let Err(error) = fetched else { return };
        if !is_unwanted.get() {
            return shared.fail(at..run.end, &error);
        }
        if Arc::strong_count(&shared) <= 2 || shared.give_up(at..run.end) {
            return;
        }
        // Somebody wants it again.
    }
}

/// Fetches the blocks from `at` to `end` by one request; those that have come are not asked for again.
fn fetch_once(shared: &Shared, at: &mut u64, end: u64, is_wanted: &dyn Fn() -> bool) -> Result<(), Failure> {
    let range = *at * BLOCK..(end * BLOCK).min(shared.len);
    let (place, name, timeout) = (&shared.place, &*shared.name, shared.access.timeout);
    let request = Request { place, name, range: Some(range.clone()), tag: shared.version.tag.as_deref(), timeout };
    let answer = shared.access.client.ask(&request)?;
    let there = content_range(answer.headers());
    let is_part = answer.status() == StatusCode::PARTIAL_CONTENT;
    if there != Some((range, shared.len)) || !is_part || shared.version.differs(&Version::of(answer.headers())) {
        return Err(Failure::Final(changed(name)));
    }
    read_blocks(answer, name, *at..end, &|number| shared.bytes_of(number), is_wanted, &mut |number, bytes| {
        shared.tell(number, Content::Here(bytes));
        *at = number + 1;
        Ok(())
    })
}

/// The first request for a file.
fn first(
    access: &Access,
    place: &Place,
    name: &str,
    budget: Option<&Budget>,
    is_wanted: &dyn Fn() -> bool,
) -> Result<RemoteFile, Failure> {
    let request = Request { place, name, range: Some(0..BLOCK), tag: None, timeout: access.timeout };
    let answer = access.client.ask(&request)?;
    let version = Version::of(answer.headers());
    let mut known = BTreeMap::new();
    // What comes whole stays: it cannot be had in part.
    let pins = u32::from(answer.status() == StatusCode::OK);
    let mut take = |number: u64, bytes: Bytes| {
        let charged = budget.map(|budget| budget.reserve(bytes.len(), OPERATOR)).transpose();
        let charged = charged.map_err(Failure::Final)?;
        known.insert(number, Block { pins, used: 0, content: Content::Here(bytes), charged });
        Ok(())
    };
    let len = match answer.status() {
        StatusCode::PARTIAL_CONTENT => {
            let Some((range, len)) = content_range(answer.headers()).filter(|(range, _)| range.start == 0) else {
                return Err(broken(name, &"the server does not tell how long it is"));
            };
            if range.end != BLOCK.min(len) {
                return Err(broken(name, &"the server sends other bytes than were asked for"));
            }
            read_blocks(answer, name, 0..1, &|_| range.end as usize, is_wanted, &mut take)?;
            len
        }
        StatusCode::OK => read_whole(answer, name, is_wanted, &mut take)?,
        // Of a file without bytes, there is no first one.
        _ => 0,
    };
    let blocks = Mutex::new(Blocks { known, tick: 0 });
    let (access, place, name, budget) = (access.clone(), place.clone(), name.to_owned(), budget.cloned());
    Ok(RemoteFile(Arc::new(Shared { access, place, name, len, version, budget, blocks, arrived: Condvar::new() })))
}

/// Bytes on their way, or there: they stay until this is dropped.
pub struct Wanted {
    file: RemoteFile,
    numbers: Vec<u64>,
    waiting: Arc<Waiting>,
    kept: bool,
}

impl std::fmt::Debug for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wanted").field("blocks", &self.numbers.len()).finish_non_exhaustive()
    }
}

impl Wanted {
    /// Whether all of them are there; the error of those that could not be fetched.
    pub fn is_ready(&self) -> Result<bool> {
        if self.waiting.missing.load(Ordering::Acquire) > 0 {
            return Ok(false);
        }
        self.check(&self.file.0.lock())?;
        Ok(true)
    }

    fn check(&self, blocks: &Blocks) -> Result<()> {
        let failed = |number: &u64| match &blocks.known.get(number)?.content {
            Content::Failed(error) => Some(error.clone()),
            _ => None,
        };
        self.numbers.iter().find_map(failed).map_or(Ok(()), Err)
    }

    /// Calls this once all of them are there or cannot be had: now, if they are. The last that is given is called.
    pub fn then(&self, call: impl FnOnce() + Send + 'static) {
        let mut then = self.waiting.then.lock().unwrap_or_else(PoisonError::into_inner);
        *then = Some(Box::new(call));
        if self.waiting.missing.load(Ordering::Acquire) == 0 {
            let call = then.take();
            drop(then);
            call.into_iter().for_each(|call| call());
        }
    }

    /// Waits for them, no longer than a morsel may take: whether they are there.
    pub fn wait_a_little(&self) -> Result<bool> {
        let blocks = self.file.0.lock();
        if self.waiting.missing.load(Ordering::Acquire) > 0 {
            drop(self.file.0.arrived.wait_timeout(blocks, LITTLE).unwrap_or_else(PoisonError::into_inner));
            return self.is_ready();
        }
        self.check(&blocks)?;
        Ok(true)
    }

    /// Waits for them.
    pub fn wait(&self, cancel: &CancelToken) -> Result<()> {
        let shared = &self.file.0;
        let mut blocks = shared.lock();
        while self.waiting.missing.load(Ordering::Acquire) > 0 {
            cancel.check()?;
            blocks = shared.arrived.wait_timeout(blocks, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        self.check(&blocks)
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        let mut blocks = self.file.0.lock();
        for number in &self.numbers {
            let Some(block) = blocks.known.get_mut(number) else { continue };
            block.pins -= 1;
            let goes = match block.content {
                // Whoever fetches it sees that nobody wants it. Its memory is not taken yet.
                Content::Coming(_) => {
                    if block.pins == 0 {
                        block.charged = None;
                    }
                    false
                }
                Content::Here(_) => !self.kept,
                Content::Failed(_) => true,
            };
            if block.pins == 0 && goes {
                blocks.known.remove(number);
            }
        }
    }
}
