//! Dependent joins become plain joins.

use std::collections::BTreeSet;

use base::Result;
use plan::{ColumnId, ColumnInfo, Compare, Expr, ExprKind, JoinKind, Node, Op};
use types::{SqlType, Value};

use super::Unnester;
use super::domain::Domain;
use super::hoist::hoist;
use crate::rewrite::{Nullable, column, empty_row, filter, fresh_like, is_not_null, join, map};

impl Unnester<'_> {
    /// A join whose right side may read columns of its left side, without that. Both sides are unnested already.
    /// `exists`: the kind is `Mark`, and who reads the mark takes NULL for false.
    pub(super) fn dependent_join(
        &mut self,
        kind: JoinKind,
        left: Node,
        right: Node,
        mut condition: Vec<Expr>,
        exists: bool,
    ) -> Result<Node> {
        let right = if kind == JoinKind::Inner { self.rows_of_one(right) } else { right };
        let (left, right) = match kind {
            JoinKind::Inner if grows_from_one_row(&right) && !right.free_columns().is_empty() => {
                return Ok(filter(graft(left, right), condition));
            }
            _ => (left, right),
        };
        let mut domain = self.domain_of(left, &right);
        if domain.free(&right).is_empty() {
            return Ok(join(kind, domain.into_left(), right, condition));
        }
        let right = match self.scalar_aggregate(&kind, &mut domain, right, &condition)? {
            Ok((right, condition, above)) => {
                return Ok(map(join(JoinKind::Left, domain.into_left(), right, condition), above));
            }
            Err(right) => right,
        };
        let existential = matches!(kind, JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_));
        let mut right = if existential { strip_maps(right, &mut condition) } else { right };
        let mut above = Vec::new();
        if kind == JoinKind::Inner {
            // Columns computed from both sides are computed above the join.
            while let Op::Map { input, columns } = right.op {
                above.push(columns);
                right = *input;
            }
        }
        let reads_above = |e: &Expr| e.uses(|c| above.iter().flatten().any(|(made, _)| *made == c));
        let (condition_above, mut condition): (Vec<_>, Vec<_>) = condition.into_iter().partition(reads_above);
        let mut hoisted = Vec::new();
        let rest = hoist(right, &domain.columns, existential, &mut hoisted);
        let absorbs = match kind {
            JoinKind::Mark(_) if !exists => {
                // A NULL in the condition would show in the mark, where the subquery just has no such row.
                let nullable = Nullable::of(&rest, self.columns);
                hoisted.iter().all(|e| {
                    !e.is_nullable(&|c| {
                        if domain.columns.contains(&c) { domain.is_nullable(c) } else { nullable.column(c) }
                    })
                })
            }
            JoinKind::Right | JoinKind::Full => false,
            _ => true,
        };
        let mut joined = if absorbs && domain.free(&rest).is_empty() {
            condition.extend(hoisted);
            join(kind, domain.into_left(), rest, condition)
        } else {
            let (mut right, bindings) = self.push(filter(rest, hoisted), &mut domain, &BTreeSet::new())?;
            for (&free, bound) in &bindings {
                if matches!(kind, JoinKind::Mark(_)) {
                    // Never NULL, for the same reason.
                    if bound.strict && Nullable::of(&right, self.columns).column(bound.column) {
                        right = filter(right, vec![is_not_null(column(self.columns, bound.column))]);
                    }
                    let mut same = self.equal(free, &domain, free, bound.column, false);
                    if let ExprKind::Compare(op, _, _) = &mut same.kind {
                        *op = Compare::NotDistinct;
                    }
                    condition.push(same);
                } else {
                    condition.push(self.equal(free, &domain, free, bound.column, bound.strict));
                }
            }
            join(kind, domain.into_left(), right, condition)
        };
        for columns in above.into_iter().rev() {
            joined = map(joined, columns);
        }
        Ok(filter(joined, condition_above))
    }

    /// The most common case: a scalar subquery that is an aggregate. Grouped by what carries the free columns it has at
    /// most one row for each outer row, so a left join does; for the groups that are empty NULL is right, but for counts,
    /// which are 0. What is computed from the aggregates is computed above the join.
    #[allow(clippy::type_complexity)] // right side, condition, maps to go above; or the right side unchanged
    fn scalar_aggregate(
        &mut self,
        kind: &JoinKind,
        domain: &mut Domain,
        right: Node,
        condition: &[Expr],
    ) -> Result<Result<(Node, Vec<Expr>, Vec<(ColumnId, Expr)>), Node>> {
        let mut at = &right;
        let mut maps = 0;
        while let Op::Map { input, .. } = &at.op {
            at = input;
            maps += 1;
        }
        let fits = matches!(&at.op, Op::Aggregate { groups, .. } if groups.is_empty());
        if !fits || maps > 1 || !condition.is_empty() || !matches!(kind, JoinKind::Single | JoinKind::Inner) {
            return Ok(Err(right));
        }
        let (aggregate, mut above) = match right.op {
            Op::Map { input, columns } => (*input, columns),
            op => (Node { op, rows: right.rows }, Vec::new()),
        };
        let Op::Aggregate { input, mut aggregates, .. } = aggregate.op else { unreachable!("checked above") };
        let arguments = aggregates.iter().flat_map(|(_, a)| a.expressions());
        let used = domain.free_in(arguments);
        let (input, bindings) = self.push(*input, domain, &used)?;
        let zeros = self.counts_apart(&mut aggregates, &bindings);
        let mut condition = Vec::new();
        let mut groups = Vec::new();
        for (&free, bound) in &bindings {
            let group = fresh_like(self.columns, bound.column);
            groups.push((group, column(self.columns, bound.column)));
            condition.push(self.equal(free, domain, free, group, bound.strict));
        }
        // Both levels of computed columns become one, since a map's columns do not see each other.
        for (_, expr) in &mut above {
            expr.substitute(&mut |c| zeros.iter().find(|(z, _)| *z == c).map(|(_, e)| e.clone()));
        }
        above.extend(zeros);
        let right = Node::new(Op::Aggregate { input: Box::new(input), groups, aggregates });
        Ok(Ok((right, condition, above)))
    }

    /// Binds the free columns in the calls, and gives counts new columns; returns the old ones as `coalesce(new, 0)`.
    pub(super) fn counts_apart(
        &mut self,
        aggregates: &mut [(ColumnId, plan::AggregateCall)],
        bindings: &super::domain::Bindings,
    ) -> Vec<(ColumnId, Expr)> {
        let mut zeros = Vec::new();
        for (result, call) in aggregates {
            call.expressions_mut().for_each(|expr| self.bind(expr, bindings));
            if call.function.counts() {
                let count = fresh_like(self.columns, *result);
                let parts = vec![column(self.columns, count), Expr::constant(Value::Int(0), call.sql_type)];
                zeros.push((*result, Expr::new(ExprKind::Coalesce(parts), call.sql_type)));
                *result = count;
            }
        }
        zeros
    }

    /// Rows of VALUES that read columns of the left side, and what is computed of them, as computed of one row that is repeated: by its
    /// number it is one or the other.
    fn rows_of_one(&mut self, node: Node) -> Node {
        let Node { op, rows: estimate } = node;
        let op = match op {
            Op::Map { input, columns } => Op::Map { input: Box::new(self.rows_of_one(*input)), columns },
            Op::Filter { input, predicates } => Op::Filter { input: Box::new(self.rows_of_one(*input)), predicates },
            Op::Values { columns, rows }
                if rows.len() > 1 && rows.iter().flatten().any(|e| !e.columns().is_empty()) =>
            {
                let number = ColumnInfo { name: "number".to_owned(), sql_type: SqlType::BigInt, nullable: false };
                let number = self.columns.push(number);
                let constant = |value: usize| Expr::constant(Value::Int(value as i64), SqlType::BigInt);
                let (input, times) = (Box::new(empty_row()), Box::new(constant(rows.len())));
                let mut computed: Vec<(ColumnId, Vec<Expr>)> = columns.iter().map(|c| (*c, Vec::new())).collect();
                for row in rows {
                    computed.iter_mut().zip(row).for_each(|((_, values), value)| values.push(value));
                }
                let is = |at: usize| Expr::compare(Compare::Eq, column(self.columns, number), constant(at + 1));
                let chosen = |(made, mut values): (ColumnId, Vec<Expr>)| {
                    let otherwise = Box::new(values.pop().expect("there are rows"));
                    let sql_type = otherwise.sql_type;
                    let branches = values.into_iter().enumerate().map(|(at, value)| (is(at), value)).collect();
                    (made, Expr::new(ExprKind::Case { branches, otherwise }, sql_type))
                };
                let columns = computed.into_iter().map(chosen).collect();
                Op::Map { input: Box::new(Node::new(Op::Repeat { input, times, number })), columns }
            }
            op => op,
        };
        Node { op, rows: estimate }
    }

    /// Replaces free columns by what carries them.
    pub(super) fn bind(&self, expr: &mut Expr, bindings: &super::domain::Bindings) {
        expr.substitute(&mut |c| bindings.get(&c).map(|b| column(self.columns, b.column)));
    }
}

/// Computed columns on top of a side whose columns do not leave the join move into the condition.
fn strip_maps(node: Node, condition: &mut [Expr]) -> Node {
    match node.op {
        Op::Map { input, columns } if !columns.iter().any(|(_, e)| e.is_volatile()) => {
            for expr in condition.iter_mut() {
                expr.substitute(&mut |c| columns.iter().find(|(m, _)| *m == c).map(|(_, e)| e.clone()));
                debug_assert_eq!(expr.sql_type, SqlType::Bool);
            }
            strip_maps(*input, condition)
        }
        op => Node { op, rows: node.rows },
    }
}

/// Whether the node computes something of one row without columns, and repeats it at least once: an unnested array of a row of
/// the left side.
fn grows_from_one_row(node: &Node) -> bool {
    let mut repeats = false;
    let mut at = node;
    loop {
        at = match &at.op {
            Op::Map { input, .. } | Op::Filter { input, .. } => input,
            Op::Repeat { input, .. } => {
                repeats = true;
                input
            }
            Op::Values { columns, rows } => return repeats && columns.is_empty() && rows.len() == 1,
            _ => return false,
        };
    }
}

/// What was computed of one row is computed of each row of `left` instead of joining the two.
fn graft(left: Node, right: Node) -> Node {
    let mut above = Vec::new();
    let mut at = right;
    loop {
        let mut op = at.op;
        match &mut op {
            Op::Map { input, .. } | Op::Filter { input, .. } | Op::Repeat { input, .. } => {
                let below =
                    std::mem::replace(&mut **input, Node::new(Op::Values { columns: Vec::new(), rows: Vec::new() }));
                above.push(op);
                at = below;
            }
            _ => break,
        }
    }
    above.into_iter().rev().fold(left, |below, mut op| {
        if let Op::Map { input, .. } | Op::Filter { input, .. } | Op::Repeat { input, .. } = &mut op {
            **input = below;
        }
        Node::new(op)
    })
}
