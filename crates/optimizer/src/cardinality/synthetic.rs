//! Tables with known contents for tests: a small imitation of TPC-H with correlated columns and skew.

use std::any::Any;
use std::collections::HashSet;
use std::sync::Arc;

use base::Result;
use catalog::{ColumnStatistics, Field, Statistics};
use plan::{Plan, TableInfo, TableSource};
use types::{Chunk, ColumnBuilder, SqlType, Value};

/// Rows of the largest table at scale 1.
pub(crate) const LINES: i64 = 60_000;

#[derive(Debug)]
pub(crate) struct Table {
    pub rows: Vec<Vec<i64>>,
    /// How many rows there are for each one in `rows`, as far as the optimizer knows.
    pub times: u64,
    pub key: Vec<usize>,
    sample: Arc<Chunk>,
    columns: Vec<ColumnStatistics>,
}

impl Statistics for Table {
    fn rows(&self) -> u64 {
        self.rows.len() as u64 * self.times
    }
    fn sample(&self, _attributes: &[usize]) -> Option<Arc<Chunk>> {
        Some(self.sample.clone())
    }
    fn column(&self, attribute: usize) -> ColumnStatistics {
        self.columns[attribute].clone()
    }
    fn unique_keys(&self) -> Vec<Vec<usize>> {
        if self.key.is_empty() { Vec::new() } else { vec![self.key.clone()] }
    }
}

impl Table {
    pub fn new(rows: Vec<Vec<i64>>, key: &[usize]) -> Self {
        let width = rows[0].len();
        let step = (rows.len() / 1000).max(1);
        let sampled: Vec<&Vec<i64>> = rows.iter().step_by(step).take(1024).collect();
        let columns = (0..width).map(|c| {
            let mut builder = ColumnBuilder::new(SqlType::BigInt, sampled.len());
            sampled.iter().for_each(|r| builder.push(r[c]));
            builder.finish()
        });
        let sample = Arc::new(Chunk::new(sampled.len(), columns.collect()));
        let columns = (0..width).map(|c| ColumnStatistics {
            distinct: Some(rows.iter().map(|r| r[c]).collect::<HashSet<_>>().len() as f64),
            min: rows.iter().map(|r| r[c]).min().map(Value::Int),
            max: rows.iter().map(|r| r[c]).max().map(Value::Int),
            null_fraction: Some(0.0),
        });
        let columns = columns.collect();
        Self { rows, times: 1, key: key.to_vec(), sample, columns }
    }
}

/// A number that looks random.
pub(crate) fn scramble(x: i64, n: i64) -> i64 {
    let x = (x as u64).wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((x ^ x >> 31) % n as u64) as i64
}

/// A table by name:
/// - `region` (key), `nation` (key, region), `supplier` (key, nation), `customer` (key, nation, segment of 5),
///   `part` (key, kind of 150), `partsupp` (part, supplier, cost);
/// - `orders` (key, customer, day of 2,400, priority of 5): a third of the customers has none;
/// - `lineitem` (order, part, supplier, day shipped soon after the order, day received soon after, flag of 3 that
///   follows from the day);
/// - `calendar` (day, year of 400 days): a hundred years, in six of which there are orders.
pub(crate) fn table(name: &str) -> Table {
    let generate = |n: i64, row: &dyn Fn(i64) -> Vec<i64>| (0..n).map(row).collect::<Vec<_>>();
    let orders = LINES / 4;
    let day = |order: i64| scramble(order + 7, 2400);
    match name {
        "region" => Table::new(generate(5, &|i| vec![i]), &[0]),
        "nation" => Table::new(generate(25, &|i| vec![i, i % 5]), &[0]),
        "supplier" => Table::new(generate(LINES / 600, &|i| vec![i, scramble(i, 25)]), &[0]),
        "customer" => Table::new(generate(LINES / 40, &|i| vec![i, scramble(i + 1, 25), scramble(i + 2, 5)]), &[0]),
        "part" => Table::new(generate(LINES / 30, &|i| vec![i, scramble(i + 3, 150)]), &[0]),
        "partsupp" => {
            let row = |i: i64| vec![i / 4, (i / 4 + i % 4 * 25) % (LINES / 600), scramble(i, 1000)];
            Table::new(generate(LINES * 4 / 30, &row), &[0, 1])
        }
        "orders" => {
            let row = |i: i64| {
                let customer = scramble(i + 4, LINES / 60) * 3 / 2;
                vec![i, customer, day(i), scramble(i + 5, 5)]
            };
            Table::new(generate(orders, &row), &[0])
        }
        "calendar" => Table::new(generate(40_000, &|i| vec![i - 20_000, i / 400 - 50]), &[0]),
        _ => {
            let row = |i: i64| {
                let part = scramble(i + 6, LINES / 30);
                let shipped = day(i / 4) + 1 + scramble(i + 8, 120);
                let supplier = (part + scramble(i + 9, 4) * 25) % (LINES / 600);
                let received = shipped + 1 + scramble(i, 30);
                vec![i / 4, part, supplier, shipped, received, if shipped < 1200 { scramble(i, 2) } else { 2 }]
            };
            Table::new(generate(LINES, &row), &[])
        }
    }
}

/// Parses a plan over these tables (a hundred times as large if `large`).
pub(crate) fn plan_over(text: &str, large: bool) -> Plan {
    let mut tables = |name: &str, columns: &[(usize, Field)]| -> Result<TableInfo> {
        let mut table = table(name);
        if large && !matches!(name, "region" | "nation") {
            table.times = 100;
            for (i, c) in table.columns.iter_mut().enumerate() {
                // Keys and what refers to them grow with the table.
                let grows = c.distinct.is_some_and(|d| d > 90.0) && !(i >= 2 && name != "lineitem") && i < 3;
                c.distinct = c.distinct.map(|d| if grows { d * 100.0 } else { d });
            }
        }
        let field = |i: usize| Field { name: format!("a{i}"), sql_type: SqlType::BigInt, nullable: false };
        let fields = (0..table.columns.len().max(columns.len())).map(field).collect();
        let source: Arc<dyn Any + Send + Sync> = Arc::new(());
        Ok(TableInfo {
            name: name.to_owned(),
            fields,
            computed: Vec::new(),
            statistics: Arc::new(table),
            source: TableSource(source),
        })
    };
    let plan = plan::text::parse(text, &mut tables).unwrap();
    plan::verify(&plan, true).unwrap();
    plan
}
