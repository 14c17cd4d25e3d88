//! The pipeline IR: typed SSA over one tuple.
//!
//! # The model
//! A [`Program`] is one query: states, and pipelines that fill and read them. A pipeline's body tells what happens to
//! **one tuple** of its source, as a straight line. Two kinds of instruction bend the line, and both stand at the top
//! level of the body only:
//! - *filters* end the tuple's life: the rest of the body happens only if the condition is true;
//! - *generators* ([`Inst::Match`], [`Inst::Repeat`], [`Inst::Prefetch`]) let the rest of the body happen once per match.
//!
//! [`Inst::If`] is structured control flow inside of the line: AND, OR and CASE become `If`, so that an error in a branch
//! that is not taken never happens. NULLs are an explicit second value (a [`Ty::Bool`], true if NULL) only where the SQL
//! type is nullable; the value beside a true flag is unspecified but initialised.
//!
//! The interpreter runs the body tuple by tuple. The code generator is free to run it in batches, staging at matches and
//! groups; so a body must not depend on the order of tuples, and effects on states are confined to the instructions that
//! name them.
//!
//! # Invariants (checked by the verifier)
//! - Each [`Var`] is defined once, before its uses, in a block that encloses them.
//! - Operand types are what the operation asks for; there are no implicit conversions.
//! - Filters, generators, `Group`, `AllocRow` and `Output` stand at the top level of the body.
//! - Offsets lie inside of the state's row layout.

mod callee;
mod first_key;
mod inst;
mod lookup;
mod parse;
mod positions;
mod program;
mod text;
mod uses;
mod vectors;
mod verify;
mod window;

pub use callee::{Callee, NEW, OUTSIDE, SEEN};
pub use first_key::FirstKey;
pub use functions::FloatFunction;
pub use inst::{
    Arithmetic, Block, Compare, Conversion, FloatOp, Fold, FoldColumn, FoldElement, FoldKind, Function, Inst, Known,
    Literal, Logic, Match, MatchCondition, MatchKind, Operation, RepeatedElement,
};
pub use lookup::{KeyLookup, KeyPlace, LookupPart};
pub use program::{
    Distinct, GROUP_HEADER, GroupState, JOIN_HEADER, JoinState, JoinWord, KeyFilter, Param, Pipeline, PipelineId,
    Program, RecursionState, RowField, RowLayout, RowSet, ScanOp, ScanPredicate, Site, SiteId, SiteKind, SortField,
    SortState, Source, SourceColumn, State, StateId,
};

pub use parse::parse;
pub use uses::each_use_within;
pub use vectors::{Step, Vectors};
pub use verify::verify;
pub use window::{WindowField, WindowOperand, WindowOrder, WindowState, WindowedFunction};

use types::Physical;

base::typed_id!(/// A value of the IR, defined once.
    Var, "%");
base::typed_id!(/// A constant of the query, passed at run time so that it is not part of the code's fingerprint.
    ParamId, "$");

/// The types of the IR: the physical layouts and pointers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ty {
    /// 0 or 1 in a byte.
    Bool,
    /// 16-bit integer.
    I16,
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
    /// 128-bit integer.
    I128,
    /// IEEE single.
    F32,
    /// IEEE double.
    F64,
    /// A 16-byte string header ([`types::Str`]).
    Str,
    /// 16 bytes: months, days, microseconds ([`types::Interval`]).
    Interval,
    /// The address of a row.
    Ptr,
}

impl Ty {
    /// Bytes in memory.
    pub const fn size(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::I16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 | Self::Ptr => 8,
            Self::I128 | Self::Str | Self::Interval => 16,
        }
    }
    /// Whether this is an integer type (not a boolean).
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::I16 | Self::I32 | Self::I64 | Self::I128)
    }
    /// Whether this is an integer or float type.
    pub const fn is_number(self) -> bool {
        self.is_integer() || self.is_float()
    }
    /// Whether this is a float type.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

impl From<Physical> for Ty {
    fn from(physical: Physical) -> Self {
        match physical {
            Physical::Bool => Self::Bool,
            Physical::I16 => Self::I16,
            Physical::I32 => Self::I32,
            Physical::I64 => Self::I64,
            Physical::I128 => Self::I128,
            Physical::F32 => Self::F32,
            Physical::F64 => Self::F64,
            Physical::Str => Self::Str,
            Physical::Interval => Self::Interval,
        }
    }
}
