//! `to_char(number, pattern)` and `to_number(text, pattern)` with PostgreSQL's template patterns for numbers. What is no
//! pattern is copied (read: skipped), as is text in double quotes. The locale is C.

mod read;
mod write;

use base::{Error, Result, SqlState};

use super::super::decimal;
use read::Reader;
use write::Writer;

/// What a pattern's word stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    /// `9`
    Digit,
    /// `0`
    Zero,
    /// `.` or `D`
    Point,
    /// `,` or `G`
    Group,
    /// `L`, which is a blank here.
    Currency,
    /// `MI`
    Minus,
    /// `PL`
    Plus,
    /// `SG`
    Sign,
    /// `RN` or `rn`
    Roman {
        lower: bool,
    },
    /// `TH` or `th`
    Ordinal {
        lower: bool,
    },
    /// What only changes the others: `S`, `PR`, `V`, `FM`, `EEEE`, `B`.
    Mark,
    Text(char),
}

/// Where a sign by `S` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    Before,
    Behind,
}

/// A pattern, and what holds for all of it.
#[derive(Clone, Debug, Default)]
struct Pattern {
    items: Vec<Item>,
    /// Digits before the point, behind it, and that `V` moves.
    before: usize,
    behind: usize,
    moved: usize,
    /// Digits before the first `0`, and all up to the last `0`.
    zero_start: usize,
    zero_end: usize,
    /// Digits before an `S`.
    anchored_at: usize,
    anchor: Option<Anchor>,
    zero: bool,
    point: bool,
    fill: bool,
    bracket: bool,
    minus: bool,
    plus: bool,
    roman: bool,
    multiplied: bool,
    scientific: bool,
}

fn syntax(message: &'static str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message)
}

const WORDS: [(&str, Item); 20] = [
    ("EEEE", Item::Mark),
    ("FM", Item::Mark),
    ("MI", Item::Minus),
    ("PL", Item::Plus),
    ("PR", Item::Mark),
    ("RN", Item::Roman { lower: false }),
    ("SG", Item::Sign),
    ("SP", Item::Mark),
    ("TH", Item::Ordinal { lower: false }),
    ("S", Item::Mark),
    ("B", Item::Mark),
    ("D", Item::Point),
    ("G", Item::Group),
    ("L", Item::Currency),
    ("V", Item::Mark),
    ("C", Item::Mark),
    ("9", Item::Digit),
    ("0", Item::Zero),
    (".", Item::Point),
    (",", Item::Group),
];

impl Pattern {
    fn parse(pattern: &str) -> Result<Self> {
        let mut parsed = Self::default();
        let mut rest = pattern;
        while let Some(first) = rest.chars().next() {
            if let Some((word, item)) = word_of(rest) {
                let written = &rest[..word.len()];
                rest = &rest[word.len()..];
                parsed.push(word, item, written.starts_with(|c: char| c.is_ascii_lowercase()))?;
                continue;
            }
            rest = &rest[first.len_utf8()..];
            match first {
                '"' => rest = parsed.quoted(rest),
                '\\' if rest.starts_with('"') => {
                    parsed.items.push(Item::Text('"'));
                    rest = &rest[1..];
                }
                c => parsed.items.push(Item::Text(c)),
            }
        }
        Ok(parsed)
    }

    /// Text to the next double quote; gives what follows.
    fn quoted<'p>(&mut self, text: &'p str) -> &'p str {
        let mut characters = text.char_indices();
        while let Some((at, c)) = characters.next() {
            match c {
                '"' => return &text[at + 1..],
                '\\' => self.items.extend(characters.next().map(|(_, c)| Item::Text(c))),
                c => self.items.push(Item::Text(c)),
            }
        }
        ""
    }

    fn push(&mut self, word: &str, item: Item, lower: bool) -> Result<()> {
        if self.scientific && matches!(item, Item::Mark) && word == "EEEE" {
            return Err(syntax("cannot use \"EEEE\" twice"));
        }
        let signs = self.plus || self.minus;
        match item {
            Item::Digit | Item::Zero if self.bracket => {
                return Err(syntax("\"9\" must be ahead of \"PR\""));
            }
            Item::Digit if self.multiplied => self.moved += 1,
            Item::Digit if self.point => self.behind += 1,
            Item::Digit => self.before += 1,
            Item::Zero => {
                if !self.zero && !self.point {
                    self.zero = true;
                    self.zero_start = self.before;
                }
                if self.point {
                    self.behind += 1
                } else {
                    self.before += 1
                }
                self.zero_end = self.before + self.behind;
            }
            Item::Point if self.point => return Err(syntax("multiple decimal points")),
            Item::Point if self.multiplied => return Err(syntax("cannot use \"V\" and decimal point together")),
            Item::Point => self.point = true,
            Item::Minus | Item::Plus | Item::Sign if self.anchor.is_some() => {
                return Err(syntax("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"));
            }
            Item::Minus => self.minus = true,
            Item::Plus => self.plus = true,
            Item::Sign => (self.plus, self.minus) = (true, true),
            Item::Roman { .. } => self.roman = true,
            Item::Mark => match word {
                "FM" => self.fill = true,
                "S" if self.anchor.is_some() => return Err(syntax("cannot use \"S\" twice")),
                "S" if signs || self.bracket => {
                    return Err(syntax("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"));
                }
                "S" if self.point => self.anchor = Some(Anchor::Behind),
                "S" => (self.anchor, self.anchored_at) = (Some(Anchor::Before), self.before),
                "PR" if signs || self.anchor.is_some() => {
                    return Err(syntax("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"));
                }
                "PR" => self.bracket = true,
                "V" if self.point => return Err(syntax("cannot use \"V\" and decimal point together")),
                "V" => self.multiplied = true,
                "EEEE" => {
                    let others = self.fill || signs || self.anchor.is_some() || self.bracket || self.roman;
                    if others || self.multiplied {
                        return Err(syntax("\"EEEE\" is incompatible with other formats"));
                    }
                    self.scientific = true;
                }
                _ => {}
            },
            _ => {}
        }
        self.items.push(match item {
            Item::Roman { .. } => Item::Roman { lower },
            Item::Ordinal { .. } => Item::Ordinal { lower },
            item => item,
        });
        Ok(())
    }
}

/// The word at the beginning of a pattern, in any case.
fn word_of(pattern: &str) -> Option<(&'static str, Item)> {
    let starts = |word: &str| pattern.get(..word.len()).is_some_and(|p| p.eq_ignore_ascii_case(word));
    WORDS.into_iter().find(|(word, _)| starts(word))
}

/// A number as digits, rounded to so many behind the point, a minus before it if need be.
fn digits_of(value: i128, scale: u8, behind: usize) -> Result<String> {
    let to = behind.min(38) as u8;
    let rounded = if to < scale { decimal::rescale(value, scale, to)? } else { value };
    let mut text = String::new();
    decimal::write(&mut text, rounded, scale.min(to));
    let missing = behind - usize::from(scale.min(to));
    if missing > 0 {
        if !text.contains('.') {
            text.push('.');
        }
        text.extend(std::iter::repeat_n('0', missing));
    }
    Ok(text)
}

/// `to_char(numeric, pattern)`, of `value` * 10^-`scale`.
pub fn to_char(value: i128, scale: u8, pattern: &str) -> Result<String> {
    let mut parsed = Pattern::parse(pattern)?;
    if parsed.scientific {
        return Ok(scientific_of_exact(&parsed, value, scale));
    }
    if parsed.roman {
        let whole = decimal::rescale(value, scale, 0)?;
        return Ok(Writer::new(parsed, false, roman(whole)).written());
    }
    let (mut value, mut scale) = (value, scale);
    if parsed.multiplied {
        let by = parsed.moved.min(38) as u8;
        (value, scale) = if by <= scale { (value, scale - by) } else { (decimal::rescale(value, 0, by - scale)?, 0) };
        parsed.before += parsed.moved;
    }
    let text = digits_of(value, scale, parsed.behind)?;
    Ok(of_digits(parsed, &text))
}

/// `to_char(double precision, pattern)`: at most 15 digits mean something.
pub fn float_to_char(value: f64, pattern: &str) -> Result<String> {
    const DIGITS: usize = 15;
    let mut parsed = Pattern::parse(pattern)?;
    if parsed.scientific {
        return Ok(scientific(&parsed, value, value.is_sign_negative()));
    }
    if parsed.roman {
        let whole = if value.abs() < 1e6 { value.round_ties_even() as i128 } else { 0 };
        return Ok(Writer::new(parsed, false, roman(whole)).written());
    }
    let mut value = value;
    if parsed.multiplied {
        value *= 10f64.powi(parsed.moved as i32);
        parsed.before += parsed.moved;
    }
    let whole = format!("{:.0}", value.abs()).len();
    parsed.behind = parsed.behind.min(DIGITS.saturating_sub(whole));
    let text = match value {
        _ if value.is_nan() => "NaN".to_owned(),
        _ if value.is_infinite() => if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        _ => format!("{value:.behind$}", behind = parsed.behind),
    };
    Ok(of_digits(parsed, &text))
}

/// Digits with a sign, in the form of a pattern that is not for a special form.
fn of_digits(parsed: Pattern, text: &str) -> String {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let before = digits.find('.').unwrap_or(digits.len());
    let digits = if before > parsed.before {
        let sharps = |n| std::iter::repeat_n('#', n);
        sharps(parsed.before).chain(['.']).chain(sharps(parsed.behind)).collect()
    } else {
        digits.to_owned()
    };
    let spaces = parsed.before.saturating_sub(before);
    let mut writer = Writer::new(parsed, negative, digits);
    writer.spaces = spaces;
    writer.written()
}

/// `d.ddde+dd`, behind a blank or a minus; halves away from zero, as decimals are rounded.
fn scientific_of_exact(parsed: &Pattern, value: i128, scale: u8) -> String {
    let places = value.unsigned_abs().checked_ilog10().map_or(0, |log| log as usize);
    let dropped = places.saturating_sub(parsed.behind);
    let mut digits = decimal::shift_right(value, dropped as u32).unsigned_abs().to_string();
    let mut exponent = if value == 0 { 0 } else { places as i32 - i32::from(scale) };
    // 9.99 became 10.0.
    if value != 0 && digits.len() > places + 1 - dropped {
        exponent += 1;
    }
    digits.extend(std::iter::repeat_n('0', parsed.behind));
    let (first, behind) = digits.split_at(1);
    let point = if parsed.behind > 0 { "." } else { "" };
    let (sign, mark) = (if value < 0 { '-' } else { ' ' }, if exponent < 0 { '-' } else { '+' });
    format!("{sign}{first}{point}{}e{mark}{:02}", &behind[..parsed.behind], exponent.abs())
}

/// Likewise of a double.
fn scientific(parsed: &Pattern, value: f64, negative: bool) -> String {
    let sign = if negative { '-' } else { ' ' };
    if !value.is_finite() {
        let sharps = |n| "#".repeat(n);
        return format!("{sign}#.{}", sharps(parsed.behind + 4));
    }
    let text = format!("{:.*e}", parsed.behind, value.abs());
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (mark, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
    format!("{sign}{digits}e{mark}{exponent:0>2}")
}

/// Roman digits of 1 to 3999; sharps for other numbers.
fn roman(number: i128) -> String {
    const PARTS: [(i128, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if !(1..4000).contains(&number) {
        return "#".repeat(15);
    }
    let (mut rest, mut out) = (number, String::new());
    for (part, digits) in PARTS {
        while rest >= part {
            out.push_str(digits);
            rest -= part;
        }
    }
    out
}

/// Digits behind the point that a pattern reads; for a `V`, those that it moves.
pub fn scale_of(pattern: &str) -> Result<u8> {
    let parsed = Pattern::parse(pattern)?;
    Ok((if parsed.multiplied { parsed.moved } else { parsed.behind }).min(30) as u8)
}

/// `to_number(text, pattern)`, as an integer of that many units of 10^-scale ([`scale_of`]).
pub fn to_number(text: &str, pattern: &str) -> Result<i128> {
    let parsed = Pattern::parse(pattern)?;
    if parsed.scientific {
        return Err(Error::unsupported("\"EEEE\" for input"));
    }
    if parsed.roman {
        return Err(Error::unsupported("\"RN\" for input"));
    }
    let scale = scale_of(pattern)?;
    let mut reader = Reader::new(text);
    for &item in &parsed.items {
        if reader.at >= reader.text.len() {
            break;
        }
        reader.read(item, &parsed);
    }
    let digits = reader.digits.trim_end_matches('.');
    let message = || {
        let message = format!("invalid input syntax for type numeric: \"{}{digits}\"", reader.sign.unwrap_or(' '));
        Error::new(SqlState::INVALID_TEXT, message)
    };
    let moved = if parsed.multiplied { scale } else { 0 };
    let read = decimal::parse_exact(digits.as_bytes()).map_err(|_| message())?;
    let value = decimal::rescale(read.digits, read.scale, scale - moved)?;
    Ok(if reader.sign == Some('-') { -value } else { value })
}
