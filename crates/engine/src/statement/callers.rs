//! Tables that call a function: in CHECK, DEFAULT, generated columns and indexes. As long as they do, it stays.

use base::{Error, Result, SqlState};
use catalog::{CatalogSnapshot, Filling, Routine, Table, TableEntry};

/// 2BP01 if a table calls a function that nobody else has the name of.
pub(super) fn refuse_called_by_tables(catalog: &CatalogSnapshot, schema: Option<&str>, name: &str) -> Result<()> {
    let named = catalog.routines_named(schema, name);
    let [routine] = named else { return Ok(()) };
    for (_, table, entry) in catalog.entries() {
        let TableEntry::Table(of) = entry else { continue };
        if let Some(what) = caller(of, name) {
            return Err(refused(routine, &format!("{what} of table {table}")));
        }
    }
    Ok(())
}

/// What of a table calls a function.
fn caller(table: &Table, name: &str) -> Option<String> {
    let calls = |sql: &str| sql::calls_function(sql, name);
    if let Some(check) = table.checks.iter().find(|check| calls(&check.sql)) {
        return Some(format!("constraint {}", check.name));
    }
    let of_column =
        |filling: &Filling| matches!(filling, Filling::Expression(sql) | Filling::Generated(sql) if calls(sql));
    if let Some(at) = table.fillings.iter().position(of_column) {
        let attributes = table.relation.schema().attributes();
        return Some(format!("the value of column {}", attributes.get(at).map_or("", |column| &column.name)));
    }
    let of_index = table.computed.iter().any(|computed| computed.sql.as_deref().is_some_and(calls));
    of_index.then(|| "an index".to_owned())
}

#[cold]
fn refused(routine: &Routine, what: &str) -> Error {
    let (kind, signature) = (routine.kind.name(), routine.signature());
    let message = format!("cannot drop {kind} {signature} because other objects depend on it");
    Error::new(SqlState::DEPENDENT_OBJECTS, message)
        .detail(format!("{what} depends on {kind} {signature}"))
        .hint("drop that before")
}
