//! Numbers that look random: SplitMix64 (Steele, Lea, Flood 2014), 64 bits of state and the same sequence on every
//! machine. For tests, samples and SQL's `random()`; nothing secret may come from it.

/// A generator; its state is the seed.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..n`, which is not empty.
    pub fn below(&mut self, n: u64) -> u64 {
        self.bits() % n
    }

    /// An index into something of that length, which is not empty.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// One of several.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())].clone()
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// True so many times in a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// From 0 to below 1, uniform: the 53 bits that a double holds.
    pub fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// An integer of random length, so that small ones are as likely as large ones.
    pub fn wide(&mut self) -> i128 {
        let wide = (u128::from(self.bits()) << 64 | u128::from(self.bits())) as i128;
        wide >> self.below(128)
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn it_is_split_mix_64() {
        // The first numbers of the authors' program for the seed 1234567.
        let mut random = Random(1_234_567);
        let first = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(first, [(); 3].map(|()| random.bits()));
        let mut random = Random(1);
        assert!((0..1000).map(|_| random.fraction()).all(|f| (0.0..1.0).contains(&f)));
    }
}
