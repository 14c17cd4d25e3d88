//! The order of `jsonb`: null, strings, numbers, booleans, arrays by their lengths, objects by theirs, and within them entry by
//! entry; an empty array that is no part of anything comes first, as in PostgreSQL.

use base::Result;

use super::number;
use super::tree::Tree;

/// Ends what may be longer elsewhere. No string of a `jsonb` has it.
const END: char = '\0';

/// A text whose order, and whose equality, are those of the value.
pub fn sort_key(json: &str) -> Result<String> {
    let tree = Tree::normal(json)?;
    let mut key = String::with_capacity(json.len() + 8);
    match &tree {
        Tree::Array(items) if items.is_empty() => key.push('0'),
        tree => write(&mut key, tree),
    }
    Ok(key)
}

fn write(key: &mut String, tree: &Tree<'_>) {
    match tree {
        Tree::Null => key.push('1'),
        Tree::String(text) => {
            key.push('2');
            key.push_str(text);
            key.push(END);
        }
        Tree::Number(text) => {
            key.push('3');
            number::write_key(key, text);
            key.push(END);
        }
        Tree::Bool(b) => key.push_str(if *b { "5" } else { "4" }),
        Tree::Array(items) => {
            key.push_str(&format!("6{:010}", items.len()));
            items.iter().for_each(|item| write(key, item));
        }
        Tree::Object(members) => {
            key.push_str(&format!("7{:010}", members.len()));
            for (name, value) in members {
                key.push_str(name);
                key.push(END);
                write(key, value);
            }
        }
    }
}
