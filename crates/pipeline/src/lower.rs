//! Lowering: plan to pipelines.
//!
//! Bottom-up: an operator's lowering takes the open pipelines ([`pipe::Pipe`]) of its input, whose union is the input's
//! rows, and extends each: a filter adds a condition, a join's probe side a match. A breaker closes them into a state and
//! opens a new pipeline that reads it. No operator knows who comes above or below it.
//!
//! Top-down it passes the columns that are needed above, so that breakers store no others.

mod aggregate;
mod arithmetic;
mod cast;
mod compare;
mod function;
mod join;
mod output;
mod pipe;
mod range;
mod scalar;
mod scan;
mod set_operation;
mod sort;
mod unique;

use std::collections::{BTreeSet, HashMap};

use base::{Error, IdMap, Result};
use plan::{ColumnId, CteId, Node, Op, Plan};
use types::{SqlType, Value};

use crate::ir::{Inst, Param, ParamId, Pipeline, PipelineId, Program, Site, SiteId, State, StateId};
use pipe::{Field, Pipe};
use range::Range;

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
    /// To whoever runs the query: [`State::Result`].
    Client,
    /// Into a table: [`State::Table`].
    Table,
}

/// As [`lower`], for rows that go there.
pub fn lower_to(target: Target, plan: &Plan, analyze: bool) -> Result<Program> {
    let mut lowering = Lowering::new(plan, analyze);
    lowering.common_table_expressions()?;
    lowering.result(target)?;
    lowering.program.number_positions();
    Ok(lowering.program)
}

struct Lowering<'a> {
    plan: &'a Plan,
    program: Program,
    /// The pipelines that fill each state or mark its rows.
    fillers: HashMap<StateId, Vec<PipelineId>>,
    /// Materialised common table expressions: state and where each column lies.
    ctes: HashMap<CteId, (StateId, Vec<(ColumnId, Field)>)>,
    /// Bounds of integer, decimal and date columns, in their scaled representation.
    ranges: HashMap<ColumnId, Range>,
    /// Counters by the operator's address, for EXPLAIN ANALYZE.
    counters: HashMap<*const Node, u32>,
    /// The counter of the operator that is being lowered, for EXPLAIN ANALYZE.
    operator: Option<u32>,
}

impl<'a> Lowering<'a> {
    fn new(plan: &'a Plan, analyze: bool) -> Self {
        let mut lowering = Self {
            plan,
            program: Program {
                params: IdMap::new(),
                sites: IdMap::new(),
                states: IdMap::new(),
                pipelines: IdMap::new(),
                result: StateId(0),
                ordered: false,
                counters: Vec::new(),
                positions: Vec::new(),
            },
            fillers: HashMap::new(),
            ctes: HashMap::new(),
            ranges: HashMap::new(),
            counters: HashMap::new(),
            operator: None,
        };
        if analyze {
            plan.ctes.values().for_each(|cte| lowering.number(&cte.plan));
            lowering.number(&plan.root);
        }
        lowering
    }

    fn number(&mut self, node: &Node) {
        let counter = self.program.counters.len() as u32;
        self.counters.insert(node, counter);
        self.program.counters.push(operator_name(&node.op).to_string());
        node.inputs().for_each(|n| self.number(n));
    }

    fn counter(&self, node: &Node) -> Option<u32> {
        self.counters.get(&std::ptr::from_ref(node)).copied()
    }

    fn common_table_expressions(&mut self) -> Result<()> {
        for (id, cte) in self.plan.ctes.iter() {
            let needed: Needed = cte.columns.iter().copied().collect();
            let pipes = self.node(&cte.plan, &needed)?;
            self.operator = self.counter(&cte.plan);
            let state = self.materialize(pipes, &cte.columns, &format!("with {}", cte.name))?;
            self.ctes.insert(id, state);
        }
        Ok(())
    }

    /// Lowers an operator; `needed` are the columns that are read above it.
    fn node(&mut self, node: &Node, needed: &Needed) -> Result<Vec<Pipe>> {
        let counter = self.counter(node);
        let above = std::mem::replace(&mut self.operator, counter);
        let mut pipes = match &node.op {
            Op::Scan { table, columns, predicates } => self.scan(*table, columns, predicates, needed)?,
            Op::CteScan { cte, columns } => self.cte_scan(*cte, columns)?,
            Op::Values { columns, rows } => self.values(columns, rows)?,
            Op::Filter { input, predicates } => {
                let mut pipes = self.node(input, &with_columns_of(needed, predicates))?;
                for pipe in &mut pipes {
                    self.filter(pipe, predicates)?;
                }
                pipes
            }
            Op::Map { input, columns } => {
                let used = columns.iter().filter(|(c, _)| needed.contains(c)).map(|(_, e)| e);
                let mut pipes = self.node(input, &with_columns_of(needed, used))?;
                for pipe in &mut pipes {
                    for (column, expr) in columns.iter().filter(|(c, _)| needed.contains(c)) {
                        self.define(pipe, *column, expr)?;
                    }
                }
                pipes
            }
            Op::Join { kind, left, right, condition, build } => {
                self.join(kind, left, right, condition, *build, needed)?
            }
            Op::Aggregate { input, groups, aggregates } => {
                self.aggregate(input, groups, aggregates, node.rows, needed)?
            }
            Op::Distinct { input, columns } => {
                let pipes = self.node(input, &needed_with(needed, columns))?;
                self.distinct(pipes, columns, node.rows)?
            }
            Op::Sort { input, keys, limit, offset } => self.sort(input, &[], keys, (*limit, *offset), needed)?,
            Op::GroupLimit { input, partition, keys, limit, offset } => {
                self.sort(input, partition, keys, (*limit, *offset), needed)?
            }
            Op::Limit { input, limit, offset } => {
                let pipes = self.node(input, needed)?;
                self.limit(pipes, *limit, *offset)?
            }
            Op::SetOp { operation, all, inputs, columns } => {
                self.set_operation(*operation, *all, inputs, columns, needed)?
            }
        };
        self.operator = above;
        if let Some(counter) = counter {
            pipes.iter_mut().for_each(|p| p.push(Inst::Count(counter)));
        }
        Ok(pipes)
    }

    /// Computes a column and binds it.
    fn define(&mut self, pipe: &mut Pipe, column: ColumnId, expr: &plan::Expr) -> Result<()> {
        if let Some(range) = self.range(expr) {
            self.ranges.insert(column, range);
        }
        let sql = self.scalar(pipe, expr)?;
        pipe.bind(column, sql);
        Ok(())
    }

    /// Lets only tuples through for which every conjunct is true.
    fn filter(&mut self, pipe: &mut Pipe, predicates: &[plan::Expr]) -> Result<()> {
        for predicate in predicates {
            let condition = self.truth(pipe, predicate)?;
            pipe.push(Inst::Filter(condition));
            // Rows are dropped: the order holds, but positions do not, so a LIMIT above cannot move into the sort.
            pipe.ordered_by = None;
        }
        Ok(())
    }

    // ---- states and pipelines

    fn add_state(&mut self, state: State) -> StateId {
        self.program.states.push(state)
    }

    /// Ends a pipe in a state.
    fn close(&mut self, mut pipe: Pipe, state: StateId) {
        pipe.fills.push(state);
        self.end(pipe);
    }

    /// Makes a pipeline of a pipe.
    fn end(&mut self, mut pipe: Pipe) {
        if let Some(state) = pipe.reads_marks_of {
            pipe.depend_on(self.fillers.get(&state).map_or(&[], Vec::as_slice));
        }
        let body = pipe.take_body();
        let id = self.program.pipelines.push(Pipeline {
            name: pipe.name.join(", "),
            source: pipe.source,
            body,
            vars: pipe.vars,
            after: pipe.after,
            fills: pipe.fills.clone(),
            operator: self.operator,
        });
        for state in pipe.fills.into_iter().chain(pipe.marks) {
            self.fillers.entry(state).or_default().push(id);
        }
    }

    /// A pipe that reads the rows of a state once it is finished.
    fn read(&self, state: StateId, rows: crate::ir::RowSet, what: &str) -> (Pipe, crate::ir::Var) {
        let mut pipe = Pipe::new(what.to_string(), crate::ir::Source::Rows { state, rows });
        pipe.depend_on(self.fillers.get(&state).map_or(&[], Vec::as_slice));
        let row = pipe.let_(crate::ir::Ty::Ptr, crate::ir::Operation::Row);
        (pipe, row)
    }

    fn param(&mut self, value: &Value, sql_type: SqlType) -> ParamId {
        self.program.params.push(Param::Value(value.clone(), sql_type))
    }

    fn site(&mut self, site: Site) -> SiteId {
        self.program.sites.push(site)
    }

    fn type_of(&self, column: ColumnId) -> SqlType {
        self.plan.columns[column].sql_type
    }
}

/// The operator's name as EXPLAIN shows it.
fn operator_name(op: &Op) -> &'static str {
    match op {
        Op::Scan { .. } => "scan",
        Op::CteScan { .. } => "cte scan",
        Op::Values { .. } => "values",
        Op::Filter { .. } => "filter",
        Op::Map { .. } => "map",
        Op::Join { .. } => "join",
        Op::Aggregate { .. } => "aggregate",
        Op::Distinct { .. } => "distinct",
        Op::Sort { .. } => "sort",
        Op::Limit { .. } => "limit",
        Op::GroupLimit { .. } => "group limit",
        Op::SetOp { .. } => "set operation",
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
