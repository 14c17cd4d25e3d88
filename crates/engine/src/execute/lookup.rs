//! Rows by their primary key: a scan whose predicates say what every attribute of the key is equal to reads the rows that the
//! index finds, and nothing else. They are read as by any scan: all predicates are asked, in the order of the rows.
//!
//! Arguments decide as constants do, so a kept plan needs no form of its own for lookups.

use pipeline::ir::ScanPredicate as IrPredicate;
use storage::{Comparison, RowId, ScanOp, Snapshot};
use types::{Chunk, ColumnBuilder, SqlType, Value};

use crate::key::is_key;
/// Most keys that are looked up; a scan of more rows than this each is not slower.
const MOST_KEYS: usize = 1024;
const ROWS_A_KEY: usize = 64;

/// How many keys the predicates leave of a table; none if that is too many, or they leave some attribute open.
pub(super) fn keys(snapshot: &Snapshot, predicates: &[IrPredicate]) -> Option<usize> {
    use pipeline::ir::ScanOp as Op;
    let key = snapshot.usable_key()?;
    let values = |attribute: &usize| {
        let of = predicates.iter().filter(|p| p.attribute == *attribute);
        let counts = of.filter_map(|p| match &p.op {
            Op::Eq(_) => Some(1),
            Op::In(values) => Some(values.len()),
            _ => None,
        });
        counts.min()
    };
    let keys = key.iter().map(values).try_fold(1usize, |product, values| product.checked_mul(values?))?;
    let few = keys == 1 || keys <= MOST_KEYS && keys <= snapshot.rows() / ROWS_A_KEY;
    few.then_some(keys)
}

/// The rows that have one of the keys that the predicates leave, in their order; none if the table had better be scanned. `op`
/// is what a predicate asks in this run.
pub(super) fn rows(
    snapshot: &Snapshot,
    predicates: &[IrPredicate],
    op: impl Fn(&IrPredicate) -> ScanOp,
) -> Option<Vec<RowId>> {
    let wanted = keys(snapshot, predicates)?;
    let schema = snapshot.schema();
    let mut parts = Vec::with_capacity(schema.primary_key().len());
    for &attribute in schema.primary_key() {
        let sql_type = schema.attributes()[attribute].sql_type;
        let equal = predicates.iter().filter(|p| p.attribute == attribute).filter_map(|p| match op(p) {
            ScanOp::Compare(Comparison::Eq, value) => Some(vec![value]),
            ScanOp::In(values) => Some(values),
            _ => None,
        });
        let values = equal.min_by_key(Vec::len)?;
        if !values.iter().all(|value| value.is_null() || is_key(sql_type, value)) {
            return None;
        }
        parts.push((sql_type, values));
    }
    let mut found: Vec<RowId> = snapshot.find(product(&parts, wanted)).into_iter().flatten().collect();
    found.sort_unstable();
    found.dedup();
    Some(found)
}

/// All keys of these parts but those with a NULL, which equal nothing.
fn product(parts: &[(SqlType, Vec<Value>)], most: usize) -> Chunk {
    let mut columns: Vec<ColumnBuilder> = parts.iter().map(|(t, _)| ColumnBuilder::new(*t, most)).collect();
    let mut rows = 0;
    for number in 0..most {
        let mut rest = number;
        let key: Vec<&Value> = parts
            .iter()
            .map(|(_, values)| {
                let value = &values[rest % values.len()];
                rest /= values.len();
                value
            })
            .collect();
        if key.iter().all(|value| !value.is_null()) {
            columns.iter_mut().zip(key).for_each(|(column, value)| column.push_value(value));
            rows += 1;
        }
    }
    Chunk::new(rows, columns.into_iter().map(ColumnBuilder::finish).collect())
}
