//! ALTER TABLE: the table gets other constraints, or its rows are written anew as another relation, in a transaction.
//! What views mean is asked before and after (`readers`): one that would be another is refused, or dropped.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::{Alteration, Computed, ForeignKey, IndexDefinition, IndexPart, TableEntry, TableIndex, canonical};
use plan::Plan;
use sql::{AlterTable, IndexShape, ObjectName};
use storage::index::RowIndex;
use storage::{Relation, Schema};
use types::SqlType;

use super::ask::ask;
use super::definition::{new_relation, schema};
use super::load::fill;
use super::readers::Views;
use crate::environment::Environment;
use crate::execute;
use crate::references;
use crate::result::{QueryResult, Tag};
use crate::source::Source;
use crate::transaction::Block;

pub(super) fn alter(environment: &Environment, alter: AlterTable) -> Result<QueryResult> {
    let AlterTable {
        table,
        source,
        rewrites,
        rows,
        attributes: places,
        converted,
        dropped_keys,
        renamed,
        dropped,
        cascade,
    } = alter;
    let name = environment.located(&table.name);
    let views = Views::of(environment, &name);
    let before = Source::relation(&source).map_err(|e| e.at(name.position))?;
    if let Some(block) = &environment.block {
        references::check_nothing_pending(block, &before, &name.name, "ALTER TABLE")?;
    }
    let schema = schema(&table);
    let relation = rewrites.then(|| new_relation(environment, &name, schema, before.distribution())).transpose()?;
    let new = relation.as_ref().unwrap_or(&before);
    new.set_partition_key(before.partition_key().and_then(|attribute| places[attribute]));
    let keys = Keys { new, rewrites, places: &places, converted: &converted, dropped: &dropped_keys };
    let foreign_keys = keys.foreign_keys(environment, &name).map_err(|e| e.at(name.position))?;
    if let Some(rows) = rows {
        write(environment, &before, relation.as_ref(), rows)?;
    }
    let foreign_keys = keys.new_foreign_keys(environment, &name, foreign_keys, table.foreign_keys)?;
    if rewrites {
        keys.ask_again(environment, &name, &foreign_keys)?;
    }
    let indexes = keys.indexes(environment, &name, table.indexes).map_err(|e| e.at(name.position))?;
    let domains = table.columns.iter().map(|c| c.domain.clone()).collect();
    let fillings = table.columns.into_iter().map(|c| c.filling).collect();
    let computed = table.computed.into_iter().map(|c| Computed { sql: c.sql }).collect();
    let (checks, sequences) = (table.checks, table.sequences);
    let to = Alteration {
        relation,
        fillings,
        computed,
        checks,
        indexes,
        foreign_keys,
        domains,
        places,
        renamed,
        dropped,
        sequences,
    };
    let (renamed, dropped) = (to.renamed.clone(), to.dropped.clone());
    let catalog = environment.catalog_of(name.schema.as_deref());
    catalog.alter((name.schema.as_deref(), &name.name), &before, to).map_err(|e| e.at(name.position))?;
    views.check(environment, &name, &renamed, dropped.first(), cascade)?;
    Ok(QueryResult::done(Tag::Done("ALTER TABLE")))
}

/// Writes the rows of the new relation, or asks whether those of the old one are as they must be.
fn write(environment: &Environment, before: &Arc<Relation>, to: Option<&Arc<Relation>>, rows: Plan) -> Result<()> {
    block(environment)?.transaction.claim(before, to)?;
    let plan = execute::optimize(environment, rows)?;
    match to {
        Some(relation) => fill(environment, &plan, relation).map(|_| ()).map_err(|e| of_index(e, relation)),
        None => ask(environment, &plan),
    }
}

/// What becomes of the indexes of a table.
struct Keys<'a> {
    /// Whose rows they are of.
    new: &'a Arc<Relation>,
    /// Whether that is another relation than it was.
    rewrites: bool,
    places: &'a [Option<usize>],
    /// Attributes whose values may be others.
    converted: &'a [usize],
    dropped: &'a [(String, bool)],
}

impl Keys<'_> {
    /// The indexes that the table has then: those that it had, of the attributes that they were of, and new ones.
    fn indexes(&self, environment: &Environment, name: &ObjectName, new: Vec<IndexShape>) -> Result<Vec<TableIndex>> {
        let (schema, catalog) = (name.schema.as_deref(), environment.catalog());
        let before = match catalog.find(schema, &name.name) {
            Some(TableEntry::Table(table)) => table.indexes.clone(),
            _ => Vec::new(),
        };
        let mut indexes = Vec::with_capacity(before.len() + new.len());
        for index in before.into_iter().filter(|index| !self.drops(index.name())) {
            let Some(definition) = self.moved(index.index.definition()) else { continue };
            let made = if self.rewrites { self.make(environment, definition)? } else { index.index };
            indexes.push(TableIndex { index: made, is_constraint: index.is_constraint });
        }
        for shape in new {
            let is_taken = |name: &str| {
                catalog.is_taken(schema, name) || indexes.iter().any(|index: &TableIndex| index.name() == name)
            };
            if shape.is_named && is_taken(&shape.name) {
                let message = format!("relation \"{}\" already exists", shape.name);
                return Err(Error::new(SqlState::DUPLICATE_TABLE, message));
            }
            let is_constraint = shape.is_constraint;
            let definition = super::index::definition(shape, is_taken);
            indexes.push(TableIndex { index: self.make(environment, definition)?, is_constraint });
        }
        indexes.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(indexes)
    }

    /// Whether a constraint goes.
    fn drops(&self, name: &str) -> bool {
        self.dropped.iter().any(|(dropped, _)| dropped == name)
    }

    /// The foreign keys that the table has then. What its own or others' foreign keys are of stays as it is.
    fn foreign_keys(&self, environment: &Environment, name: &ObjectName) -> Result<Vec<ForeignKey>> {
        let (schema, catalog) = (name.schema.as_deref(), environment.catalog());
        let Some(TableEntry::Table(table)) = catalog.find(schema, &name.name) else { return Ok(Vec::new()) };
        let references = catalog.references_to(canonical(name.schema.as_deref()), &name.name);
        let own = table.foreign_keys.iter().filter(|key| !self.drops(&key.name));
        if self.rewrites {
            let schema = table.relation.schema();
            let this = (canonical(name.schema.as_deref()), name.name.as_str());
            let is_this = |key: &ForeignKey| (key.references.0.as_str(), key.references.1.as_str()) == this;
            let is_primary = |key: &ForeignKey| is_same_set(&key.referred, schema.primary_key());
            for key in own.clone() {
                let is_there = !is_this(key) || is_primary(key);
                key.columns.iter().try_for_each(|&attribute| self.check_type(schema, attribute, is_there))?;
            }
            for (.., key) in &references {
                let is_there = is_primary(key);
                key.referred.iter().try_for_each(|&attribute| self.check_type(schema, attribute, is_there))?;
            }
            references.iter().try_for_each(|reference| self.refuse_without_key(schema, reference, name))?;
        }
        let is_unique = |name: &str| table.indexes.iter().find(|index| index.is_constraint && index.name() == name);
        for (dropped, if_exists) in self.dropped {
            let is_foreign = table.foreign_keys.iter().any(|key| key.name == *dropped);
            match is_unique(dropped) {
                Some(index) => refuse_referenced(index, &references, name)?,
                None if is_foreign || *if_exists => {}
                None => {
                    let message = format!("constraint \"{dropped}\" of relation \"{}\" does not exist", name.name);
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
                }
            }
        }
        Ok(own.filter_map(|key| self.moved_key(key, name)).collect())
    }

    /// A foreign key over where its columns are now; none if one of them is no more.
    fn moved_key(&self, key: &ForeignKey, name: &ObjectName) -> Option<ForeignKey> {
        let at = |attributes: &[usize]| attributes.iter().map(|&a| self.places[a]).collect::<Option<Vec<usize>>>();
        let is_itself = key.references.1 == name.name && key.references.0 == canonical(name.schema.as_deref());
        let referred = if is_itself { at(&key.referred)? } else { key.referred.clone() };
        Some(ForeignKey { columns: at(&key.columns)?, referred, ..key.clone() })
    }

    /// The types of an attribute before and now, if its values may be others.
    fn types_of_changed(&self, before: &Schema, attribute: usize) -> Option<[SqlType; 2]> {
        let types = |schema: &Schema, at: usize| schema.attributes()[at].sql_type;
        let both = [types(before, attribute), types(self.new.schema(), self.places[attribute]?)];
        self.converted.contains(&attribute).then_some(both)
    }

    /// Asks again for foreign keys of the table, or to it, of whose columns values may be others.
    fn ask_again(&self, environment: &Environment, name: &ObjectName, own: &[ForeignKey]) -> Result<()> {
        let (block, catalog) = (block(environment)?, environment.catalog());
        let Some(TableEntry::Table(table)) = catalog.find(name.schema.as_deref(), &name.name) else { return Ok(()) };
        let before = table.relation.schema();
        let changed = |attributes: &[usize]| attributes.iter().any(|&a| self.types_of_changed(before, a).is_some());
        let this = canonical(name.schema.as_deref());
        for key in table.foreign_keys.iter().filter(|key| changed(&key.columns)) {
            let Some(key) = own.iter().find(|now| now.name == key.name && now.is_valid) else { continue };
            let to = match catalog.find(Some(&key.references.0), &key.references.1) {
                _ if key.references.1 == name.name && key.references.0 == this => self.new,
                Some(TableEntry::Table(to)) => &to.relation,
                _ => continue,
            };
            references::validate(block, (self.new, &name.name), key, to).map_err(|e| e.at(name.position))?;
        }
        for (schema, other, key) in catalog.references_to(this, &name.name) {
            let is_own = (schema, other) == (this, name.name.as_str());
            let Some(TableEntry::Table(of)) = catalog.find(Some(schema), other) else { continue };
            if is_own || !key.is_valid || !changed(&key.referred) {
                continue;
            }
            let referred = key.referred.iter().filter_map(|&a| self.places[a]).collect();
            let key = ForeignKey { referred, ..key.clone() };
            references::validate(block, (&of.relation, other), &key, self.new).map_err(|e| e.at(name.position))?;
        }
        Ok(())
    }

    /// 0A000 if a column that a foreign key is of gets a type of another kind, or is of a key that is not there yet when it is asked.
    fn check_type(&self, before: &Schema, attribute: usize, is_primary: bool) -> Result<()> {
        let is_alike =
            |[a, b]: [SqlType; 2]| a == b || a.is_integer() && b.is_integer() || a.is_string() && b.is_string();
        match self.types_of_changed(before, attribute) {
            Some(types) if !is_primary || !is_alike(types) => {
                let message = format!(
                    "another type of column \"{}\", which is part of a foreign key",
                    before.attributes()[attribute].name
                );
                Err(Error::unsupported(message).hint("drop the foreign key before, and add it again"))
            }
            _ => Ok(()),
        }
    }

    /// 2BP01 if a foreign key references columns or a primary key that are to go.
    fn refuse_without_key(
        &self,
        before: &Schema,
        reference: &(&str, &str, &ForeignKey),
        name: &ObjectName,
    ) -> Result<()> {
        let (_, table, key) = reference;
        let was_primary = is_same_set(&key.referred, before.primary_key());
        let now: Option<Vec<usize>> = key.referred.iter().map(|&a| self.places[a]).collect();
        if now.is_some_and(|now| !was_primary || is_same_set(&now, self.new.schema().primary_key())) {
            return Ok(());
        }
        let message = format!("cannot change table {} because other objects depend on it", name.name);
        Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
            .detail(format!("constraint {} on table {table} depends on columns of it", key.name))
            .hint(format!("ALTER TABLE {table} DROP CONSTRAINT {} drops that before", key.name)))
    }

    /// All foreign keys, once the new ones are asked of all rows; from here on it is noted what becomes of these.
    fn new_foreign_keys(
        &self,
        environment: &Environment,
        name: &ObjectName,
        mut all: Vec<ForeignKey>,
        new: Vec<ForeignKey>,
    ) -> Result<Vec<ForeignKey>> {
        let (block, catalog) = (block(environment)?, environment.catalog());
        let references = catalog.references_to(canonical(name.schema.as_deref()), &name.name);
        let has_triggers = matches!(catalog.find(name.schema.as_deref(), &name.name),
            Some(TableEntry::Table(table)) if !table.triggers.is_empty());
        if !(all.is_empty() && new.is_empty() && references.is_empty()) || has_triggers {
            block.transaction.note_effects_on(self.new)?;
        }
        for key in new {
            let is_itself = key.references.1 == name.name && key.references.0 == canonical(name.schema.as_deref());
            let to = match catalog.find(Some(&key.references.0), &key.references.1) {
                _ if is_itself => self.new,
                Some(TableEntry::Table(to)) => &to.relation,
                _ => return Err(Error::internal("a foreign key to no table")),
            };
            block.transaction.note_effects_on(to)?;
            if key.is_valid {
                references::validate(block, (self.new, &name.name), &key, to).map_err(|e| e.at(name.position))?;
            }
            all.push(key);
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    fn make(&self, environment: &Environment, definition: IndexDefinition) -> Result<Arc<RowIndex>> {
        super::index::note_if_deferrable(environment, self.new, &definition)?;
        block(environment)?.transaction.create_index(self.new, definition, &environment.helpers("index"))
    }

    /// An index over where its attributes are now; none if one of them is no more.
    fn moved(&self, definition: &IndexDefinition) -> Option<IndexDefinition> {
        let part = |part: &IndexPart| Some(IndexPart { attribute: self.places[part.attribute]?, ..*part });
        let parts = definition.parts.iter().map(part).collect::<Option<_>>()?;
        let only = match definition.only {
            Some(only) => Some(self.places[only]?),
            None => None,
        };
        let included = definition.included.iter().map(|at| self.places[*at]).collect::<Option<_>>()?;
        Some(IndexDefinition { parts, only, included, ..definition.clone() })
    }
}

/// 2BP01 if a foreign key is of the key of an index.
fn refuse_referenced(index: &TableIndex, references: &[(&str, &str, &ForeignKey)], name: &ObjectName) -> Result<()> {
    let parts = &index.index.definition().parts;
    let is_of = |key: &&(&str, &str, &ForeignKey)| {
        let referred = &key.2.referred;
        referred.len() == parts.len() && parts.iter().all(|part| referred.contains(&part.attribute))
    };
    let Some((_, table, key)) = references.iter().find(is_of) else { return Ok(()) };
    let (index, of) = (index.name(), &name.name);
    let message = format!("cannot drop constraint {index} on table {of} because other objects depend on it");
    Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
        .detail(format!("constraint {} on table {table} depends on index {index}", key.name)))
}

fn is_same_set(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && a.iter().all(|attribute| b.contains(attribute))
}

fn block(environment: &Environment) -> Result<&Arc<Block>> {
    environment.block.as_ref().ok_or_else(|| Error::internal("ALTER TABLE outside of a transaction"))
}

/// A key that occurs twice is found when the index of the new relation is made.
fn of_index(error: Error, relation: &Relation) -> Error {
    if error.state() != SqlState::UNIQUE_VIOLATION {
        return error;
    }
    let message = format!("could not create unique index \"{}_pkey\"", relation.name());
    let detail = error.get_detail().unwrap_or_default().replace("already exists.", "is duplicated.");
    Error::new(SqlState::UNIQUE_VIOLATION, message).detail(detail)
}
