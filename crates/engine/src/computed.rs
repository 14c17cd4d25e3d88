//! Predicates that take long to compute, as `lower(name) = 'x'`: of a column of texts, of which a chunk often has a dictionary. A scan
//! computes them once for each text that is there, and leaves out the rows of which they are not true. The pipeline computes them for
//! the rows that come: an error is that of a row, whichever text has it.

use std::sync::Arc;

use functions::ScalarFunction;
use plan::eval::is_true;
use plan::{Expr, ExprKind, Op, Plan, TableId, TableInfo};
use runtime::query::Arguments;
use storage::{Computed, ScanOp, ScanPredicate};
use types::{Physical, SqlType, Value};

/// So many rows of a table for each of a column's values, as far as is known, are worth it.
const ROWS_A_VALUE: u64 = 16;

/// A predicate of an attribute of a table.
#[derive(Debug)]
pub(crate) struct OfTexts {
    pub table: TableId,
    pub attribute: usize,
    predicate: Arc<Expr>,
}

/// Those of a plan.
pub(crate) fn of(plan: &Plan) -> Arc<[OfTexts]> {
    let mut found = Vec::new();
    let roots = std::iter::once(&plan.root).chain(plan.ctes.values().map(|cte| &cte.plan));
    roots.for_each(|root| {
        root.walk(&mut |node| {
            let Op::Scan { table, columns, predicates } = &node.op else { return };
            for predicate in predicates {
                let read = predicate.columns();
                if let Some(first) = read.first().filter(|first| read.iter().all(|other| other == *first))
                    && let Some((attribute, _)) = columns.iter().find(|(_, column)| column == first)
                    && has_few(&plan.tables[*table], *attribute)
                    && takes_long(predicate)
                {
                    found.push(OfTexts {
                        table: *table,
                        attribute: *attribute,
                        predicate: Arc::new(predicate.clone()),
                    });
                }
            }
        });
    });
    found.into()
}

/// Whether an attribute is of texts, of which there are few beside the rows.
fn has_few(table: &TableInfo, attribute: usize) -> bool {
    let is_text = table.fields.get(attribute).is_some_and(|field| field.sql_type.physical() == Physical::Str);
    let distinct = || table.statistics.column(attribute).distinct;
    is_text && distinct().is_some_and(|distinct| distinct * ROWS_A_VALUE as f64 <= table.statistics.rows() as f64)
}

/// Whether a predicate calls functions that give the same each time, and that are the same for everybody.
fn takes_long(predicate: &Expr) -> bool {
    let calls = |expr: &Expr| {
        matches!(expr.kind, ExprKind::Call(..) | ExprKind::Like { .. } | ExprKind::Cast(_) | ExprKind::TryCast(_))
    };
    let is_other = |expr: &Expr| {
        matches!(expr.kind, ExprKind::Call(ScalarFunction::ROUTINE, _) | ExprKind::Each(_) | ExprKind::Subquery(_))
    };
    predicate.any(&calls) && !predicate.any(&is_other) && !predicate.is_volatile()
}

impl OfTexts {
    /// As what a scan asks of the attribute, with this run's arguments; none if it may be true of NULL, which scans leave out.
    pub fn predicate(&self, sql_type: SqlType, arguments: Option<&Arguments>) -> Option<ScanPredicate> {
        let own = arguments.map(|arguments| Arc::new(self.predicate.with_arguments(&arguments.values)));
        let computed = OfOne(own.unwrap_or_else(|| self.predicate.clone()));
        let of_texts = !computed.may_be_true(Value::Null);
        of_texts.then(|| ScanPredicate::new(self.attribute, sql_type, ScanOp::Computed(Arc::new(computed))))
    }
}

/// A predicate of one text, with this run's arguments.
#[derive(Debug)]
struct OfOne(Arc<Expr>);

impl OfOne {
    /// Whether it is true of a value, or fails.
    fn may_be_true(&self, value: Value) -> bool {
        is_true(&self.0, &|_| value.clone()).unwrap_or(true)
    }
}

impl Computed for OfOne {
    fn may_hold(&self, text: &str) -> bool {
        self.may_be_true(Value::str(text))
    }
}
