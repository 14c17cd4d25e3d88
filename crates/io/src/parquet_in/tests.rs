use std::sync::Arc;

use ::types::{Chunk, SqlType, Value};
use arrow_array::*;
use base::{Random, SqlState};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::statistics::Statistics;

use super::*;
use crate::parquet_out::ParquetWriter;
use crate::source::Step;
use crate::source::{CHUNK_ROWS, CompareOp, read_all, read_to_end};
use crate::tests::{fields, random_chunk};

fn rows(chunks: &[Chunk]) -> Vec<Vec<Value>> {
    chunks.iter().flat_map(|c| (0..c.rows()).map(|r| c.row(r)).collect::<Vec<_>>()).collect()
}

fn all(source: &Arc<dyn FileSource>) -> Result<Vec<Vec<Value>>> {
    Ok(rows(&read_all(source, &(0..source.schema().len()).collect::<Vec<_>>())?))
}

fn random_file(random: &mut Random, compression: &str) -> (Bytes, Vec<Vec<Value>>) {
    let fields: Vec<Field> = fields().into_iter().filter(|f| f.sql_type != SqlType::Interval).collect();
    let options = [("compression", compression), ("row_group_size", "100")];
    let options = options.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut writer = ParquetWriter::prepare(&fields, &options).unwrap().start(Vec::new(), None, None).unwrap();
    let mut expected = Vec::new();
    for _ in 0..3 {
        let mut columns = random_chunk(random, 200).into_columns();
        columns.pop();
        let chunk = Chunk::new(columns[0].rows(), columns);
        writer.write(&chunk).unwrap();
        expected.extend(rows(&[chunk]));
    }
    (writer.finish().unwrap().into(), expected)
}

#[test]
fn what_is_written_is_read() {
    let mut random = Random(5);
    for compression in ["zstd", "snappy", "lz4", "gzip", "none"] {
        let (bytes, expected) = random_file(&mut random, compression);
        let source = open_parquet_bytes("t", bytes).unwrap();
        assert_eq!(all(&source).unwrap(), expected);
        assert_eq!(source.exact_rows(), Some(expected.len() as u64));
        // Any columns in any order, and none at all.
        let picked = read_all(&source, &[9, 3, 9]).unwrap();
        let wanted: Vec<Vec<Value>> = expected.iter().map(|r| [9, 3, 9].map(|c| r[c].clone()).to_vec()).collect();
        assert_eq!(rows(&picked), wanted);
        assert_eq!(read_all(&source, &[]).unwrap().iter().map(Chunk::rows).sum::<usize>(), expected.len());
    }
}

#[test]
fn chunks_of_long_values_are_small() {
    let fields = [Field::new("long", SqlType::Text)];
    let mut writer = ParquetWriter::prepare(&fields, &[]).unwrap().start(Vec::new(), None, None).unwrap();
    let long = |row: usize| Value::str(format!("{row}{}", "x".repeat(500_000)));
    for from in (0..40).step_by(10) {
        let mut column = ColumnBuilder::new(SqlType::Text, 10);
        (from..from + 10).for_each(|row| column.push_value(&long(row)));
        writer.write(&Chunk::new(10, vec![column.finish()])).unwrap();
    }
    let source = open_parquet_bytes("t", writer.finish().unwrap().into()).unwrap();
    let chunks = read_all(&source, &[0]).unwrap();
    assert!(chunks.iter().all(|chunk| chunk.rows() <= 8), "{:?}", chunks.iter().map(Chunk::rows).collect::<Vec<_>>());
    assert_eq!(rows(&chunks), (0..40).map(|row| vec![long(row)]).collect::<Vec<_>>());
}

#[test]
fn row_groups_are_skipped_by_statistics() {
    let mut random = Random(6);
    let (bytes, expected) = random_file(&mut random, "zstd");
    let source = open_parquet_bytes("t", bytes).unwrap();
    let fields = source.schema().to_vec();
    let every: Vec<usize> = (0..fields.len()).collect();
    for column in every.iter().copied() {
        for op in [CompareOp::Eq, CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge, CompareOp::IsNull] {
            let constant = expected[random.index(expected.len())][column].clone();
            let holds = |row: &[Value]| {
                let order = row[column].total_cmp(&constant);
                match op {
                    CompareOp::IsNull => row[column].is_null(),
                    _ if row[column].is_null() || constant.is_null() => false,
                    CompareOp::Eq => order.is_eq(),
                    CompareOp::Lt => order.is_lt(),
                    CompareOp::Le => order.is_le(),
                    CompareOp::Gt => order.is_gt(),
                    _ => order.is_ge(),
                }
            };
            let mut got = Vec::new();
            let predicate = PrunePredicate { column, op, constant: constant.clone() };
            for morsel in 0..source.morsels() {
                let mut reader =
                    source.clone().read(morsel, &every, std::slice::from_ref(&predicate), CHUNK_ROWS).unwrap();
                read_to_end(&mut *reader, |chunk| got.push(chunk)).unwrap();
            }
            let got: Vec<_> = rows(&got).into_iter().filter(|r| holds(r)).collect();
            assert_eq!(got, expected.iter().filter(|r| holds(r)).cloned().collect::<Vec<_>>(), "{predicate:?}");
        }
    }
    let nothing = PrunePredicate { column: 2, op: CompareOp::Gt, constant: Value::Int(1 << 40) };
    assert!(matches!(source.clone().read(0, &every, &[nothing], CHUNK_ROWS).unwrap().step(), Ok(Step::End)));
    let known = source.statistics(3);
    assert_eq!(known.nulls, Some(expected.iter().filter(|r| r[3].is_null()).count() as u64));
    assert_eq!(
        known.min.as_ref(),
        expected.iter().map(|r| &r[3]).filter(|v| !v.is_null()).min_by(|a, b| a.total_cmp(b))
    );
}

#[test]
fn extremes_are_those_of_the_rows() {
    let mut random = Random(7);
    let (bytes, _) = random_file(&mut random, "none");
    let source = open_parquet_bytes("t", bytes.clone()).unwrap();
    let mut known = 0;
    for (column, field) in source.schema().iter().enumerate() {
        for morsel in 0..source.morsels() {
            let Some(extremes) = source.extremes(morsel, &[column]) else { continue };
            assert!(!matches!(field.sql_type, SqlType::Real | SqlType::Double), "NaN and -0 are unknown");
            let mut values: Vec<Value> = Vec::new();
            let mut reader = source.clone().read(morsel, &[column], &[], CHUNK_ROWS).unwrap();
            read_to_end(&mut *reader, |chunk| values.extend((0..chunk.rows()).map(|r| chunk.column(0).value(r))))
                .unwrap();
            values.retain(|v| !v.is_null());
            values.sort_by(Value::total_cmp);
            let ends =
                values.first().zip(values.last()).map_or([Value::Null, Value::Null], |(a, b)| [a.clone(), b.clone()]);
            assert_eq!([0, 1].map(|row| extremes.column(0).value(row)), ends, "{}", field.name);
            known += 1;
        }
    }
    assert!(known >= 6 * source.morsels());
    // Truncated bounds are none of the rows', and without any there is nothing to know.
    let changed = |change: &dyn Fn(i32) -> Statistics| {
        let bytes = with_row_groups(&bytes, |_, group| {
            let columns = group.columns().iter().map(|c| match c.column_type() {
                PhysicalType::INT32 => c.clone().into_builder().set_statistics(change(1)).build().unwrap(),
                _ => c.clone(),
            });
            let columns = columns.collect();
            group.into_builder().set_column_metadata(columns).build().unwrap()
        });
        let source = open_parquet_bytes("t", bytes).unwrap();
        let ints = (0..source.schema().len()).filter(|&c| source.schema()[c].sql_type == SqlType::Integer);
        ints.map(|c| source.extremes(0, &[c]).map(|chunk| chunk.column(0).value(0))).next().unwrap()
    };
    assert_eq!(changed(&|least| Statistics::int32(Some(least), Some(5), None, None, false)), Some(Value::Int(1)));
    assert_eq!(changed(&|_| Statistics::int32(Some(1), None, None, Some(0), false)), None);
    assert_eq!(changed(&|_| Statistics::int32(None, None, None, None, false)), None);
}

/// A file's metadata with other footers' numbers in it.
fn with_row_groups(bytes: &Bytes, change: impl Fn(usize, RowGroupMetaData) -> RowGroupMetaData) -> Bytes {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(bytes).unwrap();
    let groups = metadata.row_groups().iter().cloned().enumerate().map(|(g, group)| change(g, group)).collect();
    let changed = metadata.into_builder().set_row_groups(groups).build();
    let footer = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize;
    let mut out = bytes[..bytes.len() - 8 - footer].to_vec();
    ParquetMetaDataWriter::new(&mut out, &changed).finish().unwrap();
    out.into()
}

#[test]
fn deprecated_bounds_of_texts_and_unsigned_numbers_are_not_believed() {
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a", "\u{e9}"]));
    let unsigned: ArrayRef = Arc::new(UInt32Array::from(vec![1, u32::MAX]));
    let signed: ArrayRef = Arc::new(Int32Array::from(vec![-1, 7]));
    let batch = RecordBatch::try_from_iter([("t", text), ("u", unsigned), ("i", signed)]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    // As old writers compare: the bytes of \u{e9} and the largest unsigned number as negative ones.
    let old = [
        Statistics::byte_array(Some("\u{e9}".into()), Some("a".into()), None, Some(0), true),
        Statistics::int32(Some(-1), Some(1), None, Some(0), true),
        Statistics::int32(Some(-1), Some(7), None, Some(0), true),
    ];
    let bytes = with_row_groups(&writer.into_inner().unwrap().into(), |_, group| {
        let columns = group.columns().iter().zip(&old);
        let columns = columns.map(|(c, s)| c.clone().into_builder().set_statistics(s.clone()).build().unwrap());
        let columns = columns.collect();
        group.into_builder().set_column_metadata(columns).build().unwrap()
    });
    let source = open_parquet_bytes("old", bytes).unwrap();
    let found = |column, constant| {
        let mut rows = 0;
        let predicate = PrunePredicate { column, op: CompareOp::Eq, constant };
        let mut reader = source.clone().read(0, &[column], &[predicate], CHUNK_ROWS).unwrap();
        read_to_end(&mut *reader, |chunk| rows += chunk.rows()).unwrap();
        rows
    };
    assert_eq!((found(0, Value::str("b")), found(1, Value::Int(2)), found(2, Value::Int(8))), (2, 2, 0));
    let bounds = |column| source.statistics(column).min.zip(source.statistics(column).max);
    assert_eq!((bounds(0), bounds(1)), (None, None));
    assert_eq!(bounds(2), Some((Value::Int(-1), Value::Int(7))));
}

#[test]
fn a_footer_that_contradicts_itself_is_corrupt() {
    let mut random = Random(10);
    // Two groups of 100 rows, and more.
    let mut files = std::iter::repeat_with(|| random_file(&mut random, "zstd"));
    let (bytes, expected) = files.find(|(_, rows)| rows.len() >= 200).unwrap();
    assert_eq!(all(&open_parquet_bytes("t", with_row_groups(&bytes, |_, g| g)).unwrap()).unwrap(), expected);
    for rows in [1_300_000_000_000_000, -1, 7] {
        let broken = with_row_groups(&bytes, |g, group| match g {
            1 => group.into_builder().set_num_rows(rows).build().unwrap(),
            _ => group,
        });
        let error = open_parquet_bytes("t", broken).map(|_| ()).unwrap_err();
        assert_eq!(error.state(), SqlState::DATA_CORRUPTED, "{error}");
    }
}

#[test]
fn unknown_compression_is_not_supported_and_not_corrupt() {
    let (bytes, _) = random_file(&mut Random(11), "none");
    for codec in [Compression::BROTLI(Default::default()), Compression::LZO] {
        let changed = with_row_groups(&bytes, |_, group| {
            let columns =
                group.columns().iter().map(|c| c.clone().into_builder().set_compression(codec).build().unwrap());
            let columns = columns.collect();
            group.into_builder().set_column_metadata(columns).build().unwrap()
        });
        let source = open_parquet_bytes("b", changed).unwrap();
        assert_eq!(read_all(&source, &[2]).unwrap_err().state(), SqlState::FEATURE_NOT_SUPPORTED);
        assert!(read_all(&source, &[]).is_ok());
    }
}

/// Decimals in 4, 8 and 16 bytes: more digits than the type has are an error, but for rows that are NULL.
#[test]
fn decimals_have_the_digits_of_their_type() {
    for precision in [5u8, 9, 10, 18, 19, 38] {
        let most = 10i128.pow(precision.into()) - 1;
        let file = |values: Vec<Option<i128>>| {
            let decimals = Decimal128Array::from(values).with_precision_and_scale(precision, 2).unwrap();
            let batch = RecordBatch::try_from_iter([("d", Arc::new(decimals) as ArrayRef)]).unwrap();
            let mut bytes = Vec::new();
            let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
            open_parquet_bytes("d", bytes.into()).unwrap()
        };
        let source = file(vec![Some(most), None, Some(-most), Some(0)]);
        assert_eq!(source.schema()[0].sql_type, SqlType::decimal(precision, 2));
        let expected = [Value::Decimal(most), Value::Null, Value::Decimal(-most), Value::Decimal(0)];
        assert_eq!(all(&source).unwrap(), expected.map(|v| vec![v]));
        assert_eq!(source.statistics(0).max, Some(Value::Decimal(most)));
        // The type of 38 digits has room for no more in 128 bits that all writers could write.
        if precision < 38 {
            for beyond in [most + 1, -most - 1] {
                let source = file(vec![Some(1), None, Some(beyond)]);
                assert_eq!(all(&source).unwrap_err().state(), SqlState::NUMERIC_OUT_OF_RANGE, "{precision}: {beyond}");
            }
        }
    }
}

/// Arrow arrays of other types than we write.
#[test]
fn types_of_others() {
    use arrow_array::builder::*;
    use arrow_array::types::*;
    let dictionary: DictionaryArray<Int32Type> =
        ["deliver in person", "none", "deliver in person"].into_iter().collect();
    let mut fixed = Decimal256Builder::new().with_precision_and_scale(30, 5).unwrap();
    [1, -2, 3].iter().for_each(|v| fixed.append_value(arrow_buffer::i256::from_i128(*v)));
    let nested = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1)]), None, Some(vec![])]);
    let one = ::types::ops::array::encode(&[Value::Int(1)], SqlType::Integer).unwrap();
    let arrays: Vec<(&str, ArrayRef, SqlType, Vec<Value>)> = vec![
        ("i8", Arc::new(Int8Array::from(vec![1, -2, 3])), SqlType::SmallInt, [1, -2, 3].map(Value::Int).to_vec()),
        ("u8", Arc::new(UInt8Array::from(vec![1, 255, 3])), SqlType::SmallInt, [1, 255, 3].map(Value::Int).to_vec()),
        (
            "u32",
            Arc::new(UInt32Array::from(vec![1, u32::MAX, 3])),
            SqlType::BigInt,
            [1, u32::MAX as i64, 3].map(Value::Int).to_vec(),
        ),
        (
            "u64",
            Arc::new(UInt64Array::from(vec![1, u64::MAX, 3])),
            SqlType::decimal(20, 0),
            [1, u64::MAX as i128, 3].map(Value::Decimal).to_vec(),
        ),
        ("d256", Arc::new(fixed.finish()), SqlType::decimal(30, 5), [1, -2, 3].map(Value::Decimal).to_vec()),
        (
            "ns",
            Arc::new(TimestampNanosecondArray::from(vec![1_999, -1, 0]).with_timezone("UTC")),
            SqlType::Timestamptz,
            [1, -1, 0].map(Value::Timestamp).to_vec(),
        ),
        (
            "large",
            Arc::new(LargeStringArray::from(vec!["", "short", "longer than twelve bytes"])),
            SqlType::Text,
            ["", "short", "longer than twelve bytes"].map(Value::str).to_vec(),
        ),
        (
            "dictionary",
            Arc::new(dictionary),
            SqlType::Text,
            ["deliver in person", "none", "deliver in person"].map(Value::str).to_vec(),
        ),
        ("nested", Arc::new(nested), SqlType::array_of(SqlType::Integer), vec![one, Value::Null, Value::str("")]),
        (
            "binary",
            Arc::new(BinaryArray::from(vec![b"a".as_ref(), b"\xff\0", b""])),
            SqlType::Bytea,
            ["a", "\u{ff}\0", ""].map(Value::str).to_vec(),
        ),
        (
            "no uuid",
            Arc::new(FixedSizeBinaryArray::new(16, arrow_buffer::Buffer::from(vec![7u8; 48]), None)),
            SqlType::Text,
            vec![],
        ),
    ];
    let batch = RecordBatch::try_from_iter(arrays.iter().map(|(n, a, ..)| (*n, a.clone()))).unwrap();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batch.schema(), Some(WriterProperties::builder().build())).unwrap();
    writer.write(&batch).unwrap();
    let source = open_parquet_bytes("t", writer.into_inner().unwrap().into()).unwrap();
    for (i, (name, array, sql_type, expected)) in arrays.iter().enumerate() {
        assert_eq!((&*source.schema()[i].name, source.schema()[i].sql_type), (*name, *sql_type));
        match read_all(&source, &[i]) {
            Ok(chunks) => {
                assert_eq!(rows(&chunks), expected.iter().map(|v| vec![v.clone()]).collect::<Vec<_>>(), "{name}")
            }
            Err(e) => assert!(expected.is_empty() && e.state() == SqlState::FEATURE_NOT_SUPPORTED, "{name} {e}"),
        }
        if !expected.is_empty() {
            let column = arrow_in::column_of(&**array).unwrap();
            assert_eq!((0..3).map(|r| column.value(r)).collect::<Vec<_>>(), *expected, "{name}");
        }
    }
}

#[test]
fn corrupt_files_are_errors() {
    let mut random = Random(8);
    let (bytes, _) = random_file(&mut random, "snappy");
    assert_eq!(open_parquet_bytes("t", Bytes::new()).map(|_| ()).unwrap_err().state(), SqlState::DATA_CORRUPTED);
    for _ in 0..400 {
        let mut broken = bytes.to_vec();
        match random.below(3) {
            0 => broken.truncate(random.index(bytes.len())),
            1 => {
                let at = random.index(bytes.len());
                broken[at] ^= 1 << random.below(8);
            }
            _ => {
                let (at, n) = (random.index(bytes.len() - 50), random.index(40));
                broken[at..at + n].iter_mut().for_each(|b| *b = random.below(256) as u8);
            }
        }
        if let Ok(source) = open_parquet_bytes("broken.parquet", broken.into())
            && let Err(error) = all(&source)
        {
            assert!(error.to_string().contains("broken.parquet"), "{error}");
        }
    }
}

#[test]
fn streams_carry_chunks() {
    let mut random = Random(9);
    let chunk = random_chunk(&mut random, 300);
    let expected = rows(std::slice::from_ref(&chunk));
    let stream = crate::ffi::export_stream(&fields(), std::iter::once(Ok(chunk)));
    let mut import = crate::ffi::Import::new(stream).unwrap();
    let mut got = Vec::new();
    while let Some(chunks) = import.next_chunks().unwrap() {
        got.extend(rows(&chunks));
    }
    assert_eq!(got, expected);
}

#[test]
fn pages_are_charged_before_they_are_decompressed_and_as_long_as_texts_lie_in_them() {
    const TEXT: usize = 1 << 20;
    let file = |name: &str, rows: usize, compression: Compression, dictionary: bool| {
        let texts = StringArray::from_iter_values((0..rows).map(|row| format!("{row}{}", "x".repeat(TEXT))));
        let batch = RecordBatch::try_from_iter([("long", Arc::new(texts) as ArrayRef)]).unwrap();
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_dictionary_enabled(dictionary)
            .set_dictionary_page_size_limit(64 * TEXT)
            .build();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        let path = std::env::temp_dir().join(format!("morsel-{}-{name}.parquet", std::process::id()));
        std::fs::write(&path, writer.into_inner().unwrap()).unwrap();
        path
    };
    for (name, compression, dictionary) in [
        ("bomb", Compression::ZSTD(Default::default()), false),
        ("dictionary", Compression::SNAPPY, true),
        ("plain", Compression::UNCOMPRESSED, false),
    ] {
        let path = file(name, 8, compression, dictionary);
        let read = |budget: &Budget| {
            let source = {
                let context = OpenContext { budget: Some(budget.clone()), ..OpenContext::default() };
                open_parquet(std::slice::from_ref(&path), &context).unwrap()
            };
            read_all(&source, &[0])
        };
        let small = Budget::new(4 * TEXT);
        let error = read(&small).unwrap_err();
        assert_eq!((error.state(), small.used()), (SqlState::OUT_OF_MEMORY, 0), "{name}: {error}");
        assert!(small.peak() < 4 * TEXT);
        let large = Budget::new(64 * TEXT);
        let chunks = read(&large).unwrap();
        assert_eq!(chunks.iter().map(Chunk::rows).sum::<usize>(), 8);
        // Of the texts, once, not for each chunk.
        assert!((8 * TEXT..10 * TEXT).contains(&large.used()), "{name}: {}", large.used());
        assert!(chunks.iter().map(Chunk::bytes).sum::<usize>() < TEXT);
        drop(chunks);
        assert_eq!(large.used(), 0);
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn footers_are_kept_as_long_as_files_stay_as_they_are() {
    let path = std::env::temp_dir().join(format!("morsel-{}-footer.parquet", std::process::id()));
    let write = |numbers: Vec<i64>, age: u64| {
        let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(numbers)) as ArrayRef)]).unwrap();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        std::fs::write(&path, writer.into_inner().unwrap()).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(age)).unwrap();
    };
    let budget = Budget::new(1 << 20);
    let footers = Arc::new(Footers::new(budget.clone()));
    let context = OpenContext { footers: Some(footers.clone()), ..OpenContext::default() };
    let greatest = || {
        let source = open_parquet(std::slice::from_ref(&path), &context).unwrap();
        let rows = read_all(&source, &[0]).unwrap().iter().map(Chunk::rows).sum::<usize>();
        (source.statistics(0).max, rows)
    };
    // What was written just now may be written again without a trace.
    write(vec![1, 2, 3], 0);
    assert_eq!((greatest(), budget.used()), ((Some(Value::Int(3)), 3), 0));
    write(vec![4, 5], 100);
    for _ in 0..2 {
        assert_eq!(greatest(), (Some(Value::Int(5)), 2));
    }
    let kept = Identity::of(std::slice::from_ref(&path)).unwrap();
    assert!(footers.get(&kept).is_some() && budget.used() > 0);
    // As long as before, and said to be as old.
    write(vec![7, 6], 100);
    assert_eq!(greatest(), (Some(Value::Int(7)), 2));
    drop((context, footers));
    assert_eq!(budget.used(), 0);
    std::fs::remove_file(path).unwrap();
}
