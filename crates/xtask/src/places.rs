//! Places that must change to add a function, an operator or a type: the source files, tests aside, that name one.
//!
//! The ids of scalar functions are private to their table, so other code can name a function only by its constant in
//! `functions/src/scalar/names.rs` or, in the binder, by its SQL name; an aggregate's id is a variant of an `enum`.

use std::fs;
use std::path::Path;

use functions::ScalarFunction;
use functions::aggregate::AGGREGATES;

/// A concept and the files that name it, that of its definition among them.
#[derive(Clone, Debug)]
pub struct Places {
    /// A function's name in text forms, or a variant's.
    pub name: String,
    /// Files, from the root of the repository.
    pub files: Vec<String>,
}

/// The places of every scalar function.
pub fn scalars(root: &Path) -> Vec<Places> {
    let sources = sources(root);
    let constants = sources.iter().find(|(name, _)| name.ends_with("scalar/names.rs")).map_or("", |(_, text)| text);
    let places = |function: ScalarFunction| {
        let row = function.definition();
        let end = format!("= row(\"{}\");", row.name);
        let line = constants.lines().find(|l| l.ends_with(&end));
        let constant = line.and_then(|l| l.trim().strip_prefix("pub const ")?.split(':').next());
        let names = |name: &str, text: &str| {
            let row = name.starts_with("crates/functions/") && text.contains(&format!("\"{}\"", row.name));
            let constant = constant.is_some_and(|c| text.contains("ScalarFunction") && mentions(text, c));
            let call = name.starts_with("crates/sql/")
                && row_names(function).any(|n| text.contains(&format!("\"{n}\" =>")) || text.contains(&call_of(n)));
            row || constant || call
        };
        let files = sources.iter().filter(|(name, text)| names(name, text)).map(|(name, _)| name.clone()).collect();
        Places { name: row.name.to_owned(), files }
    };
    ScalarFunction::all().map(places).collect()
}

fn row_names(function: ScalarFunction) -> impl Iterator<Item = &'static str> {
    function.definition().names.iter().copied()
}

fn call_of(name: &str) -> String {
    format!("call(\"{name}\"")
}

/// The places of every aggregate function.
pub fn aggregates(root: &Path) -> Vec<Places> {
    let sources = sources(root);
    let places = |row: &functions::Aggregate| {
        let id = format!("{:?}", row.function);
        let names = |name: &str, text: &str| {
            name.ends_with("functions/src/aggregate.rs") || (text.contains("AggregateFunction") && mentions(text, &id))
        };
        let files = sources.iter().filter(|(name, text)| names(name, text)).map(|(name, _)| name.clone()).collect();
        Places { name: row.name.to_owned(), files }
    };
    AGGREGATES.iter().map(places).collect()
}

/// The places of each variant of an `enum`, for operators of the plan and for types.
pub fn variants(root: &Path, file: &str, name: &str) -> Vec<Places> {
    let sources = sources(root);
    let text = sources.iter().find(|(path, _)| path == file).map_or("", |(_, text)| text);
    let start = format!("pub enum {name} {{");
    let lines = text.lines().skip_while(|line| *line != start).skip(1).take_while(|line| *line != "}");
    let variant = |line: &str| {
        let line = line.strip_prefix("    ")?;
        let name: String = line.chars().take_while(|c| c.is_alphanumeric()).collect();
        name.starts_with(|c: char| c.is_ascii_uppercase()).then_some(name)
    };
    let places = |variant: String| {
        let word = format!("{name}::{variant}");
        let names = |text: &str| text.match_indices(&word).any(|(at, _)| is_whole(text, at, word.len()));
        let files = sources.iter().filter(|(_, text)| names(text)).map(|(path, _)| path.clone()).collect();
        Places { name: variant, files }
    };
    lines.filter_map(variant).map(places).collect()
}

/// Whether no identifier goes on around a word.
fn is_whole(text: &str, at: usize, length: usize) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || c == '_';
    !text[..at].ends_with(goes_on) && !text[at + length..].starts_with(goes_on)
}

/// Whether `::name` stands somewhere as a whole word.
fn mentions(text: &str, name: &str) -> bool {
    let word = format!("::{name}");
    text.match_indices(&word).any(|(at, _)| is_whole(&text[at..], 0, word.len()))
}

/// Names and texts of the crates' sources, without tests.
pub(crate) fn sources(root: &Path) -> Vec<(String, String)> {
    let files = crate::tidy::files(root).into_iter().filter_map(|path| {
        let name = path.strip_prefix(root).ok()?.to_string_lossy().into_owned();
        let source = name.starts_with("crates/") && name.contains("/src/") && name.ends_with(".rs");
        let test = name.contains("/tests") || name.ends_with("oracle.rs") || name.starts_with("crates/xtask/");
        if !source || test {
            return None;
        }
        let text = fs::read_to_string(&path).ok()?;
        let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
        Some((name, text[..end].to_owned()))
    });
    files.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_function_is_one_place() {
        let all = scalars(&crate::root());
        let once = all.iter().filter(|p| p.files.len() == 1).count();
        assert!(once * 2 > all.len(), "only {once} of {} functions are one place", all.len());
        for places in &all {
            assert!(places.files.iter().any(|f| f.starts_with("crates/functions/src/scalar/")), "{places:?}");
            let constant = places.files.iter().any(|f| f.ends_with("names.rs"));
            // One without fast path: its row, and the binder where the grammar has a form of it.
            let most = if constant { usize::MAX } else { 2 };
            assert!(places.files.len() <= most, "{places:?}");
        }
    }

    #[test]
    fn an_aggregate_is_three_places() {
        for places in aggregates(&crate::root()) {
            // Its row, what groups accumulate, what frames do; `count(*)` is the grammar's, so the binder names it.
            let most = if places.name == "count_star" { 4 } else { 3 };
            assert!(places.files.len() <= most, "{places:?}");
        }
    }
}
