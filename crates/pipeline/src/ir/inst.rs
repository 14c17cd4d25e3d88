//! Instructions.

use functions::{AggregateFunction, FloatFunction, ScalarFunction, Typed};
use types::ops::date::Field;

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
    /// Structured control flow. Blocks hold `Let`, `Call`, `Store`, `AddToSum`, `Fold`, `If` and `Raise` only.
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
    /// Whose values. None: tuples are counted.
    pub column: Option<FoldColumn>,
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

/// What generated code may call. Each has a fixed signature; see [`Callee::signature`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callee {
    /// Any scalar function, cast or pattern match of SQL through boxed values, as the site describes: the arguments of
    /// the site's types, then a value of its result type and a Bool: it is NULL.
    Site(SiteId),
    /// `(Str) -> Bool`: matches the parameter's compiled LIKE pattern.
    Like(ParamId),
    /// `(x) -> Bool`: is in the parameter's set; x of the type given.
    InSet(ParamId, Ty),
    /// `(I128, I128) -> I128`, 22003 on overflow.
    MulI128,
    /// `(I128, I128, I32 digits) -> I128`: the product divided by 10^digits, rounded half away from zero; 22003 if that
    /// overflows, whatever the product has.
    MulRound,
    /// `(Interval, Interval) -> Interval`; 22008.
    AddInterval,
    /// `(I128 dividend, I128 divisor, I32 power) -> I128`: `dividend * 10^power / divisor`, rounded half away from zero;
    /// 22012, 22003.
    DivDecimal,
    /// `(I128, I128) -> I128` remainder; 22012.
    RemI128,
    /// `(I128 value, I32 digits) -> I128`: divides by 10^digits, rounding half away from zero.
    RescaleDown,
    /// `(I128 value, I32 precision) -> I128`: the value if it has at most so many digits, else 22003.
    CheckPrecision,
    /// `(I128 value, I32 scale) -> F64`
    DecimalToDouble,
    /// A scalar function that has a typed form ([`functions::Typed`]), which says its signature.
    Scalar(ScalarFunction),
    /// `(Str, I64 start, I64 length) -> Str`: `substring`; 22011 if the length is negative.
    Substring,
    /// `(Str, ...) -> Str`: so many texts one after another, `||`.
    Concat(u8),
    /// `(I32 date) -> I64`: a field that is an integer; 0A000 if dates don't have it.
    ExtractDate(Field),
    /// `(I64 timestamp) -> I64`: a field that is an integer; 0A000 if timestamps don't have it.
    ExtractTimestamp(Field),
    /// `(I64 timestamp) -> I64`: `date_trunc`; 22008, 0A000.
    TruncateTimestamp(Field),
    /// `(I64 timestamp, Interval) -> I64`
    TimestampAddInterval,
    /// `(Ptr into, Ptr from) -> ()`: adds another exact sum.
    MergeSums,
    /// `(Ptr sum) -> F64`: an exact sum, rounded to the nearest double; 22003 if it is too large.
    RoundSum,
    /// `(Ptr sum, I64 count) -> F64`: the rounded sum divided by the count; 22003 if the sum is too large.
    Average,
    /// `(Ptr variance, F64 value) -> ()`: adds to {count: I64, exact sum, exact sum of squares, which has a third double in front} at the address.
    VarianceAdd,
    /// `(Ptr variance, I128 value) -> ()`: likewise.
    VarianceAddInteger,
    /// `(Ptr into, Ptr from) -> ()`: adds another one.
    VarianceMerge,
    /// `(Ptr variance, Bool sample, I32 scale) -> F64`: of a sample, or of a population; integers count units of
    /// 10^-scale. 22003.
    Variance,
    /// `(Ptr moments, F64 y, F64 x) -> ()`: adds to {count: I64, exact sums of y and x, those of y * y, x * x, x * y} at the address.
    MomentsAdd,
    /// `(Ptr into, Ptr from) -> ()`: adds other ones.
    MomentsMerge,
    /// `(Ptr moments) -> (F64, Bool)`: a function of pairs, and whether it is NULL; 22003.
    Regression(AggregateFunction),
    /// `(I64 count, I128 y, I128 x, I128 yy, I128 xx, I128 xy) -> (F64, Bool)`: likewise, from the sums of integers.
    RegressionOfIntegers(AggregateFunction),
    /// `(Ptr values, I64 value) -> ()`: adds to the values of a group, {Ptr, Ptr, Ptr, Ptr} at the address.
    CollectInteger,
    /// `(Ptr values, F64 value) -> ()`: likewise.
    CollectFloat,
    /// `(Ptr into, Ptr from) -> ()`: adds other values; those are lost.
    CollectMerge,
    /// `(Ptr distinct, I64 hash) -> ()`: adds to the hashes of a group's values, {Ptr} at the address.
    DistinctAdd,
    /// `(Ptr into, Ptr from) -> ()`: adds other hashes; those are lost.
    DistinctMerge,
    /// `(Ptr distinct) -> I64`: about how many there are.
    DistinctCount,
    /// `(Ptr values, F64 fraction) -> I64`: the first integer at or behind the fraction, 0 if there is none; 22003.
    IntegerAt,
    /// `(Ptr values, F64 fraction) -> F64`: likewise.
    FloatAt,
    /// `(Ptr values, F64 fraction) -> F64`: what is at the fraction, between two values if need be.
    FloatAround,
    /// `(Ptr) -> Bool`: adds the row, the worker's last one of a recursion whose rows are distinct, or takes it back if there is
    /// one like it. True if it was added.
    AddRow(StateId),
    /// `() -> Bool`: takes one of the rows that the limit still admits.
    TakeLimit(StateId),
    /// `(Str old, Str new) -> Str`: the new text of an accumulator of the worker's group state, in memory that lives as
    /// long as the state: in the place of the old text, which came from here or is empty, if that has room.
    KeepStr(StateId),
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
            Self::Convert(conversion, ..) => matches!(
                conversion,
                Conversion::Widen | Conversion::Cut | Conversion::IntToFloat | Conversion::BoolToInt
            ),
            _ => true,
        }
    }
}

impl Callee {
    /// The function of pairs that the text form calls `name`.
    pub fn regression(name: &str) -> Option<Self> {
        AggregateFunction::named(name).map(Self::Regression)
    }

    /// The same of integers.
    pub fn regression_of_integers(name: &str) -> Option<Self> {
        AggregateFunction::named(name).map(Self::RegressionOfIntegers)
    }

    /// Whether it ends the query for no arguments, and changes nothing.
    pub fn never_fails(self) -> bool {
        match self {
            Self::Scalar(function) => function.definition().typed.is_some_and(Typed::is_total),
            Self::ExtractDate(field) => field.is_of_days(),
            Self::ExtractTimestamp(_) => true,
            _ => matches!(self, Self::Like(_) | Self::InSet(..) | Self::DecimalToDouble),
        }
    }

    /// Argument and result types; none for `Site`, whose site says it, and for functions without typed form.
    pub fn signature(self) -> Option<(Vec<Ty>, Vec<Ty>)> {
        use Ty::*;
        let (args, result): (&[Ty], Option<Ty>) = match self {
            Self::Site(_) => return None,
            Self::Like(_) => (&[Str], Some(Bool)),
            Self::InSet(_, ty) => return Some((vec![ty], vec![Bool])),
            Self::MulI128 | Self::RemI128 => (&[I128, I128], Some(I128)),
            Self::DivDecimal | Self::MulRound => (&[I128, I128, I32], Some(I128)),
            Self::AddInterval => (&[Interval, Interval], Some(Interval)),
            Self::RescaleDown | Self::CheckPrecision => (&[I128, I32], Some(I128)),
            Self::DecimalToDouble => (&[I128, I32], Some(F64)),
            Self::Scalar(function) => match function.definition().typed {
                None | Some(Typed::Float(_)) => return None,
                Some(Typed::Number(_)) => (&[Str], Some(I64)),
                Some(Typed::NumberOfTexts(_)) => (&[Str, Str], Some(I64)),
                Some(Typed::Test(_)) => (&[Str, Str], Some(Bool)),
                Some(Typed::Text(..)) => (&[Str], Some(Str)),
                Some(Typed::TextOfTexts(_)) => (&[Str, Str, Str], Some(Str)),
                Some(Typed::TextOfFour(_)) => (&[Str, Str, Str, Str], Some(Str)),
                Some(Typed::PartByText(_)) => (&[Str, Str], Some(Str)),
                Some(Typed::PartByNumber(_)) => (&[Str, I64], Some(Str)),
                Some(Typed::PartByTextAndNumber(_)) => (&[Str, Str, I64], Some(Str)),
                Some(Typed::FoundByText(_)) => return Some((vec![Str, Str], vec![Str, Bool])),
                Some(Typed::FoundByNumber(_)) => return Some((vec![Str, I64], vec![Str, Bool])),
            },
            Self::Substring => (&[Str, I64, I64], Some(Str)),
            Self::Concat(count) => return Some((vec![Str; count.into()], vec![Str])),
            Self::KeepStr(_) => (&[Str, Str], Some(Str)),
            Self::ExtractDate(_) => (&[I32], Some(I64)),
            Self::ExtractTimestamp(_) | Self::TruncateTimestamp(_) => (&[I64], Some(I64)),
            Self::TimestampAddInterval => (&[I64, Interval], Some(I64)),
            Self::MergeSums | Self::VarianceMerge | Self::MomentsMerge | Self::CollectMerge | Self::DistinctMerge => {
                (&[Ptr, Ptr], None)
            }
            Self::DistinctAdd => (&[Ptr, I64], None),
            Self::DistinctCount => (&[Ptr], Some(I64)),
            Self::RoundSum => (&[Ptr], Some(F64)),
            Self::Average => (&[Ptr, I64], Some(F64)),
            Self::VarianceAdd => (&[Ptr, F64], None),
            Self::VarianceAddInteger => (&[Ptr, I128], None),
            Self::Variance => (&[Ptr, Bool, I32], Some(F64)),
            Self::MomentsAdd => (&[Ptr, F64, F64], None),
            Self::Regression(_) => return Some((vec![Ptr], vec![F64, Bool])),
            Self::RegressionOfIntegers(_) => {
                return Some((vec![I64, I128, I128, I128, I128, I128], vec![F64, Bool]));
            }
            Self::CollectInteger => (&[Ptr, I64], None),
            Self::CollectFloat => (&[Ptr, F64], None),
            Self::IntegerAt => (&[Ptr, F64], Some(I64)),
            Self::FloatAt | Self::FloatAround => (&[Ptr, F64], Some(F64)),
            Self::TakeLimit(_) => (&[], Some(Bool)),
            Self::AddRow(_) => (&[Ptr], Some(Bool)),
        };
        Some((args.to_vec(), result.into_iter().collect()))
    }
}

/// A function of two rows, for the finalisation of breakers.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Function {
    /// The two rows, Ptr.
    pub rows: [Var; 2],
    /// `Let`, `Call`, `Store`, `AddToSum`, `If` and `Raise`.
    pub body: Block,
    /// Bool, if the function answers a question.
    pub result: Option<Var>,
    /// Types of all its values.
    pub vars: base::IdMap<Var, Ty>,
}
