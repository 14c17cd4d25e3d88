//! The newest values of one attribute in a window: of few rows one after the other in the order of the rows, of many each at
//! its place. They are written and copied a column at a time.

mod texts;

use std::ops::Range;

use types::{Buffer, Column, ColumnBuilder, Physical, SqlType};

use crate::bits::{Bits, Ranked};
use crate::body::Overlay;
use crate::values::Values;
use crate::{ColumnRef, WINDOW};
use texts::MUCH_TEXT;

/// Most rows whose values lie one after the other.
const FEW: usize = WINDOW / 2;
/// Fewest values that there is room for.
const LEAST: usize = 4;

/// See the module.
#[derive(Debug)]
pub(crate) struct Patch {
    pub(super) attribute: usize,
    sql_type: SqlType,
    rows: Ranked,
    /// Whether each row has its own place. Otherwise its place is the number of rows before it.
    is_spread: bool,
    values: Buffer,
    /// A flag for each place.
    nulls: Vec<u8>,
    /// The payload of long texts, and perhaps of some that were replaced.
    texts: Vec<Box<[u8]>>,
    /// Bytes of `texts`.
    payload: usize,
    /// So many of these are worth a look.
    much: usize,
}

impl Patch {
    pub(super) fn new(attribute: usize, sql_type: SqlType) -> Self {
        let values = Buffer::zeroed(0);
        let (rows, nulls, texts) = (Ranked::default(), Vec::new(), Vec::new());
        Self { attribute, sql_type, rows, is_spread: false, values, nulls, texts, payload: 0, much: MUCH_TEXT }
    }

    /// The type of its values.
    pub(super) fn sql_type(&self) -> SqlType {
        self.sql_type
    }
    fn physical(&self) -> Physical {
        self.sql_type.physical()
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.values.capacity() + self.nulls.capacity() + self.payload
    }

    /// The rows that have values here.
    pub(super) fn rows(&self) -> &Bits {
        self.rows.bits()
    }

    fn values(&self) -> Values<'_> {
        let of = ColumnRef { data: self.values.as_ptr(), nulls: self.nulls.as_ptr() };
        // SAFETY: the buffer has as many values as there are flags, zeros where nothing was written; long texts are in
        // `texts`.
        unsafe { Values::new(self.physical(), of, self.nulls.len()) }
    }

    /// Where a row that has a value here has it.
    fn place(&self, row: usize) -> usize {
        if self.is_spread { row } else { self.rows.rank(row) }
    }

    /// Where the value of a row is, if it has one here.
    pub(super) fn find(&self, row: usize) -> Option<(Values<'_>, usize)> {
        self.rows.has(row).then(|| (self.values(), self.place(row)))
    }

    /// Calls `with` with the place of each of the rows, which all have values here, in order.
    fn each_place(&self, rows: &Bits, mut with: impl FnMut(usize, usize)) {
        rows.iter().for_each(|row| with(row, self.place(row)));
    }

    /// Writes the values of rows of a range, but for some, over others, of which the first is the range's.
    pub(super) fn over(&self, range: &Range<usize>, but: &Bits, to: &mut Overlay<'_>) {
        let asked = Bits::of_range(range.clone());
        let wanted = self.rows().and(&asked).without(but);
        if self.is_spread && wanted == asked {
            return to.put_run(self.values(), range.clone(), 0);
        }
        let first = range.start;
        to.put(self.values(), wanted.iter().map(|row| (self.place(row), row - first)));
    }

    /// The values of rows, which are all here, in order.
    pub(super) fn copy(&self, rows: &Bits) -> Column {
        let mut to = ColumnBuilder::new(self.sql_type, rows.count());
        let values = self.values();
        self.each_place(rows, |_, place| crate::body::copy(values, place, &mut to));
        to.finish()
    }

    /// Sets the rows to values, whose places are given in the order of the rows.
    pub(super) fn put_all(&mut self, rows: &Bits, from: Values<'_>, places: &[u32]) {
        self.make_room(rows);
        match self.physical().size() {
            1 => self.put_sized::<1>(rows, from, places),
            2 => self.put_sized::<2>(rows, from, places),
            4 => self.put_sized::<4>(rows, from, places),
            8 => self.put_sized::<8>(rows, from, places),
            _ => self.put_sized::<16>(rows, from, places),
        }
        if self.physical() == Physical::Str {
            self.keep_texts(rows);
        }
    }

    /// Sets one row to the value at a place.
    pub(super) fn put(&mut self, row: usize, from: Values<'_>, at: usize) {
        assert!(from.physical() == self.physical() && at < from.rows());
        self.make_room_for(row);
        let (place, size) = (self.place(row), self.physical().size());
        self.nulls[place] = from.is_null(at).into();
        // SAFETY: there is a value at `at`, and one for each flag.
        unsafe {
            let value = from.address().data.add(at * size);
            self.values.as_mut_ptr().add(place * size).copy_from_nonoverlapping(value, size);
        }
        if self.physical() == Physical::Str {
            self.keep_text(place);
        }
    }

    fn put_sized<const SIZE: usize>(&mut self, rows: &Bits, from: Values<'_>, places: &[u32]) {
        assert!(self.physical().size() == SIZE && from.physical() == self.physical());
        let (data, flags) = (from.address().data.cast::<[u8; SIZE]>(), from.nulls(0..from.rows()));
        let (to, mut nulls) = (self.values.as_mut_ptr().cast::<[u8; SIZE]>(), std::mem::take(&mut self.nulls));
        if places.len() == WINDOW && places.iter().zip(places[0]..).all(|(place, next)| *place == next) {
            let first = places[0] as usize;
            assert!(first + WINDOW <= from.rows() && nulls.len() == WINDOW);
            // SAFETY: so many values are there, and a window has room for them.
            unsafe { to.copy_from_nonoverlapping(data.add(first), WINDOW) };
            match flags {
                None => nulls.fill(0),
                Some(flags) => nulls.copy_from_slice(&flags[first..first + WINDOW]),
            }
        } else {
            let mut left = places.iter();
            self.each_place(rows, |_, place| {
                let &at = left.next().expect("a place for each row");
                assert!((at as usize) < from.rows());
                nulls[place] = flags.map_or(0, |flags| flags[at as usize]);
                // SAFETY: there is a value for each flag, and one for each of the rows.
                unsafe { to.add(place).write(data.add(at as usize).read()) };
            });
        }
        self.nulls = nulls;
    }

    /// Has no values of these rows any more.
    pub(super) fn forget(&mut self, rows: &Bits) {
        let left = self.rows().without(rows);
        if left == *self.rows() {
            return;
        }
        if !self.is_spread {
            let mut places = Vec::with_capacity(left.count());
            self.each_place(&left, |_, place| places.push(place as u32));
            let mut rest = Self::new(self.attribute, self.sql_type);
            rest.put_all(&left, self.values(), &places);
            *self = rest;
        }
        self.rows = left.into();
    }

    /// Makes room for values of these rows.
    fn make_room(&mut self, rows: &Bits) {
        let mut all = *self.rows();
        all.add(rows);
        if all == *self.rows() {
            return;
        }
        let before = std::mem::replace(&mut self.rows, all.into());
        if self.is_spread {
            return;
        }
        let count = self.rows.count();
        let room = if count > FEW { WINDOW } else { count.next_power_of_two().max(LEAST) };
        let size = self.physical().size();
        let (mut values, mut nulls) = (Buffer::zeroed(room * size), vec![0; room]);
        self.is_spread = room == WINDOW;
        for (from, row) in before.bits().iter().enumerate() {
            let to = self.place(row);
            nulls[to] = self.nulls[from];
            // SAFETY: both places are in their buffers, one value each.
            unsafe {
                let value = self.values.as_ptr().add(from * size);
                values.as_mut_ptr().add(to * size).copy_from_nonoverlapping(value, size);
            }
        }
        (self.values, self.nulls) = (values, nulls);
    }

    /// Makes room for the value of a row.
    fn make_room_for(&mut self, row: usize) {
        if self.rows.has(row) {
            return;
        }
        let old = self.rows.count();
        if !self.is_spread && old == self.nulls.len() {
            if old >= FEW {
                return self.make_room(&Bits::of_range(row..row + 1));
            }
            self.grow((2 * old).max(LEAST));
        }
        self.rows.insert(row);
        if !self.is_spread {
            // The values behind it move up by one place.
            let (place, size) = (self.rows.rank(row), self.physical().size());
            self.nulls.copy_within(place..old, place + 1);
            self.values.as_mut_slice().copy_within(place * size..old * size, (place + 1) * size);
        }
    }

    /// There is room for so many values, each where it was.
    fn grow(&mut self, room: usize) {
        let size = self.physical().size();
        let mut values = Buffer::zeroed(room * size);
        values.as_mut_slice()[..self.nulls.len() * size].copy_from_slice(self.values.as_slice());
        self.values = values;
        self.nulls.resize(room, 0);
    }
}
