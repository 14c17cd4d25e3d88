//! Subqueries in expressions.

use base::{Error, Result, SqlState};
use plan::{ColumnId, Compare, Expr, ExprKind, Node, Op, Quantifier, Subquery, SubqueryKind};
use sqlparser::ast::{self, BinaryOperator};
use types::SqlType;

use super::array_any::quantify;
use super::negate_if;
use super::once::row;
use super::operator::compare_op;
use crate::bind::coerce::{comparable, op_text};
use crate::bind::scope::SelfReference;
use crate::bind::{Binder, Bound, unsupported};

impl Binder<'_> {
    /// A query within a statement, its columns of known types.
    pub(in crate::bind) fn subquery(&mut self, query: &ast::Query) -> Result<Bound> {
        let bound = self.not_recursive(SelfReference::Subquery, |b| b.query(query))?;
        Ok(self.plan.with_known_types(bound))
    }

    pub(super) fn exists(&mut self, query: &ast::Query, negated: bool) -> Result<Expr> {
        let bound = self.not_recursive(SelfReference::Subquery, |b| b.query(query))?;
        let subquery = Subquery { kind: SubqueryKind::Exists, plan: without_list(bound.node) };
        Ok(negate_if(Expr::new(ExprKind::Subquery(Box::new(subquery)), SqlType::Bool), negated))
    }

    pub(super) fn scalar_subquery(&mut self, query: &ast::Query, position: Option<u32>) -> Result<Expr> {
        let bound = self.subquery(query)?;
        let [output] = bound.output.as_slice() else {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "subquery must return only one column").at(position));
        };
        let column = output.column;
        let sql_type = self.plan.columns[column].sql_type;
        let subquery = Subquery { kind: SubqueryKind::Scalar { column }, plan: bound.node };
        Ok(Expr::new(ExprKind::Subquery(Box::new(subquery)), sql_type).at(position))
    }

    pub(super) fn in_subquery(&mut self, expr: &ast::Expr, query: &ast::Query, negated: bool) -> Result<Expr> {
        let found = self.quantified_subquery(Quantifier::Any, expr, Compare::Eq, query)?;
        Ok(negate_if(found, negated))
    }

    /// `left op ANY (subquery)`, `left op ALL (subquery)`
    pub(super) fn quantified(
        &mut self,
        quantifier: Quantifier,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
    ) -> Result<Expr> {
        let mut right = right;
        while let ast::Expr::Nested(inner) = right {
            right = inner;
        }
        let Some(compare) = compare_op(op) else {
            use BinaryOperator as B;
            let is_pattern = matches!(
                op,
                B::PGRegexMatch
                    | B::PGRegexIMatch
                    | B::PGRegexNotMatch
                    | B::PGRegexNotIMatch
                    | B::PGLikeMatch
                    | B::PGILikeMatch
                    | B::PGNotLikeMatch
                    | B::PGNotILikeMatch
            );
            if !is_pattern || matches!(right, ast::Expr::Subquery(_)) {
                return unsupported(format!("{op} with ANY or ALL"), self.text.start(left));
            }
            if let ast::Expr::Array(items) = right {
                let test = |item: &ast::Expr| {
                    let (left, right) = (left.clone().into(), item.clone().into());
                    self.expr(&ast::Expr::BinaryOp { left, op: op.clone(), right })
                };
                return Ok(quantify(quantifier, items.elem.iter().map(test).collect::<Result<_>>()?));
            }
            return self.each_element(quantifier, left, &op.to_string(), right);
        };
        match right {
            ast::Expr::Subquery(query) => self.quantified_subquery(quantifier, left, compare, query),
            array => self.quantified_array(quantifier, left, compare, array),
        }
    }

    fn quantified_subquery(
        &mut self,
        quantifier: Quantifier,
        left: &ast::Expr,
        op: Compare,
        query: &ast::Query,
    ) -> Result<Expr> {
        let position = self.text.start(left);
        let rows = row(left).is_some_and(|entries| entries.len() > 1);
        if rows && op == Compare::Ne {
            // Rows differ where not all entries are equal.
            let opposite = match quantifier {
                Quantifier::Any => Quantifier::All,
                Quantifier::All => Quantifier::Any,
            };
            return Ok(negate_if(self.quantified_subquery(opposite, left, Compare::Eq, query)?, true));
        }
        let left: Vec<Expr> = match row(left) {
            Some(entries) => entries.iter().map(|e| self.expr(e)).collect::<Result<_>>()?,
            None => vec![self.expr(left)?],
        };
        let Bound { mut node, output } = self.subquery(query)?;
        if output.len() != left.len() {
            let message = if output.len() > left.len() {
                "subquery has too many columns"
            } else {
                "subquery has too few columns"
            };
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        }
        let mut computed: Vec<(ColumnId, Expr)> = Vec::new();
        let mut comparisons = Vec::with_capacity(left.len());
        for (left, output) in left.into_iter().zip(output) {
            let (left, right) = comparable(left, self.plan.reference(output.column), op_text(op), position)?;
            let column = match right.as_column() {
                Some(column) => column,
                None => {
                    let column = self.plan.column_for(&output.name, &right);
                    computed.push((column, right));
                    column
                }
            };
            comparisons.push((left, op, column));
        }
        if !computed.is_empty() {
            node = Node::new(Op::Map { input: Box::new(node), columns: computed });
        }
        let subquery = Subquery { kind: SubqueryKind::Quantified { quantifier, comparisons }, plan: node };
        Ok(Expr::new(ExprKind::Subquery(Box::new(subquery)), SqlType::Bool).at(position))
    }
}

/// The rows of a query without what its select list computes, which nobody asks for.
fn without_list(mut node: Node) -> Node {
    match node.op {
        Op::Map { input, .. } => without_list(*input),
        Op::Limit { input, limit, offset } => {
            node.op = Op::Limit { input: Box::new(without_list(*input)), limit, offset };
            node
        }
        _ => node,
    }
}
