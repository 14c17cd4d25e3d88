use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{ArrayRef, Decimal128Array, Float64Array, Int32Array, RecordBatch, StringArray};
use base::Random;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{WriterProperties, WriterVersion};
use types::{Chunk, Value};

use crate::parquet_in::open_parquet_bytes;
use crate::source::{FileSource, Step, read_all};

/// A file of small pages: integers, texts of few and of many values, doubles, decimals and lists, some NULL.
fn file(random: &mut Random, version: WriterVersion, rows: usize) -> Arc<dyn FileSource> {
    let mut some = |most: u64| (0..rows).map(|_| (!random.one_in(7)).then(|| random.below(most))).collect::<Vec<_>>();
    let integers: Int32Array = some(1000).into_iter().map(|n| n.map(|n| n as i32)).collect();
    let few: StringArray = some(5).into_iter().map(|n| n.map(|n| format!("value {n}"))).collect();
    let many: StringArray = some(1 << 40).into_iter().map(|n| n.map(|n| format!("a longer text {n}"))).collect();
    let doubles: Float64Array = some(1 << 30).into_iter().map(|n| n.map(|n| n as f64 / 3.0)).collect();
    let decimals: Decimal128Array = some(1 << 20).into_iter().map(|n| n.map(i128::from)).collect();
    let mut lists = ListBuilder::new(Int32Builder::new());
    for length in some(4) {
        (0..length.unwrap_or(0)).for_each(|at| lists.values().append_value(at as i32));
        lists.append(length.is_some());
    }
    let decimals = decimals.with_precision_and_scale(12, 2).unwrap();
    let columns: [(&str, ArrayRef); 6] = [
        ("i", Arc::new(integers)),
        ("few", Arc::new(few)),
        ("many", Arc::new(many)),
        ("d", Arc::new(doubles)),
        ("p", Arc::new(decimals)),
        ("l", Arc::new(lists.finish())),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_data_page_row_count_limit(11)
        .set_write_batch_size(4)
        .set_max_row_group_row_count(Some(rows / 2))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    open_parquet_bytes("t", writer.into_inner().unwrap().into()).unwrap()
}

fn rows_of(chunk: &Chunk) -> Vec<Vec<Value>> {
    (0..chunk.rows()).map(|row| chunk.row(row)).collect()
}

#[test]
fn what_is_not_asked_first_is_read_of_wanted_rows_only() {
    let mut random = Random(4);
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let source = file(&mut random, version, 400);
        let all = (0..6).collect::<Vec<_>>();
        let expected: Vec<Vec<Value>> = read_all(&source, &all).unwrap().iter().flat_map(rows_of).collect();
        for _ in 0..200 {
            // Columns in any order, some twice, of which some are asked.
            let columns: Vec<usize> = (0..1 + random.index(7)).map(|_| random.index(6)).collect();
            let asked: Vec<usize> = (0..random.index(3)).map(|_| random.index(columns.len())).collect();
            let wanted = 1 + random.below(6);
            let mut at = 0;
            for morsel in 0..source.morsels() {
                let mut reader = source.clone().read(morsel, &columns, &[], 1 + random.index(40)).unwrap();
                reader.ask_first(&asked);
                loop {
                    let from = at;
                    let step = reader.step_if(&mut |chunk| {
                        let of_row =
                            |row: &Vec<Value>| asked.iter().map(|&c| row[columns[c]].clone()).collect::<Vec<_>>();
                        let shown = expected[from..from + chunk.rows()].iter().map(of_row).collect::<Vec<_>>();
                        assert_eq!(rows_of(chunk), shown, "{columns:?}, asked {asked:?}");
                        let is_wanted = random.one_in(wanted);
                        at += if is_wanted { 0 } else { chunk.rows() };
                        Ok(is_wanted)
                    });
                    match step.unwrap() {
                        Step::Chunk(chunk) => {
                            let of_row = |row: &Vec<Value>| columns.iter().map(|&c| row[c].clone()).collect::<Vec<_>>();
                            let shown = expected[at..at + chunk.rows()].iter().map(of_row).collect::<Vec<_>>();
                            assert_eq!(rows_of(&chunk), shown, "{columns:?}, asked {asked:?}");
                            at += chunk.rows();
                        }
                        Step::End => break,
                        Step::More | Step::Wait(_) => {}
                    }
                }
            }
            assert_eq!(at, expected.len());
        }
    }
}
