//! The order in which FROM gives its rows: what `array_agg`, `string_agg` and those that are made of them keep where they say
//! none of their own. It is that of a subquery with ORDER BY, of a series or an array, and of a table's rows.

use plan::{Expr, Node, Op, SortKey, TableId};
use types::SqlType;

use super::Binder;
use super::parts::PlanBuilder;

/// See the module.
#[derive(Default)]
pub(super) enum InputOrder {
    /// None that anybody could rely on.
    #[default]
    Open,
    /// By these keys.
    Keys(Vec<SortKey>),
    /// By the ids of a table's rows.
    Rows(TableId),
}

impl InputOrder {
    /// The order of rows of FROM.
    pub fn of(node: &Node, plan: &PlanBuilder) -> Self {
        match &node.op {
            Op::Sort { keys, .. } if keys.iter().all(|key| !key.expr.is_volatile() && !key.expr.has_subquery()) => {
                Self::Keys(keys.clone())
            }
            Op::Map { input, .. } | Op::Filter { input, .. } => Self::of(input, plan),
            Op::Repeat { input, number, .. } if is_one_row(input) => {
                let expr = plan.reference(*number);
                Self::Keys(vec![SortKey { expr, descending: false, nulls_first: false }])
            }
            Op::Scan { table, .. } if plan.series.contains_key(table) => {
                let (value, descending) = plan.series[table];
                Self::Keys(vec![SortKey { expr: plan.reference(value), descending, nulls_first: false }])
            }
            Op::Scan { table, .. } if plan.stored.contains(table) => Self::Rows(*table),
            _ => Self::Open,
        }
    }
}

fn is_one_row(node: &Node) -> bool {
    match &node.op {
        Op::Values { rows, .. } => rows.len() == 1,
        Op::Map { input, .. } => is_one_row(input),
        _ => false,
    }
}

impl Binder<'_> {
    /// The keys of the order of rows that a query reads, and whether no two rows agree in them.
    pub(super) fn input_order(&mut self, level: usize) -> (Vec<SortKey>, bool) {
        match &self.names.levels[level].input_order {
            InputOrder::Open => (Vec::new(), false),
            InputOrder::Keys(keys) => (keys.clone(), false),
            InputOrder::Rows(table) => {
                let Some(id) = self.plan.row_id(*table) else { return (Vec::new(), false) };
                let expr = Expr::column(id, SqlType::BigInt);
                (vec![SortKey { expr, descending: false, nulls_first: false }], true)
            }
        }
    }
}
