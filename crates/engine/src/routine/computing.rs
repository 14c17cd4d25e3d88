//! What calls are computed with: plans that are cut apart, run, and put together again with tables in the places of what has run.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use base::Result;
use catalog::Field;
use io::MemorySource;
use plan::{ColumnId, ColumnInfo, Cte, CteId, Expr, Node, Op, Plan, TableInfo};
use types::{Chunk, SqlType};

use super::chunks::merged;
use super::rows::node_calls;
use crate::environment::Environment;
use crate::result::QueryResult;
use crate::{execute, files};

/// A plan whose calls are computed.
pub(super) struct Computing<'e> {
    pub environment: &'e mut Environment,
    pub used: HashSet<ColumnId>,
}

impl Computing<'_> {
    /// A new column for an expression.
    pub(super) fn column_of(&mut self, plan: &mut Plan, expr: Expr) -> (ColumnId, Expr) {
        let info = ColumnInfo { name: String::new(), sql_type: expr.sql_type, nullable: true };
        let column = plan.columns.push(info);
        self.used.insert(column);
        (column, expr)
    }

    /// A new column of numbers.
    pub(super) fn number(&mut self, plan: &mut Plan) -> ColumnId {
        let info = ColumnInfo { name: "number".to_owned(), sql_type: SqlType::BigInt, nullable: false };
        let column = plan.columns.push(info);
        self.used.insert(column);
        column
    }

    /// The rows of what is below, these columns of it.
    pub(super) fn rows(&mut self, plan: &mut Plan, root: Node, kept: &[ColumnId]) -> Result<Vec<Chunk>> {
        if let Op::Values { columns, rows } = &root.op
            && columns.is_empty()
        {
            return Ok(rows.iter().map(|_| Chunk::new(1, Vec::new())).collect());
        }
        self.settle(plan, &root)?;
        let output = kept.iter().map(|column| (String::new(), *column)).collect();
        let (columns, tables, ctes) = (plan.columns.clone(), plan.tables.clone(), plan.ctes.clone());
        run_plan(self.environment, Plan { columns, tables, ctes, root, output })
    }

    /// What is read below a call and may be read above it, too, is computed once.
    fn settle(&mut self, plan: &mut Plan, root: &Node) -> Result<()> {
        let rounds = plan.rounds();
        for cte in ctes_below(plan, root) {
            let Cte { name, plan: definition, columns } = plan.ctes[cte].clone();
            if is_open(&definition) || matches!(definition.op, Op::Scan { .. }) || rounds.of(cte).is_some() {
                continue;
            }
            let read = columns.iter().map(|from| (*from, plan.columns.push(plan.columns[*from].clone())));
            let read: Vec<(ColumnId, ColumnId)> = read.collect();
            let output = read.iter().map(|(_, column)| (String::new(), *column)).collect();
            let root = Node::new(Op::CteScan { cte, columns: read });
            let (known, tables, ctes) = (plan.columns.clone(), plan.tables.clone(), plan.ctes.clone());
            let chunks = run_plan(self.environment, Plan { columns: known, tables, ctes, root, output })?;
            let plan_of_rows = self.table(plan, &columns, chunks);
            plan.ctes[cte] = Cte { name, plan: plan_of_rows, columns };
        }
        Ok(())
    }

    /// Chunks as a table of these columns.
    pub(super) fn table(&self, plan: &mut Plan, columns: &[ColumnId], chunks: Vec<Chunk>) -> Node {
        let fields: Vec<io::Field> = columns
            .iter()
            .map(|column| io::Field::new(format!("c{column:?}"), plan.columns[*column].sql_type))
            .collect();
        let types: Vec<SqlType> = fields.iter().map(|field| field.sql_type).collect();
        let rows = Arc::new(MemorySource::new(fields, merged(chunks, &types)));
        let made = files::table("calls", rows, &self.environment.database.0.samples);
        let fields: Vec<Field> = made.fields.into_iter().map(|field| Field { nullable: true, ..field }).collect();
        columns.iter().for_each(|column| plan.columns[*column].nullable = true);
        let table = TableInfo {
            name: "calls".to_owned(),
            fields,
            computed: Vec::new(),
            statistics: made.statistics,
            source: made.source,
        };
        let table = plan.tables.push(table);
        let columns = columns.iter().enumerate().map(|(at, column)| (at, *column)).collect();
        Node::new(Op::Scan { table, columns, predicates: Vec::new() })
    }
}

/// The recursions in whose rounds functions are called.
pub(super) fn calling_recursions(plan: &Plan) -> HashSet<CteId> {
    let rounds = plan.rounds();
    let inside = plan.ctes.iter().filter(|(_, cte)| node_calls(&cte.plan)).filter_map(|(id, _)| rounds.of(id));
    let term_calls = |node: &Node| match &node.op {
        Op::Recursion { inputs, .. } => inputs.iter().skip(1).any(|(term, _)| node_calls(term)),
        _ => false,
    };
    let own = plan.ctes.iter().filter(|(_, cte)| term_calls(&cte.plan)).map(|(id, _)| id);
    inside.chain(own).collect()
}

/// All rows of a plan whose calls are computed.
pub(super) fn run_plan(environment: &mut Environment, mut plan: Plan) -> Result<Vec<Chunk>> {
    // Those that are worked on are read by nobody below.
    plan.ctes.iter_mut().filter(|(_, cte)| is_open(&cte.plan)).for_each(|(_, cte)| cte.columns.clear());
    plan.close_arguments();
    let optimized = execute::optimize(environment, plan)?;
    let fields = crate::statement::result_columns(&optimized);
    let running = execute::start(environment, &optimized, false, environment.call.token())?;
    QueryResult::running(fields, running).collect()
}

/// The common table expressions that an operator reads, and those that these read, in their order.
fn ctes_below(plan: &Plan, root: &Node) -> BTreeSet<CteId> {
    fn visit(plan: &Plan, node: &Node, found: &mut BTreeSet<CteId>) {
        node.walk(&mut |node| {
            if let Op::CteScan { cte, .. } = node.op
                && found.insert(cte)
            {
                visit(plan, &plan.ctes[cte].plan, found);
            }
        });
    }
    let mut found = BTreeSet::new();
    visit(plan, root, &mut found);
    found
}

/// Whether rows leave the operator in an order that somebody asked for.
pub(super) fn is_ordered(node: &Node) -> bool {
    match &node.op {
        Op::Sort { .. } => true,
        Op::Map { input, .. } | Op::Filter { input, .. } | Op::Limit { input, .. } | Op::Repeat { input, .. } => {
            is_ordered(input)
        }
        _ => false,
    }
}

/// Whether the operator stands for one that is worked on.
fn is_open(node: &Node) -> bool {
    matches!(&node.op, Op::Values { columns, rows } if columns.is_empty() && rows.is_empty())
}

/// An operator without rows and columns, in the place of one that is worked on.
pub(super) fn nothing() -> Node {
    Node::new(Op::Values { columns: Vec::new(), rows: Vec::new() })
}
