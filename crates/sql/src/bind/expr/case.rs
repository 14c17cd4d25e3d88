//! CASE, and the functions that are CASE in disguise.

use base::{Error, Result, SqlState};
use plan::{Compare, Expr, ExprKind};
use sqlparser::ast::{self, CaseWhen};
use types::{SqlType, Value};

use crate::bind::Binder;
use crate::bind::coerce::{compare, known, unify};
use crate::bind::expr::compare::compare_operands;
use crate::bind::expr::once::Operand;

impl Binder<'_> {
    pub(super) fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&ast::Expr>,
    ) -> Result<Expr> {
        let position = conditions.first().and_then(|c| self.text.start(&c.condition));
        let Some(operand) = operand else { return self.searched(None, conditions, otherwise, position) };
        let operand = self.operand(operand)?;
        self.once(operand, |b, operand| b.searched(Some(operand), conditions, otherwise, position))
    }

    fn searched(
        &mut self,
        operand: Option<&Operand>,
        conditions: &[CaseWhen],
        otherwise: Option<&ast::Expr>,
        position: Option<u32>,
    ) -> Result<Expr> {
        let mut tests = Vec::with_capacity(conditions.len());
        let mut values = Vec::with_capacity(conditions.len() + 1);
        for when in conditions {
            tests.push(match operand {
                Some(operand) => {
                    let (value, position) = (self.operand(&when.condition)?, self.text.start(&when.condition));
                    compare_operands(Compare::Eq, operand, &value, position)?
                }
                None => self.condition(&when.condition, "CASE/WHEN")?,
            });
            values.push(self.expr(&when.result)?);
        }
        values.push(match otherwise {
            Some(otherwise) => self.expr(otherwise)?,
            None => Expr::constant(Value::Null, SqlType::Null),
        });
        let (mut values, sql_type) = unify(values, "CASE")?;
        let otherwise = values.pop().ok_or_else(|| Error::internal("CASE without values"))?;
        let branches = tests.into_iter().zip(values).collect();
        Ok(Expr::new(ExprKind::Case { branches, otherwise: Box::new(otherwise) }, sql_type).at(position))
    }

    pub(super) fn coalesce(&mut self, arguments: &[&ast::Expr], position: Option<u32>) -> Result<Expr> {
        if arguments.is_empty() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "COALESCE needs at least one argument").at(position));
        }
        let values = arguments.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
        let (mut values, sql_type) = unify(values, "COALESCE")?;
        if values.len() == 1 {
            return Ok(values.remove(0));
        }
        Ok(Expr::new(ExprKind::Coalesce(values), sql_type).at(position))
    }

    pub(super) fn nullif(&mut self, arguments: &[&ast::Expr], position: Option<u32>) -> Result<Expr> {
        let &[a, b] = arguments else {
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, "NULLIF needs two arguments").at(position));
        };
        let (a, b) = (self.expr(a)?, self.expr(b)?);
        self.value_once(a, |_, a| {
            let equal = compare(Compare::Eq, a.clone(), b, position)?;
            let value = known(a.clone());
            let sql_type = value.sql_type;
            let null = Expr::constant(Value::Null, sql_type);
            let kind = ExprKind::Case { branches: vec![(equal, null)], otherwise: Box::new(value) };
            Ok(Expr::new(kind, sql_type).at(position))
        })
    }

    /// `if(condition, a, b)`
    pub(super) fn if_else(&mut self, arguments: &[&ast::Expr], position: Option<u32>) -> Result<Expr> {
        let &[condition, a, b] = arguments else {
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, "IF needs three arguments").at(position));
        };
        let condition = self.condition(condition, "IF")?;
        let values = vec![self.expr(a)?, self.expr(b)?];
        let (mut values, sql_type) = unify(values, "IF")?;
        let otherwise = values.pop().ok_or_else(|| Error::internal("IF without values"))?;
        let branches = values.into_iter().map(|v| (condition.clone(), v)).collect();
        Ok(Expr::new(ExprKind::Case { branches, otherwise: Box::new(otherwise) }, sql_type).at(position))
    }
}
