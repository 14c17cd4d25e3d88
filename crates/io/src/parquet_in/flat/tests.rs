//! Files as writers of all kinds make them, beside the arrays that were written.

use std::sync::Arc;

use ::types::{Chunk, Value};
use arrow_array::types::TimestampMillisecondType;
use arrow_array::*;
use arrow_schema::{Field, Schema};
use base::{Random, SqlState};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};

use crate::arrow_in::column_of;
use crate::parquet_in::open_parquet_bytes;
use crate::source::read_all;

/// Columns of all types that are read here, and some that are not.
fn batch(random: &mut Random, rows: usize, distinct: u64, nulls: u64) -> RecordBatch {
    let mut numbers = |limit: u64| -> Vec<Option<i64>> {
        let limit = limit.min(distinct);
        (0..rows).map(|_| (!random.chance(nulls)).then(|| random.below(limit) as i64 - limit as i64 / 2)).collect()
    };
    let text = |n: Option<i64>| {
        n.map(|n| ["", "short", "é", "of thirteen b"][n.unsigned_abs() as usize % 4].to_owned() + &n.to_string())
    };
    let decimals = |p, s, of: Vec<Option<i64>>| {
        let of: Decimal128Array = of.into_iter().map(|n| n.map(i128::from)).collect();
        Arc::new(of.with_precision_and_scale(p, s).unwrap()) as ArrayRef
    };
    let millis: PrimitiveArray<TimestampMillisecondType> = numbers(1 << 40).into_iter().collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("small", Arc::new(numbers(100).into_iter().map(|n| n.map(|n| n as i16)).collect::<Int16Array>())),
        ("int", Arc::new(numbers(1 << 31).into_iter().map(|n| n.map(|n| n as i32)).collect::<Int32Array>())),
        ("date", Arc::new(numbers(5000).into_iter().map(|n| n.map(|n| n as i32)).collect::<Date32Array>())),
        ("unsigned", Arc::new(numbers(9).into_iter().map(|n| n.map(|n| n as u32)).collect::<UInt32Array>())),
        ("big", Arc::new(numbers(1 << 60).into_iter().collect::<Int64Array>())),
        ("wide", Arc::new(numbers(1 << 60).into_iter().map(|n| n.map(|n| n as u64)).collect::<UInt64Array>())),
        ("float", Arc::new(numbers(1 << 20).into_iter().map(|n| n.map(|n| n as f32)).collect::<Float32Array>())),
        ("double", Arc::new(numbers(1 << 50).into_iter().map(|n| n.map(|n| n as f64)).collect::<Float64Array>())),
        ("bool", Arc::new(numbers(3).into_iter().map(|n| n.map(|n| n > 0)).collect::<BooleanArray>())),
        ("millis", Arc::new(millis)),
        ("d5", decimals(5, 1, numbers(9999))),
        ("d15", decimals(15, 2, numbers(1 << 40))),
        ("d30", decimals(30, 3, numbers(1 << 60))),
        ("text", Arc::new(numbers(1 << 20).into_iter().map(text).collect::<StringArray>())),
        ("large", Arc::new(numbers(7).into_iter().map(text).collect::<LargeStringArray>())),
    ];
    let nullable = nulls > 0;
    let fields: Vec<Field> = columns.iter().map(|(n, c)| Field::new(*n, c.data_type().clone(), nullable)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, c)| c).collect()).unwrap()
}

fn written(batch: &RecordBatch, properties: WriterProperties) -> Bytes {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap().into()
}

fn properties(random: &mut Random) -> WriterProperties {
    let version = random.pick(&[WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]);
    let properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_compression(random.pick(&[Compression::SNAPPY, Compression::UNCOMPRESSED]))
        .set_statistics_enabled(random.pick(&[EnabledStatistics::Page, EnabledStatistics::None]))
        .set_dictionary_enabled(random.chance(75))
        // Small ones are given up in the middle.
        .set_dictionary_page_size_limit(random.pick(&[100, 2000, 1 << 20]))
        .set_data_page_row_count_limit(random.pick(&[10, 300, 20_000]))
        .set_write_batch_size(random.pick(&[10, 64, 1024]))
        .set_max_row_group_row_count(Some(random.pick(&[150, 1000, 100_000])));
    match random.below(4) {
        0 => properties.set_column_encoding("big".into(), Encoding::DELTA_BINARY_PACKED),
        1 => properties.set_column_encoding("text".into(), Encoding::DELTA_LENGTH_BYTE_ARRAY),
        _ => properties,
    }
    .build()
}

#[test]
fn pages_are_read_as_what_was_written() {
    let mut random = Random(21);
    for _ in 0..60 {
        let (rows, distinct) = (random.pick(&[1, 7, 300, 3000]), random.pick(&[1, 2, 20, 1 << 62]));
        let nulls = random.pick(&[0, 1, 30, 100]);
        let batch = batch(&mut random, rows, distinct, nulls);
        let properties = properties(&mut random);
        let source = open_parquet_bytes("t", written(&batch, properties)).unwrap();
        for (at, array) in batch.columns().iter().enumerate() {
            let expected = column_of(&**array).unwrap();
            let chunks = read_all(&source, &[at]).unwrap();
            assert_eq!(chunks.iter().map(Chunk::rows).sum::<usize>(), rows);
            let got = chunks.iter().flat_map(|c| (0..c.rows()).map(|row| c.column(0).value(row)));
            for (row, got) in got.enumerate() {
                assert_eq!(got, expected.value(row), "{row} of {}", batch.schema().field(at).name());
            }
        }
    }
}

#[test]
fn first_values_of_unsigned_integers_may_be_long() {
    // As DuckDB writes them: 64 bits, of a column of 32.
    let unsigned: ArrayRef = Arc::new(UInt32Array::from_iter_values((0..500).map(|i| 3_000_000_000 + i)));
    let batch = RecordBatch::try_from_iter([("u", unsigned)]).unwrap();
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(false);
    let bytes = written(&batch, properties.build());
    // Blocks of 128, 4 miniblocks, 500 values, and the first one as 32 bits.
    let header = |first: i64| {
        let mut bytes = vec![0x80, 0x01, 0x04, 0xf4, 0x03];
        let mut number = (first << 1 ^ first >> 63) as u64;
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    };
    let (short, long) = (header(i64::from(3_000_000_000u32 as i32)), header(3_000_000_000));
    let at = bytes.windows(short.len()).position(|w| w == short).expect("the page");
    assert_eq!(long.len(), short.len(), "the page keeps its length");
    let changed = [&bytes[..at], &long, &bytes[at + short.len()..]].concat();
    for bytes in [bytes.clone(), changed.into()] {
        let chunks = read_all(&open_parquet_bytes("t", bytes).unwrap(), &[0]).unwrap();
        assert_eq!(chunks[0].column(0).value(0), Value::Int(3_000_000_000));
        assert_eq!(chunks[0].column(0).value(499), Value::Int(3_000_000_499));
    }
}

#[test]
fn texts_are_utf_8() {
    for texts in [vec![b"ab".to_vec(), vec![0xff]], vec![b"ab".to_vec(), vec![0xc3], vec![0xa9]]] {
        for dictionary in [false, true] {
            let bytes: ArrayRef = Arc::new(BinaryArray::from_iter_values(&texts));
            let good: ArrayRef = Arc::new(StringArray::from_iter_values(texts.iter().map(|_| "x")));
            let properties = WriterProperties::builder().set_dictionary_enabled(dictionary).build();
            let of = |array: &ArrayRef| {
                let batch = RecordBatch::try_from_iter([("t", array.clone())]).unwrap();
                written(&batch, properties.clone())
            };
            // SAFETY: the reader has to find out that this is no text.
            let broken =
                unsafe { bytes.to_data().into_builder().data_type(good.data_type().clone()).build_unchecked() };
            let source = open_parquet_bytes("t", of(&make_array(broken))).unwrap();
            assert_eq!(read_all(&source, &[0]).unwrap_err().state(), SqlState::DATA_CORRUPTED);
        }
    }
}
