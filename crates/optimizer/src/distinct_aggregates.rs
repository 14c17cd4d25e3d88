//! Aggregates over distinct values, by grouping twice and by joins: V. Leis, *Query Processing and Optimization in Modern
//! Database Systems*, chapter 5 ("distinct aggregates by join"). Execution knows only plain aggregates.
//!
//! - Where duplicates do not matter (min, max, bool_and, bool_or, any_value) DISTINCT just goes.
//! - A FILTER of a distinct aggregate moves into its argument (`CASE WHEN filter THEN argument END`, each of several): all these aggregates
//!   skip NULLs.
//! - Aggregates over one list of distinct arguments: the input is grouped by keys and arguments, and this by the keys.
//! - Plain aggregates, or several such lists: one aggregate for each set, joined on the keys (NULLs are equal). All see
//!   the same groups, so the joins are inner and one to one. The input becomes a common table expression unless it is a
//!   plain scan.
//!
//! The pass is required: it runs even if optimisation is off.

use std::collections::HashMap;

use base::Result;
use plan::{AggregateCall, ColumnId, Compare, Cte, CteId, Expr, JoinKind, Node, Op, Plan};

use crate::rewrite::{Nullable, column, each_operator, fresh_like, join, keys_twice, only_where, order_ctes};
use crate::{Check, Pass};

/// See the module.
pub struct DistinctAggregates;

impl Pass for DistinctAggregates {
    fn name(&self) -> &'static str {
        "distinct_aggregates"
    }

    fn is_required(&self) -> bool {
        true
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        each_operator(plan, check, &rewrite)?;
        order_ctes(plan);
        Ok(())
    }
}

fn rewrite(plan: &mut Plan, node: Node) -> Node {
    match node.op {
        Op::Aggregate { input, groups, aggregates } => split(plan, *input, groups, aggregates),
        _ => node,
    }
}

fn split(
    plan: &mut Plan,
    input: Node,
    groups: Vec<(ColumnId, Expr)>,
    mut aggregates: Vec<(ColumnId, AggregateCall)>,
) -> Node {
    for (_, call) in aggregates.iter_mut().filter(|(_, c)| c.distinct) {
        call.distinct = !call.function.ignores_duplicates();
        if let (true, Some(condition)) = (call.distinct, call.filter.take_if(|_| call.distinct)) {
            // A separator is the group's.
            let of_rows = |at: usize| at != 1 || !call.function.has_fixed_argument();
            for (_, argument) in call.arguments.iter_mut().enumerate().filter(|(at, _)| of_rows(*at)) {
                *argument = only_where(condition.clone(), argument.clone());
            }
        }
    }
    if aggregates.iter().all(|(_, c)| !c.distinct) {
        return Node::new(Op::Aggregate { input: Box::new(input), groups, aggregates });
    }
    // Sets of aggregates: the plain ones, and one for each list of distinct arguments.
    let mut sets: Vec<Vec<(ColumnId, AggregateCall)>> = Vec::new();
    for (result, call) in aggregates {
        let same = |set: &&mut Vec<(ColumnId, AggregateCall)>| match (&set[0].1, &call) {
            (a, b) if a.distinct && b.distinct => {
                let (a, b) = (&a.arguments, &b.arguments);
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.same(y))
            }
            (a, b) => a.distinct == b.distinct,
        };
        match sets.iter_mut().find(same) {
            Some(set) => set.push((result, call)),
            None => sets.push(vec![(result, call)]),
        }
    }
    let mut sources = Sources::new(plan, input, sets.len());
    let mut result: Option<Node> = None;
    for set in sets {
        let (input, names) = sources.next(plan);
        // The first set's keys are the result's; the others' are compared with them.
        let first = result.is_none();
        let keys: Vec<ColumnId> =
            groups.iter().map(|&(c, _)| if first { c } else { fresh_like(&mut plan.columns, c) }).collect();
        let mut exprs: Vec<Expr> = groups.iter().map(|(_, e)| e.clone()).collect();
        exprs.iter_mut().for_each(|e| e.rename(&names));
        let mut set = set;
        for (_, call) in &mut set {
            call.expressions_mut().for_each(|e| e.rename(&names));
        }
        let made = group(plan, input, keys.iter().copied().zip(exprs).collect(), set);
        result = Some(match result {
            None => made,
            Some(left) => {
                let (ours, theirs) = (Nullable::of(&left, &plan.columns), Nullable::of(&made, &plan.columns));
                let condition = groups
                    .iter()
                    .zip(&keys)
                    .map(|(&(a, _), &b)| {
                        let nulls = ours.column(a) && theirs.column(b);
                        let op = if nulls { Compare::NotDistinct } else { Compare::Eq };
                        Expr::compare(op, column(&plan.columns, a), column(&plan.columns, b))
                    })
                    .collect();
                join(JoinKind::Inner, left, made, condition)
            }
        });
    }
    result.expect("at least one set")
}

/// One set of aggregates: plain, or over one list of distinct arguments.
fn group(plan: &mut Plan, input: Node, groups: Vec<(ColumnId, Expr)>, mut set: Vec<(ColumnId, AggregateCall)>) -> Node {
    if !set[0].1.distinct {
        return Node::new(Op::Aggregate { input: Box::new(input), groups, aggregates: set });
    }
    let mut arguments = set[0].1.arguments.clone();
    // What is the whole group's says nothing of a row.
    let fixed = set[0].1.function.has_fixed_argument().then(|| arguments.remove(1));
    let new_column = |argument: &Expr| {
        let info = plan::ColumnInfo { name: "distinct".to_owned(), sql_type: argument.sql_type, nullable: true };
        plan.columns.push(info)
    };
    let values: Vec<ColumnId> = arguments.iter().map(new_column).collect();
    let (mut inner, outer) = keys_twice(&mut plan.columns, groups);
    inner.extend(values.iter().copied().zip(arguments));
    let mut values: Vec<Expr> = values.into_iter().map(|value| column(&plan.columns, value)).collect();
    fixed.into_iter().for_each(|fixed| values.insert(1, fixed));
    for (_, call) in &mut set {
        call.distinct = false;
        call.arguments.clone_from(&values);
    }
    let distinct = Node::new(Op::Aggregate { input: Box::new(input), groups: inner, aggregates: Vec::new() });
    Node::new(Op::Aggregate { input: Box::new(distinct), groups: outer, aggregates: set })
}

/// The input of an aggregate, as often as its sets of aggregates need it.
struct Sources {
    original: Option<Node>,
    copies: Node,
    shared: Option<(CteId, Vec<ColumnId>)>,
}

impl Sources {
    fn new(plan: &mut Plan, input: Node, sets: usize) -> Self {
        let mut cheap = true;
        let mut volatile = false;
        input.walk(&mut |n| {
            cheap &= matches!(n.op, Op::Scan { .. } | Op::CteScan { .. } | Op::Filter { .. } | Op::Map { .. });
            volatile |= n.expressions().any(|e| e.is_volatile());
        });
        if sets > 1 && (!cheap || volatile) {
            let columns = input.columns();
            let name = "aggregated".to_owned();
            let cte = plan.ctes.push(Cte { name, plan: input.clone(), columns: columns.clone() });
            return Self { original: None, copies: input, shared: Some((cte, columns)) };
        }
        Self { copies: input.clone(), original: Some(input), shared: None }
    }

    /// The input once more, and the names that its columns have there.
    fn next(&mut self, plan: &mut Plan) -> (Node, HashMap<ColumnId, ColumnId>) {
        if let Some((cte, columns)) = &self.shared {
            let names: HashMap<_, _> = columns.iter().map(|&c| (c, fresh_like(&mut plan.columns, c))).collect();
            let nullable = Nullable::of(&self.copies, &plan.columns);
            for (&from, &to) in &names {
                plan.columns[to].nullable = nullable.column(from);
            }
            let columns = columns.iter().map(|&c| (c, names[&c])).collect();
            return (Node::new(Op::CteScan { cte: *cte, columns }), names);
        }
        match self.original.take() {
            Some(node) => (node, HashMap::new()),
            None => self.copies.copied(&mut plan.columns, &mut plan.tables),
        }
    }
}
