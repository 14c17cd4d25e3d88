//! Functions of texts. Positions and lengths count characters.

use types::ops::{bytes, cast, string};
use types::{SqlType, Value};

use super::{Scalar, Typed, first, over, text, with_default};
use crate::Parameter::{Array, Bytea, Integer, Text};

pub(super) const ROWS: &[Scalar] = &[
    Scalar::new(
        "length",
        &["length", "char_length", "character_length", "len"],
        &[over(&[Text], SqlType::Integer), over(&[Bytea], SqlType::Integer)],
        |c| Ok(Value::Int(string::length(c.text(0)?))),
        "Number of characters.",
        ("length('jose')", "4"),
    )
    .typed(Typed::Number(string::length)),
    // Of the cast of a text, by which code that is compiled asks first.
    Scalar::new(
        "plain_integer",
        &[],
        &[],
        |c| Ok(Value::Int(cast::plain_integer(c.text(0)?.as_bytes()))),
        "The number that digits are; the least one of other texts.",
        ("'12'::integer", "12"),
    )
    .typed(Typed::Number(|text| cast::plain_integer(text.as_bytes()))),
    Scalar::new(
        "octet_length",
        &["octet_length", "strlen"],
        &[over(&[Text], SqlType::Integer)],
        |c| Ok(Value::Int(string::octet_length(c.text(0)?))),
        "Number of bytes.",
        ("octet_length('josé')", "5"),
    )
    .typed(Typed::Number(string::octet_length)),
    Scalar::new(
        "bit_length",
        &["bit_length"],
        &[over(&[Text], SqlType::Integer)],
        |c| Ok(Value::Int(string::bit_length(c.text(0)?))),
        "Number of bits: eight for each byte.",
        ("bit_length('jose')", "32"),
    )
    .typed(Typed::Number(string::bit_length)),
    Scalar::new(
        "lower",
        &["lower", "lcase"],
        &[text(&[Text])],
        |c| Ok(Value::str(&*string::lower(c.text(0)?)?)),
        "In lower case.",
        ("lower('TOM')", "tom"),
    )
    .typed(Typed::Text(string::lower_short, string::lower_to)),
    Scalar::new(
        "upper",
        &["upper", "ucase"],
        &[text(&[Text])],
        |c| Ok(Value::str(&*string::upper(c.text(0)?)?)),
        "In upper case.",
        ("upper('tom')", "TOM"),
    )
    .typed(Typed::Text(string::upper_short, string::upper_to)),
    Scalar::new(
        "initcap",
        &["initcap"],
        &[text(&[Text])],
        |c| Ok(Value::str(string::initcap(c.text(0)?)?)),
        "Each word with a capital first letter.",
        ("initcap('hi THOMAS')", "Hi Thomas"),
    ),
    Scalar::new(
        "trim_both",
        &["btrim", "trim"],
        &[with_default(&[Text], &[" "]), text(&[Text, Text]), first(&[Bytea, Bytea])],
        |c| Ok(Value::str(string::trim(c.text(0)?, c.text_or(1, " ")?))),
        "Without blanks, or the characters of the second argument, at both ends.",
        ("btrim('xyxtrimyyx', 'xyz')", "trim"),
    )
    .typed(Typed::PartByText(string::trim)),
    Scalar::new(
        "trim_leading",
        &["ltrim"],
        &[with_default(&[Text], &[" "]), text(&[Text, Text]), first(&[Bytea, Bytea])],
        |c| Ok(Value::str(string::ltrim(c.text(0)?, c.text_or(1, " ")?))),
        "Without blanks, or the characters of the second argument, at the start.",
        ("ltrim('zzzytest', 'xyz')", "test"),
    )
    .typed(Typed::PartByText(string::ltrim)),
    Scalar::new(
        "trim_trailing",
        &["rtrim"],
        &[with_default(&[Text], &[" "]), text(&[Text, Text]), first(&[Bytea, Bytea])],
        |c| Ok(Value::str(string::rtrim(c.text(0)?, c.text_or(1, " ")?))),
        "Without blanks, or the characters of the second argument, at the end.",
        ("rtrim('testxxzx', 'xyz')", "test"),
    )
    .typed(Typed::PartByText(string::rtrim)),
    Scalar::new(
        "lpad",
        &["lpad"],
        &[with_default(&[Text, Integer], &[" "]), text(&[Text, Integer, Text])],
        |c| Ok(Value::str(&*string::lpad(c.text(0)?, c.int(1)?, c.text_or(2, " ")?)?)),
        "Filled up at the start, or cut, to so many characters.",
        ("lpad('hi', 5, 'xy')", "xyxhi"),
    ),
    Scalar::new(
        "rpad",
        &["rpad"],
        &[with_default(&[Text, Integer], &[" "]), text(&[Text, Integer, Text])],
        |c| Ok(Value::str(&*string::rpad(c.text(0)?, c.int(1)?, c.text_or(2, " ")?)?)),
        "Filled up at the end, or cut, to so many characters.",
        ("rpad('hi', 5, 'xy')", "hixyx"),
    ),
    Scalar::new(
        "left",
        &["left"],
        &[text(&[Text, Integer])],
        |c| Ok(Value::str(string::left(c.text(0)?, c.int(1)?))),
        "The first n characters; all but the last |n| if n is negative.",
        ("left('abcde', 2)", "ab"),
    )
    .typed(Typed::PartByNumber(string::left)),
    Scalar::new(
        "right",
        &["right"],
        &[text(&[Text, Integer])],
        |c| Ok(Value::str(string::right(c.text(0)?, c.int(1)?))),
        "The last n characters; all but the first |n| if n is negative.",
        ("right('abcde', 2)", "de"),
    )
    .typed(Typed::PartByNumber(string::right)),
    Scalar::new(
        "substring",
        &["substring", "substr"],
        &[
            text(&[Text, Integer]),
            text(&[Text, Integer, Integer]),
            first(&[Bytea, Integer]),
            first(&[Bytea, Integer, Integer]),
        ],
        |c| {
            let count = if c.len() > 2 { Some(c.int(2)?) } else { None };
            Ok(Value::str(string::substring(c.text(0)?, c.int(1)?, count)?))
        },
        "From a position, counted from 1, to the end or for so many characters.",
        ("substring('Thomas', 2, 3)", "hom"),
    ),
    // The binder swaps the operands of `position(needle in haystack)`.
    Scalar::new(
        "position",
        &["strpos", "instr"],
        &[over(&[Text, Text], SqlType::Integer), over(&[Bytea, Bytea], SqlType::Integer)],
        |c| Ok(Value::Int(string::position(c.text(0)?, c.text(1)?))),
        "Where the second argument first occurs in the first, counted from 1; 0 if nowhere.",
        ("strpos('high', 'ig')", "2"),
    )
    .typed(Typed::NumberOfTexts(string::position)),
    Scalar::new(
        "replace",
        &["replace"],
        &[text(&[Text, Text, Text])],
        |c| Ok(Value::str(&*string::replace(c.text(0)?, c.text(1)?, c.text(2)?)?)),
        "Every occurrence of the second argument replaced by the third.",
        ("replace('abcdefabcdef', 'cd', 'XX')", "abXXefabXXef"),
    )
    .typed(Typed::TextOfTexts(string::replace_to)),
    Scalar::new(
        "overlay",
        &["overlay"],
        &[
            text(&[Text, Text, Integer]),
            text(&[Text, Text, Integer, Integer]),
            first(&[Bytea, Bytea, Integer]),
            first(&[Bytea, Bytea, Integer, Integer]),
        ],
        |c| {
            let count = if c.len() > 3 { Some(c.int(3)?) } else { None };
            Ok(Value::str(string::overlay(c.text(0)?, c.text(1)?, c.int(2)?, count)?))
        },
        "The characters from a position on, as many as given or as the second argument has, replaced by it.",
        ("overlay('Txxxxas' placing 'hom' from 2 for 4)", "Thomas"),
    ),
    Scalar::new(
        "repeat",
        &["repeat"],
        &[text(&[Text, Integer]), first(&[Array, Integer])],
        // The form of an array is a text whose repetition is that of the array.
        |c| Ok(Value::str(string::repeat(c.text(0)?, c.int(1)?)?)),
        "Repeated so often.",
        ("repeat('Pg', 4)", "PgPgPgPg"),
    ),
    Scalar::new(
        "reverse",
        &["reverse"],
        &[text(&[Text])],
        |c| Ok(Value::str(string::reverse(c.text(0)?)?)),
        "From the last character to the first.",
        ("reverse('abc')", "cba"),
    )
    .typed(Typed::Text(|_| None, string::reverse_to)),
    Scalar::new(
        "split_part",
        &["split_part"],
        &[text(&[Text, Text, Integer])],
        |c| Ok(Value::str(string::split_part(c.text(0)?, c.text(1)?, c.int(2)?)?)),
        "The n-th field of a text split at a delimiter; from the end if n is negative.",
        ("split_part('abc~@~def~@~ghi', '~@~', 2)", "def"),
    )
    .typed(Typed::PartByTextAndNumber(string::split_part)),
    Scalar::new(
        "translate",
        &["translate"],
        &[text(&[Text, Text, Text])],
        |c| Ok(Value::str(string::translate(c.text(0)?, c.text(1)?, c.text(2)?)?)),
        "Each character of the second argument replaced by the one at its place in the third.",
        ("translate('12345', '143', 'ax')", "a2x5"),
    ),
    Scalar::new(
        "starts_with",
        &["starts_with"],
        &[over(&[Text, Text], SqlType::Bool)],
        |c| Ok(Value::Bool(string::starts_with(c.text(0)?, c.text(1)?))),
        "Whether the text begins with the second argument.",
        ("starts_with('alphabet', 'alph')", "true"),
    )
    .typed(Typed::Test(string::starts_with)),
    Scalar::new(
        "ends_with",
        &["ends_with"],
        &[over(&[Text, Text], SqlType::Bool)],
        |c| Ok(Value::Bool(string::ends_with(c.text(0)?, c.text(1)?))),
        "Whether the text ends with the second argument.",
        ("ends_with('alphabet', 'bet')", "true"),
    )
    .typed(Typed::Test(string::ends_with)),
    Scalar::new(
        "contains",
        &["contains"],
        &[over(&[Text, Text], SqlType::Bool)],
        |c| Ok(Value::Bool(string::contains(c.text(0)?, c.text(1)?))),
        "Whether the second argument occurs in the text.",
        ("contains('alphabet', 'hab')", "true"),
    )
    .typed(Typed::Test(string::contains)),
    Scalar::new(
        "ascii",
        &["ascii"],
        &[over(&[Text], SqlType::Integer)],
        |c| Ok(Value::Int(string::ascii(c.text(0)?).into())),
        "Code point of the first character.",
        ("ascii('x')", "120"),
    )
    .typed(Typed::Number(|text| string::ascii(text).into())),
    Scalar::new(
        "chr",
        &["chr"],
        &[text(&[Integer])],
        |c| Ok(Value::str(string::chr(c.int(0)?)?.to_string())),
        "The character with that code point.",
        ("chr(65)", "A"),
    ),
    Scalar::new(
        "md5",
        &["md5"],
        &[text(&[Text]), text(&[Bytea])],
        |c| match c.type_of(0) {
            SqlType::Bytea => Ok(Value::str(string::md5(bytes::bytes(c.text(0)?)))),
            _ => Ok(Value::str(string::md5(c.text(0)?))),
        },
        "MD5 checksum, 32 hexadecimal digits.",
        ("md5('abc')", "900150983cd24fb0d6963f7d28e17f72"),
    )
    .typed(Typed::Text(
        |_| None,
        |text, to| {
            string::md5_to(text, to);
            Ok(true)
        },
    )),
];
