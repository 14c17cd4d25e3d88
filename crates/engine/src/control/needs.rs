//! What a statement says under two-phase locking and timestamp ordering before it looks at the rows: what it reads and changes.

use std::sync::Arc;

use base::Result;
use plan::Plan;
use sql::{ChangeKind, Statement};
use storage::Relation;

use super::{Item, Mode};
use crate::kept::change::ShortChange;
use crate::kept::plans::{Kept, Way};
use crate::kept::short::{Given, Short};
use crate::source::Source;

/// Items and how they are locked.
pub(super) type Needs = Vec<(Item, Mode)>;

/// A row of a table, or all of it.
fn of(relation: &Relation, key: Option<u64>, (all, part): (Mode, Mode), needs: &mut Needs) {
    let (number, intent) =
        (relation.number(), if all == Mode::Share { Mode::IntentShare } else { Mode::IntentExclusive });
    needs.push((Item::Database, intent));
    match key {
        None => needs.push((Item::Table(number), all)),
        Some(key) => needs.extend([(Item::Table(number), intent), (Item::Row(number, key), part)]),
    }
}

const READ: (Mode, Mode) = (Mode::Share, Mode::Share);
const CHANGE: (Mode, Mode) = (Mode::Exclusive, Mode::Exclusive);

/// Those of a bound statement: tables as a whole, as which rows it will find is not known.
pub(crate) fn of_statement(statement: &Statement) -> Result<Needs> {
    let mut needs = Needs::new();
    let target = match statement {
        Statement::Query(_)
        | Statement::Cursor(_)
        | Statement::Copy(sql::Copy::To { .. })
        | Statement::SetVariable { .. } => None,
        Statement::Insert(insert) => Some(&insert.table),
        Statement::Change(change) => Some(&change.table),
        Statement::Explain { analyze: true, statement, .. } => return of_statement(statement),
        // What they run says its own.
        Statement::Explain { .. }
        | Statement::Transaction(_)
        | Statement::SetConstraints { .. }
        | Statement::Set { .. }
        | Statement::SetConfig(_)
        | Statement::Reset { .. }
        | Statement::Show { .. }
        | Statement::ShowTables
        | Statement::Describe { .. }
        | Statement::Prepare(_)
        | Statement::Execute { .. }
        | Statement::Deallocate { .. }
        | Statement::Call { .. }
        | Statement::Do(_)
        | Statement::Nothing(_)
        | Statement::Told(..)
        | Statement::Discard(_) => return Ok(needs),
        _ => return Ok(vec![(Item::Database, Mode::Exclusive)]),
    };
    if let Some(plan) = statement.plan() {
        of_plan(plan, &mut needs);
    }
    if let Some(table) = target {
        of(&*Source::relation(table)?, None, CHANGE, &mut needs);
    }
    Ok(needs)
}

fn of_plan(plan: &Plan, needs: &mut Needs) {
    for table in plan.tables.values() {
        if let Ok(Source::Stored(_, relation)) = Source::of(&table.source) {
            of(relation, None, READ, needs);
        }
    }
}

/// Those of a kept plan with these arguments: rows where it finds them by their primary keys. None if its tables are gone.
pub(crate) fn of_kept(kept: &Kept, arguments: Given<'_>) -> Option<Needs> {
    let mut needs = Needs::new();
    match &kept.way {
        Way::Query { short: Some(short), .. } => of_short(short, arguments, &mut needs)?,
        Way::Query { short: None, .. } => {
            for relation in kept.relations() {
                of(&*relation?, None, READ, &mut needs);
            }
        }
        Way::Change(change) => of_change(change, arguments, &mut needs)?,
    }
    Some(needs)
}

fn of_short(short: &Short, arguments: Given<'_>, needs: &mut Needs) -> Option<()> {
    short.each_read(arguments, &mut |relation, read| of(relation, read.key_hash(), READ, needs))
}

fn of_change(change: &ShortChange, arguments: Given<'_>, needs: &mut Needs) -> Option<()> {
    let relation = change.relation.upgrade()?;
    let key = relation.schema().primary_key().to_vec();
    let mut rows: Option<Vec<u64>> = None;
    match change.kind {
        ChangeKind::Insert => rows = change.source.keys_given(&relation, &change.attributes, &key, arguments),
        // Rows that keep their keys.
        ChangeKind::Update { .. } | ChangeKind::Delete { .. } if !change.attributes.iter().any(|a| key.contains(a)) => {
            let mut found = Some(Vec::new());
            change.source.each_read(arguments, &mut |of: &Arc<Relation>, read| {
                if Arc::ptr_eq(of, &relation) {
                    match (read.key_hash(), &mut found) {
                        (Some(row), Some(found)) => found.push(row),
                        _ => found = None,
                    }
                }
            })?;
            rows = found.filter(|found| !found.is_empty());
        }
        _ => {}
    }
    of_short(&change.source, arguments, needs)?;
    match rows {
        Some(rows) => rows.into_iter().for_each(|row| of(&relation, Some(row), CHANGE, needs)),
        None => of(&relation, None, CHANGE, needs),
    }
    Some(())
}
