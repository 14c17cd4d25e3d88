//! Budgets: a tree of byte counters (database, query) with limits, and what each operator has of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::holders::Holders;
use crate::{Error, Result, SqlState};

/// A counter of bytes with a limit and, possibly, a parent that is charged as well. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Node>);

#[derive(Debug)]
struct Node {
    used: AtomicUsize,
    peak: AtomicUsize,
    limit: AtomicUsize,
    parent: Option<Budget>,
    holders: Holders,
    /// The budgets inside of this one, to say who holds the most.
    children: Mutex<Vec<Weak<Node>>>,
}

impl Budget {
    /// A budget of `limit` bytes (`usize::MAX`: none).
    pub fn new(limit: usize) -> Self {
        Self::node(limit, None)
    }

    /// A budget inside this one.
    pub fn child(&self, limit: usize) -> Self {
        let child = Self::node(limit, Some(self.clone()));
        let mut children = self.0.children.lock().unwrap_or_else(PoisonError::into_inner);
        children.retain(|c| c.strong_count() > 0);
        children.push(Arc::downgrade(&child.0));
        child
    }

    fn node(limit: usize, parent: Option<Budget>) -> Self {
        let (holders, children) = (Holders::default(), Mutex::default());
        Self(Arc::new(Node { used: 0.into(), peak: 0.into(), limit: limit.into(), parent, holders, children }))
    }

    /// Bytes charged now.
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// The most bytes that were ever charged at once.
    pub fn peak(&self) -> usize {
        self.0.peak.load(Ordering::Relaxed)
    }

    /// How much of the limit is used, of this budget's or of one that it is in, whichever is more.
    pub fn used_share(&self) -> f64 {
        let own = self.used() as f64 / self.limit().max(1) as f64;
        self.0.parent.as_ref().map_or(own, |parent| own.max(parent.used_share()))
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        self.0.limit.load(Ordering::Relaxed)
    }

    /// Changes the limit; what is charged already stays charged.
    pub fn set_limit(&self, limit: usize) {
        self.0.limit.store(limit, Ordering::Relaxed);
    }

    /// Bytes by whom they are charged on behalf of, in the order in which these came.
    pub fn holders(&self) -> Vec<(&'static str, usize)> {
        self.0.holders.all().collect()
    }

    /// Charges `bytes` on behalf of `operator`.
    pub fn charge(&self, bytes: usize, operator: &'static str) -> Result<()> {
        self.charge_for(bytes, operator, self)
    }

    /// As [`charge`](Self::charge) of `first`, which is this one or inside of it.
    fn charge_for(&self, bytes: usize, operator: &'static str, first: &Self) -> Result<()> {
        let node = &*self.0;
        let limit = self.limit();
        let charged = node.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|&sum| sum <= limit)
        });
        let Ok(before) = charged else {
            return Err(self.exceeded(bytes, operator, first));
        };
        if let Some(parent) = &node.parent
            && let Err(error) = parent.charge_for(bytes, operator, first)
        {
            node.used.fetch_sub(bytes, Ordering::Relaxed);
            return Err(error);
        }
        node.holders.add(operator, bytes);
        node.peak.fetch_max(before + bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Gives back what [`charge`](Self::charge) took for the operator.
    pub fn release(&self, bytes: usize, operator: &'static str) {
        self.release_here(bytes, operator);
        if let Some(parent) = &self.0.parent {
            parent.release(bytes, operator);
        }
    }

    fn release_here(&self, bytes: usize, operator: &'static str) {
        let before = self.0.used.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "released {bytes} bytes of {before}");
        self.0.holders.subtract(operator, bytes);
    }

    /// Charges `bytes` until the returned guard is dropped.
    pub fn reserve(&self, bytes: usize, operator: &'static str) -> Result<Reservation> {
        self.charge(bytes, operator)?;
        Ok(Reservation { budget: self.clone(), bytes, operator })
    }
}

impl Budget {
    /// The error of a charge of `first` that is too much here. Who asked last is seldom who holds the most, so that one is named.
    #[cold]
    fn exceeded(&self, bytes: usize, operator: &'static str, first: &Self) -> Error {
        let (limit, used) = (self.limit(), self.used());
        let (holder, _) = first.0.holders.most_with(operator, bytes);
        let mut detail = format!(
            "{} more for {operator} would exceed the limit of {} ({} in use",
            mib(bytes),
            mib(limit),
            mib(used)
        );
        let hint = if self.0.parent.is_some() {
            "raise query_memory_limit, or filter or aggregate earlier"
        } else {
            detail += &self.by_queries(used, first, bytes);
            "raise memory_limit, or filter or aggregate earlier"
        };
        detail += ")";
        if holder != operator {
            detail += &format!("; most of the statement's is {holder}'s");
        }
        Error::new(SqlState::OUT_OF_MEMORY, format!("out of memory in {holder}")).detail(detail).hint(hint)
    }

    /// Who has how much of a database's; `first` already counts the bytes that it asks for.
    fn by_queries(&self, used: usize, first: &Self, asked: usize) -> String {
        let children = self.0.children.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut sum, mut most) = (0, None::<(usize, Arc<Node>)>);
        for child in children.iter().filter_map(Weak::upgrade) {
            let asked = if Arc::ptr_eq(&child, &first.0) { asked } else { 0 };
            let bytes = child.used.load(Ordering::Relaxed).saturating_sub(asked);
            sum += bytes;
            if most.as_ref().is_none_or(|(most, _)| bytes > *most) {
                most = Some((bytes, child));
            }
        }
        let largest = most.map_or(mib(0), |(bytes, child)| match child.holders.all().max_by_key(|(_, bytes)| *bytes) {
            Some((holder, of_holder)) => {
                format!("{} by the largest of them, of which {} by {holder}", mib(bytes), mib(of_holder))
            }
            None => format!("{} by the largest of them", mib(bytes)),
        });
        format!(": {} by queries, {largest}, {} by tables and files", mib(sum), mib(used.saturating_sub(sum)))
    }
}

fn mib(bytes: usize) -> String {
    format!("{:.1} MiB", bytes as f64 / (1 << 20) as f64)
}

/// Bytes that are charged to a budget until this is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    bytes: usize,
    operator: &'static str,
}

impl Reservation {
    /// Changes the reservation to `bytes`.
    pub fn resize(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.bytes {
            self.budget.charge(bytes - self.bytes, self.operator)?;
        } else {
            self.budget.release(self.bytes - bytes, self.operator);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Bytes reserved.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Leaves the budget to its parent: what a statement has made outlives it. Without a parent nothing changes.
    pub fn outlive(&mut self) {
        if let Some(parent) = self.budget.0.parent.clone() {
            // The parent is charged already.
            self.budget.release_here(self.bytes, self.operator);
            self.budget = parent;
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.release(self.bytes, self.operator);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_charge_leaves_no_trace() {
        let database = Budget::new(100);
        let query = database.child(usize::MAX);
        query.charge(60, "sort").unwrap();
        let error = query.charge(41, "hash join").unwrap_err();
        assert_eq!(error.state(), SqlState::OUT_OF_MEMORY);
        // Who has the most is named, and who asked.
        assert_eq!(error.message(), "out of memory in sort");
        let detail = error.get_detail().unwrap();
        assert!(detail.contains("for hash join") && detail.contains("most of the statement's is sort's"), "{detail}");
        assert!(query.charge(61, "hash join").unwrap_err().message().contains("hash join"));
        assert_eq!((query.holders(), database.holders()), (vec![("sort", 60)], vec![("sort", 60)]));
        assert!(detail.contains("by the largest of them") && error.get_hint().unwrap().contains("raise memory_limit"));
        let narrow = database.child(10).charge(11, "sort").unwrap_err();
        assert!(narrow.get_hint().unwrap().contains("query_memory_limit"));
        assert_eq!((query.used(), database.used()), (60, 60));
        assert_eq!((query.used_share(), database.used_share()), (0.6, 0.6));
        query.release(60, "sort");
        assert_eq!((query.used(), database.used(), query.peak()), (0, 0, 60));
        assert!(query.holders().is_empty());
    }

    #[test]
    fn a_reservation_gives_back_what_it_took() {
        let budget = Budget::new(10);
        let mut r = budget.reserve(4, "x").unwrap();
        r.resize(9).unwrap();
        assert!(r.resize(11).is_err());
        assert_eq!(budget.used(), 9);
        drop(r);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_reservation_may_outlive_its_budget() {
        let database = Budget::new(100);
        let query = database.child(50);
        let mut r = query.reserve(40, "insert").unwrap();
        r.outlive();
        assert_eq!((query.used(), database.used()), (0, 40));
        r.outlive();
        assert!(query.reserve(50, "sort").is_ok());
        drop(r);
        assert_eq!(database.used(), 0);
    }
}
