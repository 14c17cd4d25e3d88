//! Error bounds of sketches, uniformity of samples.

use std::sync::Arc;

use super::*;
use crate::RowId;
use types::ops::hash::hash_u64 as mix;
use types::{Column, ColumnBuilder, SqlType, Value};

#[test]
fn sketches_estimate_within_their_error() {
    for n in [0u64, 1, 10, 100, 1000, 10_000, 100_000, 1_000_000] {
        let (mut a, mut b) = (Sketch::default(), Sketch::default());
        for i in 0..n {
            if i % 3 == 0 { &mut a } else { &mut b }.insert(mix(i));
            a.insert(mix(i / 2));
        }
        a.merge(&b);
        let error = (a.estimate() - n as f64).abs() / (n as f64).max(1.0);
        assert!(error < 0.05, "{n}: {}", a.estimate());
    }
}

#[test]
fn samples_are_uniform_over_chunks_and_offsets() {
    let mut sample = Sample::default();
    for chunk in 0..10 {
        sample.extend(chunk, 0, 20_000);
        sample.extend(chunk, 20_000, 40_000);
    }
    let rows = sample.ids();
    assert_eq!(rows.len(), SAMPLE_ROWS);
    // 1,024 rows fall on 10 chunks and 10 ranges of offsets: 102 each, standard deviation under 10.
    for part in 0..10 {
        let in_chunk = rows.iter().filter(|r| r.chunk() == part).count();
        let in_range = rows.iter().filter(|r| r.offset() / 4000 == part).count();
        assert!(in_chunk.abs_diff(102) < 45 && in_range.abs_diff(102) < 45, "{part}: {in_chunk} {in_range}");
    }
    assert!(rows.is_sorted() && rows[0] < RowId::new(9, 0));
}

#[test]
fn columns_of_samples_are_gathered_when_they_are_asked_for() {
    let mut sample = Sample::default();
    let types = [SqlType::BigInt, SqlType::Text, SqlType::BigInt];
    let never = |_: &[RowId], _: &[usize]| -> Vec<Column> { panic!("there is nothing to gather") };
    let offsets = |ids: &[RowId], asked: &[usize]| {
        let column = |attribute: &usize| {
            let mut values = ColumnBuilder::new(types[*attribute], ids.len());
            ids.iter().for_each(|id| values.push((id.offset() * 10 + attribute) as i64));
            values.finish()
        };
        asked.iter().map(column).collect::<Vec<_>>()
    };
    assert!(sample.values(&[0], types.into_iter(), never).is_none());
    sample.extend(0, 0, 3);
    sample.refresh(3);
    let first = sample.values(&[2, 3], types.into_iter(), offsets).unwrap();
    assert_eq!(first.row(1), [Value::Null, Value::Null, Value::Int(12)]);
    assert!(Arc::ptr_eq(&first, &sample.values(&[2], types.into_iter(), never).unwrap()));
    let both = sample.values(&[0, 2], types.into_iter(), |ids, asked| {
        assert_eq!(asked, [0]);
        offsets(ids, asked)
    });
    assert_eq!(both.unwrap().row(2), [Value::Int(20), Value::Null, Value::Int(22)]);
    // Once there are enough more rows, they are others.
    sample.extend(0, 3, 4);
    sample.refresh(4);
    assert_eq!(sample.values(&[0], types.into_iter(), offsets).unwrap().rows(), 4);
}

#[test]
fn bounds_of_texts_are_those_of_their_bytes() {
    let random = &mut base::Random(7);
    for round in 0..3000 {
        // Few letters, NUL among them, so that headers are often alike; in some rounds, long ones.
        let (letters, most) = (1 + random.index(3), [3, 9, 12, 13, 40][round % 5]);
        let rows = 1 + random.index(200);
        let common = random.index(most + 1);
        let text = |random: &mut base::Random| {
            let own = (0..random.index(most + 1 - common)).map(|_| ["\0", "b", "\u{e9}"][random.index(letters)]);
            Value::str("x".repeat(common) + &own.collect::<String>())
        };
        let value = |_| if random.below(9) == 0 { Value::Null } else { text(random) };
        let values: Vec<Value> = (0..rows).map(value).collect();
        let column = crate::testing::column(SqlType::Text, &values);
        let bounds = Bounds::of((&column).into(), 0, rows);
        let texts =
            || values.iter().filter_map(|v| if let Value::Str(text) = v { Some(text.as_bytes()) } else { None });
        assert_eq!(bounds.nulls as usize, rows - texts().count());
        let cut = |b: &[u8]| Box::from(&b[..b.len().min(32)]);
        let expected = texts().min().zip(texts().max()).map_or(ValueRange::Empty, |(min, max)| ValueRange::Text {
            min: cut(min),
            max: cut(max),
            cut: max.len() > 32,
        });
        assert_eq!(bounds.range, expected, "{values:?}");
    }
}

#[test]
fn bounds_of_what_goes_up_are_seldom_widened() {
    use crate::values::Values;
    use types::Datum;
    fn of(value: &Value) -> Datum<'_> {
        Datum::new(value, SqlType::BigInt)
    }
    let (mut all, mut some) = (Bounds::default(), Bounds::default());
    let mut widened = 0;
    for number in (0..100_000).chain((0..1000).map(|n| -n * 70)).chain([i64::MIN, i64::MAX]) {
        let value = Value::Int(number);
        if !some.has(Values::from(&of(&value)), 0) {
            all.add_with_room(Values::from(&of(&value)), 0, None);
            some.add_with_room(Values::from(&of(&value)), 0, Some(&all));
            widened += 1;
        }
        assert!(all.has(Values::from(&of(&value)), 0) && some.has(Values::from(&of(&value)), 0));
        let (ValueRange::Keys { min: a, max: b }, ValueRange::Keys { min, max }) = (&all.range, &some.range) else {
            panic!("numbers have ranges of numbers");
        };
        assert!(a <= min && max <= b && i128::from(i64::MIN) <= *a && *b <= i128::from(i64::MAX));
    }
    assert!(widened < 100, "{widened}");
    // Others have the bounds that they have.
    let mut texts = Bounds::default();
    for text in ["b", "c", "a"] {
        let value = Value::str(text);
        texts.add_with_room(Values::from(&Datum::new(&value, SqlType::Text)), 0, None);
    }
    assert_eq!(texts.values(SqlType::Text), (Some(Value::str("a")), Some(Value::str("c"))));
}
