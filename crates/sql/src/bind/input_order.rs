//! The order in which FROM gives its rows: what `array_agg`, `string_agg` and those that are made of them keep where they say
//! none of their own, and window functions that see which row comes first. It is that of a subquery with ORDER BY, of a series or
//! an array, of VALUES, and of a table's rows.

use functions::WindowFunction;
use plan::{Expr, FrameBound, FrameUnit, Node, Op, SortKey, TableId, WindowCall};
use types::SqlType;

use super::Binder;
use super::parts::PlanBuilder;
use super::window::Windowed;

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
            Op::Values { columns, .. } | Op::SetOp { columns, .. } => {
                match columns.last().filter(|last| plan.numbers.contains(last)) {
                    Some(number) => {
                        let expr = plan.reference(*number);
                        Self::Keys(vec![SortKey { expr, descending: false, nulls_first: false }])
                    }
                    None => Self::Open,
                }
            }
            _ => Self::Open,
        }
    }
}

/// Whether rows are no more than one that is written.
pub(super) fn is_one_row(node: &Node) -> bool {
    match &node.op {
        Op::Values { rows, .. } => rows.len() == 1,
        Op::Map { input, .. } => is_one_row(input),
        _ => false,
    }
}

impl Binder<'_> {
    /// The keys of the order of rows that a query reads, and whether no two rows agree in them.
    pub(super) fn input_order(&mut self, level: usize) -> (Vec<SortKey>, bool) {
        self.plan.keys_of(&self.names.levels[level].input_order)
    }

    /// Gives windows without an order that of the rows which the query reads, where they could show another.
    pub(super) fn in_input_order(&mut self, windows: &mut [Windowed]) {
        let shows = |window: &&mut Windowed| window.window.order.is_empty() && shows_order(&window.call);
        let mut windows = windows.iter_mut().filter(shows).peekable();
        if windows.peek().is_some() {
            let (keys, _) = self.plan.keys_of(&self.names.level().input_order);
            windows.for_each(|window| window.window.ties.clone_from(&keys));
        }
    }
}

/// Whether results tell in which order the rows of a partition are that no key orders.
fn shows_order(call: &WindowCall) -> bool {
    use WindowFunction::{ArrayAgg, FirstValue, Lag, LastValue, Lead, NthValue, Ntile, RowNumber, StringAgg};
    let ends = (&call.frame.start, &call.frame.end);
    let is_whole = matches!(ends, (FrameBound::UnboundedPreceding, FrameBound::UnboundedFollowing));
    match call.function {
        RowNumber | Lag | Lead | Ntile | FirstValue | LastValue | NthValue | StringAgg | ArrayAgg => true,
        _ => call.frame.unit == FrameUnit::Rows && !is_whole,
    }
}

impl PlanBuilder {
    /// The keys of an order, and whether no two rows agree in them.
    pub(super) fn keys_of(&mut self, order: &InputOrder) -> (Vec<SortKey>, bool) {
        match order {
            InputOrder::Open => (Vec::new(), false),
            InputOrder::Keys(keys) => (keys.clone(), false),
            InputOrder::Rows(table) => {
                let Some(id) = self.row_id(*table) else { return (Vec::new(), false) };
                let expr = Expr::column(id, SqlType::BigInt);
                (vec![SortKey { expr, descending: false, nulls_first: false }], true)
            }
        }
    }
}
