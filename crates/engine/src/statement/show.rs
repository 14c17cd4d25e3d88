//! SET, SHOW, and what describes tables.

use base::Result;
use catalog::{Field, TableEntry};
use types::{Chunk, ColumnBuilder, SqlType, Value};

use crate::result::{QueryResult, Tag};
use crate::session::Session;
use crate::settings::{SETTINGS, Scope, Setting, parse_memory};

pub(super) fn set(
    session: &mut Session,
    name: &str,
    value: Option<String>,
    position: Option<u32>,
) -> Result<QueryResult> {
    let setting = Setting::find(name).map_err(|e| e.at(position))?;
    let value = value.map(|v| setting.check(&v)).transpose().map_err(|e| e.at(position))?;
    apply(session, setting, value).map_err(|e| e.at(position))?;
    Ok(QueryResult::done(Tag::Done("SET")))
}

fn apply(session: &mut Session, setting: &'static Setting, value: Option<String>) -> Result<()> {
    let shared = &session.database.0;
    match (setting.name, value) {
        ("threads", value) => {
            let threads = value.and_then(|v| v.parse().ok()).unwrap_or_else(scheduler::available_threads);
            shared.scheduler.set_threads(threads)
        }
        ("memory_limit", value) => {
            let bytes = value.as_deref().and_then(parse_memory).unwrap_or_else(crate::database::default_memory);
            shared.budget.set_limit(bytes);
            Ok(())
        }
        (_, value) => {
            session.settings.set(setting, value);
            Ok(())
        }
    }
}

pub(super) fn reset(session: &mut Session, name: Option<&str>, position: Option<u32>) -> Result<QueryResult> {
    match name {
        Some(name) => {
            let setting = Setting::find(name).map_err(|e| e.at(position))?;
            apply(session, setting, None)?;
        }
        None => {
            session.settings.reset();
            SETTINGS.iter().filter(|s| s.scope == Scope::Database).try_for_each(|s| apply(session, s, None))?;
        }
    }
    Ok(QueryResult::done(Tag::Done("RESET")))
}

fn value_of(session: &Session, setting: &'static Setting) -> String {
    let shared = &session.database.0;
    match setting.name {
        "threads" => shared.scheduler.threads().to_string(),
        "memory_limit" if shared.budget.limit() == usize::MAX => "none".into(),
        "memory_limit" => format!("{}MiB", shared.budget.limit() >> 20),
        _ => session.settings.get(setting).to_string(),
    }
}

pub(super) fn show(session: &Session, name: Option<&str>, position: Option<u32>) -> Result<QueryResult> {
    match name {
        Some(name) => {
            let setting = Setting::find(name).map_err(|e| e.at(position))?;
            Ok(texts(&[name], vec![vec![value_of(session, setting)]]))
        }
        None => {
            let rows = SETTINGS.iter().map(|s| vec![s.name.into(), value_of(session, s), s.description.into()]);
            Ok(texts(&["name", "setting", "description"], rows.collect()))
        }
    }
}

pub(super) fn tables(session: &Session) -> Result<QueryResult> {
    let catalog = session.database.0.catalog.snapshot();
    let fields =
        [("schema", SqlType::Text), ("name", SqlType::Text), ("type", SqlType::Text), ("rows", SqlType::BigInt)];
    let rows = catalog.entries().map(|(schema, name, entry)| {
        let count = match entry {
            TableEntry::Table(relation) => Value::Int(relation.row_count() as i64),
            TableEntry::View(_) => Value::Null,
        };
        vec![Value::str(schema), Value::str(name), Value::str(entry.kind()), count]
    });
    Ok(values(&fields, rows.collect()))
}

pub(super) fn describe(columns: &[Field]) -> Result<QueryResult> {
    let rows = columns
        .iter()
        .map(|c| vec![c.name.clone(), c.sql_type.to_string(), if c.nullable { "yes".into() } else { "no".into() }]);
    Ok(texts(&["column", "type", "null"], rows.collect()))
}

/// A result of texts.
pub(crate) fn texts(names: &[&str], rows: Vec<Vec<String>>) -> QueryResult {
    let fields: Vec<(&str, SqlType)> = names.iter().map(|&n| (n, SqlType::Text)).collect();
    values(&fields, rows.into_iter().map(|r| r.into_iter().map(Value::str).collect()).collect())
}

fn values(fields: &[(&str, SqlType)], rows: Vec<Vec<Value>>) -> QueryResult {
    let column = |i: usize, sql_type| {
        let mut builder = ColumnBuilder::new(sql_type, rows.len());
        rows.iter().for_each(|row| builder.push_value(&row[i]));
        builder.finish()
    };
    let columns = fields.iter().enumerate().map(|(i, &(_, t))| column(i, t)).collect();
    let chunk = Chunk::new(rows.len(), columns);
    let fields = fields.iter().map(|&(n, t)| Field { name: n.into(), sql_type: t, nullable: true }).collect();
    QueryResult::ready(fields, vec![chunk])
}
