//! Distinct counts by HyperLogLog (Flajolet et al. 2007), estimated as Ertl does (2017), which needs no bias tables.

use std::sync::OnceLock;

const BITS: u32 = 12;
const REGISTERS: usize = 1 << BITS;
/// A register holds the greatest rank seen: one more than the leading zeros of the hash's other bits.
const MAX_RANK: usize = (64 - BITS + 1) as usize;

/// A sketch of a set of hashes: 4 KiB, mergeable, standard error 1.6%.
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    /// Absent while nothing was inserted.
    registers: Option<Box<[u8; REGISTERS]>>,
    /// The estimate, until a register changes: most insertions into a large sketch change none.
    estimate: OnceLock<f64>,
}

impl Sketch {
    /// Adds a hash whose bits are all well mixed.
    pub fn insert(&mut self, hash: u64) {
        self.writer().insert(hash);
    }

    /// For many insertions.
    pub(super) fn writer(&mut self) -> SketchWriter<'_> {
        let registers = self.registers.get_or_insert_with(|| Box::new([0; REGISTERS]));
        SketchWriter { registers, estimate: &mut self.estimate }
    }

    /// The sketch of the union of both sets.
    pub fn merge(&mut self, other: &Self) {
        let Some(theirs) = &other.registers else { return };
        self.estimate = OnceLock::new();
        match &mut self.registers {
            None => self.registers = Some(theirs.clone()),
            Some(mine) => mine.iter_mut().zip(theirs.iter()).for_each(|(a, b)| *a = (*a).max(*b)),
        }
    }

    /// The estimated number of distinct hashes.
    pub fn estimate(&self) -> f64 {
        *self.estimate.get_or_init(|| self.computed())
    }

    fn computed(&self) -> f64 {
        let Some(registers) = &self.registers else { return 0.0 };
        let mut counts = [0u32; MAX_RANK + 1];
        registers.iter().for_each(|&r| counts[usize::from(r)] += 1);
        let m = REGISTERS as f64;
        // Registers at the limit, then the others from the top down, then the empty ones (Ertl 2017, algorithm 6).
        let mut z = m * tau(1.0 - f64::from(counts[MAX_RANK]) / m);
        for &count in counts[1..MAX_RANK].iter().rev() {
            z = 0.5 * (z + f64::from(count));
        }
        z += m * sigma(f64::from(counts[0]) / m);
        m * m / (2.0 * std::f64::consts::LN_2 * z)
    }
}

/// Write access to a sketch.
pub(super) struct SketchWriter<'a> {
    registers: &'a mut [u8; REGISTERS],
    estimate: &'a mut OnceLock<f64>,
}

impl SketchWriter<'_> {
    #[inline(always)]
    pub(super) fn insert(&mut self, hash: u64) {
        let register = &mut self.registers[(hash >> (64 - BITS)) as usize];
        let rank = ((hash << BITS | 1 << (BITS - 1)).leading_zeros() + 1) as u8;
        // Hardly ever taken once a few thousand distinct values were seen.
        if rank > *register {
            *register = rank;
            *self.estimate = OnceLock::new();
        }
    }
}

fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if z == before {
            return z / 3.0;
        }
    }
}
