//! The literals of a statement's text, found without parsing it: what is left is the statement's [`Template`].
//!
//! Two texts with equal keys differ in the values of their literals only, so that what was learnt of one holds for the
//! other. Where that is not plain to see (comments, strings of other kinds, numbers with exponents), there is no template,
//! and the statement takes the long way. One pass over the bytes, O(length).

use std::ops::Range;

/// Texts longer than this, or with more literals, have no template: they gain little.
const MOST_BYTES: usize = 8192;
const MOST_LITERALS: usize = 64;

/// A literal of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// Where it stands, quotes included.
    pub range: Range<usize>,
    /// A number rather than a string.
    pub is_number: bool,
}

/// A statement's text without its literals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The text with a mark in the place of each literal.
    pub key: String,
    /// The literals in order.
    pub literals: Vec<Literal>,
}

/// Marks that no text has in these places: they are no part of any token.
const NUMBER: char = '\u{1}';
const STRING: char = '\u{2}';

impl Literal {
    /// Its value's text: a number as it stands, a string without quotes.
    pub fn text<'t>(&self, sql: &'t str) -> std::borrow::Cow<'t, str> {
        let Range { start, end } = self.range;
        match self.is_number {
            true => sql[start..end].into(),
            false if sql[start + 1..end - 1].contains('\'') => sql[start + 1..end - 1].replace("''", "'").into(),
            false => sql[start + 1..end - 1].into(),
        }
    }
}

impl Template {
    /// The template of a statement; none if the text is not plain enough.
    pub fn of(sql: &str) -> Option<Self> {
        let bytes = sql.as_bytes();
        if bytes.len() > MOST_BYTES || bytes.contains(&1) || bytes.contains(&2) {
            return None;
        }
        let (mut key, mut literals) = (String::with_capacity(bytes.len()), Vec::new());
        let (mut at, mut copied) = (0, 0);
        while let Some(&byte) = bytes.get(at) {
            let before = at.checked_sub(1).map_or(b' ', |i| bytes[i]);
            let end = match byte {
                b'"' => {
                    at += 2 + bytes[at + 1..].iter().position(|&b| b == b'"')?;
                    continue;
                }
                b'\'' if is_word(before) || before == b'&' || before == b'\'' => return None,
                b'\'' => string_end(bytes, at)?,
                b'0'..=b'9' if !is_word(before) && before != b'.' => number_end(bytes, at)?,
                // A number that begins with its point.
                b'.' if !is_word(before) && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => return None,
                b'-' if before == b'-' => return None,
                b'*' if before == b'/' => return None,
                // Placeholders; anything else would be a string between dollars.
                b'$' if is_word(before) || !is_placeholder(&bytes[at + 1..]) => return None,
                b'\\' => return None,
                b'$' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => {
                    at += 1 + bytes[at + 1..].iter().take_while(|&&b| is_word(b)).count();
                    continue;
                }
                _ => {
                    at += 1;
                    continue;
                }
            };
            if literals.len() == MOST_LITERALS {
                return None;
            }
            let is_number = byte != b'\'';
            key.push_str(&sql[copied..at]);
            key.push(if is_number { NUMBER } else { STRING });
            literals.push(Literal { range: at..end, is_number });
            (at, copied) = (end, end);
        }
        key.push_str(&sql[copied..]);
        Some(Self { key, literals })
    }
}

/// Whether a number or a name is behind a dollar, and no other dollar behind that.
fn is_placeholder(rest: &[u8]) -> bool {
    let name = rest.split(|&b| !is_word(b)).next().unwrap_or_default();
    !name.is_empty() && !name.contains(&b'$')
}

/// Whether the byte can be part of a name.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Where the string that begins at `at` ends; two quotes are one inside.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut end = at + 1;
    loop {
        end += bytes[end..].iter().position(|&b| b == b'\'')? + 1;
        match bytes.get(end) {
            Some(b'\'') => end += 1,
            _ => return Some(end),
        }
    }
}

/// Where the number that begins at `at` ends, if it is digits with at most one point between them.
fn number_end(bytes: &[u8], at: usize) -> Option<usize> {
    let digits = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut end = digits(at);
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if fraction == end + 1 {
            return None;
        }
        end = fraction;
    }
    let next = bytes.get(end).copied().unwrap_or(b' ');
    (!is_word(next) && next != b'.').then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literals(sql: &str) -> Option<Vec<String>> {
        let template = Template::of(sql)?;
        Some(template.literals.iter().map(|l| l.text(sql).into_owned()).collect())
    }

    #[test]
    fn literals_are_found() {
        let found = |sql| literals(sql).unwrap();
        assert_eq!(found("select a1, \"x'1\" from t2 where b=42 and c > 1.50"), ["42", "1.50"]);
        assert_eq!(found("select 'it''s' , '' , 'ü' from t"), ["it's", "", "ü"]);
        assert_eq!(found("select $1, a-1, t.a from t where x = $2"), ["1"]);
        assert_eq!(found("date '1995-01-01'"), ["1995-01-01"]);
    }

    #[test]
    fn texts_that_differ_in_literals_have_one_key() {
        let key = |sql| Template::of(sql).unwrap().key;
        assert_eq!(key("where a = 1 and b = 'x'"), key("where a = 234 and b = 'it''s'"));
        assert_ne!(key("where a = 1"), key("where a = '1'"));
        assert_ne!(key("where a = 1"), key("where a = b"));
        assert_ne!(key("where a = $1"), key("where a = $2"));
    }

    #[test]
    fn what_is_not_plain_has_no_template() {
        let odd = [
            "select 1 -- one",
            "select /* 1 */ 2",
            "select e'a\\n'",
            "select E'a'",
            "select $$a$$",
            "select $a$1$a$",
            "select 1e5",
            "select 1_000",
            "select .5",
            "select 1.",
            "select 1.5.2",
            "select 0x1F",
            "select 'open",
            "select \"open",
            "select U&'x'",
            "select n'x'",
            "select 'a'\n'b'",
            "select a\\b",
            "select 1a",
            "select \u{1}",
        ];
        // Two strings in a row may be one: the parser decides, and each of them is a literal of its own here.
        for sql in odd {
            assert!(Template::of(sql).is_none() || sql.contains('\n'), "{sql}");
        }
    }
}
