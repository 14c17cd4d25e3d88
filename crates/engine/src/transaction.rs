//! Transactions as sessions have them: blocks of statements, and statements that are transactions of their own.
//!
//! A statement that changes rows runs in a transaction, its block's or one of its own. One of its own is run again when
//! another transaction was faster, after waiting for its end; in a block of READ COMMITTED the statement is. Everything else
//! in a block ends with error 40001, and the block with it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use base::{Error, Result, SqlState};
use catalog::{Catalog, CatalogSnapshot, Fork};
use sql::{Fires, Isolation, TransactionModes};
use storage::transaction::{Clock, Effect, Stamp};
use storage::{Relation, RowId, Snapshot, Transaction};

use crate::call::Call;
use crate::control::{ConcurrencyControl, Control, Needs, Turn};
use crate::deferred::{Deferred, Modes};
use crate::sequences::Altered;
use crate::settings::{Setting, Settings, Told};

/// 25P02.
const IN_FAILED_TRANSACTION: SqlState = SqlState("25P02");
/// 25006.
const READ_ONLY_TRANSACTION: SqlState = SqlState("25006");
/// 3B001.
const INVALID_SAVEPOINT: SqlState = SqlState("3B001");

/// How often a statement is run again.
const MOST_TRIES: usize = 1000;
/// How often a transaction begins again beside others, as in the thesis (2.7.2).
const MOST_RESTARTS: usize = 30;

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
    /// What the session's settings were when it began: if it is rolled back, they are that again. None: it is of one statement.
    settings_then: Option<(Settings, Told)>,
    local: Mutex<Local>,
    /// Temporary tables that go when it commits.
    dropped: Mutex<Vec<String>>,
    /// What it has put off to its end.
    deferred: Mutex<Deferred>,
    /// Sequences that it has declared anew.
    altered: Mutex<Altered>,
    /// What its statement has done to tables with triggers, of which these are still to hear.
    fired: Mutex<Vec<Fires>>,
    /// If its statement has a WITH that changes data: the rows that its parts have changed.
    changed_by_parts: Mutex<Option<ChangedByParts>>,
    /// How it is kept apart from others, who keeps them so, and from its first statement to its end its turn.
    control: ConcurrencyControl,
    keeper: Arc<Control>,
    has_come: AtomicBool,
    turn: Mutex<Option<Turn>>,
    /// What it is called by those who ask for its number.
    number: OnceLock<i64>,
}

/// A number that no transaction of the process has had yet.
pub(crate) fn next_number() -> i64 {
    static LAST: AtomicI64 = AtomicI64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Rows, by the numbers of their relations.
pub(crate) type ChangedByParts = HashSet<(u64, RowId)>;

/// What a transaction's definitions, the database's and the session's, were at some moment; none: it had changed none.
type DefinitionsThen = Option<[Arc<CatalogSnapshot>; 2]>;

/// Where a statement began, for who takes back what it has done.
pub(crate) struct Start {
    /// The number of its first statement.
    first: u32,
    definitions: DefinitionsThen,
    /// Whether the transaction begins with it.
    begins: bool,
    /// Whether it waits for who has collided with it.
    waits: bool,
}

/// A place to come back to.
struct Savepoint {
    name: String,
    /// The first statement behind it.
    first: u32,
    definitions: DefinitionsThen,
    /// Which constraints were deferred.
    modes: Modes,
    /// The session's settings.
    settings: (Settings, Told),
    local: Local,
}

/// Settings that SET LOCAL has changed, and what they were: those that mean something here, and others.
#[derive(Clone, Default)]
pub(crate) struct Local {
    pub settings: Vec<(&'static Setting, Option<String>)>,
    pub told: Vec<(String, Option<String>)>,
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
    /// A transaction of several statements, of a session with these settings.
    pub fn new(
        (clock, keeper): (&Arc<Clock>, &Arc<Control>),
        isolation: Isolation,
        is_read_only: bool,
        settings: Option<(Settings, Told)>,
    ) -> Self {
        let control = keeper.chosen();
        let validates = control == ConcurrencyControl::Mvcc && isolation == Isolation::Serializable;
        Self {
            transaction: Transaction::begin(clock, validates),
            isolation,
            is_read_only: AtomicBool::new(is_read_only),
            failed: AtomicBool::new(false),
            queried: AtomicBool::new(false),
            rolled_back: AtomicBool::new(false),
            savepoints: Mutex::default(),
            definitions: OnceLock::new(),
            settings_then: settings,
            local: Mutex::default(),
            dropped: Mutex::default(),
            deferred: Mutex::default(),
            altered: Mutex::default(),
            fired: Mutex::default(),
            changed_by_parts: Mutex::default(),
            control,
            keeper: keeper.clone(),
            has_come: AtomicBool::new(false),
            turn: Mutex::default(),
            number: OnceLock::new(),
        }
    }

    /// One that was tried so often is not kept from its end by others again.
    pub fn after(mut self, tries: usize) -> Self {
        if tries >= MOST_RESTARTS && self.control.is_told() {
            self.control = ConcurrencyControl::Serial;
        }
        self
    }

    /// Its first statement waits for its turn; it sees what others had done by then.
    fn come(&self, call: &Call) -> Result<()> {
        // A moment between two commits is all that it sees, where these come in the order of transactions.
        let is_apart = self.is_read_only() && self.control != ConcurrencyControl::TimestampOrdering;
        if is_apart || self.has_come.load(Ordering::Relaxed) {
            return Ok(());
        }
        let turn = self.keeper.enter(self.control, &call.token())?;
        *self.turn() = Some(turn);
        self.has_come.store(true, Ordering::Relaxed);
        if self.control != ConcurrencyControl::Mvcc {
            self.transaction.refresh();
        }
        Ok(())
    }

    fn turn(&self) -> std::sync::MutexGuard<'_, Option<Turn>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It has ended: it is the others' turn.
    pub fn goes(&self) {
        let turn = self.turn().take();
        drop(turn);
    }

    /// How it is kept apart from others.
    pub fn control(&self) -> ConcurrencyControl {
        self.control
    }

    /// Whether its statements say what they read and change.
    pub fn is_told(&self) -> bool {
        self.control.is_told() && self.turn().is_some()
    }

    /// Hears what a statement needs, and waits for it. If some of it is new, what is seen from here on is as it is now, and this is true.
    pub fn needs(&self, needs: Needs, call: &Call) -> Result<bool> {
        let mut turn = self.turn();
        let Some(turn) = turn.as_mut() else { return Ok(false) };
        let is_new = turn.needs(needs, &call.token())?;
        if is_new {
            self.transaction.refresh();
        }
        Ok(is_new)
    }

    /// Whether it may read only.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only.load(Ordering::Relaxed)
    }

    /// SET LOCAL changes a setting that has this value.
    pub fn sets_locally(&self, setting: &'static Setting, before: Option<String>) {
        let settings = &mut self.local().settings;
        if !settings.iter().any(|(known, _)| known.name == setting.name) {
            settings.push((setting, before));
        }
    }

    /// SET changes a setting for longer than the transaction.
    pub fn sets(&self, setting: &'static Setting) {
        self.local().settings.retain(|(known, _)| known.name != setting.name);
    }

    /// A temporary table goes when it commits.
    pub fn drops(&self, table: String) {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner).push(table);
    }

    /// Those that go now.
    pub fn take_dropped(&self) -> Vec<String> {
        std::mem::take(&mut self.dropped.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same of a setting that means nothing here: SET LOCAL changes it if it has a value `before`, SET for longer.
    pub fn tells(&self, name: &str, local: bool, before: Option<String>) {
        let told = &mut self.local().told;
        match local {
            true if told.iter().any(|(known, _)| known == name) => {}
            true => told.push((name.to_owned(), before)),
            false => told.retain(|(known, _)| known != name),
        }
    }

    /// It ends: what settings were before SET LOCAL.
    pub fn take_local(&self) -> Local {
        std::mem::take(&mut self.local())
    }

    fn local(&self) -> std::sync::MutexGuard<'_, Local> {
        self.local.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the session's settings were when it began; none if it is of one statement.
    pub fn settings_then(&self) -> Option<(Settings, Told)> {
        self.settings_then.clone()
    }

    /// Sequences that it has declared anew.
    pub fn altered(&self) -> std::sync::MutexGuard<'_, Altered> {
        self.altered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it has put off to its end.
    pub fn deferred(&self) -> std::sync::MutexGuard<'_, Deferred> {
        self.deferred.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A statement has done something to a table with triggers.
    pub fn fires(&self, fires: Fires) {
        self.fired.lock().unwrap_or_else(PoisonError::into_inner).push(fires);
    }

    /// Whether triggers are still to hear of something.
    pub fn has_fired(&self) -> bool {
        !self.fired.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// What its statement has done so far that has to be looked after.
    pub fn take_done(&self) -> (Vec<Effect>, Vec<Fires>) {
        (self.transaction.take_effects(), self.take_fired())
    }

    /// And that again, when a statement within it has ended.
    pub fn put_done(&self, (effects, fired): (Vec<Effect>, Vec<Fires>)) {
        self.transaction.put_effects(effects);
        *self.fired.lock().unwrap_or_else(PoisonError::into_inner) = fired;
    }

    /// Nothing of what a statement has done is looked after: it has not happened.
    pub fn forget_done(&self) {
        drop(self.take_done());
    }

    /// What they are to hear of.
    pub fn take_fired(&self) -> Vec<Fires> {
        std::mem::take(&mut self.fired.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A statement with several changes begins: a row is changed by the first of them only.
    pub fn begin_parts(&self) {
        *self.changed_by_parts() = Some(HashSet::new());
    }

    /// It has ended.
    pub fn end_parts(&self) {
        *self.changed_by_parts() = None;
    }

    /// What they have changed so far; none if the statement is one change.
    pub fn changed_by_parts(&self) -> std::sync::MutexGuard<'_, Option<ChangedByParts>> {
        self.changed_by_parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A transaction of one statement.
    pub fn implicit(of: (&Arc<Clock>, &Arc<Control>)) -> Self {
        Self::new(of, Isolation::Serializable, false, None)
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
    pub fn begin_statement(&self, ends: bool, call: &Call) -> Result<()> {
        if self.has_failed() && !ends {
            let message = "current transaction is aborted, commands ignored until end of transaction block";
            return Err(Error::new(IN_FAILED_TRANSACTION, message).hint("ROLLBACK ends it"));
        }
        if !ends {
            self.come(call).inspect_err(|_| self.fail())?;
        }
        self.transaction.next_statement();
        if self.isolation == Isolation::ReadCommitted && self.control == ConcurrencyControl::Mvcc {
            self.transaction.refresh();
        }
        Ok(())
    }

    /// Error 25006 if nothing may be changed.
    pub fn check_writable(&self, what: &str) -> Result<()> {
        if self.is_read_only() {
            let message = format!("cannot execute {what} in a read-only transaction");
            return Err(Error::new(READ_ONLY_TRANSACTION, message));
        }
        Ok(())
    }

    /// It has a query.
    pub fn is_queried(&self) {
        self.queried.store(true, Ordering::Relaxed);
    }

    /// Whether it has had one.
    pub fn has_been_queried(&self) -> bool {
        self.queried.load(Ordering::Relaxed)
    }

    /// Changes what it is, before its first query; another one in its place if it has to begin anew.
    pub fn set(&self, modes: TransactionModes, clock: &Arc<Clock>) -> Result<Option<Self>> {
        let of = (clock, &self.keeper);
        if let Some(read_only) = modes.read_only {
            self.is_read_only.store(read_only, Ordering::Relaxed);
        }
        match modes.isolation.filter(|isolation| *isolation != self.isolation) {
            None => Ok(None),
            Some(isolation) if !self.queried.load(Ordering::Relaxed) => {
                let other = Self::new(of, isolation, self.is_read_only(), self.settings_then.clone());
                *other.local() = self.take_local();
                Ok(Some(other))
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

    /// Its number, the same whoever asks.
    pub fn number(&self) -> i64 {
        *self.number.get_or_init(next_number)
    }

    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// All that it has done is taken back.
    pub fn roll_back(&self) {
        self.rolled_back.store(true, Ordering::Relaxed);
        self.transaction.roll_back();
        self.altered().take_back(0);
        self.goes();
    }

    /// Error 25000 if what its results show is no more.
    pub fn check_there(&self) -> Result<()> {
        if self.rolled_back.load(Ordering::Relaxed) {
            return Err(Error::new(SqlState("25000"), "the transaction of this result was rolled back"));
        }
        Ok(())
    }

    /// SAVEPOINT, of a session with these settings.
    pub fn mark(&self, name: String, settings: (Settings, Told)) {
        let first = self.transaction.statement();
        let definitions = self.definitions_now();
        let modes = self.deferred().modes.clone();
        let local = self.local().clone();
        self.savepoints().push(Savepoint { name, first, definitions, modes, settings, local });
    }

    /// ROLLBACK TO: what came behind the savepoint has not happened. Returns its first statement, and what the session's settings
    /// were.
    pub fn roll_back_to(&self, name: &str) -> Result<(u32, (Settings, Told))> {
        let mut savepoints = self.savepoints();
        let at = savepoints.iter().rposition(|known| known.name == name).ok_or_else(|| no_savepoint(name))?;
        savepoints.truncate(at + 1);
        self.transaction.roll_back_to(savepoints[at].first)?;
        self.altered().take_back(savepoints[at].first);
        let mut deferred = self.deferred();
        deferred.forget_from(savepoints[at].first);
        deferred.modes = savepoints[at].modes.clone();
        drop(deferred);
        self.restore(savepoints[at].definitions.clone());
        self.failed.store(false, Ordering::Relaxed);
        *self.local() = savepoints[at].local.clone();
        Ok((savepoints[at].first, savepoints[at].settings.clone()))
    }

    fn definitions_now(&self) -> DefinitionsThen {
        self.definitions().map(|d| [d.shared.own.snapshot(), d.temporary.own.snapshot()])
    }

    fn restore(&self, then: DefinitionsThen) {
        if let Some(now) = self.definitions() {
            let [shared, temporary] = then.unwrap_or_else(|| [now.shared.base.clone(), now.temporary.base.clone()]);
            now.shared.own.restore(shared);
            now.temporary.own.restore(temporary);
        }
    }

    /// Where the statement that has just begun does so; if the transaction `begins` with it, it has read nothing else.
    pub fn start(&self, begins: bool, locks: bool) -> Start {
        // Under other controls, what a statement has said stays said: only another transaction may do better.
        let may_again = self.control == ConcurrencyControl::Mvcc;
        let begins = begins && may_again;
        let waits = may_again && self.isolation == Isolation::ReadCommitted || begins && locks;
        Start { first: self.transaction.statement(), definitions: self.definitions_now(), begins, waits }
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

    /// Takes back what a statement has done, if it can be run again after this error, and waits for whom it has collided with.
    /// Otherwise the error. If the transaction begins with the statement, it begins anew.
    pub fn retry(&self, error: Error, tries: usize, start: Start, call: &Call) -> Result<()> {
        let Start { first, definitions, begins, waits } = start;
        let blocked = self.transaction.take_blocked();
        if !waits && (!begins || blocked.is_some()) || !may_help(&error, tries) {
            return Err(error);
        }
        self.transaction.roll_back_to(first)?;
        self.deferred().forget_from(first);
        self.altered().take_back(first);
        self.restore(definitions);
        let waited = blocked.map_or(Ok(()), |other| self.wait_for_blocker(&other, call));
        if begins {
            self.transaction.refresh();
        }
        if let Some(wanted) = self.transaction.take_wanted() {
            self.transaction.claim_first(wanted);
        }
        waited
    }

    fn wait_for_blocker(&self, other: &Arc<Stamp>, call: &Call) -> Result<()> {
        let own = self.transaction.stamp();
        if !Stamp::may_wait(own, other) {
            return Err(Error::new(SqlState::DEADLOCK, "deadlock detected")
                .detail("Two transactions wait for rows that the other has changed.")
                .hint("the transaction might succeed if it is tried again"));
        }
        let waited = wait_for(other, call);
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
    matches!(error.state(), SqlState::SERIALIZATION_FAILURE | SqlState::DEADLOCK) && tries < MOST_TRIES
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
