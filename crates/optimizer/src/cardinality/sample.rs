//! Predicates tried on a table's sample (thesis chapter 6).
//!
//! The common forms (comparisons with constants and between columns, IN, LIKE, IS NULL, AND, OR, NOT) run column-wise,
//! about a nanosecond a row; anything else is evaluated row by row on what the others leave, on at most
//! [`SLOW_ROWS`] rows. Planning has well under a millisecond for all scans of a query.

use std::cmp::Ordering;
use std::collections::HashSet;

use plan::{ColumnId, Compare, Expr, ExprKind};
use types::ops::like::LikePattern;
use types::value::compare_floats;
use types::{Chunk, Column, Physical, SqlType, Value};

/// Rows on which a predicate without a column-wise form is tried.
const SLOW_ROWS: usize = 128;
/// Lists of more values than this are hashed.
const LONG_LIST: usize = 8;

/// What trying the predicates came to.
pub(super) struct Tried {
    /// Estimated fraction of rows for which all predicates are true.
    pub fraction: f64,
    /// The fraction of each predicate (of the rows that it was tried on).
    pub each: Vec<f64>,
    /// The rows that were found to satisfy all.
    pub survivors: Vec<usize>,
}

/// Tries the conjuncts together. `exact` (the sample is the table) makes slow predicates see every row.
pub(super) fn try_predicates(predicates: &[Expr], columns: &[(usize, ColumnId)], sample: &Chunk, exact: bool) -> Tried {
    let trial = Trial { columns, sample };
    let rows = sample.rows();
    let mut alive = vec![true; rows];
    let mut each = vec![1.0; predicates.len()];
    let mut slow = Vec::new();
    for (i, predicate) in predicates.iter().enumerate() {
        match trial.truth(predicate) {
            Some(truth) => {
                let mut count = 0usize;
                for (a, t) in alive.iter_mut().zip(&truth) {
                    count += usize::from(*t == TRUE);
                    *a &= *t == TRUE;
                }
                each[i] = count as f64 / rows as f64;
            }
            None => slow.push(i),
        }
    }
    let mut survivors: Vec<usize> = (0..rows).filter(|&r| alive[r]).collect();
    let mut scale = 1.0;
    for i in slow {
        if survivors.len() > SLOW_ROWS && !exact {
            // Evenly spread, so that an order in the sample does no harm.
            let step = survivors.len() as f64 / SLOW_ROWS as f64;
            scale *= step;
            survivors = (0..SLOW_ROWS).map(|k| survivors[(k as f64 * step) as usize]).collect();
        }
        let before = survivors.len();
        survivors.retain(|&row| trial.slow(&predicates[i], row));
        each[i] = if before == 0 { 0.0 } else { survivors.len() as f64 / before as f64 };
    }
    Tried { fraction: survivors.len() as f64 * scale / rows as f64, each, survivors }
}

const FALSE: u8 = 0;
const TRUE: u8 = 1;
const UNKNOWN: u8 = 2;

struct Trial<'a> {
    columns: &'a [(usize, ColumnId)],
    sample: &'a Chunk,
}

impl Trial<'_> {
    fn find(&self, column: ColumnId) -> Option<&Column> {
        let attribute = self.columns.iter().find(|(_, c)| *c == column)?.0;
        self.sample.columns().get(attribute)
    }

    /// Row by row; an error counts as not true.
    fn slow(&self, predicate: &Expr, row: usize) -> bool {
        let value = |c| self.find(c).map_or(Value::Null, |column| column.value(row));
        plan::eval::is_true(predicate, &value).unwrap_or(false)
    }

    /// The truth of every row, or none if the expression has no column-wise form.
    fn truth(&self, expr: &Expr) -> Option<Vec<u8>> {
        match &expr.kind {
            ExprKind::Const(Value::Bool(b)) => Some(vec![u8::from(*b); self.sample.rows()]),
            ExprKind::Const(Value::Null) => Some(vec![UNKNOWN; self.sample.rows()]),
            ExprKind::Column(c) => {
                let column = self.find(*c).filter(|c| c.physical() == Physical::Bool)?;
                Some(with_nulls(column, column.values::<u8>().iter().map(|&b| u8::from(b != 0)).collect()))
            }
            ExprKind::Compare(op, a, b) => self.compare(*op, a, b),
            ExprKind::And(parts) => self.fold(parts, TRUE, |a, b| match (a, b) {
                (FALSE, _) | (_, FALSE) => FALSE,
                (UNKNOWN, _) | (_, UNKNOWN) => UNKNOWN,
                _ => TRUE,
            }),
            ExprKind::Or(parts) => self.fold(parts, FALSE, |a, b| match (a, b) {
                (TRUE, _) | (_, TRUE) => TRUE,
                (UNKNOWN, _) | (_, UNKNOWN) => UNKNOWN,
                _ => FALSE,
            }),
            ExprKind::Not(a) => {
                let mut truth = self.truth(a)?;
                truth.iter_mut().for_each(|t| *t = if *t == UNKNOWN { UNKNOWN } else { 1 - *t });
                Some(truth)
            }
            ExprKind::IsNull(a) => {
                let column = self.operand(a)?;
                Some(match column.nulls() {
                    None => vec![FALSE; column.rows()],
                    Some(nulls) => nulls.iter().map(|&n| u8::from(n != 0)).collect(),
                })
            }
            ExprKind::InList(a, values) => {
                let column = self.operand(a)?;
                let truth = in_list(column, values)?;
                Some(with_nulls(column, truth))
            }
            ExprKind::Like { input, pattern, syntax } => {
                let column = self.operand(input).filter(|c| c.physical() == Physical::Str)?;
                let ExprKind::Const(Value::Str(pattern)) = &pattern.kind else { return None };
                let pattern = LikePattern::of(pattern, *syntax).ok()?;
                let truth = (0..column.rows()).map(|r| pattern.matches(column.str(r)).map(u8::from));
                Some(with_nulls(column, truth.collect::<Result<_, _>>().ok()?))
            }
            _ => None,
        }
    }

    fn fold(&self, parts: &[Expr], start: u8, combine: impl Fn(u8, u8) -> u8) -> Option<Vec<u8>> {
        let mut truth = vec![start; self.sample.rows()];
        for part in parts {
            let next = self.truth(part)?;
            truth.iter_mut().zip(next).for_each(|(t, n)| *t = combine(*t, n));
        }
        Some(truth)
    }

    /// A column, seen through casts that keep its values.
    fn operand(&self, expr: &Expr) -> Option<&Column> {
        match &expr.kind {
            ExprKind::Column(c) => self.find(*c),
            ExprKind::Cast(inner) if keeps_value(inner.sql_type, expr.sql_type) => self.operand(inner),
            _ => None,
        }
    }

    fn compare(&self, op: Compare, a: &Expr, b: &Expr) -> Option<Vec<u8>> {
        if matches!(op, Compare::Distinct | Compare::NotDistinct) {
            return None;
        }
        let test = move |order: Ordering| match op {
            Compare::Eq => order.is_eq(),
            Compare::Ne => order.is_ne(),
            Compare::Lt => order.is_lt(),
            Compare::Le => order.is_le(),
            Compare::Gt => order.is_gt(),
            _ => order.is_ge(),
        };
        if let Some(constant) = constant(b) {
            let column = self.operand(a)?;
            return compare_constant(column, &constant, test).map(|t| with_nulls(column, t));
        }
        if let Some(constant) = constant(a) {
            let column = self.operand(b)?;
            return compare_constant(column, &constant, move |o| test(o.reverse())).map(|t| with_nulls(column, t));
        }
        let (left, right) = (self.operand(a)?, self.operand(b)?);
        let (x, y) = (integers(left)?, integers(right)?);
        let truth = x.into_iter().zip(y).map(|(x, y)| u8::from(test(x.cmp(&y)))).collect();
        Some(with_nulls(right, with_nulls(left, truth)))
    }
}

/// The value of an expression without columns.
fn constant(expr: &Expr) -> Option<Value> {
    match &expr.kind {
        ExprKind::Const(value) => Some(value.clone()),
        ExprKind::Column(_) => None,
        _ if expr.uses(|_| true) || expr.is_volatile() || expr.has_subquery() => None,
        _ => plan::eval::constant(expr).ok(),
    }
}

/// Whether a cast leaves the value as it is in memory or only widens an integer.
fn keeps_value(from: SqlType, to: SqlType) -> bool {
    use SqlType::{BigInt, Char, Integer, SmallInt, Text, Varchar};
    match (from, to) {
        (SmallInt | Integer, BigInt) | (SmallInt, Integer) => true,
        (Text | Varchar(_) | Char(_), Text) => true,
        _ => from == to,
    }
}

fn with_nulls(column: &Column, mut truth: Vec<u8>) -> Vec<u8> {
    if let Some(nulls) = column.nulls() {
        truth.iter_mut().zip(nulls).filter(|(_, n)| **n != 0).for_each(|(t, _)| *t = UNKNOWN);
    }
    truth
}

/// Which rows are among the values, none of which is NULL.
fn in_list(column: &Column, values: &[Value]) -> Option<Vec<u8>> {
    if values.len() > LONG_LIST && column.physical() == Physical::Str {
        let text = values.iter().filter_map(|v| if let Value::Str(s) = v { Some(&**s) } else { None });
        let listed: HashSet<&str> = text.collect();
        return Some((0..column.rows()).map(|r| u8::from(listed.contains(column.str(r)))).collect());
    }
    if let (true, Some(rows)) = (values.len() > LONG_LIST, integers(column)) {
        let listed: HashSet<i64> = values.iter().filter_map(integer).filter_map(|v| v.try_into().ok()).collect();
        return Some(rows.iter().map(|r| u8::from(listed.contains(r))).collect());
    }
    let mut truth = vec![FALSE; column.rows()];
    for value in values {
        let one = compare_constant(column, value, Ordering::is_eq)?;
        truth.iter_mut().zip(one).for_each(|(t, o)| *t |= o);
    }
    Some(truth)
}

/// The value as a column of integers would hold it.
fn integer(value: &Value) -> Option<i128> {
    Some(match value {
        Value::Bool(b) => i128::from(*b),
        Value::Int(v) | Value::Time(v) | Value::Timestamp(v) => i128::from(*v),
        Value::Date(v) | Value::Enum(v) => i128::from(*v),
        Value::Decimal(v) => *v,
        _ => return None,
    })
}

/// The values of a column of 16 to 64 bit integers, dates, timestamps or short decimals.
pub(super) fn integers(column: &Column) -> Option<Vec<i64>> {
    Some(match column.physical() {
        Physical::I16 => column.values::<i16>().iter().map(|&v| v.into()).collect(),
        Physical::I32 => column.values::<i32>().iter().map(|&v| v.into()).collect(),
        Physical::I64 => column.values::<i64>().to_vec(),
        _ => return None,
    })
}

fn compare_constant(column: &Column, constant: &Value, test: impl Fn(Ordering) -> bool) -> Option<Vec<u8>> {
    fn run<T: Copy>(values: &[T], order: impl Fn(T) -> Ordering, test: impl Fn(Ordering) -> bool) -> Vec<u8> {
        values.iter().map(|&v| u8::from(test(order(v)))).collect()
    }
    match constant {
        Value::Null => return Some(vec![UNKNOWN; column.rows()]),
        Value::Float(f) => {
            return match column.physical() {
                Physical::F32 => Some(run(column.values::<f32>(), |v| compare_floats(v.into(), *f), test)),
                Physical::F64 => Some(run(column.values::<f64>(), |v| compare_floats(v, *f), test)),
                _ => None,
            };
        }
        Value::Str(s) if column.physical() == Physical::Str => {
            let rows = 0..column.rows();
            return Some(rows.map(|r| u8::from(test(column.str(r).as_bytes().cmp(s.as_bytes())))).collect());
        }
        _ => {}
    }
    let wide = integer(constant)?;
    if column.physical() == Physical::I128 {
        return Some(run(column.values::<i128>(), |v| v.cmp(&wide), test));
    }
    let narrow = i64::try_from(wide).ok()?;
    Some(match column.physical() {
        Physical::Bool => run(column.values::<u8>(), |v| i64::from(v).cmp(&narrow), test),
        Physical::I16 => run(column.values::<i16>(), |v| i64::from(v).cmp(&narrow), test),
        Physical::I32 => run(column.values::<i32>(), |v| i64::from(v).cmp(&narrow), test),
        Physical::I64 => run(column.values::<i64>(), |v| v.cmp(&narrow), test),
        _ => return None,
    })
}
