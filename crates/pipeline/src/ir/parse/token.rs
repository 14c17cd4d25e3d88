//! Words of the text form: names (letters, digits, `_`, `.`), ids, numbers, quoted texts, punctuation.

use std::str::FromStr;

use base::ids::Id;
use base::{Error, Result, SqlState};

pub(super) struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Tokens<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    #[cold]
    pub fn error(&self, expected: impl std::fmt::Display) -> Error {
        let line = self.text[..self.at].matches('\n').count() + 1;
        let position = u32::try_from(self.at).ok();
        Error::new(SqlState::SYNTAX_ERROR, format!("line {line}: expected {expected}")).at(position)
    }

    fn rest(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    pub fn at_end(&mut self) -> bool {
        self.rest().is_empty()
    }

    /// The next word, without taking it: empty at the end and before a quoted text.
    fn peek(&mut self) -> &'t str {
        let rest = self.rest();
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '%' | '$' | '-');
        match rest.find(|c| !is_word(c)) {
            Some(0) if rest.starts_with('"') => "",
            Some(0) => &rest[..rest.chars().next().map_or(0, char::len_utf8)],
            end => &rest[..end.unwrap_or(rest.len())],
        }
    }

    /// Takes the word if it comes next.
    pub fn take(&mut self, word: &str) -> bool {
        let found = self.peek() == word;
        if found {
            self.at += word.len();
        }
        found
    }

    /// Takes the word, which must come next.
    pub fn word(&mut self, word: &str) -> Result<()> {
        if self.take(word) { Ok(()) } else { Err(self.error(word)) }
    }

    /// Any word.
    pub fn name(&mut self) -> Result<&'t str> {
        let word = self.peek();
        if word.is_empty() {
            return Err(self.error("a name"));
        }
        self.at += word.len();
        Ok(word)
    }

    /// Whether an id with this prefix comes next.
    pub fn at_id(&mut self, prefix: &str) -> bool {
        self.peek().strip_prefix(prefix).is_some_and(|n| n.parse::<u32>().is_ok())
    }

    pub fn id<I: Id>(&mut self, prefix: &str) -> Result<I> {
        // Maps are as large as the largest id: keep wrong texts from asking for much.
        let number = self.peek().strip_prefix(prefix).and_then(|n| n.parse::<u32>().ok()).filter(|&n| n < 1 << 20);
        let Some(number) = number else { return Err(self.error(format!("an id {prefix}0"))) };
        self.at += self.peek().len();
        Ok(I::from_index(number as usize))
    }

    pub fn number<T: FromStr>(&mut self) -> Result<T> {
        // Exponents may have a plus sign.
        let mut word = self.peek();
        if word.ends_with(['e', 'E']) {
            let rest = self.rest();
            let digits = rest[word.len()..]
                .strip_prefix('+')
                .map_or(0, |d| 1 + d.find(|c: char| !c.is_ascii_digit()).unwrap_or(d.len()));
            word = &rest[..word.len() + digits];
        }
        let Ok(number) = word.parse() else { return Err(self.error("a number")) };
        self.at += word.len();
        Ok(number)
    }

    pub fn boolean(&mut self) -> Result<bool> {
        if self.take("true") {
            return Ok(true);
        }
        self.word("false").map(|()| false)
    }

    /// A text in quotes.
    pub fn text(&mut self) -> Result<String> {
        let rest = self.rest();
        let Some(inner) = rest.strip_prefix('"') else { return Err(self.error("a text in quotes")) };
        let mut out = String::new();
        let mut chars = inner.char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += i + 2;
                    return Ok(out);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => out.push('\n'),
                    Some((_, c)) => out.push(c),
                    None => break,
                },
                _ => out.push(c),
            }
        }
        Err(self.error("the end of the text"))
    }
}
