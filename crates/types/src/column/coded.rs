//! Values as numbers of a dictionary's entries, as files have them: written out only for those who ask for an array.

use std::sync::{Arc, OnceLock};

use super::{Buffer, Column};

/// See the module.
#[derive(Debug)]
pub(super) struct Coded {
    /// None is NULL.
    pub(super) entries: Column,
    /// By row; of a row that is NULL any.
    pub(super) codes: Vec<u16>,
    nulls: Option<Arc<Buffer>>,
    values: OnceLock<Buffer>,
}

impl Coded {
    pub(super) fn new(entries: Column, codes: Vec<u16>, nulls: Option<Arc<Buffer>>) -> Self {
        assert!(entries.nulls().is_none());
        let most = codes.iter().fold(0, |most, &code| most.max(code));
        assert!(codes.is_empty() || usize::from(most) < entries.rows());
        Self { entries, codes, nulls, values: OnceLock::new() }
    }

    /// The values, one for each row.
    pub(super) fn values(&self) -> &Buffer {
        self.values.get_or_init(|| self.written_out())
    }

    /// Bytes that the codes and the values take, whether these are written out or not.
    pub(super) fn bytes(&self) -> usize {
        self.codes.len() * (size_of::<u16>() + self.entries.physical().size())
    }

    fn written_out(&self) -> Buffer {
        let size = self.entries.physical().size();
        let mut values = Buffer::with_capacity(self.codes.len() * size);
        macro_rules! gather {
            ($t:ty) => {{
                let (entries, rows) = (self.entries.data().cast::<$t>(), self.entries.rows());
                // SAFETY: so many values of this size lie there, aligned to 64, of types that admit all bits.
                let entries = unsafe { std::slice::from_raw_parts(entries, rows) };
                match &self.nulls {
                    None => values.extend_with(self.codes.len(), |row| entries[usize::from(self.codes[row])]),
                    Some(nulls) => values.extend_with(self.codes.len(), |row| match nulls.as_slice()[row] {
                        0 => entries[usize::from(self.codes[row])],
                        _ => 0,
                    }),
                }
            }};
        }
        match size {
            1 => gather!(u8),
            2 => gather!(u16),
            4 => gather!(u32),
            8 => gather!(i64),
            _ => gather!(i128),
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnBuilder, SqlType, Value};

    #[test]
    fn values_are_the_entries_of_the_codes() {
        for (sql_type, entries) in [
            (SqlType::Text, [Value::str("short"), Value::str("longer than twelve bytes")]),
            (SqlType::BigInt, [Value::Int(7), Value::Int(-1)]),
            (SqlType::decimal(30, 0), [Value::Decimal(1 << 100), Value::Decimal(3)]),
        ] {
            let mut builder = ColumnBuilder::new(sql_type, 2);
            entries.iter().for_each(|value| builder.push_value(value));
            let dictionary = builder.finish();
            let nulls: Buffer = [0u8, 0, 1, 0].into_iter().collect();
            for nulls in [None, Some(Arc::new(nulls))] {
                let column = Column::coded(dictionary.clone(), vec![1, 0, 1, 1], nulls.clone());
                let (of, codes) = column.codes().unwrap();
                assert_eq!((of.rows(), codes), (2, &[1u16, 0, 1, 1][..]));
                let third = if nulls.is_some() { Value::Null } else { entries[1].clone() };
                let expected = [entries[1].clone(), entries[0].clone(), third, entries[1].clone()];
                assert_eq!([0, 1, 2, 3].map(|row| column.value(row)), expected);
            }
        }
    }
}
