//! Values that rows had.

use types::{Column, Physical, SqlType, Str};

use crate::ColumnRef;
use crate::values::Values;

/// Values of an attribute: none, or one in place, or many.
#[derive(Debug)]
pub(crate) enum Old {
    None,
    One(One),
    Column(Column),
}

/// A value as it lies in a column.
#[derive(Debug)]
#[repr(C, align(16))]
pub(crate) struct One {
    words: [u64; 2],
    null: [u8; 1],
    sql_type: SqlType,
    /// What the header of a long string in `words` points to.
    _text: Option<Box<[u8]>>,
}

impl Old {
    /// The value at a place.
    pub(super) fn value(values: Values<'_>, sql_type: SqlType, at: usize) -> Self {
        let size = sql_type.physical().size();
        assert!(values.physical() == sql_type.physical() && at < values.rows());
        let (mut words, null) = ([0; 2], [u8::from(values.is_null(at))]);
        // SAFETY: there is a value at that place, and room for any in two words.
        unsafe {
            let value = values.address().data.add(at * size);
            words.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(value, size);
        }
        let header = Str::from_words(words);
        if sql_type.physical() != Physical::Str || header.is_inline() {
            return Self::One(One { words, null, sql_type, _text: None });
        }
        // SAFETY: whoever has made the values keeps their payload alive.
        let text: Box<[u8]> = unsafe { header.bytes() }.into();
        Self::One(One { words: Str::new(&text).words(), null, sql_type, _text: Some(text) })
    }

    /// Where they lie, in the order of the rows.
    pub(crate) fn values(&self) -> Option<Values<'_>> {
        match self {
            Self::None => None,
            Self::One(one) => {
                let nulls = if one.null[0] == 0 { std::ptr::null() } else { one.null.as_ptr() };
                let of = ColumnRef { data: one.words.as_ptr().cast(), nulls };
                // SAFETY: one value lies there, aligned for all types.
                Some(unsafe { Values::new(one.sql_type.physical(), of, 1) })
            }
            Self::Column(column) => Some(column.into()),
        }
    }

    /// The type of its values.
    pub(super) fn sql_type(&self) -> SqlType {
        match self {
            Self::None => SqlType::Null,
            Self::One(one) => one.sql_type,
            Self::Column(column) => column.sql_type(),
        }
    }

    /// Bytes of memory beside its own.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(one) => one._text.as_ref().map_or(0, |text| text.len()),
            Self::Column(column) => column.bytes(),
        }
    }
}
