//! The table of scalar functions. The grammar's own forms (`coalesce`, `extract(... from ...)`, `position(... in ...)`,
//! `greatest`, `concat`, `current_date`, ...) are the binder's.

use types::SqlType;

use super::resolve::Parameter::{self, *};
use super::{Overload, ResultType, ScalarDefinition, ScalarFunction as F};

const fn over(function: F, parameters: &'static [Parameter], result: SqlType) -> Overload {
    Overload { function, parameters, defaults: &[], result: ResultType::Fixed(result) }
}
const fn first(function: F, parameters: &'static [Parameter]) -> Overload {
    Overload { function, parameters, defaults: &[], result: ResultType::First }
}
const fn rule(
    function: F,
    parameters: &'static [Parameter],
    rule: fn(&[SqlType], &[Option<i64>]) -> SqlType,
) -> Overload {
    Overload { function, parameters, defaults: &[], result: ResultType::Rule(rule) }
}
const fn text(function: F, parameters: &'static [Parameter]) -> Overload {
    over(function, parameters, SqlType::Text)
}
const fn with_default(function: F, parameters: &'static [Parameter], defaults: &'static [&'static str]) -> Overload {
    Overload { function, parameters, defaults, result: ResultType::Fixed(SqlType::Text) }
}
const fn define(
    names: &'static [&'static str],
    overloads: &'static [Overload],
    documentation: &'static str,
    example: (&'static str, &'static str),
) -> ScalarDefinition {
    ScalarDefinition { names, overloads, documentation, example }
}

macro_rules! double_function {
    ($names:expr, $function:ident, $documentation:literal, $example:expr) => {
        define($names, &[over(F::$function, &[Double], SqlType::Double)], $documentation, $example)
    };
}

/// Digits before the point may grow by one when a decimal is rounded.
fn rounded(arguments: &[SqlType], constants: &[Option<i64>]) -> SqlType {
    let Some((precision, scale)) = arguments[0].as_decimal() else { return arguments[0] };
    let digits = match (arguments.len(), constants.get(1)) {
        (1, _) => 0,
        (_, Some(&Some(digits))) => digits.clamp(0, scale.into()) as u8,
        _ => scale,
    };
    SqlType::decimal((precision - scale + digits + 1).min(SqlType::MAX_PRECISION), digits)
}
fn whole(arguments: &[SqlType], _: &[Option<i64>]) -> SqlType {
    rounded(&arguments[..1], &[])
}

/// Every scalar function that is called by name.
pub const SCALARS: &[ScalarDefinition] = &[
    // Numbers
    define(
        &["abs"],
        &[
            first(F::Abs, &[SmallInt]),
            first(F::Abs, &[Integer]),
            first(F::Abs, &[BigInt]),
            first(F::Abs, &[Decimal]),
            first(F::Abs, &[Real]),
            first(F::Abs, &[Double]),
        ],
        "The value without its sign.",
        ("abs(-17.4)", "17.4"),
    ),
    define(
        &["sign"],
        &[over(F::Sign, &[Double], SqlType::Double), rule(F::Sign, &[Decimal], |_, _| SqlType::decimal(1, 0))],
        "-1, 0 or 1 as the number is negative, zero or positive.",
        ("sign(-8.4)", "-1"),
    ),
    define(
        &["round"],
        &[
            over(F::Round, &[Double], SqlType::Double),
            rule(F::Round, &[Decimal], rounded),
            rule(F::Round, &[Decimal, Integer], rounded),
            over(F::Round, &[Double, Integer], SqlType::Double),
        ],
        "Rounds to the nearest integer, or to so many digits after the point; halves away from zero for decimals.",
        ("round(42.4382, 2)", "42.44"),
    ),
    define(
        &["trunc"],
        &[
            over(F::Trunc, &[Double], SqlType::Double),
            rule(F::Trunc, &[Decimal], whole),
            rule(F::Trunc, &[Decimal, Integer], rounded),
            over(F::Trunc, &[Double, Integer], SqlType::Double),
        ],
        "Cuts digits off, towards zero.",
        ("trunc(-42.8)", "-42"),
    ),
    define(
        &["ceil", "ceiling"],
        &[over(F::Ceil, &[Double], SqlType::Double), rule(F::Ceil, &[Decimal], whole)],
        "The least integer that is not below the argument.",
        ("ceil(42.2)", "43"),
    ),
    define(
        &["floor"],
        &[over(F::Floor, &[Double], SqlType::Double), rule(F::Floor, &[Decimal], whole)],
        "The greatest integer that is not above the argument.",
        ("floor(-42.8)", "-43"),
    ),
    double_function!(&["sqrt"], Sqrt, "Square root.", ("sqrt(2)", "1.4142135623730951")),
    double_function!(&["cbrt"], Cbrt, "Cube root.", ("cbrt(27)", "3")),
    double_function!(&["exp"], Exp, "e raised to the argument.", ("exp(1)", "2.718281828459045")),
    double_function!(&["ln"], Ln, "Natural logarithm.", ("ln(2)", "0.6931471805599453")),
    double_function!(&["log10"], Log10, "Logarithm to base 10.", ("log10(1000)", "3")),
    define(
        &["log"],
        &[over(F::Log10, &[Double], SqlType::Double), over(F::Log, &[Double, Double], SqlType::Double)],
        "Logarithm to base 10, or of the second argument to the base of the first.",
        ("log(2, 64)", "6"),
    ),
    define(
        &["power", "pow"],
        &[over(F::Power, &[Double, Double], SqlType::Double)],
        "The first argument raised to the second.",
        ("power(9, 3)", "729"),
    ),
    define(
        &["mod"],
        &[
            first(F::Modulo, &[SmallInt, SmallInt]),
            first(F::Modulo, &[Integer, Integer]),
            first(F::Modulo, &[BigInt, BigInt]),
        ],
        "Remainder of a division, with the sign of the dividend.",
        ("mod(9, 4)", "1"),
    ),
    define(&["pi"], &[over(F::Pi, &[], SqlType::Double)], "The constant pi.", ("pi()", "3.141592653589793")),
    double_function!(&["sin"], Sin, "Sine of an angle in radians.", ("sin(0)", "0")),
    double_function!(&["cos"], Cos, "Cosine of an angle in radians.", ("cos(0)", "1")),
    double_function!(&["tan"], Tan, "Tangent of an angle in radians.", ("tan(0)", "0")),
    double_function!(&["asin"], Asin, "Inverse sine, in radians.", ("asin(1)", "1.5707963267948966")),
    double_function!(&["acos"], Acos, "Inverse cosine, in radians.", ("acos(1)", "0")),
    double_function!(&["atan"], Atan, "Inverse tangent, in radians.", ("atan(0)", "0")),
    define(
        &["atan2"],
        &[over(F::Atan2, &[Double, Double], SqlType::Double)],
        "Inverse tangent of the quotient, in radians.",
        ("atan2(1, 0)", "1.5707963267948966"),
    ),
    double_function!(&["degrees"], Degrees, "Radians as degrees.", ("degrees(pi())", "180")),
    double_function!(&["radians"], Radians, "Degrees as radians.", ("radians(180)", "3.141592653589793")),
    define(
        &["gcd"],
        &[first(F::Gcd, &[Integer, Integer]), first(F::Gcd, &[BigInt, BigInt])],
        "Greatest common divisor.",
        ("gcd(1071, 462)", "21"),
    ),
    define(
        &["lcm"],
        &[first(F::Lcm, &[Integer, Integer]), first(F::Lcm, &[BigInt, BigInt])],
        "Least common multiple.",
        ("lcm(4, 6)", "12"),
    ),
    define(
        &["random"],
        &[over(F::Random, &[], SqlType::Double)],
        "A random double, at least 0 and below 1.",
        ("random()", "0.7403"),
    ),
    // Strings
    define(
        &["length", "char_length", "character_length", "len"],
        &[over(F::Length, &[Text], SqlType::Integer)],
        "Number of characters.",
        ("length('jose')", "4"),
    ),
    define(
        &["octet_length", "strlen"],
        &[over(F::OctetLength, &[Text], SqlType::Integer)],
        "Number of bytes.",
        ("octet_length('josé')", "5"),
    ),
    define(&["lower", "lcase"], &[text(F::Lower, &[Text])], "In lower case.", ("lower('TOM')", "tom")),
    define(&["upper", "ucase"], &[text(F::Upper, &[Text])], "In upper case.", ("upper('tom')", "TOM")),
    define(
        &["initcap"],
        &[text(F::Initcap, &[Text])],
        "Each word with a capital first letter.",
        ("initcap('hi THOMAS')", "Hi Thomas"),
    ),
    define(
        &["btrim", "trim"],
        &[with_default(F::TrimBoth, &[Text], &[" "]), text(F::TrimBoth, &[Text, Text])],
        "Without blanks, or the characters of the second argument, at both ends.",
        ("btrim('xyxtrimyyx', 'xyz')", "trim"),
    ),
    define(
        &["ltrim"],
        &[with_default(F::TrimLeading, &[Text], &[" "]), text(F::TrimLeading, &[Text, Text])],
        "Without blanks, or the characters of the second argument, at the start.",
        ("ltrim('zzzytest', 'xyz')", "test"),
    ),
    define(
        &["rtrim"],
        &[with_default(F::TrimTrailing, &[Text], &[" "]), text(F::TrimTrailing, &[Text, Text])],
        "Without blanks, or the characters of the second argument, at the end.",
        ("rtrim('testxxzx', 'xyz')", "test"),
    ),
    define(
        &["lpad"],
        &[with_default(F::Lpad, &[Text, Integer], &[" "]), text(F::Lpad, &[Text, Integer, Text])],
        "Filled up at the start, or cut, to so many characters.",
        ("lpad('hi', 5, 'xy')", "xyxhi"),
    ),
    define(
        &["rpad"],
        &[with_default(F::Rpad, &[Text, Integer], &[" "]), text(F::Rpad, &[Text, Integer, Text])],
        "Filled up at the end, or cut, to so many characters.",
        ("rpad('hi', 5, 'xy')", "hixyx"),
    ),
    define(
        &["left"],
        &[text(F::Left, &[Text, Integer])],
        "The first n characters; all but the last |n| if n is negative.",
        ("left('abcde', 2)", "ab"),
    ),
    define(
        &["right"],
        &[text(F::Right, &[Text, Integer])],
        "The last n characters; all but the first |n| if n is negative.",
        ("right('abcde', 2)", "de"),
    ),
    define(
        &["substring", "substr"],
        &[text(F::Substring, &[Text, Integer]), text(F::Substring, &[Text, Integer, Integer])],
        "From a position, counted from 1, to the end or for so many characters.",
        ("substring('Thomas', 2, 3)", "hom"),
    ),
    define(
        &["strpos", "instr"],
        &[over(F::Position, &[Text, Text], SqlType::Integer)],
        "Where the second argument first occurs in the first, counted from 1; 0 if nowhere.",
        ("strpos('high', 'ig')", "2"),
    ),
    define(
        &["replace"],
        &[text(F::Replace, &[Text, Text, Text])],
        "Every occurrence of the second argument replaced by the third.",
        ("replace('abcdefabcdef', 'cd', 'XX')", "abXXefabXXef"),
    ),
    define(&["repeat"], &[text(F::Repeat, &[Text, Integer])], "Repeated so often.", ("repeat('Pg', 4)", "PgPgPgPg")),
    define(
        &["reverse"],
        &[text(F::Reverse, &[Text])],
        "From the last character to the first.",
        ("reverse('abc')", "cba"),
    ),
    define(
        &["split_part"],
        &[text(F::SplitPart, &[Text, Text, Integer])],
        "The n-th field of a text split at a delimiter; from the end if n is negative.",
        ("split_part('abc~@~def~@~ghi', '~@~', 2)", "def"),
    ),
    define(
        &["translate"],
        &[text(F::Translate, &[Text, Text, Text])],
        "Each character of the second argument replaced by the one at its place in the third.",
        ("translate('12345', '143', 'ax')", "a2x5"),
    ),
    define(
        &["starts_with"],
        &[over(F::StartsWith, &[Text, Text], SqlType::Bool)],
        "Whether the text begins with the second argument.",
        ("starts_with('alphabet', 'alph')", "true"),
    ),
    define(
        &["ends_with"],
        &[over(F::EndsWith, &[Text, Text], SqlType::Bool)],
        "Whether the text ends with the second argument.",
        ("ends_with('alphabet', 'bet')", "true"),
    ),
    define(
        &["contains"],
        &[over(F::Contains, &[Text, Text], SqlType::Bool)],
        "Whether the second argument occurs in the text.",
        ("contains('alphabet', 'hab')", "true"),
    ),
    define(
        &["ascii"],
        &[over(F::Ascii, &[Text], SqlType::Integer)],
        "Code point of the first character.",
        ("ascii('x')", "120"),
    ),
    define(&["chr"], &[text(F::Chr, &[Integer])], "The character with that code point.", ("chr(65)", "A")),
    define(
        &["to_hex"],
        &[text(F::ToHex, &[Integer]), text(F::ToHex, &[BigInt])],
        "Hexadecimal digits of an integer.",
        ("to_hex(255)", "ff"),
    ),
    // Dates
    define(
        &["date_part"],
        &[
            over(F::Extract, &[Text, Timestamp], SqlType::BigInt),
            over(F::Extract, &[Text, Date], SqlType::BigInt),
            over(F::Extract, &[Text, Interval], SqlType::BigInt),
        ],
        "A field of a date, timestamp or interval, as `extract` gives it (bigint; decimal(20,6) for second and epoch).",
        ("date_part('year', date '1998-09-02')", "1998"),
    ),
    define(
        &["date_trunc", "datetrunc"],
        &[
            over(F::DateTrunc, &[Text, Timestamp], SqlType::Timestamp),
            over(F::DateTrunc, &[Text, Date], SqlType::Timestamp),
        ],
        "The timestamp with all fields below the named one reset.",
        ("date_trunc('month', date '1998-09-02')", "1998-09-01 00:00:00"),
    ),
    define(
        &["make_date"],
        &[over(F::MakeDate, &[Integer, Integer, Integer], SqlType::Date)],
        "The date of year, month and day.",
        ("make_date(2013, 7, 15)", "2013-07-15"),
    ),
    define(
        &["age"],
        &[over(F::Age, &[Timestamp, Timestamp], SqlType::Interval)],
        "The difference in years, months, days and time.",
        ("age(timestamp '2001-04-10', timestamp '1957-06-13')", "43 years 9 mons 27 days"),
    ),
    define(
        &["to_char"],
        &[text(F::ToChar, &[Timestamp, Text]), text(F::ToChar, &[Date, Text])],
        "A date or timestamp in the form of a pattern.",
        ("to_char(date '1998-09-02', 'YYYY-MM')", "1998-09"),
    ),
];
