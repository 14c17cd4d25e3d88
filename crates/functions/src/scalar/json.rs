//! PostgreSQL's functions and operators of JSON, and DuckDB's beside them; decision 45. Which operator's function it is, and NULLs
//! among the parts of what is built, are the binder's matter.

pub(super) mod ask;
pub(super) mod build;
pub(super) mod change;
pub(super) mod edit;
pub(super) mod find;
pub(super) mod parts;
pub(super) mod paths;

use base::Result;
use types::Value;
use types::ops::array::Elements;

use super::Call;

/// The texts of an array that are not NULL.
fn some_texts(c: &Call<'_>, i: usize) -> Result<Vec<String>> {
    let (array, element) = c.array(i)?;
    let text = |value| if let Value::Str(text) = value { Some(text.to_string()) } else { None };
    Ok(Elements::new(array, element).filter_map(text).collect())
}
