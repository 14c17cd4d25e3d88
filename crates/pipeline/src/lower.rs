//! Lowering: plan to pipelines.
//!
//! Bottom-up: an operator's lowering takes the open pipelines ([`pipe::Pipe`]) of its input, whose union is the input's
//! rows, and extends each: a filter adds a condition, a join's probe side a match. A breaker closes them into a state and
//! opens a new pipeline that reads it. No operator knows who comes above or below it.
//!
//! Top-down it passes the columns that are needed above, so that breakers store no others.

mod aggregate;
mod choose;
mod computed;
mod expression;
mod join;
mod output;
mod pipe;
mod pipelines;
mod pure;
mod recursion;
mod scan;
mod set_operation;
mod sort;
mod unique;
mod vectors;
mod window;

use std::collections::{BTreeSet, HashMap};

use base::{Error, Result};
use plan::{ColumnId, Cte, CteId, Node, Op, Plan, Rounds};
use types::SqlType;

use crate::ir::{Arithmetic, Inst, Operation, Program, RowSet, StateId, Ty};
use expression::Expressions;
pub use expression::source_column;
use pipe::{Field, Pipe, Sql};
use pipelines::Pipelines;

/// The columns that operators above need. Ordered, as loops over them write instructions: one plan is one program, which
/// is found again in the code cache.
type Needed = BTreeSet<ColumnId>;

/// Lowers a plan that the optimizer is done with: no subqueries, no dependent joins. With `analyze`, every operator
/// counts its rows: counter i belongs to the i-th operator of the plan in pre-order (common table expressions first).
pub fn lower(plan: &Plan, analyze: bool) -> Result<Program> {
    lower_to(Target::Client, plan, analyze)
}

/// Where the rows of a plan go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// To whoever runs the query: [`State::Result`](crate::ir::State::Result).
    Client,
    /// Into a table: [`State::Table`](crate::ir::State::Table).
    Table,
}

/// As [`lower`], for rows that go there.
pub fn lower_to(target: Target, plan: &Plan, analyze: bool) -> Result<Program> {
    let lower = |streams| {
        let mut lowering = Lowering { streams, ..Lowering::new(plan, analyze) };
        lowering.common_table_expressions()?;
        let (result, ordered) = lowering.result(target)?;
        Ok(lowering.finish(result, ordered))
    };
    let program = lower(true)?;
    // Something else waits for a reader of rounds before the last one of them: it can wait only for all rounds.
    if program.rounds_are_whole() { Ok(program) } else { lower(false) }
}

/// The state of a common table expression, where each column lies, and which rows are read.
type Materialised = (StateId, Vec<(ColumnId, Field)>, RowSet);

/// Lowers operators: it walks the plan, and leaves instructions to [`Expressions`] and the pipe at hand, states and
/// pipelines to [`Pipelines`].
struct Lowering<'a> {
    plan: &'a Plan,
    expressions: Expressions,
    pipelines: Pipelines,
    counters: Counters,
    /// Materialised common table expressions.
    ctes: HashMap<CteId, Materialised>,
    /// What is computed in rounds.
    rounds: Rounds,
    /// As many rows as are asked for of the operator that comes next, whichever they are.
    enough: Option<u64>,
    /// Whether readers of recursions may take the rows of each round away.
    streams: bool,
}

/// The operators' counters, for EXPLAIN ANALYZE.
#[derive(Default)]
struct Counters {
    names: Vec<String>,
    by_operator: HashMap<*const Node, u32>,
}

impl Counters {
    /// Counters for all operators of the plan.
    fn of(plan: &Plan) -> Self {
        let mut counters = Self::default();
        plan.ctes.values().for_each(|cte| counters.number(&cte.plan));
        counters.number(&plan.root);
        counters
    }

    fn number(&mut self, node: &Node) {
        self.by_operator.insert(node, self.names.len() as u32);
        self.names.push(node.op.name().to_string());
        node.inputs().for_each(|n| self.number(n));
    }

    fn get(&self, node: &Node) -> Option<u32> {
        self.by_operator.get(&std::ptr::from_ref(node)).copied()
    }
}

impl<'a> Lowering<'a> {
    fn new(plan: &'a Plan, analyze: bool) -> Self {
        Self {
            plan,
            expressions: Expressions::default(),
            pipelines: Pipelines::default(),
            counters: if analyze { Counters::of(plan) } else { Counters::default() },
            ctes: HashMap::new(),
            rounds: plan.rounds(),
            enough: None,
            streams: true,
        }
    }

    /// The program, whose rows leave through that state.
    fn finish(self, result: StateId, ordered: bool) -> Program {
        let (params, sites) = self.expressions.into_parts();
        let (states, pipelines) = self.pipelines.into_parts();
        let counters = self.counters.names;
        let mut program =
            Program { params, sites, states, pipelines, result, ordered, counters, positions: Vec::new() };
        program.number_positions();
        program
    }

    fn common_table_expressions(&mut self) -> Result<()> {
        for (id, cte) in self.plan.ctes.iter() {
            match &cte.plan.op {
                // What nobody reads need not end.
                Op::Recursion { .. } if self.readers(id) == 0 => {}
                Op::Recursion { all, inputs, .. } => self.recursion(id, cte, *all, inputs)?,
                _ if self.rounds.of(id).is_some() => {}
                _ => self.common_table_expression(id, cte)?,
            }
        }
        Ok(())
    }

    fn common_table_expression(&mut self, id: CteId, cte: &Cte) -> Result<()> {
        let needed: Needed = cte.columns.iter().copied().collect();
        let pipes = self.node(&cte.plan, &needed)?;
        self.pipelines.operator = self.counters.get(&cte.plan);
        let (state, fields) = self.materialize(pipes, &cte.columns, &format!("with {}", cte.name))?;
        self.ctes.insert(id, (state, fields, RowSet::All));
        Ok(())
    }

    /// Lowers an operator; `needed` are the columns that are read above it.
    fn node(&mut self, node: &Node, needed: &Needed) -> Result<Vec<Pipe>> {
        base::statement::check()?;
        let counter = self.counters.get(node);
        let above = std::mem::replace(&mut self.pipelines.operator, counter);
        let enough = self.enough.take();
        let mut pipes = match &node.op {
            Op::Scan { table, columns, predicates } => self.scan(*table, columns, predicates, needed)?,
            Op::CteScan { cte, columns } => self.cte_scan(*cte, columns)?,
            Op::Values { columns, rows } => self.values(columns, rows)?,
            Op::Filter { input, predicates } => {
                let mut pipes = self.node(input, &with_columns_of(needed, predicates))?;
                for pipe in &mut pipes {
                    self.expressions.filter(pipe, predicates)?;
                }
                pipes
            }
            Op::Map { input, columns } => {
                // A call that does something is made, whoever reads its value.
                let used: Vec<_> = columns.iter().filter(|(c, e)| needed.contains(c) || e.is_volatile()).collect();
                self.enough = enough;
                let mut pipes = self.node(input, &with_columns_of(needed, used.iter().map(|(_, e)| e)))?;
                for pipe in &mut pipes {
                    for (column, expr) in &used {
                        self.expressions.define(pipe, *column, expr)?;
                    }
                }
                pipes
            }
            Op::Repeat { input, times, number } => {
                let mut pipes = self.node(input, &with_columns_of(needed, [&**times]))?;
                for pipe in &mut pipes {
                    self.repeat(pipe, times, *number)?;
                }
                pipes
            }
            Op::Join { .. } => self.join(node, needed)?,
            Op::Aggregate { input, groups, aggregates } => {
                self.aggregate(input, groups, aggregates, node.rows, (needed, enough))?
            }
            Op::Distinct { input, columns } => {
                let pipes = self.node(input, &needed_with(needed, columns))?;
                self.distinct(pipes, columns, (node.rows, input.rows), enough)?
            }
            Op::Sort { input, keys, limit, offset } => {
                self.sort((input, node.rows), &[], keys, (*limit, *offset), needed)?
            }
            Op::GroupLimit { input, partition, keys, limit, offset } => {
                self.sort((input, node.rows), partition, keys, (*limit, *offset), needed)?
            }
            Op::Window { input, keys, functions } => {
                let read = window::read(node, functions, needed);
                self.window(input, keys, functions, read, needed)?
            }
            Op::Limit { input, limit, offset } => {
                self.enough = limit.and_then(|limit| limit.checked_add(*offset));
                let pipes = self.node(input, needed)?;
                self.pipelines.limit(pipes, *limit, *offset)
            }
            Op::Recursion { .. } => return Err(Error::internal("a recursion that is no WITH query")),
            Op::SetOp { operation, all, inputs, columns } => {
                self.set_operation((*operation, *all), inputs, columns, (needed, enough))?
            }
        };
        self.pipelines.operator = above;
        if let Some(counter) = counter {
            pipes.iter_mut().for_each(|p| p.push(Inst::Count(counter)));
        }
        Ok(pipes)
    }

    /// Each tuple as often as `times` says, and with the number of its copy.
    fn repeat(&mut self, pipe: &mut Pipe, times: &plan::Expr, number: ColumnId) -> Result<()> {
        let often = self.expressions.scalar(pipe, times)?;
        let mut often_or_never = pipe.widen(often.value, Ty::I64);
        if let Some(null) = often.null {
            let never = pipe.int(0, Ty::I64);
            often_or_never = pipe.let_(Ty::I64, Operation::Select(null, never, often_or_never));
        }
        let index = pipe.var(Ty::I64);
        pipe.push(Inst::Repeat { times: often_or_never, index, elements: Vec::new() });
        let one = pipe.int(1, Ty::I64);
        let value = pipe.wrapping(Arithmetic::Add, index, one);
        pipe.counts_copies(value);
        pipe.bind(number, Sql { value, null: None });
        pipe.ordered_by = None;
        Ok(())
    }

    fn type_of(&self, column: ColumnId) -> SqlType {
        self.plan.columns[column].sql_type
    }
}

/// The columns that expressions read, added to those needed above.
fn with_columns_of<'e>(needed: &Needed, exprs: impl IntoIterator<Item = &'e plan::Expr>) -> Needed {
    let mut all = needed.clone();
    exprs.into_iter().for_each(|e| collect_columns(e, &mut all));
    all
}

fn needed_with(needed: &Needed, columns: &[ColumnId]) -> Needed {
    needed.iter().chain(columns).copied().collect()
}

fn collect_columns(expr: &plan::Expr, into: &mut Needed) {
    expr.walk(&mut |e| {
        if let plan::ExprKind::Column(c) = e.kind {
            into.insert(c);
        }
    });
}

fn unbound(column: ColumnId) -> Error {
    Error::internal(format!("column {column} is not available where it is used"))
}
