//! A set of rows of a window that mostly has one row, or none, and is small then.

use crate::bits::Bits;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) enum RowSet {
    #[default]
    Empty,
    One(u16),
    Many(Box<Bits>),
}

impl RowSet {
    pub(crate) fn of(rows: &Bits) -> Self {
        let mut all = rows.iter();
        match (all.next(), all.next()) {
            (None, _) => Self::Empty,
            (Some(row), None) => Self::one(row),
            _ => Self::Many(Box::new(*rows)),
        }
    }

    pub(crate) fn one(row: usize) -> Self {
        Self::One(row as u16)
    }

    /// Its row, if it has one only.
    pub(crate) fn single(&self) -> Option<usize> {
        match self {
            Self::One(row) => Some(usize::from(*row)),
            _ => None,
        }
    }

    pub(crate) fn bits(&self) -> Bits {
        match self {
            Self::Empty => Bits::default(),
            Self::One(row) => Bits::of_range(usize::from(*row)..usize::from(*row) + 1),
            Self::Many(bits) => **bits,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    pub(crate) fn has(&self, row: usize) -> bool {
        match self {
            Self::Empty => false,
            Self::One(one) => usize::from(*one) == row,
            Self::Many(bits) => bits.has(row),
        }
    }

    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::One(_) => 1,
            Self::Many(bits) => bits.count(),
        }
    }

    /// How many rows there are before a row.
    pub(crate) fn rank(&self, row: usize) -> usize {
        match self {
            Self::Empty => 0,
            Self::One(one) => usize::from(usize::from(*one) < row),
            Self::Many(bits) => bits.rank(row),
        }
    }

    pub(crate) fn touches(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Empty, _) | (_, Self::Empty) => false,
            (Self::One(row), rows) | (rows, Self::One(row)) => rows.has(usize::from(*row)),
            (Self::Many(mine), Self::Many(theirs)) => mine.touches(theirs),
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        match (&mut *self, other) {
            (_, Self::Empty) => {}
            (Self::Empty, more) => *self = more.clone(),
            (Self::One(mine), Self::One(theirs)) if mine == theirs => {}
            (Self::Many(mine), Self::One(row)) => mine.insert(usize::from(*row)),
            (Self::Many(mine), Self::Many(theirs)) => mine.add(theirs),
            (Self::One(_), more) => {
                let mut all = more.bits();
                all.add(&self.bits());
                *self = Self::Many(Box::new(all));
            }
        }
    }

    /// Adds its rows to others.
    pub(crate) fn add_to(&self, bits: &mut Bits) {
        match self {
            Self::Empty => {}
            Self::One(row) => bits.insert(usize::from(*row)),
            Self::Many(rows) => bits.add(rows),
        }
    }

    /// Takes its rows from others.
    pub(crate) fn remove_from(&self, bits: &mut Bits) {
        if !self.is_empty() {
            bits.remove(&self.bits());
        }
    }

    /// Bytes of memory beside its own.
    pub(crate) fn bytes(&self) -> usize {
        if let Self::Many(_) = self { size_of::<Bits>() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_none_one_and_many_rows_are_as_their_bits() {
        let rows: [&[usize]; 6] = [&[], &[0], &[7], &[1023], &[7, 8], &[0, 7, 64, 1023]];
        let bits = |rows: &[usize]| Bits::of(rows.iter().copied());
        for a in rows.map(bits) {
            let set = RowSet::of(&a);
            assert_eq!((set.bits(), set.count(), set.is_empty()), (a, a.count(), a.is_empty()));
            for row in [0, 6, 7, 8, 64, 1023] {
                assert_eq!((set.has(row), set.rank(row)), (a.has(row), a.rank(row)));
            }
            for b in rows.map(bits) {
                let other = RowSet::of(&b);
                assert_eq!(set.touches(&other), a.touches(&b));
                let (mut sum, mut bits) = (set.clone(), a);
                sum.add(&other);
                bits.add(&b);
                assert_eq!(sum.bits(), bits);
                let (mut more, mut less) = (b, b);
                set.add_to(&mut more);
                set.remove_from(&mut less);
                assert_eq!((more, less), (bits, b.without(&a)));
            }
        }
    }
}
