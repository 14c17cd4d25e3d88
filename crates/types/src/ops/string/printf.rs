//! C's `printf`, as DuckDB has it: what is formatted is told by the values, so that a pattern never reads what is not there.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::CharIndices;

use base::{Error, Result, SqlState};

use super::check_length;

/// A value that is formatted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Formatted<'a> {
    /// For `%d`, `%i`, `%x`, `%X`, `%o` and `%c`.
    Integer(i64),
    /// For `%f`, `%e`, `%g` and their like.
    Double(f64),
    /// For `%s`.
    Text(&'a str),
}

/// How a value is written.
#[derive(Default)]
struct Spec {
    left: bool,
    zero: bool,
    plus: bool,
    blank: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    /// What stands between thousands.
    thousands: Option<char>,
}

#[cold]
fn wrong(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// The pattern with values in the places of its `%`.
///
/// ```
/// use types::ops::string::{Formatted, printf};
/// assert_eq!(printf("%s is %05.1f%%", &[Formatted::Text("a"), Formatted::Double(2.25)]), Ok("a is 002.2%".into()));
/// ```
pub fn printf(pattern: &str, values: &[Formatted<'_>]) -> Result<String> {
    let mut out = String::with_capacity(pattern.len());
    let mut values = values.iter();
    let mut rest = pattern;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('%') {
            out.push('%');
            rest = behind;
            continue;
        }
        let (spec, conversion, behind) = specification(rest)?;
        rest = behind;
        let value = values.next().ok_or_else(|| wrong("too few arguments for printf()"))?;
        write_value(&mut out, &spec, conversion, *value)?;
        check_length(out.len())?;
    }
    out.push_str(rest);
    check_length(out.len())?;
    Ok(out)
}

/// What is between `%` and the letter, the letter, and what is behind.
fn specification(text: &str) -> Result<(Spec, char, &str)> {
    let mut spec = Spec::default();
    let mut characters = text.char_indices().peekable();
    while let Some((_, flag)) = characters.peek() {
        match flag {
            '-' => spec.left = true,
            '0' => spec.zero = true,
            '+' => spec.plus = true,
            ' ' => spec.blank = true,
            '#' => spec.alternate = true,
            ',' | '\'' | '_' => spec.thousands = Some(*flag),
            _ => break,
        }
        characters.next();
    }
    spec.width = number(&mut characters, 1 << 20)?.unwrap_or(0);
    if characters.next_if(|(_, c)| *c == '.').is_some() {
        spec.precision = Some(number(&mut characters, 1000)?.unwrap_or(0));
    }
    // Sizes of C's integers mean nothing here.
    while characters.peek().is_some_and(|(_, c)| matches!(c, 'l' | 'h' | 'z' | 'j' | 't')) {
        characters.next();
    }
    match characters.next() {
        Some((at, conversion)) => Ok((spec, conversion, &text[at + conversion.len_utf8()..])),
        None => Err(wrong("a pattern of printf() ends behind %")),
    }
}

/// The number that comes next, if there is one.
fn number(characters: &mut Peekable<CharIndices<'_>>, most: usize) -> Result<Option<usize>> {
    let mut found = None;
    while let Some(digit) = characters.peek().and_then(|(_, c)| c.to_digit(10)) {
        let n = found.unwrap_or(0) * 10 + digit as usize;
        if n > most {
            return Err(wrong("a width or precision of printf() is too large"));
        }
        found = Some(n);
        characters.next();
    }
    Ok(found)
}

/// A number with a mark between thousands of what is before its point.
fn in_thousands(number: &str, mark: char) -> String {
    let whole = number.bytes().take_while(u8::is_ascii_digit).count();
    let mut out = String::with_capacity(number.len() + whole / 3);
    for (at, digit) in number.chars().enumerate() {
        if at > 0 && at < whole && (whole - at).is_multiple_of(3) {
            out.push(mark);
        }
        out.push(digit);
    }
    out
}

fn write_value(out: &mut String, spec: &Spec, conversion: char, value: Formatted<'_>) -> Result<()> {
    let misfit = |kind: &str| Err(wrong(format!("invalid type specifier \"{conversion}\" for a value of type {kind}")));
    let (negative, body) = match (value, conversion) {
        (Formatted::Integer(n), 'd' | 'i' | 'u') => {
            let digits = n.unsigned_abs().to_string();
            (n < 0, spec.thousands.map_or(digits.clone(), |mark| in_thousands(&digits, mark)))
        }
        (Formatted::Integer(n), 'x') => {
            (n < 0, format!("{}{:x}", if spec.alternate { "0x" } else { "" }, n.unsigned_abs()))
        }
        (Formatted::Integer(n), 'X') => {
            (n < 0, format!("{}{:X}", if spec.alternate { "0X" } else { "" }, n.unsigned_abs()))
        }
        (Formatted::Integer(n), 'o') => {
            (n < 0, format!("{}{:o}", if spec.alternate { "0" } else { "" }, n.unsigned_abs()))
        }
        (Formatted::Integer(n), 'c') => {
            let character = u32::try_from(n).ok().and_then(char::from_u32).ok_or_else(|| wrong("no such character"))?;
            (false, character.to_string())
        }
        (Formatted::Integer(_), _) => return misfit("int"),
        (Formatted::Double(x), 'f' | 'F' | 'e' | 'E' | 'g' | 'G') => {
            let digits = of_double(x.abs(), spec, conversion);
            let marked = spec.thousands.filter(|_| x.is_finite()).map(|mark| in_thousands(&digits, mark));
            (x.is_sign_negative() && !x.is_nan(), marked.unwrap_or(digits))
        }
        (Formatted::Double(_), _) => return misfit("double"),
        (Formatted::Text(text), 's') => {
            let most = spec.precision.unwrap_or(usize::MAX);
            (false, text.chars().take(most).collect())
        }
        (Formatted::Text(_), _) => return misfit("text"),
    };
    let is_text = matches!(conversion, 's' | 'c');
    let sign = match negative {
        true => "-",
        false if is_text => "",
        false if spec.plus => "+",
        false if spec.blank => " ",
        false => "",
    };
    let missing = spec.width.saturating_sub(body.chars().count() + sign.len());
    let fill = |out: &mut String, with: char| out.extend(std::iter::repeat_n(with, missing));
    let is_finite = !matches!(value, Formatted::Double(x) if !x.is_finite());
    match (spec.left, spec.zero && !is_text && is_finite) {
        (true, _) => {
            out.push_str(sign);
            out.push_str(&body);
            fill(out, ' ');
        }
        (false, true) => {
            out.push_str(sign);
            fill(out, '0');
            out.push_str(&body);
        }
        (false, false) => {
            fill(out, ' ');
            out.push_str(sign);
            out.push_str(&body);
        }
    }
    Ok(())
}

/// A number that is not below zero.
fn of_double(x: f64, spec: &Spec, conversion: char) -> String {
    let precision = spec.precision.unwrap_or(6);
    let text = if x.is_nan() {
        "nan".to_owned()
    } else if x.is_infinite() {
        "inf".to_owned()
    } else {
        match conversion.to_ascii_lowercase() {
            'f' => format!("{x:.precision$}"),
            'e' => exponential(x, precision),
            _ => shortest(x, precision.max(1), spec.alternate),
        }
    };
    if conversion.is_ascii_uppercase() { text.to_ascii_uppercase() } else { text }
}

/// With an exponent of a sign and two digits, as in C.
fn exponential(x: f64, precision: usize) -> String {
    let text = format!("{x:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mut out = digits.to_owned();
    let _ = write!(out, "e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs());
    out
}

/// `%g`: so many digits, with an exponent if that is shorter, without zeros behind the point.
fn shortest(x: f64, digits: usize, keep_zeros: bool) -> String {
    let scientific = exponential(x, digits - 1);
    let exponent: i32 = scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let trim = |text: &str| match text.contains('.') && !keep_zeros {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        let (mantissa, power) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
        return format!("{}e{power}", trim(mantissa));
    }
    let behind = (digits as i32 - 1 - exponent).max(0) as usize;
    trim(&format!("{x:.behind$}"))
}
