//! What lies at paths that mean several places, `$.a[*].b` and `$..b`, as DuckDB has them.

use base::Result;

use super::path::wrong;
use super::scan::{items, members, trimmed};
use super::text::unescaped;

/// A step of a path that may mean several places.
pub(super) enum Step {
    Key(String),
    /// From the end, if it is below zero.
    Item(i64),
    EachMember,
    EachItem,
    /// This value and all within it.
    Within,
}

/// Whether a path may mean several places.
pub fn means_several(path: &str) -> bool {
    path.starts_with('$') && (path.contains('*') || path.contains(".."))
}

/// The steps behind `$`.
pub(super) fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix('[') {
            let (inside, behind) = behind.split_once(']')?;
            steps.push(match inside.trim() {
                "*" => Step::EachItem,
                number => Step::Item(number.trim_start_matches('#').parse().ok()?),
            });
            rest = behind;
            continue;
        }
        rest = rest.strip_prefix('.')?;
        if rest.starts_with('.') {
            steps.push(Step::Within);
            rest = &rest[1..];
        }
        if let Some(behind) = rest.strip_prefix('"') {
            let (key, behind) = behind.split_once('"')?;
            steps.push(Step::Key(key.to_owned()));
            rest = behind;
            continue;
        }
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        match &rest[..end] {
            "" if matches!(steps.last(), Some(Step::Within)) && rest.starts_with('[') => {}
            "" => return None,
            "*" => steps.push(Step::EachMember),
            key => steps.push(Step::Key(key.to_owned())),
        }
        rest = &rest[end..];
    }
    Some(steps)
}

/// All that lies at a path, in its order.
pub fn extract_all<'a>(json: &'a str, path: &str) -> Result<Vec<&'a str>> {
    let steps = steps(path).ok_or_else(|| wrong(path))?;
    let mut found = vec![trimmed(json)];
    for step in steps {
        found = found.into_iter().flat_map(|value| taken(value, &step)).collect();
    }
    Ok(found)
}

/// Where a step leads to.
pub(super) fn taken<'a>(value: &'a str, step: &Step) -> Vec<&'a str> {
    match step {
        Step::Key(key) => {
            let is = |written: &str| unescaped(written).is_ok_and(|written| written == *key);
            members(value).filter(|(written, _)| is(written)).map(|(_, value)| value).last().into_iter().collect()
        }
        Step::Item(at) => {
            let all: Vec<&str> = items(value).collect();
            let at = if *at < 0 { *at + all.len() as i64 } else { *at };
            usize::try_from(at).ok().and_then(|at| all.get(at).copied()).into_iter().collect()
        }
        Step::EachMember => members(value).map(|(_, value)| value).collect(),
        Step::EachItem => items(value).collect(),
        Step::Within => {
            // One by one, as a value may be deep.
            let (mut all, mut open) = (Vec::new(), vec![value]);
            while let Some(value) = open.pop() {
                all.push(value);
                let mut inner: Vec<&str> = members(value).map(|(_, value)| value).chain(items(value)).collect();
                inner.reverse();
                open.append(&mut inner);
            }
            all
        }
    }
}
