//! The operators that calls of window functions become.

use plan::{ColumnId, Expr, Frame, FrameBound, FrameUnit, Node, Op, SortKey, WindowCall};

use super::{Windowed, same_key};
use crate::bind::parts::PlanBuilder;

/// The keys of an operator, and its functions.
type Operator = (Vec<SortKey>, Vec<(ColumnId, WindowCall)>);

/// Where all rows of a partition are peers, a bound at the current row's peers is one of the partition.
fn whole_by_peers(frame: &mut Frame<Expr>) {
    if matches!(frame.start, FrameBound::CurrentRow) {
        frame.start = FrameBound::UnboundedPreceding;
    }
    if matches!(frame.end, FrameBound::CurrentRow) {
        frame.end = FrameBound::UnboundedFollowing;
    }
}

impl PlanBuilder {
    /// The calls on top of `node`: an operator for each order that they need.
    pub(in crate::bind) fn windowed(&mut self, mut node: Node, mut calls: Vec<Windowed>) -> Node {
        let computed = self.subqueries_apart(&mut calls);
        if !computed.is_empty() {
            node = Node::new(Op::Map { input: Box::new(node), columns: computed });
        }
        let mut operators: Vec<Operator> = Vec::new();
        for Windowed { column, mut call, mut window } in calls {
            let ties = std::mem::take(&mut window.ties);
            let (mut keys, partition) = window.keys(&call.frame);
            (call.partition, call.peers) = (partition, keys.len());
            if call.peers == call.partition && call.frame.unit != FrameUnit::Rows {
                whole_by_peers(&mut call.frame);
            }
            // Whoever sees the order of peers asks for nothing that peers have in common.
            for tie in ties {
                if !keys.iter().any(|key| key.expr.same(&tie.expr)) {
                    keys.push(tie);
                }
            }
            call.peers = keys.len();
            let same =
                |known: &[SortKey]| known.len() == keys.len() && known.iter().zip(&keys).all(|(a, b)| same_key(a, b));
            match operators.iter_mut().find(|(known, _)| same(known)) {
                Some((_, functions)) => functions.push((column, call)),
                None => operators.push((keys, vec![(column, call)])),
            }
        }
        operators
            .into_iter()
            .fold(node, |input, (keys, functions)| Node::new(Op::Window { input: Box::new(input), keys, functions }))
    }

    /// Expressions with subqueries become columns, each once: a named window is read by many calls.
    fn subqueries_apart(&mut self, calls: &mut [Windowed]) -> Vec<(ColumnId, Expr)> {
        let (mut computed, mut known) = (Vec::new(), Vec::<(String, ColumnId)>::new());
        for expr in calls.iter_mut().flat_map(Windowed::expressions_mut).filter(|e| e.has_subquery()) {
            // Copies of one expression, down to the columns that its subqueries make.
            let form = format!("{expr:?}");
            let found = known.iter().find(|(f, _)| *f == form).map(|&(_, column)| column);
            let column = found.unwrap_or_else(|| {
                let column = self.column_for("window", expr);
                computed.push((column, expr.clone()));
                known.push((form, column));
                column
            });
            *expr = self.reference(column).at(expr.position);
        }
        computed
    }
}
