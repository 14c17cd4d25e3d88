//! Window functions as their definition says: for each row, the rows of its frame are looked for among all.

use std::cmp::Ordering;

use base::{Error, Result};
use functions::{AggregateFunction, WindowFunction};
use plan::{AggregateCall, ColumnId, Expr, FrameBound, FrameExclusion, FrameUnit, SortKey, WindowCall};
use types::Value;

use super::{Oracle, Row};

/// A row with the values of the operator's keys.
type Keyed = (Vec<Value>, Row);

impl Oracle<'_> {
    pub(super) fn windows(
        &self,
        rows: Vec<Row>,
        keys: &[SortKey],
        functions: &[(ColumnId, WindowCall)],
    ) -> Result<Vec<Row>> {
        let mut keyed: Vec<Keyed> = Vec::new();
        for row in rows {
            keyed.push((keys.iter().map(|k| self.value(&k.expr, &row)).collect::<Result<_>>()?, row));
        }
        keyed.sort_by(|(a, _), (b, _)| order(a, b, keys, keys.len()));
        let mut out: Vec<Row> = keyed.iter().map(|(_, row)| row.clone()).collect();
        for (column, call) in functions {
            for (at, row) in out.iter_mut().enumerate() {
                row.insert(*column, self.window(call, keys, &keyed, at)?);
            }
        }
        Ok(out)
    }

    fn window(&self, call: &WindowCall, keys: &[SortKey], rows: &[Keyed], at: usize) -> Result<Value> {
        let partition: Vec<usize> = (0..rows.len())
            .filter(|&i| order(&rows[i].0, &rows[at].0, keys, call.partition) == Ordering::Equal)
            .collect();
        let peer = |i: usize| order(&rows[i].0, &rows[at].0, keys, call.peers);
        let before = |ordering| partition.iter().filter(|&&i| peer(i) == ordering).count() as i64;
        let (place, size) = (partition.iter().filter(|&&i| i < at).count(), partition.len() as i64);
        let mut frame = Vec::new();
        for (there, &i) in partition.iter().enumerate() {
            let inside = self.is_in_frame(call, keys, rows, (at, place), (i, there))?;
            let excluded = match call.frame.exclude {
                FrameExclusion::NoOthers => false,
                FrameExclusion::CurrentRow => i == at,
                FrameExclusion::Group => peer(i) == Ordering::Equal,
                FrameExclusion::Ties => peer(i) == Ordering::Equal && i != at,
            };
            if inside && !excluded {
                frame.push(i);
            }
        }
        let value = |i: usize| self.value(&call.arguments[0], &rows[i].1);
        let number = |n: usize| match self.value(&call.arguments[n], &rows[at].1)? {
            Value::Int(n) => Ok(n),
            _ => Err(Error::internal("no number")),
        };
        Ok(match call.function {
            WindowFunction::RowNumber => Value::Int(place as i64 + 1),
            WindowFunction::Rank => Value::Int(before(Ordering::Less) + 1),
            WindowFunction::DenseRank => {
                let mut groups: Vec<usize> = Vec::new();
                for &i in partition.iter().filter(|&&i| peer(i) == Ordering::Less) {
                    let known = |&g: &usize| order(&rows[g].0, &rows[i].0, keys, call.peers) == Ordering::Equal;
                    if !groups.iter().any(known) {
                        groups.push(i);
                    }
                }
                Value::Int(groups.len() as i64 + 1)
            }
            WindowFunction::PercentRank if size == 1 => Value::Float(0.0),
            WindowFunction::PercentRank => Value::Float(before(Ordering::Less) as f64 / (size - 1) as f64),
            WindowFunction::CumeDist => {
                Value::Float((before(Ordering::Less) + before(Ordering::Equal)) as f64 / size as f64)
            }
            WindowFunction::Lead | WindowFunction::Lag => {
                let sign = if call.function == WindowFunction::Lead { 1 } else { -1 };
                let target = place as i64 + sign * number(1)?;
                match usize::try_from(target).ok().and_then(|t| partition.get(t)) {
                    Some(&i) => value(i)?,
                    None => call.arguments.get(2).map_or(Ok(Value::Null), |e| self.value(e, &rows[at].1))?,
                }
            }
            WindowFunction::FirstValue => frame.first().map_or(Ok(Value::Null), |&i| value(i))?,
            WindowFunction::LastValue => frame.last().map_or(Ok(Value::Null), |&i| value(i))?,
            WindowFunction::NthValue => {
                let nth = frame.get(number(1)? as usize - 1);
                nth.map_or(Ok(Value::Null), |&i| value(i))?
            }
            WindowFunction::Aggregate(function) => {
                let rows: Vec<Row> = frame.iter().map(|&i| rows[i].1.clone()).collect();
                self.aggregate(&as_aggregate(function, call), &rows)?
            }
            _ => return Err(Error::internal("no random plan has this window function")),
        })
    }

    /// Whether row `i`, the partition's row number `there`, is between the bounds of the row `at`, number `place`.
    fn is_in_frame(
        &self,
        call: &WindowCall,
        keys: &[SortKey],
        rows: &[Keyed],
        (at, place): (usize, usize),
        (i, there): (usize, usize),
    ) -> Result<bool> {
        let group = |i: usize| {
            let mut groups = 0;
            for j in 1..rows.len() {
                groups += usize::from(j <= i && order(&rows[j - 1].0, &rows[j].0, keys, call.peers).is_ne());
            }
            groups as i64
        };
        let distance = match call.frame.unit {
            FrameUnit::Rows => there as i64 - place as i64,
            FrameUnit::Groups => group(i) - group(at),
            FrameUnit::Range => order(&rows[i].0, &rows[at].0, keys, call.peers) as i64,
        };
        let offset = |offset: &Expr| match self.value(offset, &rows[at].1)? {
            Value::Int(n) if call.frame.unit != FrameUnit::Range => Ok(n),
            _ => Err(Error::internal("no random plan has this offset")),
        };
        let after_start = match &call.frame.start {
            FrameBound::UnboundedPreceding => true,
            FrameBound::Preceding(n) => distance >= -offset(n)?,
            FrameBound::CurrentRow => distance >= 0,
            FrameBound::Following(n) => distance >= offset(n)?,
            FrameBound::UnboundedFollowing => false,
        };
        let before_end = match &call.frame.end {
            FrameBound::UnboundedPreceding => false,
            FrameBound::Preceding(n) => distance <= -offset(n)?,
            FrameBound::CurrentRow => distance <= 0,
            FrameBound::Following(n) => distance <= offset(n)?,
            FrameBound::UnboundedFollowing => true,
        };
        Ok(after_start && before_end)
    }
}

fn as_aggregate(function: AggregateFunction, call: &WindowCall) -> AggregateCall {
    let (arguments, filter) = (call.arguments.clone(), call.filter.clone());
    AggregateCall { function, arguments, distinct: call.distinct, filter, sql_type: call.sql_type, position: None }
}

/// The order of rows by their first `count` keys.
pub(super) fn order(a: &[Value], b: &[Value], keys: &[SortKey], count: usize) -> Ordering {
    let by = |((x, y), k): ((&Value, &Value), &SortKey)| {
        let order = match (x.is_null(), y.is_null()) {
            (false, false) if k.descending => y.total_cmp(x),
            (false, false) => x.total_cmp(y),
            (a, b) if k.nulls_first => b.cmp(&a),
            (a, b) => a.cmp(&b),
        };
        order.is_ne().then_some(order)
    };
    a.iter().zip(b).zip(keys).take(count).find_map(by).unwrap_or(Ordering::Equal)
}
