//! BEGIN, COMMIT, ROLLBACK, SAVEPOINT: the blocks of a session.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::{Kind, TEMPORARY_SCHEMA};
use sql::{ObjectName, TransactionKind, TransactionModes};

use crate::cursor::Cursor;
use crate::environment::Environment;
use crate::freezing::freeze_behind;
use crate::notices::Notice;
use crate::references;
use crate::result::{QueryResult, Tag};
use crate::settings::{ISOLATIONS, Setting};
use crate::transaction::Block;

/// 25P01.
const NO_ACTIVE_TRANSACTION: SqlState = SqlState("25P01");
const NOTHING_IN_PROGRESS: &str = "there is no transaction in progress";

pub(super) fn transact(environment: &mut Environment, kind: TransactionKind) -> Result<QueryResult> {
    let done = |tag| Ok(QueryResult::done(Tag::Done(tag)));
    match kind {
        TransactionKind::Begin(modes) => begin(environment, modes),
        TransactionKind::Set(modes) => {
            let block = block(environment, "SET TRANSACTION")?;
            if let Some(other) = block.set(modes, &environment.database.0.clock)? {
                environment.block = Some(Arc::new(other));
            }
            done("SET")
        }
        TransactionKind::SetDefault(modes) => {
            if modes.read_only == Some(true) {
                return Err(Error::unsupported("READ ONLY for all transactions of a session")
                    .hint("BEGIN READ ONLY begins one"));
            }
            let known = ISOLATIONS.iter().find(|(_, isolation)| Some(*isolation) == modes.isolation);
            if let Some((name, _)) = known {
                let setting = Setting::find("default_transaction_isolation")?;
                environment.set(setting, Some((*name).to_owned()))?;
            }
            done("SET")
        }
        TransactionKind::Commit(chain) => chained(environment, "COMMIT", chain, commit_block),
        TransactionKind::Rollback(chain) => chained(environment, "ROLLBACK", chain, |environment| {
            match ended(environment)? {
                Some(block) => roll_back(environment, &block),
                None => warn(environment, NO_ACTIVE_TRANSACTION, NOTHING_IN_PROGRESS),
            }
            done("ROLLBACK")
        }),
        TransactionKind::Savepoint(name) => {
            block(environment, "SAVEPOINT")?.mark(name, environment.settings_now());
            done("SAVEPOINT")
        }
        TransactionKind::RollbackTo(name) => {
            let (first, settings) = block(environment, "ROLLBACK TO SAVEPOINT")?.roll_back_to(&name)?;
            environment.restore_settings(settings);
            environment.cursors.retain(|_, cursor| cursor.is_from_before(first));
            done("ROLLBACK")
        }
        TransactionKind::Release(name) => {
            block(environment, "RELEASE SAVEPOINT")?.release(&name)?;
            done("RELEASE")
        }
    }
}

/// COMMIT.
fn commit_block(environment: &mut Environment) -> Result<QueryResult> {
    let done = |tag| Ok(QueryResult::done(Tag::Done(tag)));
    match ended(environment)? {
        // What is still being read of it goes on.
        Some(block) if block.has_failed() => {
            roll_back(environment, &block);
            done("ROLLBACK")
        }
        Some(block) => {
            if let Err(error) = commit(environment, &block) {
                roll_back(environment, &block);
                return Err(error);
            }
            let of_block = |cursor: &&mut Cursor| cursor.holds && cursor.is_of(Some(&block));
            environment.cursors.values_mut().filter(of_block).for_each(|cursor| cursor.block = None);
            done("COMMIT")
        }
        // As in PostgreSQL, no error.
        None => {
            warn(environment, NO_ACTIVE_TRANSACTION, NOTHING_IN_PROGRESS);
            done("COMMIT")
        }
    }
}

/// The end of a transaction; with AND CHAIN, the next one begins as it did.
fn chained(
    environment: &mut Environment,
    name: &str,
    chain: bool,
    end: impl FnOnce(&mut Environment) -> Result<QueryResult>,
) -> Result<QueryResult> {
    if !chain {
        return end(environment);
    }
    let before = block(environment, &format!("{name} AND CHAIN"))?;
    let modes = TransactionModes { isolation: Some(before.isolation()), read_only: Some(before.is_read_only()) };
    let result = end(environment)?;
    begin(environment, modes)?;
    Ok(result)
}

/// SET CONSTRAINTS. Outside of a block there is nothing to defer.
pub(super) fn set_constraints(
    environment: &Environment,
    names: Option<Vec<ObjectName>>,
    deferred: bool,
) -> Result<QueryResult> {
    references::set_constraints(environment, environment.block.as_deref(), names, deferred)?;
    Ok(QueryResult::done(Tag::Done("SET CONSTRAINTS")))
}

/// The transaction that the session was in.
fn ended(environment: &mut Environment) -> Result<Option<Arc<Block>>> {
    let block = environment.block.take();
    block.iter().try_for_each(|block| environment.unset_local(block))?;
    Ok(block)
}

/// What a transaction has done has not happened, nor what it has set.
pub(crate) fn roll_back(environment: &mut Environment, block: &Block) {
    block.roll_back();
    block.settings_then().into_iter().for_each(|settings| environment.restore_settings(settings));
}

fn begin(environment: &mut Environment, modes: TransactionModes) -> Result<QueryResult> {
    if environment.block.is_some() {
        // As in PostgreSQL, no error: it goes on.
        warn(environment, SqlState::ACTIVE_TRANSACTION, "there is already a transaction in progress");
        return Ok(QueryResult::done(Tag::Done("BEGIN")));
    }
    let isolation = modes.isolation.unwrap_or_else(|| environment.settings.isolation());
    let is_read_only = modes.read_only.unwrap_or(false);
    let block =
        Block::new(environment.database.0.keeping_apart(), isolation, is_read_only, Some(environment.settings_now()));
    environment.block = Some(Arc::new(block));
    Ok(QueryResult::done(Tag::Done("BEGIN")))
}

fn warn(environment: &mut Environment, state: SqlState, message: &str) {
    let message = message.to_owned();
    environment.notify(Notice { level: "WARNING", state, message, detail: None, hint: None });
}

fn block<'a>(environment: &'a Environment, what: &str) -> Result<&'a Arc<Block>> {
    environment.block.as_ref().ok_or_else(|| outside(what))
}

#[cold]
fn outside(what: &str) -> Error {
    Error::new(NO_ACTIVE_TRANSACTION, format!("{what} can only be used in transaction blocks")).hint("BEGIN begins one")
}

/// Makes what a transaction has done visible, and has its rows frozen some time.
pub(crate) fn commit(environment: &Environment, block: &Block) -> Result<()> {
    let commit = || block.transaction.commit();
    let relations = match block.definitions() {
        None => commit()?,
        Some(own) => {
            let dropped = block.take_dropped();
            let dropped: Vec<_> = dropped.iter().map(|name| (Some(TEMPORARY_SCHEMA), name.as_str())).collect();
            if !dropped.is_empty() {
                own.temporary.own.drop(Kind::Table, &dropped, true, true)?;
            }
            let relations = environment.database.0.catalog.adopt(&own.shared, commit)?;
            environment.temporary.adopt(&own.temporary, || Ok(()))?;
            relations
        }
    };
    block.altered().keep();
    block.goes();
    relations.iter().for_each(|relation| freeze_behind(&environment.database.0, relation));
    Ok(())
}
