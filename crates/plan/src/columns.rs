//! Questions about columns that every pass asks: which an expression or subplan uses, which of these come from outside,
//! and how to rename or replace them.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::{ColumnId, Compare, Expr, ExprKind, Node, Plan, SubqueryKind};

impl Expr {
    /// Calls `visit` for every column reference, including those of subqueries to columns outside of the subquery. The
    /// column of a let is not one: it is gone outside of it.
    pub fn visit_columns(&self, visit: &mut dyn FnMut(ColumnId)) {
        match &self.kind {
            ExprKind::Column(column) => visit(*column),
            ExprKind::Let { column, value, body } => {
                value.visit_columns(visit);
                body.visit_columns(&mut |c| {
                    if c != *column {
                        visit(c);
                    }
                });
                return;
            }
            ExprKind::Each(each) => {
                each.outside().for_each(|e| e.visit_columns(visit));
                let mut outer = |c| {
                    if each.columns().all(|own| own != c) {
                        visit(c);
                    }
                };
                each.inside().for_each(|e| e.visit_columns(&mut outer));
                return;
            }
            ExprKind::Subquery(subquery) => {
                for column in subquery.plan.free_columns() {
                    visit(column);
                }
            }
            _ => {}
        }
        for child in self.children() {
            child.visit_columns(visit);
        }
    }

    /// The columns that the expression reads, each once, in order of first use.
    pub fn columns(&self) -> Vec<ColumnId> {
        let mut all = Vec::new();
        self.visit_columns(&mut |c| {
            if !all.contains(&c) {
                all.push(c);
            }
        });
        all
    }

    /// Whether every column that the expression reads satisfies `test`.
    pub fn only_uses(&self, test: impl Fn(ColumnId) -> bool) -> bool {
        let mut all = true;
        self.visit_columns(&mut |c| all &= test(c));
        all
    }

    /// Whether some column that the expression reads satisfies `test`.
    pub fn uses(&self, test: impl Fn(ColumnId) -> bool) -> bool {
        !self.only_uses(|c| !test(c))
    }

    /// Replaces each column reference for which `replacement` has something, in subqueries' plans too.
    pub fn substitute(&mut self, replacement: &mut dyn FnMut(ColumnId) -> Option<Expr>) {
        if let ExprKind::Column(column) = self.kind {
            if let Some(new) = replacement(column) {
                *self = new;
            }
            return;
        }
        if let ExprKind::Subquery(subquery) = &mut self.kind {
            subquery.plan.substitute(replacement);
        }
        for child in self.children_mut() {
            child.substitute(replacement);
        }
    }

    /// Renames columns, in subqueries too.
    pub fn rename(&mut self, names: &HashMap<ColumnId, ColumnId>) {
        rename_expr(self, names);
    }

    /// Whether two evaluations over the same row may differ.
    pub fn is_volatile(&self) -> bool {
        self.any(&|e| matches!(&e.kind, ExprKind::Call(f, _) if f.is_volatile()))
    }

    /// Whether there is a subquery inside.
    pub fn has_subquery(&self) -> bool {
        self.any(&|e| matches!(e.kind, ExprKind::Subquery(_)))
    }

    /// Whether this expression or one below it satisfies `test`; subqueries' plans are not entered.
    pub fn any(&self, test: &dyn Fn(&Expr) -> bool) -> bool {
        test(self) || self.children().any(|c| c.any(test))
    }

    /// The column, if the expression is a bare reference.
    pub fn as_column(&self) -> Option<ColumnId> {
        if let ExprKind::Column(c) = self.kind { Some(c) } else { None }
    }

    /// The value, if the expression is a constant.
    pub fn as_constant(&self) -> Option<&types::Value> {
        if let ExprKind::Const(v) = &self.kind { Some(v) } else { None }
    }

    /// Whether the condition says that a column is equal to some constant or argument, or to one of several.
    pub fn tells(&self, column: ColumnId) -> bool {
        let is = |e: &Expr| e.as_column() == Some(column);
        let known = |e: &Expr| matches!(e.kind, ExprKind::Const(_) | ExprKind::Argument(..));
        match &self.kind {
            ExprKind::Compare(Compare::Eq, a, b) => is(a) && known(b) || known(a) && is(b),
            ExprKind::InList(input, _) => is(input),
            ExprKind::Or(parts) => parts.iter().all(|part| part.tells(column)),
            _ => false,
        }
    }

    /// Whether the condition says between which constants or arguments the values of a column are, or which they are.
    pub fn bounds(&self, column: ColumnId) -> bool {
        let is = |e: &Expr| e.as_column() == Some(column);
        let known = |e: &Expr| matches!(e.kind, ExprKind::Const(_) | ExprKind::Argument(..));
        match &self.kind {
            ExprKind::Compare(Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge, a, b) => {
                is(a) && known(b) || known(a) && is(b)
            }
            ExprKind::IsNull(input) => is(input),
            _ => self.tells(column),
        }
    }

    /// Whether both compute the same by form (positions do not count). Subqueries and volatile calls never do.
    pub fn same(&self, other: &Expr) -> bool {
        self.same_form(other) && !self.is_volatile()
    }

    /// Whether both are written the same (positions do not count): one may stand for the other where SQL says that they
    /// are one, as a key of GROUP BY and the select item that repeats it. Subqueries never are.
    pub fn same_form(&self, other: &Expr) -> bool {
        use ExprKind::*;
        if self.sql_type != other.sql_type {
            return false;
        }
        let form = match (&self.kind, &other.kind) {
            (Column(a), Column(b)) => a == b,
            (Const(a), Const(b)) => a.is_identical(b),
            (Argument(a, _), Argument(b, _)) => a == b,
            (Call(f, _), Call(g, _)) => f == g,
            (Let { column: a, value: v, body: x }, Let { column: b, value: w, body: y }) => {
                let mut renamed = y.clone();
                renamed.substitute(&mut |c| (c == *b).then(|| Expr::column(*a, v.sql_type)));
                return v.same_form(w) && x.same_form(&renamed);
            }
            (Each(a), Each(b)) => {
                let is_alike = a.outside().count() == b.outside().count() && a.reduced.is_some() == b.reduced.is_some();
                let names: HashMap<ColumnId, ColumnId> = b.columns().zip(a.columns()).collect();
                let same = |x: &Expr, y: &Expr| {
                    let mut renamed = y.clone();
                    renamed.rename(&names);
                    x.same_form(&renamed)
                };
                return is_alike
                    && a.only.is_some() == b.only.is_some()
                    && a.outside().zip(b.outside()).all(|(x, y)| x.same_form(y))
                    && a.inside().zip(b.inside()).all(|(x, y)| same(x, y));
            }
            (Compare(a, _, _), Compare(b, _, _)) => a == b,
            // Membership asks for equality only.
            (InList(_, a), InList(_, b)) => a == b,
            (Like { syntax: a, .. }, Like { syntax: b, .. }) => a == b,
            (And(_), And(_)) | (Or(_), Or(_)) | (Not(_), Not(_)) | (IsNull(_), IsNull(_)) => true,
            (Case { .. }, Case { .. }) | (Coalesce(_), Coalesce(_)) => true,
            (Cast(_), Cast(_)) | (TryCast(_), TryCast(_)) => true,
            _ => false,
        };
        let mut theirs = other.children();
        form && self.children().all(|a| theirs.next().is_some_and(|b| a.same_form(b))) && theirs.next().is_none()
    }

    /// Calls `visit` for every column reference that may tell equal values of its type apart: all but those that are
    /// compared as they are, of types whose equal values differ. Subqueries' plans are not entered.
    pub fn visit_exact_columns(&self, visit: &mut dyn FnMut(ColumnId)) {
        let compared = matches!(self.kind, ExprKind::Compare(..) | ExprKind::InList(..) | ExprKind::IsNull(_));
        if let (ExprKind::Column(column), false) = (&self.kind, self.sql_type.equality_is_identity()) {
            visit(*column);
        }
        for child in self.children() {
            if !compared || child.as_column().is_none() {
                child.visit_exact_columns(visit);
            }
        }
    }

    /// Whether the value is the same for rows whose columns are equal, also where equal values differ.
    pub fn respects_equality(&self) -> bool {
        let mut respects = !self.has_subquery();
        self.visit_exact_columns(&mut |_| respects = false);
        respects
    }

    /// Whether the value can be NULL, if `nullable` says so of columns.
    pub fn is_nullable(&self, nullable: &dyn Fn(ColumnId) -> bool) -> bool {
        match &self.kind {
            ExprKind::Column(c) => nullable(*c),
            ExprKind::Const(v) => v.is_null(),
            // The binder opens no NULL.
            ExprKind::Argument(..) => false,
            ExprKind::IsNull(_) | ExprKind::Compare(Compare::Distinct | Compare::NotDistinct, _, _) => false,
            ExprKind::Coalesce(a) => a.iter().all(|e| e.is_nullable(nullable)),
            ExprKind::Call(f, _) if f.may_be_null() => true,
            ExprKind::Call(f, a) if !f.is_strict() => a.iter().all(|e| e.is_nullable(nullable)),
            ExprKind::Case { branches, otherwise } => {
                branches.iter().any(|(_, v)| v.is_nullable(nullable)) || otherwise.is_nullable(nullable)
            }
            ExprKind::TryCast(_) => true,
            ExprKind::Let { column, value, body } => {
                let value = value.is_nullable(nullable);
                body.is_nullable(&|c| if c == *column { value } else { nullable(c) })
            }
            ExprKind::Each(each) => each.reduced.is_some() || each.list.is_nullable(nullable),
            ExprKind::Subquery(s) => !matches!(s.kind, SubqueryKind::Exists),
            _ => self.children().any(|e| e.is_nullable(nullable)),
        }
    }
}

/// Which of some keys are the same for rows that agree in the others: those that read nothing but columns that are keys
/// themselves.
pub fn told_by_others<'e>(keys: impl Iterator<Item = &'e Expr>) -> Vec<bool> {
    let keys: Vec<&Expr> = keys.collect();
    let mut columns = HashSet::new();
    let is_first: Vec<bool> = keys.iter().map(|key| key.as_column().is_some_and(|c| columns.insert(c))).collect();
    let is_told = |key: &Expr| key.only_uses(|c| columns.contains(&c)) && !key.is_volatile() && key.respects_equality();
    let told = |(key, is_first): (&&Expr, bool)| !is_first && !columns.is_empty() && is_told(key);
    keys.iter().zip(is_first).map(told).collect()
}

/// Appends the conjuncts of `expr`, nested ANDs flattened.
pub fn split_conjuncts(expr: Expr, into: &mut Vec<Expr>) {
    match expr.kind {
        ExprKind::And(parts) => parts.into_iter().for_each(|p| split_conjuncts(p, into)),
        _ => into.push(expr),
    }
}

/// The conjunction of `parts`: true if there are none.
pub fn conjunction(mut parts: Vec<Expr>) -> Expr {
    match parts.len() {
        0 => Expr::bool(true),
        1 => parts.remove(0),
        _ => Expr::new(ExprKind::And(parts), types::SqlType::Bool),
    }
}

/// The disjunction of `parts`: false if there are none.
pub fn disjunction(mut parts: Vec<Expr>) -> Expr {
    match parts.len() {
        0 => Expr::bool(false),
        1 => parts.remove(0),
        _ => Expr::new(ExprKind::Or(parts), types::SqlType::Bool),
    }
}

impl Plan {
    /// How deep recursion over the plan goes, also after expressions of one operator were put into those of another,
    /// branches into one another (lowering nests what follows a branch in it), and joins into one row of joins.
    pub fn depth(&self) -> usize {
        self.ctes.values().map(|cte| cte.plan.depth()).sum::<usize>() + self.root.depth()
    }
}

impl Node {
    fn depth(&self) -> usize {
        let expressions = self.expressions().map(Expr::depth).max().unwrap_or(0);
        let inputs = self.inputs().map(Node::depth);
        // Any tree of joins may become one in which each joins the one before.
        let below = if matches!(self.op, crate::Op::Join { .. }) { inputs.sum() } else { inputs.max().unwrap_or(0) };
        1 + expressions + below
    }
}

impl Expr {
    fn depth(&self) -> usize {
        let branches = match &self.kind {
            ExprKind::And(parts) | ExprKind::Or(parts) | ExprKind::Coalesce(parts) => parts.len(),
            ExprKind::Case { branches, .. } => branches.len(),
            _ => 0,
        };
        let subquery = match &self.kind {
            ExprKind::Subquery(subquery) => subquery.plan.depth(),
            _ => 0,
        };
        1 + branches + subquery + self.children().map(Expr::depth).max().unwrap_or(0)
    }
}

impl Node {
    /// Columns that the subplan reads and does not produce: its correlated references, in ascending order.
    pub fn free_columns(&self) -> BTreeSet<ColumnId> {
        let (mut used, mut made) = (BTreeSet::new(), HashSet::new());
        self.walk(&mut |node| {
            node.each_produced(&mut |c| {
                made.insert(c);
            });
            for expr in node.expressions() {
                expr.visit_columns(&mut |c| {
                    used.insert(c);
                });
            }
        });
        used.retain(|c| !made.contains(c));
        used
    }

    /// Calls `visit` on this operator and all below it, parents first; subqueries in expressions are not entered.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Node)) {
        visit(self);
        for input in self.inputs() {
            input.walk(visit);
        }
    }

    /// Replaces column references in every expression of the subplan (and of subqueries in it).
    pub fn substitute(&mut self, replacement: &mut dyn FnMut(ColumnId) -> Option<Expr>) {
        for expr in self.expressions_mut() {
            expr.substitute(replacement);
        }
        for input in self.inputs_mut() {
            input.substitute(replacement);
        }
    }

    /// Renames columns everywhere in the subplan: where they are made, listed and read.
    pub fn rename(&mut self, names: &HashMap<ColumnId, ColumnId>) {
        for expr in self.expressions_mut() {
            rename_expr(expr, names);
        }
        self.each_listed_mut(&mut |c| {
            if let Some(&n) = names.get(c) {
                *c = n;
            }
        });
        for input in self.inputs_mut() {
            input.rename(names);
        }
    }
}

fn rename_expr(expr: &mut Expr, names: &HashMap<ColumnId, ColumnId>) {
    match &mut expr.kind {
        ExprKind::Column(c) => {
            if let Some(&n) = names.get(c) {
                *c = n;
            }
        }
        ExprKind::Subquery(subquery) => {
            subquery.plan.rename(names);
            let new = |c: &mut ColumnId| {
                if let Some(&n) = names.get(c) {
                    *c = n;
                }
            };
            match &mut subquery.kind {
                SubqueryKind::Scalar { column } => new(column),
                SubqueryKind::Exists => {}
                SubqueryKind::Quantified { comparisons, .. } => comparisons.iter_mut().for_each(|(_, _, c)| new(c)),
            }
        }
        _ => {}
    }
    for child in expr.children_mut() {
        rename_expr(child, names);
    }
}
