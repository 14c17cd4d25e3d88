//! `row_number() <= k` above a window: a limit for each partition below it, past which no row is numbered.

use functions::WindowFunction;
use plan::{ColumnId, ColumnInfo, Compare, Expr, ExprKind, Node, Op, SortKey, WindowCall};
use types::{SqlType, Value};

use crate::rewrite::{Context, filter, map};

/// Whether the function's results for the first rows of a partition do not depend on later ones.
pub(super) fn counts_rows_before(call: &WindowCall) -> bool {
    use WindowFunction::{DenseRank, Rank, RowNumber};
    matches!(call.function, RowNumber | Rank | DenseRank) && call.order.is_empty()
}

/// What a condition on a row number says: it is at most `most`, or exactly that.
#[derive(Clone, Copy)]
struct Bound {
    column: ColumnId,
    most: u64,
    exactly: bool,
}

/// The filter above a window as a limit below it, if there is such a condition.
pub(super) fn simplify(context: &mut Context<'_>, mut node: Node) -> Node {
    let Op::Filter { input, predicates } = &mut node.op else { return node };
    let Op::Window { input: below, keys, functions } = &mut input.op else { return node };
    let found = predicates.iter().enumerate().find_map(|(at, predicate)| {
        let bound = bound_of(predicate)?;
        let is_it = |call: &WindowCall| call.function == WindowFunction::RowNumber && counts_rows_before(call);
        let (_, call) = functions.iter().find(|(c, call)| *c == bound.column && is_it(call))?;
        let agrees = |f: &WindowCall| counts_rows_before(f) && f.partition == call.partition && f.peers <= call.peers;
        // A random key would be another one the second time.
        let fits = functions.iter().all(|(_, f)| agrees(f)) && !keys.iter().any(|k| k.expr.is_volatile());
        fits.then_some((at, bound, call.partition, call.peers))
    });
    let Some((at, bound, partition, peers)) = found else { return node };
    let alone = functions.len() == 1;
    if alone || !bound.exactly {
        predicates.remove(at);
    }
    let below = crate::rewrite::take(below);
    let (keys, functions) = (std::mem::take(keys), std::mem::take(functions));
    let predicates = std::mem::take(predicates);
    let above = match bound.exactly && alone {
        true => {
            let number = Expr::constant(Value::Int(bound.most as i64), SqlType::BigInt);
            let skipped = bound.most.saturating_sub(1);
            let only = limited(context, below, &keys[..peers], partition, (bound.most - skipped, skipped));
            map(only, vec![(bound.column, number)])
        }
        false => {
            let input = Box::new(limited(context, below, &keys[..peers], partition, (bound.most, 0)));
            Node::new(Op::Window { input, keys, functions })
        }
    };
    filter(above, predicates)
}

/// The first rows, so many after so many are left out, of each partition.
fn limited(
    context: &mut Context<'_>,
    input: Node,
    keys: &[SortKey],
    partition: usize,
    (limit, offset): (u64, u64),
) -> Node {
    let (limit, order) = (Some(limit), keys[partition..].to_vec());
    let (mut columns, mut computed) = (Vec::new(), Vec::new());
    for SortKey { expr, .. } in &keys[..partition] {
        columns.push(expr.as_column().unwrap_or_else(|| {
            let info = ColumnInfo { name: "partition".to_owned(), sql_type: expr.sql_type, nullable: true };
            let column = context.columns.push(info);
            computed.push((column, expr.clone()));
            column
        }));
    }
    let input = Box::new(map(input, computed));
    Node::new(match (partition, order.is_empty()) {
        (0, true) => Op::Limit { input, limit, offset },
        (0, false) => Op::Sort { input, keys: order, limit, offset },
        _ => Op::GroupLimit { input, partition: columns, keys: order, limit, offset },
    })
}

fn bound_of(predicate: &Expr) -> Option<Bound> {
    let ExprKind::Compare(op, a, b) = &predicate.kind else { return None };
    let (op, column, constant) = match (a.as_column(), b.as_column()) {
        (Some(column), _) => (*op, column, b),
        (_, Some(column)) => (op.swapped(), column, a),
        _ => return None,
    };
    let &Value::Int(k) = constant.as_constant()? else { return None };
    let most = u64::try_from(k).unwrap_or(0);
    match op {
        Compare::Le => Some(Bound { column, most, exactly: false }),
        Compare::Lt => Some(Bound { column, most: most.saturating_sub(1), exactly: false }),
        Compare::Eq => Some(Bound { column, most, exactly: true }),
        _ => None,
    }
}
