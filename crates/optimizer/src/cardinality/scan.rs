//! Scans: rows after the pushed predicates, and what is known of the table's columns.

use catalog::{Matching, ScanOp};
use plan::{ColumnId, Compare, Expr, ExprKind, TableId};
use types::{Chunk, Column, SqlType, Value};

use super::sample::{integers, try_predicates};
use super::{ColumnProfile, Estimator, Key, Profile, back_off, drawn};

/// Of fewer rows of a sample little can be said of a table.
const FEW: usize = 32;

/// What predicates leave of a table.
struct Filtered {
    rows: f64,
    /// The selectivity of each predicate.
    each: Vec<f64>,
    /// Of some rows that satisfy them all, the bounds of each column's numbers.
    seen: Vec<Option<(f64, f64)>>,
}

impl Estimator<'_> {
    pub(super) fn scan(&mut self, table: TableId, columns: &[(usize, ColumnId)], predicates: &[Expr]) -> Profile {
        let statistics = self.tables[table].statistics.clone();
        let all = statistics.rows() as f64;
        let unique = statistics.unique_keys();
        let attributes: Vec<usize> = columns.iter().map(|c| c.0).collect();
        // Of all columns at once: a file is read for it, and for what is known of its columns.
        let is_asked = !predicates.is_empty() || statistics.identity().is_none();
        let sample = if is_asked && !attributes.is_empty() { statistics.sample(&attributes) } else { None };
        let sample = sample.filter(|sample| sample.rows() > 0);
        for &(attribute, column) in columns {
            let known = statistics.column(attribute);
            let range = match (known.min.as_ref().and_then(number), known.max.as_ref().and_then(number)) {
                (Some(low), Some(high)) => Some((low, high)),
                _ => None,
            };
            let sql_type = self.tables[table].fields.get(attribute).map_or(SqlType::Null, |f| f.sql_type);
            let distinct = match known.distinct {
                _ if unique.iter().any(|key| key == &[attribute]) => all,
                Some(distinct) => distinct.min(all),
                None => guessed_distinct(sql_type, all, range),
            };
            let distinct = distinct.max(1.0);
            let nulls = known.null_fraction.unwrap_or(0.0);
            self.set_column(
                column,
                ColumnProfile { domain: distinct, distinct, rows: all.max(1.0), nulls, range, seen: None },
            );
        }
        let Filtered { rows, each, seen } = self.filtered(table, sample.as_deref(), columns, predicates);
        for (number, &(_, column)) in columns.iter().enumerate() {
            let own = predicates.iter().zip(&each).filter(|(p, _)| p.uses(|c| c == column));
            let fraction = own.map(|(_, &f)| f).fold(1.0, f64::min);
            let mut profile = self.column(column);
            let mentioned = fraction < 1.0;
            let fixed = predicates.iter().any(|p| is_fixed(p, column));
            profile.domain = if fixed { 1.0 } else { (profile.domain * fraction).max(1.0) };
            profile.distinct =
                if mentioned { profile.domain.min(rows) } else { drawn(profile.distinct, all, rows) }.max(1.0);
            profile.rows = rows;
            if mentioned {
                // No common predicate is true of NULL.
                profile.nulls = 0.0;
            } else {
                profile.seen = seen.get(number).copied().flatten();
            }
            self.set_column(column, profile);
        }
        let name = |attribute: &usize| columns.iter().find(|(a, _)| a == attribute).map(|&(_, c)| c);
        let keys = unique.iter().filter_map(|key| {
            let columns = key.iter().map(name).collect::<Option<Vec<_>>>()?;
            let domain = if columns.len() == 1 { self.column(columns[0]).domain } else { all };
            Some(Key { columns, domain: domain.max(1.0) })
        });
        Profile { rows, keys: keys.collect() }
    }

    /// What predicates leave of a table.
    fn filtered(
        &self,
        table: TableId,
        sample: Option<&Chunk>,
        columns: &[(usize, ColumnId)],
        predicates: &[Expr],
    ) -> Filtered {
        let all = self.tables[table].statistics.rows() as f64;
        let of = |rows: f64, each: Vec<f64>| Filtered { rows: rows.max(1.0), each, seen: Vec::new() };
        if predicates.is_empty() {
            return of(all, Vec::new());
        }
        let guess: Vec<f64> = predicates.iter().map(|p| self.selectivity(p, all)).collect();
        let Some(sample) = sample else {
            return of(all * combined(&guess), guess);
        };
        let n = sample.rows() as f64;
        let exact = n >= all;
        let tried = try_predicates(predicates, columns, sample, exact);
        // What the sample says of a single predicate still counts where no row satisfies all; where it says nothing, the guess
        // does, as far as it agrees with the sample.
        let each = || -> Vec<f64> {
            let of_one = |(&tried, &guess): (&f64, &f64)| if tried > 0.0 { tried } else { guess.min(0.5 / n) };
            tried.each.iter().zip(&guess).map(of_one).collect()
        };
        if tried.survivors.len() < FEW
            && !exact
            && let Some(found) = self.looked_through(table, columns, predicates)
        {
            return Filtered { each: each(), ..found };
        }
        if tried.fraction > 0.0 || exact {
            // The number of a row is no attribute of which there are samples.
            let seen = |attribute: usize| bounds(sample.columns().get(attribute)?, &tried.survivors);
            let seen = columns.iter().map(|&(attribute, _)| seen(attribute)).collect();
            return Filtered { seen, ..of(all * tried.fraction, tried.each) };
        }
        // Fewer than about one in n rows do.
        let each = each();
        of(all * combined(&each).min(0.5 / n), each)
    }

    /// What the table itself says, if it is small and there are others: of the predicates that compare columns with constants all
    /// rows, of the others some of those that are left.
    fn looked_through(&self, table: TableId, columns: &[(usize, ColumnId)], predicates: &[Expr]) -> Option<Filtered> {
        let statistics = &self.tables[table].statistics;
        let is_told = |attribute: &usize| {
            let own = columns.iter().find(|(known, _)| known == attribute);
            own.is_some_and(|(_, column)| predicates.iter().any(|predicate| is_fixed(predicate, *column)))
        };
        // Of one table there is nothing to order, and of one row nothing to count.
        if self.tables.len() == 1 || statistics.unique_keys().iter().any(|key| key.iter().all(is_told)) {
            return None;
        }
        let asked: Vec<Option<(usize, ScanOp)>> = predicates.iter().map(|p| scan_op(p, columns)).collect();
        let rest = predicates.iter().zip(&asked).filter(|(_, asked)| asked.is_none());
        let rest: Vec<Expr> = rest.map(|(predicate, _)| predicate.clone()).collect();
        if rest.len() == predicates.len() {
            return None;
        }
        let asked: Vec<(usize, ScanOp)> = asked.into_iter().flatten().collect();
        let attributes: Vec<usize> = columns.iter().map(|column| column.0).collect();
        let Matching { rows, sample } = statistics.matching(&asked, &attributes)?;
        let numbered: Vec<(usize, ColumnId)> =
            columns.iter().enumerate().map(|(at, &(_, column))| (at, column)).collect();
        let tried = try_predicates(&rest, &numbered, &sample, rows == sample.rows() as u64);
        let fraction = if sample.rows() == 0 { 0.0 } else { tried.fraction.max(0.5 / sample.rows() as f64) };
        let seen = (0..columns.len()).map(|at| bounds(sample.column(at), &tried.survivors)).collect();
        Some(Filtered { rows: (rows as f64 * fraction).max(1.0), each: Vec::new(), seen })
    }
}

/// A predicate as one of a column and constants, if it is such a one.
fn scan_op(predicate: &Expr, columns: &[(usize, ColumnId)]) -> Option<(usize, ScanOp)> {
    let attribute = |column: ColumnId| columns.iter().find(|(_, own)| *own == column).map(|(attribute, _)| *attribute);
    match &predicate.kind {
        ExprKind::Compare(op, left, right) => {
            let (column, op, other) = match left.as_column() {
                Some(column) => (column, *op, right),
                None => (right.as_column()?, op.swapped(), left),
            };
            let (ExprKind::Const(value) | ExprKind::Argument(_, value)) = &other.kind else { return None };
            let form = |of: SqlType| (of.physical(), of.scale());
            let is_of_type = form(left.sql_type) == form(right.sql_type) && !value.is_null();
            is_of_type.then_some((attribute(column)?, ScanOp::Compare(op.of_scan()?, value.clone())))
        }
        ExprKind::InList(input, values) => Some((attribute(input.as_column()?)?, ScanOp::In(values.clone()))),
        _ => None,
    }
}

/// The bounds of the numbers in some rows.
fn bounds(column: &Column, rows: &[usize]) -> Option<(f64, f64)> {
    let numbers = integers(column)?;
    let is_null = |&&row: &&usize| column.nulls().is_some_and(|nulls| nulls[row] != 0);
    let of_rows = || rows.iter().filter(|row| !is_null(row)).map(|&row| numbers[row]);
    Some((of_rows().min()? as f64, of_rows().max()? as f64))
}

fn combined(selectivities: &[f64]) -> f64 {
    let mut sorted = selectivities.to_vec();
    sorted.sort_by(f64::total_cmp);
    back_off(sorted)
}

/// Whether the predicate fixes the column to one constant.
fn is_fixed(predicate: &Expr, column: ColumnId) -> bool {
    let ExprKind::Compare(Compare::Eq | Compare::NotDistinct, a, b) = &predicate.kind else { return false };
    let fixes = |a: &Expr, b: &Expr| a.as_column() == Some(column) && b.as_constant().is_some();
    fixes(a, b) || fixes(b, a)
}

/// Distinct values without a sketch: integers are often keys, others seldom.
fn guessed_distinct(sql_type: SqlType, rows: f64, range: Option<(f64, f64)>) -> f64 {
    let span = range.map_or(f64::INFINITY, |(low, high)| high - low + 1.0);
    match sql_type {
        SqlType::Bool => rows.min(2.0),
        SqlType::Enum(of) => rows.min(of.labels().iter().len() as f64),
        SqlType::SmallInt | SqlType::Integer | SqlType::BigInt | SqlType::Date => rows.min(span),
        _ => ColumnProfile::unknown(rows).distinct,
    }
}

/// The value's place on the number line (of its type).
pub(super) fn number(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Bool(b) => f64::from(u8::from(*b)),
        Value::Int(v) | Value::Time(v) | Value::Timestamp(v) => *v as f64,
        Value::Decimal(v) => *v as f64,
        Value::Float(v) if v.is_finite() => *v,
        Value::Date(v) | Value::Enum(v) => f64::from(*v),
        Value::Interval(v) => v.approximate_micros() as f64,
        _ => return None,
    })
}
