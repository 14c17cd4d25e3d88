//! Arguments: literals and parameters whose value the plan does not depend on.
//!
//! A plan is kept and run again with other values only if nothing in it was concluded from these. So the binder *opens* a
//! literal only where it is sure of that: where it stands by itself beside a column that it is compared with, and is an
//! exact value of the column's type. All others stay constants of the plan, and a statement that differs in one of them is
//! another statement.
//!
//! Of a statement that changes rows, values are open, too, that a column is given as they are, or with which one is
//! calculated in SET: the plans of such statements are kept only where none of it is compiled. For plans that are not compiled,
//! every parameter whose type is told may be open, wherever it stands ([`Open::All`]): code rests on where constants are, and
//! on their digits, expressions that are evaluated as they stand on types alone. If an argument is missing from the plan, its
//! value has become something else, and the plan is of no use.

use std::collections::HashSet;

use base::ids::Id;
use plan::{ArgumentId, ColumnId, Expr, ExprKind};
use sqlparser::ast;
use types::{Physical, SqlType, Value};

use super::coerce::{assign, comparable};
use super::expr::number;
use crate::bind::parts::Text;

/// What is left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// What nothing can have been concluded from.
    Safe,
    /// And all parameters but texts, which adapt to their places.
    All,
}

/// Where an argument's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentSource {
    /// The literal at this byte offset of the text.
    Literal(u32),
    /// The parameter with this index: 0 is `$1`.
    Parameter(usize),
}

/// A use of an argument, by [`ArgumentId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentUse {
    /// Where the value comes from.
    pub source: ArgumentSource,
    /// The type of the column that it is compared with, or given to; of a number of rows, its own.
    pub column: SqlType,
    /// What the value is for.
    pub role: ArgumentRole,
}

/// What an argument's value is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentRole {
    /// It stands in an expression.
    Operand,
    /// A column is given it.
    Given,
    /// The rows that the statement's only LIMIT leaves; so many, for which the plan was made.
    Limit(u64),
    /// The rows that its OFFSET skips.
    Offset(u64),
}

impl ArgumentRole {
    /// Whether it is a number of rows.
    pub fn is_count(self) -> bool {
        matches!(self, Self::Limit(_) | Self::Offset(_))
    }

    /// Whether nothing follows from the number of rows: one row is the only one, none is nothing, and a plan that skips none is
    /// another. Plans for other numbers hold for these, too.
    fn is_any(self) -> bool {
        match self {
            Self::Limit(rows) => rows >= 2,
            Self::Offset(rows) => rows >= 1,
            Self::Operand | Self::Given => false,
        }
    }
}

/// A literal as it stands in the text, or a parameter's value.
#[derive(Clone, Copy, Debug)]
pub enum ArgumentValue<'a> {
    /// Digits, perhaps with a point among them.
    Number(&'a str),
    /// What stands between quotes, with those inside single.
    Text(&'a str),
    /// A parameter.
    Parameter(&'a Value, SqlType),
}

impl ArgumentUse {
    /// The value as the plan wants it; none if a statement with this value is bound in another way, so that the plan
    /// does not hold for it.
    pub fn value(&self, value: ArgumentValue<'_>) -> Option<Value> {
        if self.role.is_count() {
            let ArgumentValue::Parameter(Value::Int(count), sql_type) = value else { return None };
            return (sql_type == self.column && *count >= 0).then_some(Value::Int(*count));
        }
        match value {
            ArgumentValue::Parameter(value, sql_type) if sql_type == self.column && !value.is_null() => {
                return Some(value.clone());
            }
            // What a comparison does not shorten.
            ArgumentValue::Parameter(Value::Str(text), SqlType::Text)
                if self.role == ArgumentRole::Operand && matches!(self.column, SqlType::Varchar(_)) =>
            {
                return Some(Value::Str(text.clone()));
            }
            _ => {}
        }
        let untyped = |text: &str| Expr::constant(Value::str(text), SqlType::Null);
        let literal = match value {
            ArgumentValue::Number(text) => number(text).ok()?,
            ArgumentValue::Text(text) => untyped(text),
            ArgumentValue::Parameter(Value::Str(text), SqlType::Text) => untyped(text),
            ArgumentValue::Parameter(value, sql_type) => Expr::constant(value.clone(), sql_type),
        };
        if self.role == ArgumentRole::Given {
            let given = assign(literal, self.column, "").ok()?;
            return given_value(&given);
        }
        // Any column will do: conversions look at its type only.
        let column = Expr::column(plan::ColumnId::from_index(0), self.column);
        let (column, literal) = comparable(column, literal, "=", None).ok()?;
        opened(&column, &literal).map(|(value, _)| value)
    }
}

/// The parameters, of so many, that a text names more than once.
pub(super) fn repeated(text: &str, parameters: usize) -> HashSet<usize> {
    let is_named = |at: usize, name: &str| !text[at + name.len()..].starts_with(|c: char| c.is_ascii_digit());
    let often = |number: &usize| {
        let name = format!("${}", number + 1);
        text.match_indices(&name).filter(|(at, _)| is_named(*at, &name)).count() > 1
    };
    (0..parameters).filter(often).collect()
}

/// The value and type of a constant that can stand for any other of its kind beside this column.
fn opened(column: &Expr, constant: &Expr) -> Option<(Value, SqlType)> {
    let (ExprKind::Column(_), ExprKind::Const(value)) = (&column.kind, &constant.kind) else { return None };
    let (a, b) = (column.sql_type, constant.sql_type);
    let sql_type = match value {
        Value::Null => return None,
        _ if a == b => a,
        // A comparison of strings does not look at their lengths, but for those padded with blanks.
        _ if a.is_string() && b == SqlType::Text && !matches!(a, SqlType::Char(_)) => SqlType::Text,
        Value::Decimal(digits) => {
            let (Some((precision, scale)), Some((_, own))) = (a.as_decimal(), b.as_decimal()) else { return None };
            let fits = super::coerce::digits(*digits) <= precision;
            if scale != own || !fits || !a.is_decimal() { return None } else { a }
        }
        _ => return None,
    };
    Some((value.clone(), sql_type))
}

/// The value of a constant that a column is given; none if it does not stand for any other.
fn given_value(constant: &Expr) -> Option<Value> {
    match &constant.kind {
        ExprKind::Const(value) if !value.is_null() => Some(value.clone()),
        _ => None,
    }
}

/// The statement's parameters, and the literals and parameters that its plan leaves open.
pub(super) struct Arguments<'a> {
    pub parameters: &'a [(Value, SqlType)],
    /// The highest number of a parameter in the statement.
    pub placeholders: usize,
    /// What they are called, if they have names.
    pub names: &'a [String],
    /// Uses of arguments, if the plan is to have any.
    pub uses: Option<Vec<ArgumentUse>>,
    /// Whether all parameters are open that can be.
    pub all_parameters: bool,
    /// Parameters that stand in the text more than once: one place may want a constant where another could be open.
    pub repeated: HashSet<usize>,
    /// How many LIMIT and FETCH clauses the statement has.
    pub slices: usize,
    /// Numbers of rows: a limit may be concluded from what they are compared with.
    pub row_numbers: HashSet<ColumnId>,
}

impl Arguments<'_> {
    /// Opens the literal of a comparison that was written as `left op right`.
    pub(super) fn open_comparison(
        &mut self,
        text: &Text<'_>,
        mut comparison: Expr,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Expr {
        if self.uses.is_none() {
            return comparison;
        }
        if let ExprKind::Compare(_, a, b) = &mut comparison.kind {
            self.open(text, left, a, b);
            self.open(text, right, b, a);
        }
        comparison
    }

    /// Opens the constant that was written so, if it is sure to stand for any other beside the column.
    pub(super) fn open(&mut self, text: &Text<'_>, written: &ast::Expr, constant: &mut Expr, column: &Expr) -> bool {
        if column.as_column().is_some_and(|c| self.row_numbers.contains(&c)) {
            return false;
        }
        let (Some(source), Some((value, sql_type)), Some(uses)) =
            (self.source(text, written), opened(column, constant), &mut self.uses)
        else {
            return false;
        };
        uses.push(ArgumentUse { source, column: column.sql_type, role: ArgumentRole::Operand });
        constant.kind = ExprKind::Argument(ArgumentId::from_index(uses.len() - 1), value);
        constant.sql_type = sql_type;
        true
    }

    /// Opens the constant that was written so and is given to a column of that type.
    pub(super) fn open_given(&mut self, text: &Text<'_>, written: &ast::Expr, constant: &mut Expr, column: SqlType) {
        // What moment a text is depends on the session.
        let is_fixed = column != SqlType::Timestamptz;
        if let (true, Some(source), Some(value), Some(uses)) =
            (is_fixed, self.source(text, written), given_value(constant), &mut self.uses)
        {
            uses.push(ArgumentUse { source, column, role: ArgumentRole::Given });
            constant.kind = ExprKind::Argument(ArgumentId::from_index(uses.len() - 1), value);
        }
    }

    /// Opens the constants with which a column is calculated, as it was written: `column + 1`.
    pub(super) fn open_calculation(&mut self, text: &Text<'_>, expr: &mut Expr, written: &ast::Expr) {
        let (ExprKind::Call(_, operands), ast::Expr::BinaryOp { left, right, .. }) = (&mut expr.kind, written) else {
            return;
        };
        let [a, b] = operands.as_mut_slice() else { return };
        // Types of decimals depend on their digits.
        if a.sql_type == b.sql_type && (a.sql_type.is_integer() || a.sql_type == SqlType::Double) {
            self.open(text, right, b, a);
            self.open(text, left, a, b);
        }
    }

    /// A parameter by itself, as an argument, if all are open that can be.
    pub(super) fn open_parameter(&mut self, number: usize, value: &Value, sql_type: SqlType) -> Option<Expr> {
        if !self.all_parameters || value.is_null() || sql_type.is_string() || sql_type.physical() == Physical::Str {
            return None;
        }
        let uses = self.uses.as_mut()?;
        let source = ArgumentSource::Parameter(number);
        uses.push(ArgumentUse { source, column: sql_type, role: ArgumentRole::Operand });
        let id = ArgumentId::from_index(uses.len() - 1);
        Some(Expr::new(ExprKind::Argument(id, value.clone()), sql_type))
    }

    /// Says of an argument that it is the number of rows of the statement's LIMIT or OFFSET; false: it has to be known.
    pub(super) fn is_count(&mut self, id: ArgumentId, role: ArgumentRole) -> bool {
        let usage = self.uses.as_mut().and_then(|uses| uses.get_mut(id.index()));
        match usage.filter(|_| role.is_any()) {
            Some(usage) => usage.role = role,
            None => return false,
        }
        true
    }

    /// Whether numbers of rows are open that have to be known: beside another limit, which is which the plan does not say.
    pub(super) fn has_open_slices(&self) -> bool {
        self.slices > 1 && self.uses.iter().flatten().any(|usage| usage.role.is_count())
    }

    fn source(&self, text: &Text<'_>, written: &ast::Expr) -> Option<ArgumentSource> {
        let ast::Expr::Value(literal) = written else { return None };
        match &literal.value {
            ast::Value::Number(..) | ast::Value::SingleQuotedString(_) => {
                text.span(literal.span).map(ArgumentSource::Literal)
            }
            ast::Value::Placeholder(name) => {
                let number = name.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)?;
                (!self.repeated.contains(&number)).then_some(ArgumentSource::Parameter(number))
            }
            _ => None,
        }
    }
}
