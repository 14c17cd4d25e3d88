//! Keys of `bench index`: dense and sparse numbers of 8 bytes, and texts like those of the thesis, by their published numbers
//! and lengths.

use base::Random;
use clap::ValueEnum;

/// What keys look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// 0, 1, 2 and so on.
    Dense,
    /// 63 random bits.
    Sparse,
    /// 256 thousand texts of four letters, 10.0 bytes on average.
    Genome,
    /// 16 million titles, 22.4 bytes on average.
    Titles,
    /// 6.4 million addresses, 63.3 bytes on average.
    Urls,
}

impl Kind {
    /// As options name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::Sparse => "sparse",
            Self::Genome => "genome",
            Self::Titles => "titles",
            Self::Urls => "urls",
        }
    }
}

/// The keys by row.
pub(crate) enum Keys {
    /// Eight bytes each, the highest first.
    Numbers(Vec<u64>),
    /// Texts, each with a zero behind it.
    Texts(Texts),
}

/// Texts behind one another.
pub(crate) struct Texts {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Texts {
    /// The text of a row.
    pub(crate) fn get(&self, row: u64) -> &[u8] {
        let row = row as usize;
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[start as usize..self.ends[row] as usize]
    }
}

impl Keys {
    pub(crate) fn new(kind: Kind, number: usize) -> Self {
        match kind {
            Kind::Dense => Self::Numbers((0..number as u64).collect()),
            Kind::Sparse => {
                let mut random = Random(42);
                // SplitMix64 gives each number once in its period; half a number, hardly ever twice.
                Self::Numbers((0..number).map(|_| random.bits() >> 1).collect())
            }
            Kind::Genome => Self::Texts(texts(kind, 256_000)),
            Kind::Titles => Self::Texts(texts(kind, 16_000_000)),
            Kind::Urls => Self::Texts(texts(kind, 6_400_000)),
        }
    }

    /// What stands for the keys: numbers for themselves, rows for texts.
    pub(crate) fn items(&self) -> Vec<u64> {
        match self {
            Self::Numbers(numbers) => numbers.clone(),
            Self::Texts(texts) => (0..texts.ends.len() as u64).collect(),
        }
    }
}

/// Writes a text; a longer one where those before were too short on average.
type Make = fn(&mut Random, &mut Vec<u8>, bool);

/// So many texts that are all different, each with a zero behind it, which their lengths do not count.
fn texts(kind: Kind, number: usize) -> Texts {
    let (mean, make): (f64, Make) = match kind {
        Kind::Titles => (22.4, title),
        Kind::Urls => (63.3, address),
        _ => (10.0, genome),
    };
    let mut random = Random(7);
    let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(number));
    let mut seen = std::collections::HashSet::with_capacity(number);
    while ends.len() < number {
        let start = bytes.len();
        // Short texts come twice more often than long ones and are left out: what is kept decides how long the next may be.
        let is_short = (start as f64) < (mean + 1.0) * ends.len() as f64;
        make(&mut random, &mut bytes, is_short);
        bytes.push(0);
        // Texts that come twice are left out; by their hash, which leaves out one in a million others.
        use std::hash::BuildHasher;
        let hash = std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default().hash_one(&bytes[start..]);
        if seen.insert(hash) {
            ends.push(bytes.len() as u32);
        } else {
            bytes.truncate(start);
        }
    }
    Texts { bytes, ends }
}

fn letters(random: &mut Random, text: &mut Vec<u8>, of: &[u8], least: usize, spread: usize) {
    let length = least + random.index(spread);
    text.extend((0..length).map(|_| of[random.index(of.len())]));
}

fn genome(random: &mut Random, text: &mut Vec<u8>, is_short: bool) {
    letters(random, text, b"ACGT", 9 + usize::from(is_short), 2);
}

/// A word of a vocabulary in which few words are frequent.
fn word(random: &mut Random, text: &mut Vec<u8>) {
    let rank = (50_000f64.powf(random.fraction()) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut of_word = Random(rank);
    letters(&mut of_word, text, b"etaoinshrdlucmfwypvbgk", 3, 9);
}

fn title(random: &mut Random, text: &mut Vec<u8>, is_short: bool) {
    for at in 0..2 + random.index(2) + usize::from(is_short) {
        if at > 0 {
            text.push(b'_');
        }
        word(random, text);
    }
}

fn address(random: &mut Random, text: &mut Vec<u8>, is_short: bool) {
    text.extend(b"http:");
    text.extend(b"//www.");
    word(random, text);
    text.extend([b".com/", b".org/", b".net/"][random.index(3)]);
    for _ in 0..3 + random.index(2) + usize::from(is_short) {
        word(random, text);
        text.push(b'/');
    }
    word(random, text);
    text.extend(b".html");
}

/// Rows drawn by Zipf's law with an exponent, over all rows in a random order.
pub(crate) fn zipf(number: usize, exponent: f64, draws: usize) -> Vec<u64> {
    let mut sum = 0.0;
    let sums: Vec<f64> = (1..=number)
        .map(|rank| {
            sum += (rank as f64).powf(-exponent);
            sum
        })
        .collect();
    let mut random = Random(3);
    (0..draws)
        .map(|_| {
            let drawn = random.fraction() * sum;
            let rank = sums.partition_point(|&s| s <= drawn).min(number - 1) as u64;
            rank.wrapping_mul(2_654_435_761) % number as u64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_as_long_as_published() {
        for (kind, mean) in [(Kind::Genome, 10.0), (Kind::Titles, 22.4), (Kind::Urls, 63.3)] {
            for number in [1_000, 100_000] {
                let texts = texts(kind, number);
                let average = texts.bytes.len() as f64 / number as f64 - 1.0;
                assert!((average - mean).abs() < 0.05, "{kind:?}: {average} on average");
            }
        }
    }
}
