//! Encoded keys of an index beside the comparison of SQL values: random values around the edges of their types, in columns of all
//! kinds, ascending and descending, with NULLs at both ends and without.

use std::cmp::Ordering;
use std::ops::Bound;

use base::{Budget, Random, Result};
use index::{Absent, Key, Part, RowKeys, Tree, Unsynchronised, WithRow};
use types::ops::uuid;
use types::{Interval, Value};

const KINDS: usize = 10;

fn integer(random: &mut Random) -> i64 {
    let edges = [0, 1, -1, i64::MIN, i64::MAX, i64::from(i32::MIN), i64::from(i32::MAX), 255, 256, -256];
    if random.one_in(2) { random.pick(&edges).wrapping_add(random.below(3) as i64 - 1) } else { random.wide() as i64 }
}

fn float(random: &mut Random) -> f64 {
    let edges = [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 5e-324, -5e-324];
    if random.one_in(2) { random.pick(&edges) } else { f64::from_bits(random.bits()) }
}

fn text(random: &mut Random) -> String {
    let letters = ['\0', '\u{1}', 'a', 'b', 'é', '\u{10ffff}', '~'];
    (0..random.below(5)).map(|_| random.pick(&letters)).collect()
}

fn value(random: &mut Random, kind: usize) -> Value {
    match kind {
        0 => Value::Bool(random.one_in(2)),
        1 => Value::Int(i64::from(integer(random) as i16)),
        2 => Value::Int(i64::from(integer(random) as i32)),
        3 => Value::Int(integer(random)),
        4 => Value::Decimal(random.wide()),
        5 => Value::Float(float(random)),
        6 => Value::str(text(random)),
        7 => Value::Date(integer(random) as i32),
        8 => Value::Uuid(uuid::of_stored(random.wide())),
        _ => {
            let [months, days] = [(); 2].map(|()| random.below(5) as i32 - 2);
            let (day, any) = (86_400_000_000, integer(random));
            Value::Interval(Interval { months, days, micros: random.pick(&[0, 1, -1, day, -30 * day, any]) })
        }
    }
}

/// What a table's index would do with a value of a column.
fn encode(key: &mut Key<'_>, part: Part, kind: usize, value: &Value) {
    match value {
        Value::Null => key.absent(part),
        Value::Bool(value) => key.bool(part, *value),
        Value::Int(value) if kind == 1 => key.i16(part, *value as i16),
        Value::Int(value) if kind == 2 => key.i32(part, *value as i32),
        Value::Int(value) | Value::Time(value) | Value::Timetz(value) | Value::Timestamp(value) => {
            key.i64(part, *value)
        }
        Value::Decimal(value) => key.i128(part, *value),
        Value::Float(value) => key.f64(part, *value),
        Value::Str(text) => key.bytes(part, text.as_bytes()),
        Value::Date(value) | Value::Enum(value) => key.i32(part, *value),
        Value::Interval(value) => key.i128(part, value.approximate_micros()),
        Value::Uuid(value) => key.i128(part, uuid::stored(*value)),
    };
}

/// The order that ORDER BY would have.
fn compare(part: Part, a: &Value, b: &Value) -> Ordering {
    let first = part.absent == Some(Absent::First);
    match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => {
            if first {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (_, Value::Null) => {
            if first {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
        _ => {
            let order = a.total_cmp(b);
            if part.descending { order.reverse() } else { order }
        }
    }
}

struct Columns(Vec<(usize, Part)>);

impl Columns {
    fn random(random: &mut Random) -> Self {
        let part = |random: &mut Random| Part {
            descending: random.one_in(2),
            absent: random.pick(&[None, Some(Absent::First), Some(Absent::Last)]),
        };
        Self((0..1 + random.index(3)).map(|_| (random.index(KINDS), part(random))).collect())
    }

    fn row(&self, random: &mut Random) -> Vec<Value> {
        let column = |(kind, part): &(usize, Part)| {
            if part.absent.is_some() && random.one_in(4) { Value::Null } else { value(random, *kind) }
        };
        self.0.iter().map(column).collect()
    }

    fn encode(&self, row: &[Value]) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.0.iter().zip(row).for_each(|((kind, part), value)| encode(&mut Key(&mut bytes), *part, *kind, value));
        bytes
    }

    fn compare(&self, a: &[Value], b: &[Value]) -> Ordering {
        let orders = self.0.iter().zip(a.iter().zip(b)).map(|((_, part), (a, b))| compare(*part, a, b));
        orders.fold(Ordering::Equal, Ordering::then)
    }
}

/// Rows of random columns, whose bytes must be in the order of their values, none of them the beginning of another's; and the
/// index of these rows, which must be in the order of the rows.
pub(super) fn check(random: &mut Random) -> Result<()> {
    let columns = Columns::random(random);
    let rows: Vec<_> = (0..16).map(|_| columns.row(random)).collect();
    let keys = WithRow(Encoded(rows.iter().map(|row| columns.encode(row)).collect()));
    for (a, of_a) in rows.iter().zip(&keys.0.0) {
        for (b, of_b) in rows.iter().zip(&keys.0.0) {
            assert_eq!(of_a.cmp(of_b), columns.compare(a, b), "{a:?} {b:?} by {:?}", columns.0);
            assert!(of_a == of_b || !of_a.starts_with(of_b), "{a:?} begins with {b:?}");
        }
    }
    let mut tree = Tree::<Unsynchronised>::new(&Budget::new(usize::MAX));
    let mut writer = tree.writer_mut(&keys);
    let mut sorted: Vec<u64> = (0..rows.len() as u64).collect();
    sorted.iter().try_for_each(|&row| writer.insert(&keys.key(row), row).map(drop))?;
    sorted.sort_by(|&a, &b| columns.compare(&rows[a as usize], &rows[b as usize]));
    assert!(writer.range(Bound::Unbounded, Bound::Unbounded).eq(sorted), "{rows:?} by {:?}", columns.0);
    Ok(())
}

struct Encoded(Vec<Vec<u8>>);

impl RowKeys for Encoded {
    type Key<'a> = &'a [u8];
    const PREFIX_FREE: bool = true;
    fn key(&self, row: u64) -> &[u8] {
        &self.0[row as usize]
    }
}
