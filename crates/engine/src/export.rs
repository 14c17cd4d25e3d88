//! EXPORT DATABASE and IMPORT DATABASE: a folder with what makes all definitions (`schema.sql`), a file for the rows of each
//! table, and what loads these (`load.sql`), as DuckDB has it.

use std::fmt::Write;
use std::path::Path;

use base::{Error, Result, SqlState};
use catalog::{CatalogSnapshot, Table, TableEntry};
use types::{SqlType, Value};

use crate::definitions::{Definition, Definitions, full_name, quoted, references};
use crate::environment::Environment;
use crate::result::{QueryResult, Tag};

const SCHEMA: &str = "schema.sql";
const LOAD: &str = "load.sql";

/// Runs a statement.
type Run = fn(&mut Environment, &str, &[(Value, SqlType)]) -> Result<QueryResult>;

/// Writes all definitions and rows into a folder, which need not be there yet.
pub(crate) fn export(
    environment: &mut Environment,
    directory: &str,
    options: &[(String, String)],
    run: Run,
) -> Result<QueryResult> {
    environment.outside()?;
    let folder = Path::new(directory);
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let catalog = environment.catalog();
    let definitions = Definitions::of(&catalog);
    let mut load = String::new();
    let mut names: Vec<String> = Vec::new();
    for (schema, name, table) in tables_with_rows(&catalog, &definitions) {
        let columns = written_columns(table);
        if columns.is_empty() {
            continue;
        }
        let file = file_name(schema, name, options, &mut names);
        let table = format!("{} ({})", full_name(schema, name), columns.join(", "));
        let path = folder.join(&file).display().to_string();
        let copy = format!("COPY {table} TO {}{};", literal(&path), with(options));
        run(environment, &copy, &[]).and_then(QueryResult::collect).map_err(Error::nowhere)?;
        let _ = writeln!(load, "COPY {table} FROM {}{};", literal(&file), with(&loaded(options)));
    }
    load += &afterwards(&catalog, definitions.triggers);
    let schema = everything(&catalog, definitions.types, definitions.routines, definitions.tables);
    for (file, text) in [(SCHEMA, schema), (LOAD, load)] {
        let path = folder.join(file);
        std::fs::write(&path, text).map_err(|error| failed(&path, &error))?;
    }
    Ok(QueryResult::done(Tag::Done("EXPORT DATABASE")))
}

/// Makes what the files in a folder say. What needs something that comes later only is made then.
pub(crate) fn import(environment: &mut Environment, directory: &str, run: Run) -> Result<QueryResult> {
    environment.outside()?;
    let folder = Path::new(directory);
    let mut waiting = Vec::new();
    for file in [SCHEMA, LOAD] {
        let path = folder.join(file);
        let text = std::fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
        waiting.extend(sql::split(&text).iter().map(|piece| with_path(&text[piece.range.clone()], folder)));
    }
    while !waiting.is_empty() {
        let (before, mut error) = (waiting.len(), None);
        let mut later = Vec::new();
        for statement in waiting {
            match run(environment, &statement, &[]).and_then(QueryResult::collect) {
                Ok(_) => {}
                Err(found) if is_missing(&found) && environment.block.is_none() => {
                    error.get_or_insert(found);
                    later.push(statement);
                }
                Err(found) => return Err(about(found, &statement)),
            }
        }
        if let Some(error) = error.filter(|_| later.len() == before) {
            return Err(about(error, &later[0]));
        }
        waiting = later;
    }
    Ok(QueryResult::done(Tag::Done("IMPORT DATABASE")))
}

/// Whether something that another statement makes may be what is not there.
fn is_missing(error: &Error) -> bool {
    let states = [
        SqlState::UNDEFINED_TABLE,
        SqlState::UNDEFINED_FUNCTION,
        SqlState::UNDEFINED_OBJECT,
        SqlState::UNDEFINED_COLUMN,
        SqlState::FOREIGN_KEY_VIOLATION,
        SqlState("3F000"),
    ];
    states.contains(&error.state())
}

/// An error with the statement of a file that it is about.
fn about(error: Error, statement: &str) -> Error {
    let shown: String = statement.chars().take(200).collect();
    error.nowhere().detail(format!("The statement is: {shown}"))
}

/// The statement that makes each schema, then all that is in them. Functions are made before what they read is there.
fn everything(
    catalog: &CatalogSnapshot,
    types: Vec<Definition>,
    routines: Vec<Definition>,
    tables: Vec<Definition>,
) -> String {
    let mut text = String::new();
    for schema in catalog.schemas().filter(|schema| *schema != catalog::DEFAULT_SCHEMA) {
        let _ = writeln!(text, "CREATE SCHEMA IF NOT EXISTS {};", quoted(schema));
    }
    if !routines.is_empty() {
        text += "SET check_function_bodies = off;\n";
    }
    for definition in types.into_iter().chain(routines).chain(tables) {
        text += &definition.sql;
        text.push('\n');
    }
    text
}

/// What is done once rows are there: queries are asked again, keys that hold of new rows only come, sequences go on where they were, triggers are called from here on.
fn afterwards(catalog: &CatalogSnapshot, triggers: Vec<Definition>) -> String {
    let mut text = String::new();
    for (schema, name, entry) in catalog.entries() {
        let TableEntry::Table(table) = entry else { continue };
        let full = full_name(schema, name);
        if table.definition.is_some() {
            let _ = writeln!(text, "REFRESH MATERIALIZED VIEW {full};");
        }
        // Keys that were never asked of the rows that are there.
        for key in table.foreign_keys.iter().filter(|key| !key.is_valid) {
            let (key_name, key) = (quoted(&key.name), references(table, key, catalog));
            let _ = writeln!(text, "ALTER TABLE {full} ADD CONSTRAINT {key_name} {key};");
        }
    }
    for (schema, name, entry) in catalog.sequences() {
        let (last, is_called) = entry.sequence.last();
        let _ = writeln!(text, "SELECT setval({}, {last}, {is_called});", literal(&full_name(schema, name)));
    }
    for trigger in triggers {
        text += &trigger.sql;
        text.push('\n');
    }
    text
}

/// The tables that have rows of their own, behind those that they refer to.
fn tables_with_rows<'c>(catalog: &'c CatalogSnapshot, definitions: &Definitions) -> Vec<(&'c str, &'c str, &'c Table)> {
    let of = |definition: &Definition| {
        let found =
            |(schema, name, _): &(&str, &str, &TableEntry)| *schema == definition.schema && *name == definition.name;
        let (schema, name, entry) = catalog.entries().find(found)?;
        let TableEntry::Table(table) = entry else { return None };
        let is_whole = catalog.kinship(Some(schema), name).is_some_and(|kinship| kinship.partitioned.is_some());
        (table.definition.is_none() && !is_whole).then_some((schema, name, &**table))
    };
    definitions.tables.iter().filter_map(of).collect()
}

/// The columns that are not computed.
fn written_columns(table: &Table) -> Vec<String> {
    let attributes = table.relation.schema().attributes();
    let is_computed = |at: usize| table.fillings.get(at).is_some_and(catalog::Filling::is_generated);
    let written = (0..attributes.len()).filter(|&at| !is_computed(at));
    written.map(|at| quoted(&attributes[at].name)).collect()
}

/// A name of a file that nothing else has.
fn file_name(schema: &str, name: &str, options: &[(String, String)], taken: &mut Vec<String>) -> String {
    let of = |part: &str| part.replace(|c: char| !c.is_alphanumeric() && c != '_' && c != '-', "_");
    let ending = options.iter().find(|(option, _)| option == "format").map_or("csv", |(_, format)| format);
    let begin = if schema == catalog::DEFAULT_SCHEMA { of(name) } else { format!("{}_{}", of(schema), of(name)) };
    let names = (0..).map(|n| if n == 0 { begin.clone() } else { format!("{begin}_{n}") });
    // Where files are told apart by case or not.
    let free = names.into_iter().find(|name| !taken.contains(&name.to_lowercase())).unwrap_or(begin);
    taken.push(free.to_lowercase());
    format!("{free}.{}", ending.to_lowercase())
}

/// The options of loading what was written with these.
fn loaded(options: &[(String, String)]) -> Vec<(String, String)> {
    let names = ["format", "delimiter", "delim", "sep", "quote", "escape", "null", "nullstr", "header", "compression"];
    let is_parquet = options.iter().any(|(name, value)| name == "format" && value.eq_ignore_ascii_case("parquet"));
    let is_kept = |name: &str| if is_parquet { name == "format" } else { names.contains(&name) };
    options.iter().filter(|(name, _)| is_kept(name)).cloned().collect()
}

/// The options as COPY has them: CSV with a header if nothing else is said.
fn with(options: &[(String, String)]) -> String {
    let says = |wanted: &str| options.iter().any(|(name, _)| name == wanted);
    let is_csv = !options.iter().any(|(name, value)| name == "format" && !value.eq_ignore_ascii_case("csv"));
    let mut all: Vec<String> = options.iter().map(|(name, value)| format!("{name} {}", literal(value))).collect();
    if !says("format") {
        all.insert(0, "format 'csv'".to_owned());
    }
    if is_csv && !says("header") {
        all.push("header 'true'".to_owned());
    }
    format!(" ({})", all.join(", "))
}

/// The statement with the path of a file in the folder, if it loads one.
fn with_path(statement: &str, folder: &Path) -> String {
    let is_load = statement.trim_start().get(..5).is_some_and(|word| word.eq_ignore_ascii_case("copy "));
    let named = || {
        let (before, rest) = statement.split_once(" FROM '")?;
        let (path, behind) = rest.split_once('\'')?;
        let file = Path::new(path).file_name()?;
        let found = folder.join(file);
        found.exists().then(|| format!("{before} FROM {}{behind}", literal(&found.display().to_string())))
    };
    if is_load { named().unwrap_or_else(|| statement.to_owned()) } else { statement.to_owned() }
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    let state = match error.kind() {
        std::io::ErrorKind::NotFound => SqlState::UNDEFINED_FILE,
        _ => SqlState::IO_ERROR,
    };
    Error::new(state, format!("file \"{}\": {error}", path.display()))
}
