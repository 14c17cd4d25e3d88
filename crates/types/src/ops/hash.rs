//! Hashing with fixed seeds: the same value on every machine and in every run, whatever the byte order.
//!
//! Integers pass through a bijective finalizer (two rounds of multiply and xor-shift, constants of Mix13 in Stafford,
//! "Better bit mixing", which SplitMix64 uses too): distinct keys have distinct hashes. Bytes fold 16 at a time through
//! a 64 x 64 -> 128 bit product whose halves are xored, the folding step of wyhash; strings that lie in their headers are
//! hashed as two words. Generated code inlines [`hash_u64`], [`combine`] and [`hash_inline`], whose definitions therefore
//! may not change alone.

use crate::string::Str;
use crate::value::Interval;

/// What a NULL hashes to.
pub const NULL_HASH: u64 = 0x6a09_e667_f3bc_c908;

/// First multiplier of [`hash_u64`].
pub const MULTIPLIER_1: u64 = 0xbf58_476d_1ce4_e5b9;
/// Second multiplier of [`hash_u64`].
pub const MULTIPLIER_2: u64 = 0x94d0_49bb_1331_11eb;
/// What [`hash_u64`] adds first, so that 0 does not hash to 0.
pub const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

// Digits of the fractional parts of square roots: odd, and with no pattern.
const SECRET_1: u64 = 0xbb67_ae85_84ca_a73b;
const SECRET_2: u64 = 0x3c6e_f372_fe94_f82b;
const SECRET_3: u64 = 0xa54f_f53a_5f1d_36f1;

/// The hash of a 64-bit key: a bijection in which every input bit changes every output bit with probability near 1/2.
#[inline]
pub const fn hash_u64(key: u64) -> u64 {
    let mut h = key.wrapping_add(INCREMENT);
    h = (h ^ (h >> 30)).wrapping_mul(MULTIPLIER_1);
    h = (h ^ (h >> 27)).wrapping_mul(MULTIPLIER_2);
    h ^ (h >> 31)
}

/// The number that has this hash: different numbers have different ones.
pub const fn unhash_u64(hash: u64) -> u64 {
    let h = unshift(hash, 31).wrapping_mul(inverse(MULTIPLIER_2));
    let h = unshift(h, 27).wrapping_mul(inverse(MULTIPLIER_1));
    unshift(h, 30).wrapping_sub(INCREMENT)
}

/// The inverse of an odd multiplier modulo 2^64, by Newton's iteration.
const fn inverse(multiplier: u64) -> u64 {
    let (mut x, mut round) = (multiplier, 0);
    while round < 6 {
        x = x.wrapping_mul(2u64.wrapping_sub(multiplier.wrapping_mul(x)));
        round += 1;
    }
    x
}

/// What gives `h` if it is combined with itself, shifted.
const fn unshift(h: u64, by: u32) -> u64 {
    let (mut x, mut round) = (h, 0);
    while round < 64 / by {
        x = h ^ (x >> by);
        round += 1;
    }
    x
}

/// The hash of an integer of any width: narrower ones are sign-extended, so that equal numbers hash equal.
#[inline]
pub const fn hash_i64(key: i64) -> u64 {
    hash_u64(key as u64)
}

/// The hash of a 128-bit integer. Values that fit 64 bits hash like [`hash_i64`], so that decimals of different widths
/// but one scale agree.
#[inline]
pub const fn hash_i128(key: i128) -> u64 {
    let low = key as i64;
    if low as i128 == key { hash_i64(low) } else { combine(hash_u64((key >> 64) as u64), hash_u64(low as u64)) }
}

/// What all NaNs hash as.
pub const NAN_KEY: u64 = f64::NAN.to_bits() & !(1 << 63);

/// The hash of a float: -0 hashes like 0, and every NaN alike. A `real` hashes as the double of the same value.
#[inline]
pub fn hash_f64(key: f64) -> u64 {
    // Adding 0 turns -0 into 0.
    hash_u64(if key.is_nan() { NAN_KEY } else { (key + 0.0).to_bits() })
}

/// The hash of an interval, by its approximate length: intervals that compare equal hash equal.
#[inline]
pub fn hash_interval(key: Interval) -> u64 {
    hash_i128(key.approximate_micros())
}

/// The hash of several keys from that of the first ones and that of the next; the order matters.
#[inline]
pub const fn combine(first: u64, next: u64) -> u64 {
    // For each `first` a bijection of `next` and vice versa: no pair of keys is likelier to collide than by chance.
    hash_u64(first.rotate_left(25).wrapping_mul(MULTIPLIER_1) ^ next)
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The hash of a string that its header holds, by the header's words: length, bytes, and zeros behind them.
#[inline]
pub const fn hash_inline([low, high]: [u64; 2]) -> u64 {
    combine(low, high)
}

/// The hash of bytes, the UTF-8 of strings (blanks at the end of `char(n)` are not stored and do not count).
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    if length <= Str::INLINE {
        return hash_inline(Str::new(bytes).words());
    }
    // The last words overlap those before instead of being read byte by byte.
    let (a, b, state) = match length {
        0..=16 => (word(bytes, 0), word(bytes, length - 8), SECRET_1),
        _ => {
            let mut state = SECRET_1;
            let mut at = 0;
            if length > 64 {
                // Two chains hide the latency of the multiplication.
                let mut other = SECRET_3;
                while at + 32 < length {
                    state = fold(word(bytes, at) ^ SECRET_2, word(bytes, at + 8) ^ state);
                    other = fold(word(bytes, at + 16) ^ SECRET_1, word(bytes, at + 24) ^ other);
                    at += 32;
                }
                state ^= other.rotate_left(32);
            }
            while at + 16 < length {
                state = fold(word(bytes, at) ^ SECRET_2, word(bytes, at + 8) ^ state);
                at += 16;
            }
            (word(bytes, length - 16), word(bytes, length - 8), state)
        }
    };
    let mixed = fold(a ^ SECRET_2, b ^ state);
    hash_u64(mixed ^ (length as u64).wrapping_mul(SECRET_3))
}

/// The hash of a text.
#[inline]
pub fn hash_str(text: &str) -> u64 {
    hash_bytes(text.as_bytes())
}

/// The hash of a value of any type, as the typed functions have it.
pub fn hash_value(value: &crate::Value) -> u64 {
    use crate::Value::*;
    match value {
        Null => NULL_HASH,
        Bool(b) => hash_i64((*b).into()),
        Int(i) | Time(i) | Timetz(i) | Timestamp(i) => hash_i64(*i),
        Decimal(d) => hash_i128(*d),
        Float(f) => hash_f64(*f),
        Str(s) => hash_str(s),
        Date(d) | Enum(d) => hash_i64((*d).into()),
        Interval(i) => hash_interval(*i),
        Uuid(u) => hash_i128(crate::ops::uuid::stored(*u)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Random;
    use std::collections::HashSet;

    #[test]
    fn integers_hash_bijectively() {
        let mut random = Random(8);
        for i in 0..10_000 {
            assert_eq!(unhash_u64(hash_u64(i)), i);
            let key = random.bits();
            assert_eq!(unhash_u64(hash_u64(key)), key);
        }
    }

    #[test]
    fn hashes_never_change() {
        assert_eq!(hash_u64(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(hash_i64(-1), 0xe4d9_7177_1b65_2c20);
        let text: String = ('a'..='z').cycle().take(100).collect();
        let hashes = [0, 1, 3, 4, 8, 16, 17, 100].map(|n| hash_str(&text[..n]));
        assert_eq!(hashes, GOLDEN, "{hashes:#x?}");
    }
    const GOLDEN: [u64; 8] = [
        0xe220_a839_7b1d_cdaf,
        0xa42e_5f7f_5f0f_9dfe,
        0x347a_dd3c_592d_75d2,
        0xada5_b7f3_a776_8dc1,
        0x0693_a0c7_b919_49cc,
        0x8fcd_e8a0_752f_86c4,
        0xe332_6eb9_c338_1ddd,
        0xa6e5_7473_8259_3a7f,
    ];

    #[test]
    fn equal_values_hash_equal() {
        assert_eq!(hash_f64(0.0), hash_f64(-0.0));
        assert_eq!(hash_f64(f64::NAN), hash_f64(-f64::NAN));
        assert_eq!(hash_i128(-5), hash_i64(-5));
        let month = Interval { months: 1, days: 0, micros: 0 };
        assert_eq!(hash_interval(month), hash_interval(Interval { months: 0, days: 30, micros: 0 }));
        assert_ne!(combine(hash_u64(1), hash_u64(2)), combine(hash_u64(2), hash_u64(1)));
    }

    #[test]
    fn one_bit_changes_half_of_the_hash() {
        let mut random = Random(9);
        for length in [1, 3, 4, 7, 8, 12, 16, 17, 31, 33, 64, 65, 90, 129] {
            let mut flips = 0;
            let rounds = 40;
            for _ in 0..rounds {
                let mut bytes: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
                let before = hash_bytes(&bytes);
                for bit in 0..length * 8 {
                    bytes[bit / 8] ^= 1 << (bit % 8);
                    let changed = (before ^ hash_bytes(&bytes)).count_ones();
                    assert!(changed > 8, "{length} {bit}");
                    flips += changed;
                    bytes[bit / 8] ^= 1 << (bit % 8);
                }
            }
            let mean = f64::from(flips) / (rounds * length * 8) as f64;
            assert!((31.0..33.0).contains(&mean), "{length}: {mean}");
        }
    }

    #[test]
    fn texts_do_not_collide() {
        let mut seen = HashSet::new();
        for i in 0..200_000 {
            assert!(seen.insert(hash_str(&format!("{i}"))));
            assert!(seen.insert(hash_str(&format!("Customer#{i:09} of the quick brown fox"))));
        }
        let zeros = [0u8; 200];
        assert!((0..200).all(|n| seen.insert(hash_bytes(&zeros[..n]))));
    }
}
