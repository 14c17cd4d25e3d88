//! Functions that make a `jsonb` of another.

use std::borrow::Cow;

use base::{Error, Result, SqlState};

use super::error::misused;
use super::text::write_quoted;
use super::tree::{Tree, key_order};
use crate::ops::string::check_length;

/// `a || b`: the members of both objects, the elements of both arrays; anything else beside an array is one of its elements.
pub fn concat(a: &str, b: &str) -> Result<String> {
    let made = match (Tree::normal(a)?, Tree::normal(b)?) {
        (Tree::Object(a), Tree::Object(b)) => Tree::object(a.into_iter().chain(b).collect()),
        (a, b) => {
            let items = |tree| if let Tree::Array(items) = tree { items } else { vec![tree] };
            Tree::Array(items(a).into_iter().chain(items(b)).collect())
        }
    };
    made.text()
}

/// `json - key`: without the member, or without the strings that are the text.
pub fn delete_key(json: &str, key: &str) -> Result<String> {
    delete_keys(json, &[key])
}

/// `json - keys`
pub fn delete_keys(json: &str, keys: &[&str]) -> Result<String> {
    let made = match Tree::normal(json)? {
        Tree::Object(mut members) => {
            members.retain(|(key, _)| !keys.contains(&&**key));
            Tree::Object(members)
        }
        Tree::Array(mut items) => {
            items.retain(|item| !matches!(item, Tree::String(text) if keys.contains(&&**text)));
            Tree::Array(items)
        }
        _ => return Err(misused("cannot delete from scalar")),
    };
    made.text()
}

/// `json - number`
pub fn delete_item(json: &str, at: i64) -> Result<String> {
    let mut tree = Tree::normal(json)?;
    match &mut tree {
        Tree::Array(items) => {
            if let Some(at) = index(at, items.len()) {
                items.remove(at);
            }
        }
        Tree::Object(_) => return Err(misused("cannot delete from object using integer index")),
        _ => return Err(misused("cannot delete from scalar")),
    }
    tree.text()
}

/// `json #- path`
pub fn delete_path(json: &str, path: &[&str]) -> Result<String> {
    let mut tree = Tree::normal(json)?;
    if !tree.is_container() {
        return Err(misused("cannot delete path in scalar"));
    }
    change(&mut tree, path, 0, &mut |place| {
        match place {
            Place::Member(members, Ok(at)) => drop(members.remove(at)),
            Place::Item(items, Some(at), _) => drop(items.remove(at)),
            _ => {}
        }
        Ok(())
    })?;
    tree.text()
}

/// `jsonb_set`: the value at the path replaced, or made if it is missing and that is asked for.
pub fn set(json: &str, path: &[&str], value: &str, create: bool) -> Result<String> {
    let (mut tree, value) = (Tree::normal(json)?, Tree::normal(value)?);
    if !tree.is_container() {
        return Err(misused("cannot set path in scalar"));
    }
    change(&mut tree, path, 0, &mut |place| {
        match place {
            Place::Member(members, Ok(at)) => members[at].1 = value.clone(),
            Place::Member(members, Err((at, key))) if create => members.insert(at, (key, value.clone())),
            Place::Item(items, Some(at), _) => items[at] = value.clone(),
            Place::Item(items, None, wanted) if create => {
                let at = if wanted < 0 { 0 } else { items.len() };
                items.insert(at, value.clone());
            }
            _ => {}
        }
        Ok(())
    })?;
    tree.text()
}

/// `SET j[1] = value`: the value at the path, of which is made what is missing: members, and elements behind an array's last one,
/// with nulls between. What a number leads to is an array, unless there is an object.
pub fn assign(json: &str, path: &[&str], value: &str) -> Result<String> {
    let (mut tree, value) = (Tree::normal(json)?, Tree::normal(value)?);
    put(&mut tree, path, 0, value)?;
    tree.text()
}

fn put<'a>(tree: &mut Tree<'a>, path: &[&str], step: usize, value: Tree<'a>) -> Result<()> {
    let Some((&first, rest)) = path.get(step..).and_then(|path| path.split_first()) else {
        *tree = value;
        return Ok(());
    };
    match tree {
        Tree::Object(members) => match members.binary_search_by(|(key, _)| key_order(key, first)) {
            Ok(at) => put(&mut members[at].1, path, step + 1, value),
            Err(at) => {
                members.insert(at, (Cow::Owned(first.to_owned()), made(rest, value)?));
                Ok(())
            }
        },
        Tree::Array(items) => {
            let wanted = number(first, step)?;
            if let Some(at) = index(wanted, items.len()) {
                return put(&mut items[at], path, step + 1, value);
            }
            let Ok(at) = usize::try_from(wanted) else {
                let message = format!("path element at position {} is out of range: {wanted}", step + 1);
                return Err(misused(&message));
            };
            pad(items, at)?;
            items.push(made(rest, value)?);
            Ok(())
        }
        _ => Err(misused("cannot replace existing key")
            .detail("The path assumes key is a composite object, but it is a scalar value.")),
    }
}

/// What lies behind a path that leads nowhere yet.
fn made<'a>(path: &[&str], value: Tree<'a>) -> Result<Tree<'a>> {
    let Some((&first, rest)) = path.split_first() else { return Ok(value) };
    let value = made(rest, value)?;
    Ok(match first.trim().parse::<i64>() {
        Err(_) => Tree::Object(vec![(Cow::Owned(first.to_owned()), value)]),
        Ok(at) => {
            let mut items = Vec::new();
            pad(&mut items, usize::try_from(at).unwrap_or(0))?;
            items.push(value);
            Tree::Array(items)
        }
    })
}

/// Adds nulls until there are so many elements.
fn pad(items: &mut Vec<Tree<'_>>, length: usize) -> Result<()> {
    check_length(length.saturating_mul("null, ".len()))?;
    items.resize(items.len().max(length), Tree::Null);
    Ok(())
}

/// The number that a step of a path is.
fn number(step: &str, at: usize) -> Result<i64> {
    step.trim().parse().map_err(|_| {
        let message = format!("path element at position {} is not an integer: \"{step}\"", at + 1);
        Error::new(SqlState::INVALID_TEXT, message)
    })
}

/// `jsonb_insert`: the value before or behind the element at the path, or as a new member.
pub fn insert(json: &str, path: &[&str], value: &str, behind: bool) -> Result<String> {
    let (mut tree, value) = (Tree::normal(json)?, Tree::normal(value)?);
    if !tree.is_container() {
        return Err(misused("cannot set path in scalar"));
    }
    change(&mut tree, path, 0, &mut |place| {
        match place {
            Place::Member(_, Ok(_)) => {
                return Err(misused("cannot replace existing key")
                    .hint("Try using the function jsonb_set to replace key value."));
            }
            Place::Member(members, Err((at, key))) => members.insert(at, (key, value.clone())),
            Place::Item(items, Some(at), _) => items.insert(at + usize::from(behind), value.clone()),
            Place::Item(items, None, wanted) => {
                let at = if wanted < 0 { 0 } else { items.len() };
                items.insert(at, value.clone());
            }
        }
        Ok(())
    })?;
    tree.text()
}

/// Where the last step of a path leads.
enum Place<'t, 'a> {
    /// To a member, or where it would stand.
    Member(&'t mut Vec<(Cow<'a, str>, Tree<'a>)>, std::result::Result<usize, (usize, Cow<'a, str>)>),
    /// To an element, if there is one of the number that is asked for.
    Item(&'t mut Vec<Tree<'a>>, Option<usize>, i64),
}

/// The element of a number, which counts from the end if it is below zero.
fn index(at: i64, length: usize) -> Option<usize> {
    let at = if at < 0 { at.checked_add(length as i64)? } else { at };
    usize::try_from(at).ok().filter(|at| *at < length)
}

/// Goes along a path and changes what it leads to; nothing, where it leads nowhere.
fn change<'a>(
    tree: &mut Tree<'a>,
    path: &[&str],
    step: usize,
    make: &mut dyn FnMut(Place<'_, 'a>) -> Result<()>,
) -> Result<()> {
    let Some((&first, rest)) = path.get(step..).and_then(|path| path.split_first()) else { return Ok(()) };
    match tree {
        Tree::Object(members) => {
            let found = members.binary_search_by(|(key, _)| key_order(key, first));
            match found {
                Ok(at) if !rest.is_empty() => change(&mut members[at].1, path, step + 1, make),
                Err(_) if !rest.is_empty() => Ok(()),
                found => make(Place::Member(members, found.map_err(|at| (at, Cow::Owned(first.to_owned()))))),
            }
        }
        Tree::Array(items) => {
            let wanted = number(first, step)?;
            match index(wanted, items.len()) {
                Some(at) if !rest.is_empty() => change(&mut items[at], path, step + 1, make),
                None if !rest.is_empty() => Ok(()),
                found => make(Place::Item(items, found, wanted)),
            }
        }
        _ => Ok(()),
    }
}

/// Without members that are null, at any depth; as a `json` in the order in which they are written.
pub fn strip_nulls(json: &str, normal: bool) -> Result<String> {
    let mut tree = if normal { Tree::normal(json)? } else { Tree::written(json)? };
    strip(&mut tree);
    if normal {
        return tree.text();
    }
    let mut out = String::new();
    tree.write(&mut out, ":", ",")?;
    Ok(out)
}

fn strip(tree: &mut Tree<'_>) {
    match tree {
        Tree::Object(members) => {
            members.retain(|(_, value)| *value != Tree::Null);
            members.iter_mut().for_each(|(_, value)| strip(value));
        }
        Tree::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// On many lines, each entry on its own.
pub fn pretty(json: &str) -> Result<String> {
    let mut out = String::new();
    indented(&mut out, &Tree::normal(json)?, 1)?;
    Ok(out)
}

fn indented(out: &mut String, tree: &Tree<'_>, depth: usize) -> Result<()> {
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("    ", depth));
        check_length(out.len())
    };
    match tree {
        Tree::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(out, depth)?;
                indented(out, item, depth + 1)?;
            }
            line(out, depth - 1)?;
            out.push(']');
        }
        Tree::Object(members) => {
            out.push('{');
            for (at, (key, value)) in members.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(out, depth)?;
                write_quoted(out, key);
                out.push_str(": ");
                indented(out, value, depth + 1)?;
            }
            line(out, depth - 1)?;
            out.push('}');
        }
        other => other.write(out, ": ", ", ")?,
    }
    Ok(())
}
