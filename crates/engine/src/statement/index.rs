//! CREATE INDEX, and the indexes of UNIQUE constraints.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::{IndexDefinition, TEMPORARY_SCHEMA, TableIndex};
use sql::{CreateIndex, IndexShape};
use storage::Relation;

use crate::environment::Environment;
use crate::result::{QueryResult, Tag};
use crate::source::Source;

/// Most bytes of a name, as in PostgreSQL.
const MOST_NAME: usize = 63;

pub(super) fn create_index(environment: &Environment, create: CreateIndex) -> Result<QueryResult> {
    let CreateIndex { table, of, shape, if_not_exists } = create;
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
    let is_taken = |name: &str| catalog.snapshot().is_taken(schema, name);
    let definition = definition(shape, is_taken);
    let block = environment.block.clone().ok_or_else(|| Error::internal("an index outside of a transaction"))?;
    let index = block.transaction.create_index(&relation, definition)?;
    let index = TableIndex { index, is_constraint: false };
    catalog.create_index((schema, &table.name), index).map_err(|e| e.at(table.position))?;
    Ok(done)
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
        indexes.push(TableIndex { index: relation.add_index(definition), is_constraint });
    }
    indexes.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(indexes)
}

/// The index with a name that is free, unless somebody has named it.
pub(super) fn definition(shape: IndexShape, is_taken: impl Fn(&str) -> bool) -> IndexDefinition {
    let IndexShape { mut name, is_named, parts, unique, .. } = shape;
    if !is_named {
        let cut = |name: &str, most: usize| name[..name.floor_char_boundary(most)].to_owned();
        let numbered = (1..).map(|number: u32| {
            let end = number.to_string();
            cut(&name, MOST_NAME - end.len()) + &end
        });
        let first = cut(&name, MOST_NAME);
        name = std::iter::once(first).chain(numbered).find(|name| !is_taken(name)).unwrap_or_default();
    }
    IndexDefinition { name, parts, unique }
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
