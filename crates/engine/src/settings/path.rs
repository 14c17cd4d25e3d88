//! The search path: names of schemas with commas between them, as they are written.

use catalog::{DEFAULT_SCHEMA, canonical as schema_of};

/// What stands for a schema of the user's name, of which there is none.
const USER: &str = "$user";
/// The schema that is looked into without being named.
const IMPLICIT: &str = "pg_catalog";

/// The names of the schemas, without quotes, in lower case where they had none.
fn names(path: &str) -> Vec<String> {
    let (mut names, mut name, mut quoted, mut was_quoted) = (Vec::new(), String::new(), false, false);
    let mut left = path.chars().chain([',']).peekable();
    while let Some(c) = left.next() {
        match c {
            '"' if quoted && left.next_if_eq(&'"').is_some() => name.push('"'),
            '"' => (quoted, was_quoted) = (!quoted, true),
            ',' if !quoted => {
                let whole = std::mem::take(&mut name);
                let whole = if was_quoted { whole } else { whole.trim().to_lowercase() };
                names.extend(Some(whole).filter(|whole| !whole.is_empty()));
                was_quoted = false;
            }
            c if c.is_whitespace() && !quoted => {}
            c => name.push(c),
        }
    }
    names
}

/// The path as SHOW prints it.
pub(super) fn canonical(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let shown = |name: &String| match name.chars().all(is_plain) {
        true => name.clone(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    };
    names(path).iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// The schemas that may be there.
pub(super) fn schemas(path: &str) -> Vec<String> {
    let may_be = |name: &String| name != USER && name != IMPLICIT;
    names(path).into_iter().filter(may_be).map(|name| schema_of(Some(&name)).to_owned()).collect()
}

/// Whether names mean by this path what they mean without one.
pub(super) fn is_default(path: &str) -> bool {
    schemas(path) == [DEFAULT_SCHEMA]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        assert_eq!(names("a, B ,\"C d\",\"$user\""), ["a", "b", "C d", "$user"]);
        assert!(names(" ").is_empty());
        assert_eq!(canonical("A,\"B\""), "a, \"B\"");
        assert!(is_default("\"$user\", public") && is_default("main") && !is_default("") && !is_default("a, public"));
    }
}
