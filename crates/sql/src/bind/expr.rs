//! Expressions: one method per construct of the grammar.

mod aggregate;
mod any_type;
mod arguments;
pub(super) mod array;
mod array_any;
mod array_operators;
mod array_subquery;
mod by_type;
mod call;
mod case;
mod cast;
mod chained;
mod collected;
mod compare;
mod composed;
mod first_last;
mod in_list;
pub(super) mod json;
mod json_calls;
mod json_paths;
mod json_transform;
mod lambda;
mod literal;
mod map;
pub(super) mod named;
mod once;
mod operator;
mod ordered_set;
mod parts_of_text;
mod pattern;
mod position;
mod range_operators;
mod rewritten;
mod row;
mod row_subquery;
mod session;
mod string_agg;
mod structure;
mod subquery;
mod text_part;
mod window;

use base::{Error, Result, SqlState};
use plan::{Expr, ExprKind};
use sqlparser::ast;
use types::SqlType;
use types::ops::date::{time_of_timestamp, timestamp_to_date, timetz};

use super::{Binder, fold, unsupported, zone};
use crate::bind::coerce::{boolean, known};
use crate::parse::stars::is_star;
pub(super) use composed::is_aggregate;
pub(super) use literal::number;
pub(super) use named::{call, no_function};
pub(super) use once::{entries, row};
pub(super) use parts_of_text::parts_of_text;
use pattern::array_of_all;
pub(super) use row::paths_of;
pub(super) use window::{new_call, where_true};

impl Binder<'_> {
    /// Binds an expression; string literals and bare NULLs come back untyped ([`SqlType::Null`]).
    pub(super) fn expr(&mut self, expr: &ast::Expr) -> Result<Expr> {
        self.limits.spend()?;
        self.deeper(|b| b.expr_inner(expr))
    }

    /// Binds an expression whose untyped literals are text.
    pub(super) fn typed_expr(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let bound = self.expr(expr)?;
        Ok(known(bound))
    }

    /// Binds a condition of `what`.
    pub(super) fn condition(&mut self, expr: &ast::Expr, what: &str) -> Result<Expr> {
        let around = self.names.levels.last_mut().map(|level| std::mem::replace(&mut level.inside_condition, true));
        let bound = self.expr(expr);
        if let (Some(level), Some(around)) = (self.names.levels.last_mut(), around) {
            level.inside_condition = around;
        }
        boolean(bound?, what)
    }

    fn expr_inner(&mut self, expr: &ast::Expr) -> Result<Expr> {
        use ast::Expr as E;
        match expr {
            E::Identifier(ident) => self.identifier(ident),
            E::CompoundIdentifier(parts) => self.compound(parts),
            E::CompoundFieldAccess { root, access_chain } => self.access(root, access_chain),
            E::Value(value) => self.literal(value),
            E::TypedString(typed) => {
                let value = self.text.typed_string(typed)?;
                match self.domain_of(&typed.data_type)? {
                    Some((name, domain)) => self.as_domain(value, &name, &domain),
                    None => Ok(value),
                }
            }
            E::Interval(interval) => self.interval(interval),
            E::Nested(inner) => self.expr(inner),
            E::BinaryOp { .. } => self.binary_chain(expr),
            E::UnaryOp { op, expr } => self.unary(*op, expr),
            E::IsNull(e) => self.is_null(e, false),
            E::IsNotNull(e) => self.is_null(e, true),
            E::IsNormalized { expr, form, negated } => {
                Ok(negate_if(self.expr(&rewritten::normalized(expr, *form))?, *negated))
            }
            E::IsTrue(e) => self.is_bool(e, Some(true), false),
            E::IsNotTrue(e) => self.is_bool(e, Some(true), true),
            E::IsFalse(e) => self.is_bool(e, Some(false), false),
            E::IsNotFalse(e) => self.is_bool(e, Some(false), true),
            E::IsUnknown(e) => self.is_bool(e, None, false),
            E::IsNotUnknown(e) => self.is_bool(e, None, true),
            E::IsDistinctFrom(a, b) => self.comparison(plan::Compare::Distinct, a, b),
            E::IsNotDistinctFrom(a, b) => self.comparison(plan::Compare::NotDistinct, a, b),
            E::Between { expr, negated, low, high } => self.between(expr, *negated, low, high),
            E::InList { expr, list, negated } => self.in_list(expr, list, *negated),
            E::InSubquery { expr, subquery, negated } => self.in_subquery(expr, subquery, *negated),
            E::AnyOp { left, compare_op, right, .. } => self.quantified(plan::Quantifier::Any, left, compare_op, right),
            E::AllOp { left, compare_op, right } => self.quantified(plan::Quantifier::All, left, compare_op, right),
            E::Exists { subquery, negated } => self.exists(subquery, *negated),
            E::Subquery(query) => self.scalar_subquery(query, self.text.start(expr)),
            E::Like { any: false, pattern, .. } | E::ILike { any: false, pattern, .. }
                if let Some(array) = array_of_all(pattern) =>
            {
                self.like_array(plan::Quantifier::All, expr, array)
            }
            E::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_deref(), *negated, false)
            }
            E::ILike { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_deref(), *negated, true)
            }
            E::Like { any: true, pattern, .. } | E::ILike { any: true, pattern, .. } => {
                self.like_array(plan::Quantifier::Any, expr, pattern)
            }
            E::SimilarTo { negated, expr, pattern, escape_char } => {
                self.similar_to(expr, pattern, escape_char.as_deref(), *negated)
            }
            E::Cast { kind, expr: inner, data_type, format } => {
                if format.is_some() {
                    return unsupported("CAST with FORMAT", self.text.start(inner));
                }
                self.cast(kind, inner, data_type)
            }
            E::Extract { field, expr, .. } => self.extract(&field.to_string(), expr),
            E::Ceil { expr, field } => self.ceil_or_floor("ceil", expr, field),
            E::Floor { expr, field } => self.ceil_or_floor("floor", expr, field),
            E::Position { expr: needle, r#in } => self.call_by_name("strpos", &[r#in, needle], self.text.start(expr)),
            E::Substring { expr, substring_from, substring_for, .. } => {
                self.substring(expr, substring_from.as_deref(), substring_for.as_deref())
            }
            E::Trim { trim_where, trim_what, expr, trim_characters } => {
                self.trim(trim_where.as_ref(), trim_what.as_deref(), expr, trim_characters.as_deref())
            }
            E::Function(function) => self.function(function),
            E::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())
            }
            E::Tuple(entries) => {
                let entries: Vec<&ast::Expr> = entries.iter().collect();
                self.row_value(&entries, self.text.start(expr))
            }
            E::Wildcard(_) | E::QualifiedWildcard(..) => {
                Err(Error::new(SqlState::SYNTAX_ERROR, "* is only allowed in the select list and in count(*)"))
            }
            E::RLike { expr, .. } => unsupported("RLIKE", self.text.start(expr)),
            E::AtTimeZone { timestamp, time_zone } => {
                self.call_by_name("timezone", &[time_zone, timestamp], self.text.start(timestamp))
            }
            E::Collate { expr, collation } => self.collated(expr, collation),
            E::Prefixed { prefix, value } => self.argument_of_macro(prefix, value),
            E::Lambda(_) => {
                Err(Error::new(SqlState::SYNTAX_ERROR, "a lambda must be an argument of a function that takes one"))
            }
            E::Map(map) => self.map_literal(&map.entries),
            E::Dictionary(fields) => self.dictionary(fields),
            E::Array(array) => self.array(array, None),
            E::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let mut arguments: Vec<&ast::Expr> = vec![expr, overlay_what, overlay_from];
                arguments.extend(overlay_for.as_deref());
                self.call_by_name("overlay", &arguments, self.text.start(expr))
            }
            other => {
                let text: String = other.to_string().chars().take(60).collect();
                unsupported(format!("the expression {text}"), self.text.start(other))
            }
        }
    }

    fn identifier(&mut self, ident: &ast::Ident) -> Result<Expr> {
        if let Some(column) = self.names.lambda_parameter(ident) {
            return Ok(self.plan.reference(column).at(self.text.at(ident)));
        }
        let found = self.names.resolve(ident, &self.text, &mut self.plan);
        if let Some(variable) = self.variable_beside(std::slice::from_ref(ident), &found)? {
            return Ok(variable);
        }
        let found = match found {
            Err(error) if error.state() == SqlState::UNDEFINED_COLUMN => match self.whole_row(ident)? {
                Some(row) => return Ok(row),
                None => Err(error),
            },
            found => found,
        };
        match found {
            // Words that are calls without parentheses, unless a column has the name.
            Err(error) if ident.quote_style.is_none() => {
                if fold(ident) == "merge_action"
                    && let Ok(action) = self.merge_action(self.text.at(ident))
                {
                    return Ok(action);
                }
                self.constant_word(&ident.value.to_lowercase(), self.text.at(ident)).ok_or(error)
            }
            resolved => resolved,
        }
    }

    pub(super) fn compound(&mut self, parts: &[ast::Ident]) -> Result<Expr> {
        match parts {
            [.., last] if is_star(last) => self.starred_row(parts),
            [column] => self.identifier(column),
            [table, column] => {
                let found = self.names.resolve_qualified(table, column, &self.text, &mut self.plan);
                match self.variable_beside(parts, &found)? {
                    Some(variable) => Ok(variable),
                    None => found.or_else(|error| self.path_of(parts, error)),
                }
            }
            [_, table, column] => {
                let found = self.names.resolve_qualified(table, column, &self.text, &mut self.plan);
                found.or_else(|error| self.path_of(parts, error))
            }
            _ => {
                let position = parts.first().and_then(|p| self.text.at(p));
                let message = "improper qualified name (too many dotted names)";
                self.path_of(parts, Error::new(SqlState::SYNTAX_ERROR, message).at(position))
            }
        }
    }

    /// Constants that are written as a word.
    fn constant_word(&self, word: &str, position: Option<u32>) -> Option<Expr> {
        let now = || self.resolver.now();
        let local = || zone::session().local(now()).unwrap_or_else(|_| now());
        let (value, sql_type) = match word {
            "current_date" => (types::Value::Date(timestamp_to_date(local())), SqlType::Date),
            "current_timestamp" => (types::Value::Timestamp(now()), SqlType::Timestamptz),
            "localtimestamp" => (types::Value::Timestamp(local()), SqlType::Timestamp),
            "current_time" => {
                let timetz = timetz::of_moment(now(), &zone::session()).unwrap_or_else(|_| timetz::pack(0, 0));
                (types::Value::Timetz(timetz), SqlType::Timetz)
            }
            "localtime" => (types::Value::Time(time_of_timestamp(local())), SqlType::Time),
            "current_schema" => (self.current_schema(), SqlType::Text),
            "current_user" | "session_user" | "current_role" | "user" => (types::Value::str("morseldb"), SqlType::Text),
            "current_catalog" => (types::Value::str("morseldb"), SqlType::Text),
            _ => return None,
        };
        Some(Expr::constant(value, sql_type).at(position))
    }
}

/// `NOT expr`, or `expr`.
fn negate_if(expr: Expr, negated: bool) -> Expr {
    if !negated {
        return expr;
    }
    let position = expr.position;
    Expr::new(ExprKind::Not(Box::new(expr)), SqlType::Bool).at(position)
}
