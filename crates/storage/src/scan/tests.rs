//! Kernels against a row-at-a-time reference.

use std::sync::Arc;

use base::Random;
use types::{SqlType, Value};

use super::*;
use crate::statistics::Bounds;
use crate::testing::{TYPES, column, value};

/// SQL's answer for one value.
fn holds(op: &ScanOp, v: &Value) -> bool {
    let cmp = |c: &Value| v.total_cmp(c);
    match op {
        ScanOp::IsNull => v.is_null(),
        ScanOp::IsNotNull => !v.is_null(),
        _ if v.is_null() => false,
        ScanOp::Compare(_, c) if c.is_null() => false,
        ScanOp::Compare(Comparison::Eq, c) => cmp(c).is_eq(),
        ScanOp::Compare(Comparison::Ne, c) => cmp(c).is_ne(),
        ScanOp::Compare(Comparison::Lt, c) => cmp(c).is_lt(),
        ScanOp::Compare(Comparison::Le, c) => cmp(c).is_le(),
        ScanOp::Compare(Comparison::Gt, c) => cmp(c).is_gt(),
        ScanOp::Compare(Comparison::Ge, c) => cmp(c).is_ge(),
        ScanOp::Between { low, high } => {
            low.as_ref().is_none_or(|(c, i)| !c.is_null() && if *i { cmp(c).is_ge() } else { cmp(c).is_gt() })
                && high.as_ref().is_none_or(|(c, i)| !c.is_null() && if *i { cmp(c).is_le() } else { cmp(c).is_lt() })
        }
        ScanOp::Listed(numbers) => numbers.iter().any(|n| cmp(&Value::Int(*n)).is_eq()),
        ScanOp::In(list) => list.iter().any(|c| !c.is_null() && cmp(c).is_eq()),
        ScanOp::Keys { least, greatest, bits } => {
            let number = match v {
                Value::Int(i) => (*i).into(),
                Value::Date(d) => (*d).into(),
                Value::Decimal(d) => *d,
                _ => unreachable!("keys are numbers"),
            };
            let bit = |bits: &Arc<[u64]>| {
                let at = (number - i128::from(*least)) as usize;
                bits[at / 64] >> (at % 64) & 1 == 1
            };
            (i128::from(*least)..=i128::from(*greatest)).contains(&number) && bits.as_ref().is_none_or(bit)
        }
        ScanOp::Like { pattern, negated } => {
            matches!(v, Value::Str(s) if pattern.matches(s) == Ok(!negated))
        }
        ScanOp::Prefix(prefix) => matches!(v, Value::Str(s) if s.starts_with(prefix.as_str())),
        ScanOp::Computed(computed) => matches!(v, Value::Str(s) if computed.may_hold(s)),
    }
}

fn random_op(random: &mut Random, sql_type: SqlType, distinct: u64) -> ScanOp {
    use Comparison::*;
    let constant = |random: &mut Random| match random.below(30) {
        0 => Value::Null,
        _ => value(random, sql_type, distinct),
    };
    let is_number = matches!(
        sql_type,
        SqlType::SmallInt | SqlType::Integer | SqlType::BigInt | SqlType::Date | SqlType::Decimal { .. }
    );
    match random.below(15) {
        11 | 12 if is_number => {
            let (least, span) = (random.below(60) as i64 - 30, random.below(200) as i64 - 1);
            let least = [least, least, i64::MIN, i64::MAX - 200][random.index(4)];
            let words = ((span + 1) as u64).div_ceil(64);
            // Bits behind the greatest key are 0.
            let word = |n: u64, random: &mut Random| {
                random.bits() & (u64::MAX >> (64 * (n + 1)).saturating_sub((span + 1) as u64))
            };
            let bits = (random.below(2) == 0).then(|| (0..words).map(|n| word(n, random)).collect());
            ScanOp::Keys { least, greatest: least + span, bits }
        }
        0..=4 => {
            let op = [Eq, Ne, Lt, Le, Gt, Ge][random.index(6)];
            ScanOp::Compare(op, constant(random))
        }
        5 | 6 => {
            let bound = |random: &mut Random| (random.below(5) > 0).then(|| (constant(random), random.below(2) == 0));
            ScanOp::Between { low: bound(random), high: bound(random) }
        }
        7 | 8 => {
            let n = [0, 1, 3, 8, 40][random.index(5)];
            ScanOp::In((0..n).map(|_| constant(random)).collect())
        }
        9 => ScanOp::IsNull,
        10 => ScanOp::IsNotNull,
        13 if sql_type == SqlType::Text => {
            ScanOp::Like { pattern: crate::testing::pattern(random), negated: random.below(2) == 0 }
        }
        _ if sql_type == SqlType::Text => {
            let text = ["", "p", "prefix 1", "a rather long text, number 2", "xxx", "-"][random.index(6)];
            ScanOp::Prefix(text.to_owned())
        }
        _ => ScanOp::Compare(Ge, constant(random)),
    }
}

#[test]
fn kernels_agree_with_the_reference() {
    let random = &mut Random(7);
    let all = [
        Level::Baseline,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2,
        #[cfg(target_arch = "x86_64")]
        Level::Avx512,
    ];
    let levels: Vec<Level> = all.into_iter().filter(|&l| l <= level()).collect();
    let (rounds, most) = if cfg!(miri) { (12, 100) } else { (900, 3000) };
    for round in 0..rounds {
        let rows = 1 + random.index(most);
        let distinct = [1, 2, 5, 30, 3000, 1 << 40][random.index(6)];
        let null_in = [0, 0, 2, 10][random.index(4)];
        let columns: Vec<(SqlType, Vec<Value>)> = (0..3)
            .map(|_| {
                let sql_type = random.pick(&TYPES);
                let value = |_| match null_in {
                    n if n > 0 && random.below(n) == 0 => Value::Null,
                    _ => value(random, sql_type, distinct),
                };
                (sql_type, (0..rows).map(value).collect())
            })
            .collect();
        let stored: Vec<_> = columns.iter().map(|(t, v)| column(*t, v)).collect();
        let refs: Vec<_> = stored.iter().map(ColumnRef::of).collect();
        let bounds: Vec<_> = stored.iter().map(|c| Bounds::of(c.into(), 0, rows)).collect();
        let ops: Vec<(usize, ScanOp)> = (0..random.below(4))
            .map(|_| {
                let attribute = random.index(3);
                (attribute, random_op(random, columns[attribute].0, distinct))
            })
            .collect();
        let predicates: Vec<_> = ops.iter().map(|(a, op)| ScanPredicate::new(*a, columns[*a].0, op.clone())).collect();
        let matches = |row: usize| ops.iter().all(|(a, op)| holds(op, &columns[*a].1[row]));
        if !may_match(&predicates, &bounds) {
            assert!(!(0..rows).any(matches), "round {round}: wrongly skipped, {ops:?} {bounds:?}");
        }
        let mut begin = 0;
        while begin < rows {
            let end = rows.min(begin + 1 + random.below(MAX_BATCH as u64) as usize);
            // Sometimes exactly as much room as is needed, so that the portable code runs as well.
            let room = if round % 5 == 0 { end - begin } else { MAX_BATCH };
            let mut out = vec![u32::MAX; room];
            // SAFETY: the columns live until the end of the round and have `rows` rows.
            let count = unsafe { select_with(levels[round % levels.len()], &predicates, &refs, begin, end, &mut out) };
            let expected: Vec<u32> = (begin..end).filter(|&r| matches(r)).map(|r| (r - begin) as u32).collect();
            assert_eq!(&out[..count], expected, "round {round}, rows {begin}..{end} of {ops:?}");
            begin = end;
        }
    }
}

#[test]
fn constants_out_of_range_and_empty_ranges_match_nothing() {
    let stored = column(SqlType::SmallInt, &[Value::Int(i16::MAX.into()), Value::Int(i16::MIN.into())]);
    let count = |op: ScanOp| {
        let predicate = ScanPredicate::new(0, SqlType::SmallInt, op);
        let mut out = [0; 64];
        // SAFETY: the column has two rows.
        unsafe { select(&[predicate], &[ColumnRef::of(&stored)], 0, 2, &mut out) }
    };
    use Comparison::*;
    for (op, constant, expected) in [
        (Eq, 40_000, 0),
        (Ne, 40_000, 2),
        (Lt, 40_000, 2),
        (Gt, 40_000, 0),
        (Gt, -40_000, 2),
        (Gt, 32_767, 0),
        (Lt, -32_768, 0),
        (Ge, 32_767, 1),
    ] {
        assert_eq!(count(ScanOp::Compare(op, Value::Int(constant))), expected, "{op:?} {constant}");
    }
}
