//! MD5 (RFC 1321): a checksum of 128 bits that many tables hold. It protects nothing.

use crate::ops::bytes::push_digits;

/// By how many bits each step rotates, four for each round.
const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The first 32 bits of the fraction of |sin(i + 1)|.
const SINES: [u32; 64] = [
    0xd76a_a478,
    0xe8c7_b756,
    0x2420_70db,
    0xc1bd_ceee,
    0xf57c_0faf,
    0x4787_c62a,
    0xa830_4613,
    0xfd46_9501,
    0x6980_98d8,
    0x8b44_f7af,
    0xffff_5bb1,
    0x895c_d7be,
    0x6b90_1122,
    0xfd98_7193,
    0xa679_438e,
    0x49b4_0821,
    0xf61e_2562,
    0xc040_b340,
    0x265e_5a51,
    0xe9b6_c7aa,
    0xd62f_105d,
    0x0244_1453,
    0xd8a1_e681,
    0xe7d3_fbc8,
    0x21e1_cde6,
    0xc337_07d6,
    0xf4d5_0d87,
    0x455a_14ed,
    0xa9e3_e905,
    0xfcef_a3f8,
    0x676f_02d9,
    0x8d2a_4c8a,
    0xfffa_3942,
    0x8771_f681,
    0x6d9d_6122,
    0xfde5_380c,
    0xa4be_ea44,
    0x4bde_cfa9,
    0xf6bb_4b60,
    0xbebf_bc70,
    0x289b_7ec6,
    0xeaa1_27fa,
    0xd4ef_3085,
    0x0488_1d05,
    0xd9d4_d039,
    0xe6db_99e5,
    0x1fa2_7cf8,
    0xc4ac_5665,
    0xf429_2244,
    0x432a_ff97,
    0xab94_23a7,
    0xfc93_a039,
    0x655b_59c3,
    0x8f0c_cc92,
    0xffef_f47d,
    0x8584_5dd1,
    0x6fa8_7e4f,
    0xfe2c_e6e0,
    0xa301_4314,
    0x4e08_11a1,
    0xf753_7e82,
    0xbd3a_f235,
    0x2ad7_d2bb,
    0xeb86_d391,
];

/// `md5(text)`: 32 hexadecimal digits.
pub fn md5(text: impl AsRef<[u8]>) -> String {
    let mut digits = String::with_capacity(32);
    md5_to(text, &mut digits);
    digits
}

/// As [`md5`], behind what is there.
pub fn md5_to(text: impl AsRef<[u8]>, to: &mut String) {
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    blocks(text.as_ref(), u64::to_le_bytes, |block| add(&mut state, block));
    for byte in state.iter().flat_map(|word| word.to_le_bytes()) {
        push_digits(to, byte, b"0123456789abcdef");
    }
}

/// The blocks of a message: a one bit, zeros, and the length in bits fill up the last block, or one more.
pub(super) fn blocks(message: &[u8], length: fn(u64) -> [u8; 8], mut each: impl FnMut(&[u8; 64])) {
    let (whole, rest) = message.as_chunks::<64>();
    whole.iter().for_each(&mut each);
    let mut last = [0; 128];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    let end = if rest.len() < 56 { 64 } else { 128 };
    last[end - 8..end].copy_from_slice(&length((message.len() as u64).wrapping_mul(8)));
    last[..end].as_chunks::<64>().0.iter().for_each(each);
}

fn add(state: &mut [u32; 4], block: &[u8; 64]) {
    let words = block.as_chunks::<4>().0;
    let [mut a, mut b, mut c, mut d] = *state;
    for step in 0..64 {
        let round = step / 16;
        let (mixed, word) = match round {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), 5 * step + 1),
            2 => (b ^ c ^ d, 3 * step + 5),
            _ => (c ^ (b | !d), 7 * step),
        };
        let sum = a.wrapping_add(mixed).wrapping_add(SINES[step]).wrapping_add(u32::from_le_bytes(words[word % 16]));
        let turned = b.wrapping_add(sum.rotate_left(SHIFTS[round][step % 4]));
        (a, b, c, d) = (d, turned, b, c);
    }
    for (old, new) in state.iter_mut().zip([a, b, c, d]) {
        *old = old.wrapping_add(new);
    }
}

#[cfg(test)]
mod tests {
    use super::md5;

    #[test]
    fn the_standard_s_examples() {
        assert_eq!(md5(""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(md5("abc"), "900150983cd24fb0d6963f7d28e17f72");
        let digits = "1234567890".repeat(8);
        assert_eq!(md5(&digits), "57edf4a22be3c955ac49da2e2107b67a");
        // Lengths around the end of a block.
        assert_eq!(md5(&digits[..55]), "c9ccf168914a1bcfc3229f1948e67da0");
        assert_eq!(md5(&digits[..56]), "49f193adce178490e34d1b3a4ec0064c");
        assert_eq!(md5(&digits[..64]), "eb6c4179c0a7c82cc2828c1e6338e165");
    }
}
