//! What has changed in a chunk's rows since they were appended: beside the body, which stays as it is.
//!
//! Rows are changed in windows of [`WINDOW`]. A window has its newest values (patches), which rows are dead, and *versions*:
//! what the rows of one statement were before it, as long as some view may need that. A reader copies what it asks for under
//! the window's latch and puts back what its view does not see; a scan asks each chunk once whether anything in it was
//! changed at all.
//!
//! Versions that lie between two moments that nobody sees are one, so that a long query costs a version a row, however often
//! the row changes meanwhile (Böttcher et al., *Scalable Garbage Collection for In-Memory MVCC Systems*, VLDB 2019, 4.2).

mod memory;
mod patch;
mod row;
mod version;
mod window;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use base::prefetch::prefetch;
use base::{Budget, Result};

use crate::bits::Bits;
use crate::body::Overlay;
use crate::clock::{Conflict, Stamp, View};
use crate::row_set::RowSet;
use crate::values::Values;
use crate::{CHUNK_ROWS, Schema, WINDOW};
use memory::Memory;
use patch::Patch;
use version::{Before, Version};
use window::Window;

/// Windows of a chunk.
const WINDOWS: usize = CHUNK_ROWS / WINDOW;
/// One of so many rows of a chunk has changed before it gets a new body.
const FOLDED_SHARE: usize = 20;
/// The last bit of attributes that have patches.
const LAST_PATCHED: usize = u64::BITS as usize - 1;
/// So many versions are worth a look at which of them are needed.
const MANY_VERSIONS: usize = 8;
/// Rows of a window that change before the sidecar is told.
const UNTOLD_ROWS: usize = 16;

/// See the module. What every change writes is its window's: who changes others does not wait for the same line of the cache.
#[derive(Debug)]
pub(crate) struct Sidecar {
    /// A bit for each window in which something was changed.
    touched: AtomicU64,
    /// A bit for each window in which a row was ever deleted.
    died: AtomicU64,
    windows: Box<[OnceLock<Box<Latched>>]>,
    memory: Memory,
    /// Rows that were changed or deleted since it was made, but for a few of each window: some perhaps more often than once.
    changed_rows: AtomicUsize,
    /// It is no more the chunk's: nothing in it changes any more.
    sealed: AtomicBool,
    /// Whether somebody will fold it.
    queued: AtomicBool,
}

/// How a change has ended.
pub(crate) enum Changing {
    Done,
    Refused(Conflict),
    Sealed,
}

/// A window behind its latch.
#[derive(Debug, Default)]
struct Latched {
    /// Whether versions of it are left to be collected.
    left: AtomicBool,
    window: RwLock<Window>,
}

/// New values of rows: by attribute where they lie, and at which place of all of these each of the rows has its value.
pub(crate) type NewValues<'a> = (&'a [(usize, Values<'a>)], &'a [u32]);

/// A change of rows of one window.
pub(crate) struct WindowChange<'a> {
    /// The rows, counted from the window's first.
    pub rows: Bits,
    /// The new values of attributes. None: the rows are deleted.
    pub values: Option<NewValues<'a>>,
    /// Of the relation.
    pub schema: &'a Schema,
}

/// A row of a window as a view sees it. Nobody changes the window as long as this lives.
pub(crate) struct SeenRow<'s> {
    window: RwLockReadGuard<'s, Window>,
    /// Counted from the window's first.
    row: usize,
    view: &'s View,
    /// Whether the view sees all that was changed in the window.
    is_newest: bool,
    /// A bit for each attribute of which there are patches; the last one for all that have none of their own.
    patched: u64,
}

impl SeenRow<'_> {
    /// Whether the value of an attribute may not be the body's.
    #[inline]
    pub(crate) fn may_differ(&self, attribute: usize) -> bool {
        self.patched >> attribute.min(LAST_PATCHED) & 1 != 0
    }

    /// Where the value of an attribute is, if it is not the body's.
    pub(crate) fn find(&self, attribute: usize) -> Option<(Values<'_>, usize)> {
        if !self.is_newest {
            let unseen = self.window.versions.iter().filter(|version| !version.is_seen(self.view));
            // The oldest of them has what the view sees.
            for before in unseen.filter_map(|version| version.before(attribute)) {
                if before.of_body.has(self.row) {
                    return None;
                }
                if let Some(found) = before.find(self.row) {
                    return Some(found);
                }
            }
        }
        self.window.patch(attribute)?.find(self.row)
    }
}

impl Sidecar {
    pub(crate) fn new(budget: &Budget) -> Result<Self> {
        Ok(Self {
            touched: AtomicU64::new(0),
            died: AtomicU64::new(0),
            windows: (0..WINDOWS).map(|_| OnceLock::new()).collect(),
            memory: Memory::new(budget)?,
            changed_rows: AtomicUsize::new(0),
            sealed: AtomicBool::new(false),
            queued: AtomicBool::new(false),
        })
    }

    /// Whether nothing is changed in any window.
    pub(crate) fn is_untouched(&self) -> bool {
        self.touched.load(Ordering::Acquire) == 0
    }

    /// Fetches the window that has the row, if something may be changed in it.
    pub(crate) fn fetch(&self, row: usize) {
        if let Some(latched) = self.windows[row / WINDOW].get() {
            prefetch(&raw const **latched);
        }
    }

    /// Whether something is changed in the window that has the row.
    pub(crate) fn is_touched(&self, row: usize) -> bool {
        self.touched.load(Ordering::Acquire) >> (row / WINDOW) & 1 != 0
    }

    fn window(&self, number: usize) -> Option<RwLockReadGuard<'_, Window>> {
        Some(self.windows[number].get()?.window.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A window, if a row of it was ever deleted: whoever sees one dead sees that.
    fn window_of_dead(&self, number: usize) -> Option<RwLockReadGuard<'_, Window>> {
        if self.died.load(Ordering::Acquire) >> number & 1 == 0 { None } else { self.window(number) }
    }

    fn latched(&self, number: usize) -> &Latched {
        self.windows[number].get_or_init(Box::default)
    }

    fn window_mut(&self, number: usize) -> RwLockWriteGuard<'_, Window> {
        self.latched(number).window.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows of a window that are alive for a view; none if all are.
    pub(crate) fn alive(&self, number: usize, view: &View) -> Option<Bits> {
        let window = self.window_of_dead(number)?;
        let mut dead = window.dead;
        if dead.is_empty() {
            return None;
        }
        window
            .versions
            .iter()
            .filter(|version| !version.is_seen(view))
            .for_each(|version| version.deleted.remove_from(&mut dead));
        (!dead.is_empty()).then(|| dead.complement())
    }

    /// Writes the values of `rows` of the chunk that differ from the body's for a view.
    pub(crate) fn overlay(&self, attribute: usize, rows: Range<usize>, view: &View, to: &mut Overlay<'_>) {
        let Some(window) = self.window(rows.start / WINDOW) else { return };
        let Some(patch) = window.patch(attribute) else { return };
        let first = rows.start % WINDOW;
        let range = first..first + rows.len();
        let unseen = window.versions.iter().filter(|version| !version.is_seen(view));
        let before = unseen.filter_map(|version| version.before(attribute));
        // What was the body's before it was something else is the body's for the view.
        let mut of_body = Bits::default();
        before.clone().for_each(|before| before.of_body.add_to(&mut of_body));
        patch.over(&range, &of_body, to);
        before.rev().for_each(|before| before.over(&range, &of_body, to));
    }

    /// Calls `with` with the newest value of a row, if it is not the body's; false if it is.
    pub(crate) fn with_newest(&self, attribute: usize, row: usize, with: impl FnOnce(Values<'_>, usize)) -> bool {
        let Some(window) = self.window(row / WINDOW).filter(|_| self.is_touched(row)) else { return false };
        let newest = window.patch(attribute).and_then(|patch| patch.find(row % WINDOW));
        newest.map(|(values, at)| with(values, at)).is_some()
    }

    /// A row as a view sees it; none if nothing in its window was changed.
    pub(crate) fn seen<'s>(&'s self, row: usize, view: &'s View) -> Option<SeenRow<'s>> {
        let window = self.window(row / WINDOW).filter(|_| self.is_touched(row))?;
        let is_newest = window.versions.iter().all(|version| version.is_seen(view));
        let patched = window.patches.iter().fold(0, |bits, patch| bits | 1 << patch.attribute.min(LAST_PATCHED));
        Some(SeenRow { window, row: row % WINDOW, view, is_newest, patched })
    }

    /// Whether a row is alive for a view.
    pub(crate) fn is_alive(&self, row: usize, view: &View) -> bool {
        let Some(window) = self.window_of_dead(row / WINDOW) else { return true };
        let row = row % WINDOW;
        let is_unseen = |version: &Version| version.deleted.has(row) && !version.is_seen(view);
        !window.dead.has(row) || window.versions.iter().any(is_unseen)
    }

    /// Whether values of an attribute in the window of a row are not the body's for some view.
    pub(crate) fn is_patched(&self, attribute: usize, row: usize) -> bool {
        self.is_touched(row) && self.window(row / WINDOW).is_some_and(|window| window.patch(attribute).is_some())
    }

    /// Whether values of an attribute anywhere in the chunk are not the body's for some view.
    pub(crate) fn is_patched_at_all(&self, attribute: usize) -> bool {
        (0..WINDOWS).any(|number| self.is_patched(attribute, number * WINDOW))
    }

    /// Changes rows of a window for a statement, unless another transaction has changed one of them since the moment of the
    /// view. Nothing is changed then.
    pub(crate) fn change(&self, number: usize, change: &WindowChange<'_>, view: &View) -> Result<Changing> {
        let (stamp, statement) = view.own().expect("only transactions change rows");
        let rows = RowSet::of(&change.rows);
        let mut window = match self.begin_change(number, &rows, view) {
            Ok(window) => window,
            Err(refused) => return Ok(refused),
        };
        window.share.charge(change.bytes(), &self.memory)?;
        let (mut before, mut after) = (0, 0);
        let mut version = Version::new(stamp.clone(), statement);
        match change.values {
            None => {
                note(&self.died, number);
                rows.add_to(&mut window.dead);
                version.deleted = rows;
            }
            Some((columns, places)) => {
                version.before.reserve_exact(columns.len());
                for (attribute, values) in columns {
                    before += window.patch(*attribute).map_or(0, Patch::bytes);
                    let patch = window.patch_mut(*attribute, change.schema.attributes()[*attribute].sql_type);
                    version.before.push(match (rows.single(), places) {
                        (Some(row), [place]) => {
                            let was = Before::of_row(patch, row);
                            patch.put(row, *values, *place as usize);
                            was
                        }
                        _ => {
                            let was = Before::of(patch, &change.rows);
                            patch.put_all(&change.rows, *values, places);
                            was
                        }
                    });
                    after += patch.bytes();
                }
            }
        }
        self.end_change(&mut window, version, view, (before, after));
        Ok(Changing::Done)
    }

    /// The window, for rows of it to be changed: the view sees them as they are.
    fn begin_change(
        &self,
        number: usize,
        rows: &RowSet,
        view: &View,
    ) -> Result<RwLockWriteGuard<'_, Window>, Changing> {
        let mut window = self.window_mut(number);
        window.check(rows, view).map_err(Changing::Refused)?;
        if self.sealed.load(Ordering::Relaxed) {
            return Err(Changing::Sealed);
        }
        window.changes += 1;
        window.untold += rows.count();
        if window.untold >= UNTOLD_ROWS {
            self.changed_rows.fetch_add(std::mem::take(&mut window.untold), Ordering::Relaxed);
        }
        // Whoever sees the bit waits for the latch.
        note(&self.touched, number);
        Ok(window)
    }

    /// Keeps what rows were that were changed in a window. Its patches have taken `before` bytes and take `after`.
    fn end_change(&self, window: &mut Window, version: Version, view: &View, (mut before, mut after): (usize, usize)) {
        after += version.bytes();
        window.versions.push(version);
        if window.versions.len() >= window.needed.max(MANY_VERSIONS) {
            before += window.version_bytes();
            window.prune(&view.clock().moments());
            window.needed = 2 * window.versions.len();
            after += window.version_bytes();
        }
        window.share.settle(before, after, &self.memory);
    }

    /// Takes back what a transaction has done in a window in statements from `first` on.
    /// Returns how many rows are alive again.
    pub(crate) fn undo(&self, number: usize, stamp: &Arc<Stamp>, first: u32) -> usize {
        let mut revived = 0;
        let mut window = self.window_mut(number);
        window.changes += 1;
        let bytes = window.bytes();
        let Window { dead, patches, versions, .. } = &mut *window;
        for version in versions.extract_if(.., |version| version.is_of(stamp, first)).collect::<Vec<_>>().iter().rev() {
            revived += version.deleted.count();
            version.deleted.remove_from(dead);
            for Before { attribute, of_body, rows, values } in &version.before {
                if let Some(patch) = patches.iter_mut().find(|patch| patch.attribute == *attribute) {
                    patch.forget(&of_body.bits());
                    if let Some(values) = values.values() {
                        let places: Vec<u32> = (0..values.rows() as u32).collect();
                        patch.put_all(&rows.bits(), values, &places);
                    }
                }
            }
        }
        patches.retain(|patch| !patch.rows().is_empty());
        let left = window.bytes();
        window.share.settle(bytes, left, &self.memory);
        revived
    }

    /// Forgets all that was changed in rows that nobody will ever see.
    pub(crate) fn forget(&self, rows: Range<usize>) {
        for number in rows.start / WINDOW..rows.end.div_ceil(WINDOW) {
            if self.windows[number].get().is_some() {
                let first = number * WINDOW;
                let inside = rows.start.max(first) - first..rows.end.min(first + WINDOW) - first;
                let gone = Bits::of_range(inside);
                let mut window = self.window_mut(number);
                window.dead.remove(&gone);
                window.patches.iter_mut().for_each(|patch| patch.forget(&gone));
            }
        }
    }

    /// Leaves versions of a window, which are committed, to be collected; false if somebody has done so already.
    pub(crate) fn leave(&self, number: usize) -> bool {
        !self.latched(number).left.swap(true, Ordering::SeqCst)
    }

    /// Forgets versions that every view sees, and returns the rows that are dead for all of them from now on; and if others
    /// are left that are committed, the newest timestamp of these.
    pub(crate) fn collect(&self, number: usize, oldest: u64) -> (Bits, Option<u64>) {
        // Before it is looked at them: who commits one from now on leaves it anew.
        self.latched(number).left.store(false, Ordering::SeqCst);
        let mut window = self.window_mut(number);
        let mut dead = Bits::default();
        let mut later = None;
        let mut gone = 0;
        window.versions.retain(|version| {
            let committed = version.stamp.committed();
            let goes = committed.is_some_and(|timestamp| timestamp <= oldest);
            if goes {
                gone += version.bytes();
                version.deleted.add_to(&mut dead);
            } else {
                later = later.max(committed);
            }
            !goes
        });
        window.share.settle(gone, 0, &self.memory);
        (dead, later)
    }

    /// Whether so much has changed of a chunk's rows that it is worth a new body, and nobody is at it.
    pub(crate) fn is_worth_folding(&self, rows: usize) -> bool {
        self.changed_rows.load(Ordering::Relaxed) * FOLDED_SHARE >= rows
            && !self.queued.load(Ordering::Relaxed)
            && !self.queued.swap(true, Ordering::Relaxed)
    }

    /// It may be folded another time: if it was `tried`, when as much has changed again; otherwise soon.
    pub(crate) fn may_be_folded_again(&self, tried: bool, rows: usize) {
        let soon = rows / FOLDED_SHARE / 4 * 3;
        self.changed_rows.store(if tried { 0 } else { soon }, Ordering::Relaxed);
        self.queued.store(false, Ordering::Relaxed);
    }

    /// Changes so far.
    pub(crate) fn changes(&self) -> u64 {
        (0..WINDOWS).filter_map(|number| self.window(number)).map(|window| window.changes).sum()
    }

    /// The attributes of which values have changed, how many rows are dead, and how many changes there were; none if some view
    /// does not see all of them.
    pub(crate) fn settled(&self) -> Option<(Vec<usize>, usize, u64)> {
        let (mut attributes, mut dead, mut changes) = (Vec::new(), 0, 0);
        for window in (0..WINDOWS).filter_map(|number| self.window(number)) {
            if !window.versions.is_empty() {
                return None;
            }
            attributes.extend(window.patches.iter().map(|patch| patch.attribute));
            dead += window.dead.count();
            changes += window.changes;
        }
        attributes.sort_unstable();
        attributes.dedup();
        Some((attributes, dead, changes))
    }

    /// Ends its life, if there were no more than so many changes and every view sees all of them: what is left of it beside a
    /// body that has the changed values. None: it goes on.
    pub(crate) fn seal(&self, changes: u64, budget: &Budget) -> Option<Option<Self>> {
        let latches: Vec<_> = (0..WINDOWS).map(|number| self.window_mut(number)).collect();
        let is_settled = latches.iter().all(|window| window.versions.is_empty());
        if !is_settled || latches.iter().map(|window| window.changes).sum::<u64>() != changes {
            return None;
        }
        let rest = match latches.iter().all(|window| window.dead.is_empty()) {
            true => None,
            false => {
                let rest = Self::new(budget).ok()?;
                for (number, window) in latches.iter().enumerate().filter(|(_, window)| !window.dead.is_empty()) {
                    rest.window_mut(number).dead = window.dead;
                    note(&rest.touched, number);
                    note(&rest.died, number);
                }
                Some(rest)
            }
        };
        self.sealed.store(true, Ordering::Relaxed);
        Some(rest)
    }

    /// Whether a row is as the view sees it, or there at least, if only its keys count.
    pub(crate) fn check_row(&self, row: usize, keys_only: bool, view: &View) -> Result<(), Conflict> {
        let window = self.window(row / WINDOW);
        window.map_or(Ok(()), |window| window.check_row(row % WINDOW, keys_only, view))
    }

    /// The transaction that has deleted a row, if it is dead for the newest of all views and some view may see it still.
    pub(crate) fn deleter(&self, row: usize) -> Death {
        match self.window_of_dead(row / WINDOW) {
            Some(window) if window.dead.has(row % WINDOW) => {
                let deleted = window.versions.iter().rev().find(|version| version.deleted.has(row % WINDOW));
                Death::Dead(deleted.map(|version| version.stamp.clone()))
            }
            _ => Death::Alive,
        }
    }
}

/// Whether a row is dead for the newest of all views.
pub(crate) enum Death {
    Alive,
    /// By this transaction, unless that was long ago.
    Dead(Option<Arc<Stamp>>),
}

/// Notes that it is so for a window: written only where it was not yet.
fn note(bits: &AtomicU64, number: usize) {
    if bits.load(Ordering::Relaxed) >> number & 1 == 0 {
        bits.fetch_or(1 << number, Ordering::AcqRel);
    }
}

impl WindowChange<'_> {
    /// About how many bytes its version and patches take.
    fn bytes(&self) -> usize {
        let columns = self.values.map_or(0, |(columns, places)| {
            let of_texts =
                |values: &Values<'_>| places.iter().map(|place| values.text_bytes(*place as usize)).sum::<usize>();
            columns
                .iter()
                .map(|(_, values)| 2 * (places.len() * (values.physical().size() + 1) + of_texts(values)))
                .sum()
        });
        size_of::<Version>() + columns
    }
}
