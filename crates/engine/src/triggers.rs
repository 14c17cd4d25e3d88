//! Triggers that are called for what a statement does as a whole, and for its rows when it has ended (decision 61). Those that
//! are called before a row is changed are part of the statement's plan (`sql::bind::trigger`).

use std::sync::Arc;

use base::Result;
use base::memory::Reservation;
use catalog::{Event, Field, Table, TableEntry, Timing, Trigger};
use io::{FileSource, MemorySource};
use sql::Fires;
use storage::RowId;
use storage::transaction::{ChangedRows, Effect};
use types::Chunk;

use crate::environment::Environment;
use crate::gathered::gathered;
use crate::routine::{Columns, Fired, call_trigger};
use crate::transaction::Block;

/// Calls the triggers that come before a statement.
pub(crate) fn before_statement(environment: &mut Environment, fires: &Fires) -> Result<()> {
    let Some((table, columns)) = table_of(environment, fires) else { return Ok(()) };
    let names = names_of(environment, fires);
    for &event in &fires.events {
        let called = |trigger: &&Arc<Trigger>| {
            !trigger.for_each_row && trigger.timing == Timing::Before && trigger.is_for(event, &fires.assigned)
        };
        for trigger in table.triggers.iter().filter(called) {
            let table = (names.0.as_str(), names.1.as_str());
            call_trigger(environment, &Fired { trigger, event, table, columns: &columns, old: None, new: None })?;
        }
    }
    Ok(())
}

/// The table that a statement has changed, and its columns.
fn table_of(environment: &Environment, fires: &Fires) -> Option<(Arc<Table>, Columns)> {
    let catalog = environment.catalog();
    match catalog.find(fires.table.schema.as_deref(), &fires.table.name)? {
        TableEntry::Table(table) => {
            let mut own = table.clone();
            // Of a partition also those of what it is part of.
            let all = catalog.triggers_of(fires.table.schema.as_deref(), &fires.table.name);
            if all.len() > own.triggers.len() {
                Arc::make_mut(&mut own).triggers = all;
            }
            Some((own, table.relation.schema().columns().iter().map(Field::of).collect()))
        }
        TableEntry::View(_) => None,
    }
}

fn names_of(environment: &Environment, fires: &Fires) -> (String, String) {
    let schema = fires.table.schema.as_deref();
    (environment.catalog().schema_of(schema, &fires.table.name).to_owned(), fires.table.name.clone())
}

/// Rows that something has happened to, as they were and as they are; what is not there has no chunks.
struct Rows {
    event: Event,
    old: Vec<Chunk>,
    new: Vec<Chunk>,
    _charged: Reservation,
}

/// What a statement has done, put down before anything else happens to it.
pub(crate) struct Done {
    fires: Fires,
    table: Arc<Table>,
    columns: Columns,
    rows: Vec<Rows>,
}

/// Puts down what the statement that has ended has done to tables with triggers.
pub(crate) fn put_down(environment: &Environment, block: &Block, effects: &[Arc<Effect>]) -> Result<Vec<Done>> {
    let mut all: Vec<Done> = Vec::new();
    for fires in block.take_fired() {
        let Some((table, columns)) = table_of(environment, &fires) else { continue };
        let needs_rows = |trigger: &Arc<Trigger>| {
            let reads = trigger.for_each_row || trigger.old_table.is_some() || trigger.new_table.is_some();
            trigger.timing == Timing::After && reads
        };
        // Several parts of one statement may have changed a table.
        if let Some(known) = all.iter_mut().find(|done| Arc::ptr_eq(&done.table.relation, &table.relation)) {
            known.fires.merge(fires);
            continue;
        }
        let rows = match table.triggers.iter().any(needs_rows) {
            true => rows_of(environment, block, &table, effects)?,
            false => Vec::new(),
        };
        all.push(Done { fires, table, columns, rows });
    }
    Ok(all)
}

/// The rows of a table among what a statement has done.
fn rows_of(environment: &Environment, block: &Block, table: &Table, effects: &[Arc<Effect>]) -> Result<Vec<Rows>> {
    let relation = &table.relation;
    let attributes: Vec<usize> = (0..relation.schema().columns().len()).collect();
    let (budget, now) = (environment.statement_budget(), block.transaction.snapshot(relation));
    let of = || effects.iter().filter(|effect| Arc::ptr_eq(&effect.relation, relation));
    // Rows that have moved are among those that were inserted, the first ones.
    let replaced = |effect: &Arc<Effect>| if let ChangedRows::Replaced(ids, _) = &effect.rows { ids.len() } else { 0 };
    let mut moved: usize = of().map(replaced).sum();
    let mut all = Vec::new();
    for effect in of() {
        let (event, old, new) = match &effect.rows {
            ChangedRows::Inserted(placed) => {
                let ids = placed.iter().flat_map(|(chunk, rows)| rows.clone().map(|row| RowId::new(*chunk, row)));
                let mut ids: Vec<RowId> = ids.collect();
                ids.drain(..moved.min(ids.len()));
                moved = 0;
                ids.retain(|id| now.sees(*id));
                (Event::Insert, Vec::new(), vec![gathered(&now, &ids, &attributes)])
            }
            ChangedRows::Deleted(ids) => (Event::Delete, vec![gathered(&effect.before, ids, &attributes)], Vec::new()),
            ChangedRows::Replaced(ids, rows) => {
                let columns = attributes.iter().map(|at| rows.column(*at).clone()).collect();
                let new = Chunk::new(rows.rows(), columns);
                (Event::Update, vec![gathered(&effect.before, ids, &attributes)], vec![new])
            }
            ChangedRows::Updated(ids, _) => {
                let old = gathered(&effect.before, ids, &attributes);
                (Event::Update, vec![old], vec![gathered(&now, ids, &attributes)])
            }
        };
        let bytes = old.iter().chain(&new).map(Chunk::bytes).sum();
        all.push(Rows { event, old, new, _charged: budget.reserve(bytes, "rows of triggers")? });
    }
    Ok(all)
}

/// Calls the triggers that come after a statement: for its rows, then for itself.
pub(crate) fn after(environment: &mut Environment, done: Vec<Done>) -> Result<()> {
    for Done { fires, table, columns, rows } in done {
        for event in &fires.events {
            let called =
                |trigger: &&Arc<Trigger>| trigger.timing == Timing::After && trigger.is_for(*event, &fires.assigned);
            let (of_rows, of_statement): (Vec<_>, Vec<_>) =
                table.triggers.iter().filter(called).partition(|trigger| trigger.for_each_row);
            if of_rows.is_empty() && of_statement.is_empty() {
                continue;
            }
            let names = names_of(environment, &fires);
            let names = (names.0.as_str(), names.1.as_str());
            let of_event: Vec<&Rows> = rows.iter().filter(|rows| rows.event == *event).collect();
            for rows in &of_event {
                let count = rows.old.iter().chain(&rows.new).map(Chunk::rows).next().unwrap_or(0);
                let row = |of: &[Chunk], at: usize| of.first().map(|chunk| chunk.row(at));
                for at in 0..count {
                    for trigger in &of_rows {
                        let (old, new) = (row(&rows.old, at), row(&rows.new, at));
                        let fired = Fired { trigger, event: *event, table: names, columns: &columns, old, new };
                        with_tables(environment, trigger, &of_event, &columns, |environment| {
                            call_trigger(environment, &fired).map(drop)
                        })?;
                    }
                }
            }
            for trigger in of_statement {
                let fired = Fired { trigger, event: *event, table: names, columns: &columns, old: None, new: None };
                with_tables(environment, trigger, &of_event, &columns, |environment| {
                    call_trigger(environment, &fired).map(drop)
                })?;
            }
        }
    }
    Ok(())
}

/// Runs something that sees the rows of a statement by the names that a trigger has for them.
fn with_tables(
    environment: &mut Environment,
    trigger: &Trigger,
    rows: &[&Rows],
    columns: &Columns,
    run: impl FnOnce(&mut Environment) -> Result<()>,
) -> Result<()> {
    let sides = [(&trigger.old_table, true), (&trigger.new_table, false)];
    let mut before: Vec<(String, Option<Arc<dyn FileSource>>)> = Vec::new();
    for (name, is_old) in sides {
        let Some(name) = name else { continue };
        let chunks = rows.iter().flat_map(|rows| if is_old { &rows.old } else { &rows.new }).cloned().collect();
        let fields = columns.iter().map(|field| io::Field::new(field.name.as_str(), field.sql_type)).collect();
        let source: Arc<dyn FileSource> = Arc::new(MemorySource::new(fields, chunks));
        before.push((name.clone(), environment.frames.insert(name.clone(), source)));
    }
    let result = run(environment);
    for (name, source) in before {
        match source {
            Some(source) => environment.frames.insert(name, source),
            None => environment.frames.remove(&name),
        };
    }
    result
}
