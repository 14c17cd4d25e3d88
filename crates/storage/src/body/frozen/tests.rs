//! Frozen columns beside the columns that they were made of.

use std::sync::Arc;

use base::Random;
use types::{Buffer, Chunk, Column, Physical, SqlType, Str, Value};

use super::*;
use crate::body::Body;
use crate::statistics::ValueRange;
use crate::testing::{TYPES, column, pattern, value};
use crate::{ChunkReader, Comparison, ScanOp, ScanPredicate, Scratch, WINDOW};

fn frozen(column: &Column) -> Option<Frozen> {
    Frozen::of(column.into(), &Bounds::of(column.into(), 0, column.rows())).map(Frozen::packed)
}

/// Some values of a type: few or many, near or far, with a common divisor or without.
fn values(random: &mut Random, sql_type: SqlType, rows: usize) -> Vec<Value> {
    let distinct = random.pick(&[1, 2, 7, 200, 700, 40_000, 1 << 20, 1 << 33, 1 << 50]);
    let null_in = random.pick(&[0, 0, 2, 50]);
    let factor = random.pick(&[1, 1, 4, 100, 86_400_000_000]);
    let shift = random.pick(&[0, 0, -5, 1 << 40]);
    (0..rows)
        .map(|_| match (null_in, value(random, sql_type, distinct)) {
            (n, _) if n > 0 && random.below(n) == 0 => Value::Null,
            (_, Value::Int(n)) if sql_type == SqlType::BigInt => Value::Int(n.wrapping_mul(factor).wrapping_add(shift)),
            (_, Value::Decimal(n)) => {
                let far = n * i128::from(factor) + i128::from(shift);
                Value::Decimal(if sql_type.physical() == Physical::I128 { far } else { (far as i64).into() })
            }
            (_, v) => v,
        })
        .collect()
}

/// Bit for bit, zeros of both signs included.
fn assert_same(a: &Column, b: &Column, what: &str) {
    assert_eq!(a.rows(), b.rows());
    for row in 0..a.rows() {
        let (x, y) = (a.value(row), b.value(row));
        match (&x, &y) {
            (Value::Float(f), Value::Float(g)) => assert_eq!(f.to_bits(), g.to_bits(), "{what}, row {row}"),
            _ => assert_eq!(x, y, "{what}, row {row}"),
        }
    }
}

#[test]
fn every_row_is_read_as_it_was_written() {
    let random = &mut Random(17);
    let mut forms = std::collections::BTreeSet::new();
    for round in 0..if cfg!(miri) { 10 } else { 200 } {
        let sql_type = random.pick(&TYPES);
        let rows = 1 + random.index(if cfg!(miri) { 50 } else { 5000 });
        let plain = column(sql_type, &values(random, sql_type, rows));
        let Some(frozen) = frozen(&plain) else { continue };
        let what = format!("round {round}: {sql_type:?} as {:?}, {}", frozen.scheme(), frozen.width());
        forms.insert((format!("{:?}", frozen.scheme()), frozen.width()));
        let reader = ChunkReader::frozen(Chunk::new(rows, vec![plain.clone()]));
        assert_same(&reader.gather(0, 0..rows), &plain, &what);
        // Windows at any place, whole and in part.
        let mut scratch = Scratch::default();
        for _ in 0..20 {
            let start = random.index(rows);
            let window = start..rows.min(start + 1 + random.index(WINDOW));
            let some: Vec<u32> = (0..window.len() as u32).filter(|_| random.below(9) == 0).collect();
            scratch.begin_batch();
            let of = reader.column(0, window.clone(), Some(&some), &mut scratch);
            // SAFETY: the values at the places of `some` are of the column's type, and the scratch memory is not asked again.
            let of = unsafe { Values::new(sql_type.physical(), of, window.len()) };
            for &place in &some {
                let row = window.start + place as usize;
                assert_eq!(of.is_null(place as usize), plain.is_null(row), "{what}");
                same_cell(of, place as usize, (&plain).into(), row, &what);
            }
        }
    }
    // Few texts are not better off with symbols.
    let all: Vec<_> = forms.iter().map(|(s, width)| (s.as_str(), *width)).filter(|form| form.0 != "Text").collect();
    if !cfg!(miri) {
        let expected = [1, 2].map(|w| ("Dictionary", w)).into_iter().chain([1, 2, 4, 8].map(|w| ("Numbers", w)));
        assert_eq!(all, expected.chain([0, 1].map(|w| ("Symbols", w))).collect::<Vec<_>>());
    }
}

fn same_cell(a: Values<'_>, i: usize, b: Values<'_>, j: usize, what: &str) {
    if b.is_null(j) {
        return;
    }
    match a.physical() {
        // SAFETY: both columns are alive.
        Physical::Str => unsafe { assert_eq!(a.get::<Str>(i).bytes(), b.get::<Str>(j).bytes(), "{what}") },
        physical => {
            let size = physical.size();
            // SAFETY: values of that size at these rows.
            let bytes = |of: Values<'_>, row: usize| unsafe {
                std::slice::from_raw_parts(of.address().data.add(row * size), size).to_vec()
            };
            assert_eq!(bytes(a, i), bytes(b, j), "{what}");
        }
    }
}

#[test]
fn predicates_on_codes_hold_where_they_do_on_values() {
    let random = &mut Random(18);
    for round in 0..if cfg!(miri) { 10 } else { 500 } {
        let rows = 1 + random.index(if cfg!(miri) { 50 } else { 3000 });
        let types = [random.pick(&TYPES), random.pick(&TYPES)];
        let all = types.map(|t| values(random, t, rows));
        let chunk = Chunk::new(rows, vec![column(types[0], &all[0]), column(types[1], &all[1])]);
        let predicates: Arc<[ScanPredicate]> = (0..1 + random.index(3))
            .map(|_| {
                let attribute = random.index(2);
                let mut constant = || match random.below(3) {
                    0 => value(random, types[attribute], 1 << 20),
                    _ => all[attribute][random.index(rows)].clone(),
                };
                use Comparison::*;
                let (a, b, list) = (constant(), constant(), (0..9).map(|_| constant()).collect::<Vec<_>>());
                let op = match random.below(11) {
                    0..=4 => ScanOp::Compare(random.pick(&[Eq, Ne, Lt, Le, Gt, Ge]), a),
                    5 => ScanOp::Between { low: Some((a, random.below(2) == 0)), high: Some((b, true)) },
                    6 => ScanOp::In(list[..1 + random.index(9)].to_vec()),
                    7 => ScanOp::IsNull,
                    8 => ScanOp::IsNotNull,
                    9 if types[attribute] == SqlType::Text => {
                        ScanOp::Like { pattern: pattern(random), negated: random.below(2) == 0 }
                    }
                    _ if types[attribute] == SqlType::Text => ScanOp::Prefix("prefix 1".into()),
                    _ => ScanOp::Compare(Ne, a),
                };
                ScanPredicate::new(attribute, types[attribute], op)
            })
            .collect();
        let find = |reader: &ChunkReader| {
            let (mut found, mut scratch, mut out) = (Vec::new(), Scratch::default(), [0; WINDOW]);
            let Some(rest) = reader.applicable(&predicates, &mut scratch) else { return found };
            for begin in (0..rows).step_by(WINDOW) {
                let count = reader.scan(begin..rows.min(begin + WINDOW), &rest, &mut scratch, &mut out);
                found.extend(out[..count].iter().map(|&place| begin + place as usize));
            }
            found
        };
        let (plain, frozen) = (ChunkReader::of(chunk.clone()), ChunkReader::frozen(chunk));
        let forms = [frozen.form(0).0, frozen.form(1).0];
        assert_eq!(find(&frozen), find(&plain), "round {round}: {predicates:?} on {types:?} as {forms:?}");
    }
}

/// Counts how often it is computed.
#[derive(Debug, Default)]
struct EndsInSeven(std::sync::atomic::AtomicUsize);

impl crate::Computed for EndsInSeven {
    fn may_hold(&self, text: &str) -> bool {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        text.ends_with('7')
    }
}

#[test]
fn what_is_computed_is_asked_of_dictionaries_alone_and_once_an_entry() {
    let rows = if cfg!(miri) { 100 } else { 3000 };
    for (distinct, is_asked) in [(1, true), (5, true), (rows, false)] {
        let text = |row: usize| {
            if row.is_multiple_of(3) { Value::Null } else { Value::str(format!("text {}", row % distinct + 7)) }
        };
        let all: Vec<Value> = (0..rows).map(text).collect();
        let chunk = Chunk::new(rows, vec![column(SqlType::Text, &all)]);
        for reader in [ChunkReader::frozen(chunk.clone()), ChunkReader::of(chunk)] {
            let asked = Arc::new(EndsInSeven::default());
            let predicates = [ScanPredicate::new(0, SqlType::Text, ScanOp::Computed(asked.clone()))].into();
            let (mut scratch, mut out, mut found) = (Scratch::default(), [0; WINDOW], 0);
            if let Some(rest) = reader.applicable(&predicates, &mut scratch) {
                for begin in (0..rows).step_by(WINDOW) {
                    found += reader.scan(begin..rows.min(begin + WINDOW), &rest, &mut scratch, &mut out);
                }
            }
            let times = asked.0.load(std::sync::atomic::Ordering::Relaxed);
            let holds = |value: &&Value| matches!(value, Value::Str(text) if text.ends_with('7'));
            match is_asked && times > 0 {
                true => assert_eq!((found, times), (all.iter().filter(holds).count(), distinct)),
                // Nobody has a dictionary.
                false => assert_eq!((found, times), (rows, 0)),
            }
        }
    }
}

/// Bounds may be wider than the rows: they have counted NULLs of rows that were given up, and values.
#[test]
fn no_null_passes_for_a_value() {
    for sql_type in TYPES {
        let (rows, size) = (1000, sql_type.physical().size());
        let nulls: Buffer = std::iter::repeat_n(1u8, rows).collect();
        let zeros = Arc::new(Buffer::zeroed(rows * size));
        // SAFETY: as many values and flags as there are rows.
        let plain = unsafe { Column::new(sql_type, rows, zeros, Some(Arc::new(nulls)), Vec::new()) };
        let known = Bounds::of((&column(sql_type, &[value(&mut Random(1), sql_type, 5)])).into(), 0, 1).range;
        for range in [ValueRange::Empty, known] {
            let bounds = Bounds { range, nulls: rows as u64 + 3 };
            let body = Body::frozen(Chunk::new(rows, vec![plain.clone()]), &[bounds], |_, _| {});
            let reader = ChunkReader::new(Arc::new(body), rows);
            for (op, wanted) in [(ScanOp::IsNotNull, 0), (ScanOp::IsNull, rows)] {
                let predicates: Arc<[ScanPredicate]> = [ScanPredicate::new(0, sql_type, op)].into();
                let (mut scratch, mut out) = (Scratch::default(), [0; WINDOW]);
                let rest = reader.applicable(&predicates, &mut scratch);
                let count = rest.map_or(0, |rest| reader.scan(0..rows, &rest, &mut scratch, &mut out));
                assert_eq!(count, wanted, "{sql_type:?} as {:?}", reader.form(0));
            }
        }
    }
}

/// Texts of ASCII and of other characters, few or many.
fn texts(random: &mut Random, rows: usize) -> Column {
    let (distinct, null_in) = (random.pick(&[1, 5, 300, 1 << 30]), random.pick(&[0, 0, 3]));
    let other_in = random.pick(&[0, 0, 2, 700]);
    let text = |random: &mut Random| match (random.below(distinct), other_in) {
        _ if null_in > 0 && random.below(null_in) == 0 => Value::Null,
        (n, others) if others > 0 && n % others == 0 => {
            Value::str(format!("{}日本, né {n}", "ü".repeat(n as usize % 9)))
        }
        (n, _) => Value::str(format!("{}{n}", "some text ".repeat(n as usize % 4))),
    };
    column(SqlType::Text, &(0..rows).map(|_| text(random)).collect::<Vec<_>>())
}

#[test]
fn lengths_are_those_of_the_texts() {
    let random = &mut Random(41);
    let mut forms = std::collections::BTreeSet::new();
    for round in 0..if cfg!(miri) { 8 } else { 300 } {
        let rows = 1 + random.index(if cfg!(miri) { 60 } else { 3000 });
        let plain = texts(random, rows);
        if let Some(frozen) = frozen(&plain) {
            let all_ascii = (0..rows).all(|row| !matches!(plain.value(row), Value::Str(s) if !s.is_ascii()));
            assert_eq!(frozen.header.is_ascii, all_ascii);
            forms.insert((format!("{:?}", frozen.scheme()), all_ascii, frozen.has_null()));
            let (mut lengths, mut nulls, window) = ([0; WINDOW], [0; WINDOW], rows.saturating_sub(WINDOW)..rows);
            frozen.lengths(window.clone(), None, &mut lengths, &mut nulls);
            for (row, length) in window.zip(lengths) {
                let expected = if let Value::Str(s) = plain.value(row) { s.chars().count() as u32 } else { 0 };
                assert_eq!(length, expected, "round {round}, {:?}, row {row}", frozen.scheme());
            }
        }
        let chunk = Chunk::new(rows, vec![plain.clone()]);
        for reader in [ChunkReader::of(chunk.clone()), ChunkReader::frozen(chunk)] {
            let (mut scratch, what) = (Scratch::default(), format!("round {round}, {}", reader.form(0).0));
            for begin in (0..rows).step_by(WINDOW) {
                let window = begin..rows.min(begin + WINDOW);
                let some: Vec<u32> = (0..window.len() as u32).filter(|_| random.below(3) == 0).collect();
                let some = Some(some.as_slice()).filter(|_| round % 2 == 0);
                let of = reader.lengths(0, window.clone(), some, &mut scratch);
                // SAFETY: a window of numbers of 32 bits, until the scratch memory is asked again.
                let of = unsafe { Values::new(Physical::I32, of, window.len()) };
                for place in (0..window.len()).filter(|&p| some.is_none_or(|some| some.contains(&(p as u32)))) {
                    match plain.value(begin + place) {
                        Value::Str(s) => {
                            assert!(!of.is_null(place), "{what}, row {}", begin + place);
                            assert_eq!(of.get::<i32>(place), s.chars().count() as i32, "{what}, row {}", begin + place);
                        }
                        _ => assert!(of.is_null(place), "{what}, row {}", begin + place),
                    }
                }
            }
        }
    }
    assert!(cfg!(miri) || forms.len() == 12, "{forms:?}");
}

/// Columns that were written before there was the flag have 0 there.
#[test]
fn what_says_nothing_of_ascii_is_looked_at() {
    let plain =
        column(SqlType::Text, &(0..5000).map(|n| Value::str(format!("a text, number {n}"))).collect::<Vec<_>>());
    let frozen = text::freeze((&plain).into(), &Bounds::of((&plain).into(), 0, plain.rows())).unwrap();
    assert!(frozen.header.is_ascii);
    let with = |flag: u8, begin: &str| {
        let mut bytes: Buffer = frozen.bytes.as_slice().iter().copied().collect();
        let at = frozen.header.parts[PAYLOAD];
        bytes.as_mut_slice()[6] = flag;
        bytes.as_mut_slice()[at..at + begin.len()].copy_from_slice(begin.as_bytes());
        Frozen::read(bytes)
    };
    let (mut lengths, mut nulls) = ([0; WINDOW], [0; WINDOW]);
    let older = with(0, "a ").unwrap();
    older.lengths(0..3, None, &mut lengths, &mut nulls);
    assert!(!older.header.is_ascii && lengths[..3] == [16; 3]);
    with(0, "é").unwrap().lengths(0..2, None, &mut lengths, &mut nulls);
    assert_eq!(lengths[..2], [15, 16]);
    assert_eq!(with(1, "é").unwrap_err().state(), base::SqlState::DATA_CORRUPTED);
}

/// Codes of a dictionary as a file might have it: in any order, texts twice, some of no row.
#[test]
fn codes_of_a_file_are_as_good_as_values() {
    let random = &mut Random(20);
    let mut kept = 0;
    for round in 0..if cfg!(miri) { 5 } else { 200 } {
        let rows = 1 + random.index(if cfg!(miri) { 200 } else { 6000 });
        let entries: Vec<Value> =
            (0..1 + random.index(60)).map(|_| value(random, SqlType::Text, 40)).filter(|v| !v.is_null()).collect();
        if entries.is_empty() {
            continue;
        }
        let null_in = random.pick(&[0, 0, 3, 1]);
        let codes: Vec<u16> = (0..rows).map(|_| random.index(entries.len()) as u16).collect();
        let flags: Vec<u8> = (0..rows).map(|_| u8::from(null_in > 0 && random.below(null_in) == 0)).collect();
        let nulls = (null_in > 0).then(|| Arc::new(flags.iter().copied().collect::<Buffer>()));
        let coded = Column::coded(column(SqlType::Text, &entries), codes.clone(), nulls);
        let value = |row: usize| if flags[row] == 0 { entries[usize::from(codes[row])].clone() } else { Value::Null };
        let plain = column(SqlType::Text, &(0..rows).map(value).collect::<Vec<_>>());
        let bounds = Bounds::of((&coded).into(), 0, rows);
        assert_eq!(bounds, Bounds::of((&plain).into(), 0, rows), "round {round}");
        let reader = ChunkReader::of(Chunk::new(rows, vec![coded.clone()]));
        assert_same(&reader.gather(0, 0..rows), &plain, "codes");
        assert_same(&ChunkReader::frozen(Chunk::new(rows, vec![coded.clone()])).gather(0, 0..rows), &plain, "frozen");
        if let Some(of_codes) = Frozen::of_codes((&coded).into()) {
            kept += 1;
            let texts = |of: Values<'_>| -> Vec<Vec<u8>> {
                // SAFETY: the dictionaries are alive.
                of.slice::<Str>(0..of.rows()).iter().map(|text| unsafe { text.bytes() }.to_vec()).collect()
            };
            let distinct = texts(of_codes.distinct().unwrap());
            assert!(distinct.is_sorted_by(|a, b| a < b), "in order, once each");
            if let Some(of_values) = frozen(&plain).filter(|f| f.scheme() == Scheme::Dictionary) {
                assert_eq!(distinct, texts(of_values.distinct().unwrap()));
                assert_eq!(of_codes.width(), of_values.width());
            }
        }
    }
    assert!(cfg!(miri) || kept > 20, "{kept}");
}

#[test]
fn a_column_is_read_back_from_its_bytes() {
    let random = &mut Random(19);
    for round in 0..if cfg!(miri) { 5 } else { 200 } {
        let sql_type = random.pick(&TYPES);
        let rows = 1 + random.index(if cfg!(miri) { 50 } else { 2000 });
        let plain = column(sql_type, &values(random, sql_type, rows));
        let Some(frozen) = frozen(&plain) else { continue };
        // By way of a file.
        let path = std::env::temp_dir().join(format!("morsel-frozen-{}", std::process::id()));
        std::fs::write(&path, frozen.bytes.as_slice()).unwrap();
        let mut bytes: Buffer = std::fs::read(&path).unwrap().into_iter().collect();
        std::fs::remove_file(&path).unwrap();
        let read = |bytes: &Buffer| Frozen::read(bytes.as_slice().iter().copied().collect());
        let back = Arc::new(read(&bytes).unwrap());
        let mut scratch = Scratch::default();
        for begin in (0..rows).step_by(WINDOW) {
            let window = begin..rows.min(begin + WINDOW);
            let of = scratch.decode(0, &back, window.clone(), None);
            // SAFETY: a window of values, until the scratch memory is asked again.
            let of = unsafe { Values::new(sql_type.physical(), of, window.len()) };
            for row in window.clone() {
                assert_eq!(of.is_null(row - begin), plain.is_null(row));
                same_cell(of, row - begin, (&plain).into(), row, &format!("round {round}"));
            }
        }
        // Whatever is broken is refused, or reads as some column.
        for _ in 0..30 {
            let at = random.index(bytes.len());
            let old = std::mem::replace(&mut bytes.as_mut_slice()[at], random.below(256) as u8);
            match read(&bytes) {
                Ok(other) => {
                    let (other, rows) = (Arc::new(other), 0..WINDOW);
                    scratch.decode(1, &other, 0..rows.end.min(other.header.rows), None);
                }
                Err(error) => assert_eq!(error.state(), base::SqlState::DATA_CORRUPTED),
            }
            bytes.as_mut_slice()[at] = old;
        }
        let half: Buffer = bytes.as_slice()[..bytes.len() / 2].iter().copied().collect();
        assert!(read(&half).is_err());
    }
}

/// Texts of words, some of which are frequent, and others of any bytes that text may have, short and very long.
fn text(random: &mut Random, of_words: u64) -> String {
    const WORDS: [&str; 9] =
        ["carefully ", "final ", "requests ", "der Straße ", "東京 ", "x", "\0", "%", "furiously ironic "];
    let len = random.pick(&[0, 1, 3, 10, 10, 10, 60]);
    let piece = |random: &mut Random| match random.below(100) {
        n if n < of_words => random.pick(&WORDS).to_owned(),
        _ => char::from_u32(random.below(0x2_0000) as u32).unwrap_or('?').to_string(),
    };
    (0..len).map(|_| piece(random)).collect()
}

#[test]
fn texts_with_symbols_are_expanded_to_what_they_were() {
    let random = &mut Random(21);
    let (mut packed, mut known) = (0, None);
    for round in 0..if cfg!(miri) { 3 } else { 60 } {
        let (rows, of_words) = (1 + random.index(if cfg!(miri) { 40 } else { 4000 }), random.pick(&[0, 50, 95, 100]));
        let null_in = random.pick(&[0, 3]);
        let mut all: Vec<Value> =
            (0..rows)
                .map(|_| {
                    if null_in > 0 && random.one_in(null_in) { Value::Null } else { Value::str(text(random, of_words)) }
                })
                .collect();
        if random.one_in(4) {
            // Too long for the places of a group; or not.
            all[rows / 2] = Value::str(text(random, 100).repeat(random.pick(&[100, 5000])));
        }
        let plain = column(SqlType::Text, &all);
        let values: Values<'_> = (&plain).into();
        let Some(texts) = text::freeze(values, &Bounds::of(values, 0, rows)) else { continue };
        let mut packing = Packing::new(&texts, known.take_if(|_| random.one_in(2))).unwrap();
        known = Some(packing.symbols());
        while packing.step(&texts) {}
        let often = Arc::default();
        let Some(symbols) = packing.finish(&texts, &often) else { continue };
        packed += 1;
        let back = symbols.unpacked().unwrap();
        assert_eq!(back.bytes.as_slice(), texts.bytes.as_slice(), "round {round}");
        let symbols = Arc::new(symbols);
        let mut scratch = Scratch::default();
        for time in 0..4 {
            // After two times, and again after two more.
            assert_eq!(
                often.swap(false, std::sync::atomic::Ordering::Relaxed),
                time == 2,
                "round {round}, time {time}"
            );
            assert_eq!(symbols.has_warmed(), time == 2, "round {round}, time {time}");
            scratch.forget_texts();
            for begin in (0..rows).step_by(WINDOW) {
                let window = begin..rows.min(begin + WINDOW);
                let of = scratch.decode(0, &symbols, window.clone(), None);
                // SAFETY: a window of values, until the scratch memory is asked again.
                let of = unsafe { Values::new(Physical::Str, of, window.len()) };
                window.for_each(|row| same_cell(of, row - begin, values, row, "expanded"));
            }
        }
    }
    assert!(cfg!(miri) || packed > 20, "{packed}");
}
