//! Expressions whose values are machine words while they are computed: integers, decimals of few digits, truth values, dates and
//! times. Whatever is out of the ordinary (NULL, what does not fit, an error) has no word, and is evaluated as it stands.

use functions::ScalarFunction as F;
use types::ops::array;
use types::{Physical, SqlType, Value};

use super::Row;
use crate::{ColumnId, Compare, Expr, ExprKind};

/// An expression over places of type `P` that has words.
#[derive(Debug)]
pub(super) enum Words<P> {
    At(P),
    Constant(i64),
    /// A sum, a difference or a product of its type.
    Calculated(Sign, Box<[Self; 2]>, Bound),
    /// The quotient of two integers without its fraction, or what is left of the first.
    Divided(Part, Box<[Self; 2]>, Bound),
    /// A number times a power of ten.
    Scaled(Box<Self>, i64, Bound),
    Compare(Compare, Box<[Self; 2]>),
    And(Box<[Self]>),
    Or(Box<[Self]>),
    Not(Box<Self>),
    IsNull(P),
    Case(Box<[(Self, Self)]>, Box<Self>),
    /// The element of a number of a list of such elements.
    Element(P, Physical, Box<Self>),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Sign {
    Plus,
    Minus,
    Times,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Quotient,
    Rest,
}

/// Between what the numbers of a type are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    low: i64,
    high: i64,
}

impl Bound {
    /// Of integers and decimals.
    fn of(sql_type: SqlType) -> Option<Self> {
        Some(match sql_type {
            SqlType::SmallInt => Self { low: i16::MIN.into(), high: i16::MAX.into() },
            SqlType::Integer => Self { low: i32::MIN.into(), high: i32::MAX.into() },
            SqlType::BigInt => Self { low: i64::MIN, high: i64::MAX },
            SqlType::Decimal { precision, .. } => {
                let high = 10i64.checked_pow(precision.into()).map_or(i64::MAX, |beyond| beyond - 1);
                Self { low: -high, high }
            }
            _ => return None,
        })
    }

    #[inline]
    fn within(self, word: i64) -> Option<i64> {
        (self.low <= word && word <= self.high).then_some(word)
    }
}

/// Whether values of the type are words, those in whose order words are.
fn has_words(sql_type: SqlType) -> bool {
    use SqlType::{BigInt, Bool, Date, Decimal, Enum, Integer, SmallInt, Time, Timestamp, Timestamptz};
    matches!(sql_type, Bool | SmallInt | Integer | BigInt | Decimal { .. } | Date | Enum(_))
        || matches!(sql_type, Time | Timestamp | Timestamptz)
}

#[inline]
fn word(value: &Value) -> Option<i64> {
    match value {
        Value::Int(i) | Value::Time(i) | Value::Timestamp(i) => Some(*i),
        Value::Decimal(d) => i64::try_from(*d).ok(),
        Value::Bool(b) => Some((*b).into()),
        Value::Date(d) | Value::Enum(d) => Some((*d).into()),
        _ => None,
    }
}

/// 10 to the power of the difference of two scales.
fn factor(from: u8, to: u8) -> Option<i64> {
    10i64.checked_pow(to.checked_sub(from)?.into())
}

impl<P: Copy> Words<P> {
    /// An expression that is more than a place or a constant, if its value is a word.
    pub fn of(expr: &Expr, place: &dyn Fn(ColumnId) -> Option<P>) -> Option<Self> {
        match expr.kind {
            ExprKind::Column(_) | ExprKind::Const(_) | ExprKind::Argument(..) => None,
            _ => Self::new(expr, place),
        }
    }

    fn new(expr: &Expr, place: &dyn Fn(ColumnId) -> Option<P>) -> Option<Self> {
        let of = |expr: &Expr| Self::new(expr, place);
        let all = |exprs: &[Expr]| exprs.iter().map(of).collect::<Option<Box<[Self]>>>();
        Some(match &expr.kind {
            _ if !has_words(expr.sql_type) => return None,
            ExprKind::Column(column) => Self::At(place(*column)?),
            ExprKind::Const(value) | ExprKind::Argument(_, value) => Self::Constant(word(value)?),
            ExprKind::Call(F::ARRAY_SUBSCRIPT, operands) => {
                let [list, number] = operands.as_slice() else { return None };
                let physical = expr.sql_type.physical();
                let is_read = array::is_read_as_words(physical) && list.sql_type.element() == Some(expr.sql_type);
                match list.kind {
                    ExprKind::Column(column) if is_read && number.sql_type.is_integer() => {
                        Self::Element(place(column)?, physical, Box::new(of(number)?))
                    }
                    _ => return None,
                }
            }
            ExprKind::Call(function, operands) => {
                let [a, b] = operands.as_slice() else { return None };
                let types = [a.sql_type, b.sql_type];
                Self::calculated(*function, [of(a)?, of(b)?], types, expr.sql_type)?
            }
            ExprKind::Cast(operand) => Self::scaled(of(operand)?, operand.sql_type, expr.sql_type)?,
            ExprKind::Compare(op, a, b) => {
                let is_same = a.sql_type == b.sql_type || a.sql_type.is_integer() && b.sql_type.is_integer();
                if !is_same {
                    return None;
                }
                Self::Compare(*op, Box::new([of(a)?, of(b)?]))
            }
            ExprKind::And(parts) => Self::And(all(parts)?),
            ExprKind::Or(parts) => Self::Or(all(parts)?),
            ExprKind::Not(operand) => Self::Not(Box::new(of(operand)?)),
            ExprKind::IsNull(operand) => match operand.kind {
                ExprKind::Column(column) => Self::IsNull(place(column)?),
                _ => return None,
            },
            ExprKind::Case { branches, otherwise } => {
                let branches = branches.iter().map(|(when, then)| Some((of(when)?, of(then)?)));
                Self::Case(branches.collect::<Option<_>>()?, Box::new(of(otherwise)?))
            }
            _ => return None,
        })
    }

    fn calculated(function: F, [a, b]: [Self; 2], types: [SqlType; 2], result: SqlType) -> Option<Self> {
        let integers = result.is_integer() && types.iter().all(|of| of.is_integer());
        let sign = match function {
            F::DIVIDE if integers => return Some(Self::Divided(Part::Quotient, Box::new([a, b]), Bound::of(result)?)),
            F::MODULO if integers => return Some(Self::Divided(Part::Rest, Box::new([a, b]), Bound::of(result)?)),
            F::ADD => Sign::Plus,
            F::SUBTRACT => Sign::Minus,
            F::MULTIPLY => Sign::Times,
            _ => return None,
        };
        let is_exact = |of: &SqlType| of.is_integer() || of.is_decimal() && result.is_decimal();
        if !types.iter().all(is_exact) {
            return None;
        }
        let ([first, second], scale) = (types.map(|of| of.scale()), result.scale());
        let operands = match sign {
            Sign::Times if first + second == scale => [a, b],
            Sign::Times => return None,
            _ => [a.times(factor(first, scale)?), b.times(factor(second, scale)?)],
        };
        Some(Self::Calculated(sign, Box::new(operands), Bound::of(result)?))
    }

    /// The number with more digits behind the point.
    fn times(self, factor: i64) -> Self {
        match factor {
            1 => self,
            _ => Self::Scaled(Box::new(self), factor, Bound { low: i64::MIN, high: i64::MAX }),
        }
    }

    /// A cast between numbers that loses no digit.
    fn scaled(operand: Self, from: SqlType, to: SqlType) -> Option<Self> {
        from.as_decimal()?;
        to.as_decimal()?;
        Some(Self::Scaled(Box::new(operand), factor(from.scale(), to.scale())?, Bound::of(to)?))
    }

    /// The word of a row, if it has one.
    pub fn word(&self, row: &impl Row<Place = P>) -> Option<i64> {
        match self {
            Self::At(place) => word(row.at(*place)),
            Self::Constant(word) => Some(*word),
            Self::Calculated(sign, operands, bound) => {
                let [a, b] = &**operands;
                let (a, b) = (a.word(row)?, b.word(row)?);
                let word = match sign {
                    Sign::Plus => a.checked_add(b),
                    Sign::Minus => a.checked_sub(b),
                    Sign::Times => a.checked_mul(b),
                };
                bound.within(word?)
            }
            Self::Divided(part, operands, bound) => {
                let [a, b] = &**operands;
                let (a, b) = (a.word(row)?, b.word(row)?);
                // None by zero, and of the least number by -1.
                let word = match part {
                    Part::Quotient => a.checked_div(b),
                    Part::Rest => a.checked_rem(b),
                };
                bound.within(word?)
            }
            Self::Scaled(operand, factor, bound) => bound.within(operand.word(row)?.checked_mul(*factor)?),
            Self::Compare(op, operands) => {
                let [a, b] = &**operands;
                let (a, b) = (a.word(row)?, b.word(row)?);
                Some(op.holds(a.cmp(&b)).into())
            }
            Self::And(parts) => {
                for part in parts {
                    if part.word(row)? == 0 {
                        return Some(0);
                    }
                }
                Some(1)
            }
            Self::Or(parts) => {
                for part in parts {
                    if part.word(row)? != 0 {
                        return Some(1);
                    }
                }
                Some(0)
            }
            Self::Not(operand) => Some(1 - operand.word(row)?),
            Self::IsNull(place) => Some(row.at(*place).is_null().into()),
            Self::Case(branches, otherwise) => {
                for (when, then) in branches {
                    if when.word(row)? != 0 {
                        return then.word(row);
                    }
                }
                otherwise.word(row)
            }
            Self::Element(list, physical, number) => match row.at(*list) {
                Value::Str(list) => array::element_word(list.as_bytes(), number.word(row)?, *physical),
                _ => None,
            },
        }
    }
}
