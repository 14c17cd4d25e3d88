//! Vectors: what a scan computes for a batch of rows at once, an operation after the other, before the body sees a tuple.

use base::IdMap;

use super::{Compare, Literal, Operation, Ty, Var};

/// Filters and columns that a table source computes. An operation is a loop over all rows of a batch (the *vectorised* way;
/// Boncz, Zukowski and Nes, CIDR 2005), for which the processor has wide instructions that code for one tuple lacks.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Vectors {
    /// Types of all values. They are no variables of the body.
    pub vars: IdMap<Var, Ty>,
    /// In the order in which they are computed.
    pub steps: Vec<Step>,
    /// Bool: the body sees only rows for which it is true.
    pub filter: Option<Var>,
    /// Columns of the source behind all others: (value, NULL flag).
    pub columns: Vec<(Var, Option<Var>)>,
}

/// An operation over all rows of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The value.
    pub var: Var,
    /// How it is computed: [`Operation::is_vectorised`] is true.
    pub op: Operation,
    /// Bool: of rows for which it is false, the value may be anything, and nothing fails. Given to what can fail.
    pub only_if: Option<Var>,
}

impl Vectors {
    /// Whether there is nothing to compute.
    pub fn is_empty(&self) -> bool {
        self.filter.is_none() && self.columns.is_empty()
    }

    /// Whether no row ends the query with an error.
    pub fn never_fail(&self) -> bool {
        self.steps.iter().all(|step| step.op.never_fails())
    }
}

impl Operation {
    /// Whether vectors know the operation; `ty` says the types of its operands.
    pub fn is_vectorised(&self, ty: impl Fn(Var) -> Ty) -> bool {
        let simple = |x: &Var| !matches!(ty(*x), Ty::I128 | Ty::Str | Ty::Interval | Ty::Ptr);
        match self {
            Self::Const(literal) => {
                matches!(literal, Literal::Bool(_) | Literal::Float(..))
                    || matches!(literal, Literal::Int(_, ty) if *ty != Ty::I128)
            }
            Self::Param(_, ty) | Self::Column(_, ty) => !matches!(ty, Ty::I128 | Ty::Str | Ty::Interval | Ty::Ptr),
            Self::ColumnNull(_) => true,
            Self::FloatFunction(_, x) | Self::Not(x) | Self::OfDoubles(_, x, ..) => simple(x),
            Self::Convert(_, x, to, _) => simple(x) && *to != Ty::I128,
            Self::Compare(how, x, _) => simple(x) && *how != Compare::Before,
            Self::Checked(_, x, ..) | Self::Wrapping(_, x, _) | Self::Float(_, x, ..) | Self::Select(_, x, _) => {
                simple(x)
            }
            Self::Divide(x, ..) | Self::Remainder(x, ..) | Self::Logic(_, x, _) => simple(x),
            Self::ToDecimal(_, _, to, _) => *to != Ty::I128,
            Self::Row
            | Self::LocalRow(_)
            | Self::OnlyRow(_)
            | Self::Load { .. }
            | Self::FieldAddress(..)
            | Self::IsNullPtr(_)
            | Self::Hash(_) => false,
        }
    }
}
