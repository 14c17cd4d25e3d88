//! The keys of a finished join's rows, for who looks them up in an index of the table below its probe (decision 68).

use std::any::Any;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use pipeline::ir::{KeyPlace, Ty};
use scheduler::{Cutting, Morsel, MorselRanges, Offsets};
use types::column::Plain;
use types::ops::hash::unhash_u64;
use types::{Chunk, ColumnBuilder, Physical, SqlType, Str};

use crate::rows::{Segment, cut_rows, offsets};

/// Keys of a join's build rows, which are numbered from 0.
#[derive(Debug)]
pub struct BuildKeys {
    segments: Vec<Segment>,
    offsets: Offsets,
    places: Vec<KeyPlace>,
    word: Word,
    /// Keeps the rows alive.
    _join: Arc<dyn Any + Send + Sync>,
}

/// What the word of a build row is, behind the address of the next row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    /// Whether it is the hash of the key.
    pub hashed: bool,
    /// Offset of a byte that is 1 if the key is NULL.
    pub null: Option<u32>,
}

impl BuildKeys {
    /// Of the rows of a finished join, which keeps them alive.
    pub(crate) fn new(
        segments: Vec<Segment>,
        word: Word,
        places: Vec<KeyPlace>,
        join: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        Self { offsets: offsets(&segments), segments, places, word, _join: join }
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.offsets.rows()
    }

    /// Their morsels.
    pub fn cut(&self, cut: &Cutting) -> MorselRanges {
        cut_rows(&self.segments, &self.offsets, cut)
    }

    /// The keys of some rows, a column of each type for each place: of rows whose keys are not NULL and numbers of their types.
    pub fn columns(&self, rows: Range<u64>, types: &[SqlType]) -> Chunk {
        let room = (rows.end - rows.start) as usize;
        let mut columns: Vec<_> = types.iter().map(|sql_type| ColumnBuilder::new(*sql_type, room)).collect();
        let mut count = 0;
        for (number, rows) in self.offsets.within(Morsel { begin: rows.start, end: rows.end }) {
            let segment = &self.segments[number];
            segment.note_read(rows.len());
            for at in rows {
                // SAFETY: a row of the segment.
                let row = Row(unsafe { segment.row(at) }.cast_const(), PhantomData);
                let is_key = |(place, of): (&KeyPlace, &SqlType)| self.key(row, *place, of.physical()).is_some();
                if !self.places.iter().zip(types).all(is_key) {
                    continue;
                }
                count += 1;
                for ((place, of), column) in self.places.iter().zip(types).zip(&mut columns) {
                    match self.key(row, *place, of.physical()) {
                        Some(key) => key.push(of.physical(), column),
                        None => column.push_null(),
                    }
                }
            }
        }
        Chunk::new(count, columns.into_iter().map(ColumnBuilder::finish).collect())
    }

    /// The numbers that rows have as one of their keys, in the order of the places; none if that is no number of 64 bits or fewer.
    pub fn numbers(&self, place: usize) -> Option<Vec<i64>> {
        let place = self.places[place];
        if matches!(place, KeyPlace::Field { ty, .. } if !matches!(ty, Ty::I16 | Ty::I32 | Ty::I64)) {
            return None;
        }
        let mut numbers = Vec::with_capacity(self.rows() as usize);
        for segment in &self.segments {
            segment.note_read(segment.rows());
            for at in 0..segment.rows() {
                // SAFETY: a row of the segment.
                let row = Row(unsafe { segment.row(at) }.cast_const(), PhantomData);
                if let Some(Key::Number(number)) = self.key(row, place, Physical::I64) {
                    numbers.push(number as i64);
                }
            }
        }
        Some(numbers)
    }

    /// A key of a row, unless it is NULL or no number of the type.
    #[inline]
    fn key(&self, row: Row<'_>, place: KeyPlace, physical: Physical) -> Option<Key<'_>> {
        let number = match place {
            KeyPlace::Word => {
                if self.word.null.is_some_and(|null| row.read::<u8>(null) == 1) {
                    return None;
                }
                let word = row.read::<i64>(WORD);
                i128::from(if self.word.hashed { unhash_u64(word as u64) as i64 } else { word })
            }
            KeyPlace::Field { offset, ty, null } => {
                if null.is_some_and(|null| row.read::<u8>(null) == 1) {
                    return None;
                }
                match ty {
                    Ty::I16 => row.read::<i16>(offset).into(),
                    Ty::I32 => row.read::<i32>(offset).into(),
                    Ty::I64 => row.read::<i64>(offset).into(),
                    Ty::I128 => row.read::<i128>(offset),
                    Ty::Str => return Some(Key::Text(row.read::<Str>(offset), PhantomData)),
                    _ => return None,
                }
            }
        };
        let is_of_type = match physical {
            Physical::I16 => i16::try_from(number).is_ok(),
            Physical::I32 => i32::try_from(number).is_ok(),
            Physical::I64 => i64::try_from(number).is_ok(),
            Physical::I128 => true,
            _ => false,
        };
        is_of_type.then_some(Key::Number(number))
    }
}

/// Byte offset of a row's word.
const WORD: u32 = 8;

/// A complete row that nobody writes to, for as long as its keys' owner lives.
#[derive(Clone, Copy)]
struct Row<'r>(*const u8, PhantomData<&'r BuildKeys>);

impl Row<'_> {
    /// A field, which is of that type.
    #[inline(always)]
    fn read<T: Plain>(self, offset: u32) -> T {
        // SAFETY: the verifier has found the field in the row's layout; any bytes are a value of a plain type.
        unsafe { self.0.add(offset as usize).cast::<T>().read_unaligned() }
    }
}

/// A key of a row.
enum Key<'r> {
    Number(i128),
    Text(Str, PhantomData<&'r BuildKeys>),
}

impl Key<'_> {
    fn push(self, physical: Physical, to: &mut ColumnBuilder) {
        match (self, physical) {
            (Self::Number(number), Physical::I16) => to.push(number as i16),
            (Self::Number(number), Physical::I32) => to.push(number as i32),
            (Self::Number(number), Physical::I64) => to.push(number as i64),
            (Self::Number(number), _) => to.push(number),
            // SAFETY: texts of a finished state live as long as it, and are UTF-8.
            (Self::Text(text, _), _) => to.push_str(unsafe { std::str::from_utf8_unchecked(text.bytes()) }),
        }
    }
}
