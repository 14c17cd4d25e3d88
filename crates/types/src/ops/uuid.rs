//! UUIDs (RFC 9562): text, and how they lie in memory.

use std::fmt::Write;

use crate::ops::Bad;
use crate::ops::number::trim;

const FIRST_BIT: u128 = 1 << 127;

/// What lies in memory: signed numbers in the order of the UUIDs.
#[inline]
pub fn stored(uuid: u128) -> i128 {
    (uuid ^ FIRST_BIT) as i128
}

/// The UUID that lies in memory so.
#[inline]
pub fn of_stored(stored: i128) -> u128 {
    stored as u128 ^ FIRST_BIT
}

/// Reads 32 hexadecimal digits, perhaps in braces, with a hyphen behind any four of them.
#[inline]
pub fn parse(text: &[u8]) -> Result<u128, Bad> {
    let text = match trim(text) {
        [b'{', inner @ .., b'}'] => inner,
        text => text,
    };
    let (mut uuid, mut digits, mut at) = (0u128, 0, 0);
    while let Some(byte) = text.get(at) {
        match (*byte as char).to_digit(16) {
            Some(digit) if digits < 32 => {
                uuid = uuid << 4 | u128::from(digit);
                digits += 1;
            }
            None if *byte == b'-' && digits % 4 == 0 && (4..32).contains(&digits) && text[at - 1] != b'-' => {}
            _ => return Err(Bad::Syntax),
        }
        at += 1;
    }
    if digits == 32 { Ok(uuid) } else { Err(Bad::Syntax) }
}

/// Appends the usual form: `a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11`.
pub fn write(out: &mut String, uuid: u128) {
    let part = |shift: u32, digits: u32| uuid >> shift & ((1 << (4 * digits)) - 1);
    let _ = write!(
        out,
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        part(96, 8),
        part(80, 4),
        part(64, 4),
        part(48, 4),
        part(0, 12)
    );
}

/// The UUID of random bits (version 4).
pub fn of_random(bits: u128) -> u128 {
    bits & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62
}

/// The UUID of a time in milliseconds since 1970 and random bits (version 7): later ones are greater.
pub fn of_time(milliseconds: u64, bits: u128) -> u128 {
    let random = of_random(bits) & (u128::MAX >> 48) & !(0xf << 76) | 0x7 << 76;
    u128::from(milliseconds) << 80 | random
}

/// The microseconds since 1970 at which a UUID was made: of versions 1 and 7, others do not tell.
pub fn time_of(uuid: u128) -> Option<i64> {
    /// From 1582-10-15, where the times of version 1 begin, to 1970, in steps of 100 nanoseconds.
    const BEFORE_1970: i64 = 0x01b2_1dd2_1381_4000;
    if uuid >> 62 & 0x3 != 0x2 {
        return None;
    }
    match uuid >> 76 & 0xf {
        7 => Some((uuid >> 80) as i64 * 1000),
        1 => {
            let (low, middle, high) = (uuid >> 96 & 0xffff_ffff, uuid >> 80 & 0xffff, uuid >> 64 & 0xfff);
            let steps = (high << 48 | middle << 32 | low) as i64;
            Some((steps - BEFORE_1970).div_euclid(10))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(uuid: u128) -> String {
        let mut out = String::new();
        write(&mut out, uuid);
        out
    }

    #[test]
    fn texts_in_postgresqls_forms() {
        const USUAL: &str = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
        for form in [
            USUAL,
            "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
            "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
            "a0eebc999c0b4ef8bb6d6bb9bd380a11",
            "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11",
            "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}",
        ] {
            assert_eq!(parse(form.as_bytes()).map(text).as_deref(), Ok(USUAL), "{form}");
        }
        for bad in ["", "{}", "-", "a0eebc99", "a0eebc999c0b4ef8bb6d6bb9bd380a1g", "a0eebc999c0b4ef8bb6d6bb9bd380a111"]
        {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
        for bad in [
            "a0e-ebc999c0b4ef8bb6d6bb9bd380a11",
            "a0eebc999c0b4ef8bb6d6bb9bd380a11-",
            "a0ee--bc999c0b4ef8bb6d6bb9bd380a11",
        ] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn order_in_memory_is_that_of_the_bytes() {
        let uuids = [0, 1, u128::MAX / 2, u128::MAX / 2 + 1, u128::MAX];
        assert!(uuids.map(stored).is_sorted());
        assert_eq!(uuids.map(stored).map(of_stored), uuids);
        assert_eq!(text(of_random(u128::MAX)), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
