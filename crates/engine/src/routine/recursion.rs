//! Recursive queries whose recursive term calls functions: the client's thread goes from round to round, as each needs the values
//! of calls before it runs (decision 51).
//!
//! A round is a plan of its own, in which the working table is a table of the rows that the round before has added.

use std::cell::RefCell;
use std::collections::HashSet;

use base::{Error, Result};
use plan::eval::eval_in;
use plan::{ColumnId, CteId, Node, Op, Plan};
use types::{Chunk, ColumnBuilder, SqlType, Value};

use super::computing::{Computing, nothing, run_plan};
use super::materialise::compute_round;
use super::rows::{Row, calls};
use crate::environment::Environment;

impl Computing<'_> {
    /// A recursion as a table of its rows.
    pub(super) fn recursion(&mut self, plan: &mut Plan, cte: CteId) -> Result<()> {
        let definition = std::mem::replace(&mut plan.ctes[cte].plan, nothing());
        let Op::Recursion { all, inputs, columns, .. } = definition.op else {
            return Err(Error::internal("a recursion that is none"));
        };
        let [(mut first, of_first), (term, of_term)] = <[(Node, Vec<ColumnId>); 2]>::try_from(inputs)
            .map_err(|_| Error::internal("a recursion without two terms"))?;
        self.node(plan, &mut first)?;
        let types: Vec<SqlType> = columns.iter().map(|column| plan.columns[*column].sql_type).collect();
        let mut added = Added { seen: (!all).then(HashSet::new), types };
        let mut working = added.of(self.rows(plan, first, &of_first)?);
        let (budget, mut charged, mut rows) = (self.environment.statement_budget(), Vec::new(), Vec::new());
        // The definition has been taken out: who reads it now is outside.
        let mut wanted = wanted_of(plan, cte);
        while !working.is_empty() {
            self.environment.call.token().check()?;
            let bytes = working.iter().map(Chunk::bytes).sum();
            charged.push(budget.reserve(bytes, "rows of a recursion")?);
            rows.extend(working.iter().cloned());
            if let Some(wanted) = &mut wanted {
                wanted.take(self.environment, &columns, &working)?;
            }
            if wanted.as_ref().is_some_and(|wanted| wanted.rows == 0) {
                break;
            }
            working = added.of(self.round(plan, cte, (&columns, working), (term.clone(), &of_term))?);
        }
        plan.ctes[cte].plan = self.table(plan, &columns, rows);
        Ok(())
    }

    /// The rows that the term makes of the working table.
    fn round(
        &mut self,
        plan: &Plan,
        cte: CteId,
        (columns, working): (&[ColumnId], Vec<Chunk>),
        (root, of_term): (Node, &[ColumnId]),
    ) -> Result<Vec<Chunk>> {
        let output = of_term.iter().map(|column| (String::new(), *column)).collect();
        let (known, tables, ctes) = (plan.columns.clone(), plan.tables.clone(), plan.ctes.clone());
        let mut round = Plan { columns: known, tables, ctes, root, output };
        let table = self.table(&mut round, columns, working);
        round.ctes[cte].plan = table;
        compute_round(self.environment, &mut round)?;
        run_plan(self.environment, round)
    }
}

/// Which rows rounds add.
struct Added {
    /// The rows of all rounds, if each counts once.
    seen: Option<HashSet<Vec<Value>>>,
    types: Vec<SqlType>,
}

impl Added {
    /// Those among these rows.
    fn of(&mut self, chunks: Vec<Chunk>) -> Vec<Chunk> {
        let Some(seen) = &mut self.seen else { return chunks.into_iter().filter(|chunk| chunk.rows() > 0).collect() };
        let mut added = Vec::new();
        for chunk in chunks {
            let rows = (0..chunk.rows()).map(|row| chunk.row(row));
            let fresh: Vec<Vec<Value>> = rows.filter(|row| seen.insert(row.clone())).collect();
            if fresh.is_empty() {
                continue;
            }
            let column = |(at, sql_type): (usize, &SqlType)| {
                let mut column = ColumnBuilder::new(*sql_type, fresh.len());
                fresh.iter().for_each(|row| column.push_value(&row[at]));
                column.finish()
            };
            added.push(Chunk::new(fresh.len(), self.types.iter().enumerate().map(column).collect()));
        }
        added
    }
}

/// How many rows more the only reader of a recursion wants, and what it asks of them before it counts them.
struct Wanted {
    rows: u64,
    /// The columns that it reads, under the names that it has for them.
    read: Vec<(ColumnId, ColumnId)>,
    /// Filters and computed columns between the recursion and the limit, from below.
    steps: Vec<Node>,
}

impl Wanted {
    /// Counts rows of a round among those that are wanted.
    fn take(&mut self, environment: &mut Environment, columns: &[ColumnId], rows: &[Chunk]) -> Result<()> {
        for chunk in rows {
            for row in 0..chunk.rows() {
                let counts = self.steps.is_empty() || self.is_wanted(environment, columns, &chunk.row(row))?;
                self.rows = self.rows.saturating_sub(u64::from(counts));
            }
        }
        Ok(())
    }

    /// Whether a row comes to the limit.
    fn is_wanted(&self, environment: &mut Environment, columns: &[ColumnId], row: &[Value]) -> Result<bool> {
        let place = |from: &ColumnId| columns.iter().position(|column| column == from);
        let read = self.read.iter().filter_map(|(from, to)| Some((*to, row[place(from)?].clone())));
        let (mut names, mut values): (Vec<ColumnId>, Vec<Value>) = read.unzip();
        for step in &self.steps {
            let scope = Row { columns: &names, row: &values, environment: RefCell::new(environment) };
            match &step.op {
                Op::Filter { predicates, .. } => {
                    for predicate in predicates {
                        if eval_in(predicate, &scope)? != Value::Bool(true) {
                            return Ok(false);
                        }
                    }
                }
                Op::Map { columns, .. } => {
                    let computed = columns.iter().map(|(_, expr)| eval_in(expr, &scope)).collect::<Result<Vec<_>>>()?;
                    names.extend(columns.iter().map(|(column, _)| *column));
                    values.extend(computed);
                }
                _ => {}
            }
        }
        Ok(true)
    }
}

/// What a limit above the only scan of a recursion leaves of it; none if there is no limit, or it is not for the rows as they come.
fn wanted_of(plan: &Plan, cte: CteId) -> Option<Wanted> {
    let (mut readers, mut limits) = (0, Vec::new());
    for root in plan.ctes.values().map(|other| &other.plan).chain([&plan.root]) {
        root.walk(&mut |node| {
            readers += usize::from(matches!(node.op, Op::CteScan { cte: read, .. } if read == cte));
            if let Op::Limit { input, limit: Some(limit), offset } = &node.op {
                limits.extend(below_limit(input, cte).map(|(read, steps)| Wanted {
                    rows: limit.saturating_add(*offset),
                    read,
                    steps,
                }));
            }
        });
    }
    let mut wanted = limits.pop().filter(|_| readers == 1 && limits.is_empty())?;
    let is_filter = |step: &Node| matches!(step.op, Op::Filter { .. });
    match wanted.steps.iter().rposition(is_filter) {
        // A call that decides happens where it stands.
        Some(last) if wanted.steps[..=last].iter().any(|step| step.expressions().any(calls)) => return None,
        Some(last) => wanted.steps.truncate(last + 1),
        None => wanted.steps.clear(),
    }
    Some(wanted)
}

/// The columns that are read of a recursion, with their names above, and what is done to its rows.
type Above = (Vec<(ColumnId, ColumnId)>, Vec<Node>);

/// What is read of a recursion, and what is done to its rows, if no call and nothing but filters and maps is in between.
fn below_limit(node: &Node, cte: CteId) -> Option<Above> {
    match &node.op {
        Op::CteScan { cte: read, columns } if *read == cte => Some((columns.clone(), Vec::new())),
        Op::Filter { input, .. } | Op::Map { input, .. } => {
            let (read, mut steps) = below_limit(input, cte)?;
            let step = match &node.op {
                Op::Filter { predicates, .. } => {
                    Op::Filter { input: Box::new(nothing()), predicates: predicates.clone() }
                }
                Op::Map { columns, .. } => Op::Map { input: Box::new(nothing()), columns: columns.clone() },
                _ => return None,
            };
            steps.push(Node::new(step));
            Some((read, steps))
        }
        _ => None,
    }
}
