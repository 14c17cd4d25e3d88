use super::*;
use crate::aggregate::AGGREGATES;

#[test]
fn every_row_is_documented_and_named_once() {
    let mut names: Vec<&str> = ScalarFunction::all().flat_map(|f| f.definition().names).copied().collect();
    names.extend(AGGREGATES.iter().flat_map(|d| d.names));
    let mut forms: Vec<&str> = ScalarFunction::all().map(ScalarFunction::name).collect();
    for names in [&mut names, &mut forms] {
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
    for row in ScalarFunction::all().map(ScalarFunction::definition) {
        assert!(row.documentation.ends_with('.'), "{}", row.name);
        // Of some that have names the binder says what types they take.
        assert!(!row.names.is_empty() || row.overloads.is_empty(), "{}", row.name);
    }
}

#[test]
fn names_lead_to_rows_and_back() {
    assert_eq!(ScalarFunction::named("trim_trailing"), Some(ScalarFunction::TRIM_TRAILING));
    assert_eq!(ScalarFunction::find("rtrim"), Some(ScalarFunction::TRIM_TRAILING));
    assert_eq!(ScalarFunction::named("rtrim"), None);
    for function in ScalarFunction::all() {
        assert_eq!(ScalarFunction::named(function.name()), Some(function));
    }
}

#[test]
fn strict_functions_never_see_null() {
    for function in ScalarFunction::all() {
        let call = Call { values: &[Value::Null], types: &[SqlType::Null], result: SqlType::Integer };
        assert_eq!(function.evaluate(&call), Ok(Value::Null), "{function:?}");
    }
}
