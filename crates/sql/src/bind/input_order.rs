//! The order in which FROM gives its rows: what `array_agg`, `string_agg` and those that are made of them keep where they say
//! none of their own. It is that of a subquery with ORDER BY, of a series or an array, and of a table's rows.

use catalog::Field;
use plan::{ColumnId, ColumnInfo, Expr, Node, Op, SortKey, TableId};
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
    /// By the ids of a table's rows: the column that has them, once somebody asks.
    Rows(TableId, Option<ColumnId>),
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
            Op::Scan { table, .. } if plan.stored.contains(table) => Self::Rows(*table, None),
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
        match &mut self.names.levels[level].input_order {
            InputOrder::Open => (Vec::new(), false),
            InputOrder::Keys(keys) => (keys.clone(), false),
            InputOrder::Rows(_, id) => {
                let info = ColumnInfo { name: "row id".to_owned(), sql_type: SqlType::BigInt, nullable: false };
                let id = *id.get_or_insert_with(|| self.plan.columns.push(info));
                let expr = Expr::column(id, SqlType::BigInt);
                (vec![SortKey { expr, descending: false, nulls_first: false }], true)
            }
        }
    }
}

impl PlanBuilder {
    /// The scan gives the ids of its rows, if somebody has asked for them.
    pub(super) fn with_row_ids(&mut self, node: &mut Node, order: &InputOrder) {
        let InputOrder::Rows(wanted, Some(id)) = order else { return };
        if let Op::Scan { table, columns, .. } = &mut node.op
            && table == wanted
        {
            let fields = &mut self.tables[*table].fields;
            columns.push((fields.len(), *id));
            fields.push(Field { name: "row id".to_owned(), sql_type: SqlType::BigInt, nullable: false });
            return;
        }
        node.inputs_mut().for_each(|input| self.with_row_ids(input, order));
    }
}
