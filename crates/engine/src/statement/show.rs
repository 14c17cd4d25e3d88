//! SET, SHOW, and what describes tables.

use base::{Error, Result, SqlState};
use catalog::{Field, TableEntry};
use sql::SetConfig;
use types::{Chunk, ColumnBuilder, SqlType, Value};

use crate::environment::Environment;
use crate::result::{QueryResult, Tag};
use crate::settings::{ISOLATIONS, SETTINGS, Setting, Told};

pub(super) fn set(
    environment: &mut Environment,
    name: &str,
    value: Option<String>,
    local: bool,
    position: Option<u32>,
) -> Result<QueryResult> {
    if Setting::find(name).is_err() && Told::is_known(name) {
        if local && environment.block.is_none() {
            return Ok(QueryResult::done(Tag::Done("SET")));
        }
        let before = environment.told.set(name, value.as_deref()).map_err(|e| e.at(position))?;
        environment.block.iter().for_each(|block| block.tells(name, local, before.clone()));
        return Ok(QueryResult::done(Tag::Done("SET")));
    }
    let setting = Setting::find(name).map_err(|e| e.at(position))?;
    let value = value.map(|v| setting.check(&v)).transpose().map_err(|e| e.at(position))?;
    match &environment.block {
        // As in PostgreSQL, no error.
        None if local => return Ok(QueryResult::done(Tag::Done("SET"))),
        None => {}
        Some(block) if local => block.sets_locally(setting, environment.settings.own(setting)),
        Some(block) => block.sets(setting),
    }
    environment.set(setting, value).map_err(|e| e.at(position))?;
    Ok(QueryResult::done(Tag::Done("SET")))
}

/// SET as a query: the values are its result.
pub(super) fn set_config(environment: &mut Environment, calls: Vec<SetConfig>) -> Result<QueryResult> {
    for SetConfig { name, value, local, position, .. } in &calls {
        let Some(name) = name else {
            let error = Error::new(SqlState("22004"), "SET requires parameter name");
            return Err(error.at(*position));
        };
        set(environment, name, value.clone(), *local, *position)?;
    }
    let fields: Vec<_> = calls.iter().map(|call| (call.column.as_str(), SqlType::Text)).collect();
    let row = calls.iter().map(|call| call.value.as_deref().map_or(Value::Null, Value::str)).collect();
    Ok(values(&fields, vec![row]))
}

pub(super) fn reset(environment: &mut Environment, name: Option<&str>, position: Option<u32>) -> Result<QueryResult> {
    match name {
        Some(name) if Setting::find(name).is_err() && Told::is_known(name) => {
            environment.told.set(name, None).map_err(|e| e.at(position))?;
        }
        Some(name) => {
            let setting = Setting::find(name).map_err(|e| e.at(position))?;
            environment.set(setting, None).map_err(|e| e.at(position))?;
        }
        None => environment.reset_all()?,
    }
    Ok(QueryResult::done(Tag::Done("RESET")))
}

pub(super) fn show(environment: &Environment, name: Option<&str>, position: Option<u32>) -> Result<QueryResult> {
    match name {
        Some(name @ "transaction_isolation") => {
            let isolation = match &environment.block {
                Some(block) => block.isolation(),
                None => environment.settings.isolation(),
            };
            let known = ISOLATIONS.iter().find(|(_, known)| *known == isolation);
            Ok(texts(&[name], vec![vec![known.map_or_else(String::new, |(name, _)| (*name).to_owned())]]))
        }
        Some(name @ "transaction_read_only") => {
            let is_read_only = environment.block.as_ref().is_some_and(|block| block.is_read_only());
            Ok(texts(&[name], vec![vec![if is_read_only { "on" } else { "off" }.to_owned()]]))
        }
        Some(name) => {
            if Setting::find(name).is_err()
                && let Some(value) = environment.told.get(name)
            {
                return Ok(texts(&[name], vec![vec![value]]));
            }
            let setting = Setting::find(name).map_err(|e| e.at(position))?;
            Ok(texts(&[name], vec![vec![environment.value_of(setting)]]))
        }
        None => {
            let rows = SETTINGS.iter().map(|s| vec![s.name.into(), environment.value_of(s), s.description.into()]);
            Ok(texts(&["name", "setting", "description"], rows.collect()))
        }
    }
}

pub(super) fn tables(environment: &Environment) -> Result<QueryResult> {
    let catalog = environment.catalog();
    let fields =
        [("schema", SqlType::Text), ("name", SqlType::Text), ("type", SqlType::Text), ("rows", SqlType::BigInt)];
    let rows = catalog.entries().map(|(schema, name, entry)| {
        let count = match entry {
            TableEntry::Table(table) => Value::Int(table.relation.row_count() as i64),
            TableEntry::View(_) => Value::Null,
        };
        vec![Value::str(schema), Value::str(name), Value::str(entry.kind().name()), count]
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
    let fields: Vec<_> = fields.iter().map(|&(n, t)| Field { name: n.into(), sql_type: t, nullable: true }).collect();
    QueryResult::ready(fields, vec![chunk])
}
