//! Calls of SQL functions through boxed values.

use base::ids::Id;
use base::{Error, Result};
use pipeline::ir::{Site, SiteKind};
use plan::{ColumnId, Expr, ExprKind};
use types::Value;
use types::ops::{cast, like};

/// A site, prepared.
#[derive(Debug)]
pub struct PreparedSite {
    /// What the program says.
    pub site: Site,
    /// The call of a scalar function as an expression over columns 0, 1, ..: its arguments.
    call: Option<Expr>,
}

impl PreparedSite {
    pub(super) fn new(site: &Site) -> Self {
        let call = match site.kind {
            SiteKind::Scalar(function) => {
                let argument = |(i, t): (usize, _)| Expr::column(ColumnId::from_index(i), t);
                let arguments = site.arguments.iter().copied().enumerate().map(argument).collect();
                Some(Expr { kind: ExprKind::Call(function, arguments), sql_type: site.result, position: None })
            }
            _ => None,
        };
        Self { site: site.clone(), call }
    }

    /// Computes it.
    pub(crate) fn call(&self, arguments: &[Value]) -> Result<Value> {
        let text = |i: usize| match arguments.get(i) {
            Some(Value::Str(text)) => Ok(&**text),
            _ => Err(Error::internal("LIKE of something that is not a text")),
        };
        match (&self.site.kind, &self.call) {
            (SiteKind::Scalar(_), Some(call)) => plan::eval::eval(call, &|column| arguments[column.index()].clone()),
            (SiteKind::Scalar(_), None) => unreachable!("prepared by `new`"),
            (SiteKind::Cast(or_null), _) => {
                let value = cast::cast_value(&arguments[0], self.site.arguments[0], self.site.result);
                if *or_null { Ok(value.unwrap_or(Value::Null)) } else { value }
            }
            (SiteKind::Like { escape, case_insensitive }, _) => {
                let like = if *case_insensitive { like::ilike } else { like::like };
                like(text(0)?, text(1)?, *escape).map(Value::Bool)
            }
        }
    }
}
