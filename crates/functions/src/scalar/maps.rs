//! Maps. The binder says of which types keys and values are (`sql::bind::expr::map`), so that no overload does.

use base::{Error, Result, SqlState};
use types::ops::array::Elements;
use types::ops::{map, structure};
use types::{MapType, Value};

use super::{Call, Scalar};

pub(super) const ROWS: &[Scalar] = &[
    Scalar::new(
        "map",
        &["map"],
        &[],
        |c| {
            let ((keys, key), (values, value)) = (c.array(0)?, c.array(1)?);
            let (keys, values) = (Elements::new(keys, key), Elements::new(values, value));
            if keys.remaining() != values.remaining() {
                let message = "the lists of keys and of values of a map have different lengths";
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
            map::encode(&keys.zip(values).collect::<Vec<_>>(), result(c)?)
        },
        "The map of a list of keys to a list of values.",
        ("map(['a', 'b'], [1, 2])", "{a=1, b=2}"),
    ),
    Scalar::new(
        "map_from_entries",
        &["map_from_entries"],
        &[],
        |c| {
            let (entries, entry) = c.array(0)?;
            let Some(fields) = entry.structure() else { return c.wrong() };
            let mut all = Vec::new();
            for entry in Elements::new(entries, entry) {
                let Value::Str(entry) = entry else {
                    return Err(Error::new(SqlState("22004"), "an entry of a map is NULL"));
                };
                let mut values = structure::values(&entry, fields);
                all.push((values.next().unwrap_or(Value::Null), values.next().unwrap_or(Value::Null)));
            }
            map::encode(&all, result(c)?)
        },
        "The map of a list of entries: structs of a key and a value.",
        ("map_from_entries([{'k': 'a', 'v': 1}])", "{a=1}"),
    ),
    Scalar::new(
        "map_keys",
        &["map_keys"],
        &[],
        |c| {
            let (form, of) = argument(c)?;
            map::keys(form, of)
        },
        "The keys of a map as a list.",
        ("map_keys(MAP {'a': 1, 'b': 2})", "{a,b}"),
    ),
    Scalar::new(
        "map_values",
        &["map_values"],
        &[],
        |c| {
            let (form, of) = argument(c)?;
            map::values(form, of)
        },
        "The values of a map as a list.",
        ("map_values(MAP {'a': 1, 'b': 2})", "{1,2}"),
    ),
    Scalar::new(
        "map_entries",
        &["map_entries"],
        &[],
        |c| Ok(Value::str(c.text(0)?)),
        "The entries of a map as a list of structs.",
        ("map_entries(MAP {'a': 1})", "{\"{'key': a, 'value': 1}\"}"),
    ),
    Scalar::new(
        "map_extract",
        &["map_extract", "element_at"],
        &[],
        |c| {
            let (form, of) = argument(c)?;
            map::extract(form, of, c.text(1)?)
        },
        "A list of the value that a map has for a key; an empty one if there is none.",
        ("map_extract(MAP {'a': 1}, 'a')", "{1}"),
    ),
    Scalar::new(
        "map_concat",
        &["map_concat"],
        &[],
        |c| {
            let (form, of) = argument(c)?;
            map::concat(form, c.text(1)?, of)
        },
        "The entries of two maps; of a key that both have, the value of the second.",
        ("map_concat(MAP {'k': 1}, MAP {'k': 2, 'j': 3})", "{k=2, j=3}"),
    ),
];

fn argument<'a>(c: &Call<'a>) -> Result<(&'a str, &'static MapType)> {
    match c.type_of(0).map() {
        Some(of) => Ok((c.text(0)?, of)),
        None => c.wrong(),
    }
}

fn result(c: &Call<'_>) -> Result<&'static MapType> {
    c.result.map().map_or_else(|| c.wrong(), Ok)
}
