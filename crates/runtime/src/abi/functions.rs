//! What a [`Callee`] is: functions of [`AbiFn`]'s type.

use ::functions::aggregate::percentile::Between;
use ::functions::aggregate::{AGGREGATES, regression};
use ::functions::{ScalarFunction, Typed};
use base::ids::Id;
use base::{Error, Result, SqlState};
use pipeline::ir::{Callee, ParamId, SiteId};
use types::Str;
use types::ops::array;
use types::ops::cast::ShortForm;
use types::ops::date::Field;
use types::ops::json::Part;
use types::ops::sum::IntegerMoments;
use types::ops::{date, decimal, string};

use super::lists;
use super::{AbiFn, Slot, Worker};
use crate::again::{Known, Made};
use crate::distinct::Distinct;
use crate::group::GroupLocal;
use crate::limit::LimitLocal;
use crate::moments::ExactMoments;
use crate::recursion::{RecursionLocal, first_seen};
use crate::sites;
use crate::slot::interval_words;
use crate::sum::{ExactSum, ExactVariance};
use crate::values::entries::{MOST_OF_ENTRY, Shape};
use crate::values::{Values, float_of_word, integer_of_word, word_of_float, word_of_integer};
use crate::worker::guarded;

/// The function and immediate of a callee.
pub fn function(callee: Callee) -> (AbiFn, u64) {
    let (function, immediate): (AbiFn, usize) = match callee {
        Callee::Site(site) => (site_call, site.index()),
        Callee::ElementCount(site) => (lists::element_count, site.index()),
        Callee::Element(site, _) => (lists::element, site.index()),
        Callee::Subscript(site, _) => (lists::subscript, site.index()),
        Callee::OfLists(site, function, _) => (lists::of_lists, site.index() << 16 | usize::from(function.number())),
        Callee::FieldStart(site) => (lists::field_start, site.index()),
        Callee::ListBegin => (lists::begin, 0),
        Callee::ListPush(site, _) => (lists::push, site.index()),
        Callee::ListEnd => (lists::end, 0),
        Callee::Like(param) => (like, param.index()),
        Callee::InSet(param, _) => (in_set, param.index()),
        Callee::MulI128 => (mul_i128, 0),
        Callee::MulRound => (mul_round, 0),
        Callee::AddInterval => (add_interval, 0),
        Callee::DivDecimal => (div_decimal, 0),
        Callee::RemI128 => (rem_i128, 0),
        Callee::RescaleDown => (rescale_down, 0),
        Callee::CheckPrecision => (check_precision, 0),
        Callee::DecimalToDouble => (decimal_to_double, 0),
        Callee::DoubleToDecimal(precision, scale) => {
            (double_to_decimal, usize::from(precision) << 8 | usize::from(scale))
        }
        Callee::Scalar(function) if function.definition().typed.is_some_and(Typed::says_null) => {
            (found, function.number().into())
        }
        Callee::Scalar(function) => match function.definition().typed {
            Some(Typed::Double(operation, _)) => (double, operation as usize),
            Some(Typed::DoubleOfTwo(operation, _)) => (double_of_two, operation as usize),
            _ => (scalar, function.number().into()),
        },
        Callee::DateDiff(field) => (date_diff, field as usize),
        Callee::Substring => (substring, 0),
        Callee::Concat(count) => (concat, count.into()),
        Callee::ExtractDate(field) => (extract_date, field as usize),
        Callee::ExtractTimestamp(field) => (extract_timestamp, field as usize),
        Callee::ShortText(form) => (short_text, form.number().into()),
        Callee::TruncateTimestamp(field) => (truncate_timestamp, field as usize),
        Callee::TimestampAddInterval => (timestamp_add_interval, 0),
        Callee::MergeSums => (merge_sums, 0),
        Callee::RoundSum => (round_sum, 0),
        Callee::Average => (average, 0),
        Callee::VarianceAdd => (variance_add, 0),
        Callee::VarianceAddInteger => (variance_add_integer, 0),
        Callee::VarianceMerge => (variance_merge, 0),
        Callee::Variance => (variance, 0),
        Callee::MomentsAdd => (moments_add, 0),
        Callee::MomentsMerge => (moments_merge, 0),
        Callee::Regression(function) => (regression, function as usize),
        Callee::RegressionOfIntegers(function) => (regression_of_integers, function as usize),
        Callee::CollectInteger => (collect_integer, 0),
        Callee::CollectFloat => (collect_float, 0),
        Callee::CollectMerge => (collect_merge, 0),
        Callee::CollectWords(words) => (collect_words, words.into()),
        Callee::CollectFirst(words) => (collect_first, words.into()),
        Callee::CollectFirstText { words, backwards } => {
            (collect_first_text, usize::from(words) | usize::from(backwards) << 8)
        }
        Callee::CollectText(words) => (collect_text, words.into()),
        Callee::MostFrequentInteger => (most_frequent_integer, 0),
        Callee::MostFrequentFloat => (most_frequent_float, 0),
        Callee::FloatWord => (float_word, 0),
        Callee::JoinTexts { words, backwards } => (texts, usize::from(words) | usize::from(backwards) << 8),
        Callee::MakeList { elements, words, flagged } => {
            (list, usize::from(words) | usize::from(flagged) << 8 | elements.index() << 16)
        }
        Callee::DistinctAdd => (distinct_add, 0),
        Callee::DistinctMerge => (distinct_merge, 0),
        Callee::DistinctCount => (distinct_count, 0),
        Callee::IntegerAt => (integer_at, 0),
        Callee::FloatAt => (float_at, 0),
        Callee::FloatAround => (float_around, 0),
        Callee::FirstSeen(state) => (recursion_first_seen, state.index()),
        Callee::AddRow(state) => (add_row, state.index()),
        Callee::TakeLimit(state) => (take_limit, state.index()),
        Callee::KeepStr(state) => (keep_str, state.index()),
    };
    (function, immediate as u64)
}

/// The arguments of a call.
#[derive(Clone, Copy)]
struct Args(*const Slot);

impl Args {
    /// # Safety
    /// There must be an argument `i`.
    #[inline(always)]
    unsafe fn slot(self, i: usize) -> Slot {
        // SAFETY: as the caller promises.
        unsafe { *self.0.add(i) }
    }
    /// # Safety
    /// Argument `i` must be a string whose payload is alive; it stays so as long as the call lasts.
    #[inline(always)]
    unsafe fn text<'a>(self, i: usize) -> &'a str {
        // SAFETY: as the caller promises. An inline string lies in the argument's slot, not in a copy.
        unsafe { (*self.0.add(i).cast::<Str>()).as_str() }
    }
    /// # Safety
    /// Argument `i` must be a string.
    #[inline(always)]
    unsafe fn str(self, i: usize) -> Str {
        // SAFETY: as the caller promises. Word by word, as it was written a moment ago: both at once would have to wait until
        // they have reached the cache.
        unsafe {
            let words = self.0.add(i).cast::<u64>();
            Str::from_words([words.read_volatile(), words.add(1).read_volatile()])
        }
    }
    /// # Safety
    /// There must be an argument `i`.
    #[inline(always)]
    unsafe fn pointer<T>(self, i: usize) -> *mut T {
        // SAFETY: as the caller promises.
        unsafe { self.slot(i) }.0[0] as *mut T
    }
    /// # Safety
    /// There must be an argument `i`.
    #[inline(always)]
    unsafe fn i32(self, i: usize) -> i32 {
        // SAFETY: as the caller promises.
        unsafe { self.slot(i) }.0[0] as i32
    }
}

/// Defines functions of [`AbiFn`]'s type by an expression of type `Result<Slot>`.
macro_rules! functions {
    ($($(#[$doc:meta])* fn $name:ident($worker:ident, $immediate:ident, $args:ident) $body:block)*) => { $(
        $(#[$doc])*
        unsafe extern "C" fn $name($worker: &mut Worker, $immediate: u64, args: *const Slot, results: *mut Slot) -> u32 {
            let $args = Args(args);
            #[allow(unused)]
            let _ = ($immediate, $args);
            // SAFETY: generated code passes as many arguments, of such types, as `Callee::signature` says, strings that are
            // alive, and room for the result.
            #[allow(unused_unsafe, clippy::redundant_closure_call)]
            let written: Result<()> = guarded(|| unsafe {
                let slot: Slot = (|| -> Result<Slot> { $body })()?;
                // Here, while its words are in registers: who copies both at once after they were stored one by one waits
                // until they have reached the cache, which takes longer than most functions.
                if !results.is_null() {
                    results.write(slot);
                }
                Ok(())
            });
            match written {
                Ok(()) => 0,
                Err(error) => $worker.fail(error),
            }
        }
    )* };
}

functions! {
    fn like(worker, param, args) {
        let pattern = worker.inner.shared.params.like(ParamId::from_index(param as usize));
        pattern.ok_or_else(no_param)?.matches(args.text(0)).map(Slot::bool)
    }
    fn in_set(worker, param, args) {
        let set = worker.inner.shared.params.set(ParamId::from_index(param as usize));
        Ok(Slot::bool(set.ok_or_else(no_param)?.contains(args.slot(0))))
    }
    fn mul_i128(worker, immediate, args) {
        decimal::mul(args.slot(0).as_i128(), args.slot(1).as_i128()).map(Slot::integer)
    }
    fn mul_round(worker, immediate, args) {
        let digits = args.i32(2).clamp(0, 76) as u8;
        decimal::mul_round(args.slot(0).as_i128(), args.slot(1).as_i128(), digits).map(Slot::integer)
    }
    fn add_interval(worker, immediate, args) {
        date::add_intervals(args.slot(0).as_interval(), args.slot(1).as_interval())
            .map(|i| Slot(interval_words(i)))
    }
    fn div_decimal(worker, immediate, args) {
        let (a, b, power) = (args.slot(0).as_i128(), args.slot(1).as_i128(), args.i32(2));
        // Scales whose difference is the power, which may be negative.
        let (up, down) = (power.max(0) as u8, power.min(0).unsigned_abs() as u8);
        decimal::div(a, down, b, 0, up).map(Slot::integer)
    }
    fn rem_i128(worker, immediate, args) {
        decimal::rem(args.slot(0).as_i128(), args.slot(1).as_i128()).map(Slot::integer)
    }
    fn rescale_down(worker, immediate, args) {
        Ok(Slot::integer(decimal::shift_right(args.slot(0).as_i128(), args.i32(1) as u32)))
    }
    fn check_precision(worker, immediate, args) {
        let (value, precision) = (args.slot(0).as_i128(), args.i32(1).clamp(0, 38) as u8);
        if decimal::fits(value, precision) { Ok(Slot::integer(value)) } else { Err(field_overflow(precision)) }
    }
    fn decimal_to_double(worker, immediate, args) {
        Ok(Slot::f64(decimal::to_f64(args.slot(0).as_i128(), args.i32(1).clamp(0, 38) as u8)))
    }
    fn double_to_decimal(worker, digits, args) {
        decimal::from_f64(args.slot(0).as_f64(), (digits >> 8) as u8, digits as u8).map(Slot::integer)
    }
    fn scalar(worker, function, args) {
        let text = |i| args.text(i);
        let number = |i| args.slot(i).as_i64();
        Ok(match ScalarFunction::numbered(function as u16).definition().typed {
            Some(Typed::Drawn(draw)) => Slot::f64(draw()),
            Some(Typed::DaysOfNumbers(f)) => Slot::integer(f(number(0), number(1), number(2))?.into()),
            Some(Typed::Number(f)) => Slot::integer(f(text(0)).into()),
            Some(Typed::NumberOfTexts(f)) => Slot::integer(f(text(0), text(1)).into()),
            Some(Typed::Test(f)) => Slot::bool(f(text(0), text(1))),
            Some(Typed::Text(short, f)) => match short(args.str(0)) {
                Some(text) => Slot::str(text),
                None => made(worker, function, [text(0)], |to| f(text(0), to))?.unwrap_or_else(|| args.slot(0)),
            },
            Some(Typed::TextOfTexts(f)) => {
                let texts = [text(0), text(1), text(2)];
                made(worker, function, texts, |to| f(texts[0], texts[1], texts[2], to))?.unwrap_or_else(|| args.slot(0))
            }
            Some(Typed::TextOfFour(f)) => {
                let texts = [text(0), text(1), text(2), text(3)];
                let make = |to: &mut String| f(texts[0], texts[1], texts[2], texts[3], to);
                made(worker, function, texts, make)?.unwrap_or_else(|| args.slot(0))
            }
            Some(Typed::PartByText(f)) => part(f(text(0), text(1))),
            Some(Typed::PartByNumber(f)) => part(f(text(0), number(1))),
            Some(Typed::PartByTextAndNumber(f)) => part(f(text(0), text(1), number(2))?),
            None
            | Some(Typed::Float(_) | Typed::Double(..) | Typed::DoubleOfTwo(..) | Typed::FoundByText(_) | Typed::FoundByNumber(_))
            | Some(Typed::OfList(_) | Typed::OfLists(_) | Typed::Part(_)) => {
                return Err(Error::internal("a function that code does not call"));
            }
        })
    }
    fn double(worker, operation, args) {
        // SAFETY: it is what `function` has made of such a function.
        let operation = std::mem::transmute::<usize, fn(f64) -> Result<f64>>(operation as usize);
        operation(args.slot(0).as_f64()).map(Slot::f64)
    }
    fn double_of_two(worker, operation, args) {
        // SAFETY: as above.
        let operation = std::mem::transmute::<usize, fn(f64, f64) -> Result<f64>>(operation as usize);
        operation(args.slot(0).as_f64(), args.slot(1).as_f64()).map(Slot::f64)
    }
    fn date_diff(worker, field, args) {
        let (from, to) = (args.slot(0).as_i64(), args.slot(1).as_i64());
        date::diff(Field::ALL[field as usize], from, to).map(|n| Slot::integer(n.into()))
    }
    fn substring(worker, immediate, args) {
        string::substring(args.text(0), args.slot(1).as_i64(), Some(args.slot(2).as_i64())).map(part)
    }
    fn concat(worker, immediate, args) {
        let texts = (0..immediate as usize).map(|i| args.text(i));
        worker.joined(string::concat_length(texts.clone())?, texts).map(Slot::str)
    }
    fn extract_date(worker, field, args) {
        // Code has asked before whether it is finite.
        let days = Some(args.i32(0)).filter(|days| !date::is_infinite_date(*days));
        let part = days.map_or(Ok(0), |days| date::extract_date(Field::ALL[field as usize], days));
        part.map(|n| Slot::integer(n.into()))
    }
    fn extract_timestamp(worker, field, args) {
        let at = Some(args.slot(0).as_i64()).filter(|at| !date::is_infinite(*at));
        let part = at.map_or(Ok(0), |at| date::extract_timestamp(Field::ALL[field as usize], at));
        part.map(|n| Slot::integer(n.into()))
    }
    fn truncate_timestamp(worker, field, args) {
        date::trunc_timestamp(Field::ALL[field as usize], args.slot(0).as_i64()).map(|n| Slot::integer(n.into()))
    }
    fn timestamp_add_interval(worker, immediate, args) {
        let sum = date::add_interval(args.slot(0).as_i64(), args.slot(1).as_interval())?;
        Ok(Slot::integer(sum.into()))
    }
    fn merge_sums(worker, immediate, args) {
        (*args.pointer::<ExactSum>(0)).merge(worker, &*args.pointer(1))?;
        Ok(Slot::default())
    }
    fn round_sum(worker, immediate, args) {
        (*args.pointer::<ExactSum>(0)).round().map(Slot::f64)
    }
    fn average(worker, immediate, args) {
        let sum = (*args.pointer::<ExactSum>(0)).round()?;
        Ok(Slot::f64(sum / args.slot(1).as_i64() as f64))
    }
    fn variance_add(worker, immediate, args) {
        (*args.pointer::<ExactVariance>(0)).add(worker, args.slot(1).as_f64())?;
        Ok(Slot::default())
    }
    fn variance_add_integer(worker, immediate, args) {
        (*args.pointer::<ExactVariance>(0)).add_integer(worker, args.slot(1).as_i128())?;
        Ok(Slot::default())
    }
    fn variance_merge(worker, immediate, args) {
        (*args.pointer::<ExactVariance>(0)).merge(worker, &*args.pointer(1))?;
        Ok(Slot::default())
    }
    fn variance(worker, immediate, args) {
        let (sample, scale) = (args.slot(1).0[0] & 1 != 0, args.i32(2) as u8);
        (*args.pointer::<ExactVariance>(0)).variance(sample, scale).map(Slot::f64)
    }
    fn moments_add(worker, immediate, args) {
        (*args.pointer::<ExactMoments>(0)).add(worker, args.slot(1).as_f64(), args.slot(2).as_f64())?;
        Ok(Slot::default())
    }
    fn moments_merge(worker, immediate, args) {
        (*args.pointer::<ExactMoments>(0)).merge(worker, &*args.pointer(1))?;
        Ok(Slot::default())
    }
    fn collect_integer(worker, immediate, args) {
        (*args.pointer::<Values>(0)).add(worker, word_of_integer(args.slot(1).as_i64()))?;
        Ok(Slot::default())
    }
    fn collect_float(worker, immediate, args) {
        (*args.pointer::<Values>(0)).add(worker, word_of_float(args.slot(1).as_f64()))?;
        Ok(Slot::default())
    }
    fn collect_words(worker, words, args) {
        let word = |at: usize| word_of_integer(args.slot(at + 1).as_i64());
        let list = &mut *args.pointer::<Values>(0);
        match words {
            1 => list.add_entry(worker, [word(0)])?,
            2 => list.add_entry(worker, [word(0), word(1)])?,
            3 => list.add_entry(worker, [word(0), word(1), word(2)])?,
            _ => {
                let mut entry = [0; MOST_OF_ENTRY];
                let entry = &mut entry[..words as usize];
                entry.iter_mut().enumerate().for_each(|(at, of)| *of = word(at));
                list.add_words(worker, entry)?;
            }
        }
        Ok(Slot::default())
    }
    fn collect_first(worker, words, args) {
        let word = |at: usize| word_of_integer(args.slot(at + 2).as_i64());
        let (list, most) = (&mut *args.pointer::<Values>(0), args.slot(1).as_i64() as usize);
        match words {
            1 => list.add_first(worker, [word(0)], most)?,
            2 => list.add_first(worker, [word(0), word(1)], most)?,
            3 => list.add_first(worker, [word(0), word(1), word(2)], most)?,
            4 => list.add_first(worker, [word(0), word(1), word(2), word(3)], most)?,
            5 => list.add_first(worker, [word(0), word(1), word(2), word(3), word(4)], most)?,
            6 => list.add_first(worker, [word(0), word(1), word(2), word(3), word(4), word(5)], most)?,
            _ => return Err(Error::internal("an entry of too many words")),
        }
        Ok(Slot::default())
    }
    fn collect_first_text(worker, immediate, args) {
        let (words, backwards) = (immediate as usize & 0xff, immediate >> 8 != 0);
        let mut order = [0; MOST_OF_ENTRY];
        let order = &mut order[..words];
        order.iter_mut().enumerate().for_each(|(at, of)| *of = word_of_integer(args.slot(at + 2).as_i64()));
        let (list, most) = (&mut *args.pointer::<Values>(0), args.slot(1).as_i64() as usize);
        list.add_first_text(worker, (order, args.str(words + 2)), most, backwards)?;
        Ok(Slot::default())
    }
    fn collect_text(worker, words, args) {
        let words = words as usize;
        let text = worker.keep_text(args.str(words + 1))?;
        let word = |at: usize| word_of_integer(args.slot(at + 1).as_i64());
        let list = &mut *args.pointer::<Values>(0);
        match words {
            0 => list.add_text(worker, &[], text)?,
            1 => list.add_text(worker, &[word(0)], text)?,
            _ => {
                let mut order = [0; MOST_OF_ENTRY];
                let order = &mut order[..words];
                order.iter_mut().enumerate().for_each(|(at, of)| *of = word(at));
                list.add_text(worker, order, text)?;
            }
        }
        Ok(Slot::default())
    }
    fn collect_merge(worker, immediate, args) {
        (*args.pointer::<Values>(0)).merge(&*args.pointer(1));
        Ok(Slot::default())
    }
    fn distinct_add(worker, immediate, args) {
        (*args.pointer::<Distinct>(0)).add(worker, args.slot(1).as_i64() as u64)?;
        Ok(Slot::default())
    }
    fn distinct_merge(worker, immediate, args) {
        (*args.pointer::<Distinct>(0)).merge(worker, &*args.pointer(1))?;
        Ok(Slot::default())
    }
    fn distinct_count(worker, immediate, args) {
        Ok(Slot::integer((*args.pointer::<Distinct>(0)).count().into()))
    }
    fn integer_at(worker, immediate, args) {
        let word = (*args.pointer::<Values>(0)).at(worker, args.slot(1).as_f64())?;
        Ok(Slot::integer(integer_of_word(word).into()))
    }
    fn float_at(worker, immediate, args) {
        let word = (*args.pointer::<Values>(0)).at(worker, args.slot(1).as_f64())?;
        Ok(Slot::f64(float_of_word(word)))
    }
    fn float_around(worker, immediate, args) {
        let (low, high, way) = (*args.pointer::<Values>(0)).around(worker, args.slot(1).as_f64())?;
        let low = float_of_word(low);
        Ok(Slot::f64(if way == 0.0 { low } else { f64::between(low, float_of_word(high), way)? }))
    }
    fn most_frequent_integer(worker, immediate, args) {
        let word = (*args.pointer::<Values>(0)).most_frequent(worker, |a, b| a == b)?;
        Ok(Slot::integer(integer_of_word(word).into()))
    }
    fn most_frequent_float(worker, immediate, args) {
        let same = |a, b| a == b || float_of_word(a) == float_of_word(b);
        let word = (*args.pointer::<Values>(0)).most_frequent(worker, same)?;
        Ok(Slot::f64(float_of_word(word)))
    }
    fn float_word(worker, immediate, args) {
        Ok(Slot::integer(array::word_of_float(args.slot(0).as_f64()).into()))
    }
    fn texts(worker, immediate, args) {
        let shape = Shape { words: immediate as usize & 0xff, text: true, backwards: immediate >> 8 & 1 == 1 };
        (*args.pointer::<Values>(0)).texts(worker, shape, args.text(1)).map(Slot::str)
    }
    fn list(worker, immediate, args) {
        let elements = worker.inner.shared.sites[SiteId::from_index((immediate >> 16) as usize)].result;
        let entry = (immediate as usize & 0xff, immediate >> 8 & 1 == 1);
        (*args.pointer::<Values>(0)).list(worker, entry, elements).map(Slot::str)
    }
    fn recursion_first_seen(worker, state, args) {
        let rows = (*worker.locals.add(state as usize)).cast::<RecursionLocal>();
        Ok(Slot::integer(first_seen(rows, args.slot(0).as_i64(), args.slot(1).as_i64()).into()))
    }
    fn add_row(worker, state, args) {
        let rows = (*worker.locals.add(state as usize)).cast::<RecursionLocal>();
        (*rows).add(worker, args.pointer(0)).map(Slot::bool)
    }
    fn take_limit(worker, state, args) {
        let limit = (*worker.locals.add(state as usize)).cast::<LimitLocal>();
        Ok(Slot::bool((*limit).take()))
    }
    fn keep_str(worker, state, args) {
        let groups = (*worker.locals.add(state as usize)).cast::<GroupLocal>();
        (*groups).keep_text(args.slot(0).as_str(), args.slot(1).as_str()).map(Slot::str)
    }
}

/// A part of an argument. One of more than 12 bytes is part of a payload, and lives as long as the argument's.
fn part(text: &str) -> Slot {
    Slot::str(Str::new(text.as_bytes()))
}

/// What a function makes of texts, unless it has made that before; none: the first argument itself. That is not read before: its
/// words were written one by one a moment ago, and both at once come only after they have reached the cache.
#[inline(always)]
fn made<const N: usize>(
    worker: &mut Worker,
    function: u64,
    texts: [&str; N],
    make: impl FnOnce(&mut String) -> Result<bool>,
) -> Result<Option<Slot>> {
    let text = match worker.inner.again.look_up(function as u32, &texts) {
        Known::Result(Made::Argument) => None,
        Known::Result(Made::Value(text, _)) => return Ok(Some(text)),
        Known::Nothing => worker.make(make)?,
        Known::Place(place) => {
            let text = worker.make(make)?;
            if let Some(result) = sites::kept(worker, text)? {
                worker.inner.again.keep(place, &texts, result);
            }
            text
        }
    };
    Ok(text.map(Slot::str))
}

/// What a function finds in a text, then whether it is NULL.
unsafe extern "C" fn found(worker: &mut Worker, function: u64, args: *const Slot, results: *mut Slot) -> u32 {
    let result = guarded(|| {
        let args = Args(args);
        let mut made = std::mem::take(&mut worker.inner.made);
        made.clear();
        // SAFETY: generated code passes two arguments of the types that the callee's signature says, and strings that are alive.
        let found = unsafe {
            match ScalarFunction::numbered(function as u16).definition().typed {
                Some(Typed::FoundByText(f)) => f(args.text(0), args.text(1), &mut made)?,
                Some(Typed::FoundByNumber(f)) => f(args.text(0), args.slot(1).as_i64(), &mut made)?,
                _ => return Err(Error::internal("a function that finds nothing")),
            }
        };
        let slot = match found {
            Part::Nothing => None,
            Part::Of(text) => Some(part(text)),
            Part::Made => Some(Slot::str(worker.text(&made)?)),
        };
        worker.keep_made(made);
        Ok(slot)
    });
    match result {
        Ok(slot) => {
            // SAFETY: room for the callee's two results.
            unsafe {
                results.write(slot.unwrap_or_default());
                results.add(1).write(Slot::bool(slot.is_none()));
            }
            0
        }
        Err(error) => worker.fail(error),
    }
}

/// What a regression's function is, then whether it is NULL.
unsafe extern "C" fn regression(worker: &mut Worker, function: u64, args: *const Slot, results: *mut Slot) -> u32 {
    let result = guarded(|| {
        // SAFETY: generated code passes the address of moments in a row of its query.
        let moments = unsafe { (*Args(args).pointer::<ExactMoments>(0)).exact() };
        regression::result(AGGREGATES[function as usize].function, &moments)
    });
    // SAFETY: room for the callee's two results.
    unsafe { write_result(worker, result, results) }
}

/// The same of the sums of integers.
unsafe extern "C" fn regression_of_integers(
    worker: &mut Worker,
    function: u64,
    args: *const Slot,
    results: *mut Slot,
) -> u32 {
    let result = guarded(|| {
        // SAFETY: generated code passes six arguments.
        let slot = |i: usize| unsafe { Args(args).slot(i) };
        let count = slot(0).as_i64() as u64;
        let [y, x, yy, xx, xy] = std::array::from_fn(|i| slot(i + 1).as_i128());
        let moments = IntegerMoments { count, y, x, yy, xx, xy };
        regression::result(AGGREGATES[function as usize].function, &moments)
    });
    // SAFETY: room for the callee's two results.
    unsafe { write_result(worker, result, results) }
}

/// A double, then whether it is NULL.
///
/// # Safety
/// There must be room for two results.
unsafe fn write_result(worker: &mut Worker, result: Result<Option<f64>>, results: *mut Slot) -> u32 {
    match result {
        Ok(value) => {
            // SAFETY: as the caller promises.
            unsafe {
                results.write(Slot::f64(value.unwrap_or_default()));
                results.add(1).write(Slot::bool(value.is_none()));
            }
            0
        }
        Err(error) => worker.fail(error),
    }
}

/// Calls a site: its arguments, then its value and whether it is NULL.
unsafe extern "C" fn site_call(worker: &mut Worker, site: u64, args: *const Slot, results: *mut Slot) -> u32 {
    // SAFETY: generated code passes arguments of the site's types, and strings that are alive.
    let result = guarded(|| unsafe { sites::run(worker, SiteId::from_index(site as usize), args) });
    match result {
        Ok((slot, null)) => {
            // SAFETY: room for the callee's two results.
            unsafe {
                results.write(slot);
                results.add(1).write(Slot::bool(null));
            }
            0
        }
        Err(error) => worker.fail(error),
    }
}

unsafe extern "C" fn short_text(_: &mut Worker, form: u64, args: *const Slot, results: *mut Slot) -> u32 {
    // SAFETY: there is an argument, and room for the callee's two results.
    unsafe {
        let text = ShortForm::numbered(form as u8).text(Args(args).slot(0).as_i64());
        results.write(Slot::str(text.unwrap_or(Str::EMPTY)));
        results.add(1).write(Slot::bool(text.is_some()));
    }
    0
}

#[cold]
fn no_param() -> Error {
    Error::internal("a parameter of another kind")
}

#[cold]
fn field_overflow(precision: u8) -> Error {
    if precision == 38 {
        return decimal::overflow();
    }
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "numeric field overflow")
        .detail(format!("The value has more than {precision} digits."))
}
