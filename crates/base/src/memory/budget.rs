//! Budgets: a tree of byte counters (database, query) with limits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

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
        let children = Mutex::default();
        Self(Arc::new(Node { used: 0.into(), peak: 0.into(), limit: limit.into(), parent, children }))
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

    /// Charges `bytes` on behalf of `operator`, whose name is in the error if the limit would be exceeded.
    pub fn charge(&self, bytes: usize, operator: &str) -> Result<()> {
        let node = &*self.0;
        let limit = self.limit();
        let charged = node.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|&sum| sum <= limit)
        });
        let Ok(before) = charged else {
            return Err(self.exceeded(bytes, operator));
        };
        if let Some(parent) = &node.parent
            && let Err(error) = parent.charge(bytes, operator)
        {
            node.used.fetch_sub(bytes, Ordering::Relaxed);
            return Err(error);
        }
        node.peak.fetch_max(before + bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Gives back what [`charge`](Self::charge) took.
    pub fn release(&self, bytes: usize) {
        let before = self.0.used.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "released {bytes} bytes of {before}");
        if let Some(parent) = &self.0.parent {
            parent.release(bytes);
        }
    }

    /// Charges `bytes` until the returned guard is dropped.
    pub fn reserve(&self, bytes: usize, operator: &str) -> Result<Reservation> {
        self.charge(bytes, operator)?;
        Ok(Reservation { budget: self.clone(), bytes })
    }
}

impl Budget {
    /// The error of a charge that is too much. Who asked last is seldom who holds the most: the detail says that.
    #[cold]
    fn exceeded(&self, bytes: usize, operator: &str) -> Error {
        let mib = |b: usize| format!("{:.1} MiB", b as f64 / (1 << 20) as f64);
        let (limit, used) = (self.limit(), self.used());
        let mut detail = format!("{} more would exceed the limit of {} ({} in use", mib(bytes), mib(limit), mib(used));
        let hint = if self.0.parent.is_some() {
            "raise query_memory_limit, or filter or aggregate earlier"
        } else {
            let children = self.0.children.lock().unwrap_or_else(PoisonError::into_inner);
            let queries = children.iter().filter_map(Weak::upgrade).map(|c| c.used.load(Ordering::Relaxed));
            let (sum, most) = queries.fold((0, 0), |(sum, most): (usize, _), q| (sum + q, q.max(most)));
            let rest = mib(used.saturating_sub(sum));
            detail +=
                &format!(": {} by queries, {} by the largest of them, {rest} by tables and files", mib(sum), mib(most));
            "raise memory_limit, or filter or aggregate earlier"
        };
        Error::new(SqlState::OUT_OF_MEMORY, format!("out of memory in {operator}")).detail(detail + ")").hint(hint)
    }
}

/// Bytes that are charged to a budget until this is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    bytes: usize,
}

impl Reservation {
    /// Changes the reservation to `bytes`.
    pub fn resize(&mut self, bytes: usize, operator: &str) -> Result<()> {
        if bytes > self.bytes {
            self.budget.charge(bytes - self.bytes, operator)?;
        } else {
            self.budget.release(self.bytes - bytes);
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
            self.budget.0.used.fetch_sub(self.bytes, Ordering::Relaxed);
            self.budget = parent;
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.release(self.bytes);
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
        assert!(error.message().contains("hash join"));
        let detail = error.get_detail().unwrap();
        assert!(detail.contains("by the largest of them") && error.get_hint().unwrap().contains("raise memory_limit"));
        let narrow = database.child(10).charge(11, "sort").unwrap_err();
        assert!(narrow.get_hint().unwrap().contains("query_memory_limit"));
        assert_eq!((query.used(), database.used()), (60, 60));
        assert_eq!((query.used_share(), database.used_share()), (0.6, 0.6));
        query.release(60);
        assert_eq!((query.used(), database.used(), query.peak()), (0, 0, 60));
    }

    #[test]
    fn a_reservation_gives_back_what_it_took() {
        let budget = Budget::new(10);
        let mut r = budget.reserve(4, "x").unwrap();
        r.resize(9, "x").unwrap();
        assert!(r.resize(11, "x").is_err());
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
