//! Fields and beginnings of periods of times that are known to be neither infinite nor before year 1: arithmetic on the spot,
//! of which the code generator makes multiplications, and computes once what several fields need.

use base::Result;
use plan::{Expr, ExprKind};
use types::ops::date::{self, Field};
use types::{Interval, SqlType, Value};

use super::Expressions;
use super::range::{MICROS_PER_DAY, Range};
use crate::ir::{Arithmetic, Compare, Conversion, Logic, Operation, Ty, Var};
use crate::lower::pipe::{Pipe, Sql};

/// Days from March 1 of year 0 to 1970-01-01.
const SINCE_MARCH_0: i128 = 719_468;
/// The first day of year 1.
const FIRST_DAY: i128 = -719_162;
const MICROS_PER_HOUR: i128 = 3_600_000_000;
pub(super) const MICROS_PER_MINUTE: i128 = 60_000_000;

/// What remains of a division by a positive constant, never negative, as bounds allow.
pub(super) fn remainder(pipe: &mut Pipe, of: Var, unit: i128, bounds: Range) -> Var {
    let unit = pipe.int(unit, Ty::I64);
    let rest = pipe.let_(Ty::I64, Operation::Remainder(of, unit, None));
    if bounds.low >= 0 {
        return rest;
    }
    let zero = pipe.int(0, Ty::I64);
    let is_before = pipe.compare(Compare::Lt, rest, zero);
    let later = pipe.wrapping(Arithmetic::Add, rest, unit);
    pipe.let_(Ty::I64, Operation::Select(is_before, later, rest))
}

fn divided(pipe: &mut Pipe, value: Var, by: i128) -> Var {
    let by = pipe.int(by, Ty::I64);
    pipe.let_(Ty::I64, Operation::Divide(value, by, None))
}

fn with(pipe: &mut Pipe, op: Arithmetic, value: Var, constant: i128) -> Var {
    let constant = pipe.int(constant, Ty::I64);
    pipe.wrapping(op, value, constant)
}

/// The day of a finite timestamp with such bounds, counted from 1970-01-01: I64.
pub(super) fn day_of_timestamp(pipe: &mut Pipe, at: Var, bounds: Range) -> Var {
    if bounds.low >= 0 {
        return divided(pipe, at, MICROS_PER_DAY);
    }
    // Division cuts towards zero.
    let time = remainder(pipe, at, MICROS_PER_DAY, bounds);
    let midnight = pipe.wrapping(Arithmetic::Sub, at, time);
    divided(pipe, midnight, MICROS_PER_DAY)
}

/// The time of a finite timestamp with such bounds since its midnight: I64.
pub(super) fn time_of_timestamp(pipe: &mut Pipe, at: Var, bounds: Range) -> Var {
    remainder(pipe, at, MICROS_PER_DAY, bounds)
}

/// A date of the calendar that begins its years in March, as `types::ops::date::Civil` computes it.
struct Civil {
    /// Whether it is January or February, in the next year then: I64, 0 or 1.
    is_next: Var,
    /// Of the century that begins in March.
    century: Var,
    year_of_century: Var,
    /// Days since the first of March.
    day_of_year: Var,
    /// 65,536 times the month, and 2,141 times the day.
    month: Var,
}

impl Civil {
    fn new(pipe: &mut Pipe, days: Var) -> Self {
        let quarters = with(pipe, Arithmetic::Add, days, SINCE_MARCH_0);
        let quarters = with(pipe, Arithmetic::Mul, quarters, 4);
        let quarters = with(pipe, Arithmetic::Add, quarters, 3);
        let century = divided(pipe, quarters, 146_097);
        let days_of_it = with(pipe, Arithmetic::Mul, century, 146_097);
        let in_century = pipe.wrapping(Arithmetic::Sub, quarters, days_of_it);
        let three = pipe.int(3, Ty::I64);
        let in_century = pipe.let_(Ty::I64, Operation::Logic(Logic::Or, in_century, three));
        let product = with(pipe, Arithmetic::Mul, in_century, 2_939_745);
        let year_of_century = divided(pipe, product, 1 << 32);
        let low = pipe.int((1 << 32) - 1, Ty::I64);
        let rest = pipe.let_(Ty::I64, Operation::Logic(Logic::And, product, low));
        let day_of_year = divided(pipe, rest, 4 * 2_939_745);
        let month = with(pipe, Arithmetic::Mul, day_of_year, 2141);
        let month = with(pipe, Arithmetic::Add, month, 197_913);
        let january = pipe.int(306, Ty::I64);
        let is_next = pipe.compare(Compare::Ge, day_of_year, january);
        let is_next = pipe.let_(Ty::I64, Operation::Convert(Conversion::BoolToInt, is_next, Ty::I64, None));
        Self { is_next, century, year_of_century, day_of_year, month }
    }

    fn year(&self, pipe: &mut Pipe) -> Var {
        let year = with(pipe, Arithmetic::Mul, self.century, 100);
        let year = pipe.wrapping(Arithmetic::Add, year, self.year_of_century);
        pipe.wrapping(Arithmetic::Add, year, self.is_next)
    }

    /// The same date so many months later, or the last day of that month; it must not lie before year 1.
    fn plus_months(&self, pipe: &mut Pipe, months: i32) -> Var {
        let years = with(pipe, Arithmetic::Mul, self.century, 100);
        let years = pipe.wrapping(Arithmetic::Add, years, self.year_of_century);
        let since = with(pipe, Arithmetic::Mul, years, 12);
        let month = divided(pipe, self.month, 1 << 16);
        let since = pipe.wrapping(Arithmetic::Add, since, month);
        // March is the third month.
        let since = with(pipe, Arithmetic::Add, since, i128::from(months) - 3);
        let next = with(pipe, Arithmetic::Add, since, 1);
        let (first, beyond) = (month_begin(pipe, since), month_begin(pipe, next));
        let length = pipe.wrapping(Arithmetic::Sub, beyond, first);
        let (day, last) = (self.day(pipe), with(pipe, Arithmetic::Sub, length, 1));
        let is_there = pipe.compare(Compare::Lt, day, last);
        let day = pipe.let_(Ty::I64, Operation::Select(is_there, day, last));
        let days = pipe.wrapping(Arithmetic::Add, first, day);
        with(pipe, Arithmetic::Sub, days, SINCE_MARCH_0)
    }

    /// The first day of its year, or of its quarter, of a date on that day.
    fn first_day(&self, pipe: &mut Pipe, days: Var, of_quarter: bool) -> Var {
        let march = pipe.wrapping(Arithmetic::Sub, days, self.day_of_year);
        // Of the January before, in a year that is leap if the century is, or the year of it.
        let is_first = self.is_at_least(pipe, self.year_of_century, 1);
        let number = pipe.let_(Ty::I64, Operation::Select(is_first, self.year_of_century, self.century));
        let three = pipe.int(3, Ty::I64);
        let rest = pipe.let_(Ty::I64, Operation::Logic(Logic::And, number, three));
        let is_plain = self.is_at_least(pipe, rest, 1);
        let [plain, leap] = [-59, -60].map(|days| pipe.int(days, Ty::I64));
        let mut first = pipe.let_(Ty::I64, Operation::Select(is_plain, plain, leap));
        // April, July and October, as days behind the first of March; and the next January.
        let later: &[i128] = if of_quarter { &[31, 122, 214, 306] } else { &[306] };
        for &begin in later {
            let is_later = self.is_at_least(pipe, self.day_of_year, begin);
            let day = pipe.int(begin, Ty::I64);
            first = pipe.let_(Ty::I64, Operation::Select(is_later, day, first));
        }
        pipe.wrapping(Arithmetic::Add, march, first)
    }

    fn is_at_least(&self, pipe: &mut Pipe, value: Var, least: i128) -> Var {
        let least = pipe.int(least, Ty::I64);
        pipe.compare(Compare::Ge, value, least)
    }

    fn month(&self, pipe: &mut Pipe) -> Var {
        let month = divided(pipe, self.month, 1 << 16);
        let months = with(pipe, Arithmetic::Mul, self.is_next, 12);
        pipe.wrapping(Arithmetic::Sub, month, months)
    }

    /// From 0.
    fn day(&self, pipe: &mut Pipe) -> Var {
        let low = pipe.int((1 << 16) - 1, Ty::I64);
        let rest = pipe.let_(Ty::I64, Operation::Logic(Logic::And, self.month, low));
        divided(pipe, rest, 2141)
    }
}

/// The day on which a month begins; both are counted from March of year 0.
fn month_begin(pipe: &mut Pipe, month: Var) -> Var {
    let year = divided(pipe, month, 12);
    let months = with(pipe, Arithmetic::Mul, year, 12);
    let month = pipe.wrapping(Arithmetic::Sub, month, months);
    let days = with(pipe, Arithmetic::Mul, month, 153);
    let days = with(pipe, Arithmetic::Add, days, 2);
    let mut days = divided(pipe, days, 5);
    let plain = with(pipe, Arithmetic::Mul, year, 365);
    days = pipe.wrapping(Arithmetic::Add, days, plain);
    for (years, op) in [(4, Arithmetic::Add), (100, Arithmetic::Sub), (400, Arithmetic::Add)] {
        let leaps = divided(pipe, year, years);
        days = pipe.wrapping(op, days, leaps);
    }
    days
}

/// Days since a Monday, of which so many are added first.
fn day_of_week(pipe: &mut Pipe, days: Var, more: i128) -> Var {
    // 1970-01-01 was a Thursday.
    let since = with(pipe, Arithmetic::Add, days, SINCE_MARCH_0 + 2 + more);
    remainder(pipe, since, 7, Range { low: 0, high: i64::MAX.into() })
}

/// The length of periods of `time_bucket` and `date_bin`, and a moment at which one begins, if both are constants.
fn periods(args: &[Expr]) -> Option<(i128, i128)> {
    let ExprKind::Const(Value::Interval(Interval { months: 0, days, micros })) = args.first()?.kind else {
        return None;
    };
    let origin = match args.get(2).map(|origin| &origin.kind) {
        None => date::BUCKET_ORIGIN,
        Some(ExprKind::Const(Value::Timestamp(origin))) if !date::is_infinite(*origin) => *origin,
        Some(_) => return None,
    };
    let length = i128::from(days) * MICROS_PER_DAY + i128::from(micros);
    (0 < length && length <= i64::MAX.into()).then_some((length, origin.into()))
}

/// Whether the field of a day, or of a time of the day, is computed here.
fn is_field(field: Field, of_time: bool) -> bool {
    use Field::{Day, DayOfWeek, Hour, IsoDayOfWeek, Minute, Month, Quarter, Year};
    matches!(field, Year | Quarter | Month | Day | DayOfWeek | IsoDayOfWeek)
        || of_time && matches!(field, Hour | Minute)
}

impl Expressions {
    /// Bounds of a date or timestamp without time zone that allow for what this module does.
    fn calendar_bounds(&self, input: &Expr) -> Option<Range> {
        let first = match input.sql_type {
            SqlType::Date => FIRST_DAY,
            SqlType::Timestamp => FIRST_DAY * MICROS_PER_DAY,
            _ => return None,
        };
        self.finite_bounds(input).filter(|range| range.low >= first)
    }

    /// A field of a time, if it is one that is computed here: I64.
    pub(super) fn calendar_field(&mut self, pipe: &mut Pipe, field: Field, input: &Expr) -> Result<Option<Sql>> {
        let of_time = input.sql_type == SqlType::Timestamp;
        let Some(bounds) = self.calendar_bounds(input).filter(|_| is_field(field, of_time)) else { return Ok(None) };
        let sql = self.scalar(pipe, input)?;
        let at = sql.value;
        let value = match field {
            Field::Hour | Field::Minute => {
                let time = time_of_timestamp(pipe, at, bounds);
                match field {
                    Field::Hour => divided(pipe, time, MICROS_PER_HOUR),
                    _ => {
                        let minutes = divided(pipe, time, MICROS_PER_MINUTE);
                        remainder(pipe, minutes, 60, Range { low: 0, high: 24 * 60 })
                    }
                }
            }
            _ => {
                let days = if of_time { day_of_timestamp(pipe, at, bounds) } else { pipe.widen(at, Ty::I64) };
                Self::field_of_day(pipe, field, days)
            }
        };
        Ok(Some(Sql { value, null: sql.null }))
    }

    fn field_of_day(pipe: &mut Pipe, field: Field, days: Var) -> Var {
        match field {
            Field::DayOfWeek => day_of_week(pipe, days, 1),
            Field::IsoDayOfWeek => {
                let day = day_of_week(pipe, days, 0);
                with(pipe, Arithmetic::Add, day, 1)
            }
            Field::Year => Civil::new(pipe, days).year(pipe),
            Field::Day => {
                let day = Civil::new(pipe, days).day(pipe);
                with(pipe, Arithmetic::Add, day, 1)
            }
            _ => {
                let month = Civil::new(pipe, days).month(pipe);
                if field == Field::Month {
                    return month;
                }
                let months = with(pipe, Arithmetic::Add, month, 2);
                divided(pipe, months, 3)
            }
        }
    }

    /// The number of the year, quarter or month that a date is in, if that is computed here: I64.
    pub(super) fn calendar_period(&mut self, pipe: &mut Pipe, field: Field, input: &Expr) -> Result<Option<Sql>> {
        let of_year = match field {
            Field::Year => 0,
            Field::Quarter => 4,
            Field::Month => 12,
            _ => return Ok(None),
        };
        let is_date = input.sql_type == SqlType::Date;
        if self.calendar_bounds(input).filter(|_| is_date).is_none() {
            return Ok(None);
        }
        if let ExprKind::Const(Value::Date(days)) = input.kind {
            let of = |field: Field| date::extract_date(field, days).map(i128::from);
            let within = if of_year == 0 { 0 } else { of(field)? };
            let number = of(Field::Year)? * of_year.max(1) + within;
            return Ok(Some(Sql { value: pipe.int(number, Ty::I64), null: None }));
        }
        let sql = self.scalar(pipe, input)?;
        let days = pipe.widen(sql.value, Ty::I64);
        let year = Self::field_of_day(pipe, Field::Year, days);
        if of_year == 0 {
            return Ok(Some(Sql { value: year, null: sql.null }));
        }
        let years = with(pipe, Arithmetic::Mul, year, of_year);
        let within = Self::field_of_day(pipe, field, days);
        Ok(Some(Sql { value: pipe.wrapping(Arithmetic::Add, years, within), null: sql.null }))
    }

    /// A date or timestamp so many months and microseconds later, as a timestamp, if that is computed here.
    pub(super) fn calendar_plus(
        &mut self,
        pipe: &mut Pipe,
        input: &Expr,
        (months, micros): (i32, i128),
    ) -> Result<Option<Sql>> {
        let is_timestamp = input.sql_type == SqlType::Timestamp;
        let Some(bounds) = self.calendar_bounds(input) else { return Ok(None) };
        let unit = if is_timestamp { 1 } else { MICROS_PER_DAY };
        // What is added at most, one way or the other.
        let most = 31 * i128::from(months).abs() * MICROS_PER_DAY + micros.abs();
        let (low, high) = (bounds.low * unit - most, bounds.high * unit + most);
        if low < FIRST_DAY * MICROS_PER_DAY || high > i128::from(i64::MAX / 2) {
            return Ok(None);
        }
        let sql = self.scalar(pipe, input)?;
        let days =
            if is_timestamp { day_of_timestamp(pipe, sql.value, bounds) } else { pipe.widen(sql.value, Ty::I64) };
        let later = Civil::new(pipe, days).plus_months(pipe, months);
        let mut value = with(pipe, Arithmetic::Mul, later, MICROS_PER_DAY);
        if is_timestamp {
            let time = time_of_timestamp(pipe, sql.value, bounds);
            value = pipe.wrapping(Arithmetic::Add, value, time);
        }
        if micros != 0 {
            value = with(pipe, Arithmetic::Add, value, micros);
        }
        Ok(Some(Sql { value, null: sql.null }))
    }

    /// Bounds of the beginnings of periods of any length, and these and their origin, if they are computed here.
    pub(super) fn calendar_bucket_bounds(&self, args: &[Expr], sql_type: SqlType) -> Option<(Range, (i128, i128))> {
        let input =
            args.get(1).filter(|input| (input.sql_type, sql_type) == (SqlType::Timestamp, SqlType::Timestamp))?;
        let (length, origin) = periods(args)?;
        let Range { low, high } = self.calendar_bounds(input)?;
        let is_near = low - length >= FIRST_DAY * MICROS_PER_DAY
            && Range { low: low - origin, high: high - origin }.fits(Ty::I64);
        is_near.then_some((Range { low: low - length, high }, (length, origin)))
    }

    /// The beginning of the period of any length in which a timestamp is, if it is computed here.
    pub(super) fn calendar_bucket(&mut self, pipe: &mut Pipe, args: &[Expr], sql_type: SqlType) -> Result<Option<Sql>> {
        let Some((bounds, (length, origin))) = self.calendar_bucket_bounds(args, sql_type) else { return Ok(None) };
        let sql = self.scalar(pipe, &args[1])?;
        let since = with(pipe, Arithmetic::Sub, sql.value, origin);
        // The bounds begin a period earlier.
        let bounds = Range { low: bounds.low + length - origin, high: bounds.high - origin };
        let rest = remainder(pipe, since, length, bounds);
        Ok(Some(Sql { value: pipe.wrapping(Arithmetic::Sub, sql.value, rest), null: sql.null }))
    }

    /// The beginning of a period of a timestamp, if it is one that is computed here.
    pub(super) fn calendar_begin(&mut self, pipe: &mut Pipe, field: Field, input: &Expr) -> Result<Option<Sql>> {
        let unit = match field {
            Field::Day => MICROS_PER_DAY,
            Field::Hour => MICROS_PER_HOUR,
            Field::Minute => MICROS_PER_MINUTE,
            Field::Second => 1_000_000,
            Field::Week | Field::Month | Field::Quarter | Field::Year => 0,
            _ => return Ok(None),
        };
        let is_timestamp = input.sql_type == SqlType::Timestamp;
        let Some(bounds) = self.calendar_bounds(input).filter(|_| is_timestamp) else { return Ok(None) };
        let sql = self.scalar(pipe, input)?;
        let value = if unit == 0 {
            let days = day_of_timestamp(pipe, sql.value, bounds);
            let first = match field {
                Field::Week => {
                    let day = day_of_week(pipe, days, 0);
                    pipe.wrapping(Arithmetic::Sub, days, day)
                }
                Field::Month => {
                    let day = Civil::new(pipe, days).day(pipe);
                    pipe.wrapping(Arithmetic::Sub, days, day)
                }
                _ => Civil::new(pipe, days).first_day(pipe, days, field == Field::Quarter),
            };
            with(pipe, Arithmetic::Mul, first, MICROS_PER_DAY)
        } else {
            let rest = remainder(pipe, sql.value, unit, bounds);
            pipe.wrapping(Arithmetic::Sub, sql.value, rest)
        };
        Ok(Some(Sql { value, null: sql.null }))
    }
}
