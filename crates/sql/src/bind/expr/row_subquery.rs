//! `(a, b) = (SELECT x, y ...)`: the row of a subquery is a value, which is NULL if there is no row.

use base::{Error, Result, SqlState};
use plan::{Compare, Expr, ExprKind, Node, Op, Subquery, SubqueryKind};
use sqlparser::ast;

use super::compare::{compare_operands, strict};
use super::once::{Operand, row};
use crate::bind::Binder;

impl Binder<'_> {
    /// A comparison of a row with several entries and the row of a subquery; none if it is another one.
    pub(super) fn row_beside_subquery(
        &mut self,
        op: Compare,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Result<Option<Expr>> {
        let (Some(query), Compare::Eq | Compare::Ne | Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge) =
            (query_of(right), op)
        else {
            return Ok(None);
        };
        if row(left).is_none_or(|entries| entries.len() < 2) {
            return Ok(None);
        }
        let position = self.text.start(left);
        let Operand::Row(entries) = self.operand(left)? else { return Ok(None) };
        let value = self.row_of_subquery(query, entries.len(), position)?;
        let compared = self.value_once(value, |b, value| {
            let fields = b.fields_of(value)?.into_iter().map(|(_, field)| Operand::Value(field)).collect();
            match strict(op) {
                Some(_) => b.row_order(op, entries, fields, position),
                None => compare_operands(op, &Operand::Row(entries), &Operand::Row(fields), position),
            }
        });
        compared.map(Some)
    }

    /// The only row of a subquery with so many columns.
    fn row_of_subquery(&mut self, query: &ast::Query, columns: usize, position: Option<u32>) -> Result<Expr> {
        let bound = self.subquery(query)?;
        if bound.output.len() != columns {
            let much = if bound.output.len() > columns { "many" } else { "few" };
            let message = format!("subquery has too {much} columns");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        }
        let named = bound.output.iter().enumerate();
        let named = named.map(|(at, output)| (format!("f{}", at + 1), self.plan.reference(output.column)));
        let value = self.row_of_values(named.collect(), position)?;
        let (column, sql_type) = (self.plan.column_for("row", &value), value.sql_type);
        let plan = Node::new(Op::Map { input: Box::new(bound.node), columns: vec![(column, value)] });
        let subquery = Subquery { kind: SubqueryKind::Scalar { column }, plan };
        Ok(Expr::new(ExprKind::Subquery(Box::new(subquery)), sql_type).at(position))
    }
}

/// The query that an expression is.
fn query_of(expr: &ast::Expr) -> Option<&ast::Query> {
    match expr {
        ast::Expr::Subquery(query) => Some(query),
        ast::Expr::Nested(inner) => query_of(inner),
        _ => None,
    }
}
