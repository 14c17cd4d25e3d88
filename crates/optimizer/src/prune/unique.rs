//! Which columns identify a row.

use std::collections::HashSet;

use base::IdMap;
use plan::{ColumnId, Compare, Expr, ExprKind, JoinKind, Node, Op, TableId, TableInfo};

use crate::rewrite::at_most_one_row;

/// Whether no two rows of the result agree in all `columns`, taking NULLs as equal.
pub(crate) fn is_unique(node: &Node, columns: &HashSet<ColumnId>, tables: &IdMap<TableId, TableInfo>) -> bool {
    if at_most_one_row(node) || node.own_key().is_some_and(|key| key.iter().all(|c| columns.contains(c))) {
        return true;
    }
    match &node.op {
        Op::Scan { table, columns: scanned, .. } => tables[*table].statistics.unique_keys().iter().any(|key| {
            let has = |a: &usize| scanned.iter().any(|(attribute, c)| attribute == a && columns.contains(c));
            !key.is_empty() && key.iter().all(has)
        }),
        Op::Join { kind, left, right, condition, .. } => match kind {
            JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) | JoinKind::Single => is_unique(left, columns, tables),
            JoinKind::Inner | JoinKind::Left => {
                let once = is_unique(right, &equal_columns(condition, right), tables);
                once && is_unique(left, columns, tables)
            }
            _ => false,
        },
        _ => node.thinned().is_some_and(|input| is_unique(input, columns, tables)),
    }
}

/// The columns of one side that the condition compares for equality with something of the other side.
pub(crate) fn equal_columns(condition: &[Expr], side: &Node) -> HashSet<ColumnId> {
    let own: HashSet<ColumnId> = side.columns().into_iter().collect();
    let mut out = HashSet::new();
    for conjunct in condition {
        let ExprKind::Compare(Compare::Eq | Compare::NotDistinct, a, b) = &conjunct.kind else { continue };
        for (x, y) in [(a, b), (b, a)] {
            if let Some(c) = x.as_column()
                && own.contains(&c)
                && !y.uses(|c| own.contains(&c))
            {
                out.insert(c);
            }
        }
    }
    out
}
