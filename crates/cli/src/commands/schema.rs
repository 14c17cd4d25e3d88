//! `.schema`: definitions of tables as SQL.

use std::io::Write;

use types::Value;

use super::Outcome;
use crate::shell::Shell;

/// Prints the definitions of all tables, or of one.
pub fn schema(shell: &mut Shell, arguments: &[String]) -> Outcome {
    let entries = match texts(shell, "SHOW TABLES") {
        Ok(entries) => entries,
        Err(message) => return Ok(Err(message)),
    };
    let wanted = arguments.first();
    let mut found = false;
    for entry in &entries {
        let [schema, name, kind, ..] = entry.as_slice() else { continue };
        if wanted.is_some_and(|w| w != name && *w != format!("{schema}.{name}")) {
            continue;
        }
        found = true;
        let qualified = if schema == "public" || schema == "main" {
            quoted(name)
        } else {
            format!("{}.{}", quoted(schema), quoted(name))
        };
        let columns = match texts(shell, &format!("DESCRIBE {qualified}")) {
            Ok(columns) => columns,
            Err(message) => return Ok(Err(message)),
        };
        let lines: Vec<String> = columns
            .iter()
            .map(|c| {
                let not_null = if c.get(2).is_some_and(|n| n == "no") { " NOT NULL" } else { "" };
                format!("    {} {}{not_null}", quoted(&c[0]), c.get(1).map_or("", String::as_str))
            })
            .collect();
        let what = if kind.contains("view") { "-- VIEW" } else { "CREATE TABLE" };
        let (open, close) = if kind.contains("view") { ("\n--", "") } else { (" (\n", "\n);") };
        let between = if kind.contains("view") { "\n--" } else { ",\n" };
        writeln!(shell.output, "{what} {qualified}{open}{}{close}", lines.join(between))?;
    }
    match wanted {
        Some(name) if !found => Ok(Err(format!("there is no table \"{name}\""))),
        _ => Ok(Ok(())),
    }
}

/// A small result as texts.
fn texts(shell: &mut Shell, sql: &str) -> Result<Vec<Vec<String>>, String> {
    let rows = shell.session.execute(sql, &[]).and_then(engine::QueryResult::rows).map_err(|e| e.render(sql))?;
    let text = |value: &Value| match value {
        Value::Str(s) => s.to_string(),
        _ => String::new(),
    };
    Ok(rows.iter().map(|row| row.iter().map(text).collect()).collect())
}

/// The name as SQL needs it.
pub fn quoted(name: &str) -> String {
    let mut chars = name.chars();
    let plain = chars.next().is_some_and(|c| c.is_ascii_lowercase() || c == '_')
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if plain { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}
