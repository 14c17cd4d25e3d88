//! JSON (decision 45). A `json` is its text as it was written, a `jsonb` its text in one form: members in the order of their
//! keys' lengths and bytes, each key once, a blank behind `:` and `,`, numbers written out. So both are texts wherever values
//! go, and what takes a member out of one reads as far as it must and copies nothing.
//!
//! [`scan`] finds values within a text, in one pass and without a tree; [`tree`] takes a text apart for what changes it.

mod change;
mod contain;
mod descend;
mod edit;
mod error;
mod find;
mod jsonpath;
mod number;
mod of;
mod order;
mod path;
mod plain;
pub mod scan;
mod structure;
mod text;
mod tree;
mod validate;
mod within;

#[cfg(test)]
mod tests;

pub use change::{assign, concat, delete_item, delete_key, delete_keys, delete_path, insert, pretty, set, strip_nulls};
pub use contain::{contains, exists};
pub use descend::{extract_all, means_several};
pub use edit::{Edit, edit, merge_patch, minified, sorted};
pub use error::MAX_DEPTH;
pub use find::{
    Part, elements, elements_text, entry_keys, entry_values, field, field_of_text, field_text, field_text_of_text,
    item, item_text, keys, length, member, member_text, members, path, path_text, type_of,
};
pub use jsonpath::PathCall;
pub use of::{cast_to, write, write_array};
pub use order::sort_key;
pub use path::{extract, extract_text, only_key};
pub use plain::is_plain;
pub use structure::{structure, type_name};
pub use text::{quote, unescaped, write_quoted};
pub use validate::{check, is_valid};
pub use within::within;

use base::Result;

/// The `jsonb` of a text.
///
/// ```
/// use types::ops::json::normalised;
/// assert_eq!(normalised("{\"b\":1e2, \"aa\":[ ] ,\"b\":2}"), Ok("{\"b\": 2, \"aa\": []}".into()));
/// ```
pub fn normalised(text: &str) -> Result<String> {
    check(text)?;
    normal_form(text)
}

/// The `jsonb` of a `json`.
pub fn normal_form(text: &str) -> Result<String> {
    tree::Tree::normal(text)?.text()
}
