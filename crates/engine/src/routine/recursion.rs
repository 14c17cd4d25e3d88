//! Recursive queries whose recursive term calls functions: the client's thread goes from round to round, as each needs the values
//! of calls before it runs (decision 51).
//!
//! A round is a plan of its own, in which the working table is a table of the rows that the round before has added.

use std::collections::HashSet;

use base::{Error, Result};
use plan::{ColumnId, CteId, Node, Op, Plan};
use types::{Chunk, ColumnBuilder, SqlType, Value};

use super::computing::{Computing, nothing, run_plan};
use super::materialise::compute_round;

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
        while !working.is_empty() {
            self.environment.call.token().check()?;
            let bytes = working.iter().map(Chunk::bytes).sum();
            charged.push(budget.reserve(bytes, "rows of a recursion")?);
            rows.extend(working.iter().cloned());
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
