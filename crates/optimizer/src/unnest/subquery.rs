//! Subqueries in expressions become joins: semi and anti joins where a conjunct is nothing but the test, mark joins
//! elsewhere, single joins for scalars.

use base::Result;
use plan::{
    ColumnId, ColumnInfo, Compare, Expr, ExprKind, JoinKind, Node, Op, Quantifier, Subquery, SubqueryKind, conjunction,
    disjunction,
};
use types::SqlType;

use super::Unnester;
use super::guard::{can_fail, guarded, guarded_plan, only_where};
use crate::rewrite::{Nullable, at_most_one_row, column, empty_row, exactly_one_row, filter, map, not, take};

/// What EXISTS asks of a subplan, after what cannot change the answer is gone.
enum Existence {
    /// There always is a row.
    Always,
    /// There is a row if this has one.
    If(Node),
}

fn existence(node: Node) -> Existence {
    match node.op {
        Op::Map { input, .. } | Op::Distinct { input, .. } | Op::Window { input, .. } => existence(*input),
        Op::Sort { input, limit, offset: 0, .. } | Op::Limit { input, limit, offset: 0 } if limit != Some(0) => {
            existence(*input)
        }
        Op::GroupLimit { input, limit, offset: 0, .. } if limit != Some(0) => existence(*input),
        Op::Aggregate { ref groups, .. } if groups.is_empty() => Existence::Always,
        Op::Aggregate { input, .. } => existence(*input),
        op => Existence::If(Node { op, rows: node.rows }),
    }
}

/// What EXISTS reads of an (unnested) subplan that does not depend on the outer row: one row tells.
fn some_row(node: Node) -> Node {
    if at_most_one_row(&node) || !node.free_columns().is_empty() {
        return node;
    }
    Node::new(Op::Limit { input: Box::new(node), limit: Some(1), offset: 0 })
}

/// A row comparison: all equal, some different, or by the first difference.
fn row_compare(pairs: Vec<(Expr, Compare, Expr)>) -> Expr {
    let ops: Vec<Compare> = pairs.iter().map(|p| p.1).collect();
    let compare = |(a, op, b): (Expr, Compare, Expr)| Expr::compare(op, a, b);
    if ops.iter().all(|&op| matches!(op, Compare::Ne | Compare::Distinct)) {
        return disjunction(pairs.into_iter().map(compare).collect());
    }
    let ordered = ops.iter().all(|&op| matches!(op, Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge));
    if !ordered || pairs.len() == 1 {
        return conjunction(pairs.into_iter().map(compare).collect());
    }
    let last = pairs.len() - 1;
    let mut alternatives = Vec::new();
    for i in 0..pairs.len() {
        let mut all: Vec<Expr> =
            pairs[..i].iter().map(|(a, _, b)| Expr::compare(Compare::Eq, a.clone(), b.clone())).collect();
        let (a, op, b) = pairs[i].clone();
        let strict = match op {
            Compare::Le => Compare::Lt,
            Compare::Ge => Compare::Gt,
            other => other,
        };
        all.push(Expr::compare(if i == last { op } else { strict }, a, b));
        alternatives.push(conjunction(all));
    }
    disjunction(alternatives)
}

/// The subquery below negations.
fn without_not(expr: Expr) -> Subquery {
    match expr.kind {
        ExprKind::Not(below) => without_not(*below),
        ExprKind::Subquery(subquery) => *subquery,
        _ => unreachable!("a subquery, as was looked"),
    }
}

impl Unnester<'_> {
    /// The condition of `left compare ANY (subquery)`; for ALL that of its counterpart, whose negation ALL is.
    fn quantified(&mut self, quantifier: Quantifier, comparisons: Vec<(Expr, Compare, ColumnId)>) -> Expr {
        let pairs = comparisons.into_iter().map(|(left, op, c)| (left, op, column(self.columns, c))).collect();
        let condition = row_compare(pairs);
        match (quantifier, condition.kind) {
            (Quantifier::Any, kind) => Expr::new(kind, SqlType::Bool),
            (Quantifier::All, ExprKind::Compare(op, a, b)) => Expr::compare(op.negated(), *a, *b),
            (Quantifier::All, kind) => not(Expr::new(kind, SqlType::Bool)),
        }
    }

    /// Filters an (unnested) input by conjuncts that may contain subqueries.
    pub(super) fn filter(&mut self, mut input: Node, predicates: Vec<Expr>) -> Result<Node> {
        let mut conjuncts = Vec::new();
        predicates.into_iter().for_each(|p| plan::split_conjuncts(p, &mut conjuncts));
        // Cheap tests first; then those that are joins; then those that are computed from joins.
        let (nested, plain): (Vec<_>, Vec<_>) = conjuncts.into_iter().partition(Expr::has_subquery);
        input = filter(input, plain);
        let mut computed = Vec::new();
        for conjunct in nested {
            match self.as_semi_join(input, conjunct)? {
                (node, None) => input = node,
                (node, Some(left)) => {
                    input = node;
                    computed.push(left);
                }
            }
        }
        // In their order: a later one is not asked of rows that an earlier one removes.
        for mut conjunct in computed {
            self.expand(&mut conjunct, &mut input, None)?;
            input = filter(input, vec![conjunct]);
        }
        Ok(input)
    }

    /// Turns a conjunct `[NOT] EXISTS`, `[NOT] x op ANY/ALL` into a semi or anti join; gives it back if it is none.
    fn as_semi_join(&mut self, mut input: Node, conjunct: Expr) -> Result<(Node, Option<Expr>)> {
        let mut negated = false;
        let mut inner = &conjunct;
        while let ExprKind::Not(below) = &inner.kind {
            negated = !negated;
            inner = below;
        }
        let ExprKind::Subquery(subquery) = &inner.kind else { return Ok((input, Some(conjunct))) };
        let is_join = match &subquery.kind {
            SubqueryKind::Scalar { .. } => false,
            SubqueryKind::Exists => true,
            // The anti join keeps a row whose comparison is NULL; NOT IN does not. Asked before the subquery is unnested,
            // which the mark join would have to repeat, twice for each level below.
            SubqueryKind::Quantified { quantifier, comparisons } if negated != (*quantifier == Quantifier::All) => {
                let (ours, theirs) = (Nullable::of(&input, self.columns), Nullable::of(&subquery.plan, self.columns));
                !comparisons.iter().any(|(e, _, c)| e.has_subquery() || ours.expr(e) || theirs.column(*c))
            }
            SubqueryKind::Quantified { .. } => true,
        };
        if !is_join {
            return Ok((input, Some(conjunct)));
        }
        let Subquery { kind, plan } = without_not(conjunct);
        match kind {
            SubqueryKind::Quantified { quantifier, mut comparisons } => {
                let anti = negated != (quantifier == Quantifier::All);
                let right = self.node(plan)?;
                for (expr, _, _) in &mut comparisons {
                    self.expand(expr, &mut input, None)?;
                }
                let condition = self.quantified(quantifier, comparisons);
                let kind = if anti { JoinKind::Anti } else { JoinKind::Semi };
                let mut conjuncts = Vec::new();
                plan::split_conjuncts(condition, &mut conjuncts);
                Ok((self.dependent_join(kind, input, right, conjuncts, false)?, None))
            }
            _ => match existence(plan) {
                Existence::Always if negated => Ok((filter(input, vec![Expr::bool(false)]), None)),
                Existence::Always => Ok((input, None)),
                Existence::If(plan) => {
                    let right = some_row(self.node(plan)?);
                    let kind = if negated { JoinKind::Anti } else { JoinKind::Semi };
                    Ok((self.dependent_join(kind, input, right, Vec::new(), false)?, None))
                }
            },
        }
    }

    fn mark(&mut self, nullable: bool) -> ColumnId {
        self.columns.push(ColumnInfo { name: "mark".to_owned(), sql_type: SqlType::Bool, nullable })
    }

    /// Replaces the subqueries in an expression by columns that joins add to the input. The expression is evaluated where
    /// `guard`, a column of the input, is true (see `guard.rs`).
    pub(super) fn expand(&mut self, expr: &mut Expr, input: &mut Node, guard: Option<ColumnId>) -> Result<()> {
        if self.expand_branches(expr, input, guard)? {
            return Ok(());
        }
        if let ExprKind::Let { column: name, value, body } = &mut expr.kind
            && body.has_subquery()
        {
            // What the body's operands are computed from is a column of the input, where they may be, too.
            self.expand(value, input, guard)?;
            let value = std::mem::replace(&mut **value, Expr::bool(true));
            let value = guard.into_iter().fold(value, |value, guard| only_where(guard, value));
            *input = map(take(input), vec![(*name, value)]);
            *expr = std::mem::replace(&mut **body, Expr::bool(true));
            return self.expand(expr, input, guard);
        }
        let guard = guard.filter(|_| can_fail(expr));
        for child in expr.children_mut() {
            self.expand(child, input, guard)?;
        }
        let ExprKind::Subquery(subquery) = &mut expr.kind else { return Ok(()) };
        let Subquery { mut kind, mut plan } =
            std::mem::replace(&mut **subquery, Subquery { kind: SubqueryKind::Exists, plan: empty_row() });
        if let Some(guard) = guard {
            guarded_plan(&mut plan, guard);
            if let SubqueryKind::Quantified { comparisons, .. } = &mut kind {
                comparisons.iter_mut().for_each(|(e, _, _)| guarded(e, guard));
            }
        }
        let replacement = match kind {
            SubqueryKind::Scalar { column: result } => {
                let mut right = self.node(plan)?;
                let independent = right.free_columns().is_empty();
                let kind = if independent && exactly_one_row(&right) { JoinKind::Inner } else { JoinKind::Single };
                let mut condition = Vec::new();
                if let Some(guard) = guard.filter(|_| !at_most_one_row(&right)) {
                    condition.push(column(self.columns, guard));
                    if independent {
                        // Two rows are as many as any number: they are compared with every row of the input.
                        right = Node::new(Op::Limit { input: Box::new(right), limit: Some(2), offset: 0 });
                    }
                }
                *input = self.dependent_join(kind, take(input), right, condition, false)?;
                column(self.columns, result)
            }
            SubqueryKind::Exists => match existence(plan) {
                Existence::Always => Expr::bool(true),
                Existence::If(plan) => {
                    let right = some_row(self.node(plan)?);
                    let mark = self.mark(true);
                    *input = self.dependent_join(JoinKind::Mark(mark), take(input), right, Vec::new(), true)?;
                    // A correlated conjunct that became part of the condition may be NULL: then there is no row.
                    let marked = column(self.columns, mark);
                    Expr::new(ExprKind::Coalesce(vec![marked, Expr::bool(false)]), SqlType::Bool)
                }
            },
            SubqueryKind::Quantified { quantifier, comparisons } => {
                let right = self.node(plan)?;
                let condition = self.quantified(quantifier, comparisons);
                let mark = self.mark(true);
                let mut conjuncts = Vec::new();
                plan::split_conjuncts(condition, &mut conjuncts);
                *input = self.dependent_join(JoinKind::Mark(mark), take(input), right, conjuncts, false)?;
                let marked = column(self.columns, mark);
                if quantifier == Quantifier::All { not(marked) } else { marked }
            }
        };
        *expr = replacement.at(expr.position);
        Ok(())
    }
}
