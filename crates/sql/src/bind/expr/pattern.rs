//! Texts beside patterns: LIKE, SIMILAR TO, regular expressions.

use base::{Error, Result, SqlState};
use functions::ScalarFunction;
use plan::{Expr, ExprKind, Quantifier};
use sqlparser::ast;
use types::ops::array;
use types::ops::cast::TooLong;
use types::ops::like::{self, DEFAULT_ESCAPE, Syntax, escape_character};
use types::{SqlType, Value};

use super::array_any::{no_array, quantify};
use super::negate_if;
use crate::bind::Binder;
use crate::bind::coerce::{convert, is_untyped, known, padded};

impl Binder<'_> {
    pub(super) fn like(
        &mut self,
        expr: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        negated: bool,
        fold: bool,
    ) -> Result<Expr> {
        let position = self.text.start(expr);
        let mut computed = None;
        let escape = match escape {
            None => DEFAULT_ESCAPE,
            Some(escape) => {
                let at = self.text.start(escape);
                let bound = self.expr(escape)?;
                match &bound.kind {
                    ExprKind::Const(Value::Str(text)) => escape_character(text).map_err(|e| e.at(at))?,
                    _ => {
                        computed = Some(bound);
                        DEFAULT_ESCAPE
                    }
                }
            }
        };
        let (input, mut pattern) = (self.expr(expr)?, self.expr(pattern)?);
        if let Some(escape) = computed {
            pattern = text_of(ScalarFunction::LIKE_ESCAPE, pattern, escape, position)?;
        }
        match_bound(input, pattern, Syntax::Like { escape, fold }, negated, position)
    }

    /// `text LIKE ANY (array)`, or ALL: a pattern for each element of a list that is written, or of a constant.
    pub(super) fn like_array(
        &mut self,
        quantifier: Quantifier,
        like: &ast::Expr,
        patterns: &ast::Expr,
    ) -> Result<Expr> {
        let position = self.text.start(like);
        let mut written = patterns;
        while let ast::Expr::Nested(inner) = written {
            written = inner;
        }
        let mut alone = like.clone();
        let (ast::Expr::Like { any, pattern, .. } | ast::Expr::ILike { any, pattern, .. }) = &mut alone else {
            return Err(Error::internal("LIKE ANY that is no LIKE"));
        };
        *any = false;
        let each: Vec<ast::Expr> = match written {
            ast::Expr::Array(list) => list.elem.clone(),
            other => {
                let bound = self.expr(other)?;
                let element = if is_untyped(&bound) { Some(SqlType::Text) } else { bound.sql_type.element() };
                let Some(element) = element else {
                    return Err(no_array(position));
                };
                let ExprKind::Const(Value::Str(form)) = &bound.kind else {
                    return self.like_each(quantifier, like, other);
                };
                let form = match is_untyped(&bound) {
                    true => array::parse(form, element, TooLong::Cut)?,
                    false => Value::Str(form.clone()),
                };
                let Value::Str(form) = form else { return Err(Error::internal("an array that is no array")) };
                array::Elements::new(&form, element).map(literal).collect()
            }
        };
        **pattern = literal(Value::Null);
        let mut parts = Vec::with_capacity(each.len());
        for wanted in each {
            let mut one = alone.clone();
            if let ast::Expr::Like { pattern, .. } | ast::Expr::ILike { pattern, .. } = &mut one {
                **pattern = wanted;
            }
            parts.push(self.expr(&one)?);
        }
        Ok(quantify(quantifier, parts))
    }

    /// The same of any array.
    fn like_each(&mut self, quantifier: Quantifier, like: &ast::Expr, array: &ast::Expr) -> Result<Expr> {
        let (op, expr, escape) = match like {
            ast::Expr::Like { negated: false, expr, escape_char, .. } => ("LIKE", expr, escape_char),
            ast::Expr::Like { expr, escape_char, .. } => ("NOT LIKE", expr, escape_char),
            ast::Expr::ILike { negated: false, expr, escape_char, .. } => ("ILIKE", expr, escape_char),
            ast::Expr::ILike { expr, escape_char, .. } => ("NOT ILIKE", expr, escape_char),
            _ => return Err(Error::internal("LIKE ANY that is no LIKE")),
        };
        if escape.is_some() {
            return Err(Error::unsupported("ESCAPE with patterns of an array").at(self.text.start(expr)));
        }
        self.each_element(quantifier, expr, op, array)
    }

    /// `text SIMILAR TO pattern`: the regular expression that the pattern is.
    pub(super) fn similar_to(
        &mut self,
        expr: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        negated: bool,
    ) -> Result<Expr> {
        let position = self.text.start(expr);
        let (input, pattern) = (self.expr(expr)?, self.expr(pattern)?);
        let escape = escape.map(|escape| self.expr(escape)).transpose()?;
        let pattern = similar(pattern, escape, position)?;
        match_bound(input, pattern, Syntax::Regex { fold: false }, negated, position)
    }
}

/// The array of `LIKE ALL (array)`, which the parser takes for a call.
pub(super) fn array_of_all(pattern: &ast::Expr) -> Option<&ast::Expr> {
    let ast::Expr::Function(ast::Function { name, args: ast::FunctionArguments::List(list), .. }) = pattern else {
        return None;
    };
    let [ast::ObjectNamePart::Identifier(all)] = name.0.as_slice() else { return None };
    match list.args.as_slice() {
        [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(array))]
            if all.quote_style.is_none() && all.value.eq_ignore_ascii_case("all") =>
        {
            Some(array)
        }
        _ => None,
    }
}

/// A text as it is written.
fn literal(value: Value) -> ast::Expr {
    ast::Expr::value(match value {
        Value::Str(text) => ast::Value::SingleQuotedString(text.to_string()),
        _ => ast::Value::Null,
    })
}

/// The regular expression of a pattern of SIMILAR TO: a constant, if the pattern is one.
fn similar(pattern: Expr, escape: Option<Expr>, position: Option<u32>) -> Result<Expr> {
    let escape = escape.unwrap_or_else(|| Expr::constant(Value::str("\\"), SqlType::Text));
    if let (ExprKind::Const(Value::Str(text)), ExprKind::Const(Value::Str(with))) = (&pattern.kind, &escape.kind) {
        let regex = like::similar(text, with).map_err(|e| e.at(position))?;
        return Ok(Expr::constant(Value::str(regex), SqlType::Text).at(pattern.position));
    }
    text_of(ScalarFunction::SIMILAR_TO_ESCAPE, pattern, escape, position)
}

/// Whether `substring(text from this)` asks for a pattern instead of a place.
pub(super) fn is_pattern(from: &Expr) -> bool {
    from.sql_type.is_string() || (from.sql_type == SqlType::Null && matches!(from.kind, ExprKind::Const(Value::Str(_))))
}

/// `substring(text from pattern)`, or `substring(text similar pattern escape escape)`.
pub(super) fn substring_by_pattern(
    text: Expr,
    pattern: Expr,
    escape: Option<Expr>,
    position: Option<u32>,
) -> Result<Expr> {
    let pattern = match escape {
        Some(escape) => similar(pattern, Some(escape), position)?,
        None => pattern,
    };
    text_of(ScalarFunction::REGEXP_SUBSTRING, text, pattern, position)
}

/// A text that a function makes of two.
fn text_of(function: ScalarFunction, first: Expr, second: Expr, position: Option<u32>) -> Result<Expr> {
    for side in [&first, &second] {
        if !side.sql_type.is_string() && side.sql_type != SqlType::Null {
            let message =
                format!("function {}({}, {}) does not exist", function.name(), first.sql_type, second.sql_type);
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message).at(position));
        }
    }
    let arguments = vec![convert(first, SqlType::Text)?, convert(second, SqlType::Text)?];
    Ok(Expr::new(ExprKind::Call(function, arguments), SqlType::Text).at(position))
}

/// Whether a text matches a pattern, both bound.
pub(in crate::bind) fn match_bound(
    input: Expr,
    pattern: Expr,
    syntax: Syntax,
    negated: bool,
    position: Option<u32>,
) -> Result<Expr> {
    for side in [&input, &pattern] {
        if !side.sql_type.is_string() && side.sql_type != SqlType::Null {
            let name = match syntax {
                Syntax::Like { fold: false, .. } => "LIKE",
                Syntax::Like { fold: true, .. } => "ILIKE",
                Syntax::Regex { fold: false } => "~",
                Syntax::Regex { fold: true } => "~*",
            };
            let message = format!("operator does not exist: {} {name} {}", input.sql_type, pattern.sql_type);
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message)
                .hint(format!("{name} compares texts: cast the other side to text"))
                .at(position));
        }
    }
    let (input, pattern) = (known(input), known(pattern));
    let input = if ignores_blanks(&pattern, syntax) { input } else { padded(input) };
    let kind = ExprKind::Like { input: Box::new(input), pattern: Box::new(pattern), syntax };
    Ok(negate_if(Expr::new(kind, SqlType::Bool).at(position), negated))
}

/// Whether a pattern matches a text just where it matches the text followed by blanks: it ends in %, and nothing else in it
/// can match a blank.
fn ignores_blanks(pattern: &Expr, syntax: Syntax) -> bool {
    let (ExprKind::Const(Value::Str(pattern)), Syntax::Like { escape, .. }) = (&pattern.kind, syntax) else {
        return false;
    };
    let special = |c| c == ' ' || c == '_' || Some(c) == escape;
    pattern.ends_with('%') && !pattern.contains(special)
}
