//! SHA-1 (FIPS 180-4).

/// `sha1(text)`: 40 hexadecimal digits.
pub fn sha1(text: &str) -> String {
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let (blocks, rest) = text.as_bytes().as_chunks::<64>();
    blocks.iter().for_each(|block| add(&mut state, block));
    // A one bit, zeros, and the length in bits fill up the last block, or one more.
    let mut last = [0; 128];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    let end = if rest.len() < 56 { 64 } else { 128 };
    last[end - 8..end].copy_from_slice(&(text.len() as u64).wrapping_mul(8).to_be_bytes());
    last[..end].as_chunks::<64>().0.iter().for_each(|block| add(&mut state, block));
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
