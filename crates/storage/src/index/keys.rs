//! Keys as indexes take them: attributes of consecutive rows of a chunk.

use std::ops::Range;

use types::ops::hash::{combine, hash_f64, hash_i64};
use types::{Interval, Physical, Str};

use crate::body::Cell;
use crate::hash::{PARTITIONS, equal_values, hash_keys, hash_one, partition_of};
use crate::{ChunkReader, Scratch, WINDOW};

/// So many keys are hashed value by value; windows are decoded for more.
const FEW: usize = 8;

/// The keys of some rows: NULL in none of them.
#[derive(Debug)]
pub struct Keys<'a> {
    reader: &'a ChunkReader,
    attributes: &'a [usize],
    rows: Range<usize>,
}

impl<'a> Keys<'a> {
    /// The values of `attributes` of the rows `rows`.
    pub fn new(reader: &'a ChunkReader, attributes: &'a [usize], rows: Range<usize>) -> Self {
        assert!(rows.start <= rows.end && rows.end <= reader.rows());
        Self { reader, attributes, rows }
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The hashes of all keys: those of joins over the same values.
    pub fn hashes(&self) -> Vec<u64> {
        if self.len() <= FEW {
            return self.rows.clone().map(|row| self.hash(row)).collect();
        }
        let (mut all, mut some) = (Vec::with_capacity(self.len()), Vec::new());
        let mut scratch: Vec<Scratch> = self.attributes.iter().map(|_| Scratch::default()).collect();
        for start in self.rows.clone().step_by(WINDOW) {
            let rows = start..self.rows.end.min(start + WINDOW);
            let windows = self.attributes.iter().zip(&mut scratch);
            let columns: Vec<_> = windows.map(|(&a, scratch)| self.reader.window(a, rows.clone(), scratch)).collect();
            hash_keys(&columns, 0, rows.len(), &mut some);
            all.extend_from_slice(&some);
        }
        all
    }

    /// The hash of the key of one row of the chunk.
    pub(super) fn hash(&self, row: usize) -> u64 {
        let of_attribute = |&attribute: &usize| match self.reader.whole(attribute, row) {
            Some(number) => hash_i64(number),
            None => self.reader.show(attribute, row, hash_one),
        };
        self.attributes.iter().map(of_attribute).reduce(combine).unwrap_or(0)
    }

    /// Whether key `number` is that of a row of another chunk.
    pub fn is_key_of(&self, number: usize, reader: &ChunkReader, attributes: &[usize], row: usize) -> bool {
        self.attributes.iter().zip(attributes).all(|(&mine, &theirs)| {
            let own = self.rows.start + number;
            self.reader.show(mine, own, |a, i| reader.show(theirs, row, |b, j| equal_values(a, i, b, j)))
        })
    }

    /// Writes the bytes of key `number` behind `out`: equal keys, and no others, have equal bytes.
    pub fn encode(&self, number: usize, out: &mut Vec<u8>) {
        for &attribute in self.attributes {
            let mut cell = Cell::default();
            let (values, row) = self.reader.cell(attribute, self.rows.start + number, &mut cell);
            match values.physical() {
                Physical::Bool => out.push(values.get::<u8>(row)),
                Physical::I16 => out.extend(values.get::<i16>(row).to_le_bytes()),
                Physical::I32 => out.extend(values.get::<i32>(row).to_le_bytes()),
                Physical::I64 => out.extend(values.get::<i64>(row).to_le_bytes()),
                Physical::I128 => out.extend(values.get::<i128>(row).to_le_bytes()),
                // The hash of a float is one to one, and that of all its equals.
                Physical::F32 => out.extend(hash_f64(values.get::<f32>(row).into()).to_le_bytes()),
                Physical::F64 => out.extend(hash_f64(values.get::<f64>(row)).to_le_bytes()),
                Physical::Interval => out.extend(values.get::<Interval>(row).approximate_micros().to_le_bytes()),
                Physical::Str => {
                    let text = values.get::<Str>(row);
                    // SAFETY: the reader pins the payload.
                    let bytes = unsafe { text.bytes() };
                    out.extend((bytes.len() as u32).to_le_bytes());
                    out.extend(bytes);
                }
            }
        }
    }

    /// The keys' numbers by partition of their hashes, in order in each: (numbers, where each partition begins).
    pub(super) fn by_partition(hashes: &[u64]) -> (Vec<u32>, [usize; PARTITIONS + 1]) {
        let mut starts = [0; PARTITIONS + 1];
        hashes.iter().for_each(|&h| starts[partition_of(h) + 1] += 1);
        (0..PARTITIONS).for_each(|p| starts[p + 1] += starts[p]);
        let (mut at, mut numbers) = (starts, vec![0; hashes.len()]);
        for (number, &hash) in hashes.iter().enumerate() {
            let place = &mut at[partition_of(hash)];
            numbers[*place] = number as u32;
            *place += 1;
        }
        (numbers, starts)
    }
}
