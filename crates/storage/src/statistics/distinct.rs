//! Feeding a column to its sketch, at about a nanosecond a row: most columns repeat their values, and a value that was
//! seen before in the chunk need not be hashed again.

use types::ops::hash::hash_i64;
use types::{Physical, Str};

use super::sketch::SketchWriter;
use super::{Bounds, Sketch, ValueRange};
use crate::hash::{each_hash, hash_ends};
use crate::values::Values;

/// Integers that span at most this many values are marked in a table first, and each marked one is hashed once.
const SPAN: i128 = 1 << 15;
/// So few values are hashed one by one.
const FEW: usize = 16;
/// Short strings seen lately, by their headers.
const RECENT: usize = 256;

/// Adds the values of the rows `from..` other than NULL, whose bounds are known.
pub(super) fn add(sketch: &mut Sketch, column: Values<'_>, from: usize, bounds: &Bounds) {
    let to = column.rows();
    if bounds.range == ValueRange::Empty {
        return;
    }
    let nulls = column.nulls(0..to).filter(|_| bounds.nulls > 0);
    let mut writer = sketch.writer();
    let is_null = |row: usize| nulls.is_some_and(|nulls| nulls[row] != 0);
    match (&bounds.range, column.physical()) {
        _ if to - from <= FEW => {
            (from..to).filter(|&row| !is_null(row)).for_each(|row| insert(&mut writer, column, row));
        }
        (ValueRange::Keys { min, max }, Physical::I16 | Physical::I32 | Physical::I64)
            if max - min < SPAN.min((to - from) as i128) && nulls.is_none() =>
        {
            let mut seen = vec![0u8; (max - min + 1) as usize];
            match column.physical() {
                Physical::I16 => mark(&mut seen, column.slice::<i16>(from..to), *min as i64),
                Physical::I32 => mark(&mut seen, column.slice::<i32>(from..to), *min as i64),
                _ => mark(&mut seen, column.slice::<i64>(from..to), *min as i64),
            }
            let marked = seen.iter().enumerate().filter(|(_, s)| **s != 0);
            marked.for_each(|(i, _)| writer.insert(hash_i64(*min as i64 + i as i64)));
        }
        (_, Physical::Str) => add_strings(&mut writer, column.slice::<Str>(from..to), nulls.map(|n| &n[from..])),
        _ => match nulls {
            None => each_hash(column, from, to, |_, hash| writer.insert(hash)),
            Some(nulls) => each_hash(column, from, to, |row, hash| {
                if nulls[row] == 0 {
                    writer.insert(hash);
                }
            }),
        },
    }
}

fn insert(writer: &mut SketchWriter<'_>, column: Values<'_>, row: usize) {
    if column.physical() == Physical::Str {
        // SAFETY: the column that the header comes from owns its payload.
        writer.insert(unsafe { hash_ends(column.get::<Str>(row)) });
    } else {
        each_hash(column, row, row + 1, |_, hash| writer.insert(hash));
    }
}

fn mark<T: Copy + Into<i64>>(seen: &mut [u8], values: &[T], min: i64) {
    for &v in values {
        seen[(v.into() - min) as usize] = 1;
    }
}

fn add_strings(writer: &mut SketchWriter<'_>, values: &[Str], nulls: Option<&[u8]>) {
    // An empty string is what a header of zeros is; it is hashed once at the end if there is one.
    let mut recent = [[0u64; 2]; RECENT];
    let mut empty = false;
    for (i, s) in values.iter().enumerate() {
        if nulls.is_some_and(|n| n[i] != 0) {
            continue;
        }
        let words = s.words();
        if s.is_inline() {
            empty |= s.is_empty();
            let slot = (words[0].rotate_left(29) ^ words[1]).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
            if recent[slot as usize] == words {
                continue;
            }
            recent[slot as usize] = words;
        }
        // SAFETY: the column that the headers come from owns their payload.
        writer.insert(unsafe { hash_ends(*s) });
    }
    if empty {
        // SAFETY: the empty string has no payload.
        writer.insert(unsafe { hash_ends(Str::EMPTY) });
    }
}
