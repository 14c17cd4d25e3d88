//! The least, greatest, first or last value of a partition's key: the key itself, which all rows of a frame share.

use functions::{AggregateFunction, WindowFunction};
use plan::{Expr, FrameBound, FrameExclusion, Node, Op, SortKey, WindowCall};
use types::SqlType;

use crate::rewrite::{Context, map};

/// The window without such calls, and their results computed above it.
pub(super) fn simplify(_: &mut Context<'_>, mut node: Node) -> Node {
    let Op::Window { input, keys, functions } = &mut node.op else { return node };
    let (found, rest): (Vec<_>, Vec<_>) =
        std::mem::take(functions).into_iter().partition(|(_, call)| key_of(call, keys).is_some());
    let columns =
        found.into_iter().filter_map(|(column, call)| Some((column, key_of(&call, keys)?.clone()))).collect::<Vec<_>>();
    *functions = rest;
    if columns.is_empty() {
        return node;
    }
    let below = if functions.is_empty() { crate::rewrite::take(input) } else { node };
    map(below, columns)
}

/// The key that a call results in.
fn key_of<'c>(call: &'c WindowCall, keys: &[SortKey]) -> Option<&'c Expr> {
    use AggregateFunction::{Max, Min};
    let [key] = call.arguments.as_slice() else { return None };
    let shared = match call.function {
        WindowFunction::Aggregate(Min | Max) => true,
        WindowFunction::FirstValue | WindowFunction::LastValue => call.order.is_empty(),
        _ => false,
    };
    let fits = shared
        && call.filter.is_none()
        && holds_current_row(call)
        && key.sql_type == call.sql_type
        && !key.is_volatile()
        && keys[..call.partition].iter().any(|k| k.expr.same(key))
        // Of these, values that differ are equal: the least one is not each row's own.
        && !matches!(key.sql_type, SqlType::Real | SqlType::Double | SqlType::Interval);
    fits.then_some(key)
}

fn holds_current_row(call: &WindowCall) -> bool {
    use FrameBound::{CurrentRow, UnboundedFollowing, UnboundedPreceding};
    matches!(call.frame.start, UnboundedPreceding | CurrentRow)
        && matches!(call.frame.end, UnboundedFollowing | CurrentRow)
        && call.frame.exclude == FrameExclusion::NoOthers
}
