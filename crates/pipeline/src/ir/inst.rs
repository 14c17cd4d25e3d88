//! Instructions.

use functions::{FloatFunction, ScalarFunction};

use super::callee::Callee;
use super::{ParamId, SiteId, StateId, Ty, Var};

/// Instructions in order.
pub type Block = Vec<Inst>;

/// An instruction.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Inst {
    /// Defines a value.
    Let {
        /// The value.
        var: Var,
        /// How it is computed.
        op: Operation,
    },
    /// Calls Rust. Strict in nothing: callers test for NULL first where the function must not see it.
    Call {
        /// Results, as many as the callee has.
        results: Vec<Var>,
        /// What is called.
        callee: Callee,
        /// Arguments.
        args: Vec<Var>,
        /// Number of the byte offset in the SQL text, for errors; see [`Program::positions`](super::Program::positions).
        position: Option<u32>,
    },
    /// Structured control flow. Blocks hold `Let`, `Call`, `Store`, `AddToSum`, `Fold`, `If`, `Loop` and `Raise` only.
    If {
        /// Bool.
        condition: Var,
        /// Runs if true.
        then: Block,
        /// Runs if false.
        otherwise: Block,
        /// (result, its value from `then`, its value from `otherwise`).
        results: Vec<(Var, Var, Var)>,
    },
    /// Runs a block so many times, not at all if the number is 0 or less. Its block holds what those of `If` hold.
    Loop {
        /// How many, I64.
        times: Var,
        /// Which of them, from 0: I64.
        index: Var,
        /// (value, what it is at first, what it is after the block): seen by the block, and behind the loop as it is then.
        carried: Vec<(Var, Var, Var)>,
        /// What runs.
        body: Block,
    },
    /// Writes a value to a row.
    Store {
        /// Ptr.
        base: Var,
        /// Byte offset.
        offset: u32,
        /// What is written; its type says how many bytes.
        value: Var,
    },
    /// Adds a double to the exact sum {high: F64, low: F64} of a row (see `types::ops::sum`). If `high` is NaN the sum is
    /// elsewhere, which Rust knows.
    AddToSum {
        /// Ptr.
        base: Var,
        /// Byte offset.
        offset: u32,
        /// F64.
        value: Var,
    },
    /// Adds the tuple to an accumulator.
    Fold(Fold),
    /// Ends the query with an error; only inside of `If`. What follows is not run.
    Raise {
        /// SQLSTATE.
        state: base::SqlState,
        /// Message.
        message: &'static str,
        /// Number of the byte offset in the SQL text.
        position: Option<u32>,
    },
    /// Filter: the rest of the body happens only if the condition (Bool) is true.
    Filter(Var),
    /// Generator: looks the tuple up in a join table.
    Match(Box<Match>),
    /// Generator: the rest of the body happens so many times, not at all if the number is 0 or less.
    Repeat {
        /// How many, I64.
        times: Var,
        /// Which of them, from 0: I64.
        index: Var,
        /// What is known of each besides.
        elements: Vec<RepeatedElement>,
    },
    /// Generator of each tuple once: says that a `Group` with this hash follows, in a state with so many groups that code
    /// had better fetch those of a batch of tuples at once.
    Prefetch {
        /// A [`State::Group`](super::State::Group) with keys.
        state: StateId,
        /// Hash of the keys, I64, or the group's number.
        hash: Var,
    },
    /// Finds the worker's row of the tuple's group, or makes it.
    Group {
        /// A [`State::Group`](super::State::Group) with keys.
        state: StateId,
        /// Hash of the keys, I64, or the group's number where the state has [slots](super::GroupState::slots); then nothing
        /// is compared.
        hash: Var,
        /// The row (Ptr): `equal` sees a candidate with the same hash in it, `init` the new zeroed row, the rest of the
        /// body the group's row.
        row: Var,
        /// Computes whether the candidate's keys are the tuple's keys.
        equal: Block,
        /// Bool, the result of `equal`.
        is_equal: Var,
        /// Stores the keys into a new row.
        init: Block,
        /// If given, rows are known by the codes of columns, too.
        known: Option<Known>,
    },
    /// Appends a row to the worker's area of a join, sort or rows state; its bytes are anything until the `Store`s of all
    /// its fields, which follow.
    AllocRow {
        /// Where.
        state: StateId,
        /// The row, Ptr.
        row: Var,
        /// For join states: the word that the row is found by, I64.
        hash: Option<Var>,
    },
    /// Appends a row to the worker's part of a result state: (value, NULL flag) per column.
    Output {
        /// A [`State::Result`](super::State::Result) or [`State::Table`](super::State::Table).
        state: StateId,
        /// Values and NULL flags; a column without a flag is never NULL.
        values: Vec<(Var, Option<Var>)>,
    },
    /// Adds one to a counter of EXPLAIN ANALYZE.
    Count(u32),
}

/// An element of a list for each copy that a repetition makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RepeatedElement {
    /// Str: a list, known before the repetition.
    pub list: Var,
    /// Bool: whether it is NULL, if it can be.
    pub missing: Option<Var>,
    /// What its elements are ([`SiteKind::Elements`](super::SiteKind::Elements)): integers of 32 or 64 bits, or doubles.
    pub site: SiteId,
    /// The element of the copy's number.
    pub value: Var,
    /// Bool: whether it is NULL, or there is none.
    pub null: Var,
}

/// Groups whose keys are told by the [codes](super::Source::Table) of a table's columns: the worker's row is found at a
/// place, and the keys are only computed where there is none yet.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Known {
    /// The place, I32: the column behind the source's.
    pub place: Var,
    /// Computes the keys and the hash, which are seen by the other blocks of the `Group`.
    pub keys: Block,
}

/// Adds a column's value at the current tuple to an accumulator in the worker's only row of a group state without keys;
/// NULL changes nothing. Nothing else in the body touches the accumulator, so that code may wait until it can add the
/// values of many tuples at once.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Fold {
    /// What the accumulator keeps.
    pub kind: FoldKind,
    /// A [`State::Group`](super::State::Group) without keys.
    pub state: StateId,
    /// Byte offset of the accumulator.
    pub offset: u32,
    /// Byte offset of a Bool that becomes true with the first value; never asked of counts.
    pub seen: Option<u32>,
    /// Whose values. None: an element's, or tuples are counted.
    pub column: Option<FoldColumn>,
    /// The values of an element that the last generator delivers with each tuple, behind which no filter stands: integers as of 64
    /// bits, or doubles.
    pub element: Option<FoldElement>,
}

/// A [`RepeatedElement`] as a [`Fold`] reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FoldElement {
    /// Its value.
    pub value: Var,
    /// Whether it is NULL.
    pub null: Var,
}

/// A column of the source, as a [`Fold`] reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FoldColumn {
    /// Index into the source's columns.
    pub index: u32,
    /// Its type: any to be counted, else a number.
    pub ty: Ty,
    /// Whether it may be NULL.
    pub nullable: bool,
}

/// What a [`Fold`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FoldKind {
    /// Number of values: I64.
    Count,
    /// The sum: I128 for integers of at most 64 bits, {sum: I128, carries: I64} for I128, {high: F64, low: F64} for floats.
    Sum,
    /// The sum of integers of at most 64 bits, each as a double: {high: F64, low: F64}.
    SumAsDouble,
    /// Number, sum and sum of squares of doubles or integers of at most 64 bits, for a variance: 48 bytes.
    Variance,
    /// The first value in the order of [`Compare::Before`], in the column's type; `seen` says whether there is one. All
    /// NaNs become one.
    Min,
    /// The last value in that order, likewise.
    Max,
}

/// A lookup in a join table (thesis 4.5.1-4.5.2). A build row is a *match* if its word equals `hash`, or its range has the
/// numbers `hash` and `until`, and `condition` is true for it.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Match {
    /// A [`State::Join`](super::State::Join) whose pipeline is finished.
    pub state: StateId,
    /// What happens per match.
    pub kind: MatchKind,
    /// The word that rows are found by, I64: the probe key's hash, or the key (see [`JoinWord`](super::JoinWord)).
    pub hash: Var,
    /// I64, if rows are ranges that end: the number that candidates reach.
    pub until: Option<Var>,
    /// Bool; if given and false, the tuple has no match (a NULL in its key).
    pub active: Option<Var>,
    /// The build row, Ptr: seen by `condition`, and by the rest of the body for `Inner`, `Left` and `Single` (the last
    /// two: the null pointer if there is no match).
    pub entry: Var,
    /// What must hold beside equality of words; none if that implies equality of keys and nothing else is asked.
    pub condition: Option<MatchCondition>,
    /// If given, each match sets the byte at this offset of its build row to 1 (outer, semi and anti joins that preserve
    /// the build side).
    pub marker: Option<u32>,
}

/// The condition of a match.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct MatchCondition {
    /// Computes it, seeing `entry`.
    pub block: Block,
    /// Bool: whether it is true.
    pub is_true: Var,
    /// Bool, for `Mark` only: whether it is NULL.
    pub is_null: Option<Var>,
}

/// What a match does to the tuple.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum MatchKind {
    /// The rest of the body once per match.
    Inner,
    /// Likewise, and once with a null `entry` if there is none.
    Left,
    /// Once if there is a match.
    Semi,
    /// Once if there is none.
    Anti,
    /// Once, with a boolean: whether there is a match, and if not, whether the condition was NULL for some build row with
    /// the same word.
    Mark {
        /// Bool: there is a match.
        is_true: Var,
        /// Bool: there is none, but for some row the condition is NULL.
        is_null: Var,
    },
    /// Once, with the only match or a null `entry`; a second match is error 21000.
    Single {
        /// Number of the byte offset in the SQL text.
        position: Option<u32>,
    },
}

/// How a value is computed. No operation here has effects; checked arithmetic and fallible conversions end the query
/// with an error, so they are not moved out of their `If`.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Operation {
    /// A constant of the program itself.
    Const(Literal),
    /// A constant of the query.
    Param(ParamId, Ty),
    /// The source's column (index into its columns) at the current tuple.
    Column(u32, Ty),
    /// Whether that column is NULL at the current tuple: Bool.
    ColumnNull(u32),
    /// The current row of a source that delivers rows: Ptr.
    Row,
    /// The worker's own only row of a group state without keys: Ptr.
    LocalRow(StateId),
    /// The only row of a finished group state without keys, that of all workers together: Ptr.
    OnlyRow(StateId),
    /// Reads a row: a value of the type at the offset.
    Load {
        /// Ptr.
        base: Var,
        /// Byte offset.
        offset: u32,
        /// Type.
        ty: Ty,
        /// Whether nothing writes this field while the pipeline runs, so that the load may be moved or repeated.
        stable: bool,
    },
    /// The address of a field of a row: Ptr.
    FieldAddress(Var, u32),
    /// A function of a float that cannot fail.
    FloatFunction(FloatFunction, Var),
    /// A function of one F64 or two ([`Typed::Double`](functions::Typed::Double), `DoubleOfTwo`): F64. Ends the query with its error.
    OfDoubles(ScalarFunction, Var, Option<Var>, Option<u32>),
    /// An F64 as a decimal of a precision and a scale, by its first 15 digits, in an integer of the type. Ends the query with 22003.
    ToDecimal(Var, (u8, u8), Ty, Option<u32>),
    /// Whether a Ptr is null: Bool.
    IsNullPtr(Var),
    /// Integer arithmetic that ends the query with 22003 on overflow; both operands of one type.
    Checked(Arithmetic, Var, Var, Option<u32>),
    /// Integer arithmetic that is known not to overflow (or whose overflow is harmless: it wraps).
    Wrapping(Arithmetic, Var, Var),
    /// Integer division, truncating; ends the query with 22012 on zero and 22003 on overflow. I16 to I64.
    Divide(Var, Var, Option<u32>),
    /// Integer remainder with the sign of the dividend; ends the query with 22012 on zero. I16 to I64.
    Remainder(Var, Var, Option<u32>),
    /// Float arithmetic; both operands of one type. Ends the query with 22012 if a number is divided by zero, with 22003
    /// if a result of finite numbers is infinite, or a product or quotient zero though no operand makes it so.
    Float(FloatOp, Var, Var, Option<u32>),
    /// Comparison of two values of one type: Bool. Floats as PostgreSQL orders them, strings bytewise.
    Compare(Compare, Var, Var),
    /// Eager logic over two Bools, or over the bits of two integers of one type.
    Logic(Logic, Var, Var),
    /// Bool.
    Not(Var),
    /// The second operand if the first (Bool) is true, else the third; eager.
    Select(Var, Var, Var),
    /// A conversion between number types.
    Convert(Conversion, Var, Ty, Option<u32>),
    /// The 64-bit hash of the values in order; (value, NULL flag). A single value that fits 64 bits hashes bijectively.
    /// See `types::ops::hash`: `hash(v)` for one; `combine(h, hash(v))` for each further one.
    Hash(Vec<(Var, Option<Var>)>),
}

/// Constants of the program itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// Bool.
    Bool(bool),
    /// An integer of the type.
    Int(i128, Ty),
    /// A float of the type.
    Float(f64, Ty),
    /// The empty string.
    EmptyStr,
    /// The empty interval.
    ZeroInterval,
    /// The null pointer.
    NullPtr,
}

impl std::hash::Hash for Literal {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Self::Bool(x) => x.hash(state),
            Self::Int(x, ty) => (x, ty).hash(state),
            Self::Float(x, ty) => (x.to_bits(), ty).hash(state),
            Self::EmptyStr | Self::ZeroInterval | Self::NullPtr => {}
        }
    }
}

/// Integer arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Arithmetic {
    Add,
    Sub,
    Mul,
}

/// Float arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum FloatOp {
    Add,
    Sub,
    Mul,
    Div,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Less, or equal but not identical (-0 and 0, intervals) and less by its bits: a total order, for what must not
    /// depend on which of several equal values came first.
    Before,
}

/// Eager logic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Logic {
    And,
    Or,
    Xor,
}

/// Conversions between number types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conversion {
    /// Integer to a wider (or the same) integer.
    Widen,
    /// Integer to a narrower integer; 22003 if it does not fit.
    Narrow,
    /// Integer to a narrower integer, known to fit: cuts off.
    Cut,
    /// Integer to float.
    IntToFloat,
    /// Float to integer, rounding half to even; 22003 if it does not fit.
    FloatToInt,
    /// F32 to F64 or back (22003 on overflow to infinity).
    FloatToFloat,
    /// Bool to an integer, 0 or 1.
    BoolToInt,
}

impl Inst {
    /// The limit that this instruction counts against, if it is that.
    pub fn limit(&self) -> Option<StateId> {
        match self {
            Self::Call { callee: Callee::TakeLimit(state), .. } => Some(*state),
            _ => None,
        }
    }
}

impl Operation {
    /// Whether it ends the query for no operands.
    pub fn never_fails(&self) -> bool {
        match self {
            Self::Checked(..) | Self::Divide(..) | Self::Remainder(..) | Self::Float(..) => false,
            Self::OfDoubles(..) | Self::ToDecimal(..) => false,
            Self::Convert(conversion, ..) => matches!(
                conversion,
                Conversion::Widen | Conversion::Cut | Conversion::IntToFloat | Conversion::BoolToInt
            ),
            _ => true,
        }
    }
}

/// A function of two rows, for the finalisation of breakers.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Function {
    /// The two rows, Ptr.
    pub rows: [Var; 2],
    /// `Let`, `Call`, `Store`, `AddToSum`, `If`, `Loop` and `Raise`.
    pub body: Block,
    /// Bool, if the function answers a question.
    pub result: Option<Var>,
    /// Types of all its values.
    pub vars: base::IdMap<Var, Ty>,
}
