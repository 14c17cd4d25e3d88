use super::*;
use types::ops::date::Zone;

fn source(sql_type: SqlType, start: Value, stop: Value, step: Value) -> Arc<dyn FileSource> {
    let bounds = Some(SeriesBounds { start, stop, step, has_stop: true });
    let series =
        Series { function: "f".into(), column: "n".into(), sql_type, bounds, ordinality: false, zone: Zone::utc() };
    Arc::new(SeriesSource::new(series).unwrap())
}

fn values(source: &Arc<dyn FileSource>) -> Vec<Value> {
    let mut values = Vec::new();
    for morsel in 0..source.morsels() {
        let mut reader = source.clone().read(morsel, &[0], &[], CHUNK_ROWS).unwrap();
        while let Step::Chunk(chunk) = reader.step().unwrap() {
            values.extend((0..chunk.rows()).map(|row| chunk.column(0).value(row)));
        }
    }
    values
}

#[test]
fn morsels_together_are_the_series() {
    let series = source(SqlType::Integer, Value::Int(5), Value::Int(200_004), Value::Int(1));
    assert_eq!(series.morsels(), 4);
    assert_eq!((0..4).map(|m| series.rows_of(m)).sum::<u64>(), 200_000);
    assert!(values(&series).into_iter().eq((5..=200_004).map(Value::Int)));
}

#[test]
fn huge_series_have_few_morsels_and_no_more_rows_than_have_numbers() {
    let series = source(SqlType::BigInt, Value::Int(i64::MIN), Value::Int(i64::MAX), Value::Int(1));
    assert!(series.morsels() <= MOST_MORSELS as usize);
    assert!((0..series.morsels()).map(|m| series.rows_of(m)).sum::<u64>() < 1 << 40);
    let mut last = series.clone().read(series.morsels() - 1, &[0], &[], CHUNK_ROWS).unwrap();
    assert!(matches!(last.step(), Ok(Step::Chunk(chunk)) if chunk.rows() == CHUNK_ROWS));
}

#[test]
fn decimals_at_the_ends_of_their_range_are_a_step_apart() {
    let most = 10i128.pow(38) - 1;
    let decimal = |digits| Value::Decimal(digits);
    let series = source(SqlType::decimal(38, 0), decimal(-most), decimal(most), decimal(most));
    assert_eq!(values(&series), [decimal(-most), decimal(0), decimal(most)]);
}

#[test]
fn a_sample_has_rows_from_everywhere() {
    let series = source(SqlType::BigInt, Value::Int(0), Value::Int(1 << 40), Value::Int(1));
    let mut first = series.read_first(&[0]).unwrap();
    let Ok(Step::Chunk(chunk)) = first.step() else { panic!("no sample") };
    assert!(chunk.rows() <= SAMPLE_ROWS as usize);
    assert!(matches!(chunk.column(0).value(chunk.rows() - 1), Value::Int(last) if last > 1 << 39));
}

#[test]
fn morsels_that_a_condition_excludes_are_not_computed() {
    let series = source(SqlType::BigInt, Value::Int(0), Value::Int(1 << 20), Value::Int(1));
    let prune = [PrunePredicate { column: 0, op: io::CompareOp::Lt, constant: Value::Int(10) }];
    let rows = |morsel| {
        let mut rows = 0;
        let mut reader = series.clone().read(morsel, &[0], &prune, CHUNK_ROWS).unwrap();
        while let Step::Chunk(chunk) = reader.step().unwrap() {
            rows += chunk.rows();
        }
        rows
    };
    assert!(rows(0) > 0);
    assert_eq!(rows(1), 0);
}
