//! Sequences. The binder writes their numbers and that of the session in the places of names, so SQL reaches none of these
//! by itself.

use base::Result;
use types::Value;

use super::{Call, Scalar};
use crate::sequence;

pub(super) const ROWS: &[Scalar] = &[
    volatile(
        "sequence_next",
        |c| Ok(Value::Int(sequence::next(c.int(0)?, c.int(1)?)?)),
        "The next value of a sequence.",
        ("nextval('s')", "1"),
    ),
    volatile(
        "sequence_current",
        |c| Ok(Value::Int(sequence::current(c.int(0)?, c.int(1)?)?)),
        "The value that the session was given last of a sequence.",
        ("currval('s')", "1"),
    ),
    volatile(
        "sequence_last",
        |c| Ok(Value::Int(sequence::last(c.int(0)?)?)),
        "The value that the session was given last of any sequence.",
        ("lastval()", "1"),
    ),
    volatile(
        "sequence_set",
        |c| {
            let is_called = matches!(c.value(3)?, Value::Bool(true));
            Ok(Value::Int(sequence::set(c.int(0)?, c.int(1)?, c.int(2)?, is_called)?))
        },
        "Sets the value that a sequence has handed out last, or, with false, will hand out next.",
        ("setval('s', 5)", "5"),
    ),
];

const fn volatile(
    name: &'static str,
    evaluate: fn(&Call<'_>) -> Result<Value>,
    documentation: &'static str,
    example: (&'static str, &'static str),
) -> Scalar {
    Scalar { volatile: true, ..Scalar::operator(name, None, evaluate, documentation, example) }
}
