//! Where expressions start.

use sqlparser::ast::{Expr, FunctionArguments, ObjectName, ObjectNamePart, SelectItem, SetExpr};

use crate::bind::parts::Text;
use crate::parse::only::unmarked;

impl Text<'_> {
    /// Byte offset of an expression's first token (of a token near to it where the parser keeps none). Descends along the
    /// left edge only, without recursion.
    pub(in crate::bind) fn start(&self, expr: &Expr) -> Option<u32> {
        let mut expr = expr;
        loop {
            expr = match expr {
                Expr::Identifier(ident) => return self.at(ident),
                Expr::CompoundIdentifier(parts) => return parts.first().and_then(|p| self.at(p)),
                Expr::Value(value) => return self.span(value.span),
                Expr::TypedString(typed) => return self.span(typed.value.span),
                Expr::Function(function) => return self.name_position(&function.name),
                Expr::Case { case_token, .. } => return self.span(case_token.0.span),
                Expr::Wildcard(token) => return self.span(token.0.span),
                Expr::Interval(interval) => &interval.value,
                Expr::Exists { subquery, .. } | Expr::Subquery(subquery) => {
                    let SetExpr::Select(select) = subquery.body.as_ref() else { return None };
                    return self.span(select.select_token.0.span).or_else(|| match select.projection.first()? {
                        SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } => match e {
                            Expr::Identifier(ident) => self.at(ident),
                            _ => None,
                        },
                        _ => None,
                    });
                }
                Expr::Tuple(items) => items.first()?,
                Expr::Array(array) => array.elem.first()?,
                Expr::CompoundFieldAccess { root, .. } => root,
                Expr::BinaryOp { left, .. } | Expr::AnyOp { left, .. } | Expr::AllOp { left, .. } => left,
                Expr::IsDistinctFrom(e, _) | Expr::IsNotDistinctFrom(e, _) => e,
                Expr::IsNull(e) | Expr::IsNotNull(e) | Expr::IsTrue(e) | Expr::IsNotTrue(e) => e,
                Expr::IsFalse(e) | Expr::IsNotFalse(e) | Expr::IsUnknown(e) | Expr::IsNotUnknown(e) => e,
                Expr::Nested(e) | Expr::Prior(e) => e,
                Expr::UnaryOp { expr: e, .. }
                | Expr::Between { expr: e, .. }
                | Expr::InList { expr: e, .. }
                | Expr::InSubquery { expr: e, .. }
                | Expr::Like { expr: e, .. }
                | Expr::ILike { expr: e, .. }
                | Expr::SimilarTo { expr: e, .. }
                | Expr::Cast { expr: e, .. }
                | Expr::AtTimeZone { timestamp: e, .. }
                | Expr::Collate { expr: e, .. }
                | Expr::Extract { expr: e, .. }
                | Expr::Ceil { expr: e, .. }
                | Expr::Floor { expr: e, .. }
                | Expr::Position { expr: e, .. }
                | Expr::Substring { expr: e, .. }
                | Expr::Trim { expr: e, .. }
                | Expr::Overlay { expr: e, .. } => e,
                _ => return None,
            };
        }
    }

    /// Byte offset of a dotted name.
    pub(in crate::bind) fn name_position(&self, name: &ObjectName) -> Option<u32> {
        unmarked(name).first().and_then(|part| match part {
            ObjectNamePart::Identifier(ident) => self.at(ident),
            ObjectNamePart::Function(function) => self.at(&function.name),
        })
    }
}

/// The arguments that are plain expressions in parentheses, if all are.
pub(super) fn has_arguments(arguments: &FunctionArguments) -> bool {
    match arguments {
        FunctionArguments::None => false,
        FunctionArguments::Subquery(_) => true,
        FunctionArguments::List(list) => !list.args.is_empty(),
    }
}
