//! Values where they lie: of columns in memory, of a constant, of a chunk that grows.

use std::marker::PhantomData;
use std::ops::Range;

use types::column::Plain;
use types::{Column, Datum, Physical, Str};

use crate::ColumnRef;

/// The values of some rows, wherever they lie.
#[derive(Clone, Copy)]
pub(crate) struct Values<'a> {
    physical: Physical,
    of: ColumnRef,
    rows: usize,
    /// The column, if its values are codes and may not be written out: `of` has no address of them then.
    coded: Option<&'a Column>,
    _owner: PhantomData<&'a Column>,
}

impl<'a> Values<'a> {
    /// # Safety
    /// `rows` rows of that layout are at the addresses, initialised and not written to as long as `'a`; `data` is
    /// aligned for them. The payload of strings lives as long.
    pub(crate) unsafe fn new(physical: Physical, of: ColumnRef, rows: usize) -> Self {
        Self { physical, of, rows, coded: None, _owner: PhantomData }
    }

    pub(crate) fn physical(self) -> Physical {
        self.physical
    }
    pub(crate) fn rows(self) -> usize {
        self.rows
    }

    /// Where they lie.
    pub(crate) fn address(self) -> ColumnRef {
        self.coded.map_or(self.of, ColumnRef::of)
    }

    /// The entries of which these are all values, some perhaps of none, and the code of each: whose column has them.
    pub(crate) fn codes(self) -> Option<(&'a Column, &'a [u16])> {
        self.coded.and_then(Column::codes)
    }

    /// Values of some rows; `T` is the physical type.
    #[inline]
    pub(crate) fn slice<T: Plain>(self, rows: Range<usize>) -> &'a [T] {
        assert!(size_of::<T>() == self.physical.size() && rows.start <= rows.end && rows.end <= self.rows);
        // SAFETY: within the rows that the maker of `self` has vouched for; `Plain` types admit all bits.
        unsafe { std::slice::from_raw_parts(self.address().data.cast::<T>().add(rows.start), rows.len()) }
    }

    /// One value; `T` is the physical type.
    #[inline]
    pub(crate) fn get<T: Plain>(self, row: usize) -> T {
        assert!(size_of::<T>() == self.physical.size() && row < self.rows);
        // SAFETY: as in `slice`.
        unsafe { self.address().data.cast::<T>().add(row).read() }
    }

    /// The NULL flags of some rows, or none if no row is NULL.
    pub(crate) fn nulls(self, rows: Range<usize>) -> Option<&'a [u8]> {
        assert!(rows.start <= rows.end && rows.end <= self.rows);
        // SAFETY: as for the values, with a byte a row.
        (!self.of.nulls.is_null())
            .then(|| unsafe { std::slice::from_raw_parts(self.of.nulls.add(rows.start), rows.len()) })
    }

    /// The bytes of a long string, which lie elsewhere.
    pub(crate) fn text_bytes(self, row: usize) -> usize {
        match self.physical {
            Physical::Str => Some(self.get::<Str>(row)).filter(|text| !text.is_inline()).map_or(0, |text| text.len()),
            _ => 0,
        }
    }

    #[inline]
    pub(crate) fn is_null(self, row: usize) -> bool {
        assert!(row < self.rows);
        // SAFETY: a flag for each of the rows.
        !self.of.nulls.is_null() && unsafe { self.of.nulls.add(row).read() } != 0
    }
}

impl<'a> From<&'a Datum<'a>> for Values<'a> {
    fn from(datum: &'a Datum<'a>) -> Self {
        let nulls = datum.nulls().map_or(std::ptr::null(), <[u8]>::as_ptr);
        let of = ColumnRef { data: datum.bytes().as_ptr(), nulls };
        // SAFETY: one value lies there, aligned for all types, and with it or behind it the bytes of a string.
        unsafe { Self::new(datum.physical(), of, 1) }
    }
}

impl<'a> From<&'a Column> for Values<'a> {
    fn from(column: &'a Column) -> Self {
        let coded = column.codes().is_some().then_some(column);
        let of = match coded {
            None => ColumnRef::of(column),
            Some(_) => ColumnRef { nulls: column.nulls().map_or(std::ptr::null(), <[u8]>::as_ptr), ..ColumnRef::NONE },
        };
        // SAFETY: the column holds the rows, owns the payload and does not change.
        unsafe { Self { coded, ..Self::new(column.physical(), of, column.rows()) } }
    }
}
