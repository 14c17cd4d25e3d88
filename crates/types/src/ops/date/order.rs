//! In which order numbers of a date are written: PostgreSQL's DateStyle, as far as it is about what is read.

use std::fmt;

/// See the module. A year of three digits or more is one wherever it stands first.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum DateOrder {
    /// Month, day, year: as texts are read unless somebody says otherwise.
    #[default]
    Mdy,
    /// Day, month, year.
    Dmy,
    /// Year, month, day.
    Ymd,
}

impl fmt::Display for DateOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mdy => "MDY",
            Self::Dmy => "DMY",
            Self::Ymd => "YMD",
        })
    }
}

impl DateOrder {
    /// The order that PostgreSQL calls so, in lower case.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "mdy" | "us" | "noneuropean" | "noneuro" => Self::Mdy,
            "dmy" | "european" | "euro" => Self::Dmy,
            "ymd" => Self::Ymd,
            _ => return None,
        })
    }

    /// A text that begins with a date of three numbers in this order, with that date as ISO 8601 has it; none of others: they mean
    /// the same in each order, or nothing.
    pub fn in_iso(self, text: &str) -> Option<String> {
        if self == Self::Mdy {
            return None;
        }
        let text = text.trim_start();
        let (first, rest) = digits(text)?;
        let separator = rest.chars().next().filter(|c| matches!(c, '/' | '-' | '.'))?;
        let (second, rest) = digits(&rest[1..])?;
        let (third, rest) = digits(rest.strip_prefix(separator)?)?;
        let is_end = !rest.starts_with(|c: char| c == separator || c.is_ascii_digit());
        if !is_end || first.len() > 2 || second.len() > 2 {
            return None;
        }
        let (year, month, day) = match self {
            Self::Ymd if third.len() <= 2 => (first, second, third),
            Self::Dmy => (third, second, first),
            _ => return None,
        };
        let year = match (year.len(), year.parse::<u32>().ok()?) {
            (1 | 2, year @ ..70) => 2000 + year,
            (1 | 2, year) => 1900 + year,
            (_, year) => year,
        };
        Some(format!("{year:04}-{month:0>2}-{day:0>2}{rest}"))
    }
}

/// The digits that a text begins with, and the rest.
fn digits(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::DateOrder::{Dmy, Mdy, Ymd};

    #[test]
    fn dates_are_turned() {
        for (order, text, expected) in [
            (Dmy, "13/02/2024", Some("2024-02-13")),
            (Dmy, " 1.2.99 10:00", Some("1999-02-01 10:00")),
            (Dmy, "1-2-07T10:00:00+02", Some("2007-02-01T10:00:00+02")),
            (Dmy, "2024-02-13", None),
            (Dmy, "20240213", None),
            (Dmy, "1/2", None),
            (Dmy, "1/2-2024", None),
            (Dmy, "10:00:00", None),
            (Ymd, "99-02-13", Some("1999-02-13")),
            (Ymd, "99-02-2013", None),
            (Mdy, "02/13/2024", None),
            (Dmy, "", None),
        ] {
            assert_eq!(order.in_iso(text).as_deref(), expected, "{order:?} {text}");
        }
    }
}
