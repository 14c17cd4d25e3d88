//! Operands that SQL writes once and that are read several times: BETWEEN, IN, simple CASE, NULLIF, comparisons of rows. They
//! are bound once, and computed once by a let unless they are as cheap to compute again.

use base::{Error, Result};
use plan::{ColumnId, Expr, ExprKind};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart};

use crate::bind::Binder;

use crate::bind::parts::PlanBuilder;

/// A bound operand of a comparison.
#[derive(Clone)]
pub(super) enum Operand {
    Value(Expr),
    /// `(a, b, ...)`
    Row(Vec<Operand>),
}

/// The lets around what reads shared operands, outermost first.
#[derive(Default)]
struct Lets(Vec<(ColumnId, Expr)>);

impl Binder<'_> {
    /// Binds an operand, which may be a row.
    pub(super) fn operand(&mut self, expr: &ast::Expr) -> Result<Operand> {
        match row(expr) {
            Some(entries) => {
                self.deeper(|b| entries.iter().map(|e| b.operand(e)).collect::<Result<_>>().map(Operand::Row))
            }
            None => self.expr(expr).map(Operand::Value),
        }
    }

    /// What `read` makes of an operand that it may use any number of times.
    pub(super) fn once(
        &mut self,
        operand: Operand,
        read: impl FnOnce(&mut Self, &Operand) -> Result<Expr>,
    ) -> Result<Expr> {
        let mut lets = Lets::default();
        let shared = self.plan.shared(operand, &mut lets);
        let mut result = read(self, &shared)?;
        for (column, value) in lets.0.into_iter().rev() {
            let mut uses = 0;
            result.visit_columns(&mut |c| uses += usize::from(c == column));
            if uses > 1 {
                let (sql_type, position) = (result.sql_type, result.position);
                let kind = ExprKind::Let { column, value: Box::new(value), body: Box::new(result) };
                result = Expr::new(kind, sql_type).at(position);
            } else {
                result.substitute(&mut |c| (c == column).then(|| value.clone()));
            }
        }
        Ok(result)
    }

    /// As [`once`](Self::once), for an operand that is no row.
    pub(super) fn value_once(
        &mut self,
        value: Expr,
        read: impl FnOnce(&mut Self, &Expr) -> Result<Expr>,
    ) -> Result<Expr> {
        self.once(Operand::Value(value), |b, shared| match shared {
            Operand::Value(value) => read(b, value),
            Operand::Row(_) => Err(Error::internal("a value became a row")),
        })
    }
}

impl PlanBuilder {
    /// The operand with references to lets where computing it again costs something.
    fn shared(&mut self, operand: Operand, lets: &mut Lets) -> Operand {
        match operand {
            Operand::Value(value) if is_cheap(&value) => Operand::Value(value),
            Operand::Value(value) => {
                let column = self.column_for("once", &value);
                let reference = self.reference(column).at(value.position);
                lets.0.push((column, value));
                Operand::Value(reference)
            }
            Operand::Row(entries) => Operand::Row(entries.into_iter().map(|e| self.shared(e, lets)).collect()),
        }
    }
}

/// Whether computing the expression again costs next to nothing.
fn is_cheap(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Column(_) | ExprKind::Const(_) | ExprKind::Argument(..) => true,
        ExprKind::Cast(inner) => !expr.sql_type.is_string() && is_cheap(inner),
        _ => false,
    }
}

/// The entries of a row constructor: `(a, b)` or `ROW(a, b)`.
pub(in crate::bind) fn row(expr: &ast::Expr) -> Option<Vec<&ast::Expr>> {
    match expr {
        ast::Expr::Tuple(items) => Some(items.iter().collect()),
        ast::Expr::Nested(inner) => row(inner),
        ast::Expr::Function(ast::Function { name, args: FunctionArguments::List(list), over: None, .. }) => {
            let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() else { return None };
            let is_row = ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("row");
            let entry = |argument| match argument {
                &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref expr)) => Some(expr),
                _ => None,
            };
            if is_row && !list.args.is_empty() { list.args.iter().map(entry).collect() } else { None }
        }
        _ => None,
    }
}

/// What a key of an order or a partition says: the entries of a row, or itself. Rows are compared entry by entry, with
/// NULLs among them as the greatest values.
pub(in crate::bind) fn entries(key: &ast::Expr) -> Vec<&ast::Expr> {
    match row(key) {
        Some(parts) => parts.into_iter().flat_map(entries).collect(),
        None => vec![key],
    }
}
