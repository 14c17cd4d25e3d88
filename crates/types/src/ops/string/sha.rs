//! SHA-2 (FIPS 180-4): checksums of texts, as hexadecimal digits.
//!
//! SHA-224 and SHA-256 work on words of 32 bits, SHA-384 and SHA-512 on words of 64. Their constants are fractions of roots
//! of primes, of which the narrow ones take the high bits (and SHA-224 begins with the low bits of what SHA-384 begins with),
//! so that one table serves all.

/// The fractions of the cube roots of the first 80 primes.
const CUBES: [u64; 80] = [
    0x428a_2f98_d728_ae22,
    0x7137_4491_23ef_65cd,
    0xb5c0_fbcf_ec4d_3b2f,
    0xe9b5_dba5_8189_dbbc,
    0x3956_c25b_f348_b538,
    0x59f1_11f1_b605_d019,
    0x923f_82a4_af19_4f9b,
    0xab1c_5ed5_da6d_8118,
    0xd807_aa98_a303_0242,
    0x1283_5b01_4570_6fbe,
    0x2431_85be_4ee4_b28c,
    0x550c_7dc3_d5ff_b4e2,
    0x72be_5d74_f27b_896f,
    0x80de_b1fe_3b16_96b1,
    0x9bdc_06a7_25c7_1235,
    0xc19b_f174_cf69_2694,
    0xe49b_69c1_9ef1_4ad2,
    0xefbe_4786_384f_25e3,
    0x0fc1_9dc6_8b8c_d5b5,
    0x240c_a1cc_77ac_9c65,
    0x2de9_2c6f_592b_0275,
    0x4a74_84aa_6ea6_e483,
    0x5cb0_a9dc_bd41_fbd4,
    0x76f9_88da_8311_53b5,
    0x983e_5152_ee66_dfab,
    0xa831_c66d_2db4_3210,
    0xb003_27c8_98fb_213f,
    0xbf59_7fc7_beef_0ee4,
    0xc6e0_0bf3_3da8_8fc2,
    0xd5a7_9147_930a_a725,
    0x06ca_6351_e003_826f,
    0x1429_2967_0a0e_6e70,
    0x27b7_0a85_46d2_2ffc,
    0x2e1b_2138_5c26_c926,
    0x4d2c_6dfc_5ac4_2aed,
    0x5338_0d13_9d95_b3df,
    0x650a_7354_8baf_63de,
    0x766a_0abb_3c77_b2a8,
    0x81c2_c92e_47ed_aee6,
    0x9272_2c85_1482_353b,
    0xa2bf_e8a1_4cf1_0364,
    0xa81a_664b_bc42_3001,
    0xc24b_8b70_d0f8_9791,
    0xc76c_51a3_0654_be30,
    0xd192_e819_d6ef_5218,
    0xd699_0624_5565_a910,
    0xf40e_3585_5771_202a,
    0x106a_a070_32bb_d1b8,
    0x19a4_c116_b8d2_d0c8,
    0x1e37_6c08_5141_ab53,
    0x2748_774c_df8e_eb99,
    0x34b0_bcb5_e19b_48a8,
    0x391c_0cb3_c5c9_5a63,
    0x4ed8_aa4a_e341_8acb,
    0x5b9c_ca4f_7763_e373,
    0x682e_6ff3_d6b2_b8a3,
    0x748f_82ee_5def_b2fc,
    0x78a5_636f_4317_2f60,
    0x84c8_7814_a1f0_ab72,
    0x8cc7_0208_1a64_39ec,
    0x90be_fffa_2363_1e28,
    0xa450_6ceb_de82_bde9,
    0xbef9_a3f7_b2c6_7915,
    0xc671_78f2_e372_532b,
    0xca27_3ece_ea26_619c,
    0xd186_b8c7_21c0_c207,
    0xeada_7dd6_cde0_eb1e,
    0xf57d_4f7f_ee6e_d178,
    0x06f0_67aa_7217_6fba,
    0x0a63_7dc5_a2c8_98a6,
    0x113f_9804_bef9_0dae,
    0x1b71_0b35_131c_471b,
    0x28db_77f5_2304_7d84,
    0x32ca_ab7b_40c7_2493,
    0x3c9e_be0a_15c9_bebc,
    0x431d_67c4_9c10_0d4c,
    0x4cc5_d4be_cb3e_42b6,
    0x597f_299c_fc65_7e2a,
    0x5fcb_6fab_3ad6_faec,
    0x6c44_198c_4a47_5817,
];

/// The fractions of the square roots of the first 8 primes, and of the next 8.
const SQUARES: [u64; 16] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
    0xcbbb_9d5d_c105_9ed8,
    0x629a_292a_367c_d507,
    0x9159_015a_3070_dd17,
    0x152f_ecd8_f70e_5939,
    0x6733_2667_ffc0_0b31,
    0x8eb4_4a87_6858_1511,
    0xdb0c_2e0d_64f9_8fa7,
    0x47b5_481d_befa_4fa4,
];

/// `sha224(text)`: 56 hexadecimal digits.
pub fn sha224(text: impl AsRef<[u8]>) -> String {
    narrow::digest(text.as_ref(), std::array::from_fn(|i| SQUARES[8 + i] as u32), 7)
}
/// `sha256(text)`: 64 hexadecimal digits.
pub fn sha256(text: impl AsRef<[u8]>) -> String {
    narrow::digest(text.as_ref(), std::array::from_fn(|i| (SQUARES[i] >> 32) as u32), 8)
}
/// `sha384(text)`: 96 hexadecimal digits.
pub fn sha384(text: impl AsRef<[u8]>) -> String {
    wide::digest(text.as_ref(), std::array::from_fn(|i| SQUARES[8 + i]), 6)
}
/// `sha512(text)`: 128 hexadecimal digits.
pub fn sha512(text: impl AsRef<[u8]>) -> String {
    wide::digest(text.as_ref(), std::array::from_fn(|i| SQUARES[i]), 8)
}

/// The algorithm over words of a type, `$rounds` for each block of 16; the rotations as the standard lists them.
macro_rules! sha {
    ($module:ident, $word:ty, $rounds:literal, $constant:expr, $big0:expr, $big1:expr, $small0:expr, $small1:expr) => {
        mod $module {
            const BYTES: usize = size_of::<$word>();
            const BLOCK: usize = 16 * BYTES;

            pub(super) fn digest(text: &[u8], mut state: [$word; 8], words: usize) -> String {
                let (blocks, rest) = text.as_chunks::<BLOCK>();
                blocks.iter().for_each(|block| add(&mut state, block));
                // A one bit, zeros, and the length in bits fill up the last block, or one more.
                let mut last = [0; 2 * BLOCK];
                last[..rest.len()].copy_from_slice(rest);
                last[rest.len()] = 0x80;
                let end = if rest.len() < BLOCK - 2 * BYTES { BLOCK } else { 2 * BLOCK };
                last[end - 8..end].copy_from_slice(&(text.len() as u64).wrapping_mul(8).to_be_bytes());
                last[..end].as_chunks::<BLOCK>().0.iter().for_each(|block| add(&mut state, block));
                state[..words].iter().map(|word| format!("{word:0width$x}", width = 2 * BYTES)).collect()
            }

            fn mixed(word: $word, turns: [u32; 3]) -> $word {
                word.rotate_right(turns[0]) ^ word.rotate_right(turns[1]) ^ word.rotate_right(turns[2])
            }
            fn shifted(word: $word, turns: [u32; 3]) -> $word {
                word.rotate_right(turns[0]) ^ word.rotate_right(turns[1]) ^ (word >> turns[2])
            }

            fn add(state: &mut [$word; 8], block: &[u8; BLOCK]) {
                let mut words = [0; $rounds];
                for (word, bytes) in words.iter_mut().zip(block.as_chunks::<BYTES>().0) {
                    *word = <$word>::from_be_bytes(*bytes);
                }
                for at in 16..$rounds {
                    words[at] = shifted(words[at - 2], $small1)
                        .wrapping_add(words[at - 7])
                        .wrapping_add(shifted(words[at - 15], $small0))
                        .wrapping_add(words[at - 16]);
                }
                let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
                for (word, constant) in words.into_iter().zip(super::CUBES) {
                    let first = h
                        .wrapping_add(mixed(e, $big1))
                        .wrapping_add((e & f) ^ (!e & g))
                        .wrapping_add($constant(constant))
                        .wrapping_add(word);
                    let second = mixed(a, $big0).wrapping_add((a & b) ^ (a & c) ^ (b & c));
                    (h, g, f, e) = (g, f, e, d.wrapping_add(first));
                    (d, c, b, a) = (c, b, a, first.wrapping_add(second));
                }
                for (old, new) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
                    *old = old.wrapping_add(new);
                }
            }
        }
    };
}

sha!(narrow, u32, 64, |c: u64| (c >> 32) as u32, [2, 13, 22], [6, 11, 25], [7, 18, 3], [17, 19, 10]);
sha!(wide, u64, 80, |c: u64| c, [28, 34, 39], [14, 18, 41], [1, 8, 7], [19, 61, 6]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_checksums() {
        assert_eq!(sha224("abc"), "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7");
        assert_eq!(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(
            sha384("abc"),
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
        );
        assert_eq!(
            sha512("abc"),
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        );
    }

    #[test]
    fn lengths_around_the_end_of_a_block() {
        let text = "a".repeat(129);
        for (length, narrow, wide) in [
            (0, "e3b0c44298fc1c14", "cf83e1357eefb8bd"),
            (55, "9f4390f8d30c2dd9", "b0220c772cbf6c18"),
            (56, "b35439a4ac6f0948", "962b64aae357d2a4"),
            (64, "ffe054fe7ae0cb6d", "01d35c10c6c38c2d"),
            (111, "6374f73208854473", "fa9121c7b32b9e01"),
            (112, "f54353008a255326", "c01d080efd492776"),
            (128, "6836cf13bac400e9", "b73d1929aa615934"),
            (129, "c12cb024a2e5551c", "4f681e0bd53cda4b"),
        ] {
            assert!(sha256(&text[..length]).starts_with(narrow), "{length}");
            assert!(sha512(&text[..length]).starts_with(wide), "{length}");
        }
    }
}
