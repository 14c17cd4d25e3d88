//! Functions of angles in degrees, and hyperbolic functions.

use types::SqlType;
use types::ops::number::{angle, float, many};

use super::numbers::double_function;
use super::{Scalar, Typed, over};
use crate::Parameter::Double;

pub(super) const ROWS: &[Scalar] = &[
    double_function!("cot", &["cot"], float::cot, "Cotangent of an angle in radians.", ("cot(0)", "Infinity")),
    double_function!("sinh", &["sinh"], total float::sinh, "Hyperbolic sine.", ("sinh(0)", "0")),
    double_function!("cosh", &["cosh"], total float::cosh, "Hyperbolic cosine.", ("cosh(0)", "1")),
    double_function!("tanh", &["tanh"], total float::tanh, "Hyperbolic tangent.", ("tanh(0)", "0")),
    double_function!("asinh", &["asinh"], total float::asinh, "Inverse hyperbolic sine.", ("asinh(0)", "0")),
    double_function!("acosh", &["acosh"], float::acosh, "Inverse hyperbolic cosine.", ("acosh(1)", "0")),
    double_function!("atanh", &["atanh"], float::atanh, "Inverse hyperbolic tangent.", ("atanh(0)", "0")),
    double_function!("sind", &["sind"], angle::sind, "Sine of an angle in degrees.", ("sind(30)", "0.5")),
    double_function!("cosd", &["cosd"], angle::cosd, "Cosine of an angle in degrees.", ("cosd(60)", "0.5")),
    double_function!("tand", &["tand"], angle::tand, "Tangent of an angle in degrees.", ("tand(45)", "1")),
    double_function!("cotd", &["cotd"], angle::cotd, "Cotangent of an angle in degrees.", ("cotd(45)", "1")),
    double_function!("asind", &["asind"], angle::asind, "Inverse sine, in degrees.", ("asind(0.5)", "30")),
    double_function!("acosd", &["acosd"], angle::acosd, "Inverse cosine, in degrees.", ("acosd(0.5)", "60")),
    double_function!("atand", &["atand"], total angle::atand, "Inverse tangent, in degrees.", ("atand(1)", "45")),
    Scalar::new(
        "atan2d",
        &["atan2d"],
        &[over(&[Double, Double], SqlType::Double)],
        |c| c.floating(angle::atan2d(c.float(0)?, c.float(1)?)),
        "Inverse tangent of the quotient, in degrees.",
        ("atan2d(1, 0)", "90"),
    )
    .typed(Typed::DoubleOfTwo(
        |y, x| Ok(angle::atan2d(y, x)),
        |y, x, only_if, out| many::pair_by_pair((y, x), only_if, out, |y, x| Ok(angle::atan2d(y, x))),
    )),
];
