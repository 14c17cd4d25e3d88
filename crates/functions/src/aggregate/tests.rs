use super::*;

#[test]
fn rows_stand_at_their_ids() {
    for row in AGGREGATES {
        assert_eq!(row.function.name(), row.name);
        assert_eq!(AggregateFunction::named(row.name), Some(row.function));
        assert!(row.documentation.ends_with('.'), "{}", row.name);
    }
}

#[test]
fn references_compute_what_rows_say() {
    let values = [Value::Int(1), Value::Int(2), Value::Int(4)];
    for (function, expected) in [
        (AggregateFunction::Count, Value::Int(3)),
        (AggregateFunction::Sum, Value::Int(7)),
        (AggregateFunction::Avg, Value::Decimal(23_333_333_333_333_333)),
        (AggregateFunction::Min, Value::Int(1)),
        (AggregateFunction::Max, Value::Int(4)),
    ] {
        let (argument, result) = function.resolve(SqlType::Integer).unwrap();
        assert_eq!(
            function.evaluate(Input { values: &values, others: &[], argument, result }),
            Ok(expected),
            "{function:?}"
        );
        let nothing = Input { values: &[], others: &[], argument, result };
        assert_eq!(function.evaluate(nothing).unwrap().is_null(), !function.counts(), "{function:?}");
    }
}
