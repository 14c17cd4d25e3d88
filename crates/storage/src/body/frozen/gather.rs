//! Values of rows that lie anywhere in a column of numbers: their codes are brought together, and become numbers at once.

use std::slice::from_raw_parts;

use types::ColumnBuilder;

use super::numbers::{self, Code, with_code};
use super::{Frozen, Scheme};

/// Values that become numbers at once.
const GATHERED: usize = 64;

impl Frozen {
    /// Whether its codes are numbers.
    pub(crate) fn is_of_numbers(&self) -> bool {
        self.scheme() == Scheme::Numbers
    }

    /// Appends the values of rows, of a column of numbers.
    pub(crate) fn gather(&self, mut rows: impl Iterator<Item = usize>, to: &mut ColumnBuilder) {
        assert!(self.is_of_numbers());
        with_code!(self.width(), C => while self.gather_some::<C>(&mut rows, to) {});
    }

    /// The same of the next rows; false if there was none.
    fn gather_some<C: Code>(&self, rows: &mut impl Iterator<Item = usize>, to: &mut ColumnBuilder) -> bool {
        let (header, all) = (&self.header, self.codes::<C>());
        let mut codes = [C::of_number(0); GATHERED];
        let mut count = 0;
        for (code, row) in codes.iter_mut().zip(rows) {
            *code = all[row];
            count += 1;
        }
        let codes = &codes[..count];
        let mut values = [0i128; GATHERED];
        // SAFETY: there is room for so many values of any type.
        unsafe { numbers::decode(header, codes, values.as_mut_ptr().cast()) };
        let size = header.physical.size();
        // SAFETY: as many were written, one behind the other.
        let bytes = unsafe { from_raw_parts(values.as_ptr().cast::<u8>(), count * size) };
        let is_null = |code: &C| header.has_null && code.code() == 0;
        if codes.iter().any(is_null) {
            for (code, value) in codes.iter().zip(bytes.chunks_exact(size)) {
                if is_null(code) { to.push_null() } else { to.push_bytes(value) }
            }
        } else {
            to.push_bytes(bytes);
        }
        count > 0
    }
}
