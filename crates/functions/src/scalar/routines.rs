//! Calls of functions that users define. Their first argument is the number of the function; whoever runs a statement computes
//! them before its plan runs, as they may be whole programs.

use base::Error;
use types::Value;

use super::Scalar;

pub(super) const ROWS: &[Scalar] = &[Scalar {
    volatile: true,
    strict: false,
    nullable: true,
    ..Scalar::operator(
        "routine",
        None,
        |call| match call.value(0)? {
            Value::Null => Ok(Value::Null),
            _ => Err(Error::unsupported("a call of such a function in this place")
                .hint("call it in the select list, in FROM or in VALUES")),
        },
        "A function that a user has defined.",
        ("f(1)", "2"),
    )
}];
