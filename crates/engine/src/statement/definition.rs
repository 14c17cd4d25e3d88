//! CREATE and DROP.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::{
    Catalog, Commented, Computed, ForeignKey, IfExists, Kind, Kinship, Owner, TEMPORARY_SCHEMA, Table, TableEntry,
    View, canonical,
};
use functions::Sequence;
use functions::sequence::Shape;
use plan::{Plan, TableSource};
use sql::{ComputedColumn, CreateTable, CreateView, ObjectKind, ObjectName, Relate, SequenceChange};
use storage::relation::Distribution;
use storage::{Attribute, Relation, Schema};
use types::SqlType;

use super::ask::ask;
use super::readers::Views;
use super::{index, load, result_columns, rows_tag, user_type};
use crate::environment::Environment;
use crate::execute;
use crate::result::{QueryResult, Tag};
use crate::source::Source;

pub(super) fn mode(if_not_exists: bool, or_replace: bool) -> IfExists {
    match (if_not_exists, or_replace) {
        (true, _) => IfExists::Skip,
        (_, true) => IfExists::Replace,
        _ => IfExists::Fail,
    }
}

/// Refuses early what `Catalog::create` would refuse after the work. True if the statement has nothing to do.
fn taken(environment: &Environment, name: &ObjectName, mode: IfExists) -> Result<bool> {
    let catalog = environment.catalog_of(name.schema.as_deref()).snapshot();
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

pub(super) fn new_relation(
    environment: &Environment,
    name: &ObjectName,
    schema: Schema,
    distribution: Distribution,
) -> Result<Arc<Relation>> {
    let shared = &environment.database.0;
    Relation::of_database(name.name.clone(), schema, distribution, &shared.budget, &shared.clock)
}

fn enter(environment: &Environment, name: &ObjectName, entry: TableEntry, mode: IfExists) -> Result<()> {
    let catalog = environment.catalog_of(name.schema.as_deref());
    catalog.create(name.schema.as_deref(), &name.name, entry, mode).map_err(|e| e.at(name.position))?;
    Ok(())
}

/// The attributes of a table: its columns, and what its indexes compute of these.
pub(super) fn schema(table: &CreateTable) -> Schema {
    let columns = table.columns.iter().map(|c| {
        let attribute = Attribute::new(c.name.clone(), c.sql_type, !c.nullable);
        Attribute { collation: c.collation.clone(), ..attribute }
    });
    let computed = table
        .computed
        .iter()
        .map(|ComputedColumn { field, .. }| Attribute::new(field.name.clone(), field.sql_type, false));
    Schema::new(columns.chain(computed).collect(), table.primary_key.clone()).with_columns(table.columns.len())
}

pub(super) fn create_table(environment: &Environment, mut create: CreateTable) -> Result<QueryResult> {
    let mode = mode(create.if_not_exists, create.or_replace);
    let done = QueryResult::done(Tag::Done("CREATE TABLE"));
    if taken(environment, &create.name, mode)? {
        return Ok(done);
    }
    ask_all(environment, std::mem::take(&mut create.asked))?;
    let distribution = match create.is_hashed {
        true => {
            Distribution::Hashed { nodes: environment.database.0.scheduler.placement().topology().node_count() as u16 }
        }
        false => Distribution::Local,
    };
    let relation = new_relation(environment, &create.name, schema(&create), distribution)?;
    relation.set_partition_key(create.partition_key);
    let computed = create.computed.into_iter().map(|c| Computed { sql: c.sql }).collect();
    let domains = create.columns.iter().map(|c| c.domain.clone()).collect();
    let fillings = create.columns.into_iter().map(|c| c.filling).collect();
    let mut table = Table::with(relation.clone(), fillings, create.checks);
    let schema = create.name.schema.as_deref();
    depend_on(environment, &create.foreign_keys, &relation)?;
    table.foreign_keys = create.foreign_keys;
    (table.domains, table.computed) = (domains, computed);
    table.indexes = index::of_constraints(environment, schema, &relation, create.indexes)
        .map_err(|e| e.at(create.name.position))?;
    let (catalog, name) = (environment.catalog_of(create.name.schema.as_deref()), &create.name);
    let entry = TableEntry::Table(Arc::new(table));
    catalog
        .create_with(name.schema.as_deref(), &name.name, entry, create.sequences, mode)
        .map_err(|e| e.at(name.position))?;
    if create.kinship != Kinship::default() {
        catalog.set_kinship((name.schema.as_deref(), &name.name), create.kinship)?;
        note_for_triggers(environment, name)?;
    }
    Ok(done)
}

/// ALTER TABLE ... ATTACH PARTITION and its like.
pub(super) fn relate(environment: &Environment, relate: Relate) -> Result<QueryResult> {
    ask_all(environment, relate.asked)?;
    let name = environment.located(&relate.name);
    let catalog = environment.catalog_of(name.schema.as_deref());
    catalog.set_kinship((name.schema.as_deref(), &name.name), relate.kinship)?;
    note_for_triggers(environment, &name)?;
    Ok(QueryResult::done(Tag::Done("ALTER TABLE")))
}

/// ALTER TABLE ... SET (partition_key = ...) and RESET: at once, whatever becomes of the transaction, as nothing is stored by it.
pub(super) fn set_partition_key(table: &TableSource, column: Option<usize>) -> Result<QueryResult> {
    Source::relation(table)?.set_partition_key(column);
    Ok(QueryResult::done(Tag::Done("ALTER TABLE")))
}

/// Runs queries that have to end well.
fn ask_all(environment: &Environment, plans: Vec<Plan>) -> Result<()> {
    plans.into_iter().try_for_each(|plan| ask(environment, &execute::optimize(environment, plan)?))
}

/// What becomes of rows of a partition is noted, if what it is part of has triggers.
fn note_for_triggers(environment: &Environment, name: &ObjectName) -> Result<()> {
    let catalog = environment.catalog();
    let schema = name.schema.as_deref();
    if catalog.triggers_of(schema, &name.name).is_empty() {
        return Ok(());
    }
    let own = (catalog.schema_of(schema, &name.name).to_owned(), name.name.clone());
    for (schema, name) in [own].into_iter().chain(catalog.below(schema, &name.name)) {
        if let (Some(TableEntry::Table(table)), Some(block)) = (catalog.find(Some(&schema), &name), &environment.block)
        {
            block.transaction.note_effects_on(&table.relation)?;
        }
    }
    Ok(())
}

/// What statements do to tables that are part of a foreign key is noted from now on.
fn depend_on(environment: &Environment, keys: &[ForeignKey], relation: &Arc<Relation>) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let block = environment.block.as_ref().ok_or_else(|| Error::internal("a foreign key outside of a transaction"))?;
    block.transaction.note_effects_on(relation)?;
    let catalog = environment.catalog();
    for key in keys {
        if let Some(TableEntry::Table(to)) = catalog.find(Some(&key.references.0), &key.references.1) {
            block.transaction.note_effects_on(&to.relation)?;
        }
    }
    Ok(())
}

pub(super) fn create_table_as(
    environment: &Environment,
    name: &ObjectName,
    plan: Plan,
    with_data: bool,
    mode: IfExists,
    view: Option<CreateView>,
) -> Result<QueryResult> {
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
        attributes.push(Attribute::new(field.name, sql_type, false));
    }
    let relation = new_relation(environment, name, Schema::new(attributes, Vec::new()), Distribution::Local)?;
    let rows = if with_data { load::fill(environment, &plan, &relation)? } else { 0 };
    let mut table = Table::new(relation);
    table.definition = view.map(|view| {
        let reads = view.reads.into_iter().map(|read| (read.schema, read.name)).collect();
        let (triggers, check_option) = (Vec::new(), None);
        Arc::new(View { sql: view.sql, columns: view.columns, reads, path: view.path, triggers, check_option })
    });
    enter(environment, name, TableEntry::Table(Arc::new(table)), mode)?;
    Ok(rows_tag("SELECT", rows))
}

pub(super) fn create_view(environment: &Environment, create: CreateView) -> Result<QueryResult> {
    let CreateView { name, sql, columns, reads, path, check_option, if_not_exists, or_replace } = create;
    let mode = mode(if_not_exists, or_replace);
    if !taken(environment, &name, mode)? {
        let reads = reads.into_iter().map(|read| (read.schema, read.name)).collect();
        let triggers = match environment.catalog().find(name.schema.as_deref(), &name.name) {
            Some(TableEntry::View(known)) => known.triggers.clone(),
            _ => Vec::new(),
        };
        let view = View { sql, columns, reads, path, triggers, check_option };
        enter(environment, &name, TableEntry::View(Arc::new(view)), mode)?;
    }
    Ok(QueryResult::done(Tag::Done("CREATE VIEW")))
}

pub(super) fn create_schema(environment: &Environment, name: &str, if_not_exists: bool) -> Result<QueryResult> {
    if name.starts_with("pg_") || name == "information_schema" {
        let message = format!("unacceptable schema name \"{name}\"");
        return Err(Error::new(SqlState("42939"), message).detail("The system has schemas of such names."));
    }
    environment.catalog_of(None).create_schema(name, if_not_exists)?;
    Ok(QueryResult::done(Tag::Done("CREATE SCHEMA")))
}

pub(super) fn create_sequence(
    environment: &Environment,
    name: &ObjectName,
    shape: Shape,
    owner: Option<Owner>,
    (if_not_exists, or_replace): (bool, bool),
) -> Result<QueryResult> {
    let catalog = environment.catalog_of(name.schema.as_deref());
    let full = (name.schema.as_deref(), name.name.as_str());
    catalog.create_sequence(full, shape, owner, mode(if_not_exists, or_replace)).map_err(|e| e.at(name.position))?;
    Ok(QueryResult::done(Tag::Done("CREATE SEQUENCE")))
}

/// Declares a sequence anew; with a value, it begins again there: not if the transaction is rolled back.
pub(super) fn declare_anew(
    environment: &Environment,
    sequence: &Arc<Sequence>,
    shape: Shape,
    restart: Option<i64>,
) -> Result<()> {
    match &environment.block {
        Some(block) => block.altered().alter(block.transaction.statement(), sequence, shape, restart),
        None => sequence.alter(shape, restart).map(|_| ()),
    }
}

pub(super) fn alter_sequence(
    environment: &Environment,
    name: &ObjectName,
    sequence: Option<Arc<Sequence>>,
    change: SequenceChange,
) -> Result<QueryResult> {
    let done = QueryResult::done(Tag::Done("ALTER SEQUENCE"));
    let Some(sequence) = sequence else { return Ok(done) };
    let name = &environment.located(name);
    let catalog = environment.catalog_of(name.schema.as_deref());
    let full = (name.schema.as_deref(), name.name.as_str());
    let changed = match change {
        SequenceChange::Name(to) => catalog.rename_sequence(full, &to),
        SequenceChange::Schema(to) => catalog.move_sequence(full, &to),
        SequenceChange::Shape(shape, restart, owner) => {
            let owned = owner.map_or(Ok(()), |owner| catalog.own_sequence(full, owner));
            owned.and_then(|()| declare_anew(environment, &sequence, shape, restart))
        }
    };
    changed.map_err(|e| e.at(name.position))?;
    Ok(done)
}

pub(super) fn drop(
    environment: &Environment,
    kind: ObjectKind,
    names: &[ObjectName],
    if_exists: bool,
    cascade: bool,
) -> Result<QueryResult> {
    let (kind, done) = match kind {
        ObjectKind::Table => (Kind::Table, "DROP TABLE"),
        ObjectKind::View => (Kind::View, "DROP VIEW"),
        ObjectKind::MaterializedView => (Kind::MaterializedView, "DROP MATERIALIZED VIEW"),
        ObjectKind::Sequence => {
            each_catalog(environment, names, |catalog, names| catalog.drop_sequences(names, if_exists, cascade))?;
            return Ok(QueryResult::done(Tag::Done("DROP SEQUENCE")));
        }
        ObjectKind::Type => return user_type::drop(environment, names, if_exists),
        ObjectKind::Collation => {
            each_catalog(environment, names, |catalog, names| catalog.drop_collations(names, if_exists))?;
            return Ok(QueryResult::done(Tag::Done("DROP COLLATION")));
        }
        ObjectKind::Domain => return user_type::drop_domains(environment, names, if_exists),
        ObjectKind::Index => return index::drop(environment, names, if_exists),
        ObjectKind::Schema => {
            for name in names {
                let catalog = environment.catalog_of(None);
                catalog.drop_schema(&name.name, if_exists, cascade).map_err(|e| e.at(name.position))?;
            }
            return Ok(QueryResult::done(Tag::Done("DROP SCHEMA")));
        }
    };
    each_catalog(environment, names, |catalog, names| catalog.drop(kind, names, if_exists, cascade))?;
    Ok(QueryResult::done(Tag::Done(done)))
}

/// COMMENT ON.
pub(super) fn comment(environment: &Environment, on: &Commented, text: Option<String>) -> Result<QueryResult> {
    let own = match on {
        Commented::Database | Commented::Schema(_) => false,
        Commented::Type(schema, name) => {
            let of = |schema: &str| environment.catalog().user_type(Some(schema), name).is_some();
            schema == TEMPORARY_SCHEMA || schema.is_empty() && of(TEMPORARY_SCHEMA)
        }
        Commented::Table(schema, name)
        | Commented::View(schema, name)
        | Commented::Sequence(schema, name)
        | Commented::Index(schema, name)
        | Commented::Column(schema, name, _)
        | Commented::Constraint(schema, name, _) => {
            environment.catalog().is_temporary(Some(schema.as_str()).filter(|s| !s.is_empty()), name)
        }
    };
    environment.catalog_of(own.then_some(TEMPORARY_SCHEMA)).comment_on(on, text)?;
    Ok(QueryResult::done(Tag::Done("COMMENT")))
}

/// Changes what is named, in the session's catalog and in the database's.
fn each_catalog(
    environment: &Environment,
    names: &[ObjectName],
    change: impl Fn(&Catalog, &[(Option<&str>, &str)]) -> Result<()>,
) -> Result<()> {
    let located: Vec<ObjectName> = names.iter().map(|name| environment.located(name)).collect();
    let is_own = |name: &&ObjectName| name.schema.as_deref() == Some(TEMPORARY_SCHEMA);
    let (own, shared): (Vec<&ObjectName>, Vec<_>) = located.iter().partition(is_own);
    for group in [own, shared].into_iter().filter(|group| !group.is_empty()) {
        let catalog = environment.catalog_of(group[0].schema.as_deref());
        let names: Vec<_> = group.iter().map(|n| (n.schema.as_deref(), n.name.as_str())).collect();
        change(catalog, &names).map_err(|e| e.at(group[0].position))?;
    }
    Ok(())
}

/// ALTER TABLE, ALTER VIEW and ALTER INDEX ... RENAME TO.
pub(super) fn rename(
    environment: &Environment,
    kind: ObjectKind,
    name: &ObjectName,
    to: &str,
    if_exists: bool,
) -> Result<QueryResult> {
    if kind == ObjectKind::Index {
        return index::rename(environment, name, to, if_exists).map_err(|e| e.at(name.position));
    }
    let located = environment.located(name);
    let views = Views::of(environment, &located);
    let result = altered(environment, kind, name, if_exists, |catalog, kind, (schema, name)| {
        let snapshot = catalog.snapshot();
        let key = (canonical(schema).to_owned(), name.to_owned());
        let retold = snapshot.readers(&key).filter_map(|view| {
            let text = sql::with_table_renamed(snapshot.text_of(&view, &key.1)?, (&key.0, &key.1), to)?;
            Some((view, text))
        });
        catalog.rename(kind, (schema, name), to, &retold.collect::<Vec<_>>())
    })?;
    views.check(environment, &located, &[], None, false)?;
    Ok(result)
}

/// ALTER VIEW ... RENAME COLUMN.
pub(super) fn rename_column_of_view(
    environment: &Environment,
    name: &ObjectName,
    (from, to): (&str, &str),
    if_exists: bool,
) -> Result<QueryResult> {
    let located = environment.located(name);
    let views = Views::of(environment, &located);
    let result = altered(environment, ObjectKind::View, name, if_exists, |catalog, _, view| {
        catalog.rename_column_of_view(view, from, to)
    })?;
    views.check(environment, &located, &[(from.to_owned(), to.to_owned())], None, false)?;
    Ok(result)
}

/// ALTER TABLE and ALTER VIEW ... SET SCHEMA.
pub(super) fn set_schema(
    environment: &Environment,
    kind: ObjectKind,
    name: &ObjectName,
    to: &str,
    if_exists: bool,
) -> Result<QueryResult> {
    altered(environment, kind, name, if_exists, |catalog, kind, name| catalog.set_schema(kind, name, to))
}

/// Changes an entry of the catalog that it is in.
fn altered(
    environment: &Environment,
    kind: ObjectKind,
    name: &ObjectName,
    if_exists: bool,
    change: impl FnOnce(&Catalog, Kind, (Option<&str>, &str)) -> Result<()>,
) -> Result<QueryResult> {
    let name = environment.located(name);
    let (kind, done) = match kind {
        ObjectKind::View => (Kind::View, "ALTER VIEW"),
        _ => (Kind::Table, "ALTER TABLE"),
    };
    match change(environment.catalog_of(name.schema.as_deref()), kind, (name.schema.as_deref(), &name.name)) {
        Err(error) if if_exists && error.state() == SqlState::UNDEFINED_TABLE => {}
        changed => changed.map_err(|e| e.at(name.position))?,
    }
    Ok(QueryResult::done(Tag::Done(done)))
}
