//! Data of TPC-H, written as Parquet or CSV: the same bytes whatever the number of threads.
//!
//! A table is cut into parts of about [`PART_ROWS`] rows, which threads generate and encode; the calling thread appends
//! them to the file in order. A part is one row group of a Parquet file.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use base::{Error, Result, SqlState};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, ArrowWriterOptions, compute_leaves};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use tpchgen::csv;
use tpchgen::generators as rows;

use crate::columns::Columns;

/// Rows of a part, and of a row group.
const PART_ROWS: u64 = 122_880;

/// Rows that become columns together.
const BATCH_ROWS: usize = 8192;

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `table.parquet`, compressed with Snappy.
    Parquet,
    /// `table.csv` with a header.
    Csv,
}

/// How far [`generate`] is: parts of a table.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The table.
    pub table: &'static str,
    /// Parts that are written.
    pub done: usize,
    /// Parts in all.
    pub parts: usize,
}

/// Writes all tables at a scale factor into a folder, and tells `report` of each part.
pub fn generate(scale: f64, folder: &Path, format: Format, mut report: impl FnMut(Step)) -> Result<()> {
    fs::create_dir_all(folder).map_err(|e| io_error(folder, &e))?;
    for &table in super::TABLES {
        let parts = super::rows(table, scale).div_ceil(PART_ROWS).max(1) as usize;
        let path = folder.join(format!("{table}.{}", if format == Format::Csv { "csv" } else { "parquet" }));
        // An interrupted run leaves no file that looks complete.
        let partial = path.with_extension("partial");
        let file = BufWriter::with_capacity(1 << 20, File::create(&partial).map_err(|e| io_error(&partial, &e))?);
        let mut step = |done| report(Step { table, done, parts });
        let written = match format {
            Format::Csv => write_csv(file, table, scale, parts, &mut step),
            Format::Parquet => write_parquet(file, table, scale, parts, &mut step),
        };
        written.map_err(|e| io_error(&partial, &e))?;
        fs::rename(&partial, &path).map_err(|e| io_error(&path, &e))?;
    }
    Ok(())
}

fn io_error(path: &Path, error: &dyn Display) -> Error {
    Error::new(SqlState::IO_ERROR, format!("{}: {error}", path.display()))
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

fn write_csv(
    mut file: impl Write,
    table: &'static str,
    scale: f64,
    parts: usize,
    step: &mut dyn FnMut(usize),
) -> Result<(), AnyError> {
    writeln!(file, "{}", header(table))?;
    in_order(
        parts,
        |part| Ok(csv_part(table, scale, part as i32 + 1, parts as i32)),
        |part, text| {
            file.write_all(&text)?;
            step(part + 1);
            Ok(())
        },
    )?;
    Ok(file.flush()?)
}

fn write_parquet(
    file: impl Write + Send,
    table: &'static str,
    scale: f64,
    parts: usize,
    step: &mut dyn FnMut(usize),
) -> Result<(), AnyError> {
    let schema = schema(table);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by("MorselDB".into())
        .set_max_row_group_row_count(None)
        .build();
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let (mut file, factory) = ArrowWriter::try_new_with_options(file, schema, options)?.into_serialized_writer()?;
    in_order(
        parts,
        |part| encode(&factory, table, scale, part, parts),
        |part, columns| {
            let mut group = file.next_row_group()?;
            for column in columns {
                column.append_to_row_group(&mut group)?;
            }
            group.close()?;
            step(part + 1);
            Ok(())
        },
    )?;
    file.close()?;
    Ok(())
}

/// One part as the columns of a row group.
fn encode(
    factory: &ArrowRowGroupWriterFactory,
    table: &'static str,
    scale: f64,
    part: usize,
    parts: usize,
) -> Result<Vec<ArrowColumnChunk>, AnyError> {
    let mut writers = factory.create_column_writers(part)?;
    for batch in batches(table, scale, part as i32 + 1, parts as i32) {
        let mut writers = writers.iter_mut();
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            for leaf in compute_leaves(field, column)? {
                writers.next().ok_or("fewer column writers than columns")?.write(&leaf)?;
            }
        }
    }
    Ok(writers.into_iter().map(|w| w.close()).collect::<Result<_, _>>()?)
}

/// Makes `parts` things on all threads and consumes them here in order; few of them wait at any time.
fn in_order<T: Send>(
    parts: usize,
    make: impl Fn(usize) -> Result<T, AnyError> + Sync,
    mut consume: impl FnMut(usize, T) -> Result<(), AnyError>,
) -> Result<(), AnyError> {
    let threads = thread::available_parallelism().map_or(1, |n| n.get()).min(parts);
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(threads);
        for _ in 0..threads {
            let (sender, next, make) = (sender.clone(), &next, &make);
            scope.spawn(move || {
                loop {
                    let part = next.fetch_add(1, Ordering::Relaxed);
                    // A send fails when the consumer gave up.
                    if part >= parts || sender.send((part, make(part))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut turn = 0;
        for (part, made) in receiver {
            waiting.insert(part, made?);
            while let Some(made) = waiting.remove(&turn) {
                consume(turn, made)?;
                turn += 1;
            }
        }
        Ok(())
    })
}

/// Calls `$then!` with the row generator, its CSV form and its rows of a table.
macro_rules! dispatch {
    ($table:expr, $then:ident) => {
        match $table {
            "region" => $then!(RegionGenerator, RegionCsv, Region),
            "nation" => $then!(NationGenerator, NationCsv, Nation),
            "supplier" => $then!(SupplierGenerator, SupplierCsv, Supplier),
            "customer" => $then!(CustomerGenerator, CustomerCsv, Customer),
            "part" => $then!(PartGenerator, PartCsv, Part),
            "partsupp" => $then!(PartSuppGenerator, PartSuppCsv, PartSupp),
            "orders" => $then!(OrderGenerator, OrderCsv, Order),
            "lineitem" => $then!(LineItemGenerator, LineItemCsv, LineItem),
            other => panic!("TPC-H has no table {other}"),
        }
    };
}

fn schema(table: &str) -> SchemaRef {
    macro_rules! schema {
        ($generator:ident, $csv:ident, $row:ident) => {
            rows::$row::columns(&[]).schema()
        };
    }
    dispatch!(table, schema)
}

fn batches(table: &str, scale: f64, part: i32, parts: i32) -> Box<dyn Iterator<Item = RecordBatch>> {
    macro_rules! batches {
        ($generator:ident, $csv:ident, $row:ident) => {{
            let mut all = rows::$generator::new(scale, part, parts).iter();
            Box::new(std::iter::from_fn(move || {
                let some: Vec<_> = all.by_ref().take(BATCH_ROWS).collect();
                (!some.is_empty()).then(|| Columns::columns(&some))
            }))
        }};
    }
    dispatch!(table, batches)
}

fn header(table: &str) -> &'static str {
    macro_rules! header {
        ($generator:ident, $csv:ident, $row:ident) => {
            csv::$csv::header()
        };
    }
    dispatch!(table, header)
}

fn csv_part(table: &str, scale: f64, part: i32, parts: i32) -> Vec<u8> {
    let mut out = Vec::new();
    macro_rules! text {
        ($generator:ident, $csv:ident, $row:ident) => {
            for row in rows::$generator::new(scale, part, parts).iter() {
                writeln!(out, "{}", csv::$csv::new(row)).expect("memory takes all")
            }
        };
    }
    dispatch!(table, text);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_whole() {
        let whole = csv_part("orders", 0.001, 1, 1);
        let parts: Vec<u8> = (1..=3).flat_map(|p| csv_part("orders", 0.001, p, 3)).collect();
        assert_eq!(whole, parts);
        assert_eq!(whole.iter().filter(|b| **b == b'\n').count(), 1500);
    }

    #[test]
    fn order_is_kept_and_errors_end_it() {
        let mut seen = Vec::new();
        in_order(50, Ok, |_, part| {
            seen.push(part);
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, (0..50).collect::<Vec<_>>());
        assert!(in_order(50, |p| if p == 7 { Err("seven".into()) } else { Ok(p) }, |_, _| Ok(())).is_err());
    }
}
