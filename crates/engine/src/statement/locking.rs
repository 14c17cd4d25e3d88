//! LOCK TABLE, and SELECT ... FOR UPDATE: the query runs, then the rows that it was made of are locked, one by one, in its order. What was changed
//! meanwhile is error 40001, with which the statement is run again where it can be, so that it gives rows as they are locked.

use base::{Error, Result, SqlState};
use plan::{Node, Op, Plan, TableSource};
use sql::{LockStrength, LockWait, LockedTable, Locking};
use storage::{RowId, Strength};
use types::Chunk;

use super::change::rows_of;
use super::result_columns;
use crate::environment::Environment;
use crate::execute;
use crate::result::{QueryResult, Tag};
use crate::source::Source;

/// Rows that are looked at beside twice as many as are wanted.
const FEW: u64 = 32;
/// 55P03.
const LOCK_NOT_AVAILABLE: SqlState = SqlState("55P03");

/// LOCK TABLE in a mode that shuts out writers: nobody else commits changes of the tables' rows before the transaction ends (record 50).
/// Readers are never shut out, and the other modes shut out nobody.
pub(super) fn lock_tables(environment: &Environment, tables: &[TableSource], waits: bool) -> Result<QueryResult> {
    let block = environment.block.clone().ok_or_else(|| Error::internal("locks outside of a transaction"))?;
    for table in tables {
        let relation = Source::relation(table)?;
        block.transaction.claim(&relation, None).map_err(|error| match waits {
            true => error,
            false => {
                let message = format!("could not obtain lock on relation \"{}\"", relation.name());
                Error::new(LOCK_NOT_AVAILABLE, message)
            }
        })?;
    }
    block.is_queried();
    Ok(QueryResult::done(Tag::Done("LOCK TABLE")))
}

/// Locks the rows of a query. If only some of those that it gives are wanted, it is asked for a few more than these at first: the others
/// matter only if somebody has locked all that.
pub(super) fn lock(environment: &Environment, locking: Locking) -> Result<QueryResult> {
    let wanted = locking.limit.map(|limit| limit.saturating_add(locking.offset));
    if let Some(most) = wanted.filter(|wanted| *wanted > 0).and_then(|wanted| wanted.checked_mul(2)?.checked_add(FEW)) {
        let (result, is_enough) = lock_some(environment, locking.clone(), Some(most))?;
        if is_enough {
            return Ok(result);
        }
    }
    Ok(lock_some(environment, locking, None)?.0)
}

/// The plan of the first rows of another one.
fn limited(mut plan: Plan, most: u64) -> Plan {
    match &mut plan.root.op {
        Op::Sort { limit: limit @ None, .. } => *limit = Some(most),
        op => {
            let input = Node::new(std::mem::replace(op, Op::Values { columns: Vec::new(), rows: Vec::new() }));
            *op = Op::Limit { input: Box::new(input), limit: Some(most), offset: 0 };
        }
    }
    plan
}

/// Locks rows of the first so many that the query gives, and says whether no others are needed.
fn lock_some(environment: &Environment, locking: Locking, most: Option<u64>) -> Result<(QueryResult, bool)> {
    let Locking { plan, tables, limit, offset } = locking;
    let block = environment.block.clone().ok_or_else(|| Error::internal("locks outside of a transaction"))?;
    let relations = tables.iter().map(|table| Source::relation(&table.source)).collect::<Result<Vec<_>>>()?;
    let plan = if let Some(most) = most { limited(plan, most) } else { plan };
    let plan = execute::optimize(environment, plan)?;
    let mut columns = result_columns(&plan);
    let visible = columns.len() - tables.len();
    let running = execute::start(environment, &plan, false, environment.call.token())?;
    let chunks = QueryResult::running(columns.clone(), running).collect()?;
    columns.truncate(visible);
    let budget = environment.statement_budget();
    let _charged = budget.reserve(chunks.iter().map(Chunk::bytes).sum(), "locked rows")?;
    let is_all = most.is_none_or(|most| (chunks.iter().map(Chunk::rows).sum::<usize>() as u64) < most);
    let mut left = limit.map(|limit| limit.saturating_add(offset));
    let mut passed = 0;
    let mut given = Vec::new();
    for chunk in chunks {
        let mut rows = Vec::with_capacity(chunk.rows());
        for row in 0..chunk.rows() {
            if left == Some(0) {
                break;
            }
            base::statement::check()?;
            let mut is_ours = true;
            for (at, table) in tables.iter().enumerate() {
                let id = RowId::from_bits(chunk.column(visible + at).values::<i64>()[row] as u64);
                let waits = table.wait == LockWait::Wait;
                if !block.transaction.lock_row(&relations[at], id, strength(table.strength), waits)? {
                    if table.wait == LockWait::Fail {
                        return Err(not_available(table));
                    }
                    is_ours = false;
                    break;
                }
            }
            if is_ours {
                left = left.map(|left| left - 1);
                if passed < offset {
                    passed += 1;
                } else {
                    rows.push(row as u32);
                }
            }
        }
        if !rows.is_empty() {
            let mut all = chunk.into_columns();
            all.truncate(visible);
            given.push(if all.is_empty() { Chunk::new(rows.len(), all) } else { rows_of(&all, &rows) });
        }
    }
    Ok((QueryResult::ready(columns, given), is_all || left == Some(0)))
}

fn strength(strength: LockStrength) -> Strength {
    match strength {
        LockStrength::KeyShare => Strength::KeyShare,
        LockStrength::Share => Strength::Share,
        LockStrength::NoKeyUpdate => Strength::NoKeyUpdate,
        LockStrength::Update => Strength::Update,
    }
}

#[cold]
fn not_available(table: &LockedTable) -> Error {
    Error::new(LOCK_NOT_AVAILABLE, format!("could not obtain lock on row in relation \"{}\"", table.name))
}
