//! Trigonometry in degrees, exact where the result is (30, 45 and 60 degrees and their multiples), as PostgreSQL has it:
//! functions are scaled so that they give the exact value at these angles, and other angles are led back to the first 90
//! degrees.

use base::Result;

use super::float::input_out_of_range;

const RADIANS: f64 = std::f64::consts::PI / 180.0;

/// Half of the sine's share at 30 degrees: exact at 0 and 30.
fn sine_to_30(x: f64) -> f64 {
    libm::sin(x * RADIANS) / libm::sin(30.0 * RADIANS) / 2.0
}

/// Exact at 0 and 60.
fn cosine_to_60(x: f64) -> f64 {
    1.0 - (1.0 - libm::cos(x * RADIANS)) / (1.0 - libm::cos(60.0 * RADIANS)) / 2.0
}

/// Of angles from 0 to 90.
fn sine(x: f64) -> f64 {
    if x <= 30.0 { sine_to_30(x) } else { cosine_to_60(90.0 - x) }
}

/// Of angles from 0 to 90.
fn cosine(x: f64) -> f64 {
    if x <= 60.0 { cosine_to_60(x) } else { sine_to_30(90.0 - x) }
}

/// The angle from 0 to 90 that a finite angle is led back to, whether it was below 0 or over 180 (not both), and whether
/// what remained was over 90.
fn led_back(x: f64) -> Result<(f64, bool, bool)> {
    if x.is_infinite() {
        return Err(input_out_of_range());
    }
    let x = libm::fmod(x, 360.0);
    let (x, negative) = (x.abs(), x < 0.0);
    let (x, turned) = if x > 180.0 { (360.0 - x, true) } else { (x, false) };
    Ok(if x > 90.0 { (180.0 - x, negative != turned, true) } else { (x, negative != turned, false) })
}

fn signed(x: f64, negative: bool) -> f64 {
    if negative { -x } else { x }
}

/// `sind(x)`
pub fn sind(x: f64) -> Result<f64> {
    let (x, negative, _) = led_back(x)?;
    Ok(signed(sine(x), negative))
}

/// `cosd(x)`
pub fn cosd(x: f64) -> Result<f64> {
    let (x, _, over) = led_back(x)?;
    Ok(signed(cosine(x), over))
}

/// `tand(x)`
pub fn tand(x: f64) -> Result<f64> {
    let (x, negative, over) = led_back(x)?;
    let tangent = signed(sine(x) / cosine(x) / (sine(45.0) / cosine(45.0)), negative != over);
    Ok(if tangent == 0.0 { 0.0 } else { tangent })
}

/// `cotd(x)`
pub fn cotd(x: f64) -> Result<f64> {
    let (x, negative, over) = led_back(x)?;
    let cotangent = signed(cosine(x) / sine(x) / (cosine(45.0) / sine(45.0)), negative != over);
    Ok(if cotangent == 0.0 { 0.0 } else { cotangent })
}

/// Of numbers from 0 to 1.
fn inverse_sine(x: f64) -> f64 {
    if x <= 0.5 { libm::asin(x) / libm::asin(0.5) * 30.0 } else { 90.0 - libm::acos(x) / libm::acos(0.5) * 60.0 }
}

/// Of numbers from 0 to 1.
fn inverse_cosine(x: f64) -> f64 {
    if x <= 0.5 { 90.0 - libm::asin(x) / libm::asin(0.5) * 30.0 } else { libm::acos(x) / libm::acos(0.5) * 60.0 }
}

/// `asind(x)`, in degrees.
pub fn asind(x: f64) -> Result<f64> {
    if x.abs() > 1.0 {
        return Err(input_out_of_range());
    }
    Ok(if x >= 0.0 { inverse_sine(x) } else { -inverse_sine(-x) })
}

/// `acosd(x)`, in degrees.
pub fn acosd(x: f64) -> Result<f64> {
    if x.abs() > 1.0 {
        return Err(input_out_of_range());
    }
    Ok(if x >= 0.0 { inverse_cosine(x) } else { 90.0 + inverse_sine(-x) })
}

/// `atand(x)`, in degrees.
pub fn atand(x: f64) -> f64 {
    libm::atan(x) / libm::atan(1.0) * 45.0
}

/// `atan2d(y, x)`, in degrees.
pub fn atan2d(y: f64, x: f64) -> f64 {
    libm::atan2(y, x) / libm::atan(1.0) * 45.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_angles_have_exact_results() {
        for turn in [-720.0, -360.0, 0.0, 360.0] {
            let all = |f: fn(f64) -> Result<f64>, angles: [f64; 4]| angles.map(|x| f(x + turn).unwrap());
            assert_eq!(all(sind, [0.0, 30.0, 90.0, 210.0]), [0.0, 0.5, 1.0, -0.5]);
            assert_eq!(all(cosd, [0.0, 60.0, 90.0, 240.0]), [1.0, 0.5, 0.0, -0.5]);
            assert_eq!(all(tand, [0.0, 45.0, 135.0, 225.0]), [0.0, 1.0, -1.0, 1.0]);
        }
        assert_eq!([asind(0.5), acosd(0.5), acosd(-0.5)].map(Result::unwrap), [30.0, 60.0, 120.0]);
        assert!(sind(f64::INFINITY).is_err() && asind(1.5).is_err() && asind(f64::NAN).unwrap().is_nan());
    }
}
