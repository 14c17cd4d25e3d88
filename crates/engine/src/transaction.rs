//! Transactions as sessions have them: blocks of statements, and statements that are transactions of their own.
//!
//! A statement that changes rows runs in a transaction, its block's or one of its own. One of its own is run again when
//! another transaction was faster, after waiting for its end; in a block of READ COMMITTED the statement is. Everything else
//! in a block ends with error 40001, and the block with it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use base::{Error, Result, SqlState};
use catalog::{Catalog, CatalogSnapshot, Fork};
use sql::{Isolation, TransactionModes};
use storage::transaction::{Clock, Stamp};
use storage::{Relation, Snapshot, Transaction};

use crate::call::Call;

/// 25P02.
const IN_FAILED_TRANSACTION: SqlState = SqlState("25P02");
/// 25006.
const READ_ONLY_TRANSACTION: SqlState = SqlState("25006");
/// 3B001.
const INVALID_SAVEPOINT: SqlState = SqlState("3B001");

/// How often a statement is run again.
const MOST_TRIES: usize = 1000;

/// A transaction of a session.
pub(crate) struct Block {
    pub transaction: Transaction,
    isolation: Isolation,
    is_read_only: AtomicBool,
    failed: AtomicBool,
    /// Whether it has had a query.
    queried: AtomicBool,
    rolled_back: AtomicBool,
    savepoints: Mutex<Vec<Savepoint>>,
    /// The database's and the session's, once it has changed some.
    definitions: OnceLock<Definitions>,
}

/// A place to come back to.
struct Savepoint {
    name: String,
    /// The first statement behind it.
    first: u32,
    /// If some had been changed.
    definitions: Option<[Arc<CatalogSnapshot>; 2]>,
}

/// Definitions as a transaction has them.
pub(crate) struct Definitions {
    pub shared: Fork,
    pub temporary: Fork,
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Block")
    }
}

impl Block {
    /// A transaction of several statements.
    pub fn new(clock: &Arc<Clock>, isolation: Isolation, is_read_only: bool) -> Self {
        Self {
            transaction: Transaction::begin(clock, isolation == Isolation::Serializable),
            isolation,
            is_read_only: AtomicBool::new(is_read_only),
            failed: AtomicBool::new(false),
            queried: AtomicBool::new(false),
            rolled_back: AtomicBool::new(false),
            savepoints: Mutex::default(),
            definitions: OnceLock::new(),
        }
    }

    /// A transaction of one statement.
    pub fn implicit(clock: &Arc<Clock>) -> Self {
        Self::new(clock, Isolation::Serializable, false)
    }

    /// Its definitions, if it has changed some.
    pub fn definitions(&self) -> Option<&Definitions> {
        self.definitions.get()
    }

    /// Its definitions, which are about to be changed.
    pub fn change_definitions(&self, shared: &Catalog, temporary: &Catalog) -> &Definitions {
        self.definitions.get_or_init(|| Definitions { shared: shared.fork(), temporary: temporary.fork() })
    }

    fn savepoints(&self) -> std::sync::MutexGuard<'_, Vec<Savepoint>> {
        self.savepoints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A statement begins; none but the end of the block can when an earlier one has failed.
    pub fn begin_statement(&self, ends: bool) -> Result<()> {
        if self.has_failed() && !ends {
            let message = "current transaction is aborted, commands ignored until end of transaction block";
            return Err(Error::new(IN_FAILED_TRANSACTION, message).hint("ROLLBACK ends it"));
        }
        self.transaction.next_statement();
        if self.isolation == Isolation::ReadCommitted {
            self.transaction.refresh();
        }
        Ok(())
    }

    /// Error 25006 if nothing may be changed.
    pub fn check_writable(&self, what: &str) -> Result<()> {
        if self.is_read_only.load(Ordering::Relaxed) {
            let message = format!("cannot execute {what} in a read-only transaction");
            return Err(Error::new(READ_ONLY_TRANSACTION, message));
        }
        Ok(())
    }

    /// It has a query.
    pub fn is_queried(&self) {
        self.queried.store(true, Ordering::Relaxed);
    }

    /// Changes what it is, before its first query; another one in its place if it has to begin anew.
    pub fn set(&self, modes: TransactionModes, clock: &Arc<Clock>) -> Result<Option<Self>> {
        if let Some(read_only) = modes.read_only {
            self.is_read_only.store(read_only, Ordering::Relaxed);
        }
        match modes.isolation.filter(|isolation| *isolation != self.isolation) {
            None => Ok(None),
            Some(isolation) if !self.queried.load(Ordering::Relaxed) => {
                Ok(Some(Self::new(clock, isolation, self.is_read_only.load(Ordering::Relaxed))))
            }
            Some(_) => {
                let message = "SET TRANSACTION ISOLATION LEVEL must be called before any query";
                Err(Error::new(SqlState::ACTIVE_TRANSACTION, message).hint("BEGIN ISOLATION LEVEL ... says it at once"))
            }
        }
    }

    /// How far it is kept from others.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// A statement of it has failed.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// The statement that has failed is run again.
    pub fn try_again(&self) {
        self.failed.store(false, Ordering::Relaxed);
    }

    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// All that it has done is taken back.
    pub fn roll_back(&self) {
        self.rolled_back.store(true, Ordering::Relaxed);
        self.transaction.roll_back();
    }

    /// Error 25000 if what its results show is no more.
    pub fn check_there(&self) -> Result<()> {
        if self.rolled_back.load(Ordering::Relaxed) {
            return Err(Error::new(SqlState("25000"), "the transaction of this result was rolled back"));
        }
        Ok(())
    }

    /// SAVEPOINT.
    pub fn mark(&self, name: String) {
        let first = self.transaction.statement();
        let definitions = self.definitions().map(|d| [d.shared.own.snapshot(), d.temporary.own.snapshot()]);
        self.savepoints().push(Savepoint { name, first, definitions });
    }

    /// ROLLBACK TO: what came behind the savepoint has not happened.
    pub fn roll_back_to(&self, name: &str) -> Result<()> {
        let mut savepoints = self.savepoints();
        let at = savepoints.iter().rposition(|known| known.name == name).ok_or_else(|| no_savepoint(name))?;
        savepoints.truncate(at + 1);
        self.transaction.roll_back_to(savepoints[at].first)?;
        if let Some(now) = self.definitions() {
            let before = savepoints[at].definitions.clone();
            let [shared, temporary] = before.unwrap_or_else(|| [now.shared.base.clone(), now.temporary.base.clone()]);
            now.shared.own.restore(shared);
            now.temporary.own.restore(temporary);
        }
        self.failed.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// RELEASE: the savepoint and those behind it are forgotten.
    pub fn release(&self, name: &str) -> Result<()> {
        let mut savepoints = self.savepoints();
        let at = savepoints.iter().rposition(|known| known.name == name).ok_or_else(|| no_savepoint(name))?;
        savepoints.truncate(at);
        Ok(())
    }

    /// The rows of a relation that its statement sees.
    pub fn snapshot(&self, relation: &Arc<Relation>) -> Snapshot {
        self.transaction.snapshot(relation)
    }

    /// Takes back what the statement that began as number `first` has done, if it can be run again after this error, and waits for whom it has
    /// collided with. Otherwise the error.
    pub fn retry(&self, error: Error, tries: usize, first: u32, call: &Call) -> Result<()> {
        if self.isolation != Isolation::ReadCommitted || !may_help(&error, tries) {
            return Err(error);
        }
        self.transaction.roll_back_to(first)?;
        let Some(other) = self.transaction.take_blocked() else { return Ok(()) };
        let own = self.transaction.stamp();
        if !Stamp::may_wait(own, &other) {
            return Err(Error::new(SqlState::DEADLOCK, "deadlock detected")
                .detail("Two transactions wait for rows that the other has changed.")
                .hint("the transaction might succeed if it is tried again"));
        }
        let waited = wait_for(&other, call);
        own.goes_on();
        waited
    }

    /// As [`retry`](Self::retry) of a statement that is a transaction of its own: all that it has done is taken back before it
    /// waits.
    pub fn retry_all(&self, error: Error, tries: usize, call: &Call) -> Result<()> {
        self.roll_back();
        if !may_help(&error, tries) {
            return Err(error);
        }
        let other = self.transaction.take_blocked();
        other.map_or(Ok(()), |other| wait_for(&other, call))
    }
}

/// Whether another try may help.
fn may_help(error: &Error, tries: usize) -> bool {
    error.state() == SqlState::SERIALIZATION_FAILURE && tries < MOST_TRIES
}

/// Waits until a transaction has ended.
fn wait_for(other: &Stamp, call: &Call) -> Result<()> {
    while !other.wait(Duration::from_millis(10)) {
        call.token().check()?;
    }
    Ok(())
}

#[cold]
fn no_savepoint(name: &str) -> Error {
    Error::new(INVALID_SAVEPOINT, format!("savepoint \"{name}\" does not exist"))
}
