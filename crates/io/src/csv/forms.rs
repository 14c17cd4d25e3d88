//! How numbers and moments are written, if not as everywhere.

use std::borrow::Cow;

use types::ops::Bad;
use types::ops::date::{strptime, timestamp_to_date};

/// What a caller says about it.
#[derive(Clone, Default, Debug)]
pub struct Forms {
    /// The pattern of dates, as C's `strptime` has it.
    pub date: Option<String>,
    /// The pattern of timestamps.
    pub timestamp: Option<String>,
    /// What stands where others write a point.
    pub separator: Option<u8>,
}

impl Forms {
    /// A date, if they are written by a pattern.
    pub fn date(&self, text: &[u8]) -> Option<Result<i32, Bad>> {
        self.date.as_ref().map(|pattern| moment(text, pattern).map(timestamp_to_date))
    }

    /// A timestamp, if they are written by a pattern.
    pub fn timestamp(&self, text: &[u8]) -> Option<Result<i64, Bad>> {
        self.timestamp.as_ref().map(|pattern| moment(text, pattern))
    }

    /// A number as others write it.
    #[inline]
    pub fn number<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        match self.separator {
            None => Cow::Borrowed(text),
            Some(separator) => {
                // A point would be nothing but a mistake: it is no longer a number's.
                let replaced = |byte: &u8| match *byte {
                    b'.' => b'?',
                    byte if byte == separator => b'.',
                    byte => byte,
                };
                Cow::Owned(text.iter().map(replaced).collect())
            }
        }
    }

    /// A text that says to the sniffer what this one is.
    pub fn plain<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        match (self.date(text), self.timestamp(text)) {
            (None, None) => {}
            (Some(Ok(_)), _) => return Cow::Borrowed(b"2000-01-01"),
            (_, Some(Ok(_))) => return Cow::Borrowed(b"2000-01-01 00:00:00"),
            // What has another form than the pattern is no such moment, whatever it looks like.
            (date, _) if text.len() >= 10 && text[4] == b'-' && (date.is_some() || text.len() > 10) => {
                return Cow::Borrowed(b"?");
            }
            _ => {}
        }
        self.number(text)
    }
}

fn moment(text: &[u8], pattern: &str) -> Result<i64, Bad> {
    let text = std::str::from_utf8(text).map_err(|_| Bad::Syntax)?;
    strptime(text, pattern).map_err(|_| Bad::Syntax)
}
