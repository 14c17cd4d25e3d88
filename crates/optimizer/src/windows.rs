//! Window operators that follow each other share their sorting: Y. Cao, C. Chan, J. Li, K. Tan, *Optimization of Analytic Window
//! Functions*, PVLDB 2012.
//!
//! The keys of a partition may come in any order, and rows that are sorted by more keys than a function asks for are sorted
//! for it too. So functions are dealt out to few orders (`orders.rs`), those with the most keys first. What decides nothing
//! goes before: keys that repeat others, the order of aggregates over whole partitions.
//!
//! A condition `row_number() <= k` above a window becomes a limit for each partition below it (`limit.rs`). Operators that only
//! aggregate whole partitions become joins with aggregations (`whole.rs`), modes of groups aggregations of counts (`mode.rs`). What
//! only finds the partition's key again is the key (`key.rs`).
//!
//! Complexity: quadratic in the functions and keys of operators that follow each other.

mod key;
mod limit;
mod mode;
mod orders;
mod whole;

use base::Result;
use functions::WindowFunction;
use functions::window::Scope;
use plan::{ColumnId, ExprKind, Frame, FrameBound, FrameExclusion, FrameUnit, Node, Op, Plan, SortKey, WindowCall};

use crate::rewrite::{bottom_up, order_ctes, take};
use crate::{Check, Pass};

/// See the module.
pub struct Windows;

impl Pass for Windows {
    fn name(&self) -> &'static str {
        "windows"
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        for node in plan.ctes.iter_mut().map(|(_, cte)| &mut cte.plan).chain([&mut plan.root]) {
            share(node);
        }
        bottom_up(plan, check, &mut mode::counted)?;
        bottom_up(plan, check, &mut limit::simplify)?;
        bottom_up(plan, check, &mut key::simplify)?;
        for id in plan.ctes.keys().collect::<Vec<_>>() {
            let definition = take(&mut plan.ctes[id].plan);
            plan.ctes[id].plan = whole::aggregated(plan, definition);
        }
        let root = take(&mut plan.root);
        plan.root = whole::aggregated(plan, root);
        order_ctes(plan);
        Ok(())
    }
}

/// A function, and the keys and number of the operator that it comes from.
struct Sorted {
    column: ColumnId,
    call: WindowCall,
    keys: Vec<SortKey>,
    operator: usize,
}

/// Lets the window operators of the subplan share orders.
fn share(node: &mut Node) {
    let mut functions: Vec<Sorted> = Vec::new();
    let mut operators = 0;
    let mut below = take(node);
    // Down to an operator that makes what these read.
    loop {
        match below.op {
            Op::Window { input, mut keys, functions: mut calls } if !reads(&functions, &calls) => {
                tidy(&mut keys, &mut calls);
                let sorted = |(column, call)| Sorted { column, call, keys: keys.clone(), operator: operators };
                let calls: Vec<Sorted> = calls.into_iter().map(sorted).collect();
                functions.splice(0..0, calls);
                operators += 1;
                below = *input;
            }
            op => {
                below.op = op;
                break;
            }
        }
    }
    match operators {
        0 => below.inputs_mut().for_each(share),
        _ => share(&mut below),
    }
    *node = orders::dealt(functions)
        .into_iter()
        .fold(below, |input, (keys, functions)| Node::new(Op::Window { input: Box::new(input), keys, functions }));
}

/// Whether the functions above read what `calls` make.
fn reads(above: &[Sorted], calls: &[(ColumnId, WindowCall)]) -> bool {
    let made = |c: ColumnId| calls.iter().any(|(column, _)| *column == c);
    above.iter().any(|f| {
        let WindowCall { arguments, filter, order, frame, .. } = &f.call;
        let keys = f.keys.iter().chain(order).map(|key| &key.expr);
        let offsets = frame.start.offset().into_iter().chain(frame.end.offset());
        arguments.iter().chain(filter).chain(keys).chain(offsets).any(|e| e.uses(made))
    })
}

/// Without keys that decide nothing.
fn tidy(keys: &mut Vec<SortKey>, calls: &mut [(ColumnId, WindowCall)]) {
    for (_, call) in calls.iter_mut() {
        if ignores_order(call) {
            call.peers = call.partition;
            call.frame = Frame::whole();
        }
    }
    for at in (0..keys.len()).rev() {
        let decides = !matches!(keys[at].expr.kind, ExprKind::Const(_))
            && !keys[..at].iter().any(|earlier| earlier.expr.same(&keys[at].expr));
        // Distances are measured in it.
        let measures = |call: &WindowCall| call.partition == at && has_distance(&call.frame);
        if decides || calls.iter().any(|(_, call)| measures(call)) {
            continue;
        }
        keys.remove(at);
        for (_, call) in calls.iter_mut() {
            call.partition -= usize::from(call.partition > at);
            call.peers -= usize::from(call.peers > at);
        }
    }
}

fn has_distance(frame: &Frame<plan::Expr>) -> bool {
    frame.unit == FrameUnit::Range && (frame.start.offset().is_some() || frame.end.offset().is_some())
}

/// Whether the order of rows means nothing to the call.
fn ignores_order(call: &WindowCall) -> bool {
    let Frame { unit, start, end, exclude } = &call.frame;
    // Without an order all rows are peers.
    let peers = *unit != FrameUnit::Rows && call.peers == call.partition;
    let from = matches!(start, FrameBound::UnboundedPreceding) || (peers && matches!(start, FrameBound::CurrentRow));
    let to = matches!(end, FrameBound::UnboundedFollowing) || (peers && matches!(end, FrameBound::CurrentRow));
    let whole = from && to && *exclude == FrameExclusion::NoOthers;
    match call.function {
        WindowFunction::Aggregate(_) => whole,
        function => function.scope() == Scope::OwnOrder && whole,
    }
}

#[cfg(test)]
mod tests;
