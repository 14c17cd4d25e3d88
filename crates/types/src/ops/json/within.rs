//! The values within a value with the paths to them, as rows of DuckDB's `json_tree` and `json_each`.

use base::Result;

use super::descend::{steps, taken};
use super::path::wrong;
use super::scan::{Kind, items, kind, members, trimmed};
use super::structure::type_name;
use super::text::{quote, unescaped};
use crate::Value;

/// A value within another: a row of `json_tree` and `json_each`.
pub struct Within<'a> {
    /// Its key, or its number.
    pub key: Option<String>,
    /// Itself.
    pub value: &'a str,
    /// Its number among all values and keys.
    pub id: i64,
    /// That of the value that it is in.
    pub parent: Option<i64>,
    /// The path to it.
    pub full_key: String,
    /// The path to what it is in.
    pub path: String,
}

impl Within<'_> {
    /// What its columns are: key, value, type, atom, id, parent, fullkey, path.
    pub fn values(&self) -> [Value; 8] {
        let is_atom = !matches!(kind(self.value), Kind::Object | Kind::Array | Kind::Null);
        [
            self.key.as_deref().map_or(Value::Null, Value::str),
            Value::str(self.value),
            Value::str(type_name(self.value)),
            if is_atom { Value::str(self.value) } else { Value::Null },
            Value::Int(self.id),
            self.parent.map_or(Value::Null, Value::Int),
            Value::str(self.full_key.as_str()),
            Value::str(self.path.as_str()),
        ]
    }
}

/// The values within what lies at a path: with those within them, and itself, if `deep`.
pub fn within<'a>(json: &'a str, path: &str, deep: bool) -> Result<Vec<Within<'a>>> {
    let steps = steps(path).ok_or_else(|| wrong(path))?;
    let root =
        Within { key: None, value: trimmed(json), id: 0, parent: None, full_key: "$".to_owned(), path: "$".to_owned() };
    let mut found = vec![root];
    for step in &steps {
        let Some(before) = found.pop() else { break };
        let wanted = taken(before.value, step);
        // Parts of one text are told apart by where they are.
        found =
            children(&before).into_iter().filter(|c| wanted.iter().any(|w| w.as_ptr() == c.value.as_ptr())).collect();
        found.truncate(1);
    }
    let Some(mut root) = found.pop() else { return Ok(Vec::new()) };
    root.parent = None;
    root.key = None;
    root.path = root.full_key.clone();
    if !deep {
        let mut inner = children(&root);
        inner.iter_mut().for_each(|child| child.parent = None);
        let is_alone = inner.is_empty() && !matches!(kind(root.value), Kind::Object | Kind::Array);
        return Ok(if is_alone { vec![root] } else { inner });
    }
    let (mut all, mut open) = (Vec::new(), vec![root]);
    while let Some(value) = open.pop() {
        let mut inner = children(&value);
        all.push(value);
        inner.reverse();
        open.append(&mut inner);
    }
    Ok(all)
}

/// The members or elements of a value.
fn children<'a>(of: &Within<'a>) -> Vec<Within<'a>> {
    let mut all = Vec::new();
    let mut id = of.id;
    let mut add = |key: String, step: String, value: &'a str, keys: i64| {
        all.push(Within {
            key: Some(key),
            value,
            id: id + 1 + keys,
            parent: Some(of.id),
            full_key: format!("{}{step}", of.full_key),
            path: of.full_key.clone(),
        });
        id += keys + count(value);
    };
    for (written, value) in members(of.value) {
        let key = unescaped(written).map_or_else(|_| written.to_owned(), |key| key.into_owned());
        let is_plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let step = if is_plain { format!(".{key}") } else { format!(".{}", quote(&key)) };
        add(key, step, value, 1);
    }
    for (number, value) in items(of.value).enumerate() {
        add(number.to_string(), format!("[{number}]"), value, 0);
    }
    all
}

/// How many values and keys a value is made of, with itself.
fn count(value: &str) -> i64 {
    let (mut count, mut open) = (0, vec![value]);
    while let Some(value) = open.pop() {
        count += 1;
        for (_, member) in members(value) {
            count += 1;
            open.push(member);
        }
        open.extend(items(value));
    }
    count
}
