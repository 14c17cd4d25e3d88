//! What an error is about, as GET STACKED DIAGNOSTICS asks: what RAISE has said of it, else what its message names.

use base::Error;
use catalog::TableEntry;

use crate::environment::Environment;

/// The name that an item of diagnostics asks for; empty if there is none.
pub(super) fn about(environment: &Environment, error: &Error, item: &str) -> String {
    let said = error.get_about(item).map(str::to_owned);
    let found = said.or_else(|| match item {
        "constraint_name" => behind(error.message(), "constraint"),
        "column_name" => behind(error.message(), "column"),
        "table_name" => table(environment, error).map(|(_, table)| table),
        "schema_name" => table(environment, error).map(|(schema, _)| schema),
        _ => None,
    });
    found.unwrap_or_default()
}

/// The schema and name of the table that an error is about: which it names, or whose key it names.
fn table(environment: &Environment, error: &Error) -> Option<(String, String)> {
    // Of a missing table there is nothing to say.
    if !error.state().0.starts_with("23") {
        return None;
    }
    let catalog = environment.catalog();
    let of_message = behind(error.message(), "relation").or_else(|| behind(error.message(), "on table"));
    let key = behind(error.message(), "constraint");
    let is_it = |table: &str, entry: &TableEntry| match (&of_message, &key, entry) {
        (Some(named), ..) => named == table,
        (None, Some(key), TableEntry::Table(entry)) => {
            entry.indexes.iter().any(|index| index.name() == key) || key.strip_suffix("_pkey") == Some(table)
        }
        _ => false,
    };
    let found = catalog.entries().find(|(_, table, entry)| is_it(table, entry));
    found.map(|(schema, table, _)| (schema.to_owned(), table.to_owned()))
}

/// The name in quotes behind a word of a message.
fn behind(message: &str, word: &str) -> Option<String> {
    let at = message.find(&format!("{word} \""))?;
    let rest = &message[at + word.len() + 2..];
    rest.split_once('"').map(|(name, _)| name.to_owned())
}
