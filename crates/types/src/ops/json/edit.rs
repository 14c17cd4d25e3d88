//! Changes of values as DuckDB has them: members keep their order, and paths are its own.

use std::borrow::Cow;

use base::{Error, Result, SqlState};

use super::path::keys;
use super::scan::{Kind, kind, trimmed};
use super::tree::Tree;

/// What becomes of a path that leads to something, or to nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edit {
    /// It has the value afterwards.
    Set,
    /// Only if there was nothing.
    Insert,
    /// Only if there was something.
    Replace,
    /// What is there goes.
    Remove,
}

fn text(tree: &Tree<'_>) -> Result<String> {
    let mut out = String::new();
    tree.write(&mut out, ":", ",")?;
    Ok(out)
}

/// The value without blanks.
pub fn minified(json: &str) -> Result<String> {
    text(&Tree::written(json)?)
}

/// The value without blanks, with the members of objects in the order of their keys.
pub fn sorted(json: &str) -> Result<String> {
    let mut tree = Tree::written(json)?;
    sort(&mut tree);
    text(&tree)
}

fn sort(tree: &mut Tree<'_>) {
    match tree {
        Tree::Array(items) => items.iter_mut().for_each(sort),
        Tree::Object(members) => {
            members.sort_by(|a, b| a.0.cmp(&b.0));
            members.iter_mut().for_each(|(_, value)| sort(value));
        }
        _ => {}
    }
}

/// RFC 7396: members of the patch that are null take members away, objects are patched, and everything else is replaced. If all is to
/// be `kept`, nulls say nothing, as DuckDB's json_deep_merge has it. What is no object becomes the patch as it is.
pub fn merge_patch(json: &str, patch: &str, kept: bool) -> Result<String> {
    if !matches!(kind(trimmed(json)), Kind::Object) {
        let says_nothing = kept && matches!(kind(trimmed(patch)), Kind::Null);
        return minified(if says_nothing { json } else { patch });
    }
    text(&merged(Tree::written(json)?, Tree::written(patch)?, kept))
}

fn merged<'a>(target: Tree<'a>, patch: Tree<'a>, kept: bool) -> Tree<'a> {
    let changes = match patch {
        Tree::Object(changes) => changes,
        Tree::Null if kept => return target,
        patch => return patch,
    };
    let mut members = if let Tree::Object(members) = target { members } else { Vec::new() };
    for (key, change) in changes {
        let at = members.iter().position(|(known, _)| *known == key);
        match (at, change) {
            (Some(_), Tree::Null) if kept => {}
            (Some(at), Tree::Null) => {
                members.remove(at);
            }
            (None, Tree::Null) => {}
            (Some(at), change) => {
                let before = std::mem::replace(&mut members[at].1, Tree::Null);
                members[at].1 = merged(before, change, kept);
            }
            (None, change) => members.push((key, merged(Tree::Null, change, kept))),
        }
    }
    Tree::Object(members)
}

/// The value with another one at a path.
pub fn edit(json: &str, path: &str, value: &str, edit: Edit) -> Result<String> {
    let steps = keys(path)?;
    let mut tree = Tree::written(json)?;
    if steps.is_empty() && edit == Edit::Remove {
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "the path to remove is the whole value"));
    }
    apply(&mut tree, &steps, &Tree::written(value)?, edit);
    text(&tree)
}

fn apply<'a>(tree: &mut Tree<'a>, steps: &'a [String], value: &Tree<'a>, edit: Edit) {
    let Some((step, rest)) = steps.split_first() else {
        if edit != Edit::Insert {
            *tree = value.clone();
        }
        return;
    };
    match tree {
        Tree::Object(members) => match members.iter().position(|(key, _)| *key == step.as_str()) {
            Some(at) if rest.is_empty() && edit == Edit::Remove => {
                members.remove(at);
            }
            Some(at) => apply(&mut members[at].1, rest, value, edit),
            None if rest.is_empty() && matches!(edit, Edit::Set | Edit::Insert) => {
                members.push((Cow::Borrowed(step), value.clone()));
            }
            None => {}
        },
        Tree::Array(items) => {
            let length = items.len() as i64;
            let at = step.parse::<i64>().map_or(-1, |at| if at < 0 { at + length } else { at });
            match usize::try_from(at) {
                Ok(at) if at < items.len() && rest.is_empty() && edit == Edit::Remove => {
                    items.remove(at);
                }
                Ok(at) if at < items.len() => apply(&mut items[at], rest, value, edit),
                Ok(at) if at == items.len() && rest.is_empty() && matches!(edit, Edit::Set | Edit::Insert) => {
                    items.push(value.clone());
                }
                _ => {}
            }
        }
        _ => {}
    }
}
