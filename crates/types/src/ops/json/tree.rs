//! A text taken apart: what changes values and what compares them whole works on this.

use std::borrow::Cow;

use base::Result;

use super::error::{MAX_DEPTH, too_deep};
use super::number;
use super::scan::{Kind, content, items, kind, members, trimmed};
use super::text::{unescaped, write_quoted};
use crate::ops::string::check_length;

/// A value of `jsonb`: the keys of objects are in their order, each once.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Tree<'a> {
    Null,
    Bool(bool),
    /// As it is printed.
    Number(Cow<'a, str>),
    String(Cow<'a, str>),
    Array(Vec<Tree<'a>>),
    Object(Vec<(Cow<'a, str>, Tree<'a>)>),
}

/// The order of keys: shorter ones first, then by their bytes.
pub(super) fn key_order(a: &str, b: &str) -> std::cmp::Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl<'a> Tree<'a> {
    /// The value of a text that is JSON, as `jsonb` has it: of members with one key the last, numbers written out.
    pub fn normal(text: &'a str) -> Result<Self> {
        Self::read(trimmed(text), true, 0)
    }

    /// The value of a text that is JSON as it is written: members in their order.
    pub fn written(text: &'a str) -> Result<Self> {
        Self::read(trimmed(text), false, 0)
    }

    fn read(text: &'a str, normal: bool, depth: usize) -> Result<Self> {
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        Ok(match kind(text) {
            Kind::Null => Self::Null,
            Kind::Bool => Self::Bool(text.starts_with('t')),
            Kind::Number if normal => {
                let mut printed = String::with_capacity(text.len());
                number::write(&mut printed, text)?;
                Self::Number(Cow::Owned(printed))
            }
            Kind::Number => Self::Number(Cow::Borrowed(text)),
            Kind::String => Self::String(unescaped(content(text))?),
            Kind::Array => {
                Self::Array(items(text).map(|item| Self::read(item, normal, depth + 1)).collect::<Result<_>>()?)
            }
            Kind::Object => {
                let member = |(key, value)| Ok((unescaped(key)?, Self::read(value, normal, depth + 1)?));
                let all: Vec<_> = members(text).map(member).collect::<Result<_>>()?;
                if normal { Self::object(all) } else { Self::Object(all) }
            }
        })
    }

    /// The object of those members, the later of which count.
    pub fn object(mut members: Vec<(Cow<'a, str>, Self)>) -> Self {
        let in_order = |pair: &[(Cow<'_, str>, Self)]| key_order(&pair[0].0, &pair[1].0).is_lt();
        if !members.windows(2).all(in_order) {
            // The last one with a key comes first, and stays.
            members.reverse();
            members.sort_by(|a, b| key_order(&a.0, &b.0));
            members.dedup_by(|later, first| later.0 == first.0);
        }
        Self::Object(members)
    }

    /// As `jsonb` is printed, which is how it is stored.
    pub fn text(&self) -> Result<String> {
        let mut out = String::new();
        self.write(&mut out, ": ", ", ")?;
        Ok(out)
    }

    /// Appends the value, with that behind keys and between entries.
    pub fn write(&self, out: &mut String, colon: &str, comma: &str) -> Result<()> {
        check_length(out.len())?;
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(number) => out.push_str(number),
            Self::String(text) => write_quoted(out, text),
            Self::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at > 0 { comma } else { "" });
                    item.write(out, colon, comma)?;
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    out.push_str(if at > 0 { comma } else { "" });
                    write_quoted(out, key);
                    out.push_str(colon);
                    value.write(out, colon, comma)?;
                }
                out.push('}');
            }
        }
        check_length(out.len())
    }

    pub fn is_container(&self) -> bool {
        matches!(self, Self::Array(_) | Self::Object(_))
    }
}
