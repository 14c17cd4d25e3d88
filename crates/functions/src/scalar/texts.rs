//! Texts in Unicode's forms, names and sizes in texts, and what prints them.

use base::{Error, Result, SqlState};
use types::ops::string::{self, Formatted};
use types::ops::{array, bytes, hash};
use types::{SqlType, Value};

use super::{Call, Scalar, first, over, rule, text, with_default};
use crate::Overload;
use crate::Parameter::{Any, BigInt, Bool, Decimal, Text};

const TEXTS: fn(&[SqlType], &[Option<i64>]) -> SqlType = |_, _| SqlType::array_of(SqlType::Text);

pub(super) const ROWS: &[Scalar] = &[
    Scalar::new(
        "normalize",
        &["normalize"],
        &[with_default(&[Text], &["NFC"]), text(&[Text, Text])],
        |c| Ok(Value::str(string::normalise(c.text(0)?, c.text_or(1, "NFC")?)?)),
        "A text in a form of Unicode: NFC, NFD, NFKC or NFKD.",
        ("normalize(U&'a\\0308', NFC) = 'ä'", "true"),
    ),
    Scalar::new(
        "is_normalized",
        &["is_normalized"],
        &[Overload { defaults: &["NFC"], ..over(&[Text], SqlType::Bool) }, over(&[Text, Text], SqlType::Bool)],
        |c| Ok(Value::Bool(string::is_normal(c.text(0)?, c.text_or(1, "NFC")?)?)),
        "Whether a text is in a form of Unicode.",
        ("is_normalized('ä', 'NFD')", "false"),
    ),
    Scalar::new(
        "strip_accents",
        &["strip_accents"],
        &[text(&[Text])],
        |c| Ok(Value::str(string::strip_accents(c.text(0)?)?)),
        "Letters without their accents.",
        ("strip_accents('mühleisen')", "muhleisen"),
    ),
    Scalar::new(
        "length_grapheme",
        &["length_grapheme"],
        &[over(&[Text], SqlType::BigInt)],
        |c| Ok(Value::Int(string::length_of_graphemes(c.text(0)?)?)),
        "Number of characters as readers see them: a letter with its marks is one.",
        ("length_grapheme('🤦🏼‍♂️🤦🏽‍♀️')", "2"),
    ),
    Scalar::new(
        "left_grapheme",
        &["left_grapheme"],
        &[text(&[Text, BigInt])],
        |c| Ok(Value::str(string::left_of_graphemes(c.text(0)?, c.int(1)?)?)),
        "The first characters as readers see them; all but the last |n| if n is negative.",
        ("left_grapheme('🤦🏼‍♂️🤦🏽‍♀️', 1)", "🤦🏼‍♂️"),
    ),
    Scalar::new(
        "right_grapheme",
        &["right_grapheme"],
        &[text(&[Text, BigInt])],
        |c| Ok(Value::str(string::right_of_graphemes(c.text(0)?, c.int(1)?)?)),
        "The last characters as readers see them; all but the first |n| if n is negative.",
        ("right_grapheme('🤦🏼‍♂️🤦🏽‍♀️', 1)", "🤦🏽‍♀️"),
    ),
    Scalar::new(
        "substring_grapheme",
        &["substring_grapheme"],
        &[text(&[Text, BigInt]), text(&[Text, BigInt, BigInt])],
        |c| {
            let count = if c.len() > 2 { Some(c.int(2)?) } else { None };
            Ok(Value::str(string::substring_of_graphemes(c.text(0)?, c.int(1)?, count)?))
        },
        "From a character as readers see them, counted from 1, or from the end if it is negative.",
        ("substring_grapheme('🤦🏼‍♂️🤦🏽‍♀️x', 2, 1)", "🤦🏽‍♀️"),
    ),
    Scalar::new(
        "parse_ident",
        &["parse_ident"],
        &[rule(&[Text], TEXTS), rule(&[Text, Bool], TEXTS)],
        |c| {
            let strict = c.len() < 2 || matches!(c.value(1)?, Value::Bool(true));
            let parts = string::parse_identifier(c.text(0)?, strict)?;
            array::encode(&parts.into_iter().map(Value::str).collect::<Vec<_>>(), SqlType::Text)
        },
        "The parts of a qualified name, those without quotes in lower case; the last argument is false if more may follow.",
        ("parse_ident('\"SomeSchema\".someTable')", "{SomeSchema,sometable}"),
    ),
    Scalar::new(
        "pg_size_pretty",
        &["pg_size_pretty"],
        &[text(&[BigInt]), text(&[Decimal])],
        |c| match c.exact(0) {
            Some((size, scale)) => Ok(Value::str(string::pretty_size(size, scale))),
            None => c.wrong(),
        },
        "A number of bytes for people, in bytes, kB, MB, GB, TB or PB.",
        ("pg_size_pretty(123456789)", "118 MB"),
    ),
    Scalar::new(
        "pg_size_bytes",
        &["pg_size_bytes"],
        &[over(&[Text], SqlType::BigInt)],
        |c| Ok(Value::Int(string::bytes_of_size(c.text(0)?)?)),
        "The bytes of a size with a unit.",
        ("pg_size_bytes('1.5 GB')", "1610612736"),
    ),
    Scalar::new(
        "parse_formatted_bytes",
        &["parse_formatted_bytes"],
        &[over(&[Text], SqlType::BigInt)],
        |c| Ok(Value::Int(string::bytes_of_formatted(c.text(0)?)?)),
        "The bytes of a size as format_bytes writes it.",
        ("parse_formatted_bytes('1.5 KiB')", "1536"),
    ),
    Scalar::new(
        "from_binary",
        &["from_binary", "unbin"],
        &[over(&[Text], SqlType::Bytea)],
        |c| Ok(Value::str(bytes::form(&string::bytes_of_binary(c.text(0)?)?))),
        "The bytes whose binary digits a text has.",
        ("unbin('0110')", "\\x06"),
    ),
    Scalar::new(
        "hashtext",
        &["hashtext"],
        &[over(&[Text], SqlType::Integer)],
        |c| Ok(Value::Int(string::hashtext(c.text(0)?).into())),
        "PostgreSQL's hash of a text.",
        ("hashtext('abc')", "-785388649"),
    ),
    // As many values as the pattern has places for.
    Scalar::new(
        "printf",
        &["printf"],
        &[
            text(&[Text]),
            text(&[Text, Any]),
            text(&[Text, Any, Any]),
            text(&[Text, Any, Any, Any]),
            text(&[Text, Any, Any, Any, Any]),
            text(&[Text, Any, Any, Any, Any, Any]),
            text(&[Text, Any, Any, Any, Any, Any, Any]),
            text(&[Text, Any, Any, Any, Any, Any, Any, Any]),
            text(&[Text, Any, Any, Any, Any, Any, Any, Any, Any]),
        ],
        print,
        "A pattern of C's printf with values in the places of its %.",
        ("printf('%s has %03d or %.1f%%', 'a', 7, 2.5)", "a has 007 or 2.5%"),
    ),
    Scalar {
        // So that it does not fail before it is reached.
        volatile: true,
        ..Scalar::new(
            "error",
            &["error"],
            &[first(&[Text]), first(&[Text, Text])],
            |c| {
                let state = match c.text_or(1, "")? {
                    "22004" => "22004",
                    "22023" => "22023",
                    _ => "P0001",
                };
                Err(Error::new(SqlState(state), c.text(0)?.to_owned()))
            },
            "Fails with a message, and with 22004 or 22023 as its code if that is the second argument.",
            ("error('no such case')", ""),
        )
    },
    Scalar::new(
        "hash",
        &["hash"],
        &[over(&[Any], SqlType::BigInt), over(&[Any, Any], SqlType::BigInt), over(&[Any, Any, Any], SqlType::BigInt)],
        |c| {
            let all = c.values.iter().fold(0u64, |all, value| all.rotate_left(5) ^ hash::hash_value(value));
            Ok(Value::Int(all as i64))
        },
        "A hash of values, another one in another version; NULL if one of them is.",
        ("hash(1) = hash(1)", "true"),
    ),
];

fn print(c: &Call<'_>) -> Result<Value> {
    let value = |at: usize| match c.value(at)? {
        Value::Int(n) => Ok(Formatted::Integer(*n)),
        Value::Str(text) if c.type_of(at).is_string() => Ok(Formatted::Text(text)),
        Value::Float(_) | Value::Decimal(_) => c.float(at).map(Formatted::Double),
        _ => {
            let message = format!("printf takes numbers and texts, not {}", c.type_of(at));
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
        }
    };
    let values = (1..c.len()).map(value).collect::<Result<Vec<_>>>()?;
    Ok(Value::str(string::printf(c.text(0)?, &values)?))
}
