//! Timestamp ordering: transactions come in the order of their stamps, which they get when they begin, or end with error 40001 and begin
//! again with another one. What is read and changed has the greatest stamps of those who did so, in the granularities of locks; a
//! stamp that is smaller than those of all who are there tells nothing any more (the safe timestamp, thesis 2.5.3) and is forgotten.
//!
//! Nobody waits but for older ones that have changed what is wanted, so nobody waits for itself.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::{CancelToken, Error, Result, SqlState};

use super::locks::{Item, Mode};

/// How often somebody who waits looks whether that is wanted.
const LOOK: Duration = Duration::from_millis(10);
/// So many items are kept whatever their stamps are.
const KEPT: usize = 1 << 14;

/// A transaction's number, in the order in which they have to come.
type Stamp = u64;

/// See the module.
#[derive(Default)]
pub(super) struct Stamps {
    table: Mutex<Table>,
    ended: Condvar,
}

#[derive(Default)]
struct Table {
    last: Stamp,
    /// Those who are there, with what they have used.
    active: HashMap<Stamp, HashSet<(Item, Mode)>>,
    in_order: BTreeSet<Stamp>,
    entries: HashMap<Item, Entry>,
    /// When to look for what can be forgotten.
    forgets_at: usize,
}

/// The greatest stamps of those who have read and changed an item, and parts of it.
#[derive(Clone, Default)]
struct Entry {
    read: Stamp,
    changed: Stamp,
    part_read: Stamp,
    part_changed: Stamp,
    /// Those who have changed it, or parts of it, and have not ended.
    changing: Vec<Stamp>,
    changing_parts: Vec<Stamp>,
}

impl Entry {
    /// The greatest stamp of what must come before such a use.
    fn before(&self, mode: Mode) -> Stamp {
        match mode {
            Mode::IntentShare => self.changed,
            Mode::IntentExclusive => self.changed.max(self.read),
            Mode::Share => self.changed.max(self.part_changed),
            Mode::ShareIntentExclusive => self.changed.max(self.part_changed).max(self.read),
            Mode::Exclusive => self.changed.max(self.part_changed).max(self.read).max(self.part_read),
        }
    }

    /// Whether somebody else who has changed what such a use is about has not ended.
    fn is_open(&self, mode: Mode, own: Stamp) -> bool {
        let with_parts = !matches!(mode, Mode::IntentShare | Mode::IntentExclusive);
        let parts = self.changing_parts.iter().filter(|_| with_parts);
        self.changing.iter().chain(parts).any(|other| *other != own)
    }

    fn note(&mut self, mode: Mode, own: Stamp) {
        let (reads, reads_parts, changes, changes_parts) = match mode {
            Mode::IntentShare => (false, true, false, false),
            Mode::IntentExclusive => (false, false, false, true),
            Mode::Share => (true, false, false, false),
            Mode::ShareIntentExclusive => (true, false, false, true),
            Mode::Exclusive => (false, false, true, false),
        };
        let stamp = |is: bool, stamp: &mut Stamp| *stamp = if is { own.max(*stamp) } else { *stamp };
        stamp(reads, &mut self.read);
        stamp(reads_parts, &mut self.part_read);
        stamp(changes, &mut self.changed);
        stamp(changes_parts, &mut self.part_changed);
        let lists = [(changes, &mut self.changing), (changes_parts, &mut self.changing_parts)];
        for (_, list) in lists.into_iter().filter(|(is, list)| *is && !list.contains(&own)) {
            list.push(own);
        }
    }

    fn latest(&self) -> Stamp {
        self.read.max(self.changed).max(self.part_read).max(self.part_changed)
    }
}

impl Stamps {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A transaction begins.
    pub fn begin(&self) -> Stamp {
        let mut table = self.lock();
        table.last += 1;
        let stamp = table.last;
        table.active.insert(stamp, HashSet::new());
        table.in_order.insert(stamp);
        stamp
    }

    /// Notes that items are used, if that is in order; whether some of it is new. Error 40001 if somebody who comes later was there before.
    pub fn note(&self, own: Stamp, needs: &[(Item, Mode)], token: &CancelToken) -> Result<bool> {
        let mut table = self.lock();
        loop {
            let known = |item: &Item| table.entries.get(item);
            if needs.iter().any(|(item, mode)| known(item).is_some_and(|entry| entry.before(*mode) > own)) {
                let message = "could not serialize access: a transaction that comes later was there before";
                return Err(Error::new(SqlState::SERIALIZATION_FAILURE, message)
                    .hint("the transaction might succeed if it is tried again"));
            }
            if !needs.iter().any(|(item, mode)| known(item).is_some_and(|entry| entry.is_open(*mode, own))) {
                break;
            }
            token.check()?;
            table = self.ended.wait_timeout(table, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        let Table { active, entries, .. } = &mut *table;
        let mut is_new = false;
        for (item, mode) in needs {
            entries.entry(*item).or_default().note(*mode, own);
            is_new |= active.get_mut(&own).is_some_and(|used| used.insert((*item, *mode)));
        }
        Ok(is_new)
    }

    /// A transaction has ended.
    pub fn end(&self, own: Stamp) {
        let mut table = self.lock();
        let Table { active, in_order, entries, forgets_at, .. } = &mut *table;
        in_order.remove(&own);
        for (item, mode) in active.remove(&own).unwrap_or_default() {
            if !matches!(mode, Mode::IntentShare | Mode::Share)
                && let Some(entry) = entries.get_mut(&item)
            {
                entry.changing.retain(|other| *other != own);
                entry.changing_parts.retain(|other| *other != own);
            }
        }
        if entries.len() > (*forgets_at).max(KEPT) {
            let safe = in_order.first().copied().unwrap_or(Stamp::MAX);
            entries.retain(|_, entry| entry.latest() >= safe);
            *forgets_at = 2 * entries.len();
        }
        drop(table);
        self.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Item = Item::Table(1);

    fn row(key: u64, mode: Mode) -> Vec<(Item, Mode)> {
        let intent = if mode == Mode::Share { Mode::IntentShare } else { Mode::IntentExclusive };
        vec![(TABLE, intent), (Item::Row(1, key), mode)]
    }

    fn state(result: Result<bool>) -> Option<SqlState> {
        result.err().map(|error| error.state())
    }

    #[test]
    fn who_comes_later_must_not_have_been_there_before() {
        let stamps = Stamps::default();
        let stopped = CancelToken::new();
        stopped.cancel();
        let note = |own, needs: &[(Item, Mode)]| stamps.note(own, needs, &stopped);
        let (first, second) = (stamps.begin(), stamps.begin());
        assert!(note(second, &row(1, Mode::Share)).unwrap() && !note(second, &row(1, Mode::Share)).unwrap());
        assert_eq!(state(note(first, &row(1, Mode::Exclusive))), Some(SqlState::SERIALIZATION_FAILURE));
        // Other rows, and reading, are in order.
        assert!(note(first, &row(2, Mode::Exclusive)).unwrap() && note(first, &row(1, Mode::Share)).unwrap());
        // An older one that has not ended is waited for, also by who wants the table.
        assert_eq!(state(note(second, &row(2, Mode::Share))), Some(SqlState::QUERY_CANCELED));
        assert_eq!(state(note(second, &[(TABLE, Mode::Share)])), Some(SqlState::QUERY_CANCELED));
        stamps.end(first);
        assert!(note(second, &[(TABLE, Mode::Share)]).unwrap());
        // A phantom.
        let third = stamps.begin();
        assert!(note(third, &row(3, Mode::Exclusive)).is_ok());
        assert_eq!(state(note(second, &[(TABLE, Mode::Share)])), Some(SqlState::SERIALIZATION_FAILURE));
        stamps.end(second);
        stamps.end(third);
    }

    #[test]
    fn what_tells_nothing_any_more_is_forgotten() {
        let stamps = Stamps::default();
        let token = CancelToken::new();
        let old = stamps.begin();
        for key in 0..2 * KEPT as u64 {
            let own = stamps.begin();
            stamps.note(own, &row(key, Mode::Exclusive), &token).unwrap();
            stamps.end(own);
        }
        // Somebody is there for whom all of it matters.
        assert!(stamps.lock().entries.len() > 2 * KEPT);
        assert_eq!(state(stamps.note(old, &row(5, Mode::Share), &token)), Some(SqlState::SERIALIZATION_FAILURE));
        stamps.end(old);
        for key in 0..4 * KEPT as u64 {
            let own = stamps.begin();
            stamps.note(own, &row(key, Mode::Share), &token).unwrap();
            stamps.end(own);
        }
        assert!(stamps.lock().entries.len() <= 2 * KEPT && stamps.lock().active.is_empty());
    }
}
