//! Texts beside other texts, and in other forms.

use types::ops::{array, string};
use types::{SqlType, Value};

use super::{Scalar, over, rule, text};
use crate::Parameter::{BigInt, Bool, Integer, Text};
use crate::Typed;

/// What stands between the parts of a path, if nobody says it.
const BOTH: &str = "both_slash";
const TEXTS: fn(&[SqlType], &[Option<i64>]) -> SqlType = |_, _| SqlType::array_of(SqlType::Text);

/// A distance or similarity of two texts.
macro_rules! distance {
    ($name:literal, $names:expr, $value:ident, $sql_type:ident, $operation:path, $documentation:literal, $example:expr) => {
        Scalar::new(
            $name,
            $names,
            &[over(&[Text, Text], SqlType::$sql_type)],
            |c| Ok(Value::$value($operation(c.text(0)?, c.text(1)?)?)),
            $documentation,
            $example,
        )
    };
}

/// A text of a text.
macro_rules! form {
    ($name:literal, $names:expr, $operation:expr, $documentation:literal, $example:expr) => {
        Scalar::new(
            $name,
            $names,
            &[text(&[Text])],
            |c| Ok(Value::str($operation(c.text(0)?))),
            $documentation,
            $example,
        )
    };
}

pub(super) const ROWS: &[Scalar] = &[
    distance!(
        "levenshtein",
        &["levenshtein", "editdist3"],
        Int,
        BigInt,
        string::levenshtein,
        "How many characters are inserted, deleted or replaced to make one text of the other.",
        ("levenshtein('kitten', 'sitting')", "3")
    ),
    distance!(
        "damerau_levenshtein",
        &["damerau_levenshtein"],
        Int,
        BigInt,
        string::damerau_levenshtein,
        "Likewise, where neighbours may change places.",
        ("damerau_levenshtein('duckdb', 'udckbd')", "2")
    ),
    distance!(
        "hamming",
        &["hamming", "mismatches"],
        Int,
        BigInt,
        string::hamming,
        "In how many places two texts of one length differ.",
        ("hamming('duck', 'luck')", "1")
    ),
    distance!(
        "jaccard",
        &["jaccard"],
        Float,
        Double,
        string::jaccard,
        "The share of the characters of two texts that both have.",
        ("jaccard('duck', 'luck')", "0.6")
    ),
    distance!(
        "jaro_similarity",
        &["jaro_similarity"],
        Float,
        Double,
        string::jaro,
        "How alike two texts are, from 0 to 1.",
        ("jaro_similarity('duck', 'duckdb')", "0.8888888888888888")
    ),
    distance!(
        "jaro_winkler_similarity",
        &["jaro_winkler_similarity"],
        Float,
        Double,
        string::jaro_winkler,
        "How alike two texts are, from 0 to 1; a common beginning counts more.",
        ("jaro_winkler_similarity('duck', 'duckdb')", "0.9333333333333333")
    ),
    form!(
        "url_encode",
        &["url_encode"],
        string::url_encode,
        "Percent encoding of what may not stand in a part of a URL.",
        ("url_encode('a b/c')", "a%20b%2Fc")
    ),
    Scalar::new(
        "url_decode",
        &["url_decode"],
        &[text(&[Text])],
        |c| Ok(Value::str(string::url_decode(c.text(0)?)?)),
        "The text whose percent encoding the argument is.",
        ("url_decode('a%20b%2Fc')", "a b/c"),
    ),
    Scalar::new(
        "hex",
        &["hex"],
        &[text(&[BigInt]), text(&[Text])],
        |c| {
            Ok(Value::str(match c.value(0)? {
                Value::Int(n) => format!("{n:X}"),
                _ => string::to_upper_hex(c.text(0)?),
            }))
        },
        "Hexadecimal digits of an integer, or of a text's bytes.",
        ("hex(42)", "2A"),
    ),
    Scalar::new(
        "bin",
        &["bin", "to_binary"],
        &[text(&[BigInt]), text(&[Text])],
        |c| {
            Ok(Value::str(match c.value(0)? {
                Value::Int(n) => format!("{n:b}"),
                _ => string::to_binary(c.text(0)?),
            }))
        },
        "Binary digits of an integer, or of a text's bytes.",
        ("bin(42)", "101010"),
    ),
    Scalar::new(
        "to_base",
        &["to_base"],
        &[text(&[BigInt, Integer]), text(&[BigInt, Integer, Integer])],
        |c| {
            let digits = if c.len() > 2 { c.int(2)? } else { 0 };
            Ok(Value::str(string::to_base(c.int(0)?, c.int(1)?, digits)?))
        },
        "Digits of an integer in a base, zeros in front up to so many.",
        ("to_base(42, 16, 5)", "0002A"),
    ),
    Scalar::new(
        "unicode",
        &["unicode", "ord"],
        &[over(&[Text], SqlType::Integer)],
        |c| Ok(Value::Int(string::first_code_point(c.text(0)?))),
        "The number of the first character; -1 of the empty text.",
        ("unicode('âbcd')", "226"),
    )
    .typed(Typed::Number(string::first_code_point)),
    Scalar::new(
        "format_bytes",
        &["format_bytes", "formatreadablesize"],
        &[text(&[BigInt])],
        |c| Ok(Value::str(string::format_bytes(c.int(0)?))),
        "A number of bytes for people, in steps of 1024.",
        ("format_bytes(16000)", "15.6 KiB"),
    ),
    Scalar::new(
        "formatreadabledecimalsize",
        &["formatreadabledecimalsize"],
        &[text(&[BigInt])],
        |c| Ok(Value::str(string::format_decimal_bytes(c.int(0)?))),
        "A number of bytes for people, in steps of 1000.",
        ("formatReadableDecimalSize(16000)", "16.0 kB"),
    ),
    form!(
        "regexp_escape",
        &["regexp_escape"],
        string::regexp_escape,
        "A regular expression that matches the text.",
        ("regexp_escape('a.b')", "a\\.b")
    ),
    form!(
        "sha1",
        &["sha1"],
        string::sha1,
        "SHA-1 checksum, 40 hexadecimal digits.",
        ("sha1('abc')", "a9993e364706816aba3e25717850c26c9cd0d89d")
    ),
    Scalar::new(
        "parse_path",
        &["parse_path"],
        &[rule(&[Text], TEXTS), rule(&[Text, Text], TEXTS)],
        |c| {
            let parts: Vec<Value> = string::parts_of_path(c.text(0)?, c.text_or(1, BOTH)?).map(Value::str).collect();
            array::encode(&parts, SqlType::Text)
        },
        "The parts of a path: between separators of both kinds, or of the kind 'forward_slash', 'backslash' or 'system'.",
        ("parse_path('/a/b/c.txt')", "{/,a,b,c.txt}"),
    ),
    Scalar::new(
        "parse_dirname",
        &["parse_dirname"],
        &[text(&[Text]), text(&[Text, Text])],
        |c| Ok(Value::str(string::first_folder(c.text(0)?, c.text_or(1, BOTH)?))),
        "The first folder of a path.",
        ("parse_dirname('path/to/file.csv')", "path"),
    ),
    Scalar::new(
        "parse_dirpath",
        &["parse_dirpath"],
        &[text(&[Text]), text(&[Text, Text])],
        |c| Ok(Value::str(string::folder(c.text(0)?, c.text_or(1, BOTH)?))),
        "What is before the last separator of a path.",
        ("parse_dirpath('path/to/file.csv')", "path/to"),
    ),
    Scalar::new(
        "parse_filename",
        &["parse_filename"],
        &[text(&[Text]), text(&[Text, Bool]), text(&[Text, Text]), text(&[Text, Bool, Text])],
        |c| {
            let trimmed = c.len() > 1 && matches!(c.value(1)?, Value::Bool(true));
            let separator = match (c.len(), trimmed) {
                (2, false) if matches!(c.value(1)?, Value::Str(_)) => c.text(1)?,
                _ => c.text_or(2, BOTH)?,
            };
            Ok(Value::str(string::file_name(c.text(0)?, trimmed, separator)))
        },
        "The last part of a path, without its extension if the second argument is true.",
        ("parse_filename('path/to/file.csv', true)", "file"),
    ),
];
