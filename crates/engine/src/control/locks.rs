//! Locks of tables and rows in several granularities, after Gray, Lorie, Putzolu and Traiger, *Granularity of Locks and Degrees of
//! Consistency in a Shared Data Base* (1976): whoever locks a row has said so of its table. They are held until a transaction ends.
//!
//! A row is known by its primary key, whether there is one or not: so nobody inserts what somebody has looked for. Whoever reads in
//! another way locks the table. Requests are granted in their order; one that would wait for itself is error 40P01.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::{CancelToken, Error, Result, SqlState};

/// How often somebody who waits looks whether that is wanted.
const LOOK: Duration = Duration::from_millis(10);

/// What is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Item {
    /// All of the database.
    Database,
    /// A table, by its relation's number.
    Table(u64),
    /// The row of a table whose primary key has this hash.
    Row(u64, u64),
    /// The part of the database whose value has this hash.
    Part(u64),
}

/// How.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Mode {
    /// Parts of it are read.
    IntentShare,
    /// Parts of it are changed.
    IntentExclusive,
    /// It is read.
    Share,
    /// It is read, and parts of it are changed.
    ShareIntentExclusive,
    /// It is changed.
    Exclusive,
}

use Mode::{Exclusive, IntentExclusive, IntentShare, Share, ShareIntentExclusive};

impl Mode {
    fn allows(self, other: Self) -> bool {
        match self {
            IntentShare => other != Exclusive,
            IntentExclusive => matches!(other, IntentShare | IntentExclusive),
            Share => matches!(other, IntentShare | Share),
            ShareIntentExclusive => other == IntentShare,
            Exclusive => false,
        }
    }

    /// What has the rights of both.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (IntentExclusive, Share) | (Share, IntentExclusive) => ShareIntentExclusive,
            _ => self.max(other),
        }
    }
}

/// A transaction's number.
type Owner = u64;

/// See the module.
#[derive(Default)]
pub(super) struct Locks {
    table: Mutex<Table>,
    freed: Condvar,
}

#[derive(Default)]
struct Table {
    entries: HashMap<Item, Entry>,
    /// What each has.
    held: HashMap<Owner, Vec<Item>>,
    /// What each waits for.
    wanted: HashMap<Owner, Item>,
}

#[derive(Default)]
struct Entry {
    holders: Vec<(Owner, Mode)>,
    /// Those who wait, in their order.
    queue: VecDeque<(Owner, Mode)>,
}

impl Entry {
    fn mode_of(&self, owner: Owner) -> Option<Mode> {
        self.holders.iter().find(|(holder, _)| *holder == owner).map(|(_, mode)| *mode)
    }

    /// Who is in the way of a request: those who have it, and those who came first, unless it is one for more of the same.
    fn in_the_way(&self, owner: Owner, mode: Mode) -> impl Iterator<Item = Owner> + '_ {
        let holders = self.holders.iter().filter(move |(holder, held)| *holder != owner && !held.allows(mode));
        let has_some = self.mode_of(owner).is_some();
        let before = self.queue.iter().take_while(move |(other, _)| *other != owner);
        let before = before.filter(move |(_, wanted)| !has_some && !wanted.allows(mode));
        holders.chain(before).map(|(other, _)| *other)
    }
}

impl Table {
    /// Whether those who are in the way of a transaction wait for it.
    fn waits_for_itself(&self, owner: Owner, mode: Mode, item: Item) -> bool {
        let mut seen = vec![owner];
        let mut pending: Vec<Owner> = self.entries[&item].in_the_way(owner, mode).collect();
        while let Some(other) = pending.pop() {
            if other == owner {
                return true;
            }
            if seen.contains(&other) {
                continue;
            }
            seen.push(other);
            let Some(wanted) = self.wanted.get(&other) else { continue };
            let Some(entry) = self.entries.get(wanted) else { continue };
            let mode = entry.queue.iter().find(|(waiting, _)| *waiting == other).map(|(_, mode)| *mode);
            pending.extend(mode.into_iter().flat_map(|mode| entry.in_the_way(other, mode)));
        }
        false
    }

    fn grant(&mut self, owner: Owner, item: Item, mode: Mode) {
        let entry = self.entries.entry(item).or_default();
        match entry.holders.iter_mut().find(|(holder, _)| *holder == owner) {
            Some((_, held)) => *held = mode,
            None => {
                entry.holders.push((owner, mode));
                self.held.entry(owner).or_default().push(item);
            }
        }
    }

    /// A request is no more.
    fn forget(&mut self, owner: Owner, item: Item) {
        self.wanted.remove(&owner);
        if let Some(entry) = self.entries.get_mut(&item) {
            entry.queue.retain(|(waiting, _)| *waiting != owner);
        }
    }
}

impl Locks {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gets locks, and waits for them; whether some are new. In one order for all, so that single statements do not wait for each
    /// other.
    pub fn acquire(&self, owner: Owner, mut needs: Vec<(Item, Mode)>, token: &CancelToken) -> Result<bool> {
        needs.sort_unstable();
        needs.dedup_by(|(item, mode), (before, stronger)| {
            let is_same = item == before;
            if is_same {
                *stronger = stronger.and(*mode);
            }
            is_same
        });
        let mut is_new = false;
        let mut table = self.lock();
        for (item, mode) in needs {
            let held = table.entries.get(&item).and_then(|entry| entry.mode_of(owner));
            let wanted = held.map_or(mode, |held| held.and(mode));
            if held == Some(wanted) {
                continue;
            }
            is_new = true;
            table = self.wait(table, owner, (item, wanted), token)?;
            table.grant(owner, item, wanted);
        }
        Ok(is_new)
    }

    /// Waits until nobody is in the way.
    fn wait<'t>(
        &self,
        mut table: MutexGuard<'t, Table>,
        owner: Owner,
        (item, mode): (Item, Mode),
        token: &CancelToken,
    ) -> Result<MutexGuard<'t, Table>> {
        if table.entries.entry(item).or_default().in_the_way(owner, mode).next().is_none() {
            return Ok(table);
        }
        table.entries.entry(item).or_default().queue.push_back((owner, mode));
        table.wanted.insert(owner, item);
        let result = loop {
            if table.entries[&item].in_the_way(owner, mode).next().is_none() {
                break Ok(());
            }
            if table.waits_for_itself(owner, mode, item) {
                break Err(Error::new(SqlState::DEADLOCK, "deadlock detected")
                    .detail("Two transactions wait for what the other has locked.")
                    .hint("the transaction might succeed if it is tried again"));
            }
            if let Err(error) = token.check() {
                break Err(error);
            }
            table = self.freed.wait_timeout(table, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        };
        table.forget(owner, item);
        // Those behind it may come now.
        self.freed.notify_all();
        result.map(|()| table)
    }

    /// Gives back all that a transaction has.
    pub fn release(&self, owner: Owner) {
        let mut table = self.lock();
        for item in table.held.remove(&owner).unwrap_or_default() {
            let Some(entry) = table.entries.get_mut(&item) else { continue };
            entry.holders.retain(|(holder, _)| *holder != owner);
            if entry.holders.is_empty() && entry.queue.is_empty() {
                table.entries.remove(&item);
            }
        }
        drop(table);
        self.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Instant;

    use super::*;

    const ROW: Item = Item::Row(1, 7);

    fn now() -> CancelToken {
        let token = CancelToken::new();
        token.cancel();
        token
    }

    #[test]
    fn modes_allow_what_they_should() {
        let all = [IntentShare, IntentExclusive, Share, ShareIntentExclusive, Exclusive];
        let allowed: Vec<Vec<bool>> = all.iter().map(|a| all.iter().map(|b| a.allows(*b)).collect()).collect();
        let expected = [
            [true, true, true, true, false],
            [true, true, false, false, false],
            [true, false, true, false, false],
            [true, false, false, false, false],
            [false, false, false, false, false],
        ];
        assert_eq!(allowed, expected);
        // What has the rights of both allows no more than either.
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))) {
            assert!(all.iter().all(|c| !a.and(b).allows(*c) || a.allows(*c) && b.allows(*c)), "{a:?} and {b:?}");
        }
    }

    #[test]
    fn what_is_held_is_held_until_the_end() {
        let locks = Locks::default();
        let get = |owner, item, mode| locks.acquire(owner, vec![(item, mode)], &now());
        assert!(get(1, ROW, Share).unwrap() && get(2, ROW, Share).unwrap() && !get(1, ROW, Share).unwrap());
        assert!(get(3, ROW, Exclusive).is_err() && get(1, ROW, Exclusive).is_err());
        locks.release(2);
        assert!(get(1, ROW, Exclusive).unwrap() && get(2, ROW, Share).is_err());
        assert!(get(1, Item::Table(1), IntentExclusive).unwrap() && get(2, Item::Table(1), Share).is_err());
        assert!(get(1, Item::Table(1), Share).unwrap() && get(2, Item::Table(1), IntentShare).unwrap());
        assert!(get(3, Item::Table(1), IntentExclusive).is_err());
        locks.release(1);
        locks.release(2);
        assert!(locks.lock().entries.is_empty() && locks.lock().held.is_empty() && locks.lock().wanted.is_empty());
    }

    #[test]
    fn who_would_wait_for_itself_is_told() {
        let locks = Locks::default();
        let token = CancelToken::new();
        let get = |owner, key, mode| locks.acquire(owner, vec![(Item::Row(1, key), mode)], &token);
        get(1, 1, Exclusive).unwrap();
        get(2, 2, Exclusive).unwrap();
        let failed = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for (owner, key) in [(1, 2), (2, 1)] {
                let (get, failed, locks) = (&get, &failed, &locks);
                scope.spawn(move || {
                    if let Err(error) = get(owner, key, Exclusive) {
                        assert_eq!(error.state(), SqlState::DEADLOCK);
                        failed.fetch_add(1, Ordering::SeqCst);
                    }
                    locks.release(owner);
                });
            }
        });
        assert_eq!(failed.into_inner(), 1);
        // Two readers of a row who both want to change it.
        get(1, 1, Share).unwrap();
        get(2, 1, Share).unwrap();
        std::thread::scope(|scope| {
            let first = scope.spawn(|| get(1, 1, Exclusive).map(|_| locks.release(1)));
            let begin = Instant::now();
            while locks.lock().wanted.is_empty() && begin.elapsed() < Duration::from_secs(10) {
                std::thread::yield_now();
            }
            assert_eq!(get(2, 1, Exclusive).unwrap_err().state(), SqlState::DEADLOCK);
            locks.release(2);
            first.join().unwrap().unwrap();
        });
    }

    #[test]
    fn readers_who_come_later_do_not_starve_a_writer() {
        let locks = Locks::default();
        let token = CancelToken::new();
        locks.acquire(1, vec![(ROW, Share)], &token).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| locks.acquire(2, vec![(ROW, Exclusive)], &token).map(|_| locks.release(2)));
            while locks.lock().wanted.is_empty() {
                std::thread::yield_now();
            }
            assert!(locks.acquire(3, vec![(ROW, Share)], &now()).is_err());
            locks.release(1);
            writer.join().unwrap().unwrap();
        });
    }
}
