//! CREATE INDEX, and the indexes of UNIQUE constraints.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::{IndexDefinition, TEMPORARY_SCHEMA, TableEntry, TableIndex, canonical};
use sql::{CreateIndex, IndexShape, Maintenance, ObjectName, ReindexKind};
use storage::Relation;

use crate::environment::Environment;
use crate::result::{QueryResult, Tag};
use crate::source::Source;

/// Most bytes of a name, as in PostgreSQL.
const MOST_NAME: usize = 63;

pub(super) fn create_index(environment: &Environment, create: CreateIndex) -> Result<QueryResult> {
    let CreateIndex { table, of, shape, altering, if_not_exists, concurrently } = create;
    if concurrently {
        check_alone(environment, "CREATE INDEX CONCURRENTLY")?;
    }
    let done = QueryResult::done(Tag::Done("CREATE INDEX"));
    let table = environment.located(&table);
    let relation = Source::relation(&of).map_err(|e| e.at(table.position))?;
    let catalog = environment.catalog_of(table.schema.as_deref());
    let schema = table.schema.as_deref();
    if shape.is_named && catalog.snapshot().is_taken(schema, &shape.name) {
        if if_not_exists {
            return Ok(done);
        }
        let message = format!("relation \"{}\" already exists", shape.name);
        return Err(Error::new(SqlState::DUPLICATE_TABLE, message)
            .at(table.position)
            .hint("IF NOT EXISTS leaves it as it is"));
    }
    if let Some(altering) = altering {
        super::alter::alter(environment, *altering)?;
        return Ok(done);
    }
    let is_taken = |name: &str| catalog.snapshot().is_taken(schema, name);
    let definition = definition(shape, is_taken);
    let block = environment.block.clone().ok_or_else(|| Error::internal("an index outside of a transaction"))?;
    let index = block.transaction.create_index(&relation, definition, &environment.helpers("index"))?;
    let index = TableIndex { index, is_constraint: false };
    catalog.create_index((schema, &table.name), index).map_err(|e| e.at(table.position))?;
    Ok(done)
}

/// VACUUM and the like, which the engine does by itself, and REINDEX.
pub(super) fn maintain(environment: &Environment, maintenance: Maintenance) -> Result<QueryResult> {
    let (kind, name) = match maintenance {
        Maintenance::Nothing(what) => {
            if what == "VACUUM" {
                check_alone(environment, what)?;
            }
            return Ok(QueryResult::done(Tag::Done(what)));
        }
        Maintenance::Reindex { kind, name, concurrently } => {
            if concurrently {
                check_alone(environment, "REINDEX CONCURRENTLY")?;
            }
            (kind, name)
        }
        // Whoever runs texts has run theirs.
        Maintenance::Export { .. } | Maintenance::Import { .. } => {
            return Err(Error::internal("a database that was not copied"));
        }
    };
    let position = name.as_ref().and_then(|name| name.position);
    reindex(environment, kind, name).map_err(|error| error.at(position))?;
    Ok(QueryResult::done(Tag::Done("REINDEX")))
}

/// Error 25001 in a transaction of several statements.
fn check_alone(environment: &Environment, what: &str) -> Result<()> {
    if environment.block.as_ref().is_some_and(|block| block.settings_then().is_some()) {
        let message = format!("{what} cannot run inside a transaction block");
        return Err(Error::new(SqlState::ACTIVE_TRANSACTION, message));
    }
    Ok(())
}

/// Makes indexes anew, from the rows that are there.
fn reindex(environment: &Environment, kind: ReindexKind, name: Option<ObjectName>) -> Result<()> {
    let block = environment.block.clone().ok_or_else(|| Error::internal("an index outside of a transaction"))?;
    let name = match (kind, name) {
        (ReindexKind::Table, Some(name)) => Some(environment.located(&name)),
        (_, name) => name,
    };
    let (named, schema) = name.as_ref().map_or(("", None), |name| (name.name.as_str(), name.schema.as_deref()));
    if kind == ReindexKind::Schema {
        environment.catalog().check_schema(named)?;
    }
    let mut is_found = kind != ReindexKind::Index;
    for own in [Some(TEMPORARY_SCHEMA), None] {
        let catalog = environment.catalog_of(own);
        let snapshot = catalog.snapshot();
        let of_name = snapshot.index(schema.or(own), named).map(|(_, index)| &index.index);
        for (of, table, index) in snapshot.indexes() {
            let is_meant = match kind {
                ReindexKind::Index => !is_found && of_name.is_some_and(|named| Arc::ptr_eq(named, &index.index)),
                ReindexKind::Table => table == named && of == canonical(schema),
                ReindexKind::Schema => of == canonical(Some(named)),
                ReindexKind::Database => true,
            };
            let Some(TableEntry::Table(entry)) = snapshot.find(Some(of), table).filter(|_| is_meant) else { continue };
            let helpers = environment.helpers("index");
            let new = block.transaction.create_index(&entry.relation, index.index.definition().clone(), &helpers)?;
            catalog.replace_index((of, table), new)?;
            is_found = true;
        }
        // A primary key stands in a hash table, which is as good as new.
        is_found |= snapshot.entries().any(|(_, table, entry)| match entry {
            TableEntry::Table(entry) => {
                !entry.relation.schema().primary_key().is_empty() && named.strip_suffix("_pkey") == Some(table)
            }
            TableEntry::View(_) => false,
        });
    }
    if !is_found {
        let message = format!("relation \"{named}\" does not exist");
        return Err(Error::new(SqlState::UNDEFINED_TABLE, message));
    }
    Ok(())
}

/// The indexes of a new table's constraints.
pub(super) fn of_constraints(
    environment: &Environment,
    schema: Option<&str>,
    relation: &Arc<Relation>,
    shapes: Vec<IndexShape>,
) -> Result<Vec<TableIndex>> {
    let mut names: Vec<String> = Vec::with_capacity(shapes.len());
    let mut indexes = Vec::with_capacity(shapes.len());
    let catalog = environment.catalog_of(schema).snapshot();
    for shape in shapes {
        let is_taken = |name: &str| catalog.is_taken(schema, name) || names.iter().any(|other| other == name);
        if shape.is_named && is_taken(&shape.name) {
            let message = format!("relation \"{}\" already exists", shape.name);
            return Err(Error::new(SqlState::DUPLICATE_TABLE, message));
        }
        let is_constraint = shape.is_constraint;
        let definition = definition(shape, is_taken);
        names.push(definition.name.clone());
        note_if_deferrable(environment, relation, &definition)?;
        indexes.push(TableIndex { index: relation.add_index(definition)?, is_constraint });
    }
    indexes.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(indexes)
}

/// Somebody looks after the keys of an index that can be deferred: what is done to rows is noted from now on.
pub(super) fn note_if_deferrable(
    environment: &Environment,
    relation: &Arc<Relation>,
    definition: &IndexDefinition,
) -> Result<()> {
    match (&environment.block, definition.deferrable) {
        (_, None) => Ok(()),
        (Some(block), _) => block.transaction.note_effects_on(relation),
        (None, _) => Err(Error::internal("a key that can be deferred outside of a transaction")),
    }
}

/// The index with a name that is free, unless somebody has named it.
pub(super) fn definition(shape: IndexShape, is_taken: impl Fn(&str) -> bool) -> IndexDefinition {
    let IndexShape { mut name, is_named, parts, unique, only, deferrable, method, included, .. } = shape;
    if !is_named {
        let cut = |name: &str, most: usize| name[..name.floor_char_boundary(most)].to_owned();
        let numbered = (1..).map(|number: u32| {
            let end = number.to_string();
            cut(&name, MOST_NAME - end.len()) + &end
        });
        let first = cut(&name, MOST_NAME);
        name = std::iter::once(first).chain(numbered).find(|name| !is_taken(name)).unwrap_or_default();
    }
    IndexDefinition { name, parts, unique, only, deferrable, method, included }
}

/// ALTER INDEX ... RENAME TO: the index is made anew under its name, as errors tell that.
pub(super) fn rename(environment: &Environment, name: &ObjectName, to: &str, if_exists: bool) -> Result<QueryResult> {
    let done = QueryResult::done(Tag::Done("ALTER INDEX"));
    let block = environment.block.clone().ok_or_else(|| Error::internal("an index outside of a transaction"))?;
    let all = environment.catalog();
    let own = all.index(Some(TEMPORARY_SCHEMA), &name.name).filter(|_| name.schema.is_none());
    let schema = if own.is_some() { Some(TEMPORARY_SCHEMA) } else { name.schema.as_deref() };
    let found = all.index(schema, &name.name);
    let Some((table, index)) = found else {
        // As PostgreSQL says it here, of whatever relation.
        let message = format!("relation \"{}\" does not exist", name.name);
        return if if_exists { Ok(done) } else { Err(Error::new(SqlState::UNDEFINED_TABLE, message)) };
    };
    let schema = all.schema_of(schema, &name.name);
    if all.is_taken(Some(schema), to) {
        return Err(Error::new(SqlState::DUPLICATE_TABLE, format!("relation \"{to}\" already exists")));
    }
    let Some(TableEntry::Table(entry)) = all.find(Some(schema), table) else { return Err(all.no_index(&name.name)) };
    let definition = IndexDefinition { name: to.to_owned(), ..index.index.definition().clone() };
    let new = block.transaction.create_index(&entry.relation, definition, &environment.helpers("index"))?;
    environment.catalog_of(Some(schema)).rename_index((schema, table), &name.name, new)?;
    Ok(done)
}

/// DROP INDEX.
pub(super) fn drop(environment: &Environment, names: &[sql::ObjectName], if_exists: bool) -> Result<QueryResult> {
    for name in names {
        let own = environment.catalog().index(Some(TEMPORARY_SCHEMA), &name.name).is_some();
        let is_own = name.schema.is_none() && own || name.schema.as_deref() == Some(TEMPORARY_SCHEMA);
        let schema = if is_own { Some(TEMPORARY_SCHEMA) } else { name.schema.as_deref() };
        let catalog = environment.catalog_of(schema);
        catalog.drop_indexes(&[(schema, &name.name)], if_exists).map_err(|e| e.at(name.position))?;
    }
    Ok(QueryResult::done(Tag::Done("DROP INDEX")))
}
