//! Bounds that lie a distance of the key away: PostgreSQL's `in_range`. A row whose key is NULL sees its peers; others see
//! only rows whose keys are not NULL. Sums beyond the key's range are beyond all keys; those of timestamps are errors.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ops::Range;

use base::{Error, Result, SqlState};
use types::ops::date;
use types::value::compare_floats;
use types::{Interval, SqlType};

use super::{End, Frames, null_offset, partition_point};
use crate::window::column::{Cells, Element, Form};
use crate::window::{Key, Operand};

/// How distances are added to keys of a type.
trait Rule {
    type Key: Element;
    type Offset: Element;
    /// A sum, in whatever is wide enough for it.
    type Sum: Copy;

    /// Whether the distance is none: negative or NaN.
    fn is_invalid(offset: Self::Offset) -> bool;
    /// Key plus or minus distance; `last`: to be compared with keys that may not be above it.
    fn add(key: Self::Key, offset: Self::Offset, subtract: bool, last: bool) -> Result<Self::Sum>;
    fn compare(key: Self::Key, sum: Self::Sum) -> Ordering;
}

/// Integers and decimals of one scale, in 64 or 128 bits each.
struct Exact<K, O>(PhantomData<(K, O)>);

impl<K: Element + Into<i128>, O: Element + Into<i128>> Rule for Exact<K, O> {
    type Key = K;
    type Offset = O;
    type Sum = i128;

    fn is_invalid(offset: O) -> bool {
        offset.into() < 0
    }
    fn add(key: K, offset: O, subtract: bool, _: bool) -> Result<i128> {
        let (key, offset) = (key.into(), offset.into());
        Ok(if subtract { key.saturating_sub(offset) } else { key.saturating_add(offset) })
    }
    fn compare(key: K, sum: i128) -> Ordering {
        key.into().cmp(&sum)
    }
}

struct Floats;

impl Rule for Floats {
    type Key = f64;
    type Offset = f64;
    type Sum = f64;

    fn is_invalid(offset: f64) -> bool {
        offset.is_nan() || offset < 0.0
    }
    fn add(key: f64, offset: f64, subtract: bool, last: bool) -> Result<f64> {
        let sum = if subtract { key - offset } else { key + offset };
        // From an infinity all the way to the other one, all numbers are in range.
        let all = if last { f64::INFINITY } else { f64::NEG_INFINITY };
        Ok(if sum.is_nan() && !key.is_nan() { all } else { sum })
    }
    fn compare(key: f64, sum: f64) -> Ordering {
        compare_floats(key, sum)
    }
}

struct Timestamps;

impl Rule for Timestamps {
    type Key = i64;
    type Offset = Interval;
    type Sum = i64;

    fn is_invalid(offset: Interval) -> bool {
        offset.approximate_micros() < 0
    }
    fn add(key: i64, offset: Interval, subtract: bool, _: bool) -> Result<i64> {
        if subtract { date::sub_interval(key, offset) } else { date::add_interval(key, offset) }
    }
    fn compare(key: i64, sum: i64) -> Ordering {
        key.cmp(&sum)
    }
}

/// Dates are compared as the timestamps of their midnights.
struct Dates;

impl Rule for Dates {
    type Key = i64;
    type Offset = Interval;
    type Sum = i128;

    fn is_invalid(offset: Interval) -> bool {
        Timestamps::is_invalid(offset)
    }
    fn add(key: i64, offset: Interval, subtract: bool, last: bool) -> Result<i128> {
        Timestamps::add(date::date_to_timestamp(key as i32)?, offset, subtract, last).map(i128::from)
    }
    fn compare(key: i64, sum: i128) -> Ordering {
        let midnight = match key as i32 {
            i32::MAX => i64::MAX.into(),
            i32::MIN => i64::MIN.into(),
            _ => i128::from(key) * i128::from(date::DAY),
        };
        midnight.cmp(&sum)
    }
}

/// Times of day do not go round here: what is beyond midnight is beyond all of them.
struct Times;

impl Rule for Times {
    type Key = i64;
    type Offset = Interval;
    type Sum = i128;

    fn is_invalid(offset: Interval) -> bool {
        offset.micros < 0
    }
    fn add(key: i64, offset: Interval, subtract: bool, _: bool) -> Result<i128> {
        // Months and days move no clock.
        let (key, micros) = (i128::from(key), i128::from(offset.micros));
        Ok(if subtract { key - micros } else { key + micros })
    }
    fn compare(key: i64, sum: i128) -> Ordering {
        i128::from(key).cmp(&sum)
    }
}

struct Intervals;

impl Rule for Intervals {
    type Key = Interval;
    type Offset = Interval;
    type Sum = i128;

    fn is_invalid(offset: Interval) -> bool {
        Timestamps::is_invalid(offset)
    }
    fn add(key: Interval, offset: Interval, subtract: bool, _: bool) -> Result<i128> {
        let sum = if subtract { date::sub_intervals(key, offset) } else { date::add_intervals(key, offset) };
        sum.map(Interval::approximate_micros)
    }
    fn compare(key: Interval, sum: i128) -> Ordering {
        key.approximate_micros().cmp(&sum)
    }
}

/// One end of the frames of rows of a partition.
pub(super) fn bounds(
    frames: &Frames,
    offset: &Operand,
    preceding: bool,
    end: End,
    part: Range<usize>,
    partition: &Range<usize>,
    out: &mut [usize],
) -> Result<()> {
    let key = frames.key.as_ref().expect("distances of RANGE have a key");
    let search = Search { frames, key, offset, preceding, end, partition };
    match (key.operand.sql_type, Form::of(key.operand.sql_type), Form::of(offset.sql_type)) {
        (SqlType::Time, ..) => search.bounds::<Times>(part, out),
        (SqlType::Date, ..) => search.bounds::<Dates>(part, out),
        (SqlType::Timestamp | SqlType::Timestamptz, ..) => search.bounds::<Timestamps>(part, out),
        (_, Form::F64, _) => search.bounds::<Floats>(part, out),
        (_, Form::Interval, _) => search.bounds::<Intervals>(part, out),
        (_, Form::I64, Form::I64) => search.bounds::<Exact<i64, i64>>(part, out),
        (_, Form::I64, _) => search.bounds::<Exact<i64, i128>>(part, out),
        (_, _, Form::I64) => search.bounds::<Exact<i128, i64>>(part, out),
        _ => search.bounds::<Exact<i128, i128>>(part, out),
    }
}

/// What is searched, and where.
struct Search<'a> {
    frames: &'a Frames,
    key: &'a Key,
    offset: &'a Operand,
    preceding: bool,
    end: End,
    partition: &'a Range<usize>,
}

impl Search<'_> {
    fn bounds<R: Rule>(&self, part: Range<usize>, out: &mut [usize]) -> Result<()> {
        let keys = self.key.operand.cells::<R::Key>();
        let offsets = self.offset.cells::<R::Offset>();
        let present = self.present(&keys);
        let mut cursor = None;
        for (out, row) in out.iter_mut().zip(part) {
            let Some(offset) = offsets.get(row) else { return Err(null_offset(self.end)) };
            if keys.is_null(row) {
                let peers = self.frames.positions.peers_of(row);
                *out = if self.end == End::Start { peers.start } else { peers.end };
                continue;
            }
            let sum = self.sum::<R>(keys.value(row), offset)?;
            let is_before = |at: usize| self.is_before::<R>(keys.value(at), sum);
            let bound = match cursor.filter(|_| self.offset.is_constant()) {
                Some(from) => (from..present.end).find(|&at| !is_before(at)).unwrap_or(present.end),
                None => partition_point(present.clone(), is_before),
            };
            cursor = Some(bound);
            *out = bound;
        }
        Ok(())
    }

    /// Where the partition's keys are not NULL.
    fn present<T: Element>(&self, keys: &Cells<'_, T>) -> Range<usize> {
        let Range { start, end } = self.partition.clone();
        if self.key.nulls_first {
            partition_point(start..end, |row| keys.is_null(row))..end
        } else {
            start..partition_point(start..end, |row| !keys.is_null(row))
        }
    }

    /// The sum that divides the keys before the bound from the others.
    #[inline]
    fn sum<R: Rule>(&self, key: R::Key, offset: R::Offset) -> Result<R::Sum> {
        if R::is_invalid(offset) {
            let message = "invalid preceding or following size in window function";
            return Err(Error::new(SqlState("22013"), message));
        }
        let last = (self.end == End::End) != self.key.descending;
        R::add(key, offset, self.preceding != self.key.descending, last)
    }

    /// Whether a key lies before the bound: before the sum in the keys' order or, for the frame's end, not behind it.
    #[inline]
    fn is_before<R: Rule>(&self, key: R::Key, sum: R::Sum) -> bool {
        let order = R::compare(key, sum);
        let order = if self.key.descending { order.reverse() } else { order };
        match self.end {
            End::Start => order.is_lt(),
            End::End => order.is_le(),
        }
    }
}
