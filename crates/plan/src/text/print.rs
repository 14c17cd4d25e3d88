//! Operators as text.

use std::fmt;

use super::print_expr::{ExprPrinter, identifier};
use super::window;
use crate::{BuildSide, ColumnId, JoinKind, Node, Op, Plan, SetOperation, SortKey};

/// The plan as text, complete: with positions, without estimates.
pub fn print(plan: &Plan) -> String {
    Printer { plan, estimates: false, positions: true }.to_string()
}

/// Prints a plan; `estimates` adds the estimated rows where there are some (they are not read back).
#[derive(Clone, Copy)]
pub struct Printer<'a> {
    /// What to print.
    pub plan: &'a Plan,
    /// Whether to add `-- n rows`.
    pub estimates: bool,
    /// Whether to print where expressions stand in the SQL text: `(a#0 / b#1)@14`.
    pub positions: bool,
}

impl Plan {
    /// One operator of the plan as text, without its inputs.
    pub fn operator(&self, node: &Node) -> String {
        Printer { plan: self, estimates: false, positions: false }.line(node, &mut Vec::new())
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer { plan: self, estimates: true, positions: false }.fmt(f)
    }
}

impl fmt::Display for Printer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        let names = ExprPrinter { columns: &self.plan.columns, subqueries: &mut Vec::new(), positions: false };
        for (id, cte) in self.plan.ctes.iter() {
            let columns: Vec<String> = cte.columns.iter().map(|&c| names.reference(c)).collect();
            out += &format!("cte {id} {} [{}]\n", identifier(&cte.name), columns.join(", "));
            self.node(&cte.plan, 1, &mut out);
        }
        let output: Vec<String> =
            self.plan.output.iter().map(|(n, c)| format!("{} = {}", identifier(n), names.reference(*c))).collect();
        out += &format!("output [{}]\n", output.join(", "));
        self.node(&self.plan.root, 1, &mut out);
        f.write_str(&out)
    }
}

impl<'a> Printer<'a> {
    fn node(&self, node: &'a Node, depth: usize, out: &mut String) {
        let mut subqueries = Vec::new();
        let line = self.line(node, &mut subqueries);
        let indent = 2 * depth;
        *out += &format!("{:indent$}{line}", "");
        if self.estimates && !node.rows.is_nan() {
            *out += &format!(" -- {:.0} rows", node.rows);
        }
        out.push('\n');
        for input in node.inputs() {
            self.node(input, depth + 1, out);
        }
        for (i, plan) in subqueries.into_iter().enumerate() {
            *out += &format!("{:indent$}  subquery ${}\n", "", i + 1);
            self.node(plan, depth + 2, out);
        }
    }

    /// One operator without its inputs.
    fn line(&self, node: &'a Node, subqueries: &mut Vec<&'a Node>) -> String {
        let mut p = ExprPrinter { columns: &self.plan.columns, subqueries, positions: self.positions };
        let references =
            |p: &ExprPrinter<'_, '_>, c: &[ColumnId]| c.iter().map(|&c| p.reference(c)).collect::<Vec<_>>().join(", ");
        let definitions =
            |p: &ExprPrinter<'_, '_>, c: &[ColumnId]| c.iter().map(|&c| p.definition(c)).collect::<Vec<_>>().join(", ");
        match &node.op {
            Op::Scan { table, columns, predicates } => {
                let columns: Vec<String> = columns.iter().map(|&(a, c)| format!("{} = {a}", p.definition(c))).collect();
                let name = self.plan.tables.get(*table).map_or("?", |t| &t.name);
                let filter = match predicates.as_slice() {
                    [] => String::new(),
                    _ => format!(" where [{}]", p.list(predicates)),
                };
                format!("scan {} {table} [{}]{filter}", identifier(name), columns.join(", "))
            }
            Op::CteScan { cte, columns } => {
                let columns: Vec<String> =
                    columns.iter().map(|&(from, c)| format!("{} = {}", p.definition(c), p.reference(from))).collect();
                format!("ctescan {cte} [{}]", columns.join(", "))
            }
            Op::Values { columns, rows } => {
                let rows: Vec<String> = rows.iter().map(|r| format!("[{}]", p.list(r))).collect();
                format!("values [{}] [{}]", definitions(&p, columns), rows.join(", "))
            }
            Op::Filter { predicates, .. } => format!("filter [{}]", p.list(predicates)),
            Op::Map { columns, .. } => {
                let columns: Vec<String> =
                    columns.iter().map(|(c, e)| format!("{} = {}", p.definition(*c), p.print(e))).collect();
                format!("map [{}]", columns.join(", "))
            }
            Op::Join { kind, condition, build, .. } => {
                let kind = match kind {
                    JoinKind::Inner => "inner".to_owned(),
                    JoinKind::Left => "left".to_owned(),
                    JoinKind::Right => "right".to_owned(),
                    JoinKind::Full => "full".to_owned(),
                    JoinKind::Semi => "semi".to_owned(),
                    JoinKind::Anti => "anti".to_owned(),
                    JoinKind::Mark(mark) => format!("mark {}", p.definition(*mark)),
                    JoinKind::Single => "single".to_owned(),
                };
                let build = if *build == BuildSide::Left { " build left" } else { "" };
                format!("join {kind} [{}]{build}", p.list(condition))
            }
            Op::Aggregate { groups, aggregates, .. } => {
                let groups: Vec<String> =
                    groups.iter().map(|(c, e)| format!("{} = {}", p.definition(*c), p.print(e))).collect();
                let mut calls = Vec::new();
                for (column, call) in aggregates {
                    let argument = call.argument.as_ref().map_or_else(|| "*".to_owned(), |e| p.print(e));
                    let distinct = if call.distinct { "distinct " } else { "" };
                    let name = call.function.name();
                    let filter = match &call.filter {
                        Some(e) => format!(" filter ({})", p.print(e)),
                        None => String::new(),
                    };
                    let position = match call.position {
                        Some(at) if p.positions => format!("@{at}"),
                        _ => String::new(),
                    };
                    calls.push(format!("{} = {name}({distinct}{argument}){filter}{position}", p.definition(*column)));
                }
                format!("aggregate [{}] [{}]", groups.join(", "), calls.join(", "))
            }
            Op::Distinct { columns, .. } => format!("distinct [{}]", references(&p, columns)),
            Op::Sort { keys, limit, offset, .. } => {
                format!("sort [{}]{}", sort_keys(&mut p, keys), limits(*limit, *offset))
            }
            Op::GroupLimit { partition, keys, limit, offset, .. } => format!(
                "group limit [{}] by [{}]{}",
                references(&p, partition),
                sort_keys(&mut p, keys),
                limits(*limit, *offset)
            ),
            Op::Window { keys, functions, .. } => {
                let keys = sort_keys(&mut p, keys);
                let calls: Vec<String> = functions.iter().map(|(c, call)| window::print(&mut p, *c, call)).collect();
                format!("window [{keys}] [{}]", calls.join(", "))
            }
            Op::Limit { limit, offset, .. } => match limit {
                Some(_) => limits(*limit, *offset).trim().to_owned(),
                None => format!("limit all{}", limits(None, *offset)),
            },
            Op::SetOp { operation, all, inputs, columns } => {
                let name = match operation {
                    SetOperation::Union => "union",
                    SetOperation::Intersect => "intersect",
                    SetOperation::Except => "except",
                };
                let from: Vec<String> = inputs.iter().map(|(_, c)| format!("[{}]", references(&p, c))).collect();
                let all = if *all { " all" } else { "" };
                format!("{name}{all} [{}] from [{}]", definitions(&p, columns), from.join(", "))
            }
        }
    }
}

pub(super) fn sort_keys<'a>(p: &mut ExprPrinter<'a, '_>, keys: &'a [SortKey]) -> String {
    let key = |k: &'a SortKey| {
        let order = if k.descending { " desc" } else { "" };
        let nulls = match (k.nulls_first, k.descending) {
            (true, false) => " nulls first",
            (false, true) => " nulls last",
            _ => "",
        };
        format!("{}{order}{nulls}", p.print(&k.expr))
    };
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}

fn limits(limit: Option<u64>, offset: u64) -> String {
    let mut out = limit.map_or(String::new(), |n| format!(" limit {n}"));
    if offset > 0 {
        out += &format!(" offset {offset}");
    }
    out
}
