//! Subplans that are there more than once are computed once: what is the same but for the names of its columns becomes a common
//! table expression, which all of its places read.
//!
//! `FROM (SELECT store, avg(revenue) FROM (sums by store and item) ...) a, (sums by store and item) b` (TPC-DS Q65) so reads the
//! sales once. It comes behind the last pass that finds other plans for them, and is done where the result is expected to be
//! small beside the tables below: its rows are written and read again.
//!
//! Plans with recursions stay as they are: what their rounds read changes. So do subplans that may fail, as a LIMIT might have ended before
//! it came to both of them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use base::ids::Id;
use base::{IdMap, Result};
use plan::{AggregateCall, ColumnId, Cte, CteId, Expr, JoinKind, Node, Op, Plan, TableId, TableInfo};

use crate::eager::is_sure;
use crate::rewrite::{Nullable, fresh_like, order_ctes};
use crate::{Check, Pass};

/// Tables of fewer rows are not worth another pipeline.
const LEAST_ROWS: f64 = 50_000.0;
/// Rows that are read for each group, at least, and for each row of a join: what the places do with these might leave most of them out
/// when the tables are read.
const READ_A_GROUP: f64 = 8.0;
const READ_A_PAIR: f64 = 64.0;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct CommonSubplans {
    /// Whatever is expected, for tests.
    pub always: bool,
}

impl Pass for CommonSubplans {
    fn name(&self) -> &'static str {
        "common_subplans"
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        let mut is_recursive = false;
        let mut look = |node: &Node| node.walk(&mut |n| is_recursive |= matches!(n.op, Op::Recursion { .. }));
        plan.ctes.values().for_each(|cte| look(&cte.plan));
        look(&plan.root);
        while !is_recursive && let Some(subplan) = self.largest(plan, check)? {
            share(plan, subplan);
        }
        Ok(())
    }
}

impl CommonSubplans {
    /// The largest subplan that is there more than once.
    fn largest(&self, plan: &Plan, check: Check<'_>) -> Result<Option<Node>> {
        let mut forms: HashMap<Form, Vec<(&Node, usize)>> = HashMap::new();
        let mut looked = Looked { pass: *self, tables: &plan.tables, forms: &mut forms, check };
        for node in plan.ctes.values().map(|cte| &cte.plan).chain([&plan.root]) {
            looked.node(node)?;
        }
        let common = forms.into_values().filter_map(|of| {
            let [(first, size), others @ ..] = &of[..] else { return None };
            others.iter().any(|(other, _)| same(first, other, &plan.tables).is_some()).then_some((*size, *first))
        });
        let largest = common.max_by_key(|(size, first)| (*size, first.columns().into_iter().min()));
        Ok(largest.map(|(_, first)| first.clone()))
    }
}

/// A number that is the same for subplans that are the same, and most likely for no others.
type Form = u64;

/// What subplans may be shared.
struct Looked<'p, 'f> {
    pass: CommonSubplans,
    tables: &'p IdMap<TableId, TableInfo>,
    /// By form, with the number of its operators.
    forms: &'f mut HashMap<Form, Vec<(&'p Node, usize)>>,
    check: Check<'f>,
}

impl<'p> Looked<'p, '_> {
    /// The form of a subplan, its operators, and the rows of its tables; none if it cannot be shared.
    fn node(&mut self, node: &'p Node) -> Result<Option<(Form, usize, f64)>> {
        (self.check)()?;
        let mut hasher = DefaultHasher::new();
        let (mut is_known, mut operators, mut read) = (true, 1, 0.0);
        for input in node.inputs() {
            match self.node(input)? {
                Some((form, below, rows)) => {
                    form.hash(&mut hasher);
                    operators += below;
                    read += rows;
                }
                None => is_known = false,
            }
        }
        if !is_known || !hash_operator(node, self.tables, &mut hasher) {
            return Ok(None);
        }
        if let Op::Scan { table, .. } = node.op {
            read += self.tables[table].statistics.rows() as f64;
        }
        let form = hasher.finish();
        let read_each = match node.op {
            Op::Aggregate { .. } | Op::Distinct { .. } => READ_A_GROUP,
            Op::Join { .. } => READ_A_PAIR,
            _ => return Ok(Some((form, operators, read))),
        };
        if self.pass.always || read >= LEAST_ROWS && node.rows * read_each <= read {
            self.forms.entry(form).or_default().push((node, operators));
        }
        Ok(Some((form, operators, read)))
    }
}

/// What tells an operator from others besides its inputs and the names of columns; false if it may give other rows each time, or fail.
fn hash_operator(node: &Node, tables: &IdMap<TableId, TableInfo>, hasher: &mut DefaultHasher) -> bool {
    std::mem::discriminant(&node.op).hash(hasher);
    node.expressions().count().hash(hasher);
    match &node.op {
        Op::Scan { table, columns, .. } => {
            let info = &tables[*table];
            let Some(identity) = info.statistics.identity().filter(|_| info.computed.is_empty()) else { return false };
            identity.hash(hasher);
            columns.iter().for_each(|(attribute, _)| attribute.hash(hasher));
        }
        Op::CteScan { cte, columns } => {
            cte.hash(hasher);
            columns.iter().for_each(|(source, _)| source.hash(hasher));
        }
        Op::Join { kind: JoinKind::Single, .. } => return false,
        Op::Join { kind, .. } => std::mem::discriminant(kind).hash(hasher),
        Op::Aggregate { groups, .. } => groups.len().hash(hasher),
        Op::Filter { .. } | Op::Map { .. } | Op::Distinct { .. } | Op::SetOp { .. } => {}
        _ => return false,
    }
    node.expressions().all(|expr| !expr.is_volatile() && is_sure(expr))
}

/// The columns of a subplan by those of another one that is the same; none if it is not.
fn same(a: &Node, b: &Node, tables: &IdMap<TableId, TableInfo>) -> Option<HashMap<ColumnId, ColumnId>> {
    let mut comparison = Comparison { tables, names: HashMap::new() };
    comparison.nodes(a, b).then_some(comparison.names)
}

struct Comparison<'p> {
    tables: &'p IdMap<TableId, TableInfo>,
    /// Of the second subplan's columns, those of the first.
    names: HashMap<ColumnId, ColumnId>,
}

impl Comparison<'_> {
    fn nodes(&mut self, a: &Node, b: &Node) -> bool {
        if std::mem::discriminant(&a.op) != std::mem::discriminant(&b.op) {
            return false;
        }
        let (mut ours, mut theirs) = (a.inputs(), b.inputs());
        loop {
            match (ours.next(), theirs.next()) {
                (Some(a), Some(b)) if self.nodes(a, b) => {}
                (None, None) => break,
                _ => return false,
            }
        }
        self.operators(&a.op, &b.op)
    }

    /// Operators whose inputs are the same.
    fn operators(&mut self, a: &Op, b: &Op) -> bool {
        match (a, b) {
            (
                Op::Scan { table: a, columns, predicates },
                Op::Scan { table: b, columns: others, predicates: conditions },
            ) => {
                let identity = |table: TableId| self.tables[table].statistics.identity();
                let is_same = identity(*a).is_some() && identity(*a) == identity(*b);
                is_same && self.named(columns, others) && self.lists(predicates, conditions)
            }
            (Op::CteScan { cte: a, columns }, Op::CteScan { cte: b, columns: others }) => {
                a == b && self.named(columns, others)
            }
            (Op::Filter { predicates: a, .. }, Op::Filter { predicates: b, .. }) => self.lists(a, b),
            (Op::Map { columns: a, .. }, Op::Map { columns: b, .. }) => self.computed(a, b),
            (Op::Join { kind: a, condition, .. }, Op::Join { kind: b, condition: conditions, .. }) => {
                let is_same = self.lists(condition, conditions);
                match (a, b) {
                    (JoinKind::Mark(a), JoinKind::Mark(b)) => self.names.insert(*b, *a).is_none() && is_same,
                    _ => is_same && a == b,
                }
            }
            (Op::Aggregate { groups, aggregates, .. }, Op::Aggregate { groups: others, aggregates: calls, .. }) => {
                self.computed(groups, others) && self.calls(aggregates, calls)
            }
            (Op::Distinct { columns: a, .. }, Op::Distinct { columns: b, .. }) => self.columns(a, b),
            (
                Op::SetOp { operation: a, all, inputs, columns },
                Op::SetOp { operation: b, all: other, inputs: others, columns: theirs },
            ) => {
                let is_same = a == b && all == other;
                let inputs = inputs.iter().zip(others).all(|((_, a), (_, b))| self.columns(a, b));
                self.names.extend(theirs.iter().copied().zip(columns.iter().copied()));
                is_same && inputs && columns.len() == theirs.len()
            }
            _ => false,
        }
    }

    fn expressions(&self, a: &Expr, b: &Expr) -> bool {
        let mut renamed = b.clone();
        renamed.rename(&self.names);
        a.same(&renamed)
    }

    fn lists(&self, a: &[Expr], b: &[Expr]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.expressions(a, b))
    }

    fn columns(&self, a: &[ColumnId], b: &[ColumnId]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.names.get(b) == Some(a))
    }

    /// Columns that are taken from the same sources.
    fn named<S: PartialEq>(&mut self, a: &[(S, ColumnId)], b: &[(S, ColumnId)]) -> bool {
        self.names.extend(b.iter().zip(a).map(|(b, a)| (b.1, a.1)));
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0)
    }

    fn computed(&mut self, a: &[(ColumnId, Expr)], b: &[(ColumnId, Expr)]) -> bool {
        let is_same = a.len() == b.len() && a.iter().zip(b).all(|((_, a), (_, b))| self.expressions(a, b));
        self.names.extend(b.iter().zip(a).map(|(b, a)| (b.0, a.0)));
        is_same
    }

    fn calls(&mut self, a: &[(ColumnId, AggregateCall)], b: &[(ColumnId, AggregateCall)]) -> bool {
        let is_same = |a: &AggregateCall, b: &AggregateCall| {
            let form = |call: &AggregateCall| {
                (call.function, call.distinct, call.sql_type, call.arguments.len(), call.filter.is_some())
            };
            form(a) == form(b) && a.expressions().zip(b.expressions()).all(|(a, b)| self.expressions(a, b))
        };
        let all = a.len() == b.len() && a.iter().zip(b).all(|((_, a), (_, b))| is_same(a, b));
        self.names.extend(b.iter().zip(a).map(|(b, a)| (b.0, a.0)));
        all
    }
}

/// Computes a subplan once, for all places that have it.
fn share(plan: &mut Plan, subplan: Node) {
    let Plan { columns, tables, ctes, root, .. } = plan;
    let mut made = Vec::new();
    subplan.walk(&mut |node| made.extend(node.produced()));
    let names: HashMap<ColumnId, ColumnId> = made.into_iter().map(|c| (c, fresh_like(columns, c))).collect();
    let nullable = Nullable::of(&subplan, columns);
    let mut sharing =
        Sharing { subplan: &subplan, tables, cte: CteId::from_index(ctes.len()), names: &names, read: Vec::new() };
    ctes.iter_mut().for_each(|(_, cte)| sharing.replace(&mut cte.plan));
    sharing.replace(root);
    // Outer joins in the subplan may have made them so.
    let is_nullable: Vec<(ColumnId, bool)> = sharing.read.iter().map(|(c, of)| (*c, nullable.column(*of))).collect();
    is_nullable.into_iter().for_each(|(column, nullable)| columns[column].nullable = nullable);
    let given = subplan.columns().into_iter().map(|column| names[&column]).collect();
    let mut definition = subplan;
    definition.rename(&names);
    ctes.push(Cte { name: "common".to_owned(), plan: definition, columns: given });
    order_ctes(plan);
}

struct Sharing<'p> {
    subplan: &'p Node,
    tables: &'p IdMap<TableId, TableInfo>,
    cte: CteId,
    /// Its columns in the definition.
    names: &'p HashMap<ColumnId, ColumnId>,
    /// The columns of the places that read it, and which these are of the subplan.
    read: Vec<(ColumnId, ColumnId)>,
}

impl Sharing<'_> {
    fn replace(&mut self, node: &mut Node) {
        let Some(same) = same(self.subplan, node, self.tables) else {
            return node.inputs_mut().for_each(|input| self.replace(input));
        };
        let given: Vec<(ColumnId, ColumnId)> =
            node.columns().into_iter().map(|column| (column, same[&column])).collect();
        let columns = given.iter().map(|(column, of)| (self.names[of], *column)).collect();
        self.read.extend(given);
        node.op = Op::CteScan { cte: self.cte, columns };
    }
}

#[cfg(test)]
mod tests {
    use super::CommonSubplans;

    #[track_caller]
    fn check(before: &str, after: &str) {
        crate::testing::check(&[&CommonSubplans { always: true }], before, after);
    }

    /// A join of two groupings of the same table.
    fn twice(first: &str, second: &str) -> String {
        format!(
            "\
output [g = g#2, m = m#7]
  join inner [g#2 = g#6]
    aggregate [g#2:integer = a#0] [m#3:integer? = {first}(b#1)]
      scan t t0 [a#0:integer = 0, b#1:integer = 1]
    aggregate [g#6:integer = a#4] [m#7:integer? = {second}(b#5)]
      scan t t1 [a#4:integer = 0, b#5:integer = 1]
"
        )
    }

    #[test]
    fn the_same_is_computed_once() {
        check(
            &twice("max", "max"),
            "\
cte cte0 common [g#8, m#9]
  aggregate [g#8:integer = a#10] [m#9:integer? = max(b#11)]
    scan t t0 [a#10:integer = 0, b#11:integer = 1]
output [g = g#2, m = m#7]
  join inner [g#2 = g#6]
    ctescan cte0 [g#2:integer = g#8, m#3:integer? = m#9]
    ctescan cte0 [g#6:integer = g#8, m#7:integer? = m#9]
",
        );
    }

    #[test]
    fn what_differs_is_not() {
        let others = twice("max", "min");
        check(&others, &others);
        let of_another_column = twice("max", "max").replace("(b#5)", "(a#4)");
        check(&of_another_column, &of_another_column);
        let of_another_table = twice("max", "max").replace("scan t t1", "scan u t1");
        check(&of_another_table, &of_another_table);
        let filtered = twice("max", "max").replace("b#5:integer = 1]", "b#5:integer = 1] where [a#4 = 3]");
        check(&filtered, &filtered);
    }
}
