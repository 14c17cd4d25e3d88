//! Bounds of the values of a column in a chunk or table, in physical form.

use std::cmp::Ordering;

use base::simd::vectorised;
use types::{Physical, SqlType, Str, Value};

use crate::scan::lane::{Lane, with_lane};
use crate::values::Values;

/// Rows that are looked at together for the bounds of strings: as many as a word has bits.
const BLOCK: usize = 64;
/// Bounds that are widened once may be so again: for that they get this part of their range more.
const ROOM: i128 = 4;
/// The most bytes of a string that a bound keeps.
const TEXT_BYTES: usize = 32;

/// The range of the values that are not NULL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ValueRange {
    /// There is none.
    #[default]
    Empty,
    /// Fixed-width values, as the integers that order like them (floats and intervals included).
    Keys {
        /// The least.
        min: i128,
        /// The greatest.
        max: i128,
    },
    /// Strings, bytewise.
    Text {
        /// At or below the least; a prefix of it.
        min: Box<[u8]>,
        /// The greatest, or if `cut`, a prefix of it.
        max: Box<[u8]>,
        /// Whether `max` stands for all strings that start with it.
        cut: bool,
    },
}

/// Range and null count of a column over some rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The range of the values that are not NULL.
    pub range: ValueRange,
    /// How many rows are NULL.
    pub nulls: u64,
}

impl ValueRange {
    /// The range of strings of which nothing is known.
    fn any_text() -> Self {
        Self::Text { min: Box::default(), max: Box::default(), cut: true }
    }
}

impl Bounds {
    /// The bounds of the rows `from..to`, but for the range of strings that would have to be looked at one by one: it
    /// [`is left`](Self::is_range_left) for later.
    pub(crate) fn of_numbers(column: Values<'_>, from: usize, to: usize) -> Self {
        if column.physical() != Physical::Str || column.codes().is_some() {
            return Self::of(column, from, to);
        }
        match count_nulls(column, from, to) {
            nulls if nulls == (to - from) as u64 => Self { range: ValueRange::Empty, nulls },
            nulls => Self { range: ValueRange::any_text(), nulls },
        }
    }

    /// Whether nothing is known of the values but that they are strings. No strings have such bounds of their own.
    pub(crate) fn is_range_left(&self) -> bool {
        self.range == ValueRange::any_text()
    }

    /// The bounds of the rows `from..to`.
    pub(crate) fn of(column: Values<'_>, from: usize, to: usize) -> Self {
        let flags = column.nulls(from..to);
        let nulls = count_nulls(column, from, to);
        if nulls == (to - from) as u64 {
            return Self { range: ValueRange::Empty, nulls };
        }
        let flags = flags.filter(|_| nulls > 0);
        if column.physical() == Physical::Str
            && let Some((entries, codes)) = column.codes()
        {
            let is_used = used_entries(entries.rows(), &codes[from..to], flags);
            let texts = entries.values::<Str>().iter().zip(&is_used).filter(|(_, used)| **used).map(|(text, _)| *text);
            return Self { range: text_range(&texts.collect::<Vec<_>>(), None), nulls };
        }
        let range = with_lane!(column.physical(), T => {
            let values = column.slice::<T>(from..to);
            vectorised(|| key_range(values, flags))
        }, {
            text_range(column.slice::<Str>(from..to), flags)
        });
        Self { range, nulls }
    }

    /// Widens the bounds so that they hold for one more row, whose value is at `row`. Whether that has changed them.
    pub(crate) fn add(&mut self, column: Values<'_>, row: usize) -> bool {
        if column.is_null(row) {
            self.nulls += 1;
            return true;
        }
        if self.has(column, row) {
            return false;
        }
        let more = with_lane!(column.physical(), T => {
            let key = T::widen(column.get::<T>(row).key());
            ValueRange::Keys { min: key, max: key }
        }, {
            text_range(column.slice::<Str>(row..row + 1), None)
        });
        self.merge_range(&more);
        true
    }

    /// As [`add`](Self::add), for rows that are changed one by one: integers that go up or down a little each time do not change the
    /// bounds each time. They are within those of `all`, which hold for the row.
    pub(crate) fn add_with_room(&mut self, column: Values<'_>, row: usize, all: Option<&Self>) {
        let before = self.range.clone();
        if !self.add(column, row) || !matches!(column.physical(), Physical::I16 | Physical::I32 | Physical::I64) {
            return;
        }
        let (least, greatest) = match all.map(|all| &all.range) {
            Some(ValueRange::Keys { min, max }) => (*min, *max),
            Some(_) => return,
            None => match column.physical() {
                Physical::I16 => (i16::MIN.into(), i16::MAX.into()),
                Physical::I32 => (i32::MIN.into(), i32::MAX.into()),
                _ => (i64::MIN.into(), i64::MAX.into()),
            },
        };
        if let (ValueRange::Keys { min: a, max: b }, ValueRange::Keys { min, max }) = (before, &mut self.range) {
            let room = (b - a) / ROOM;
            if *min < a {
                *min = (*min - room).max(least.min(*min));
            }
            if *max > b {
                *max = (*max + room).min(greatest.max(*max));
            }
        }
    }

    /// Whether they hold for one more row, whose value is at `row`, as they are.
    pub(crate) fn has(&self, column: Values<'_>, row: usize) -> bool {
        if column.is_null(row) {
            return false;
        }
        let number = match column.physical() {
            Physical::I32 => Some(column.get::<i32>(row).into()),
            Physical::I64 => Some(column.get::<i64>(row).into()),
            _ => None,
        };
        if let Some(number) = number {
            return matches!(self.range, ValueRange::Keys { min, max } if min <= number && number <= max);
        }
        with_lane!(column.physical(), T => {
            let key = T::widen(column.get::<T>(row).key());
            matches!(self.range, ValueRange::Keys { min, max } if min <= key && key <= max)
        }, {
            let text = column.get::<Str>(row);
            // SAFETY: whoever has made the values keeps the payload alive.
            self.has_text(unsafe { text.bytes() })
        })
    }

    fn has_text(&self, text: &[u8]) -> bool {
        match &self.range {
            ValueRange::Text { min, max, cut } => **min <= *text && (*text <= **max || *cut && text.starts_with(max)),
            _ => false,
        }
    }

    /// Widens the bounds so that they hold for the other rows as well.
    pub fn merge(&mut self, other: &Self) {
        self.nulls += other.nulls;
        self.merge_range(&other.range);
    }

    /// As [`merge`](Self::merge), of rows whose NULLs are counted already.
    pub(crate) fn merge_range(&mut self, other: &ValueRange) {
        match (&mut self.range, other) {
            (_, ValueRange::Empty) => {}
            (mine @ ValueRange::Empty, theirs) => *mine = theirs.clone(),
            (ValueRange::Keys { min, max }, ValueRange::Keys { min: a, max: b }) => {
                (*min, *max) = ((*min).min(*a), (*max).max(*b));
            }
            (ValueRange::Text { min, max, cut }, ValueRange::Text { min: a, max: b, cut: other_cut }) => {
                if a < min {
                    *min = a.clone();
                }
                // Of a prefix and a longer string that starts with it, the cut one reaches further.
                let further = if *cut && b.starts_with(max) {
                    false
                } else if *other_cut && max.starts_with(b) {
                    true
                } else {
                    b > max
                };
                if further {
                    (*max, *cut) = (b.clone(), *other_cut);
                }
            }
            (mine, theirs) => unreachable!("bounds of one column: {mine:?} and {theirs:?}"),
        }
    }

    /// The bounds as values of the column's type: none if there are no values, or if the bound is not itself a value.
    pub fn values(&self, sql_type: SqlType) -> (Option<Value>, Option<Value>) {
        match &self.range {
            ValueRange::Empty => (None, None),
            ValueRange::Keys { min, max } => (key_value(sql_type, *min), key_value(sql_type, *max)),
            ValueRange::Text { min, max, cut } => {
                let valid = |bytes: &[u8]| {
                    let end = std::str::from_utf8(bytes).map_or_else(|e| e.valid_up_to(), |s| s.len());
                    std::str::from_utf8(&bytes[..end]).map(Value::str).ok()
                };
                (valid(min), if *cut { None } else { valid(max) })
            }
        }
    }
}

fn count_nulls(column: Values<'_>, from: usize, to: usize) -> u64 {
    column.nulls(from..to).map_or(0, |n| n.iter().map(|&n| u64::from(n != 0)).sum())
}

/// Which entries of a dictionary the codes of rows that are not NULL are of.
pub(crate) fn used_entries(entries: usize, codes: &[u16], nulls: Option<&[u8]>) -> Vec<bool> {
    let mut is_used = vec![false; entries];
    match nulls {
        None => codes.iter().for_each(|&code| is_used[usize::from(code)] = true),
        Some(nulls) => {
            let live = codes.iter().zip(nulls).filter(|(_, null)| **null == 0);
            live.for_each(|(&code, _)| is_used[usize::from(code)] = true);
        }
    }
    is_used
}

fn key_value(sql_type: SqlType, key: i128) -> Option<Value> {
    match sql_type.physical() {
        // The keys' transformation is its own inverse.
        Physical::F32 => {
            let key = key as i32;
            Some(Value::Float(f32::from_bits((key ^ ((key >> 31) as u32 >> 1) as i32) as u32).into()))
        }
        Physical::F64 => {
            let key = key as i64;
            Some(Value::Float(f64::from_bits((key ^ ((key >> 63) as u64 >> 1) as i64) as u64)))
        }
        // Many intervals share a key.
        _ => Value::of_integer(sql_type, key),
    }
}

#[inline(always)]
fn key_range<T: Lane>(values: &[T], nulls: Option<&[u8]>) -> ValueRange {
    let (mut min, mut max) = (T::narrow(T::LIMITS.1), T::narrow(T::LIMITS.0));
    match nulls {
        None => {
            for v in values {
                let key = v.key();
                (min, max) = (min.min(key), max.max(key));
            }
        }
        Some(nulls) => {
            for (v, _) in values.iter().zip(nulls).filter(|(_, n)| **n == 0) {
                let key = v.key();
                (min, max) = (min.min(key), max.max(key));
            }
        }
    }
    ValueRange::Keys { min: T::widen(min), max: T::widen(max) }
}

fn text_range(values: &[Str], nulls: Option<&[u8]>) -> ValueRange {
    let live = |i: usize| nulls.is_none_or(|n| n[i] == 0);
    // Eight bytes decide for all but few rows, and vectors find their range in each block; of long strings, four are in the
    // header, so that the other half of the key is to be left out.
    let mut ends = Vec::with_capacity(values.len().div_ceil(BLOCK));
    let mut is_long = 0;
    vectorised(|| {
        for (block, rows) in values.chunks(BLOCK).enumerate() {
            let mut keys = [0; BLOCK];
            for (key, s) in keys.iter_mut().zip(rows) {
                *key = key_of(s);
                is_long |= (Str::INLINE as u32).wrapping_sub(s.words()[0] as u32);
            }
            let keys = &keys[..rows.len()];
            ends.push(match nulls {
                None => keys.iter().fold((u64::MAX, 0), |(low, high), &k| (k.min(low), k.max(high))),
                Some(_) => {
                    let live = keys.iter().enumerate().filter(|(i, _)| live(block * BLOCK + i));
                    live.fold((u64::MAX, 0), |(low, high), (_, &k)| (k.min(low), k.max(high)))
                }
            });
        }
    });
    let mask = if is_long >> 31 == 0 { u64::MAX } else { u64::from(u32::MAX) << 32 };
    let low = ends.iter().fold(u64::MAX, |low, end| low.min(end.0)) & mask;
    let high = ends.iter().fold(0, |high, end| high.max(end.1)) & mask;
    let key = |s: &Str| key_of(s) & mask;
    let (mut min, mut max): (Option<Str>, Option<Str>) = (None, None);
    for (block, (rows, end)) in values.chunks(BLOCK).zip(&ends).enumerate() {
        if end.0 & mask != low && end.1 & mask != high {
            continue;
        }
        // Which rows could move a bound, in one go: repeated short strings have equal headers, so low-cardinality columns
        // pass from the second block on, and of columns with many prefixes few rows are looked at.
        let [a, b] = [min, max].map(|s| s.map_or([u64::MAX; 2], Str::words));
        let mut moving = 0u64;
        for (i, s) in rows.iter().enumerate() {
            let (k, [x, y]) = (key(s), s.words());
            let known = u64::from(((x ^ a[0]) | (y ^ a[1])) == 0) | u64::from(((x ^ b[0]) | (y ^ b[1])) == 0);
            moving |= ((u64::from(k == low) | u64::from(k == high)) & (known ^ 1)) << i;
        }
        while moving != 0 {
            let i = moving.trailing_zeros() as usize;
            moving &= moving - 1;
            let s = &rows[i];
            if live(block * BLOCK + i) {
                widen(s, key(s) == low, key(s) == high, &mut min, &mut max);
            }
        }
    }
    let (Some(min), Some(max)) = (min, max) else { return ValueRange::Empty };
    // SAFETY: as above.
    let (min, max) = unsafe { (min.bytes(), max.bytes()) };
    let cut = |b: &[u8]| Box::from(&b[..b.len().min(TEXT_BYTES)]);
    ValueRange::Text { min: cut(min), max: cut(max), cut: max.len() > TEXT_BYTES }
}

/// The first eight bytes of a short string as a number that orders like them; of a long one, the first four are right.
#[inline(always)]
fn key_of(s: &Str) -> u64 {
    let [header, rest] = s.words();
    (header >> 32 | rest << 32).swap_bytes()
}

/// Moves the bounds that the string may move to it if it is beyond them.
fn widen(s: &Str, low: bool, high: bool, min: &mut Option<Str>, max: &mut Option<Str>) {
    // SAFETY: the column that the headers come from owns their payload.
    let order = |other: Str| if other.words() == s.words() { Ordering::Equal } else { unsafe { s.compare(&other) } };
    if low && min.is_none_or(|m| order(m).is_lt()) {
        *min = Some(*s);
    }
    if high && max.is_none_or(|m| order(m).is_gt()) {
        *max = Some(*s);
    }
}
