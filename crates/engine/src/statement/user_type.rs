//! CREATE, ALTER and DROP TYPE.

use std::collections::HashSet;

use base::{Error, Result, SqlState};
use catalog::{Dependent, DomainChange, TEMPORARY_SCHEMA};
use sql::{DomainStatement, ObjectKind, ObjectName, Statement, TypeStatement};
use types::Value;

use super::ask::ask;
use crate::definitions::quoted;
use crate::environment::Environment;
use crate::execute;
use crate::result::{QueryResult, Tag};

pub(super) fn run(environment: &Environment, statement: TypeStatement) -> Result<QueryResult> {
    let (name, tag) = match &statement {
        TypeStatement::CreateEnum { name, .. } | TypeStatement::CreateEnumOf { name, .. } => {
            (name.clone(), "CREATE TYPE")
        }
        TypeStatement::Alter { name, .. } => (located(environment, name), "ALTER TYPE"),
    };
    let catalog = environment.catalog_of(name.schema.as_deref());
    let full = (name.schema.as_deref(), name.name.as_str());
    let done = match &statement {
        TypeStatement::CreateEnumOf { plan, .. } => {
            let mut labels: Vec<String> = Vec::new();
            let mut known = HashSet::new();
            for row in super::query(environment, plan.as_ref().clone())?.rows()? {
                if let Some(Value::Str(label)) = row.into_iter().next()
                    && known.insert(label.clone())
                {
                    labels.push(label.to_string());
                }
            }
            catalog.create_enum(full, &labels)
        }
        TypeStatement::CreateEnum { labels, .. } => catalog.create_enum(full, labels),
        TypeStatement::Alter { change, .. } => catalog.alter_type(full, change).map(|_| ()),
    };
    done.map_err(|e| e.at(name.position))?;
    Ok(QueryResult::done(Tag::Done(tag)))
}

/// CREATE and ALTER DOMAIN.
pub(super) fn run_domain(environment: &Environment, statement: DomainStatement) -> Result<QueryResult> {
    let (name, done, tag) = match statement {
        DomainStatement::Create { name, domain } => {
            let is_row = domain.sql_type.structure().is_some_and(|of| of.is_row);
            let tag = if is_row { "CREATE TYPE" } else { "CREATE DOMAIN" };
            let catalog = environment.catalog_of(name.schema.as_deref());
            let done = catalog.create_domain((name.schema.as_deref(), &name.name), domain);
            (name, done, tag)
        }
        DomainStatement::Alter { name, change, asked } => {
            for plan in asked {
                ask(environment, &execute::optimize(environment, plan)?)?;
            }
            let catalog = environment.catalog_of(name.schema.as_deref());
            let done = catalog.alter_domain((name.schema.as_deref(), &name.name), &change);
            let tag = if matches!(change, DomainChange::Attributes(..)) { "ALTER TYPE" } else { "ALTER DOMAIN" };
            (name, done, tag)
        }
    };
    done.map_err(|e| e.at(name.position))?;
    Ok(QueryResult::done(Tag::Done(tag)))
}

/// DROP DOMAIN. What depends on it has gone before, if that was asked for.
pub(super) fn drop_domains(environment: &Environment, names: &[ObjectName], if_exists: bool) -> Result<QueryResult> {
    for name in names {
        let name = located(environment, name);
        let full = (name.schema.as_deref(), name.name.as_str());
        environment.catalog_of(full.0).drop_domains(&[full], if_exists).map_err(|e| e.at(name.position))?;
    }
    Ok(QueryResult::done(Tag::Done("DROP DOMAIN")))
}

/// The next statement of those that remove what depends on the types that DROP ... CASCADE drops: columns and views.
pub(crate) fn removal(environment: &Environment, statement: &Statement) -> Result<Option<String>> {
    let Statement::Drop { kind: ObjectKind::Type | ObjectKind::Domain, names, cascade: true, .. } = statement else {
        return Ok(None);
    };
    let catalog = environment.catalog();
    let mut dependents = names.iter().map(|name| {
        let name = located(environment, name);
        let full = (name.schema.as_deref(), name.name.as_str());
        let columns = catalog.domain(full.0, full.1).map(|(key, _)| catalog.columns_of_domain(key)).unwrap_or_default();
        let columns = columns.into_iter().map(|(schema, table, column)| Dependent::Column(schema, table, column));
        let dependents: Vec<Dependent> = columns.chain(catalog.dependents(full.0, full.1)).collect();
        (name, dependents)
    });
    let first = dependents.find_map(|(name, dependents)| Some((name, dependents.into_iter().next()?)));
    first.map(|(name, dependent)| removal_of(&dependent, &name)).transpose()
}

/// DROP TYPE. What depends on it has gone before, if that was asked for.
pub(super) fn drop(environment: &Environment, names: &[ObjectName], if_exists: bool) -> Result<QueryResult> {
    for name in names {
        let name = located(environment, name);
        let full = (name.schema.as_deref(), name.name.as_str());
        environment.catalog_of(full.0).drop_types(&[full], if_exists).map_err(|e| e.at(name.position))?;
    }
    Ok(QueryResult::done(Tag::Done("DROP TYPE")))
}

/// The statement that removes what depends on a type.
fn removal_of(dependent: &Dependent, name: &ObjectName) -> Result<String> {
    let full = |schema: &str, name: &str| format!("{}.{}", quoted(schema), quoted(name));
    Ok(match dependent {
        Dependent::Column(schema, table, column) => {
            format!("ALTER TABLE {} DROP COLUMN {} CASCADE", full(schema, table), quoted(column))
        }
        Dependent::View(schema, view) => format!("DROP VIEW {} CASCADE", full(schema, view)),
        Dependent::Text(_, table) => {
            let message = format!("cannot drop type {name} because a default or constraint of table {table} names it");
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                .at(name.position)
                .hint("ALTER TABLE drops defaults and constraints"));
        }
    })
}

/// The name with the schema that the type is found in, if that is the session's own.
fn located(environment: &Environment, name: &ObjectName) -> ObjectName {
    let catalog = environment.catalog();
    let own = Some(TEMPORARY_SCHEMA);
    let is_own = catalog.user_type(own, &name.name).is_some() || catalog.domain(own, &name.name).is_some();
    match name.schema.is_none() && is_own {
        true => ObjectName { schema: own.map(str::to_owned), ..name.clone() },
        false => environment.located(name),
    }
}
