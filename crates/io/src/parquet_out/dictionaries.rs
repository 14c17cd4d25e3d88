//! Which columns of a file have dictionaries: where few values are distinct, they are the smaller form; where most are, readers
//! unpack a megabyte of them before the first row, and the rest of the row group is written without.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryViewType, StringViewType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use parquet::file::properties::{DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT, WriterProperties};
use parquet::schema::types::ColumnPath;
use types::ops::hash::hash_bytes;

/// Of fewer rows nothing is concluded.
const TELLING: usize = 1 << 10;
/// A dictionary and its codes take at most this share of what values do.
const WORTH_IT: f64 = 0.75;

/// The properties of a file that begins with some rows, with so many rows in a row group.
pub fn chosen(properties: &WriterProperties, begin: &[RecordBatch], row_group: usize) -> WriterProperties {
    let Some(first) = begin.first() else { return properties.clone() };
    let mut chosen = properties.clone().into_builder();
    for (number, field) in first.schema_ref().fields().iter().enumerate() {
        if Seen::of(begin.iter().map(|rows| &**rows.column(number))).is_some_and(|seen| !seen.suits(row_group)) {
            chosen = chosen.set_column_dictionary_enabled(ColumnPath::from(vec![field.name().clone()]), false);
        }
    }
    chosen.build()
}

/// What some rows of a column say.
#[derive(Default)]
struct Seen {
    rows: usize,
    /// Bytes of their values.
    bytes: usize,
    distinct: HashSet<u64>,
}

impl Seen {
    /// None of columns that are made of others.
    fn of<'a>(parts: impl Iterator<Item = &'a dyn Array>) -> Option<Self> {
        let mut seen = Self::default();
        for part in parts {
            match part.data_type() {
                DataType::Utf8 => seen.add(part, |row| part.as_string::<i32>().value(row).as_bytes()),
                DataType::Utf8View => seen.add(part, |row| part.as_byte_view::<StringViewType>().value(row).as_bytes()),
                DataType::Binary => seen.add(part, |row| part.as_binary::<i32>().value(row)),
                DataType::BinaryView => seen.add(part, |row| part.as_byte_view::<BinaryViewType>().value(row)),
                of => {
                    let (width, data) = (of.primitive_width()?, part.to_data());
                    let values = &data.buffers()[0].as_slice()[data.offset() * width..];
                    seen.add(part, |row| &values[row * width..][..width]);
                }
            }
        }
        Some(seen)
    }

    fn add<'a>(&mut self, part: &dyn Array, value: impl Fn(usize) -> &'a [u8]) {
        for row in (0..part.len()).filter(|&row| part.is_valid(row)) {
            let value = value(row);
            self.rows += 1;
            self.bytes += value.len();
            self.distinct.insert(hash_bytes(value));
        }
    }

    /// Whether a dictionary for so many rows like these is worth it.
    fn suits(&self, rows: usize) -> bool {
        if self.rows < TELLING {
            return true;
        }
        let (seen, rows) = (self.rows as f64, rows as f64);
        let width = self.bytes as f64 / seen;
        let entries = drawn(values_behind(self.distinct.len() as f64, seen), rows);
        let (dictionary, codes) = (entries * width, rows * entries.log2().ceil().max(1.0) / 8.0);
        dictionary <= DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT as f64 && dictionary + codes <= WORTH_IT * rows * width
    }
}

/// How many different ones so many draws find among so many values, each as likely as others.
fn drawn(values: f64, draws: f64) -> f64 {
    values * -(-draws / values).exp_m1()
}

/// Among how many values so many draws find so many different ones.
fn values_behind(distinct: f64, draws: f64) -> f64 {
    let (mut low, mut high) = (distinct, draws * draws);
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        match drawn(middle, draws) < distinct {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringViewArray};
    use base::Random;

    use super::*;

    #[test]
    fn what_is_different_in_most_rows_has_no_dictionary() {
        let mut random = Random(4);
        let mut numbers = |values: u64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values((0..16_384).map(|_| random.below(values) as i64)))
        };
        let few = numbers(1000);
        let ten_thousand = numbers(10_000);
        let many = numbers(1_000_000);
        let texts: ArrayRef =
            Arc::new(StringViewArray::from_iter_values((0..16_384).map(|row| format!("comment {row}"))));
        let nulls: ArrayRef = Arc::new(Int64Array::from_iter((0..16_384).map(|_| None::<i64>)));
        let rows = [("few", few), ("ten thousand", ten_thousand), ("many", many), ("texts", texts), ("nulls", nulls)];
        let batch = RecordBatch::try_from_iter(rows.clone()).unwrap();
        let (begin, end) = (batch.slice(0, 9000), batch.slice(9000, 16_384 - 9000));
        let chosen = chosen(&WriterProperties::builder().build(), &[begin, end], 122_880);
        let has = rows.map(|(name, _)| chosen.dictionary_enabled(&ColumnPath::from(vec![name.to_owned()])));
        assert_eq!(has, [true, true, false, false, true]);
        assert!((values_behind(drawn(5000.0, 16_384.0), 16_384.0) - 5000.0).abs() < 1.0);
    }
}
