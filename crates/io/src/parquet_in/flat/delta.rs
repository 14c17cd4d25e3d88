//! Integers as the distance from the one before (*Parquet format, Encodings*, DELTA_BINARY_PACKED): a first value, then blocks of
//! a least distance and what is added to it, packed in as few bits as each miniblock needs.
//!
//! All arithmetic wraps around, first values included: of unsigned integers, writers do not agree on whether these are 32
//! or 64 bits long.

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::errors::{ParquetError, Result};

/// More values than a block may have: writers use 128.
const LARGEST_BLOCK: u64 = 1 << 20;

/// Values that are added up at once, even of a page of a few bytes: equal distances take none. Of larger pages, so many for each
/// byte.
const MANY: u64 = 4 << 20;
const MOST_A_BYTE: u64 = 64;

/// Bytes that the values of a page come to, if it is such a one of integers of so many bytes.
pub fn room(page: &Page, integer: Option<usize>) -> usize {
    match (page.encoding(), integer) {
        (Encoding::DELTA_BINARY_PACKED, Some(size)) => {
            let values = u64::from(page.num_values()).min(most_values(page.buffer().len()));
            usize::try_from(values).unwrap_or(usize::MAX).saturating_mul(size)
        }
        _ => 0,
    }
}

/// The values of a page, at most `most`, as plain ones of 4 or 8 bytes. Pages that would become too large are not
/// implemented here.
pub fn plain(bytes: &[u8], size: usize, most: usize) -> Result<Bytes> {
    let mut reader = Reader { bytes };
    let (block, miniblocks, count) = (reader.number()?, reader.number()?, reader.number()?);
    let first = reader.signed()?;
    if count > most as u64 {
        return Err(corrupt("more values than rows"));
    }
    if miniblocks == 0 || block > LARGEST_BLOCK || block % miniblocks != 0 {
        return Err(corrupt("blocks of no use"));
    }
    if count > most_values(bytes.len()) {
        return Err(ParquetError::NYI("many values in few bytes".into()));
    }
    let (count, each) = (count as usize, (block / miniblocks) as usize);
    let mut values: Vec<u8> = Vec::with_capacity(count * size);
    let mut put = |value: i64| values.extend_from_slice(&value.to_le_bytes()[..size]);
    let (mut value, mut left) = (first, count);
    if left > 0 {
        put(value);
        left -= 1;
    }
    while left > 0 {
        let least = reader.signed()?;
        let widths = reader.take(miniblocks as usize)?;
        for &width in widths {
            if left == 0 {
                break;
            }
            let (width, now) = (usize::from(width), left.min(each));
            if width > 64 {
                return Err(corrupt("numbers of more than 64 bits"));
            }
            // Of a last miniblock, some writers leave out the end.
            let packed = reader.take_some((each * width).div_ceil(8), (now * width).div_ceil(8))?;
            for at in 0..now {
                value = value.wrapping_add(least).wrapping_add(unpack(packed, width, at) as i64);
                put(value);
            }
            left -= now;
        }
        if each == 0 {
            return Err(corrupt("empty blocks"));
        }
    }
    Ok(values.into())
}

/// As many as are added up of so many bytes.
fn most_values(bytes: usize) -> u64 {
    MANY.max(bytes as u64 * MOST_A_BYTE)
}

/// A packed number.
fn unpack(bytes: &[u8], width: usize, at: usize) -> u64 {
    if width == 0 {
        return 0;
    }
    let (byte, bit) = (at * width / 8, at * width % 8);
    let rest = &bytes[byte..];
    let word = match rest.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => rest.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte)),
    };
    let above = if bit > 0 && bit + width > 64 { u64::from(rest[8]) << (64 - bit) } else { 0 };
    (word >> bit | above) & (u64::MAX >> (64 - width))
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        self.take_some(length, length)
    }

    /// So many bytes, or what is left of them if it is at least `least`.
    fn take_some(&mut self, length: usize, least: usize) -> Result<&'a [u8]> {
        let length = length.min(self.bytes.len());
        if length < least {
            return Err(corrupt("too few bytes"));
        }
        let (taken, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        Ok(taken)
    }

    /// A number in groups of 7 bits.
    fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..70).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(corrupt("a number that is too long"))
    }

    /// A number whose lowest bit says that it is negative.
    fn signed(&mut self) -> Result<i64> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }
}

#[cold]
fn corrupt(what: &str) -> ParquetError {
    ParquetError::General(format!("differences have {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Random;

    fn number(mut number: u64, to: &mut Vec<u8>) {
        while number >= 0x80 {
            to.push(number as u8 | 0x80);
            number >>= 7;
        }
        to.push(number as u8);
    }

    fn signed(value: i64, to: &mut Vec<u8>) {
        number((value << 1 ^ value >> 63) as u64, to);
    }

    /// A page as a writer makes it, with blocks of 4 miniblocks of 32.
    fn packed(values: &[i64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        [128, 4, values.len() as u64].into_iter().for_each(|n| number(n, &mut bytes));
        signed(values.first().copied().unwrap_or(0), &mut bytes);
        let differences: Vec<i64> = values.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
        for block in differences.chunks(128) {
            let least = *block.iter().min().expect("not empty");
            signed(least, &mut bytes);
            let above = |d: &i64| d.wrapping_sub(least) as u64;
            let width = |mini: &[i64]| mini.iter().map(|d| 64 - above(d).leading_zeros()).max().unwrap_or(0);
            let minis: Vec<&[i64]> = block.chunks(32).collect();
            (0..4).for_each(|i| bytes.push(minis.get(i).map_or(0, |mini| width(mini)) as u8));
            for mini in minis {
                let (begin, width) = (bytes.len(), width(mini) as usize);
                bytes.resize(begin + 4 * width, 0);
                for (at, d) in mini.iter().enumerate() {
                    for bit in (0..width).filter(|bit| above(d) >> bit & 1 == 1) {
                        bytes[begin + (at * width + bit) / 8] |= 1 << ((at * width + bit) % 8);
                    }
                }
            }
        }
        bytes
    }

    #[test]
    fn values_are_those_that_were_packed() {
        let mut random = Random(5);
        for round in 0..400usize {
            let bits = round % 64;
            let value = |_| (random.bits() >> bits) as i64;
            let values: Vec<i64> = (0..round * 3 % 500).map(value).collect();
            let bytes = packed(&values);
            let expected: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            assert_eq!(&plain(&bytes, 8, values.len()).unwrap()[..], &expected[..], "{values:?}");
            let cut: Vec<u8> = values.iter().flat_map(|v| (*v as u32).to_le_bytes()).collect();
            assert_eq!(&plain(&bytes, 4, values.len()).unwrap()[..], &cut[..]);
            if !values.is_empty() {
                assert!(plain(&bytes, 8, values.len() - 1).is_err());
            }
            // Whatever is cut off, nothing worse than an error comes of it.
            let length = random.index(bytes.len());
            let _ = plain(&bytes[..length], 8, values.len());
        }
        // Blocks that hold nothing, and ones that hold too much.
        assert!(plain(&[0, 4, 2, 0, 0, 0, 0, 0, 0], 8, 2).is_err());
        assert!(plain(&[128, 1, 0, 2, 0], 8, 2).is_err());
    }
}
