//! Semi-join reduction of grouped inputs: where an aggregate, windows or a limit for each group are joined on what they group
//! by with something that a selective scan restricts, only groups that this scan lets through are worth computing. Decoupled subqueries (see `unnest.rs`) are of
//! this form: TPC-H Q2, Q17 and Q20. (The idea is magic sets: I. Mumick, H. Pirahesh, *Implementation of Magic-sets in a
//! Relational Database System*, SIGMOD 1994, with the filtered scan as the magic set.)
//!
//! Invariant: every row of the other side has, for the joined column, an equal value in the scan, because the scan takes
//! part in it through inner and semi joins on an equality. So the groups that go would not have found a partner.

use std::collections::HashSet;

use base::{IdMap, Result};
use plan::{ColumnId, ColumnInfo, Compare, Expr, ExprKind, JoinKind, Node, Op, Plan, SortKey, TableId, TableInfo};

use crate::rewrite::{column, join, take};
use crate::{Check, Pass};

/// See the module.
pub struct Reduce;

impl Pass for Reduce {
    fn name(&self) -> &'static str {
        "reduce"
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        let Plan { columns, tables, ctes, root, .. } = plan;
        let mut reducer = Reducer { columns, tables };
        for (_, cte) in ctes.iter_mut() {
            reducer.node(&mut cte.plan, check)?;
        }
        reducer.node(root, check)
    }
}

struct Reducer<'a> {
    columns: &'a mut IdMap<ColumnId, ColumnInfo>,
    tables: &'a mut IdMap<TableId, TableInfo>,
}

impl Reducer<'_> {
    fn node(&mut self, node: &mut Node, check: Check<'_>) -> Result<()> {
        check()?;
        for input in node.inputs_mut() {
            self.node(input, check)?;
        }
        if let Op::Join { kind: JoinKind::Inner, left, right, condition, .. } = &mut node.op {
            self.reduce(right, left, condition);
            self.reduce(left, right, condition);
        }
        Ok(())
    }

    /// Restricts what groups at the top of `grouped`, if something does, by what `other` says about its keys.
    fn reduce(&mut self, grouped: &mut Node, other: &Node, condition: &[Expr]) {
        let (input, groups) = match &mut grouped.op {
            Op::Filter { input, .. } => return self.reduce(input, other, condition),
            Op::Aggregate { input, groups, .. } => (input, groups.clone()),
            Op::Window { input, keys, functions } => {
                let shared = functions.iter().map(|(_, call)| call.partition).min().unwrap_or(0);
                let named = |key: &SortKey| Some((key.expr.as_column()?, key.expr.clone()));
                (input, keys[..shared].iter().filter_map(named).collect())
            }
            Op::GroupLimit { input, partition, .. } => {
                (input, partition.iter().map(|&c| (c, column(self.columns, c))).collect())
            }
            _ => return,
        };
        for conjunct in condition {
            let Some((a, b)) = equality(conjunct) else { continue };
            for (key, theirs) in [(a, b), (b, a)] {
                let Some((_, expr)) = groups.iter().find(|(g, _)| *g == key) else { continue };
                let Some((scan, value)) = selective_scan(other, theirs) else { continue };
                if self.columns[value].sql_type != expr.sql_type || expr.is_volatile() {
                    continue;
                }
                let (scan, names) = scan.copied(self.columns, self.tables);
                let same = Expr::compare(Compare::Eq, expr.clone(), column(self.columns, names[&value]));
                let at = deepest(input, expr);
                *at = join(JoinKind::Semi, take(at), scan, vec![same]);
                return;
            }
        }
    }
}

/// Where the rows that `expr` is about can be restricted first: below joins that only pass them on.
fn deepest<'a>(node: &'a mut Node, expr: &Expr) -> &'a mut Node {
    let inside = |n: &Node| {
        let columns = n.columns();
        expr.only_uses(|c| columns.contains(&c))
    };
    // Decided before the borrow, which ends the search where it is returned.
    let below = match &node.op {
        Op::Filter { .. } => Some(0),
        Op::Join { kind: JoinKind::Inner, left, .. } if inside(left) => Some(0),
        Op::Join { kind: JoinKind::Inner, right, .. } if inside(right) => Some(1),
        Op::Join { kind: JoinKind::Left | JoinKind::Semi | JoinKind::Anti, left, .. } if inside(left) => Some(0),
        _ => None,
    };
    match below {
        Some(i) => deepest(node.inputs_mut().nth(i).expect("an input that was found"), expr),
        None => node,
    }
}

fn equality(conjunct: &Expr) -> Option<(ColumnId, ColumnId)> {
    match &conjunct.kind {
        ExprKind::Compare(Compare::Eq, a, b) if a.sql_type == b.sql_type => Some((a.as_column()?, b.as_column()?)),
        _ => None,
    }
}

/// A filtered scan that holds every value that `wanted` has in the result of `node`, and its column that does.
fn selective_scan(node: &Node, wanted: ColumnId) -> Option<(&Node, ColumnId)> {
    let (mut pairs, mut scans) = (Vec::new(), Vec::new());
    gather(node, &mut pairs, &mut scans);
    let mut class = HashSet::from([wanted]);
    loop {
        let before = class.len();
        for &(a, b) in &pairs {
            if class.contains(&a) || class.contains(&b) {
                class.extend([a, b]);
            }
        }
        if class.len() == before {
            break;
        }
    }
    scans.into_iter().find_map(|scan| {
        let Op::Scan { columns, predicates, .. } = &scan.op else { return None };
        let value = columns.iter().map(|&(_, c)| c).find(|c| class.contains(c))?;
        // What is said about the value itself, the aggregate's input knows already.
        let selective = predicates.iter().any(|p| p.uses(|c| c != value)) && !predicates.iter().any(Expr::is_volatile);
        selective.then_some((scan, value))
    })
}

/// The scans that every row of the result comes from, and the equalities that hold between their columns.
fn gather<'a>(node: &'a Node, pairs: &mut Vec<(ColumnId, ColumnId)>, scans: &mut Vec<&'a Node>) {
    match &node.op {
        Op::Scan { .. } => scans.push(node),
        Op::Filter { input, .. } | Op::Map { input, .. } => gather(input, pairs, scans),
        Op::Join { kind: JoinKind::Inner | JoinKind::Semi, left, right, condition, .. } => {
            pairs.extend(condition.iter().filter_map(equality));
            gather(left, pairs, scans);
            gather(right, pairs, scans);
        }
        Op::Join { kind: JoinKind::Left | JoinKind::Anti | JoinKind::Mark(_) | JoinKind::Single, left, .. } => {
            gather(left, pairs, scans);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::Reduce;

    #[track_caller]
    fn check(operator: &str, key: &str, reduced: bool) {
        let head = "output [k = k#0]\n  join inner [d#3 = ";
        let selective = "    scan d t1 [d#3:integer = 0, e#4:integer = 1] where [e#4 = 7]\n";
        let scan = "scan f t0 [k#0:integer = 0, l#1:integer = 1]";
        let before = format!("{head}{key}]\n    {operator}\n      {scan}\n{selective}");
        let [d, e] = if operator.contains("s#5") { [6, 7] } else { [5, 6] };
        let semi = format!(
            "join semi [{key} = d#{d}]\n        {scan}\n        scan d t2 [d#{d}:integer = 0, e#{e}:integer = 1] where [e#{e} = 7]"
        );
        let after = format!("{head}{key}]\n    {operator}\n      {semi}\n{selective}");
        crate::testing::check(&[&Reduce], &before, if reduced { &after } else { &before });
    }

    #[test]
    fn windows_and_limits_compute_only_partitions_that_a_join_lets_through() {
        let window = |partitions: [usize; 2]| {
            let [a, b] = partitions.map(|p| format!("partition {p} peers 2 range first to current"));
            format!("window [k#0, l#1] [r#2:bigint = rank() {a}, s#5:bigint = dense_rank() {b}]")
        };
        check(&window([1, 2]), "k#0", true);
        check(&window([2, 2]), "l#1", true);
        check(&window([1, 2]), "l#1", false);
        check(&window([0, 2]), "k#0", false);
        check("group limit [k#0] by [l#1] limit 2", "k#0", true);
        check("group limit [k#0] by [l#1] limit 2", "l#1", false);
    }
}
