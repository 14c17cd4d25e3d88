//! What generated code calls, and with what.

use functions::{AggregateFunction, ScalarFunction, Typed};
use types::ops::cast::ShortForm;
use types::ops::date::Field;

use super::{ParamId, SiteId, StateId, Ty};

/// What generated code may call. Each has a fixed signature; see [`Callee::signature`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callee {
    /// Any scalar function, cast or pattern match of SQL through boxed values, as the site describes: the arguments of
    /// the site's types, then a value of its result type and a Bool: it is NULL.
    Site(SiteId),
    /// `(Str) -> I64`: how many elements a list has whose elements are of the site's result type.
    ElementCount(SiteId),
    /// `(Str, I64 at) -> (x, Bool, I64 next)`: the element that begins at a byte of such a list, whether it is NULL, and where
    /// the next one begins.
    Element(SiteId, Ty),
    /// `(Str, I64 at) -> (x, Bool)`: the element of a number of such a list, counted from 1, and whether it is NULL or there is none.
    Subscript(SiteId, Ty),
    /// A scalar function of lists whose elements are of the site's result type ([`functions::Typed::is_of_lists`]): lists, or a list and
    /// two numbers, then a value of the layout and a Bool: it is NULL.
    OfLists(SiteId, ScalarFunction, Ty),
    /// `(Str, I64 number) -> I64`: the byte at which a field begins of a struct, of which the site's result type is.
    FieldStart(SiteId),
    /// `() -> ()`: begins a list of the worker, within the one that it has begun before.
    ListBegin,
    /// `(x, Bool) -> ()`: adds an element of the site's result type, or NULL, to the list that was begun last.
    ListPush(SiteId, Ty),
    /// `() -> Str`: the list that was begun last.
    ListEnd,
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
    /// `(F64) -> I128`: a decimal of a precision and a scale, by its first 15 digits; 22003.
    DoubleToDecimal(u8, u8),
    /// A scalar function that has a typed form ([`functions::Typed`]), which says its signature.
    Scalar(ScalarFunction),
    /// `(I64 from, I64 to) -> I64`: how often the field changes between two timestamps; 22008, 22003.
    DateDiff(Field),
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
    /// `(I64) -> (Str, Bool)`: the text of an integer, of a decimal's units or a date's days, and whether it is one: texts longer
    /// than a header are not made.
    ShortText(ShortForm),
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
    /// `(Ptr entries, I64 ...) -> ()`: adds an entry of so many words to those of a group, {Ptr, Ptr, Ptr, Ptr} at the address.
    CollectWords(u8),
    /// `(Ptr entries, I64 most, I64 ...) -> ()`: likewise, of which no more than the first few are needed.
    CollectFirst(u8),
    /// `(Ptr entries, I64 most, I64 ..., Str) -> ()`: both.
    CollectFirstText {
        /// So many.
        words: u8,
        /// Of entries with equal words the greatest text comes first.
        backwards: bool,
    },
    /// `(Ptr entries, I64 ..., Str) -> ()`: likewise, of so many words and a text, which is copied.
    CollectText(u8),
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
    /// `(F64) -> I64`: a number in whose order doubles are.
    FloatWord,
    /// `(Ptr values) -> I64`: the integer that most are, the least of several; 0 if there is none.
    MostFrequentInteger,
    /// `(Ptr values) -> F64`: likewise.
    MostFrequentFloat,
    /// `(Ptr entries, Str separator) -> Str`: the texts of entries that have so many words besides, in the order of the entries,
    /// each behind the separator but the first; entries with equal words come the least text first, or the greatest one. 54000.
    #[allow(missing_docs)]
    JoinTexts { words: u8, backwards: bool },
    /// `(Ptr entries) -> Str`: the list of entries of so many words, in their order: the last one is the element's, of the site's result
    /// type, and if `flagged` the one before says whether it is NULL; 54000.
    #[allow(missing_docs)]
    MakeList { elements: SiteId, words: u8, flagged: bool },
    /// `(I64, I64) -> I64`: of a recursion's row of these integers, or of one of them and 0: [`NEW`], [`SEEN`], or [`OUTSIDE`] of
    /// the state's domains.
    FirstSeen(StateId),
    /// `(Ptr) -> Bool`: adds the row, the worker's last one of a recursion whose rows are distinct, or takes it back if there is
    /// one like it. True if it was added.
    AddRow(StateId),
    /// `() -> Bool`: takes one of the rows that the limit still admits.
    TakeLimit(StateId),
    /// `(Str old, Str new) -> Str`: the new text of an accumulator of the worker's group state, in memory that lives as
    /// long as the state: in the place of the old text, which came from here or is empty, if that has room.
    KeepStr(StateId),
}

/// What [`Callee::FirstSeen`] says of a row that was seen before,
pub const SEEN: u64 = 0;
/// of one that is new, and is noted now,
pub const NEW: u64 = 1;
/// and of one of which only [`Callee::AddRow`] can tell.
pub const OUTSIDE: u64 = 2;

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
            Self::ExtractTimestamp(_) | Self::ShortText(_) => true,
            _ => matches!(self, Self::Like(_) | Self::InSet(..) | Self::DecimalToDouble | Self::FloatWord),
        }
    }

    /// Argument and result types; none for `Site`, whose site says it, and for functions without typed form.
    pub fn signature(self) -> Option<(Vec<Ty>, Vec<Ty>)> {
        use Ty::*;
        let (args, result): (&[Ty], Option<Ty>) = match self {
            Self::Site(_) => return None,
            Self::ElementCount(_) => (&[Str], Some(I64)),
            Self::Element(_, ty) => return Some((vec![Str, I64], vec![ty, Bool, I64])),
            Self::Subscript(_, ty) => return Some((vec![Str, I64], vec![ty, Bool])),
            Self::OfLists(_, function, ty) => {
                let arguments = match function.definition().typed {
                    Some(Typed::OfList(_)) => vec![Str],
                    Some(Typed::OfLists(_)) => vec![Str, Str],
                    Some(Typed::Part(_)) => vec![Str, I64, I64],
                    _ => return None,
                };
                return Some((arguments, vec![ty, Bool]));
            }
            Self::FieldStart(_) => (&[Str, I64], Some(I64)),
            Self::ListBegin => (&[], None),
            Self::ListPush(_, ty) => return Some((vec![ty, Bool], Vec::new())),
            Self::ListEnd => (&[], Some(Str)),
            Self::Like(_) => (&[Str], Some(Bool)),
            Self::InSet(_, ty) => return Some((vec![ty], vec![Bool])),
            Self::MulI128 | Self::RemI128 => (&[I128, I128], Some(I128)),
            Self::DivDecimal | Self::MulRound => (&[I128, I128, I32], Some(I128)),
            Self::AddInterval => (&[Interval, Interval], Some(Interval)),
            Self::RescaleDown | Self::CheckPrecision => (&[I128, I32], Some(I128)),
            Self::DecimalToDouble => (&[I128, I32], Some(F64)),
            Self::DoubleToDecimal(..) => (&[F64], Some(I128)),
            Self::Scalar(function) => match function.definition().typed {
                None | Some(Typed::Float(_)) => return None,
                Some(Typed::Double(..)) => (&[F64], Some(F64)),
                Some(Typed::DoubleOfTwo(..)) => (&[F64, F64], Some(F64)),
                Some(Typed::Drawn(_)) => (&[], Some(F64)),
                Some(Typed::DaysOfNumbers(_)) => (&[I64, I64, I64], Some(I32)),
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
                Some(Typed::OfList(_) | Typed::OfLists(_) | Typed::Part(_)) => return None,
            },
            Self::DateDiff(_) => (&[I64, I64], Some(I64)),
            Self::Substring => (&[Str, I64, I64], Some(Str)),
            Self::Concat(count) => return Some((vec![Str; count.into()], vec![Str])),
            Self::KeepStr(_) => (&[Str, Str], Some(Str)),
            Self::ExtractDate(_) => (&[I32], Some(I64)),
            Self::ExtractTimestamp(_) | Self::TruncateTimestamp(_) => (&[I64], Some(I64)),
            Self::ShortText(_) => return Some((vec![I64], vec![Str, Bool])),
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
            Self::CollectWords(words) => return Some((entry(words, &[]), Vec::new())),
            Self::CollectFirst(words) => return Some((entry(words + 1, &[]), Vec::new())),
            Self::CollectFirstText { words, .. } => return Some((entry(words + 1, &[Str]), Vec::new())),
            Self::CollectText(words) => return Some((entry(words, &[Str]), Vec::new())),
            Self::FloatWord => (&[F64], Some(I64)),
            Self::MostFrequentInteger => (&[Ptr], Some(I64)),
            Self::MostFrequentFloat => (&[Ptr], Some(F64)),
            Self::JoinTexts { .. } => (&[Ptr, Str], Some(Str)),
            Self::MakeList { .. } => (&[Ptr], Some(Str)),
            Self::IntegerAt => (&[Ptr, F64], Some(I64)),
            Self::FloatAt | Self::FloatAround => (&[Ptr, F64], Some(F64)),
            Self::TakeLimit(_) => (&[], Some(Bool)),
            Self::FirstSeen(_) => (&[I64, I64], Some(I64)),
            Self::AddRow(_) => (&[Ptr], Some(Bool)),
        };
        Some((args.to_vec(), result.into_iter().collect()))
    }
}

/// Where entries lie, words, and what comes behind them.
fn entry(words: u8, behind: &[Ty]) -> Vec<Ty> {
    let words = std::iter::repeat_n(Ty::I64, words.into());
    [Ty::Ptr].into_iter().chain(words).chain(behind.iter().copied()).collect()
}
