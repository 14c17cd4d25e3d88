//! Keys as bytes whose order is that of the values: numbers, texts and absent values, ascending and descending, one behind
//! the other (ART paper, section IV).
//!
//! Every part says where it ends, so that keys of the same parts never begin with another ([`PREFIX_FREE`]
//! (crate::RowKeys::PREFIX_FREE)). Values that compare equal have equal bytes (-0.0 and 0.0), so that nobody can make the value of the
//! bytes again. Types are not told apart: the parts of all keys of a tree are the same.
//!
//! ```
//! use index::{Key, Part};
//!
//! let key = |name: &str, year: i32| {
//!     let mut key = Vec::new();
//!     Key(&mut key).bytes(Part::ASCENDING, name.as_bytes()).i32(Part::DESCENDING, year);
//!     key
//! };
//! assert!(key("ART", 2016) < key("ART", 2013) && key("ART", 2013) < key("ARTS", 2020));
//! ```

/// How a part of a key is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Greater values come first.
    pub descending: bool,
    /// Where absent values come; none, if there are none: a byte less.
    pub absent: Option<Absent>,
}

/// Where absent values come, whatever the direction of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// Before all others.
    First,
    /// Behind all others.
    Last,
}

impl Part {
    /// Never absent, smaller ones first.
    pub const ASCENDING: Self = Self { descending: false, absent: None };
    /// Never absent, greater ones first.
    pub const DESCENDING: Self = Self { descending: true, absent: None };
}

/// Writes a key, part by part, behind what is there.
#[derive(Debug)]
pub struct Key<'k>(pub &'k mut Vec<u8>);

impl Key<'_> {
    /// An absent value. The part must allow for them.
    pub fn absent(&mut self, part: Part) -> &mut Self {
        debug_assert!(part.absent.is_some());
        self.0.push(if part.absent == Some(Absent::First) { 0 } else { 2 });
        self
    }

    /// What is there stands between the two places of what is absent.
    fn part(&mut self, part: Part, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        if part.absent.is_some() {
            self.0.push(1);
        }
        let start = self.0.len();
        write(self.0);
        if part.descending {
            self.0[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        self
    }

    /// A truth value; false is less.
    pub fn bool(&mut self, part: Part, value: bool) -> &mut Self {
        self.part(part, |key| key.push(value.into()))
    }
    /// An integer of 16 bits.
    pub fn i16(&mut self, part: Part, value: i16) -> &mut Self {
        self.part(part, |key| key.extend((value ^ i16::MIN).to_be_bytes()))
    }
    /// An integer of 32 bits, such as a date.
    #[inline]
    pub fn i32(&mut self, part: Part, value: i32) -> &mut Self {
        if !part.descending && part.absent.is_some() {
            let [a, b, c, d] = (value ^ i32::MIN).to_be_bytes();
            self.0.extend_from_slice(&[1, a, b, c, d]);
            return self;
        }
        self.part(part, |key| key.extend((value ^ i32::MIN).to_be_bytes()))
    }
    /// An integer of 64 bits, such as a time, or a decimal of a scale that all keys have.
    pub fn i64(&mut self, part: Part, value: i64) -> &mut Self {
        self.part(part, |key| key.extend((value ^ i64::MIN).to_be_bytes()))
    }
    /// An integer of 128 bits, such as a long decimal, or the length of an interval.
    pub fn i128(&mut self, part: Part, value: i128) -> &mut Self {
        self.part(part, |key| key.extend((value ^ i128::MIN).to_be_bytes()))
    }
    /// A floating-point number: both zeros are equal, all that are no numbers are equal and greater than all others.
    pub fn f64(&mut self, part: Part, value: f64) -> &mut Self {
        let bits = if value.is_nan() { f64::NAN.abs().to_bits() } else { (value + 0.0).to_bits() };
        // Negative ones the other way round, below the others.
        let bits = if bits >> 63 == 0 { bits | 1 << 63 } else { !bits };
        self.part(part, |key| key.extend(bits.to_be_bytes()))
    }
    /// Bytes of any length, such as a text, or the sort key of one by a collation. A zero gets a byte behind it, and two zeros
    /// are the end.
    pub fn bytes(&mut self, part: Part, value: &[u8]) -> &mut Self {
        self.part(part, |key| {
            for &byte in value {
                key.push(byte);
                if byte == 0 {
                    key.push(u8::MAX);
                }
            }
            key.extend([0, 0]);
        })
    }
}
