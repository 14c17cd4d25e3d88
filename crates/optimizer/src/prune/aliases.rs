//! Computed columns that are only other columns under a new name.

use std::collections::HashMap;

use plan::{ColumnId, Node, Op, Plan};

use crate::rewrite::{map, take};

/// Replaces each such column by what it names, everywhere.
pub(super) fn remove(plan: &mut Plan) {
    let mut names: HashMap<ColumnId, ColumnId> = HashMap::new();
    for node in plan.ctes.values().map(|c| &c.plan).chain([&plan.root]) {
        node.walk(&mut |node| {
            if let Op::Map { columns, .. } = &node.op {
                for (column, expr) in columns {
                    if let Some(named) = expr.as_column()
                        && plan.columns[named].sql_type == plan.columns[*column].sql_type
                    {
                        names.insert(*column, named);
                    }
                }
            }
        });
    }
    // A set operation names each column of an input once; two of its columns may be one by another name.
    for node in plan.ctes.values().map(|c| &c.plan).chain([&plan.root]) {
        node.walk(&mut |node| {
            if let Op::SetOp { inputs, .. } | Op::Recursion { inputs, .. } = &node.op {
                inputs.iter().flat_map(|(_, from)| from).for_each(|c| {
                    names.remove(c);
                });
            }
        });
    }
    if names.is_empty() {
        return;
    }
    // A name of a name is the first column.
    let resolved = names
        .keys()
        .map(|&c| {
            let mut target = names[&c];
            while let Some(&next) = names.get(&target) {
                target = next;
            }
            (c, target)
        })
        .collect();
    for (_, cte) in plan.ctes.iter_mut() {
        cte.plan = replace(take(&mut cte.plan), &resolved);
        cte.columns.iter_mut().for_each(|c| *c = resolved.get(c).copied().unwrap_or(*c));
        cte.columns.sort_unstable();
        cte.columns.dedup();
    }
    plan.root = replace(take(&mut plan.root), &resolved);
    plan.output.iter_mut().for_each(|(_, c)| *c = resolved.get(c).copied().unwrap_or(*c));
}

fn replace(mut node: Node, names: &HashMap<ColumnId, ColumnId>) -> Node {
    for input in node.inputs_mut() {
        *input = replace(take(input), names);
    }
    if let Op::Map { input, mut columns } = node.op {
        columns.retain(|(c, _)| !names.contains_key(c));
        node = map(*input, columns);
    }
    // The operators that made these columns are gone: what is left are references.
    rename_here(&mut node, names);
    node
}

fn rename_here(node: &mut Node, names: &HashMap<ColumnId, ColumnId>) {
    let new = |c: &mut ColumnId| *c = names.get(c).copied().unwrap_or(*c);
    if let Some(columns) = node.grouping_mut() {
        columns.iter_mut().for_each(new);
        let mut seen = Vec::new();
        columns.retain(|c| {
            let fresh = !seen.contains(c);
            seen.push(*c);
            fresh
        });
    }
    match &mut node.op {
        Op::SetOp { inputs, .. } | Op::Recursion { inputs, .. } => {
            inputs.iter_mut().flat_map(|(_, from)| from).for_each(new);
        }
        Op::CteScan { columns, .. } => columns.iter_mut().for_each(|(from, _)| new(from)),
        _ => {}
    }
    for expr in node.expressions_mut() {
        expr.rename(names);
    }
}
