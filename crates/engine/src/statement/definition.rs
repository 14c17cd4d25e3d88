//! CREATE and DROP.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::{IfExists, TableEntry, View};
use plan::Plan;
use sql::{CreateTable, ObjectKind, ObjectName};
use storage::relation::Distribution;
use storage::{Attribute, Relation, Schema};
use types::SqlType;

use super::{load, result_columns, rows_tag};
use crate::environment::Environment;
use crate::execute;
use crate::result::{QueryResult, Tag};

fn mode(if_not_exists: bool, or_replace: bool) -> IfExists {
    match (if_not_exists, or_replace) {
        (true, _) => IfExists::Skip,
        (_, true) => IfExists::Replace,
        _ => IfExists::Fail,
    }
}

/// Refuses early what `Catalog::create` would refuse after the work. True if the statement has nothing to do.
fn taken(environment: &Environment, name: &ObjectName, mode: IfExists) -> Result<bool> {
    let catalog = environment.database.0.catalog.snapshot();
    match (catalog.find(name.schema.as_deref(), &name.name), mode) {
        (Some(_), IfExists::Skip) => Ok(true),
        (Some(_), IfExists::Fail) => {
            let message = format!("relation \"{name}\" already exists");
            Err(Error::new(SqlState::DUPLICATE_TABLE, message)
                .at(name.position)
                .hint("CREATE OR REPLACE replaces it, IF NOT EXISTS leaves it"))
        }
        _ => Ok(false),
    }
}

fn new_relation(environment: &Environment, name: &ObjectName, schema: Schema) -> Result<Arc<Relation>> {
    let shared = &environment.database.0;
    Relation::new(name.name.clone(), schema, Distribution::Local, &shared.budget)
}

fn enter(environment: &Environment, name: &ObjectName, entry: TableEntry, mode: IfExists) -> Result<()> {
    let catalog = &environment.database.0.catalog;
    catalog.create(name.schema.as_deref(), &name.name, entry, mode).map_err(|e| e.at(name.position))?;
    Ok(())
}

pub(super) fn create_table(environment: &Environment, create: CreateTable) -> Result<QueryResult> {
    let mode = mode(create.if_not_exists, create.or_replace);
    let done = QueryResult::done(Tag::Done("CREATE TABLE"));
    if taken(environment, &create.name, mode)? {
        return Ok(done);
    }
    if !create.unique_keys.is_empty() {
        return Err(Error::unsupported("UNIQUE").hint("a table may have a PRIMARY KEY").at(create.name.position));
    }
    let attributes =
        create.columns.iter().map(|c| Attribute { name: c.name.clone(), sql_type: c.sql_type, not_null: !c.nullable });
    let relation = new_relation(environment, &create.name, Schema::new(attributes.collect(), create.primary_key))?;
    enter(environment, &create.name, TableEntry::Table(relation), mode)?;
    let defaults = create.columns.into_iter().map(|c| c.default).collect();
    environment.database.0.set_defaults(create.name.to_string(), defaults);
    Ok(done)
}

pub(super) fn create_table_as(
    environment: &Environment,
    name: &ObjectName,
    plan: Plan,
    with_data: bool,
    if_not_exists: bool,
    or_replace: bool,
) -> Result<QueryResult> {
    let mode = mode(if_not_exists, or_replace);
    if taken(environment, name, mode)? {
        return Ok(rows_tag("SELECT", 0));
    }
    let plan = execute::optimize(environment, plan)?;
    let mut attributes: Vec<Attribute> = Vec::new();
    for field in result_columns(&plan) {
        if attributes.iter().any(|a| a.name == field.name) {
            let message = format!("column \"{}\" specified more than once", field.name);
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, message).at(name.position).hint("name it with AS"));
        }
        // A bare NULL has no type of its own.
        let sql_type = if field.sql_type == SqlType::Null { SqlType::Text } else { field.sql_type };
        attributes.push(Attribute { name: field.name, sql_type, not_null: false });
    }
    let relation = new_relation(environment, name, Schema::new(attributes, Vec::new()))?;
    let rows = if with_data { load::fill(environment, &plan, &relation)? } else { 0 };
    enter(environment, name, TableEntry::Table(relation), mode)?;
    environment.database.0.set_defaults(name.to_string(), Vec::new());
    Ok(rows_tag("SELECT", rows))
}

pub(super) fn create_view(
    environment: &Environment,
    name: &ObjectName,
    sql: String,
    columns: Vec<String>,
    if_not_exists: bool,
    or_replace: bool,
) -> Result<QueryResult> {
    let mode = mode(if_not_exists, or_replace);
    if !taken(environment, name, mode)? {
        enter(environment, name, TableEntry::View(Arc::new(View { sql, columns })), mode)?;
    }
    Ok(QueryResult::done(Tag::Done("CREATE VIEW")))
}

pub(super) fn drop(
    environment: &Environment,
    kind: ObjectKind,
    names: &[ObjectName],
    if_exists: bool,
) -> Result<QueryResult> {
    let catalog = &environment.database.0.catalog;
    for name in names {
        let schema = name.schema.as_deref();
        match kind {
            ObjectKind::Table => catalog.drop_table(schema, &name.name, if_exists),
            ObjectKind::View => catalog.drop_view(schema, &name.name, if_exists),
        }
        .map_err(|e| e.at(name.position))?;
        environment.database.0.set_defaults(name.to_string(), Vec::new());
    }
    Ok(QueryResult::done(Tag::Done(if kind == ObjectKind::Table { "DROP TABLE" } else { "DROP VIEW" })))
}
