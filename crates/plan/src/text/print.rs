//! Operators as text.

use std::collections::HashSet;
use std::fmt;

use super::print_expr::{ExprPrinter, Names, identifier, renamed, sort_keys};
use super::window;
use crate::index_join::IndexJoin;
use crate::indexed::{self, Found};
use crate::{BuildSide, ColumnId, Expr, JoinKind, Node, Op, Plan, SetOperation};

/// The plan as text, complete: with positions, without estimates.
pub fn print(plan: &Plan) -> String {
    Printer { positions: true, ..Printer::complete(plan) }.to_string()
}

/// Prints a plan.
#[derive(Debug)]
pub struct Printer<'a> {
    plan: &'a Plan,
    /// Whether to add `-- n rows` where there is an estimate (they are not read back).
    estimates: bool,
    /// Whether to print where expressions stand in the SQL text: `(a#0 / b#1)@14`.
    positions: bool,
    names: Names<'a>,
}

impl<'a> Printer<'a> {
    fn complete(plan: &'a Plan) -> Self {
        Self { plan, estimates: false, positions: false, names: Names::Numbered }
    }

    /// For people: with estimates; without types, and with numbers only for names that several columns have.
    pub fn plain(plan: &'a Plan) -> Self {
        Self { estimates: true, names: Names::Plain(shared_names(plan)), ..Self::complete(plan) }
    }

    /// One operator of the plan, without its inputs.
    pub fn operator(&self, node: &'a Node) -> String {
        self.line(node, &mut Vec::new())
    }
}

/// The names that several columns have, if those that only hand another one on under its name are left out.
fn shared_names(plan: &Plan) -> HashSet<&str> {
    let (mut seen, mut shared) = (HashSet::new(), HashSet::new());
    let name = |c: ColumnId| plan.columns.get(c).map_or("", |column| column.name.as_str());
    let mut made = |c: ColumnId, from: Option<&Expr>| {
        if from.and_then(Expr::as_column).is_none_or(|from| name(from) != name(c)) && !seen.insert(name(c)) {
            shared.insert(name(c));
        }
    };
    let mut visit = |node: &'_ Node| match &node.op {
        Op::Scan { columns, .. } => columns.iter().for_each(|&(_, c)| made(c, None)),
        Op::CteScan { columns, .. } => columns.iter().for_each(|&(_, c)| made(c, None)),
        Op::Values { columns, .. } => columns.iter().for_each(|&c| made(c, None)),
        Op::Map { columns, .. } => columns.iter().for_each(|(c, e)| made(*c, Some(e))),
        Op::Aggregate { groups, aggregates, .. } => {
            groups.iter().for_each(|(c, e)| made(*c, Some(e)));
            aggregates.iter().for_each(|(c, _)| made(*c, None));
        }
        Op::Window { functions, .. } => functions.iter().for_each(|(c, _)| made(*c, None)),
        Op::Repeat { number, .. } => made(*number, None),
        _ => {}
    };
    plan.root.walk(&mut visit);
    plan.ctes.values().for_each(|cte| cte.plan.walk(&mut visit));
    shared
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer { estimates: true, ..Printer::complete(self) }.fmt(f)
    }
}

impl fmt::Display for Printer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        let mut subqueries = Vec::new();
        let names = self.exprs(&mut subqueries);
        for (id, cte) in self.plan.ctes.iter() {
            let columns: Vec<String> = cte.columns.iter().map(|&c| names.reference(c)).collect();
            out += &format!("cte {id} {} [{}]\n", identifier(&cte.name), columns.join(", "));
            self.node(&cte.plan, 1, &mut out);
        }
        let output: Vec<String> =
            self.plan.output.iter().map(|(n, c)| renamed(identifier(n), names.reference(*c))).collect();
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

    fn exprs<'b>(&'b self, subqueries: &'b mut Vec<&'a Node>) -> ExprPrinter<'a, 'b> {
        ExprPrinter { columns: &self.plan.columns, subqueries, positions: self.positions, names: &self.names }
    }

    /// One operator without its inputs.
    fn line(&self, node: &'a Node, subqueries: &mut Vec<&'a Node>) -> String {
        let mut p = self.exprs(subqueries);
        let references =
            |p: &ExprPrinter<'_, '_>, c: &[ColumnId]| c.iter().map(|&c| p.reference(c)).collect::<Vec<_>>().join(", ");
        let definitions =
            |p: &ExprPrinter<'_, '_>, c: &[ColumnId]| c.iter().map(|&c| p.definition(c)).collect::<Vec<_>>().join(", ");
        let numbered = matches!(self.names, Names::Numbered);
        match &node.op {
            Op::Scan { table, columns, predicates } => {
                let name = self.plan.tables.get(*table);
                let column = |&(a, c)| if numbered { format!("{} = {a}", p.definition(c)) } else { p.definition(c) };
                let columns: Vec<String> = columns.iter().map(column).collect();
                let name = identifier(name.map_or("?", |t| &t.name));
                let name = if numbered { format!("{name} {table}") } else { name };
                let filter = match predicates.as_slice() {
                    [] => String::new(),
                    _ => format!(" where [{}]", p.list(predicates)),
                };
                let (how, by) = match indexed::found_by(self.plan, node) {
                    Found::Row if !numbered => ("lookup", String::new()),
                    Found::Rows(index, is_enough) if !numbered => {
                        ("scan", format!(" by {}{}", identifier(&index), if is_enough { " only" } else { "" }))
                    }
                    _ => ("scan", String::new()),
                };
                format!("{how} {name}{by} [{}]{filter}", columns.join(", "))
            }
            Op::CteScan { cte, columns } => {
                let columns: Vec<String> =
                    columns.iter().map(|&(from, c)| renamed(p.definition(c), p.reference(from))).collect();
                format!("ctescan {cte} [{}]", columns.join(", "))
            }
            Op::Values { columns, rows } => {
                let rows: Vec<String> = rows.iter().map(|r| format!("[{}]", p.list(r))).collect();
                format!("values [{}] [{}]", definitions(&p, columns), rows.join(", "))
            }
            Op::Filter { predicates, .. } => format!("filter [{}]", p.list(predicates)),
            Op::Map { columns, .. } => {
                let columns: Vec<String> = columns.iter().map(|(c, e)| p.made_of(*c, e)).collect();
                format!("map [{}]", columns.join(", "))
            }
            Op::Join { kind, left, right, condition, build } => {
                let (probe, built) = if *build == BuildSide::Left { (right, left) } else { (left, right) };
                let found = IndexJoin::of(&self.plan.tables, probe, condition);
                let alone = found.as_ref().is_some_and(|join| join.pays_alone(node, built.rows));
                let found = found.filter(|join| alone || join.pays(built.rows));
                let drops = match kind {
                    JoinKind::Inner | JoinKind::Semi => true,
                    JoinKind::Left | JoinKind::Anti => *build == BuildSide::Left,
                    JoinKind::Right => *build == BuildSide::Right,
                    JoinKind::Full | JoinKind::Mark(_) | JoinKind::Single => false,
                };
                let by = found.filter(|_| drops && !numbered);
                let only = if alone { " only" } else { "" };
                let by = by.map_or_else(String::new, |join| format!(" by {}{only}", identifier(&join.index)));
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
                format!("join {kind} [{}]{build}{by}", p.list(condition))
            }
            Op::Aggregate { groups, aggregates, .. } => {
                let by = indexed::extremes_by(&self.plan.tables, node).filter(|_| !numbered);
                let by = by.map_or_else(String::new, |index| format!(" by {}", identifier(&index)));
                let groups: Vec<String> = groups.iter().map(|(c, e)| p.made_of(*c, e)).collect();
                let mut calls = Vec::new();
                for (column, call) in aggregates {
                    let arguments = if call.arguments.is_empty() { "*".to_owned() } else { p.list(&call.arguments) };
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
                    calls.push(format!("{} = {name}({distinct}{arguments}){filter}{position}", p.definition(*column)));
                }
                format!("aggregate [{}] [{}]{by}", groups.join(", "), calls.join(", "))
            }
            Op::Distinct { columns, .. } => format!("distinct [{}]", references(&p, columns)),
            Op::Repeat { times, number, .. } => format!("repeat [{}]", p.made_of(*number, times)),
            Op::Sort { input, keys, limit, offset } => {
                let first = limit
                    .and_then(|_| indexed::first_by(&self.plan.tables, input, keys.first()?))
                    .filter(|_| !numbered);
                let by = first.map_or_else(String::new, |index| format!(" by {}", identifier(&index)));
                format!("sort [{}]{}{by}", sort_keys(&mut p, keys), limits(*limit, *offset))
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
            Op::Recursion { cte, all, inputs, columns } => {
                let from: Vec<String> = inputs.iter().map(|(_, c)| format!("[{}]", references(&p, c))).collect();
                let all = if *all { " all" } else { "" };
                format!("recursion {cte}{all} [{}] from [{}]", definitions(&p, columns), from.join(", "))
            }
        }
    }
}

fn limits(limit: Option<u64>, offset: u64) -> String {
    let mut out = limit.map_or(String::new(), |n| format!(" limit {n}"));
    if offset > 0 {
        out += &format!(" offset {offset}");
    }
    out
}
