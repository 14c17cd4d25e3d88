//! Functions of angles in degrees, and hyperbolic functions.

use types::SqlType;
use types::ops::number::{angle, float};

use super::{Scalar, over};
use crate::Parameter::Double;

macro_rules! function {
    ($name:literal, $operation:path, $documentation:literal, $example:expr) => {
        Scalar::new(
            $name,
            &[$name],
            &[over(&[Double], SqlType::Double)],
            |c| c.floating($operation(c.float(0)?)?),
            $documentation,
            $example,
        )
    };
    ($name:literal, total $operation:path, $documentation:literal, $example:expr) => {
        Scalar::new(
            $name,
            &[$name],
            &[over(&[Double], SqlType::Double)],
            |c| c.floating($operation(c.float(0)?)),
            $documentation,
            $example,
        )
    };
}

pub(super) const ROWS: &[Scalar] = &[
    function!("cot", float::cot, "Cotangent of an angle in radians.", ("cot(0)", "Infinity")),
    function!("sinh", total float::sinh, "Hyperbolic sine.", ("sinh(0)", "0")),
    function!("cosh", total float::cosh, "Hyperbolic cosine.", ("cosh(0)", "1")),
    function!("tanh", total float::tanh, "Hyperbolic tangent.", ("tanh(0)", "0")),
    function!("asinh", total float::asinh, "Inverse hyperbolic sine.", ("asinh(0)", "0")),
    function!("acosh", float::acosh, "Inverse hyperbolic cosine.", ("acosh(1)", "0")),
    function!("atanh", float::atanh, "Inverse hyperbolic tangent.", ("atanh(0)", "0")),
    function!("sind", angle::sind, "Sine of an angle in degrees.", ("sind(30)", "0.5")),
    function!("cosd", angle::cosd, "Cosine of an angle in degrees.", ("cosd(60)", "0.5")),
    function!("tand", angle::tand, "Tangent of an angle in degrees.", ("tand(45)", "1")),
    function!("cotd", angle::cotd, "Cotangent of an angle in degrees.", ("cotd(45)", "1")),
    function!("asind", angle::asind, "Inverse sine, in degrees.", ("asind(0.5)", "30")),
    function!("acosd", angle::acosd, "Inverse cosine, in degrees.", ("acosd(0.5)", "60")),
    function!("atand", total angle::atand, "Inverse tangent, in degrees.", ("atand(1)", "45")),
    Scalar::new(
        "atan2d",
        &["atan2d"],
        &[over(&[Double, Double], SqlType::Double)],
        |c| c.floating(angle::atan2d(c.float(0)?, c.float(1)?)),
        "Inverse tangent of the quotient, in degrees.",
        ("atan2d(1, 0)", "90"),
    ),
];
