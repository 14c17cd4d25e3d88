//! Calls in queries: they are computed before the query runs, by the client's thread, as each may be a program with queries of
//! its own, for which no worker may wait.
//!
//! An operator that computes calls is cut off from what is below: that runs first, the calls are computed for each of its rows,
//! and the rows with their values take its place as a table. So a call happens once for each row that comes to it, and CASE
//! and AND decide whether it happens, as everywhere.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use base::{Error, Result};
use catalog::Field;
use io::MemorySource;
use plan::eval::eval_in;
use plan::{ColumnId, ColumnInfo, Expr, ExprKind, JoinKind, Node, Op, Plan, TableInfo};
use types::{Chunk, ColumnBuilder, SqlType};

use super::rows::{Row, calls, calls_routines, node_calls, rows_of_tables, used_columns};
use crate::environment::Environment;
use crate::result::QueryResult;
use crate::{execute, files};

/// Computes the calls of a plan.
pub(crate) fn compute_calls(environment: &mut Environment, plan: &mut Plan) -> Result<()> {
    if !calls_routines(plan) {
        return Ok(());
    }
    rows_of_tables(environment, plan)?;
    let used = used_columns(plan);
    let mut computing = Computing { environment, used };
    for cte in plan.ctes.keys().collect::<Vec<_>>() {
        let mut node = std::mem::replace(&mut plan.ctes[cte].plan, nothing());
        let done = computing.node(plan, &mut node);
        plan.ctes[cte].plan = node;
        done?;
    }
    let mut root = std::mem::replace(&mut plan.root, nothing());
    let done = computing.node(plan, &mut root);
    plan.root = root;
    done
}

/// An operator without rows and columns, in the place of one that is worked on.
fn nothing() -> Node {
    Node::new(Op::Values { columns: Vec::new(), rows: Vec::new() })
}

struct Computing<'e> {
    environment: &'e mut Environment,
    used: HashSet<ColumnId>,
}

impl Computing<'_> {
    /// Computes the calls of an operator and of all below.
    fn node(&mut self, plan: &mut Plan, node: &mut Node) -> Result<()> {
        // What is asked above a join comes before the calls of its condition.
        if let Op::Filter { input, predicates } = &mut node.op
            && let Op::Join { kind: JoinKind::Inner, condition, .. } = &mut input.op
        {
            predicates.extend(condition.extract_if(.., |predicate| calls(predicate)));
        }
        for input in node.inputs_mut() {
            self.node(plan, input)?;
        }
        for expr in node.expressions_mut() {
            self.subqueries(plan, expr)?;
        }
        if !node.expressions().any(calls) {
            return Ok(());
        }
        match &mut node.op {
            Op::Map { .. } => self.map(plan, node),
            Op::Filter { input, predicates } => {
                // Those before the first call decide whether it happens.
                let at = predicates.iter().position(calls).unwrap_or(0);
                let rest = predicates.split_off(at);
                let (column, first) = self.column_of(plan, rest[0].clone());
                let mut below = std::mem::replace(&mut **input, nothing());
                if !predicates.is_empty() {
                    below = Node::new(Op::Filter { input: Box::new(below), predicates: std::mem::take(predicates) });
                }
                let mut map = Node::new(Op::Map { input: Box::new(below), columns: vec![(column, first)] });
                self.map(plan, &mut map)?;
                let asked = std::iter::once(Expr::column(column, SqlType::Bool)).chain(rest.into_iter().skip(1));
                (**input, *predicates) = (map, asked.collect());
                if predicates.iter().any(calls) {
                    let predicates = predicates.split_off(1);
                    let filtered = std::mem::replace(node, nothing());
                    *node = Node::new(Op::Filter { input: Box::new(filtered), predicates });
                    return self.node(plan, node);
                }
                Ok(())
            }
            Op::Join { kind: JoinKind::Inner, condition, .. } => {
                let (calling, others) = std::mem::take(condition).into_iter().partition(calls);
                *condition = others;
                let joined = std::mem::replace(node, nothing());
                *node = Node::new(Op::Filter { input: Box::new(joined), predicates: calling });
                self.node(plan, node)
            }
            Op::Values { rows, .. } => {
                for expr in rows.iter_mut().flatten().filter(|expr| calls(expr)) {
                    let scope = Row { columns: &[], row: &[], environment: RefCell::new(self.environment) };
                    let value = eval_in(expr, &scope)?;
                    *expr = Expr::constant(value, expr.sql_type).at(expr.position);
                }
                Ok(())
            }
            Op::Aggregate { .. } | Op::Sort { .. } | Op::Window { .. } | Op::GroupLimit { .. } | Op::Repeat { .. } => {
                self.below(plan, node)
            }
            _ => {
                Err(Error::unsupported("a call of a user's function in this place").hint("call it in the select list"))
            }
        }
    }

    /// Whatever calls is computed by a map below.
    fn below(&mut self, plan: &mut Plan, node: &mut Node) -> Result<()> {
        let mut columns = Vec::new();
        for expr in node.expressions_mut().filter(|expr| calls(expr)) {
            let sql_type = expr.sql_type;
            let (column, computed) = self.column_of(plan, expr.clone());
            columns.push((column, computed));
            *expr = Expr::column(column, sql_type);
        }
        for input in node.inputs_mut().take(1) {
            let below = std::mem::replace(input, nothing());
            let mut map = Node::new(Op::Map { input: Box::new(below), columns: std::mem::take(&mut columns) });
            self.map(plan, &mut map)?;
            *input = map;
        }
        Ok(())
    }

    /// A new column for an expression.
    fn column_of(&mut self, plan: &mut Plan, expr: Expr) -> (ColumnId, Expr) {
        let info = ColumnInfo { name: String::new(), sql_type: expr.sql_type, nullable: true };
        let column = plan.columns.push(info);
        self.used.insert(column);
        (column, expr)
    }

    fn subqueries(&mut self, plan: &mut Plan, expr: &mut Expr) -> Result<()> {
        if let ExprKind::Subquery(subquery) = &mut expr.kind
            && node_calls(&subquery.plan)
        {
            let mut inner = std::mem::replace(&mut subquery.plan, nothing());
            let done = self.node(plan, &mut inner);
            subquery.plan = inner;
            done?;
        }
        for child in expr.children_mut() {
            self.subqueries(plan, child)?;
        }
        Ok(())
    }

    /// A map as a table of its rows.
    fn map(&mut self, plan: &mut Plan, node: &mut Node) -> Result<()> {
        let Op::Map { input, columns } = &mut node.op else { return Err(Error::internal("calls outside of a map")) };
        let others: Vec<(ColumnId, Expr)> = columns.extract_if(.., |(_, expr)| !calls(expr)).collect();
        let there: HashSet<ColumnId> = input.columns().into_iter().collect();
        let reads_around = |(_, expr): &(ColumnId, Expr)| expr.uses(|column| !there.contains(&column));
        if !input.free_columns().is_empty() || columns.iter().any(reads_around) {
            return Err(Error::unsupported("a call of a user's function in a subquery that reads columns around it")
                .hint("compute it in FROM, outside of the subquery"));
        }
        if columns.iter().any(|(_, expr)| expr.has_subquery()) {
            return Err(Error::unsupported("a subquery beside or inside of a call of a user's function")
                .hint("compute the subquery in a WITH clause or in FROM"));
        }
        let needed = |column: &ColumnId| self.used.contains(column);
        let kept: Vec<ColumnId> = input.columns().into_iter().filter(needed).collect();
        let below = std::mem::replace(&mut **input, nothing());
        let (computed, mut chunks) = (std::mem::take(columns), self.rows(plan, below, &kept)?);
        let (budget, mut charged) = (self.environment.statement_budget(), Vec::with_capacity(chunks.len()));
        for chunk in &mut chunks {
            *chunk = self.computed(&kept, &computed, std::mem::replace(chunk, Chunk::new(0, Vec::new())))?;
            charged.push(budget.reserve(chunk.bytes(), "rows of calls")?);
        }
        let all: Vec<ColumnId> = kept.into_iter().chain(computed.iter().map(|(column, _)| *column)).collect();
        *node = self.table(plan, &all, chunks);
        if !others.is_empty() {
            let table = std::mem::replace(node, nothing());
            *node = Node::new(Op::Map { input: Box::new(table), columns: others });
        }
        Ok(())
    }

    /// The rows of what is below, these columns of it.
    fn rows(&mut self, plan: &Plan, root: Node, kept: &[ColumnId]) -> Result<Vec<Chunk>> {
        if let Op::Values { columns, rows } = &root.op
            && columns.is_empty()
        {
            return Ok(rows.iter().map(|_| Chunk::new(1, Vec::new())).collect());
        }
        let output = kept.iter().map(|column| (String::new(), *column)).collect();
        let (columns, tables, mut ctes) = (plan.columns.clone(), plan.tables.clone(), plan.ctes.clone());
        // One that is worked on is read by nobody below.
        let is_open =
            |node: &Node| matches!(&node.op, Op::Values { columns, rows } if columns.is_empty() && rows.is_empty());
        let mut reads_open = false;
        root.walk(&mut |node| {
            reads_open |= matches!(&node.op, Op::CteScan { cte, .. } if is_open(&ctes[*cte].plan));
        });
        if reads_open {
            return Err(Error::unsupported("a call of a user's function in a recursive query's recursive term"));
        }
        ctes.iter_mut().filter(|(_, cte)| is_open(&cte.plan)).for_each(|(_, cte)| cte.columns.clear());
        let mut below = Plan { columns, tables, ctes, root, output };
        below.close_arguments();
        let optimized = execute::optimize(self.environment, below)?;
        let fields = crate::statement::result_columns(&optimized);
        let running = execute::start(self.environment, &optimized, false, self.environment.call.token())?;
        QueryResult::running(fields, running).collect()
    }

    /// A chunk with the columns that are computed.
    fn computed(&mut self, kept: &[ColumnId], computed: &[(ColumnId, Expr)], chunk: Chunk) -> Result<Chunk> {
        let rows = chunk.rows();
        let mut builders: Vec<ColumnBuilder> =
            computed.iter().map(|(_, expr)| ColumnBuilder::new(expr.sql_type, rows)).collect();
        for row in 0..rows {
            self.environment.call.token().check()?;
            let values = chunk.row(row);
            for (builder, (_, expr)) in builders.iter_mut().zip(computed) {
                let scope = Row { columns: kept, row: &values, environment: RefCell::new(self.environment) };
                builder.push_value(&eval_in(expr, &scope)?);
            }
        }
        let mut columns = chunk.into_columns();
        columns.extend(builders.into_iter().map(ColumnBuilder::finish));
        Ok(Chunk::new(rows, columns))
    }

    /// Chunks as a table of these columns.
    fn table(&self, plan: &mut Plan, columns: &[ColumnId], chunks: Vec<Chunk>) -> Node {
        let fields: Vec<io::Field> = columns
            .iter()
            .map(|column| io::Field::new(format!("c{column:?}"), plan.columns[*column].sql_type))
            .collect();
        let made =
            files::table("calls", Arc::new(MemorySource::new(fields, chunks)), &self.environment.database.0.samples);
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
