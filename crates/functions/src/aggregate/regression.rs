//! Covariance, correlation and linear regression, from the moments of pairs (y, x): PostgreSQL's formulas over sums of
//! squared distances that are exact until they are rounded once, so that the order of pairs does not show (decision 12).

use base::{Error, Result};
use types::Value;
use types::ops::sum::{Moments, PairMoments};

use super::{AggregateFunction as F, Input};

/// What a function makes of moments; NULL where it is not defined.
pub fn result(function: F, moments: &impl PairMoments) -> Result<Option<f64>> {
    let count = moments.count() as f64;
    if moments.count() < function.definition().least_values as u64 {
        return Ok(None);
    }
    let varies = |distances: f64| (distances != 0.0).then_some(distances);
    Ok(match function {
        F::CovarPop => Some(moments.xy()? / count),
        F::CovarSamp => Some(moments.xy()? / (count - 1.0)),
        F::Corr => match (varies(moments.xx()?), varies(moments.yy()?)) {
            (Some(xx), Some(yy)) => Some(moments.xy()? / (xx * yy).sqrt()),
            _ => None,
        },
        F::RegrAvgX => Some(moments.x()? / count),
        F::RegrAvgY => Some(moments.y()? / count),
        F::RegrSxx => Some(moments.xx()?),
        F::RegrSyy => Some(moments.yy()?),
        F::RegrSxy => Some(moments.xy()?),
        F::RegrSlope => match varies(moments.xx()?) {
            Some(xx) => Some(moments.xy()? / xx),
            None => None,
        },
        F::RegrIntercept => match varies(moments.xx()?) {
            Some(xx) => Some((moments.y()? - moments.x()? * moments.xy()? / xx) / count),
            None => None,
        },
        F::RegrR2 => match (varies(moments.xx()?), moments.yy()?) {
            (None, _) => None,
            (Some(_), 0.0) => Some(1.0),
            (Some(xx), yy) => Some(moments.xy()? * moments.xy()? / (xx * yy)),
        },
        other => return Err(Error::internal(format!("{} knows no pairs", other.name()))),
    })
}

/// The moments of pairs of doubles.
fn moments(input: Input<'_>) -> Result<Moments> {
    let mut moments = Moments::default();
    for pair in input.values.iter().zip(input.second()) {
        let (Value::Float(y), Value::Float(x)) = pair else {
            return Err(Error::internal(format!("an aggregate was given {pair:?}")));
        };
        moments.add(*y, *x);
    }
    Ok(moments)
}

macro_rules! evaluations {
    ($($name:ident $id:ident),*) => {
        $(pub(super) fn $name(input: Input<'_>) -> Result<Value> {
            Ok(result(F::$id, &moments(input)?)?.map_or(Value::Null, Value::Float))
        })*
    };
}

evaluations! {
    covar_pop CovarPop, covar_samp CovarSamp, corr Corr, regr_avgx RegrAvgX, regr_avgy RegrAvgY, regr_sxx RegrSxx,
    regr_syy RegrSyy, regr_sxy RegrSxy, regr_slope RegrSlope, regr_intercept RegrIntercept, regr_r2 RegrR2
}
