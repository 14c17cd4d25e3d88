//! Texts for other programs: quoted for SQL, formatted, and checksums.

use types::Value;
use types::ops::cast::format_value;
use types::ops::string;

use super::{Call, Scalar, text};
use crate::Parameter::{Array, Text};

/// A text of one.
macro_rules! text_function {
    ($name:literal, $operation:path, $documentation:literal, $example:expr) => {
        Scalar::new(
            $name,
            &[$name],
            &[text(&[Text])],
            |c| Ok(Value::str($operation(c.text(0)?))),
            $documentation,
            $example,
        )
    };
}

pub(super) const ROWS: &[Scalar] = &[
    Scalar::new(
        "quote_literal",
        &["quote_literal"],
        &[text(&[Text])],
        |c| Ok(Value::str(string::quote_literal(c.text(0)?)?)),
        "The value as a string literal of SQL.",
        ("quote_literal('it''s')", "'it''s'"),
    ),
    Scalar::new(
        "quote_ident",
        &["quote_ident"],
        &[text(&[Text])],
        |c| Ok(Value::str(&*string::quote_ident(c.text(0)?)?)),
        "The text as a name of SQL, in quotes if it must be.",
        ("quote_ident('Foo bar')", "\"Foo bar\""),
    ),
    Scalar::new(
        "unistr",
        &["unistr"],
        &[text(&[Text])],
        |c| Ok(Value::str(string::unistr(c.text(0)?)?)),
        "Escapes such as \\0441 replaced by the characters with these code points.",
        ("unistr('d\\0061t\\+000061')", "data"),
    ),
    // The binder writes `v` before the arguments, and `n` for those that are NULL.
    Scalar::operator(
        "format",
        None,
        |c| {
            let arguments = (1..c.len()).map(|i| argument(c, i)).collect::<base::Result<Vec<_>>>()?;
            Ok(Value::str(string::format(c.text(0)?, &arguments)?))
        },
        "The text with the arguments in it: %s as text, %I as a name, %L as a literal.",
        ("format('Hello %s, %1$s', 'World')", "Hello World, World"),
    ),
    Scalar::new(
        "format_of_array",
        &["format_of_array"],
        &[text(&[Text, Array])],
        |c| {
            let (array, element) = c.array(1)?;
            let count = types::ops::array::length(array, element) as i64;
            let values: Vec<Value> = (1..=count).map(|at| types::ops::array::subscript(array, element, at)).collect();
            let texts: Vec<Option<String>> =
                values.iter().map(|v| (!v.is_null()).then(|| format_value(v, element))).collect();
            let arguments: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
            Ok(Value::str(string::format(c.text(0)?, &arguments)?))
        },
        "The text with the elements of an array in it, as format has it: format(text, VARIADIC array).",
        ("format_of_array('%s and %s', ARRAY['one', 'two'])", "one and two"),
    ),
    // Binders put it where a row must not go: behind the SQLSTATE, the message and what it is about stand the texts of the row's values.
    Scalar {
        volatile: true,
        ..Scalar::operator(
            "refuse_row",
            None,
            refuse_row,
            "The error that a row may not be written.",
            ("refuse_row('23514', 'no', '', '1')", "an error"),
        )
    },
    // Binders put the number of the transaction into it, which no plan may keep.
    Scalar {
        volatile: true,
        ..Scalar::operator(
            "transaction_number",
            None,
            |c| c.value(0).cloned(),
            "The number of the transaction.",
            ("transaction_number(1)", "1"),
        )
    },
    // Binders put it around the number of a table, a type or the like, which is shown as its name: of the kind that is the second
    // argument.
    Scalar::operator(
        "registered",
        None,
        |c| c.value(0).cloned(),
        "The number of an object that has a name.",
        ("23::regtype", "integer"),
    ),
    text_function!(
        "sha224",
        string::sha224,
        "SHA-224 checksum, 56 hexadecimal digits.",
        ("sha224('abc')", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7")
    ),
    text_function!(
        "sha256",
        string::sha256,
        "SHA-256 checksum, 64 hexadecimal digits.",
        ("sha256('abc')", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    ),
    text_function!(
        "sha384",
        string::sha384,
        "SHA-384 checksum, 96 hexadecimal digits.",
        (
            "sha384('abc')",
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
        )
    ),
    text_function!(
        "sha512",
        string::sha512,
        "SHA-512 checksum, 128 hexadecimal digits.",
        (
            "sha512('abc')",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        )
    ),
];

fn argument<'a>(call: &Call<'a>, i: usize) -> base::Result<Option<&'a str>> {
    let text = call.text(i)?;
    Ok(text.strip_prefix('v'))
}

/// Longest value in the detail of an error, as in PostgreSQL.
const LONGEST_SHOWN: usize = 64;

fn refuse_row(call: &Call<'_>) -> base::Result<Value> {
    let state = match call.text(0)? {
        "23502" => base::SqlState::NOT_NULL_VIOLATION,
        "44000" => base::SqlState("44000"),
        "2201W" => base::SqlState("2201W"),
        "2201X" => base::SqlState("2201X"),
        _ => base::SqlState::CHECK_VIOLATION,
    };
    let shown = |at: usize| {
        let text = call.text(at)?;
        Ok(match text.len() {
            0..=LONGEST_SHOWN => text.to_owned(),
            _ => format!("{}...", &text[..text.floor_char_boundary(LONGEST_SHOWN)]),
        })
    };
    let values = (3..call.len()).map(shown).collect::<base::Result<Vec<String>>>()?;
    let error = base::Error::new(state, call.text(1)?).about_all(call.text(2)?);
    Err(match (values.as_slice(), base::about_in_text(call.text(2)?, "partition_key")) {
        ([], _) => error,
        (values, None) => error.detail(format!("Failing row contains ({}).", values.join(", "))),
        (values, Some(key)) => {
            error.detail(format!("Partition key of the failing row contains ({key}) = ({}).", values.join(", ")))
        }
    })
}
