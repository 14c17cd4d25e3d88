use base::Random;
use types::{Interval, SqlType, Value};

use super::*;
use crate::window::reference::{self, Offsets};
use crate::window::testing::{KEY_TYPES, Table, column};

/// A distance for keys of a type; seldom none.
fn offset(random: &mut Random, unit: FrameUnit, key: SqlType) -> Value {
    match (unit, key) {
        (
            FrameUnit::Range,
            SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz | SqlType::Time | SqlType::Interval,
        ) => Value::Interval(Interval { months: 0, days: random.below(40) as i32, micros: random.below(9) as i64 }),
        (FrameUnit::Range, SqlType::Decimal { .. }) => Value::Decimal(random.below(6).into()),
        (FrameUnit::Range, SqlType::Double) => Value::Float(random.pick(&[0.0, 0.25, 1.0, 1e30, f64::INFINITY])),
        _ => Value::Int(random.pick(&[0, 1, 2, 5, 40, i64::MAX])),
    }
}

/// A frame of any kind, with distances by row and as operands.
pub(crate) fn any_frame(random: &mut Random, table: &Table) -> (Frame<Offsets>, Frame<Operand>) {
    let unit = random.pick(&[FrameUnit::Rows, FrameUnit::Range, FrameUnit::Groups]);
    let sql_type = match (unit, table.key_type) {
        (FrameUnit::Range, SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz | SqlType::Time) => {
            SqlType::Interval
        }
        (FrameUnit::Range, key) => key,
        _ => SqlType::BigInt,
    };
    let offsets = |random: &mut Random| {
        let one = offset(random, unit, table.key_type);
        if random.one_in(2) {
            let operand = Operand::constant(one.clone(), sql_type);
            return (vec![one; table.rows], operand);
        }
        let all: Vec<Value> = (0..table.rows).map(|_| offset(random, unit, table.key_type)).collect();
        let operand = column(&all, sql_type);
        (all, operand)
    };
    let bound = |random: &mut Random, unbounded: FrameBound<usize>| match random.below(4) {
        0 => (unbounded, None),
        1 => (FrameBound::CurrentRow, None),
        2 => (FrameBound::Preceding(0), Some(offsets(random))),
        _ => (FrameBound::Following(0), Some(offsets(random))),
    };
    let (start, start_offsets) = bound(random, FrameBound::UnboundedPreceding);
    let (end, end_offsets) = bound(random, FrameBound::UnboundedFollowing);
    let exclude = random.pick(&[
        FrameExclusion::NoOthers,
        FrameExclusion::NoOthers,
        FrameExclusion::CurrentRow,
        FrameExclusion::Group,
        FrameExclusion::Ties,
    ]);
    let (slow, quick): (Vec<_>, Vec<_>) = start_offsets.into_iter().chain(end_offsets).unzip();
    let frame = Frame { unit, start, end, exclude };
    let (mut slow, mut quick) = (slow.into_iter(), quick.into_iter());
    (frame.map(|_| slow.next().unwrap()), frame.map(|_| quick.next().unwrap()))
}

pub(crate) fn frames_of(table: &Table, frame: Frame<Operand>) -> Frames {
    Frames::new(table.positions(), frame, Some(table.key()), CancelToken::new()).unwrap()
}

#[test]
fn frames_hold_the_rows_that_belong_to_them() {
    let mut random = Random(5);
    for turn in 0..2000 {
        let rows = random.pick(&[0, 1, 2, 10, 40, 90]);
        let key_type = random.pick(&KEY_TYPES);
        let table = Table::random(&mut random, rows, key_type);
        let (slow, quick) = any_frame(&mut random, &table);
        let frames = frames_of(&table, quick);
        let mut batch = frames.batch();
        let mut row = 0;
        while row < rows {
            let end = rows.min(row + 1 + random.index(BATCH));
            let filled = frames.fill(&mut batch, row..end);
            for row in row..end {
                let expected = reference::frame(&table, &slow, row);
                let (Ok(expected), Ok(())) = (&expected, &filled) else {
                    assert_eq!(expected.err(), filled.clone().err());
                    break;
                };
                let found: Vec<usize> = batch.ranges(row - batch.rows.start).into_iter().flatten().collect();
                assert_eq!(found, *expected, "turn {turn}, row {row} of {table:?} {slow:?}");
            }
            row = end;
        }
    }
}

fn error_of(unit: FrameUnit, start: bool, offset: Value, key_type: SqlType, constant: bool) -> String {
    let mut random = Random(1);
    let table = Table::random(&mut random, 5, key_type);
    let sql_type = if unit == FrameUnit::Range { key_type } else { SqlType::BigInt };
    let offset = if constant { Operand::constant(offset, sql_type) } else { column(&vec![offset; 5], sql_type) };
    let (mut frame, bound) = (Frame::whole(), FrameBound::Preceding(offset));
    frame.unit = unit;
    *(if start { &mut frame.start } else { &mut frame.end }) = bound;
    let frames = Frames::new(table.positions(), frame, Some(table.key()), CancelToken::new());
    frames.and_then(|frames| frames.fill(&mut frames.batch(), 0..5)).unwrap_err().to_string()
}

#[test]
fn distances_that_are_none_are_errors() {
    for constant in [false, true] {
        for unit in [FrameUnit::Rows, FrameUnit::Groups] {
            let of = |start, value| error_of(unit, start, value, SqlType::BigInt, constant);
            assert_eq!(of(true, Value::Null), "22004: frame starting offset must not be null");
            assert_eq!(of(false, Value::Null), "22004: frame ending offset must not be null");
            assert_eq!(of(true, Value::Int(-1)), "22013: frame starting offset must not be negative");
            assert_eq!(of(false, Value::Int(-1)), "22013: frame ending offset must not be negative");
        }
        let of = |value, sql_type| error_of(FrameUnit::Range, false, value, sql_type, constant);
        assert_eq!(of(Value::Null, SqlType::BigInt), "22004: frame ending offset must not be null");
        let invalid = "22013: invalid preceding or following size in window function";
        assert_eq!(of(Value::Int(-1), SqlType::BigInt), invalid);
        assert_eq!(of(Value::Float(f64::NAN), SqlType::Double), invalid);
        let back = Value::Interval(Interval { months: 0, days: -1, micros: 0 });
        assert_eq!(of(back, SqlType::Interval), invalid);
    }
}

#[test]
fn a_cancelled_statement_computes_no_frames() {
    let table = Table::random(&mut Random(1), 5, SqlType::BigInt);
    let frames = frames_of(&table, Frame::whole());
    frames.cancel.cancel();
    assert_eq!(frames.fill(&mut frames.batch(), 0..5).unwrap_err().state(), SqlState::QUERY_CANCELED);
}
