//! A small random number generator for the tests of this folder.

/// SplitMix64 with a fixed seed.
pub(crate) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// A number in `0..n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    /// A 128-bit integer of random length, so that small values are as likely as large ones.
    pub fn i128(&mut self) -> i128 {
        let wide = (u128::from(self.next()) << 64 | u128::from(self.next())) as i128;
        wide >> self.below(128)
    }
}
