//! Unsigned 256-bit integers: just enough for products and quotients of 128-bit decimals.
//!
//! Division is Knuth's algorithm D (TAOCP 4.3.1) in base 2^64, with a divisor of at most two digits.

/// `high * 2^128 + low`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct U256 {
    pub high: u128,
    pub low: u128,
}

const MASK: u128 = u64::MAX as u128;

impl U256 {
    /// `a * b`, which always fits.
    pub fn product(a: u128, b: u128) -> Self {
        let (a1, a0, b1, b0) = (a >> 64, a & MASK, b >> 64, b & MASK);
        let low = a0 * b0;
        let (middle, carry) = (a1 * b0).overflowing_add(a0 * b1);
        let (low, carry_low) = low.overflowing_add(middle << 64);
        let high = a1 * b1 + (middle >> 64) + (u128::from(carry) << 64) + u128::from(carry_low);
        Self { high, low }
    }

    /// `self * b`, or none if it does not fit.
    pub fn checked_mul(self, b: u128) -> Option<Self> {
        let low = Self::product(self.low, b);
        let high = self.high.checked_mul(b)?.checked_add(low.high)?;
        Some(Self { high, low: low.low })
    }

    /// `self / b` rounded half up, or none if it does not fit 128 bits. `b` is not 0.
    pub fn div_round(self, b: u128) -> Option<u128> {
        let (quotient, remainder) = self.div_rem(b)?;
        quotient.checked_add(u128::from(remainder >= b - remainder))
    }

    /// Quotient and remainder, or none if the quotient does not fit 128 bits. `b` is not 0.
    pub fn div_rem(self, b: u128) -> Option<(u128, u128)> {
        // The quotient fits exactly if the high part is below the divisor, which also is what algorithm D needs.
        if self.high >= b {
            return None;
        }
        if self.high == 0 {
            return Some((self.low / b, self.low % b));
        }
        if b <= MASK {
            let first = (self.high << 64) | (self.low >> 64);
            let second = ((first % b) << 64) | (self.low & MASK);
            // `high < b`, so the first digit is below 2^64.
            return Some((((first / b) << 64) | (second / b), second % b));
        }
        let shift = b.leading_zeros();
        let divisor = b << shift;
        let high = if shift == 0 { self.high } else { (self.high << shift) | (self.low >> (128 - shift)) };
        let low = self.low << shift;
        let (q1, rest) = digit(high, low >> 64, divisor);
        let (q0, rest) = digit(rest, low & MASK, divisor);
        Some(((q1 << 64) | q0, rest >> shift))
    }
}

/// One digit: divides the three digits `high:next` by the normalised two-digit divisor; `high < divisor`.
fn digit(high: u128, next: u128, divisor: u128) -> (u128, u128) {
    let (d1, d0) = (divisor >> 64, divisor & MASK);
    let mut quotient = high / d1;
    let mut rest = high % d1;
    // At most two corrections, since the divisor is normalised.
    while quotient > MASK || quotient * d0 > ((rest << 64) | next) {
        quotient -= 1;
        rest += d1;
        if rest > MASK {
            break;
        }
    }
    // The true remainder is below the divisor, so arithmetic modulo 2^128 gives it.
    let partial = (high << 64) | next;
    (quotient, partial.wrapping_sub(quotient.wrapping_mul(divisor)))
}
