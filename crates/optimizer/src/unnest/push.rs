//! Pushing a dependent join down over its right side (section 3.2 of the paper): the result carries the values of the
//! free columns along and no longer reads them.
//!
//! Contract of [`Unnester::push`]: for every value of the free columns in the domain, the rows of the result that carry
//! this value are the rows of the subplan for it. Values that are not in the domain may occur and mean nothing.

use std::collections::BTreeSet;

use base::Result;
use plan::{ColumnId, Compare, Expr, ExprKind, JoinKind, Node, Op};
use types::SqlType;

use super::Unnester;
use super::domain::{Bindings, Bound, Domain};
use super::hoist::hoist;
use crate::rewrite::{Nullable, column, filter, fresh_like, is_not_null, join, map};

type Free = BTreeSet<ColumnId>;

impl Unnester<'_> {
    /// The subplan without its free columns; `needed` free columns are carried even if the subplan does not read them.
    pub(super) fn push(&mut self, node: Node, domain: &mut Domain, needed: &Free) -> Result<(Node, Bindings)> {
        let free = domain.free(&node);
        let all: Free = free.union(needed).copied().collect();
        if all.is_empty() {
            return Ok((node, Bindings::new()));
        }
        if free.is_empty() {
            let (values, bindings) = self.domain(domain, &all);
            return Ok((join(JoinKind::Inner, values, node, Vec::new()), bindings));
        }
        let mut conjuncts = Vec::new();
        let node = hoist(node, &domain.columns, false, &mut conjuncts);
        if !conjuncts.is_empty() {
            return self.push_filter(node, conjuncts, domain, &all);
        }
        match node.op {
            Op::Filter { input, predicates } => self.push_filter(*input, predicates, domain, &all),
            Op::Map { input, mut columns } => {
                let (input, bindings) = self.push(*input, domain, &all)?;
                columns.iter_mut().for_each(|(_, e)| self.bind(e, &bindings));
                Ok((map(input, columns), bindings))
            }
            Op::Repeat { input, mut times, number } => {
                let (input, bindings) = self.push(*input, domain, &all)?;
                self.bind(&mut times, &bindings);
                Ok((Node::new(Op::Repeat { input: Box::new(input), times, number }), bindings))
            }
            Op::Join { kind, left, right, condition, .. } => {
                self.push_join(kind, *left, *right, condition, domain, &all)
            }
            Op::Aggregate { input, groups, aggregates } => {
                self.push_aggregate(*input, groups, aggregates, domain, &all)
            }
            Op::Distinct { input, mut columns } => {
                let (input, bindings) = self.push(*input, domain, &all)?;
                for bound in bindings.values() {
                    if !columns.contains(&bound.column) {
                        columns.push(bound.column);
                    }
                }
                Ok((Node::new(Op::Distinct { input: Box::new(input), columns }), bindings))
            }
            Op::Sort { input, keys, limit, offset } => {
                self.push_limit(*input, Vec::new(), keys, limit, offset, domain, &all)
            }
            Op::Limit { input, limit, offset } => {
                self.push_limit(*input, Vec::new(), Vec::new(), limit, offset, domain, &all)
            }
            Op::GroupLimit { input, partition, keys, limit, offset } => {
                self.push_limit(*input, partition, keys, limit, offset, domain, &all)
            }
            Op::Window { input, keys, functions } => {
                let (input, bindings) = self.push(*input, domain, &all)?;
                Ok((self.window(input, keys, functions, &bindings), bindings))
            }
            Op::SetOp { operation, all: duplicates, inputs, mut columns } => {
                let pushed = inputs
                    .into_iter()
                    .map(|(input, from)| Ok((self.push(input, domain, &all)?, from)))
                    .collect::<Result<Vec<_>>>()?;
                let strict: Vec<bool> =
                    all.iter().map(|free| pushed.iter().all(|((_, bindings), _)| bindings[free].strict)).collect();
                let mut carried = Vec::new();
                for ((input, bindings), mut from) in pushed {
                    let input = self.without_meaningless(input, &bindings, all.iter().zip(strict.iter().copied()));
                    let (input, own) = self.exact_types(input, &bindings, &all, &from);
                    from.extend(own);
                    carried.push((input, from));
                }
                let mut bindings = Bindings::new();
                for (&free, strict) in all.iter().zip(strict) {
                    let result = fresh_like(self.columns, free);
                    self.columns[result].nullable = true;
                    columns.push(result);
                    bindings.insert(free, Bound { column: result, strict });
                }
                Ok((Node::new(Op::SetOp { operation, all: duplicates, inputs: carried, columns }), bindings))
            }
            Op::Values { columns, rows } => {
                let values = self.values_as_maps(columns, rows);
                self.push(values, domain, &all)
            }
            Op::Scan { .. } | Op::CteScan { .. } | Op::Recursion { .. } => {
                unreachable!("hoisting left no expression in {:?}", node.op)
            }
        }
    }

    /// Without the rows that mean nothing because a carried column is NULL in them, where the operator above, whose
    /// bindings are `strict` or not, could not tell them from rows that do mean something.
    fn without_meaningless<'f>(
        &self,
        input: Node,
        bindings: &Bindings,
        strict: impl Iterator<Item = (&'f ColumnId, bool)>,
    ) -> Node {
        let nullable = Nullable::of(&input, self.columns);
        let unclear = strict.filter_map(|(free, strict)| {
            let bound = bindings[free];
            (bound.strict && !strict && nullable.column(bound.column))
                .then(|| is_not_null(column(self.columns, bound.column)))
        });
        let conjuncts = unclear.collect();
        filter(input, conjuncts)
    }

    /// The carried columns with exactly the free columns' types, as set operations ask.
    fn exact_types(
        &mut self,
        input: Node,
        bindings: &Bindings,
        all: &Free,
        from: &[ColumnId],
    ) -> (Node, Vec<ColumnId>) {
        let (mut casts, mut own) = (Vec::new(), Vec::new());
        for &free in all {
            let bound = bindings[&free].column;
            let wanted = self.columns[free].sql_type;
            // A set operation names each column once, and two free columns may be carried by one.
            if self.columns[bound].sql_type == wanted && !own.contains(&bound) && !from.contains(&bound) {
                own.push(bound);
                continue;
            }
            let result = fresh_like(self.columns, free);
            self.columns[result].nullable = true;
            let mut expr = column(self.columns, bound);
            if expr.sql_type != wanted {
                expr = Expr::new(ExprKind::Cast(Box::new(expr)), wanted);
            }
            casts.push((result, expr));
            own.push(result);
        }
        (map(input, casts), own)
    }

    /// A filter: equalities give the free columns' values (section 3.3, decoupling); else the domain is joined.
    fn push_filter(
        &mut self,
        input: Node,
        mut conjuncts: Vec<Expr>,
        domain: &mut Domain,
        all: &Free,
    ) -> Result<(Node, Bindings)> {
        let (input, inner) = self.push(input, domain, &Free::new())?;
        let mut bindings = inner.clone();
        let mut computed = Vec::new();
        let mut used = Vec::new();
        for &free in all {
            if bindings.contains_key(&free) || !domain.is_replaceable(free) {
                continue;
            }
            let found = conjuncts.iter().enumerate().find_map(|(i, e)| {
                let ExprKind::Compare(Compare::Eq, a, b) = &e.kind else { return None };
                let other = match (a.as_column(), b.as_column()) {
                    (Some(c), _) if c == free => b,
                    (_, Some(c)) if c == free => a,
                    _ => return None,
                };
                let fits = other.only_uses(|c| !domain.columns.contains(&c))
                    && !other.columns().is_empty()
                    && interchangeable(other.sql_type, self.columns[free].sql_type);
                fits.then(|| (i, (**other).clone()))
            });
            let Some((at, other)) = found else { continue };
            let bound = match other.as_column() {
                Some(c) if input_has(&input, c) => c,
                _ => {
                    let c = fresh_like(self.columns, free);
                    self.columns[c].nullable = true;
                    self.columns[c].sql_type = other.sql_type;
                    computed.push((c, other));
                    c
                }
            };
            used.push(at);
            bindings.insert(free, Bound { column: bound, strict: true });
        }
        if all.iter().all(|f| bindings.contains_key(f)) {
            let mut at = 0;
            conjuncts.retain(|_| {
                at += 1;
                !used.contains(&(at - 1))
            });
            conjuncts.iter_mut().for_each(|e| self.bind(e, &bindings));
            return Ok((filter(map(input, computed), conjuncts), bindings));
        }
        let (values, bindings) = self.domain(domain, all);
        let mut condition = Vec::new();
        for (&free, bound) in &inner {
            condition.push(self.equal(free, domain, bindings[&free].column, bound.column, bound.strict));
        }
        conjuncts.iter_mut().for_each(|e| self.bind(e, &bindings));
        condition.extend(conjuncts);
        Ok((join(JoinKind::Inner, values, input, condition), bindings))
    }

    fn push_join(
        &mut self,
        kind: JoinKind,
        left: Node,
        right: Node,
        mut condition: Vec<Expr>,
        domain: &mut Domain,
        all: &Free,
    ) -> Result<(Node, Bindings)> {
        match kind {
            JoinKind::Right => self.push_join(JoinKind::Left, right, left, condition, domain, all),
            JoinKind::Inner => {
                // The condition reads no free column: they were hoisted.
                if domain.free(&right).is_empty() {
                    let (left, bindings) = self.push(left, domain, all)?;
                    return Ok((join(kind, left, right, condition), bindings));
                }
                if domain.free(&left).is_empty() {
                    let (right, bindings) = self.push(right, domain, all)?;
                    return Ok((join(kind, left, right, condition), bindings));
                }
                let (left, mut bindings) = self.push(left, domain, all)?;
                let (right, theirs) = self.push(right, domain, &Free::new())?;
                for (&free, bound) in &theirs {
                    let mine = bindings[&free];
                    let strict = mine.strict || bound.strict;
                    condition.push(self.equal(free, domain, mine.column, bound.column, strict));
                    bindings.insert(free, Bound { strict, ..mine });
                }
                Ok((join(kind, left, right, condition), bindings))
            }
            JoinKind::Full => {
                let (left, ours) = self.push(left, domain, all)?;
                let (right, theirs) = self.push(right, domain, all)?;
                let strict = || all.iter().map(|free| (free, ours[free].strict && theirs[free].strict));
                let left = self.without_meaningless(left, &ours, strict());
                let right = self.without_meaningless(right, &theirs, strict());
                condition.iter_mut().for_each(|e| self.bind(e, &ours));
                let (mut bindings, mut computed) = (Bindings::new(), Vec::new());
                for &free in all {
                    let (a, b) = (ours[&free], theirs[&free]);
                    condition.push(self.equal(free, domain, a.column, b.column, a.strict || b.strict));
                    let result = fresh_like(self.columns, free);
                    self.columns[result].nullable = true;
                    let parts = vec![column(self.columns, a.column), column(self.columns, b.column)];
                    computed.push((result, Expr::new(ExprKind::Coalesce(parts), self.columns[free].sql_type)));
                    bindings.insert(free, Bound { column: result, strict: a.strict && b.strict });
                }
                Ok((map(join(kind, left, right, condition), computed), bindings))
            }
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) | JoinKind::Single => {
                // Whatever the right side or the condition reads, the left side has to carry.
                let (left, bindings) = self.push(left, domain, all)?;
                let (mut right, theirs) = self.push(right, domain, &Free::new())?;
                condition.iter_mut().for_each(|e| self.bind(e, &bindings));
                for (&free, bound) in &theirs {
                    let mine = bindings[&free];
                    if matches!(kind, JoinKind::Mark(_)) {
                        if bound.strict && Nullable::of(&right, self.columns).column(bound.column) {
                            right = filter(right, vec![is_not_null(column(self.columns, bound.column))]);
                        }
                        let (a, b) = (column(self.columns, mine.column), column(self.columns, bound.column));
                        condition.push(Expr::compare(Compare::NotDistinct, a, b));
                    } else {
                        let strict = mine.strict || bound.strict;
                        condition.push(self.equal(free, domain, mine.column, bound.column, strict));
                    }
                }
                Ok((join(kind, left, right, condition), bindings))
            }
        }
    }

    fn push_aggregate(
        &mut self,
        input: Node,
        mut groups: Vec<(ColumnId, Expr)>,
        mut aggregates: Vec<(ColumnId, plan::AggregateCall)>,
        domain: &mut Domain,
        all: &Free,
    ) -> Result<(Node, Bindings)> {
        let (input, inner) = self.push(input, domain, all)?;
        let scalar = groups.is_empty();
        groups.iter_mut().for_each(|(_, e)| self.bind(e, &inner));
        let mut carried = Bindings::new();
        for (&free, bound) in &inner {
            let group = fresh_like(self.columns, bound.column);
            groups.push((group, column(self.columns, bound.column)));
            carried.insert(free, Bound { column: group, strict: bound.strict });
        }
        if !scalar {
            for (_, call) in &mut aggregates {
                call.expressions_mut().for_each(|e| self.bind(e, &inner));
            }
            return Ok((Node::new(Op::Aggregate { input: Box::new(input), groups, aggregates }), carried));
        }
        // Without groups there is a row for every value, also where the input has none.
        let zeros = self.counts_apart(&mut aggregates, &inner);
        let grouped = Node::new(Op::Aggregate { input: Box::new(input), groups, aggregates });
        let (values, bindings) = self.domain(domain, all);
        let mut condition = Vec::new();
        for (&free, bound) in &carried {
            condition.push(self.equal(free, domain, bindings[&free].column, bound.column, bound.strict));
        }
        Ok((map(join(JoinKind::Left, values, grouped, condition), zeros), bindings))
    }
}

fn input_has(node: &Node, column: ColumnId) -> bool {
    node.columns().contains(&column)
}

/// Whether a value of one type can stand for an equal value of the other without a cast.
fn interchangeable(a: SqlType, b: SqlType) -> bool {
    let plain = |t| matches!(t, SqlType::Text | SqlType::Varchar(_));
    a == b || (plain(a) && plain(b))
}
