//! Lists of which nobody reads more than the first few elements: `(array_agg(x ORDER BY y DESC))[1]`, `max(x, 3)`. The aggregate
//! keeps no others.

use std::collections::HashMap;

use base::Result;
use functions::ScalarFunction as F;
use plan::{ColumnId, Expr, ExprKind, Node, Op, Plan, Uses};
use types::{SqlType, Value};

use crate::rewrite::each_operator;
use crate::{Check, Pass};

/// See the module.
pub struct FirstElements;

/// How often the first elements of a list are read, and how many at most.
type Asked = HashMap<ColumnId, (usize, i64)>;

/// More are no few.
const MOST: i64 = 1000;

impl Pass for FirstElements {
    fn name(&self) -> &'static str {
        "first_elements"
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        let mut asked = Asked::new();
        let mut visit = |node: &Node| node.expressions().for_each(|expr| note(expr, &mut asked));
        plan.root.walk(&mut visit);
        plan.ctes.values().for_each(|cte| cte.plan.walk(&mut visit));
        let uses = Uses::of(plan);
        asked.retain(|column, (times, most)| *times == uses.times(*column) && *most <= MOST);
        each_operator(plan, check, &|_, node| rewrite(node, &asked))
    }
}

fn rewrite(mut node: Node, asked: &Asked) -> Node {
    if let Op::Aggregate { aggregates, .. } = &mut node.op {
        for (column, call) in aggregates {
            if let (Some((_, most)), Some(first)) = (asked.get(column), call.function.of_first()) {
                let most = Expr::constant(Value::Int(*most), SqlType::BigInt);
                match call.function.is_of_texts() {
                    // What separates the texts of lists of one are no letters.
                    true if !is_empty(&call.arguments[1]) => continue,
                    true => call.arguments[1] = most,
                    false => call.arguments.insert(1, most),
                }
                call.function = first;
            }
        }
    }
    node
}

fn is_empty(text: &Expr) -> bool {
    match &text.kind {
        ExprKind::Const(Value::Str(text)) => text.is_empty(),
        ExprKind::Coalesce(parts) => parts.iter().all(is_empty),
        _ => false,
    }
}

fn note(expr: &Expr, asked: &mut Asked) {
    if let Some((column, most)) = first_of(expr) {
        let known = asked.entry(column).or_default();
        *known = (known.0 + 1, known.1.max(most));
    }
    expr.children().for_each(|child| note(child, asked));
}

/// The list of which an expression reads the first elements, and how many.
fn first_of(expr: &Expr) -> Option<(ColumnId, i64)> {
    let ExprKind::Call(function, arguments) = &expr.kind else { return None };
    let last = match (*function, arguments.as_slice()) {
        (F::LIST_TAKE | F::LIST_EXTRACT | F::ARRAY_SUBSCRIPT, [_, last]) => last,
        (F::ARRAY_SLICE, [_, _, last]) => last,
        _ => return None,
    };
    match last.kind {
        ExprKind::Const(Value::Int(most)) if most > 0 => Some((arguments[0].as_column()?, most)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_no_longer_than_what_is_read() {
        crate::testing::check(
            &[&FirstElements],
            "\
output [a = a#3, b = b#4]
  map [a#3:integer? = array_subscript(l#2, 2::bigint)::integer, b#4:integer[]? = list_take(l#2, 3::bigint)]
    aggregate [] [l#2:integer[]? = array_agg(0::bigint, a#0, a#1)]
      scan t t0 [a#0:bigint = 0, a#1:bigint = 1]
",
            "\
output [a = a#3, b = b#4]
  map [a#3:integer? = array_subscript(l#2, 2::bigint)::integer, b#4:integer[]? = list_take(l#2, 3::bigint)]
    aggregate [] [l#2:integer[]? = array_agg_first(0::bigint, 3::bigint, a#0, a#1)]
      scan t t0 [a#0:bigint = 0, a#1:bigint = 1]
",
        );
    }

    #[test]
    fn lists_that_are_read_whole_stay_whole() {
        for read in [
            "list_extract(l#2, 100000::bigint)::integer",
            "array_subscript(l#2, -1::bigint)::integer",
            "array_subscript(l#2, n#5)::integer",
        ] {
            let plan = format!(
                "output [a = a#3]\n  map [a#3:integer? = {read}]\n    \
                 aggregate [n#5:bigint = a#0] [l#2:integer[]? = array_agg(0::bigint, a#0, a#1)]\n      \
                 scan t t0 [a#0:bigint = 0, a#1:bigint = 1]\n"
            );
            crate::testing::check(&[&FirstElements], &plan, &plan);
        }
        let both = "\
output [a = a#3, l = l#2]
  map [a#3:integer? = array_subscript(l#2, 1::bigint)::integer]
    aggregate [] [l#2:integer[]? = array_agg(0::bigint, a#0, a#1)]
      scan t t0 [a#0:bigint = 0, a#1:bigint = 1]
";
        crate::testing::check(&[&FirstElements], both, both);
    }
}
