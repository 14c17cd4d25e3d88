//! Operators.

use base::{Error, Result, SqlState};
use functions::{ScalarFunction, negate};
use plan::{Compare, Expr, ExprKind};
use sqlparser::ast::{self, BinaryOperator, UnaryOperator};
use types::ops::date;
use types::ops::like::{DEFAULT_ESCAPE, Syntax};
use types::{SqlType, Value};

use super::array_operators::{concat_name, set_operator};
use super::json::json_operator;
use super::literal::negated_constant;
use super::named::{call, no_operator};
use super::once::row;
use super::range_operators::range_operator;
use super::rewritten::overlaps;
use crate::bind::coerce::{boolean, cast_to, compare, convert, exact_decimal, is_untyped, tight, unify};
use crate::bind::expr::pattern::match_bound;
use crate::bind::{Binder, unsupported, zone};

/// Longest chain of arithmetic operators: each makes the expression one level deeper.
const MAX_CHAIN: usize = 1_000;

impl Binder<'_> {
    /// A binary operator. Chains such as `a AND b AND c` lean to the left; they are walked along that edge without
    /// recursion, and ANDs and ORs become one n-ary node.
    pub(super) fn binary_chain(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let (mut first, mut rest) = (expr, Vec::new());
        while let ast::Expr::BinaryOp { left, op, right } = first {
            rest.push((op, right.as_ref(), left.as_ref()));
            first = left;
        }
        rest.reverse();
        if let Some((op, right, left)) = rest.first()
            && let Some(call) = overlaps(op, left, right)
        {
            let result = self.expr(&call)?;
            return self.fold_chain(result, &rest[1..], first);
        }
        // A comparison of rows needs its left side unbound.
        if let (Some(_), Some((op, right, left))) = (row(first), rest.first()) {
            let Some(compare) = compare_op(op) else {
                return unsupported("an operator on rows", self.text.start(first));
            };
            let result = self.comparison(compare, left, right)?;
            return self.fold_chain(result, &rest[1..], first);
        }
        let start = self.expr(first)?;
        self.fold_chain(start, &rest, first)
    }

    fn fold_chain(
        &mut self,
        first: Expr,
        rest: &[(&BinaryOperator, &ast::Expr, &ast::Expr)],
        start: &ast::Expr,
    ) -> Result<Expr> {
        let position = self.text.start(start);
        let mut result = first;
        let (mut at, mut arithmetic) = (0, 0);
        while at < rest.len() {
            let (op, right, left) = rest[at];
            if matches!(op, BinaryOperator::And | BinaryOperator::Or) {
                let name = if *op == BinaryOperator::And { "AND" } else { "OR" };
                let mut parts = vec![boolean(result, name)?];
                while at < rest.len() && rest[at].0 == op {
                    let part = self.condition(rest[at].1, name)?;
                    match part.kind {
                        ExprKind::And(inner) if *op == BinaryOperator::And => parts.extend(inner),
                        ExprKind::Or(inner) if *op == BinaryOperator::Or => parts.extend(inner),
                        _ => parts.push(part),
                    }
                    at += 1;
                }
                let kind = if name == "AND" { ExprKind::And(parts) } else { ExprKind::Or(parts) };
                result = Expr::new(kind, SqlType::Bool).at(position);
                continue;
            }
            arithmetic += 1;
            if arithmetic > MAX_CHAIN {
                return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "the expression is too complex")
                    .detail(format!("more than {MAX_CHAIN} operators follow each other"))
                    .at(position));
            }
            let mut operand = self.expr(right)?;
            if *op == BinaryOperator::StringConcat {
                (result, operand) = (self.named_if_registered(result)?, self.named_if_registered(operand)?);
            }
            result = binary(op, result, operand, position)?;
            if compare_op(op).is_some() {
                result = self.arguments.open_comparison(&self.text, result, left, right);
            }
            at += 1;
        }
        Ok(result)
    }

    pub(super) fn unary(&mut self, op: UnaryOperator, operand: &ast::Expr) -> Result<Expr> {
        let position = self.text.start(operand);
        let expr = match op {
            UnaryOperator::Not => {
                let expr = self.condition(operand, "NOT")?;
                return Ok(super::negate_if(expr, true));
            }
            _ => self.expr(operand)?,
        };
        let call =
            |function, expr, sql_type| Ok(Expr::new(ExprKind::Call(function, vec![expr]), sql_type).at(position));
        match op {
            UnaryOperator::Minus => {
                if let Some(constant) = negated_constant(&expr) {
                    return Ok(constant);
                }
                let Some(result) = negate(expr.sql_type) else {
                    return Err(no_prefix("-", expr.sql_type).at(position));
                };
                call(ScalarFunction::NEGATE, cast_to(expr, result)?, result)
            }
            UnaryOperator::Plus => match negate(expr.sql_type) {
                Some(result) => cast_to(expr, result),
                None => Err(no_prefix("+", expr.sql_type).at(position)),
            },
            UnaryOperator::BitwiseNot if expr.sql_type.is_integer() => {
                let sql_type = expr.sql_type;
                call(ScalarFunction::BIT_NOT, expr, sql_type)
            }
            UnaryOperator::PGSquareRoot => {
                let number = number(expr, "|/", position)?;
                call(ScalarFunction::SQRT, number, SqlType::Double)
            }
            UnaryOperator::PGCubeRoot => {
                let number = number(expr, "||/", position)?;
                call(ScalarFunction::CBRT, number, SqlType::Double)
            }
            UnaryOperator::PGAbs if expr.sql_type.is_numeric() => {
                let sql_type = expr.sql_type;
                call(ScalarFunction::ABS, expr, sql_type)
            }
            other => Err(no_prefix(&other.to_string(), expr.sql_type).at(position)),
        }
    }
}

fn binary(op: &BinaryOperator, left: Expr, right: Expr, position: Option<u32>) -> Result<Expr> {
    use BinaryOperator as B;
    use ScalarFunction as F;
    if let Some(op) = compare_op(op) {
        return compare(op, left, right, position);
    }
    if let Some(result) = json_operator(op, &left, &right, position) {
        return result;
    }
    if let Some(result) = range_operator(op, &left, &right, position) {
        return result;
    }
    let function = match op {
        B::Plus => F::ADD,
        B::Minus => F::SUBTRACT,
        B::Multiply => F::MULTIPLY,
        // In PostgreSQL fields of dates are numerics, whose quotients have fractions.
        B::Divide
            if left.sql_type.is_integer()
                && right.sql_type.is_integer()
                && (is_of_field(&left) || is_of_field(&right)) =>
        {
            let exact = |e: Expr| cast_to(e, SqlType::decimal(19, 0));
            return arithmetic(F::DIVIDE, "/", exact(left)?, exact(right)?, position);
        }
        B::Divide => F::DIVIDE,
        B::Modulo => F::MODULO,
        B::DuckIntegerDivide => {
            let divided = arithmetic(F::DIVIDE, "//", left, right, position)?;
            return if divided.sql_type.is_integer() { Ok(divided) } else { call("floor", vec![divided], position) };
        }
        B::StringConcat => return concat(left, right, position),
        B::PGStartsWith => return call("starts_with", vec![left, right], position),
        B::AtArrow => return set_operator(F::ARRAY_CONTAINS, "@>", left, right, position),
        B::ArrowAt => return set_operator(F::ARRAY_CONTAINS, "<@", right, left, position),
        B::PGOverlap => return set_operator(F::ARRAY_OVERLAPS, "&&", left, right, position),
        B::BitwiseAnd => return bitwise(F::BIT_AND, "&", left, right, position),
        B::BitwiseOr => return bitwise(F::BIT_OR, "|", left, right, position),
        B::PGBitwiseXor => return bitwise(F::BIT_XOR, "#", left, right, position),
        B::PGBitwiseShiftLeft => return bitwise(F::SHIFT_LEFT, "<<", left, right, position),
        B::PGBitwiseShiftRight => return bitwise(F::SHIFT_RIGHT, ">>", left, right, position),
        // PostgreSQL's exponentiation; the parser reads ^ as exclusive or.
        B::PGExp | B::BitwiseXor => {
            let (left, right) = (number(left, "^", position)?, number(right, "^", position)?);
            return Ok(Expr::new(ExprKind::Call(F::POWER, vec![left, right]), SqlType::Double).at(position));
        }
        B::PGLikeMatch | B::PGNotLikeMatch | B::PGILikeMatch | B::PGNotILikeMatch => {
            let fold = matches!(op, B::PGILikeMatch | B::PGNotILikeMatch);
            let negated = matches!(op, B::PGNotLikeMatch | B::PGNotILikeMatch);
            return match_bound(left, right, Syntax::Like { escape: DEFAULT_ESCAPE, fold }, negated, position);
        }
        B::PGRegexMatch | B::PGRegexIMatch | B::PGRegexNotMatch | B::PGRegexNotIMatch => {
            let fold = matches!(op, B::PGRegexIMatch | B::PGRegexNotIMatch);
            let negated = matches!(op, B::PGRegexNotMatch | B::PGRegexNotIMatch);
            return match_bound(left, right, Syntax::Regex { fold }, negated, position);
        }
        B::PGCustomBinaryOperator(parts) => {
            let named = parts.last().and_then(|name| qualified(name));
            return match named {
                Some(op) => binary(&op, left, right, position),
                None => unsupported(format!("the operator {op}"), position),
            };
        }
        other => return unsupported(format!("the operator {other}"), position),
    };
    arithmetic(function, &op.to_string(), left, right, position)
}

/// The operator that `OPERATOR(pg_catalog.name)` means.
fn qualified(name: &str) -> Option<BinaryOperator> {
    use BinaryOperator as B;
    Some(match name {
        "=" => B::Eq,
        "<>" | "!=" => B::NotEq,
        "<" => B::Lt,
        "<=" => B::LtEq,
        ">" => B::Gt,
        ">=" => B::GtEq,
        "+" => B::Plus,
        "-" => B::Minus,
        "*" => B::Multiply,
        "/" => B::Divide,
        "%" => B::Modulo,
        "||" => B::StringConcat,
        "~" => B::PGRegexMatch,
        "~*" => B::PGRegexIMatch,
        "!~" => B::PGRegexNotMatch,
        "!~*" => B::PGRegexNotIMatch,
        "~~" => B::PGLikeMatch,
        "!~~" => B::PGNotLikeMatch,
        _ => return None,
    })
}

/// `+`, `-`, `*`, `/`, `%`.
/// Whether an expression is a field of a date or a time, or calculated with one.
fn is_of_field(expr: &Expr) -> bool {
    use ScalarFunction as F;
    match &expr.kind {
        ExprKind::Call(F::EXTRACT, _) => true,
        ExprKind::Call(F::ADD | F::SUBTRACT | F::MULTIPLY | F::MODULO, operands) => operands.iter().any(is_of_field),
        _ => false,
    }
}

pub(in crate::bind) fn arithmetic(
    function: ScalarFunction,
    text: &str,
    left: Expr,
    right: Expr,
    position: Option<u32>,
) -> Result<Expr> {
    let (left, right) = match (left.sql_type, right.sql_type) {
        (SqlType::Null, SqlType::Decimal { .. }) if is_untyped(&left) => (exact_decimal(&left)?, right),
        (SqlType::Decimal { .. }, SqlType::Null) if is_untyped(&right) => {
            let right = exact_decimal(&right)?;
            (left, right)
        }
        // An interval is multiplied with a number, and divided by one.
        (SqlType::Interval, SqlType::Null) if matches!(function, ScalarFunction::MULTIPLY | ScalarFunction::DIVIDE) => {
            (left, cast_to(right, SqlType::Double)?)
        }
        (SqlType::Null, SqlType::Interval) if function == ScalarFunction::MULTIPLY => {
            (cast_to(left, SqlType::Double)?, right)
        }
        _ => (left, right),
    };
    let decimals = left.sql_type.is_decimal() || right.sql_type.is_decimal();
    let type_of = |e: &Expr| if decimals { tight(e) } else { e.sql_type };
    // 'date - literal' is a date or an interval as the literal says; an interval is the more useful of the two.
    let Some(types) = functions::arithmetic(function, type_of(&left), type_of(&right)) else {
        return Err(no_operator(left.sql_type, text, right.sql_type).at(position));
    };
    let (left, right) = (cast_to(left, types.left)?, cast_to(right, types.right)?);
    if types.result == SqlType::Timestamptz
        && let Some(moved) = move_moment(function, &left, &right)
    {
        return Ok(moved.at(position));
    }
    if let Some(folded) = fold_dates(function, &left, &right) {
        return Ok(folded.map_err(|e| e.at(position))?.at(position));
    }
    Ok(Expr::new(ExprKind::Call(function, vec![left, right]), types.result).at(position))
}

fn bitwise(function: ScalarFunction, text: &str, left: Expr, right: Expr, position: Option<u32>) -> Result<Expr> {
    let error = no_operator(left.sql_type, text, right.sql_type).at(position);
    let integer = |t: SqlType| t.is_integer() || t == SqlType::Null;
    if !integer(left.sql_type) || !integer(right.sql_type) {
        return Err(error);
    }
    let shift = matches!(function, ScalarFunction::SHIFT_LEFT | ScalarFunction::SHIFT_RIGHT);
    let (left, right, result) = if shift {
        let result = if left.sql_type == SqlType::Null { SqlType::Integer } else { left.sql_type };
        // A shift count beyond an integer's range makes no sense.
        (cast_to(left, result)?, cast_to(right, SqlType::Integer)?, result)
    } else {
        let ([left, right], common) = unify_pair(left, right, text)?;
        (left, right, common)
    };
    Ok(Expr::new(ExprKind::Call(function, vec![left, right]), result).at(position))
}

fn unify_pair(left: Expr, right: Expr, what: &str) -> Result<([Expr; 2], SqlType)> {
    if left.sql_type == SqlType::Null && right.sql_type == SqlType::Null {
        let t = SqlType::Integer;
        return Ok(([cast_to(left, t)?, cast_to(right, t)?], t));
    }
    let (both, common) = unify(vec![left, right], what)?;
    let both: [Expr; 2] = both.try_into().map_err(|_| Error::internal("two expressions became another number"))?;
    Ok((both, common))
}

fn number(expr: Expr, text: &str, position: Option<u32>) -> Result<Expr> {
    match expr.sql_type {
        t if t.is_numeric() || t == SqlType::Null => cast_to(expr, SqlType::Double),
        t => Err(no_operator(t, text, SqlType::Double).at(position)),
    }
}

fn concat(left: Expr, right: Expr, position: Option<u32>) -> Result<Expr> {
    if let Some(name) = concat_name(&left, &right) {
        return call(name, vec![left, right], position);
    }
    let is_bytes = |e: &Expr| e.sql_type == SqlType::Bytea;
    if (is_bytes(&left) || is_bytes(&right)) && [&left, &right].iter().all(|e| is_bytes(e) || is_untyped(e)) {
        let both = vec![cast_to(left, SqlType::Bytea)?, cast_to(right, SqlType::Bytea)?];
        return Ok(Expr::new(ExprKind::Call(ScalarFunction::CONCAT, both), SqlType::Bytea).at(position));
    }
    let text = |e: &Expr| e.sql_type.is_string() || e.sql_type == SqlType::Null;
    if !text(&left) && !text(&right) {
        return Err(no_operator(left.sql_type, "||", right.sql_type).at(position));
    }
    let (left, right) = (convert(left, SqlType::Text)?, convert(right, SqlType::Text)?);
    Ok(Expr::new(ExprKind::Call(ScalarFunction::CONCAT, vec![left, right]), SqlType::Text).at(position))
}

/// A moment moved by an interval with days or months, which are those of the session's zone; none where UTC's do.
fn move_moment(function: ScalarFunction, left: &Expr, right: &Expr) -> Option<Expr> {
    let is_added = function == ScalarFunction::ADD;
    let (moment, interval) = if left.sql_type == SqlType::Interval { (right, left) } else { (left, right) };
    let is_of_hours = matches!(interval.kind, ExprKind::Const(Value::Interval(i)) if i.months == 0 && i.days == 0);
    if is_of_hours || zone::session().is_utc() {
        return None;
    }
    let function = if is_added { ScalarFunction::DATE_ADD } else { ScalarFunction::DATE_SUBTRACT };
    let arguments = vec![moment.clone(), interval.clone(), zone::name()];
    Some(Expr::new(ExprKind::Call(function, arguments), SqlType::Timestamptz))
}

/// A date or timestamp moved by an interval, both constants: computed now, so that `date '1994-01-01' + interval '1' year`
/// is a constant that scans can test.
fn fold_dates(function: ScalarFunction, left: &Expr, right: &Expr) -> Option<Result<Expr>> {
    let (base, interval) = match (&left.kind, &right.kind) {
        (ExprKind::Const(a), ExprKind::Const(Value::Interval(i))) => (a, *i),
        (ExprKind::Const(Value::Interval(i)), ExprKind::Const(b)) if function == ScalarFunction::ADD => (b, *i),
        _ => return None,
    };
    let timestamp = match base {
        Value::Date(days) => date::date_to_timestamp(*days),
        Value::Timestamp(t) => Ok(*t),
        _ => return None,
    };
    let moved = timestamp.and_then(|t| match function {
        ScalarFunction::SUBTRACT => date::sub_interval(t, interval),
        _ => date::add_interval(t, interval),
    });
    let moments = [left, right].iter().any(|e| e.sql_type == SqlType::Timestamptz);
    let sql_type = if moments { SqlType::Timestamptz } else { SqlType::Timestamp };
    Some(moved.map(|t| Expr::constant(Value::Timestamp(t), sql_type)))
}

/// The comparison that an operator is.
pub(super) fn compare_op(op: &BinaryOperator) -> Option<Compare> {
    Some(match op {
        BinaryOperator::Eq => Compare::Eq,
        BinaryOperator::NotEq => Compare::Ne,
        BinaryOperator::Lt => Compare::Lt,
        BinaryOperator::LtEq => Compare::Le,
        BinaryOperator::Gt => Compare::Gt,
        BinaryOperator::GtEq => Compare::Ge,
        _ => return None,
    })
}

fn no_prefix(op: &str, operand: SqlType) -> Error {
    let message = format!("operator does not exist: {op} {operand}");
    Error::new(SqlState::UNDEFINED_FUNCTION, message)
        .hint("no operator takes this type; you might need an explicit cast")
}
