//! Calls of functions that users define. Their first argument is the number of the function; whoever runs a statement computes
//! them before its plan runs, as they may be whole programs.

use base::{Error, Result};
use types::Value;

use super::{Call, Scalar};

pub(super) const ROWS: &[Scalar] =
    &[computed("routine", "A function that a user has defined."), computed("before_row", "A trigger's function.")];

const fn computed(name: &'static str, about: &'static str) -> Scalar {
    let evaluate: fn(&Call<'_>) -> Result<Value> = |call| match call.value(0)? {
        Value::Null => Ok(Value::Null),
        _ => Err(Error::unsupported("a call of such a function in this place")
            .hint("call it in the select list, in FROM or in VALUES")),
    };
    Scalar {
        volatile: true,
        strict: false,
        nullable: true,
        ..Scalar::operator(name, None, evaluate, about, ("f(1)", "2"))
    }
}
