//! What each operator is made of: its inputs, expressions and columns. Walks, substitution, renaming, verification and most
//! passes need no more, so they do not name operators; a new operator adds an arm to each of these matches.
//!
//! Nothing here allocates but [`Node::columns`], [`Node::produced`] and [`Node::own_key`].

use functions::WindowFunction;

use super::{JoinKind, Node, Op, SortKey};
use crate::{AggregateCall, ColumnId, Expr, WindowCall};

/// The accessors that exist twice, to read and to change.
macro_rules! accessors {
    ($inputs:ident, $expressions:ident, $offset:ident, $from_ref:ident $(, $mut:tt)?) => {
        /// The inputs, left to right.
        pub fn $inputs(&$($mut)? self) -> impl Iterator<Item = &$($mut)? Node> {
            let (mut first, mut second, mut all) = (None, None, <&$($mut)? [(Node, Vec<ColumnId>)]>::default());
            match &$($mut)? self.op {
                Op::Scan { .. } | Op::CteScan { .. } | Op::Values { .. } => {}
                Op::Filter { input, .. }
                | Op::Map { input, .. }
                | Op::Aggregate { input, .. }
                | Op::Distinct { input, .. }
                | Op::Sort { input, .. }
                | Op::Limit { input, .. }
                | Op::GroupLimit { input, .. }
                | Op::Repeat { input, .. }
                | Op::Window { input, .. } => first = Some(&$($mut)? **input),
                Op::Join { left, right, .. } => {
                    (first, second) = (Some(&$($mut)? **left), Some(&$($mut)? **right));
                }
                Op::SetOp { inputs, .. } | Op::Recursion { inputs, .. } => all = inputs,
            }
            first.into_iter().chain(second).chain(all.into_iter().map(|(node, _)| node))
        }

        /// The expressions of this operator itself (not those of its inputs).
        pub fn $expressions(&$($mut)? self) -> impl Iterator<Item = &$($mut)? Expr> {
            let mut list = <&$($mut)? [Expr]>::default();
            let mut rows = <&$($mut)? [Vec<Expr>]>::default();
            let mut computed = <&$($mut)? [(ColumnId, Expr)]>::default();
            let mut calls = <&$($mut)? [(ColumnId, AggregateCall)]>::default();
            let mut order = <&$($mut)? [SortKey]>::default();
            let mut windows = <&$($mut)? [(ColumnId, WindowCall)]>::default();
            match &$($mut)? self.op {
                Op::CteScan { .. } | Op::Distinct { .. } | Op::Limit { .. } => {}
                Op::SetOp { .. } | Op::Recursion { .. } => {}
                Op::Scan { predicates, .. } | Op::Filter { predicates, .. } => list = predicates,
                Op::Join { condition, .. } => list = condition,
                Op::Values { rows: values, .. } => rows = values,
                Op::Map { columns, .. } => computed = columns,
                Op::Aggregate { groups, aggregates, .. } => (computed, calls) = (groups, aggregates),
                Op::Sort { keys, .. } | Op::GroupLimit { keys, .. } => order = keys,
                Op::Window { keys, functions, .. } => (order, windows) = (keys, functions),
                Op::Repeat { times, .. } => list = std::slice::$from_ref(&$($mut)? **times),
            }
            list.into_iter()
                .chain(rows.into_iter().flatten())
                .chain(computed.into_iter().map(|(_, expr)| expr))
                .chain(calls.into_iter().flat_map(|(_, call)| {
                    let AggregateCall { arguments, filter, .. } = call;
                    arguments.into_iter().chain(filter)
                }))
                .chain(order.into_iter().map(|key| &$($mut)? key.expr))
                .chain(windows.into_iter().flat_map(|(_, call)| {
                    let WindowCall { arguments, filter, order, frame, .. } = call;
                    let order = order.into_iter().map(|key| &$($mut)? key.expr);
                    arguments.into_iter().chain(filter).chain(order).chain(frame.start.$offset()).chain(frame.end.$offset())
                }))
        }
    };
}

impl Node {
    accessors!(inputs, expressions, offset, from_ref);
    accessors!(inputs_mut, expressions_mut, offset_mut, from_mut, mut);

    /// Calls `visit` for each column that leaves the operator, in a fixed order: those that pass through, then its own.
    pub fn each_column(&self, visit: &mut dyn FnMut(ColumnId)) {
        match &self.op {
            Op::Distinct { columns, .. } => columns.iter().for_each(|&c| visit(c)),
            Op::Filter { input, .. }
            | Op::Sort { input, .. }
            | Op::Limit { input, .. }
            | Op::GroupLimit { input, .. }
            | Op::Window { input, .. }
            | Op::Repeat { input, .. }
            | Op::Map { input, .. } => input.each_column(visit),
            Op::Join { kind, left, right, .. } => {
                left.each_column(visit);
                if kind.keeps_right() {
                    right.each_column(visit);
                }
            }
            Op::Scan { .. } | Op::CteScan { .. } | Op::Values { .. } | Op::Aggregate { .. } => {}
            Op::SetOp { .. } | Op::Recursion { .. } => {}
        }
        self.each_produced(visit);
    }

    /// Calls `visit` for each column that this operator itself makes (those of its inputs that pass through are not among
    /// them).
    pub fn each_produced(&self, visit: &mut dyn FnMut(ColumnId)) {
        match &self.op {
            Op::Filter { .. } | Op::Sort { .. } | Op::Limit { .. } | Op::GroupLimit { .. } | Op::Distinct { .. } => {}
            Op::Scan { columns, .. } => columns.iter().for_each(|&(_, c)| visit(c)),
            Op::CteScan { columns, .. } => columns.iter().for_each(|&(_, c)| visit(c)),
            Op::Values { columns, .. } | Op::SetOp { columns, .. } | Op::Recursion { columns, .. } => {
                columns.iter().for_each(|&c| visit(c));
            }
            Op::Map { columns, .. } => columns.iter().for_each(|&(c, _)| visit(c)),
            Op::Aggregate { groups, aggregates, .. } => {
                groups.iter().for_each(|&(c, _)| visit(c));
                aggregates.iter().for_each(|&(c, _)| visit(c));
            }
            Op::Window { functions, .. } => functions.iter().for_each(|&(c, _)| visit(c)),
            Op::Join { kind: JoinKind::Mark(mark), .. } => visit(*mark),
            Op::Repeat { number, .. } => visit(*number),
            Op::Join { .. } => {}
        }
    }

    /// Calls `change` for each column that the operator lists outside of expressions: those that it makes, and those of its
    /// inputs that it names.
    pub fn each_listed_mut(&mut self, change: &mut dyn FnMut(&mut ColumnId)) {
        match &mut self.op {
            Op::Filter { .. } | Op::Sort { .. } | Op::Limit { .. } => {}
            Op::Scan { columns, .. } => columns.iter_mut().for_each(|(_, c)| change(c)),
            Op::CteScan { columns, .. } => columns.iter_mut().for_each(|(_, c)| change(c)),
            Op::Values { columns, .. } | Op::Distinct { columns, .. } | Op::GroupLimit { partition: columns, .. } => {
                columns.iter_mut().for_each(change);
            }
            Op::Map { columns, .. } => columns.iter_mut().for_each(|(c, _)| change(c)),
            Op::Aggregate { groups, aggregates, .. } => {
                groups.iter_mut().for_each(|(c, _)| change(c));
                aggregates.iter_mut().for_each(|(c, _)| change(c));
            }
            Op::SetOp { inputs, columns, .. } | Op::Recursion { inputs, columns, .. } => {
                columns.iter_mut().for_each(&mut *change);
                inputs.iter_mut().flat_map(|(_, c)| c).for_each(change);
            }
            Op::Window { functions, .. } => functions.iter_mut().for_each(|(c, _)| change(c)),
            Op::Join { kind: JoinKind::Mark(mark), .. } => change(mark),
            Op::Repeat { number, .. } => change(number),
            Op::Join { .. } => {}
        }
    }

    /// The columns that leave the operator, in a fixed order.
    pub fn columns(&self) -> Vec<ColumnId> {
        let mut all = Vec::new();
        self.each_column(&mut |c| all.push(c));
        all
    }

    /// The columns that this operator itself makes.
    pub fn produced(&self) -> Vec<ColumnId> {
        let mut all = Vec::new();
        self.each_produced(&mut |c| all.push(c));
        all
    }

    /// The only input, if each of its rows leaves the operator at most once and no other does.
    pub fn thinned(&self) -> Option<&Node> {
        match &self.op {
            Op::Filter { input, .. }
            | Op::Map { input, .. }
            | Op::Distinct { input, .. }
            | Op::Sort { input, .. }
            | Op::Limit { input, .. }
            | Op::GroupLimit { input, .. }
            | Op::Window { input, .. } => Some(input),
            Op::Scan { .. } | Op::CteScan { .. } | Op::Values { .. } | Op::Join { .. } => None,
            Op::Aggregate { .. } | Op::SetOp { .. } | Op::Recursion { .. } | Op::Repeat { .. } => None,
        }
    }

    /// At most so many rows leave the operator.
    pub fn limit(&self) -> Option<u64> {
        match self.op {
            Op::Sort { limit, .. } | Op::Limit { limit, .. } => limit,
            Op::GroupLimit { limit: Some(0), .. } => Some(0),
            _ => None,
        }
    }

    /// Columns in all of which no two rows of the result agree, by what the operator does (NULLs are equal).
    pub fn own_key(&self) -> Option<Vec<ColumnId>> {
        match &self.op {
            Op::Aggregate { groups, .. } => Some(groups.iter().map(|&(c, _)| c).collect()),
            Op::Distinct { columns, .. }
            | Op::SetOp { all: false, columns, .. }
            | Op::Recursion { all: false, columns, .. } => Some(columns.clone()),
            Op::GroupLimit { partition, limit: Some(0 | 1), .. } => Some(partition.clone()),
            Op::Window { keys, functions, .. } => functions.iter().find_map(|(column, call)| {
                let numbers = call.function == WindowFunction::RowNumber && call.order.is_empty();
                let partition = keys[..call.partition].iter().map(|key| key.expr.as_column());
                partition.chain([Some(*column)]).collect::<Option<_>>().filter(|_| numbers)
            }),
            _ => None,
        }
    }

    /// The columns of the input by whose values the operator tells rows apart, if it lists them.
    pub fn grouping_mut(&mut self) -> Option<&mut Vec<ColumnId>> {
        match &mut self.op {
            Op::Distinct { columns, .. } | Op::GroupLimit { partition: columns, .. } => Some(columns),
            _ => None,
        }
    }

    /// As [`grouping_mut`](Self::grouping_mut), to read.
    pub fn grouping(&self) -> Option<&[ColumnId]> {
        match &self.op {
            Op::Distinct { columns, .. } | Op::GroupLimit { partition: columns, .. } => Some(columns),
            _ => None,
        }
    }

    /// Columns whose values no other group's rows matter to: what happens to rows that agree in them (NULLs are equal) depends
    /// on these rows alone. And whether some of each group's rows always leave.
    pub fn partition(&self) -> Option<(Vec<ColumnId>, bool)> {
        match &self.op {
            Op::Distinct { columns, .. } => Some((columns.clone(), true)),
            Op::GroupLimit { partition, offset, .. } => Some((partition.clone(), *offset == 0)),
            // All copies of a row agree in its columns.
            Op::Repeat { input, .. } => Some((input.columns(), false)),
            Op::Window { keys, functions, .. } => {
                let common = functions.iter().map(|(_, call)| call.partition).min().unwrap_or(0);
                Some((keys[..common].iter().filter_map(|key| key.expr.as_column()).collect(), true))
            }
            _ => None,
        }
    }

    /// The input and the keys by which the operator orders its rows.
    pub fn ordering_mut(&mut self) -> Option<(&mut Node, &mut Vec<SortKey>)> {
        match &mut self.op {
            Op::Sort { input, keys, .. } | Op::GroupLimit { input, keys, .. } => Some((input, keys)),
            _ => None,
        }
    }
}

impl Op {
    /// Its name, as EXPLAIN and messages show it.
    pub fn name(&self) -> &'static str {
        match self {
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
            Op::Recursion { .. } => "recursion",
            Op::Window { .. } => "window",
            Op::Repeat { .. } => "repeat",
        }
    }
}
