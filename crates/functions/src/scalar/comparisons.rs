//! Functions that choose among arguments of one type. They skip NULLs, and are NULL only if all arguments are.

use std::cmp::Ordering;

use types::Value;

use super::{Call, Scalar};

pub(super) const ROWS: &[Scalar] = &[
    Scalar {
        strict: false,
        ..Scalar::operator(
            "greatest",
            None,
            |call| Ok(extreme(call, Ordering::Greater)),
            "The greatest of the arguments that are not NULL.",
            ("greatest(3, NULL, 7)", "7"),
        )
    },
    Scalar {
        strict: false,
        ..Scalar::operator(
            "least",
            None,
            |call| Ok(extreme(call, Ordering::Less)),
            "The least of the arguments that are not NULL.",
            ("least(3, NULL, 7)", "3"),
        )
    },
];

fn extreme(call: &Call<'_>, wanted: Ordering) -> Value {
    let mut best = Value::Null;
    for value in call.values.iter().filter(|v| !v.is_null()) {
        if best.is_null() || value.total_cmp(&best) == wanted {
            best = value.clone();
        }
    }
    best
}
