//! SHA-1 (FIPS 180-4).

use super::md5::blocks;

/// `sha1(text)`: 40 hexadecimal digits.
pub fn sha1(text: &str) -> String {
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    blocks(text.as_bytes(), u64::to_be_bytes, |block| add(&mut state, block));
    state.iter().map(|word: &u32| format!("{word:08x}")).collect()
}

fn add(state: &mut [u32; 5], block: &[u8; 64]) {
    let mut words = [0; 80];
    words.iter_mut().zip(block.as_chunks::<4>().0).for_each(|(word, bytes)| *word = u32::from_be_bytes(*bytes));
    for i in 16..80 {
        words[i] = (words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16]).rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for (i, word) in words.into_iter().enumerate() {
        let (mixed, constant) = match i / 20 {
            0 => ((b & c) | (!b & d), 0x5a82_7999),
            1 => (b ^ c ^ d, 0x6ed9_eba1),
            2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6),
        };
        let next = a.rotate_left(5).wrapping_add(mixed).wrapping_add(e).wrapping_add(constant).wrapping_add(word);
        (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
    }
    for (old, new) in state.iter_mut().zip([a, b, c, d, e]) {
        *old = old.wrapping_add(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_the_published_ones() {
        assert_eq!(sha1(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        // 56 bytes, so that the length needs a block of its own.
        let message = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(sha1(message), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
        assert_eq!(sha1(&"a".repeat(64)), "0098ba824b5c16427bd7a1122a5a442a25ec644d");
    }
}
