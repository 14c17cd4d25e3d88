//! Numbers of a few bits as Parquet packs levels and codes: repetitions of one number, and groups of 8 that lie behind one
//! another bit by bit (*Parquet format, Encodings*, RLE / bit-packing hybrid).

use base::simd::vectorised;
use bytes::Bytes;
use parquet::errors::{ParquetError, Result};

/// Most bits of a number.
const WIDEST: u32 = 32;

/// What numbers are read as.
pub trait Number: Copy {
    /// The low bits.
    fn of(number: u64) -> Self;
}

macro_rules! number {
    ($($t:ty),*) => { $(
        impl Number for $t {
            #[inline(always)]
            fn of(number: u64) -> Self { number as $t }
        }
    )* };
}
number!(u8, u32);

/// Numbers that are read one after the other.
pub struct Hybrid {
    bytes: Bytes,
    /// Where the next run begins.
    at: usize,
    width: u32,
    run: Run,
}

/// What is left of a run.
enum Run {
    Repeated { number: u64, left: usize },
    Packed { begin: usize, next: usize, left: usize },
}

impl Hybrid {
    /// Numbers of `width` bits.
    pub fn new(bytes: Bytes, width: u32) -> Result<Self> {
        if width > WIDEST {
            return Err(corrupt("numbers of more than 32 bits"));
        }
        Ok(Self { bytes, at: 0, width, run: Run::Repeated { number: 0, left: 0 } })
    }

    /// Reads as many numbers as there is room for.
    pub fn read<T: Number>(&mut self, mut to: &mut [T]) -> Result<()> {
        while !to.is_empty() {
            let most = to.len();
            let now = match &mut self.run {
                Run::Repeated { left: 0, .. } | Run::Packed { left: 0, .. } => {
                    self.next_run()?;
                    continue;
                }
                Run::Repeated { number, left } => {
                    let now = most.min(*left);
                    to[..now].fill(T::of(*number));
                    *left -= now;
                    now
                }
                Run::Packed { begin, next, left } => {
                    let now = most.min(*left);
                    unpack(&self.bytes[*begin..], self.width as usize, *next, &mut to[..now]);
                    (*next, *left) = (*next + now, *left - now);
                    now
                }
            };
            to = &mut to[now..];
        }
        Ok(())
    }

    /// The number that each of the next `count` is, if they are of one repetition; they are read then.
    pub fn read_repeated(&mut self, count: usize) -> Result<Option<u64>> {
        if matches!(self.run, Run::Repeated { left: 0, .. } | Run::Packed { left: 0, .. }) {
            self.next_run()?;
        }
        match &mut self.run {
            Run::Repeated { number, left } if *left >= count => {
                *left -= count;
                Ok(Some(*number))
            }
            _ => Ok(None),
        }
    }

    fn next_run(&mut self) -> Result<()> {
        let header = self.header()?;
        let (count, rest) = ((header >> 1) as usize, self.bytes.len() - self.at);
        if count == 0 {
            return Err(corrupt("an empty run"));
        }
        let width = self.width as usize;
        if header & 1 == 0 {
            let bytes = width.div_ceil(8);
            let number = self.bytes.get(self.at..self.at + bytes).ok_or_else(|| corrupt("a run that ends early"))?;
            let number = number.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte));
            self.at += bytes;
            self.run = Run::Repeated { number, left: count };
        } else if width == 0 {
            self.run = Run::Repeated { number: 0, left: count.saturating_mul(8) };
        } else {
            // Of a last run, some writers leave out the end.
            let bytes = count.saturating_mul(width).min(rest);
            let left = (bytes * 8 / width).min(count.saturating_mul(8));
            if left == 0 {
                return Err(corrupt("a run that ends early"));
            }
            self.run = Run::Packed { begin: self.at, next: 0, left };
            self.at += bytes;
        }
        Ok(())
    }

    /// A number in groups of 7 bits.
    fn header(&mut self) -> Result<u64> {
        let mut header = 0;
        for shift in (0..35).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or_else(|| corrupt("too few of them"))?;
            self.at += 1;
            header |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(header);
            }
        }
        Err(corrupt("a run that is too long"))
    }
}

#[cold]
fn corrupt(what: &str) -> ParquetError {
    ParquetError::General(format!("levels or codes have {what}"))
}

/// Bytes that are loaded at once.
const WORD: usize = 8;

/// The packed numbers from number `first` on, of which there are as many as there is room for.
fn unpack<T: Number>(bytes: &[u8], width: usize, first: usize, to: &mut [T]) {
    // Groups of 8 begin with a byte.
    let (head, to) = to.split_at_mut((first.next_multiple_of(8) - first).min(to.len()));
    let begin = (first + head.len()) / 8;
    // Of the last ones, too few bytes may be left to load words.
    let loadable = (bytes.len().saturating_sub(2 * WORD) / width).saturating_sub(begin);
    let (groups, tail) = to.split_at_mut((loadable * 8).min(to.len() / 8 * 8));
    let numbers =
        |from: usize, to: &mut [T]| (from..).zip(to).for_each(|(number, to)| *to = unpack_one(bytes, width, number));
    numbers(first, head);
    numbers(begin * 8 + groups.len(), tail);
    vectorised(
        #[inline(always)]
        || {
            for (group, to) in groups.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let bytes = &bytes[(begin + group) * width..];
                match width {
                    0..=8 => unpack_word(word(bytes, 0), width, to),
                    9..=16 => {
                        let (low, high) = to.split_at_mut(4);
                        unpack_word(word(bytes, 0), width, low);
                        // Behind 4 numbers, which end within a byte where the width is odd.
                        unpack_word(word(bytes, width / 2) >> (4 * width % 8), width, high);
                    }
                    _ => (0..).zip(to).for_each(|(at, to)| {
                        unpack_word(word(bytes, at * width / 8) >> (at * width % 8), width, std::slice::from_mut(to));
                    }),
                }
            }
        },
    );
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("a word from here"))
}

/// The numbers that a word begins with.
#[inline(always)]
fn unpack_word<T: Number>(word: u64, width: usize, to: &mut [T]) {
    let mask = (1u64 << width) - 1;
    to.iter_mut().enumerate().for_each(|(at, to)| *to = T::of(word >> (at * width) & mask));
}

fn unpack_one<T: Number>(bytes: &[u8], width: usize, number: usize) -> T {
    let rest = &bytes[number * width / 8..];
    let mut padded = [0; WORD];
    let length = rest.len().min(WORD);
    padded[..length].copy_from_slice(&rest[..length]);
    T::of(u64::from_le_bytes(padded) >> (number * width % 8) & ((1u64 << width) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Random;

    /// Runs of random kinds, and the numbers that they stand for.
    fn packed(random: &mut Random, width: u32) -> (Vec<u8>, Vec<u32>) {
        let (mut bytes, mut numbers) = (Vec::new(), Vec::new());
        for _ in 0..random.index(6) + 1 {
            let number = |random: &mut Random| (random.bits() & ((1u64 << width) - 1)) as u32;
            let mut header = |mut header: usize| {
                while header >= 0x80 {
                    bytes.push(header as u8 | 0x80);
                    header >>= 7;
                }
                bytes.push(header as u8);
            };
            if random.below(2) == 0 {
                let (count, number) = (random.index(300) + 1, number(random));
                header(count << 1);
                bytes.extend(&number.to_le_bytes()[..width.div_ceil(8) as usize]);
                numbers.extend(std::iter::repeat_n(number, count));
            } else {
                let groups = random.index(80) + 1;
                header(groups << 1 | 1);
                let begin = bytes.len();
                bytes.resize(begin + groups * width as usize, 0);
                for at in 0..groups * 8 {
                    let number = number(random);
                    let bit = |bit: usize| (begin + (at * width as usize + bit) / 8, (at * width as usize + bit) % 8);
                    (0..width as usize).for_each(|b| bytes[bit(b).0] |= ((number >> b & 1) as u8) << bit(b).1);
                    numbers.push(number);
                }
            }
        }
        (bytes, numbers)
    }

    #[test]
    fn numbers_are_those_that_were_packed() {
        let mut random = Random(3);
        for width in (0..=32).cycle().take(500) {
            let (bytes, expected) = packed(&mut random, width);
            let mut hybrid = Hybrid::new(bytes.clone().into(), width).unwrap();
            let mut got = Vec::new();
            while got.len() < expected.len() {
                let mut to = vec![0u32; (random.index(200) + 1).min(expected.len() - got.len())];
                match hybrid.read_repeated(to.len()).unwrap() {
                    Some(number) => to.fill(number as u32),
                    None => hybrid.read(&mut to).unwrap(),
                }
                got.extend(to);
            }
            assert_eq!(got, expected);
            assert!(hybrid.read(&mut [0u32; 9]).is_err());
            // Whatever is cut off, nothing worse than an error comes of it.
            let cut = random.index(bytes.len());
            let mut hybrid = Hybrid::new(bytes[..cut].to_vec().into(), width).unwrap();
            let mut to = vec![0u32; expected.len()];
            if hybrid.read(&mut to).is_ok() {
                assert_eq!(to, expected);
            }
        }
        assert!(Hybrid::new(Bytes::new(), 33).is_err());
    }
}
