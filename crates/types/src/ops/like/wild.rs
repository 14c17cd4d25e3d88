//! Patterns with `_`: the pieces between `%`, each of so many characters, are found from left to right. An earlier `%` never
//! has to take more once a later piece is found, so nothing is tried twice.

use base::{Result, statement};
use memchr::memmem::Finder;

use super::Token;

/// Characters that are compared before the statement is asked whether to go on.
const STEPS: usize = 1 << 16;

/// The pieces of a pattern.
#[derive(Clone, Debug)]
pub(super) struct Wild {
    first: Piece,
    middle: Vec<Piece>,
    /// None: there is no `%`.
    last: Option<Piece>,
}

/// Literals and `_`.
#[derive(Clone, Debug)]
struct Piece {
    tokens: Vec<Token>,
    /// The longest run of literals, and the number of tokens before it.
    anchor: Option<(usize, Box<Finder<'static>>)>,
}

impl Wild {
    pub fn new(tokens: &[Token]) -> Self {
        let mut pieces: Vec<Piece> = tokens.split(|t| *t == Token::Many).map(Piece::new).collect();
        let last = if pieces.len() > 1 { pieces.pop() } else { None };
        let first = pieces.remove(0);
        Self { first, middle: pieces, last }
    }

    /// The literals that every matching text starts with.
    pub fn prefix(&self) -> usize {
        let literal = |t: &Token| if let Token::Literal(c) = t { Some(c.len_utf8()) } else { None };
        self.first.tokens.iter().map_while(literal).sum()
    }

    pub fn matches(&self, text: &str) -> Result<bool> {
        let Some(rest) = self.first.strip(text) else { return Ok(false) };
        let Some(last) = &self.last else { return Ok(rest.is_empty()) };
        let Some(end) = last.start_at_end(rest) else { return Ok(false) };
        let mut rest = &rest[..end];
        for piece in &self.middle {
            match piece.find(rest)? {
                Some(behind) => rest = behind,
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl Piece {
    fn new(tokens: &[Token]) -> Self {
        let run = tokens.split(|t| *t == Token::One).max_by_key(|run| run.len()).filter(|run| !run.is_empty());
        let anchor = run.map(|run| {
            let literal = |t: &Token| if let Token::Literal(c) = t { Some(*c) } else { None };
            let text: String = run.iter().filter_map(literal).collect();
            // The run is a part of the tokens.
            let before = (run.as_ptr().addr() - tokens.as_ptr().addr()) / size_of::<Token>();
            (before, Box::new(Finder::new(text.as_bytes()).into_owned()))
        });
        Self { tokens: tokens.to_vec(), anchor }
    }

    /// What is behind the piece, if the text starts with it.
    fn strip<'t>(&self, text: &'t str) -> Option<&'t str> {
        let mut rest = text.chars();
        for token in &self.tokens {
            let c = rest.next()?;
            if *token != Token::One && *token != Token::Literal(c) {
                return None;
            }
        }
        Some(rest.as_str())
    }

    /// Where the piece begins, if the text ends with it.
    fn start_at_end(&self, text: &str) -> Option<usize> {
        let start = back(text, self.tokens.len())?;
        self.strip(&text[start..]).map(|_| start)
    }

    /// What is behind the first place where the piece is.
    fn find<'t>(&self, text: &'t str) -> Result<Option<&'t str>> {
        let Some((before, finder)) = &self.anchor else { return Ok(self.strip(text)) };
        let (mut from, mut steps) = (0, 0);
        while let Some(at) = finder.find(&text.as_bytes()[from..]) {
            let at = from + at;
            if let Some(behind) = back(&text[..at], *before).and_then(|start| self.strip(&text[start..])) {
                return Ok(Some(behind));
            }
            // UTF-8 is self-synchronising: a character begins at `at`.
            from = at + text[at..].chars().next().map_or(1, char::len_utf8);
            steps += self.tokens.len();
            if steps >= STEPS {
                steps = 0;
                statement::check()?;
            }
        }
        Ok(None)
    }
}

/// Where the last `count` characters of a text begin, if it has so many.
fn back(text: &str, count: usize) -> Option<usize> {
    match count {
        0 => Some(text.len()),
        _ => text.char_indices().rev().nth(count - 1).map(|(at, _)| at),
    }
}
