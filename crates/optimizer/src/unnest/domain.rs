//! The domain D of a dependent join: the distinct values of free columns in its left side.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use plan::{ColumnId, Compare, Cte, CteId, Expr, ExprKind, Node, Op};
use types::SqlType;

use super::Unnester;
use crate::rewrite::{Nullable, column, filter, fresh_like, map};

/// Where a subplan carries the value of a free column.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    pub column: ColumnId,
    /// The subplan has no row where the free column is NULL (an equality removes them); rows where `column` is NULL mean
    /// nothing.
    pub strict: bool,
}

/// Free columns and what carries them.
pub(super) type Bindings = BTreeMap<ColumnId, Bound>;

/// The left side of a dependent join, from which domains are made.
pub(super) struct Domain {
    left: Node,
    /// Its columns.
    pub columns: HashSet<ColumnId>,
    nullable: Nullable,
    /// For each free column of which equal values count as different: a column whose equality tells them apart. It goes
    /// wherever the free column goes.
    identities: BTreeMap<ColumnId, ColumnId>,
    shared: Option<(CteId, HashMap<ColumnId, ColumnId>)>,
}

impl Domain {
    /// The free columns of a subplan that come from the left side.
    pub fn free(&self, node: &Node) -> BTreeSet<ColumnId> {
        self.with_identities(node.free_columns())
    }

    /// Those of expressions.
    pub fn free_in<'a>(&self, exprs: impl IntoIterator<Item = &'a Expr>) -> BTreeSet<ColumnId> {
        self.with_identities(exprs.into_iter().flat_map(|e| e.columns()))
    }

    fn with_identities(&self, used: impl IntoIterator<Item = ColumnId>) -> BTreeSet<ColumnId> {
        let mut free: BTreeSet<ColumnId> = used.into_iter().filter(|c| self.columns.contains(c)).collect();
        free.extend(self.identities.iter().filter(|(c, _)| free.contains(c)).map(|(_, &i)| i).collect::<Vec<_>>());
        free
    }

    /// Whether an equal value of another column can stand for the free column's.
    pub fn is_replaceable(&self, free: ColumnId) -> bool {
        !self.identities.contains_key(&free)
    }

    /// The left side itself, once no more domains are needed.
    pub fn into_left(self) -> Node {
        self.left
    }

    pub fn is_nullable(&self, column: ColumnId) -> bool {
        self.nullable.column(column)
    }
}

impl Unnester<'_> {
    /// The domain of a join of `left` and `right`.
    pub(super) fn domain_of(&mut self, mut left: Node, right: &Node) -> Domain {
        let mut columns: HashSet<ColumnId> = left.columns().into_iter().collect();
        let mut exact = BTreeSet::new();
        right.walk(&mut |n| {
            let mut note = |c| exact.extend(columns.contains(&c).then_some(c));
            n.expressions().for_each(|e| e.visit_exact_columns(&mut note));
        });
        let (mut identities, mut computed) = (BTreeMap::new(), Vec::new());
        for free in exact {
            // No two values of the types concerned are printed alike.
            let identity = fresh_like(self.columns, free);
            self.columns[identity].sql_type = SqlType::Text;
            let printed = ExprKind::Cast(Box::new(column(self.columns, free)));
            computed.push((identity, Expr::new(printed, SqlType::Text)));
            identities.insert(free, identity);
            columns.insert(identity);
        }
        left = map(left, computed);
        let nullable = Nullable::of(&left, self.columns);
        Domain { left, columns, nullable, identities, shared: None }
    }

    /// The distinct values of `wanted` in the left side, under new columns.
    pub(super) fn domain(&mut self, domain: &mut Domain, wanted: &BTreeSet<ColumnId>) -> (Node, Bindings) {
        let mut bindings = Bindings::new();
        let source = match self.share(domain) {
            Some((cte, names)) => {
                let mut columns = Vec::new();
                for &free in wanted {
                    let own = fresh_like(self.columns, free);
                    self.columns[own].nullable = domain.is_nullable(free);
                    columns.push((names[&free], own));
                    bindings.insert(free, Bound { column: own, strict: false });
                }
                Node::new(Op::CteScan { cte, columns })
            }
            None => {
                let (copy, names) = self.copy(&domain.left);
                for &free in wanted {
                    bindings.insert(free, Bound { column: names[&free], strict: false });
                }
                copy
            }
        };
        let columns: Vec<ColumnId> = bindings.values().map(|b| b.column).collect();
        // Whoever is not guarded does not ask.
        let guards = wanted.iter().filter(|free| self.guards.contains(free));
        let needed = guards.map(|free| column(self.columns, bindings[free].column)).collect();
        (Node::new(Op::Distinct { input: Box::new(filter(source, needed)), columns }), bindings)
    }

    /// A left side that is more than a filtered scan is computed once, if that is possible; the left side becomes a
    /// reader too. Volatile functions need it; copies of joins would make nested subqueries grow exponentially.
    fn share(&mut self, domain: &mut Domain) -> Option<(CteId, HashMap<ColumnId, ColumnId>)> {
        if domain.shared.is_none() && domain.left.free_columns().is_empty() {
            let mut cheap = true;
            domain.left.walk(&mut |n| {
                cheap &= matches!(n.op, Op::Scan { .. } | Op::CteScan { .. } | Op::Filter { .. } | Op::Map { .. })
                    && !n.expressions().any(|e| e.is_volatile());
            });
            if !cheap {
                let (plan, names) = self.copy(&domain.left);
                let kept = domain.left.columns();
                let columns = kept.iter().map(|c| names[c]).collect();
                let cte = self.ctes.push(Cte { name: "domain".to_owned(), plan, columns });
                let columns = kept.iter().map(|&c| (names[&c], c)).collect();
                for &c in &kept {
                    self.columns[c].nullable = domain.nullable.column(c);
                }
                domain.left = Node::new(Op::CteScan { cte, columns });
                domain.shared = Some((cte, names));
            }
        }
        domain.shared.clone()
    }

    fn copy(&mut self, node: &Node) -> (Node, HashMap<ColumnId, ColumnId>) {
        node.copied(self.columns, self.tables)
    }

    /// The comparison of a free column's value on two sides.
    pub(super) fn equal(&self, free: ColumnId, domain: &Domain, a: ColumnId, b: ColumnId, strict: bool) -> Expr {
        let op = if strict || !domain.is_nullable(free) { Compare::Eq } else { Compare::NotDistinct };
        Expr::compare(op, column(self.columns, a), column(self.columns, b))
    }
}
