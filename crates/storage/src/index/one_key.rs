//! One key by itself, for lookups that take no column.

use types::ops::hash::{combine, hash_i64};
use types::{Physical, Str, Value};

use crate::body::Body;
use crate::hash::hash_text;
use crate::values::Values;

/// A value of a key, as it lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPart<'a> {
    /// Of two bytes.
    I16(i16),
    /// Of four.
    I32(i32),
    /// Of eight.
    I64(i64),
    /// A text.
    Text(&'a str),
}

impl<'a> KeyPart<'a> {
    /// Its hash, as [`Keys`](super::Keys) have it.
    fn hash(&self) -> u64 {
        match *self {
            Self::I16(value) => hash_i64(value.into()),
            Self::I32(value) => hash_i64(value.into()),
            Self::I64(value) => hash_i64(value),
            // SAFETY: the text outlives the call.
            Self::Text(text) => unsafe { hash_text(Str::new(text.as_bytes())) },
        }
    }

    /// Whether it is the value of a row as it was appended: keys do not change.
    fn is_value_of(&self, body: &Body, attribute: usize, row: usize) -> bool {
        let number = match *self {
            Self::I16(value) => value.into(),
            Self::I32(value) => value.into(),
            Self::I64(value) => value,
            Self::Text(text) => {
                let is_text = |values: Values<'_>, at| {
                    // SAFETY: the body has the payload of its texts.
                    values.physical() == Physical::Str && unsafe { values.get::<Str>(at).bytes() == text.as_bytes() }
                };
                return body.show(attribute, row, is_text);
            }
        };
        match body.whole(attribute, row) {
            Some(value) => value == number,
            None => body.show(attribute, row, |values, at| match values.physical() {
                Physical::I16 => i64::from(values.get::<i16>(at)) == number,
                Physical::I32 => i64::from(values.get::<i32>(at)) == number,
                Physical::I64 => values.get::<i64>(at) == number,
                _ => false,
            }),
        }
    }

    /// A value of the layout; none if no key that is looked up by itself has such parts.
    #[inline]
    pub(crate) fn of(value: &'a Value, physical: Physical) -> Option<Self> {
        Some(match (value, physical) {
            (Value::Int(value), Physical::I16) => Self::I16(*value as i16),
            (Value::Int(value), Physical::I32) => Self::I32(*value as i32),
            (Value::Date(value) | Value::Enum(value), Physical::I32) => Self::I32(*value),
            (Value::Int(value) | Value::Timestamp(value), Physical::I64) => Self::I64(*value),
            (Value::Decimal(value), Physical::I64) => Self::I64(*value as i64),
            (Value::Str(text), Physical::Str) => Self::Text(text),
            _ => return None,
        })
    }

    /// Writes its bytes as [`Keys::encode`](super::Keys::encode) does.
    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::I16(value) => out.extend(value.to_le_bytes()),
            Self::I32(value) => out.extend(value.to_le_bytes()),
            Self::I64(value) => out.extend(value.to_le_bytes()),
            Self::Text(text) => {
                out.extend((text.len() as u32).to_le_bytes());
                out.extend(text.as_bytes());
            }
        }
    }
}

/// A key: its parts in the order of the index's attributes.
#[derive(Clone, Copy, Debug)]
pub struct OneKey<'a>(pub &'a [KeyPart<'a>]);

impl OneKey<'_> {
    /// Its hash.
    pub(super) fn hash(self) -> u64 {
        self.0.iter().map(KeyPart::hash).reduce(combine).unwrap_or(0)
    }

    /// Whether a published row has it.
    pub(crate) fn is_key_of(self, body: &Body, attributes: &[usize], row: usize) -> bool {
        self.0.iter().zip(attributes).all(|(part, &attribute)| part.is_value_of(body, attribute, row))
    }

    /// Its bytes.
    pub(super) fn encoded(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.0.iter().for_each(|part| part.encode(&mut bytes));
        bytes
    }
}
