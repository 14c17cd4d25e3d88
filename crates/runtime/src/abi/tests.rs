//! Functions as generated code calls them.

use ::functions::ScalarFunction;
use base::ids::Id;
use base::{Budget, IdMap};
use pipeline::ir::{Callee, Param, ParamId, Program, Site, SiteId, SiteKind, State, StateId, Ty};
use types::ops::date::Field;
use types::{Interval, SqlType, Str, Value};

use super::*;
use crate::query::QueryContext;
use crate::testing::program;

/// Calls with a fresh query that has these constants and sites: the results, or the SQLSTATE.
fn call_in(program: &Program, callee: Callee, args: &[Slot]) -> Result<[Slot; 2], &'static str> {
    let context = QueryContext::new(program, Budget::new(usize::MAX), |_| None).unwrap();
    let mut worker = context.worker(0);
    let (function, immediate) = function(callee);
    let mut results = [Slot::default(); 2];
    // SAFETY: arguments as the callee's signature says, of static strings.
    match unsafe { function(&mut worker, immediate, args.as_ptr(), results.as_mut_ptr()) } {
        0 => Ok(results),
        _ => Err(worker.take_error().state().0),
    }
}

fn call(callee: Callee, args: &[Slot]) -> Result<Slot, &'static str> {
    call_in(&program(vec![State::Limit { offset: 0, limit: 1 }]), callee, args).map(|r| r[0])
}

fn int(value: i128) -> Slot {
    Slot::integer(value)
}

fn str(text: &'static str) -> Slot {
    Slot::str(Str::new(text.as_bytes()))
}

/// The text of a function's result, read while the query is alive.
fn text(callee: Callee, args: &[Slot]) -> String {
    let context = QueryContext::new(&program(vec![]), Budget::new(usize::MAX), |_| None);
    let context = context.unwrap();
    let mut worker = context.worker(0);
    let (function, immediate) = function(callee);
    let mut result = Slot::default();
    // SAFETY: as in `call_in`; the result is alive as long as the context.
    unsafe {
        assert_eq!(function(&mut worker, immediate, args.as_ptr(), &mut result), 0);
        result.as_str().as_str().to_owned()
    }
}

#[test]
fn numbers() {
    assert_eq!(call(Callee::MulI128, &[int(-6), int(7)]), Ok(int(-42)));
    assert_eq!(call(Callee::MulI128, &[int(1 << 100), int(1 << 100)]), Err("22003"));
    assert_eq!(call(Callee::DivDecimal, &[int(10), int(3), int(2)]), Ok(int(333)));
    assert_eq!(call(Callee::DivDecimal, &[int(-200), int(3), int(-1)]), Ok(int(-7)));
    assert_eq!(call(Callee::DivDecimal, &[int(1), int(0), int(2)]), Err("22012"));
    assert_eq!(call(Callee::RemI128, &[int(-7), int(3)]), Ok(int(-1)));
    assert_eq!(call(Callee::RemI128, &[int(-7), int(0)]), Err("22012"));
    assert_eq!(call(Callee::RescaleDown, &[int(-1250), int(2)]), Ok(int(-13)));
    assert_eq!(call(Callee::CheckPrecision, &[int(999), int(3)]), Ok(int(999)));
    assert_eq!(call(Callee::CheckPrecision, &[int(1000), int(3)]), Err("22003"));
    assert_eq!(call(Callee::DecimalToDouble, &[int(-125), int(2)]), Ok(Slot::f64(-1.25)));
}

fn scalar(name: &str) -> Callee {
    Callee::Scalar(ScalarFunction::named(name).unwrap())
}

#[test]
fn strings() {
    let long = str("an umlaut: ä, and so on");
    assert_eq!(text(Callee::Substring, &[long, int(12), int(1)]), "ä");
    assert_eq!(text(Callee::Substring, &[long, int(4), int(14)]), "umlaut: ä, and");
    assert_eq!(call(Callee::Substring, &[long, int(4), int(-1)]), Err("22011"));
    assert_eq!(call(scalar("length"), &[long]), Ok(int(23)));
    assert_eq!(call(scalar("starts_with"), &[long, str("an uml")]), Ok(Slot::bool(true)));
    assert_eq!(text(Callee::Concat(2), &[long, str("!")]), "an umlaut: ä, and so on!");
    assert_eq!(text(Callee::Concat(3), &[str("ä"), str(""), str("b")]), "äb");
    assert_eq!(text(scalar("upper"), &[long]), "AN UMLAUT: Ä, AND SO ON");
    assert_eq!(text(scalar("lower"), &[str("ABC")]), "abc");
    assert_eq!(text(scalar("lower"), &[long]), "an umlaut: ä, and so on");
    assert_eq!(text(scalar("replace"), &[long, str("an"), str("AN")]), "AN umlaut: ä, ANd so on");
    assert_eq!(text(scalar("replace"), &[long, str("x"), str("y")]), "an umlaut: ä, and so on");
    assert_eq!(text(scalar("split_part"), &[long, str(", "), int(-1)]), "and so on");
    assert_eq!(call(scalar("split_part"), &[long, str(", "), int(0)]), Err("22023"));
    assert_eq!(call(scalar("position"), &[long, str(",")]), Ok(int(13)));
    assert_eq!(text(scalar("left"), &[long, int(-2)]), "an umlaut: ä, and so ");
    assert_eq!(text(scalar("right"), &[long, int(11)]), ", and so on");
    assert_eq!(text(scalar("trim_both"), &[long, str("an ")]), "umlaut: ä, and so o");
    assert_eq!(text(scalar("trim_leading"), &[long, str("an ")]), "umlaut: ä, and so on");
    assert_eq!(text(scalar("trim_trailing"), &[long, str("on ")]), "an umlaut: ä, and s");
}

#[test]
fn dates_and_limits() {
    for (field, before, at) in
        [(Field::Year, 1969, 1970), (Field::Month, 12, 1), (Field::Day, 31, 1), (Field::DayOfYear, 365, 1)]
    {
        assert_eq!(call(Callee::ExtractDate(field), &[int(-1)]), Ok(int(before)));
        assert_eq!(call(Callee::ExtractTimestamp(field), &[int(0)]), Ok(int(at)));
    }
    assert_eq!(call(Callee::ExtractDate(Field::Hour), &[int(0)]), Err("0A000"));
    assert_eq!(call(Callee::ExtractTimestamp(Field::Minute), &[int(-1)]), Ok(int(59)));
    assert_eq!(call(Callee::TruncateTimestamp(Field::Minute), &[int(-1)]), Ok(int(-60_000_000)));
    let month = Slot([1, 5]);
    assert_eq!(month.as_interval(), Interval { months: 1, days: 0, micros: 5 });
    assert_eq!(call(Callee::TimestampAddInterval, &[int(0), month]), Ok(int(31 * 86_400_000_000 + 5)));
    assert_eq!(call(Callee::TakeLimit(StateId(0)), &[]), Ok(Slot::bool(true)));
}

#[test]
fn patterns_and_sets_are_constants() {
    let mut params = IdMap::new();
    params.push(Param::Like { pattern: "a%c".into(), syntax: types::ops::like::Syntax::LIKE });
    params.push(Param::Set(vec![Value::Int(3)], SqlType::Integer));
    let program = Program { params, ..program(vec![]) };
    let like = |t| call_in(&program, Callee::Like(ParamId(0)), &[str(t)]).map(|r| r[0]);
    assert_eq!(like("abc"), Ok(Slot::bool(true)));
    assert_eq!(like("abd"), Ok(Slot::bool(false)));
    let set = |i| call_in(&program, Callee::InSet(ParamId(1), Ty::I32), &[int(i)]).map(|r| r[0]);
    assert_eq!((set(3), set(4)), (Ok(Slot::bool(true)), Ok(Slot::bool(false))));
}

#[test]
fn sites_call_any_function() {
    let mut sites = IdMap::new();
    let mut site = |kind, arguments: &[SqlType], result| {
        sites.push(Site { kind, arguments: arguments.to_vec(), result });
    };
    site(SiteKind::Scalar(ScalarFunction::ADD), &[SqlType::Integer, SqlType::Integer], SqlType::Integer);
    site(SiteKind::Cast(false), &[SqlType::Text], SqlType::Integer);
    site(SiteKind::Cast(true), &[SqlType::Text], SqlType::Integer);
    site(
        SiteKind::Like { syntax: types::ops::like::Syntax::Like { escape: None, fold: true } },
        &[SqlType::Text, SqlType::Text],
        SqlType::Bool,
    );
    let program = Program { sites, ..program(vec![]) };
    let call = |site, args: &[Slot]| call_in(&program, Callee::Site(SiteId::from_index(site)), args);
    let value = |slot| Ok([slot, Slot::bool(false)]);
    assert_eq!(call(0, &[int(2), int(-5)]), value(int(-3)));
    assert_eq!(call(0, &[int(i32::MAX.into()), int(1)]), Err("22003"));
    assert_eq!(call(1, &[str("12")]), value(int(12)));
    assert_eq!(call(1, &[str("x")]), Err("22P02"));
    assert_eq!(call(2, &[str("x")]), Ok([Slot::default(), Slot::bool(true)]));
    assert_eq!(call(3, &[str("ABC"), str("a%")]), value(Slot::bool(true)));
}

#[test]
fn a_panic_in_a_function_is_an_error() {
    let panics = || -> base::Result<()> { panic!("it broke") };
    let error = crate::worker::guarded(panics).unwrap_err();
    assert_eq!((error.state().0, error.message().starts_with("it broke")), ("XX000", true));
    // A parameter that does not exist: the index panics.
    assert_eq!(call(Callee::Like(ParamId(7)), &[str("a")]), Err("XX000"));
}

#[test]
fn kernels_do_as_the_types_crate_does() {
    let [lo, hi] = str("some text that is long").0;
    let [alo, ahi] = str("some text that is longer").0;
    let mut words = [0; 2];
    // SAFETY: static strings, and room for two words.
    unsafe {
        assert_eq!(hash_str(lo, hi), types::ops::hash::hash_str("some text that is long"));
        assert_eq!(
            (str_compare(lo, hi, alo, ahi), str_compare(alo, ahi, lo, hi), str_compare(lo, hi, lo, hi)),
            (-1, 1, 0)
        );
        assert_eq!((str_equal(lo, hi, alo, ahi), str_equal(lo, hi, lo, hi)), (0, 1));
        for (value, expected) in [(2.5, 2), (3.5, 4), (-1e30, -1_000_000_000_000_000_019_884_624_838_656)] {
            assert_eq!(f64_to_i128(value, words.as_mut_ptr()), 0);
            assert_eq!(Slot(words), int(expected));
        }
        assert_eq!(f64_to_i128(f64::NAN, words.as_mut_ptr()), 1);
        assert_eq!(f64_to_i128(2f64.powi(127), words.as_mut_ptr()), 1);
    }
    assert_eq!(i128_to_f64(u64::MAX, u64::MAX), -1.0);
    assert_eq!(hash_i128(5, 0), types::ops::hash::hash_i64(5));
}

#[test]
fn the_first_error_stays_and_has_the_position() {
    let program = Program { positions: vec![3, 7], ..program(vec![]) };
    let context = QueryContext::new(&program, Budget::new(usize::MAX), |_| None).unwrap();
    let mut worker = context.worker(0);
    // SAFETY: static texts of these lengths.
    unsafe {
        assert_eq!(raise(&mut *worker, "22012".as_ptr(), "division by zero".as_ptr(), 16), 1);
        raise(&mut *worker, "22003".as_ptr(), "later".as_ptr(), 5);
    }
    worker.error_position = 2;
    let error = worker.take_error();
    assert_eq!((error.state().0, error.message(), error.position()), ("22012", "division by zero", Some(7)));
}
