//! `.schema`: definitions of tables and views as SQL.

use std::io::Write;

use super::Outcome;
use crate::shell::Shell;

/// Prints the definitions of all tables and views, or of one.
pub fn schema(shell: &mut Shell, arguments: &[String]) -> Outcome {
    let wanted = arguments.first();
    let mut found = false;
    for definition in shell.session.definitions() {
        let full = format!("{}.{}", definition.schema, definition.name);
        if wanted.is_none_or(|w| *w == definition.name || *w == full) {
            found = true;
            writeln!(shell.output, "{}", definition.sql)?;
        }
    }
    match wanted {
        Some(name) if !found => Ok(Err(format!("there is no table \"{name}\""))),
        _ => Ok(Ok(())),
    }
}

/// The name as SQL needs it.
pub fn quoted(name: &str) -> String {
    let mut chars = name.chars();
    let plain = chars.next().is_some_and(|c| c.is_ascii_lowercase() || c == '_')
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if plain { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}
