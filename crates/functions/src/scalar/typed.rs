//! What generated code uses of a function instead of its evaluation over values.

use base::Result;
use types::ops::array::Found;
use types::ops::json::Part;
use types::ops::number::many::{OfOne, OfTwo};
use types::{SqlType, Str};

/// A strict function over values as they are. Its arguments and its result are those of all its overloads; a number may
/// be of a narrower type than the function's.
#[derive(Clone, Copy, Debug)]
pub enum Typed {
    /// Of a double: machine code. Overloads of other types have none.
    Float(FloatFunction),
    /// A double of a double, and doubles of many. Overloads of other types have none, here and below.
    Double(fn(f64) -> Result<f64>, OfOne),
    /// A double of two doubles, and doubles of many.
    DoubleOfTwo(fn(f64, f64) -> Result<f64>, OfTwo),
    /// A double of nothing, another one each time.
    Drawn(fn() -> f64),
    /// A date, as its days, of three numbers.
    DaysOfNumbers(fn(i64, i64, i64) -> Result<i32>),
    /// A number of a text.
    Number(fn(&str) -> i64),
    /// A number of two texts.
    NumberOfTexts(fn(&str, &str) -> i64),
    /// Whether something holds for two texts.
    Test(fn(&str, &str) -> bool),
    /// A text: of short ones in registers, where that can be; or written into the string, which is empty; or the argument
    /// itself, if that returns false.
    Text(fn(Str) -> Option<Str>, fn(&str, &mut String) -> Result<bool>),
    /// A text of three, or the first itself, likewise.
    TextOfTexts(fn(&str, &str, &str, &mut String) -> Result<bool>),
    /// A text of four, in calls with four arguments; others have none.
    TextOfFour(fn(&str, &str, &str, &str, &mut String) -> Result<bool>),
    /// A part of the first text, by another one.
    PartByText(for<'a> fn(&'a str, &str) -> &'a str),
    /// A part of a text, by a number.
    PartByNumber(for<'a> fn(&'a str, i64) -> &'a str),
    /// A part of the first text, by another one and a number.
    PartByTextAndNumber(for<'a> fn(&'a str, &str, i64) -> Result<&'a str>),
    /// What a text and another one lead to: a part of the first, NULL, or what is written into the string, which is empty.
    FoundByText(for<'a> fn(&'a str, &str, &mut String) -> Result<Part<'a>>),
    /// What a text and a number lead to, likewise.
    FoundByNumber(for<'a> fn(&'a str, i64, &mut String) -> Result<Part<'a>>),
    /// What is found in a list whose elements have a type, or is NULL.
    OfList(for<'a> fn(&'a str, SqlType) -> Result<Found<'a>>),
    /// What is found of two such lists, in calls with two arguments; an element is passed as the list of it alone.
    OfLists(for<'a> fn(&'a str, &'a str, SqlType) -> Result<Found<'a>>),
    /// The part of a list from one number to another, in calls with three arguments.
    Part(for<'a> fn(&'a str, SqlType, Option<i64>, Option<i64>) -> &'a str),
}

impl Typed {
    /// Whether it fails for no arguments.
    pub fn is_total(self) -> bool {
        match self {
            Self::Float(_) | Self::Number(_) | Self::NumberOfTexts(_) | Self::Test(_) => true,
            Self::PartByText(_) | Self::PartByNumber(_) | Self::Drawn(_) => true,
            Self::Text(..) | Self::TextOfTexts(_) | Self::TextOfFour(_) | Self::PartByTextAndNumber(_) => false,
            Self::FoundByText(_) | Self::FoundByNumber(_) | Self::OfList(_) | Self::OfLists(_) => false,
            Self::Part(_) => true,
            Self::Double(..) | Self::DoubleOfTwo(..) | Self::DaysOfNumbers(_) => false,
        }
    }

    /// Whether it is of arguments of these types.
    pub fn is_of(self, arguments: &[SqlType]) -> bool {
        match self {
            Self::Double(..) => arguments == [SqlType::Double],
            Self::DoubleOfTwo(..) => arguments == [SqlType::Double; 2],
            Self::DaysOfNumbers(_) => arguments == [SqlType::BigInt; 3],
            Self::TextOfFour(_) => matches!(arguments, [_, _, _, flags] if flags.is_string()),
            Self::Text(..) => matches!(arguments, [text] if text.is_string()),
            // Numbers of any length are not read where they lie.
            Self::OfList(_) => matches!(arguments, [list] if list.element().is_some_and(|e| !e.is_long_numeric())),
            Self::OfLists(_) => matches!(arguments, [list, _] if list.element().is_some_and(|e| !e.is_long_numeric())),
            Self::Part(_) => arguments.len() == 3,
            _ => true,
        }
    }

    /// Whether a call gives besides its value whether that is NULL.
    pub fn says_null(self) -> bool {
        matches!(self, Self::FoundByText(_) | Self::FoundByNumber(_))
    }

    /// Whether it is told the type of a list's elements.
    pub fn is_of_lists(self) -> bool {
        matches!(self, Self::OfList(_) | Self::OfLists(_) | Self::Part(_))
    }
}

/// Functions of one float, as IEEE 754 has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatFunction {
    /// Square root; NaN of negative numbers.
    Sqrt,
    /// Without its sign.
    Abs,
    /// To the integer below.
    Floor,
    /// To the integer above.
    Ceil,
    /// To the integer towards zero.
    Trunc,
    /// To the nearest integer, halves to the even one.
    Nearest,
}

impl FloatFunction {
    /// All.
    pub const ALL: [Self; 6] = [Self::Sqrt, Self::Abs, Self::Floor, Self::Ceil, Self::Trunc, Self::Nearest];
}
