//! CAST, `::` and TRY_CAST.

use base::{Error, Result, SqlState};
use plan::{Expr, ExprKind};
use sqlparser::ast::{self, CastKind};
use types::SqlType;
use types::ops::cast::{can_cast, depends_on_zone};

use crate::bind::coerce::{cast_to, known};
use crate::bind::type_name::sql_type;
use crate::bind::{Binder, unsupported, zone};

impl Binder<'_> {
    pub(super) fn cast(&mut self, kind: &CastKind, inner: &ast::Expr, name: &ast::DataType) -> Result<Expr> {
        let position = self.text.start(inner);
        let to = sql_type(name).map_err(|e| e.at(position))?;
        // The elements of a literal are cast each, so that none of them decides for the others.
        let expr = match (to.element(), inner) {
            (Some(element), ast::Expr::Array(array)) => self.array(&array.elem, Some(element))?,
            _ => self.expr(inner)?,
        };
        if matches!(kind, CastKind::Cast | CastKind::DoubleColon) {
            return Ok(cast_to(expr, to)?.at(position));
        }
        let expr = known(expr);
        if !can_cast(expr.sql_type, to) {
            let message = format!("cannot cast type {} to {to}", expr.sql_type);
            return Err(Error::new(SqlState::CANNOT_COERCE, message).at(position));
        }
        if expr.sql_type == to || to == SqlType::Text {
            return cast_to(expr, to);
        }
        if depends_on_zone(expr.sql_type, to) && !zone::session().is_utc() {
            return if expr.sql_type.is_string() {
                unsupported("TRY_CAST to timestamptz outside of UTC", position)
            } else {
                cast_to(expr, to)
            };
        }
        Ok(Expr::new(ExprKind::TryCast(Box::new(expr)), to).at(position))
    }
}
