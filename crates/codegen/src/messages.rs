//! What generated code and the interpreter say when they fail on their own, in PostgreSQL's words.

use pipeline::ir::Ty;

pub(crate) const DIVISION_BY_ZERO: &str = "division by zero";
pub(crate) const FLOAT_OVERFLOW: &str = "value out of range: overflow";
pub(crate) const FLOAT_UNDERFLOW: &str = "value out of range: underflow";
pub(crate) const MORE_THAN_ONE_ROW: &str = "more than one row returned by a subquery used as an expression";

/// The message of 22003 for a result of a type.
pub(crate) const fn out_of_range(ty: Ty) -> &'static str {
    match ty {
        Ty::I16 => "smallint out of range",
        Ty::I32 => "integer out of range",
        Ty::I64 => "bigint out of range",
        Ty::I128 => "value overflows numeric format",
        _ => "value out of range",
    }
}
