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
    /// What stands between thousands.
    pub thousands: Option<u8>,
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

    /// Whether numbers are written in another way than usual.
    pub fn has_numbers(&self) -> bool {
        self.separator.is_some() || self.thousands.is_some()
    }

    /// A number as others write it.
    #[inline]
    pub fn number<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        if !self.has_numbers() {
            return Cow::Borrowed(text);
        }
        // A point would be nothing but a mistake where it is no longer a number's.
        let replaced = |byte: &u8| match *byte {
            byte if Some(byte) == self.separator => b'.',
            b'.' if self.separator.is_some() => b'?',
            byte => byte,
        };
        // What is not between digits separates nothing.
        let is_digit = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_digit);
        let separates =
            |at: usize| Some(text[at]) == self.thousands && is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
        Cow::Owned((0..text.len()).filter(|&at| !separates(at)).map(|at| replaced(&text[at])).collect())
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
