//! What functions read and write: operands gathered into columns in the order of the sort, constants, and ranges of
//! results. Types that differ only in width share a form, so each function is compiled for five of them; which one is
//! asked once a call, not once a row.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use base::memory::Buffer;
use types::value::compare_floats;
use types::{Interval, Physical, SqlType, Str, Value};

macro_rules! forms {
    ($($form:ident($type:ty),)*) => {
        /// The values of a column; whatever stands where a row is NULL.
        #[derive(Debug)]
        pub(crate) enum Values {
            $(#[doc = concat!("As ", stringify!($type), ".")] $form(Buffer<$type>),)*
        }

        /// A range of a result's values.
        #[derive(Debug)]
        pub(crate) enum OutValues<'a> {
            $(#[doc = concat!("As ", stringify!($type), ".")] $form(&'a mut [$type]),)*
        }

        $(impl Element for $type {
            fn values(values: &Values) -> &[Self] {
                let Values::$form(values) = values else { panic!("{} from {values:?}", stringify!($type)) };
                values
            }

            fn out(values: OutValues<'_>) -> &mut [Self] {
                let OutValues::$form(values) = values else { panic!("{} to {values:?}", stringify!($type)) };
                values
            }

            fn wrap(values: &[Self]) -> Values {
                Values::$form(values.into())
            }

            #[inline]
            fn order(&self, other: &Self) -> Ordering {
                order::$form(self, other)
            }

            #[inline]
            fn tell_apart(&self, other: &Self) -> Ordering {
                tell_apart::$form(self, other)
            }
        })*
    };
}

forms! {
    I64(i64), // boolean, smallint to bigint, date as days, timestamp as microseconds, decimals in 64 bits
    I128(i128), // wide decimals
    F64(f64), // real, too
    Str(Str),
    Interval(Interval),
}

/// A form of values.
pub(super) trait Element: Copy + Debug + Send + Sync + 'static {
    /// The values of a column that has them in this form.
    fn values(values: &Values) -> &[Self];
    /// Where such results go.
    fn out(values: OutValues<'_>) -> &mut [Self];
    /// Values of this form.
    fn wrap(values: &[Self]) -> Values;
    /// Their order as ORDER BY sees it.
    fn order(&self, other: &Self) -> Ordering;
    /// An order of values that are equal in [`order`](Self::order) and yet not the same.
    fn tell_apart(&self, other: &Self) -> Ordering;
}

#[expect(non_snake_case, reason = "named as the forms are")]
mod order {
    use super::*;

    #[inline]
    pub(super) fn I64(a: &i64, b: &i64) -> Ordering {
        a.cmp(b)
    }
    #[inline]
    pub(super) fn I128(a: &i128, b: &i128) -> Ordering {
        a.cmp(b)
    }
    #[inline]
    pub(super) fn F64(a: &f64, b: &f64) -> Ordering {
        compare_floats(*a, *b)
    }
    #[inline]
    pub(super) fn Str(a: &Str, b: &Str) -> Ordering {
        // SAFETY: the payloads of a column's strings and of a constant live as long as it does, see `Column`.
        unsafe { a.compare(b) }
    }
    #[inline]
    pub(super) fn Interval(a: &Interval, b: &Interval) -> Ordering {
        a.approximate_micros().cmp(&b.approximate_micros())
    }
}

#[expect(non_snake_case, reason = "named as the forms are")]
mod tell_apart {
    use super::*;

    #[inline]
    pub(super) fn I64(_: &i64, _: &i64) -> Ordering {
        Ordering::Equal
    }
    #[inline]
    pub(super) fn I128(_: &i128, _: &i128) -> Ordering {
        Ordering::Equal
    }
    /// 0 and -0; NaNs are alike.
    #[inline]
    pub(super) fn F64(a: &f64, b: &f64) -> Ordering {
        if a.is_nan() { Ordering::Equal } else { a.total_cmp(b) }
    }
    #[inline]
    pub(super) fn Str(_: &Str, _: &Str) -> Ordering {
        Ordering::Equal
    }
    /// A month and 30 days.
    #[inline]
    pub(super) fn Interval(a: &Interval, b: &Interval) -> Ordering {
        (a.months, a.days, a.micros).cmp(&(b.months, b.days, b.micros))
    }
}

/// Calls `$body` with `$T` as the form of a type's values.
macro_rules! with_form {
    ($sql_type:expr, $T:ident => $body:expr) => {
        match $crate::window::column::Form::of($sql_type) {
            $crate::window::column::Form::I64 => {
                type $T = i64;
                $body
            }
            $crate::window::column::Form::I128 => {
                type $T = i128;
                $body
            }
            $crate::window::column::Form::F64 => {
                type $T = f64;
                $body
            }
            $crate::window::column::Form::Str => {
                type $T = types::Str;
                $body
            }
            $crate::window::column::Form::Interval => {
                type $T = types::Interval;
                $body
            }
        }
    };
}
pub(super) use with_form;

/// The name of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `i64`
    I64,
    /// `i128`
    I128,
    /// `f64`
    F64,
    /// `Str`
    Str,
    /// `Interval`
    Interval,
}

impl Form {
    /// The form of a type's values.
    pub(crate) fn of(sql_type: SqlType) -> Self {
        match sql_type.physical() {
            Physical::Bool | Physical::I16 | Physical::I32 | Physical::I64 => Self::I64,
            Physical::I128 => Self::I128,
            Physical::F32 | Physical::F64 => Self::F64,
            Physical::Str => Self::Str,
            Physical::Interval => Self::Interval,
        }
    }
}

/// A value for each row, in the order of the sort. Strings must live as long as the column: whoever gathers them sees to it
/// that the rows that own their bytes do.
#[derive(Debug)]
pub(crate) struct Column {
    /// The values.
    pub(crate) values: Values,
    /// A byte a row, 1 for NULL; none if there is no NULL.
    pub(crate) nulls: Option<Buffer<u8>>,
}

/// An argument of a call: a column, or one value for all rows.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    column: Arc<Column>,
    /// What owns a constant's bytes.
    constant: Option<Value>,
    /// Its type.
    pub(crate) sql_type: SqlType,
}

impl Operand {
    /// A column of values of a type.
    pub(crate) fn column(column: Arc<Column>, sql_type: SqlType) -> Self {
        Self { column, constant: None, sql_type }
    }

    /// A value of a type.
    pub(crate) fn constant(value: Value, sql_type: SqlType) -> Self {
        fn one<T: Element>(value: T) -> Values {
            T::wrap(&[value])
        }
        let values = match (&value, Form::of(sql_type)) {
            (Value::Bool(b), _) => one(i64::from(*b)),
            (Value::Int(i) | Value::Time(i) | Value::Timetz(i) | Value::Timestamp(i), _) => one(*i),
            (Value::Date(days) | Value::Enum(days), _) => one(i64::from(*days)),
            (Value::Decimal(d), Form::I64) => one(*d as i64),
            (Value::Decimal(d), _) => one(*d),
            (Value::Float(f), _) => one(*f),
            (Value::Str(text), _) => one(Str::new(text.as_bytes())),
            (Value::Interval(i), _) => one(*i),
            (Value::Uuid(u), _) => one(types::ops::uuid::stored(*u)),
            (Value::Null, Form::I64) => one(0i64),
            (Value::Null, Form::I128) => one(0i128),
            (Value::Null, Form::F64) => one(0.0),
            (Value::Null, Form::Str) => one(Str::EMPTY),
            (Value::Null, Form::Interval) => one(Interval::default()),
        };
        let nulls = value.is_null().then(|| Buffer::from(&[1u8][..]));
        Self { column: Arc::new(Column { values, nulls }), constant: Some(value), sql_type }
    }

    /// Whether all rows have the same value.
    pub(crate) fn is_constant(&self) -> bool {
        self.constant.is_some()
    }

    /// The rows' values in their form.
    pub(super) fn cells<T: Element>(&self) -> Cells<'_, T> {
        let mask = if self.is_constant() { 0 } else { usize::MAX };
        Cells { values: T::values(&self.column.values), nulls: self.nulls(), mask }
    }

    /// Which rows are NULL.
    pub(super) fn is_null(&self, row: usize) -> bool {
        self.nulls().is_some_and(|nulls| nulls[if self.is_constant() { 0 } else { row }] != 0)
    }

    /// A byte a row (or one, of a constant) that says whether it is NULL; none if there is no NULL.
    pub(super) fn nulls(&self) -> Option<&[u8]> {
        self.column.nulls.as_deref()
    }
}

/// An operand's values, by row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells<'a, T> {
    values: &'a [T],
    nulls: Option<&'a [u8]>,
    /// All ones, or 0 where there is one value for all rows.
    mask: usize,
}

impl<'a, T: Element> Cells<'a, T> {
    /// The row's value, whatever it is if that is NULL.
    #[inline]
    pub(super) fn value(&self, row: usize) -> T {
        self.values[row & self.mask]
    }

    /// The rows' values, if they have one each.
    pub(super) fn slice(&self) -> Option<&'a [T]> {
        (self.mask != 0).then_some(self.values)
    }

    /// The value of all rows, if there is only one.
    pub(super) fn constant(&self) -> Option<Option<T>> {
        (self.mask == 0).then(|| self.get(0))
    }

    /// Whether the row's value is NULL.
    #[inline]
    pub(super) fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls[row & self.mask] != 0)
    }

    /// The row's value.
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<T> {
        if self.is_null(row) { None } else { Some(self.value(row)) }
    }
}

/// A range of a result to be written.
#[derive(Debug)]
pub(crate) struct Out<'a> {
    /// The values; whatever is there already where a row is NULL.
    pub(crate) values: OutValues<'a>,
    /// A byte a row, 1 for NULL.
    pub(crate) nulls: &'a mut [u8],
}

impl<'a> Out<'a> {
    /// The range in its form.
    pub(super) fn form<T: Element>(self) -> Sink<'a, T> {
        Sink { values: T::out(self.values), nulls: self.nulls }
    }
}

/// A range of a result in its form.
#[derive(Debug)]
pub(super) struct Sink<'a, T> {
    pub(super) values: &'a mut [T],
    pub(super) nulls: &'a mut [u8],
}

impl<T: Element> Sink<'_, T> {
    /// Writes the range's `at`th result.
    #[inline]
    pub(super) fn set(&mut self, at: usize, value: Option<T>) {
        self.nulls[at] = u8::from(value.is_none());
        if let Some(value) = value {
            self.values[at] = value;
        }
    }

    /// A part of the range.
    pub(super) fn part(&mut self, at: Range<usize>) -> Sink<'_, T> {
        Sink { values: &mut self.values[at.clone()], nulls: &mut self.nulls[at] }
    }

    /// Writes the result before once more.
    #[inline]
    pub(super) fn repeat(&mut self, at: usize, from: usize) {
        self.values[at] = self.values[from];
        self.nulls[at] = self.nulls[from];
    }
}
