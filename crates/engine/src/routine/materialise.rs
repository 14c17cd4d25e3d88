//! Calls in queries: they are computed before the query runs, by the client's thread, as each may be a program with queries of
//! its own, for which no worker may wait.
//!
//! Subqueries become joins before, so that what a call reads is below it wherever it stands. An operator that computes calls is
//! cut off from what is below: that runs first, the calls are computed for each of its rows, and the rows with their values take
//! its place as a table. So a call happens once for each row that comes to it, and CASE and AND decide whether it happens, as
//! everywhere. Joins whose conditions call are in `joins.rs`, recursions whose terms call in `recursion.rs`.

use std::cell::RefCell;

use base::{Error, Result};
use plan::eval::eval_in;
use plan::{ColumnId, CteId, Expr, JoinKind, Node, Op, Plan, SortKey};
use types::{Chunk, ColumnBuilder, SqlType};

use super::chunks::numbered;
use super::computing::{Computing, calling_recursions, is_ordered, nothing};
use super::narrow::begin_optimizing;
use super::rows::{Row, calls, calls_routines, rows_of_tables, used_columns};
use crate::environment::Environment;

/// Computes the calls of a plan.
pub(crate) fn compute_calls(environment: &mut Environment, plan: &mut Plan) -> Result<()> {
    if !calls_routines(plan) {
        return Ok(());
    }
    rows_of_tables(environment, plan)?;
    compute_round(environment, plan)
}

/// Computes the calls of a plan but for those in FROM.
pub(super) fn compute_round(environment: &mut Environment, plan: &mut Plan) -> Result<()> {
    begin_optimizing(environment, plan)?;
    let used = used_columns(plan);
    let mut computing = Computing { environment, used };
    let recursions = calling_recursions(plan);
    // What a round computes anew is computed in rounds.
    let rounds = plan.rounds();
    let all: Vec<CteId> = plan.ctes.keys().filter(|cte| rounds.of(*cte).is_none()).collect();
    for cte in all {
        if recursions.contains(&cte) {
            computing.recursion(plan, cte)?;
            continue;
        }
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

impl Computing<'_> {
    /// Computes the calls of an operator and of all below.
    pub(super) fn node(&mut self, plan: &mut Plan, node: &mut Node) -> Result<()> {
        // What is asked above a join comes before the calls of its condition.
        if let Op::Filter { input, predicates } = &mut node.op
            && let Op::Join { kind: JoinKind::Inner, condition, .. } = &mut input.op
        {
            predicates.extend(condition.extract_if(.., |predicate| calls(predicate)));
        }
        for input in node.inputs_mut() {
            self.node(plan, input)?;
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
            Op::Join { .. } => self.join(plan, node),
            Op::Scan { predicates, .. } => {
                let predicates = std::mem::take(predicates);
                let scan = Box::new(std::mem::replace(node, nothing()));
                *node = Node::new(Op::Filter { input: scan, predicates });
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

    /// A map as a table of its rows.
    fn map(&mut self, plan: &mut Plan, node: &mut Node) -> Result<()> {
        let Op::Map { input, columns } = &mut node.op else { return Err(Error::internal("calls outside of a map")) };
        let others: Vec<(ColumnId, Expr)> = columns.extract_if(.., |(_, expr)| !calls(expr)).collect();
        let needed = |column: &ColumnId| self.used.contains(column);
        let mut kept: Vec<ColumnId> = input.columns().into_iter().filter(needed).collect();
        // Rows of a table come in any order.
        let number = is_ordered(input).then(|| self.number(plan));
        let below = std::mem::replace(&mut **input, nothing());
        let (computed, mut chunks) = (std::mem::take(columns), self.rows(plan, below, &kept)?);
        if let Some(number) = number {
            kept.push(number);
            chunks = numbered(chunks);
        }
        let (budget, mut charged) = (self.environment.statement_budget(), Vec::with_capacity(chunks.len()));
        for chunk in &mut chunks {
            *chunk = self.computed(&kept, &computed, std::mem::replace(chunk, Chunk::new(0, Vec::new())))?;
            charged.push(budget.reserve(chunk.bytes(), "rows of calls")?);
        }
        let all: Vec<ColumnId> = kept.into_iter().chain(computed.iter().map(|(column, _)| *column)).collect();
        *node = self.table(plan, &all, chunks);
        if let Some(number) = number {
            let key = SortKey { expr: Expr::column(number, SqlType::BigInt), descending: false, nulls_first: false };
            let input = Box::new(std::mem::replace(node, nothing()));
            *node = Node::new(Op::Sort { input, keys: vec![key], limit: None, offset: 0 });
        }
        if !others.is_empty() {
            let table = std::mem::replace(node, nothing());
            *node = Node::new(Op::Map { input: Box::new(table), columns: others });
        }
        Ok(())
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
}
