//! Structs. What puts them together is what puts arrays together; the rest is fields by number.

use types::ops::structure;

use super::Scalar;

pub(super) const ROWS: &[Scalar] = &[Scalar::operator(
    "struct_field",
    None,
    |c| match c.type_of(0).structure() {
        Some(of) => Ok(structure::field(c.text(0)?, of, usize::try_from(c.int(1)?).unwrap_or(usize::MAX))),
        None => c.wrong(),
    },
    "The field of a number, counted from 0.",
    ("({'a': 1, 'b': 'x'}).b", "x"),
)
.or_null()];
