//! Expressions that are evaluated for one row after the other: taken apart once, so that columns are places of a row, operands
//! are borrowed where they lie, and what fits a machine word is calculated in those. What is not taken apart is evaluated as it
//! stands.

use std::borrow::Cow;

use base::Result;
use functions::{Call, ScalarFunction};
use types::ops::cast;
use types::{SqlType, Value};

use super::words::Words;
use super::{Row, as_bool, compare, eval_in};
use crate::{ColumnId, Compare, Expr, ExprKind};

/// An expression over places of type `P`. It has the values and errors that [`eval_in`] says.
#[derive(Debug)]
pub struct RowExpr<P> {
    node: Node<P>,
    sql_type: SqlType,
}

#[derive(Debug)]
enum Node<P> {
    At(P),
    Constant(Value),
    Call(Box<Function<P>>),
    Compare(Compare, Box<[Self; 2]>),
    And(Box<[Self]>),
    Or(Box<[Self]>),
    Not(Box<Self>),
    IsNull(Box<Self>),
    Case(Box<[(Self, Self)]>, Box<Self>),
    Coalesce(Box<[Self]>),
    Cast(Box<Conversion<P>>),
    InList(Box<Self>, Box<[Value]>),
    /// Evaluated as it stands.
    Other(Box<Expr>),
    /// By words of values of the type; otherwise in another way.
    Words(Box<(Words<P>, SqlType, Self)>),
}

/// A call of a function.
#[derive(Debug)]
struct Function<P> {
    function: ScalarFunction,
    operands: Box<[Node<P>]>,
    types: Box<[SqlType]>,
    result: SqlType,
    position: Option<u32>,
}

#[derive(Debug)]
struct Conversion<P> {
    operand: Node<P>,
    from: SqlType,
    to: SqlType,
    position: Option<u32>,
    /// Whether what cannot be converted is NULL.
    is_tried: bool,
}

impl<P: Copy> RowExpr<P> {
    /// An expression, given the places of columns; those without one are asked for by their numbers.
    pub fn new(expr: &Expr, place: &dyn Fn(ColumnId) -> Option<P>) -> Self {
        Self { node: Node::new(expr, place), sql_type: expr.sql_type }
    }

    /// The type of its value.
    pub fn sql_type(&self) -> SqlType {
        self.sql_type
    }

    /// Its value, borrowed if it lies somewhere.
    pub fn get<'v>(&'v self, row: &'v impl Row<Place = P>) -> Result<Cow<'v, Value>> {
        self.node.get(row)
    }

    /// Its value.
    pub fn value(&self, row: &impl Row<Place = P>) -> Result<Value> {
        self.node.get(row).map(Cow::into_owned)
    }

    /// Its value as a truth value; none: unknown.
    pub fn truth(&self, row: &impl Row<Place = P>) -> Result<Option<bool>> {
        self.node.truth(row)
    }

    /// Whether it is a place, a constant, or calculated of words: it means the same whatever tables and functions there are.
    pub fn is_simple(&self) -> bool {
        matches!(self.node, Node::At(_) | Node::Constant(_) | Node::Words(_))
    }

    /// The value of a simple one, unless something is out of the ordinary: NULL, what does not fit, an error.
    #[inline]
    pub fn simple(&self, row: &impl Row<Place = P>) -> Option<Value> {
        match &self.node {
            Node::At(place) => Some(row.at(*place).clone()),
            Node::Constant(value) => Some(value.clone()),
            Node::Words(words) => Value::of_integer(words.1, words.0.word(row)?.into()),
            _ => None,
        }
    }

    /// The place whose value it is, if it is nothing else.
    pub fn place(&self) -> Option<P> {
        if let Node::At(place) = self.node { Some(place) } else { None }
    }
}

impl<P: Copy> Node<P> {
    fn new(expr: &Expr, place: &dyn Fn(ColumnId) -> Option<P>) -> Self {
        let node = Self::of_values(expr, place);
        match Words::of(expr, place) {
            Some(words) => Self::Words(Box::new((words, expr.sql_type, node))),
            None => node,
        }
    }

    /// Whose operands are values.
    fn of_values(expr: &Expr, place: &dyn Fn(ColumnId) -> Option<P>) -> Self {
        let node = |expr: &Expr| Self::new(expr, place);
        let boxed = |expr: &Expr| Box::new(node(expr));
        let all = |exprs: &[Expr]| exprs.iter().map(node).collect();
        let conversion = |operand: &Expr, is_tried| {
            let (from, to, position) = (operand.sql_type, expr.sql_type, expr.position);
            Self::Cast(Box::new(Conversion { operand: node(operand), from, to, position, is_tried }))
        };
        match &expr.kind {
            ExprKind::Column(column) => place(*column).map_or_else(|| Self::Other(Box::new(expr.clone())), Self::At),
            ExprKind::Const(value) | ExprKind::Argument(_, value) => Self::Constant(value.clone()),
            ExprKind::Call(function, operands) if *function != ScalarFunction::ROUTINE => {
                let types: Box<[SqlType]> = operands.iter().map(|operand| operand.sql_type).collect();
                Self::Call(Box::new(Function {
                    function: *function,
                    operands: all(operands),
                    types,
                    result: expr.sql_type,
                    position: expr.position,
                }))
            }
            ExprKind::Compare(op, a, b) => Self::Compare(*op, Box::new([node(a), node(b)])),
            ExprKind::And(parts) => Self::And(all(parts)),
            ExprKind::Or(parts) => Self::Or(all(parts)),
            ExprKind::Not(operand) => Self::Not(boxed(operand)),
            ExprKind::IsNull(operand) => Self::IsNull(boxed(operand)),
            ExprKind::Case { branches, otherwise } => {
                Self::Case(branches.iter().map(|(when, then)| (node(when), node(then))).collect(), boxed(otherwise))
            }
            ExprKind::Coalesce(operands) => Self::Coalesce(all(operands)),
            ExprKind::Cast(operand) => conversion(operand, false),
            ExprKind::TryCast(operand) => conversion(operand, true),
            ExprKind::InList(operand, values) => Self::InList(boxed(operand), values.clone().into()),
            ExprKind::Call(..)
            | ExprKind::Like { .. }
            | ExprKind::Let { .. }
            | ExprKind::Each(_)
            | ExprKind::Subquery(_) => Self::Other(Box::new(expr.clone())),
        }
    }

    fn get<'v>(&'v self, row: &'v impl Row<Place = P>) -> Result<Cow<'v, Value>> {
        let truth = |truth: Option<bool>| Cow::Owned(truth.map_or(Value::Null, Value::Bool));
        Ok(match self {
            Self::At(place) => Cow::Borrowed(row.at(*place)),
            Self::Constant(value) => Cow::Borrowed(value),
            Self::Call(function) => Cow::Owned(function.value(row)?),
            Self::Case(branches, otherwise) => {
                for (when, then) in branches {
                    if when.truth(row)? == Some(true) {
                        return then.get(row);
                    }
                }
                return otherwise.get(row);
            }
            Self::Coalesce(operands) => {
                for operand in operands {
                    let value = operand.get(row)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Cow::Owned(Value::Null)
            }
            Self::Cast(cast) => Cow::Owned(cast.value(row)?),
            Self::Other(expr) => Cow::Owned(eval_in(expr, row)?),
            Self::Words(words) => {
                let (words, sql_type, otherwise) = &**words;
                match words.word(row).and_then(|word| Value::of_integer(*sql_type, word.into())) {
                    Some(value) => Cow::Owned(value),
                    None => return otherwise.get(row),
                }
            }
            Self::Compare(..) | Self::And(_) | Self::Or(_) | Self::Not(_) | Self::IsNull(_) | Self::InList(..) => {
                truth(self.truth(row)?)
            }
        })
    }

    fn truth(&self, row: &impl Row<Place = P>) -> Result<Option<bool>> {
        Ok(match self {
            Self::Words(words) => match words.0.word(row) {
                Some(word) => Some(word != 0),
                None => words.2.truth(row)?,
            },
            Self::Compare(op, operands) => {
                let [a, b] = &**operands;
                as_bool(&compare(*op, &*a.get(row)?, &*b.get(row)?))
            }
            Self::And(parts) => Self::first(parts, false, row)?,
            Self::Or(parts) => Self::first(parts, true, row)?,
            Self::Not(operand) => operand.truth(row)?.map(|truth| !truth),
            Self::IsNull(operand) => Some(operand.get(row)?.is_null()),
            Self::InList(operand, values) => {
                let value = operand.get(row)?;
                (!value.is_null()).then(|| values.contains(&value))
            }
            other => as_bool(&*other.get(row)?),
        })
    }

    /// What AND and OR are: `decides` if some part is that; otherwise its contrary, or unknown if some part is.
    fn first(parts: &[Self], decides: bool, row: &impl Row<Place = P>) -> Result<Option<bool>> {
        let mut truth = Some(!decides);
        for part in parts {
            match part.truth(row)? {
                Some(is) if is == decides => return Ok(Some(decides)),
                Some(_) => {}
                None => truth = None,
            }
        }
        Ok(truth)
    }
}

impl<P: Copy> Function<P> {
    fn value(&self, row: &impl Row<Place = P>) -> Result<Value> {
        let call = |values: &[Value]| {
            let call = Call { values, types: &self.types, result: self.result };
            self.function.evaluate(&call).map_err(|e| e.at(self.position))
        };
        match &*self.operands {
            [a] => call(&[a.get(row)?.into_owned()]),
            [a, b] => {
                let (a, b) = (a.get(row)?, b.get(row)?);
                call(&[a.into_owned(), b.into_owned()])
            }
            all => {
                let value = |operand: &Node<P>| operand.get(row).map(Cow::into_owned);
                call(&all.iter().map(value).collect::<Result<Vec<_>>>()?)
            }
        }
    }
}

impl<P: Copy> Conversion<P> {
    fn value(&self, row: &impl Row<Place = P>) -> Result<Value> {
        let value = self.operand.get(row)?;
        match self.is_tried {
            true => Ok(cast::try_cast_value(&value, self.from, self.to)),
            false => cast::cast_value(&value, self.from, self.to).map_err(|e| e.at(self.position)),
        }
    }
}
