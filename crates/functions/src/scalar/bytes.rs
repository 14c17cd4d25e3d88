//! Functions of strings of bytes (decision 48). Those that count and cut characters do so with bytes too, and stand beside those of
//! texts.

use base::Result;
use types::ops::{bytes, string};
use types::{SqlType, Value};

use super::{Call, Scalar, over, text};
use crate::Parameter::{Bytea, Integer, Text};

pub(super) const ROWS: &[Scalar] = &[
    Scalar::new(
        "encode",
        &["encode"],
        &[text(&[Bytea, Text])],
        |c| bytes::encode(c.text(0)?, c.text(1)?).map(Value::str),
        "The bytes as text: hex, base64 or escape.",
        ("encode('123\\000\\001'::bytea, 'base64')", "MTIzAAE="),
    ),
    Scalar::new(
        "decode",
        &["decode"],
        &[over(&[Text, Text], SqlType::Bytea)],
        |c| bytes::decode(c.text(0)?, c.text(1)?).map(Value::str),
        "The bytes of a text: hex, base64 or escape.",
        ("decode('MTIzAAE=', 'base64')", "\\x3132330001"),
    ),
    Scalar::new(
        "convert_from",
        &["convert_from"],
        &[text(&[Bytea, Text])],
        |c| bytes::convert_from(c.text(0)?, c.text(1)?).map(Value::str),
        "The text that the bytes are in an encoding: UTF8 or LATIN1.",
        ("convert_from('\\xc3a4'::bytea, 'UTF8')", "ä"),
    ),
    Scalar::new(
        "convert_to",
        &["convert_to"],
        &[over(&[Text, Text], SqlType::Bytea)],
        |c| bytes::convert_to(c.text(0)?, c.text(1)?).map(Value::str),
        "The bytes of a text in an encoding: UTF8 or LATIN1.",
        ("convert_to('ä', 'UTF8')", "\\xc3a4"),
    ),
    Scalar::new(
        "get_byte",
        &["get_byte"],
        &[over(&[Bytea, Integer], SqlType::Integer)],
        |c| bytes::get_byte(c.text(0)?, c.int(1)?).map(Value::Int),
        "The byte of a number, counted from 0.",
        ("get_byte('\\x1234567890'::bytea, 4)", "144"),
    ),
    Scalar::new(
        "set_byte",
        &["set_byte"],
        &[over(&[Bytea, Integer, Integer], SqlType::Bytea)],
        |c| bytes::set_byte(c.text(0)?, c.int(1)?, c.int(2)?).map(Value::str),
        "With another byte at a number.",
        ("set_byte('\\x1234567890'::bytea, 4, 64)", "\\x1234567840"),
    ),
    Scalar::new(
        "get_bit",
        &["get_bit"],
        &[over(&[Bytea, Integer], SqlType::Integer)],
        |c| bytes::get_bit(c.text(0)?, c.int(1)?).map(Value::Int),
        "The bit of a number, counted from the lowest of the first byte.",
        ("get_bit('\\x1234567890'::bytea, 30)", "1"),
    ),
    Scalar::new(
        "set_bit",
        &["set_bit"],
        &[over(&[Bytea, Integer, Integer], SqlType::Bytea)],
        |c| bytes::set_bit(c.text(0)?, c.int(1)?, c.int(2)?).map(Value::str),
        "With another bit at a number.",
        ("set_bit('\\x1234567890'::bytea, 30, 0)", "\\x1234563890"),
    ),
    Scalar::operator(
        "digest",
        None,
        digest,
        "The checksum of bytes, as bytes.",
        ("sha224('abc'::bytea)", "\\x23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
    ),
];

/// The checksum of that name.
fn digest(c: &Call<'_>) -> Result<Value> {
    let all = bytes::bytes(c.text(0)?);
    let digits = match c.text(1)? {
        "sha224" => string::sha224(all),
        "sha256" => string::sha256(all),
        "sha384" => string::sha384(all),
        "sha512" => string::sha512(all),
        _ => return c.wrong(),
    };
    bytes::decode(&digits, "hex").map(Value::str)
}
