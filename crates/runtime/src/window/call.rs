//! From a call to what evaluates it: the one place where functions, types and frames are told apart.

use base::{Budget, CancelToken, Result};
use functions::WindowFunction as F;
use plan::Frame;
use types::SqlType;

use super::aggregate::{self, Algorithm};
use super::concat::Concat;
use super::frame::Frames;
use super::members::{Condition, Members};
use super::numbering::{Kind, Numbering};
use super::pick::{Pick, Which};
use super::{Evaluation, Key, Operand, Positions, ordered};

/// A call of a window function: see [`plan::WindowCall`].
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Which function.
    pub(crate) function: F,
    /// Its arguments.
    pub(crate) arguments: Vec<Operand>,
    /// Over distinct values only.
    pub(crate) distinct: bool,
    /// Rows for which this is true are looked at.
    pub(crate) filter: Option<Operand>,
    /// Rows whose first argument is NULL are not looked at.
    pub(crate) ignore_nulls: bool,
    /// The call's own order.
    pub(crate) order: Vec<Key>,
    /// What it looks at.
    pub(crate) frame: Frame<Operand>,
    /// What distances of RANGE are added to.
    pub(crate) range: Option<Key>,
    /// The result's type.
    pub(crate) result: SqlType,
    /// How aggregates are computed, if that shall not be chosen by the frame.
    pub(crate) algorithm: Option<Algorithm>,
    /// Children of a node in trees; a power of two from 2 to 128, or taken for the next one.
    pub(crate) fanout: usize,
}

/// What evaluates a call for all rows.
pub(crate) fn evaluation(
    call: Call,
    positions: Positions,
    budget: &Budget,
    cancel: CancelToken,
) -> Result<Box<dyn Evaluation>> {
    let frames = Frames::new(positions.clone(), call.frame.clone(), call.range.clone(), cancel.clone())?;
    let number = |kind| Ok(Box::new(Numbering { kind, positions: positions.clone(), cancel }) as _);
    let own_order = !call.order.is_empty() && !matches!(call.function, F::Aggregate(_));
    match call.function {
        _ if own_order => ordered::evaluation(call, frames, budget),
        F::RowNumber => number(Kind::RowNumber),
        F::Rank => number(Kind::Rank),
        F::DenseRank => number(Kind::DenseRank),
        F::PercentRank => number(Kind::PercentRank),
        F::CumeDist => number(Kind::CumeDist),
        F::Ntile => number(Kind::Ntile(call.arguments[0].clone())),
        F::Lead | F::Lag => {
            let (offset, default) = (call.arguments[1].clone(), call.arguments.get(2).cloned());
            pick(Which::Away { offset, back: call.function == F::Lag, default }, call, frames, budget)
        }
        F::FirstValue => pick(Which::First, call, frames, budget),
        F::LastValue => pick(Which::Last, call, frames, budget),
        F::NthValue => pick(Which::Nth(call.arguments[1].clone()), call, frames, budget),
        F::StringAgg | F::ArrayAgg => {
            Ok(Box::new(Concat::new(call.arguments, call.filter, call.distinct, frames, budget)))
        }
        F::Aggregate(function) => aggregate::evaluation(function, call, frames, budget),
        F::Mode | F::PercentileDisc | F::PercentileCont => unreachable!("they have an order of their own"),
    }
}

/// What evaluates a function that gives the value of another row.
pub(super) fn pick(which: Which, call: Call, frames: Frames, budget: &Budget) -> Result<Box<dyn Evaluation>> {
    let value = call.arguments.into_iter().next().expect("a value");
    let condition = Condition { value: call.ignore_nulls.then(|| value.clone()), filter: call.filter, only: None };
    let members = Members::new(condition, frames.positions.rows, budget)?;
    Ok(Box::new(Pick { which, value, members, frames }))
}
