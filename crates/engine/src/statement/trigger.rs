//! CREATE, ALTER and DROP TRIGGER.

use base::{Error, Result};
use catalog::TableEntry;
use sql::{TriggerChange, TriggerStatement};

use crate::environment::Environment;
use crate::result::{QueryResult, Tag};

pub(super) fn change(environment: &Environment, statement: TriggerStatement) -> Result<QueryResult> {
    let TriggerStatement { table, change } = statement;
    let located = environment.located(&table);
    let of = (located.schema.as_deref(), located.name.as_str());
    let catalog = environment.catalog_of(of.0);
    let (changed, done) = match change {
        TriggerChange::Create { trigger, or_replace } => {
            // From now on it is noted what becomes of its rows.
            if let TableEntry::Table(table) = environment.catalog().lookup(of.0, of.1)? {
                let block = environment.block.as_ref();
                let block = block.ok_or_else(|| Error::internal("a trigger outside of a transaction"))?;
                block.transaction.note_effects_on(&table.relation)?;
                let catalog = environment.catalog();
                for (schema, below) in catalog.below(of.0, of.1) {
                    if let Some(TableEntry::Table(table)) = catalog.find(Some(&schema), &below) {
                        block.transaction.note_effects_on(&table.relation)?;
                    }
                }
            }
            (catalog.create_trigger(of, *trigger, or_replace), "CREATE TRIGGER")
        }
        TriggerChange::Drop { name, if_exists } => (catalog.drop_trigger(of, &name, if_exists), "DROP TRIGGER"),
        TriggerChange::Rename { name, to } => (catalog.rename_trigger(of, &name, &to), "ALTER TRIGGER"),
        TriggerChange::Enable { name, is_enabled, keys_too } => {
            if keys_too {
                catalog.ignore_references(of, !is_enabled)?;
            }
            (catalog.enable_triggers(of, name.as_deref(), is_enabled), "ALTER TABLE")
        }
    };
    changed.map_err(|e| e.at(table.position))?;
    Ok(QueryResult::done(Tag::Done(done)))
}
