//! LIKE, and all other ways to match a text with a pattern: patterns compiled once, matched many times.
//!
//! Most patterns are a few literals between `%`: those match by substring search (`memchr::memmem`), in time linear in
//! the text. Patterns with `_` search for the longest literal of each piece ([`wild`]): at worst, the product of the
//! lengths, so that they ask now and then whether the statement goes on.

mod convert;
mod escape;
mod similar;
mod wild;

use std::sync::Arc;

use base::{Error, Result, SqlState};
pub use convert::with_backslash;
pub use escape::{DEFAULT_ESCAPE, escape_character};
use memchr::memmem::Finder;
pub use similar::similar;
use wild::Wild;

use crate::ops::regex::{self, Options, Regex};

/// How a pattern is written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Syntax {
    /// LIKE, or ILIKE.
    Like {
        /// What makes the next character stand for itself; none if there is no such character.
        escape: Option<char>,
        /// Whether upper and lower case match.
        fold: bool,
    },
    /// `~`, or `~*`.
    Regex {
        /// Whether upper and lower case match.
        fold: bool,
    },
}

impl Syntax {
    /// LIKE without an ESCAPE clause.
    pub const LIKE: Self = Self::Like { escape: DEFAULT_ESCAPE, fold: false };

    /// The operator in text forms.
    pub fn word(self) -> &'static str {
        match self {
            Self::Like { fold: false, .. } => "like",
            Self::Like { fold: true, .. } => "ilike",
            Self::Regex { fold: false } => "matches",
            Self::Regex { fold: true } => "imatches",
        }
    }

    /// What [`Self::word`] says, and the escape character where it has one.
    pub fn of_word(word: &str, escape: Option<char>) -> Option<Self> {
        Some(match word {
            "like" | "ilike" => Self::Like { escape, fold: word == "ilike" },
            "matches" | "imatches" => Self::Regex { fold: word == "imatches" },
            _ => return None,
        })
    }
}

/// What a pattern asks, for whoever pushes it into a scan or chooses an estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind<'a> {
    /// `abc`: equality.
    Exact(&'a str),
    /// `abc%`
    Prefix(&'a str),
    /// `%abc`
    Suffix(&'a str),
    /// `%abc%`
    Contains(&'a str),
    /// `abc%def%ghi` and the like: literals in this order. The first is a prefix and the last a suffix of the text
    /// (either may be empty).
    Segments,
    /// With `_`, in folded case, or a regular expression.
    General,
    /// `%`: every text.
    Any,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token {
    Literal(char),
    One,
    Many,
}

/// A compiled pattern of any syntax. Independent of the text of the pattern: it may be kept and shared by threads.
#[derive(Clone, Debug)]
pub struct LikePattern {
    matcher: Matcher,
    /// The literals, joined; `Segments` keeps ranges of it.
    literal: String,
    fold: bool,
}

#[derive(Clone, Debug)]
enum Matcher {
    Any,
    Exact,
    Prefix,
    Suffix,
    Contains(Box<Finder<'static>>),
    Segments {
        /// Bytes of `literal` that the text starts with.
        prefix: usize,
        /// Bytes of `literal` that the text ends with.
        suffix: usize,
        middle: Vec<Finder<'static>>,
    },
    General(Wild),
    Regex(Arc<Regex>),
}

/// Texts of at most so many bytes are folded without memory of their own.
const SHORT: usize = 256;

/// A text in folded case, for ILIKE.
fn folded(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.chars().map(fold).collect() }
}

/// The character in lower case, if that is one character.
fn fold(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(l), None) => l,
        _ => c,
    }
}

fn tokens(pattern: &str, escape: Option<char>) -> Result<Vec<Token>> {
    let mut out = vec![];
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            let Some(next) = chars.next() else {
                return Err(Error::new(SqlState::INVALID_ESCAPE, "LIKE pattern must not end with escape character"));
            };
            out.push(Token::Literal(next));
        } else {
            match c {
                '%' if out.last() == Some(&Token::Many) => {}
                '%' => out.push(Token::Many),
                '_' => out.push(Token::One),
                _ => out.push(Token::Literal(c)),
            }
        }
    }
    Ok(out)
}

/// What a regular expression says as LIKE would, if it is made of characters and `.*` alone, between `^` and `$` or not: LIKE finds these faster.
fn tokens_of_regex(pattern: &str) -> Option<Vec<Token>> {
    let (pattern, begins) = pattern.strip_prefix('^').map_or((pattern, false), |rest| (rest, true));
    let (pattern, ends) = pattern.strip_suffix('$').map_or((pattern, false), |rest| (rest, true));
    let mut out = if begins { vec![] } else { vec![Token::Many] };
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        let token = match c {
            '.' => chars.next_if_eq(&'*').map(|_| Token::Many)?,
            '\\' | '[' | ']' | '(' | ')' | '{' | '}' | '|' | '*' | '+' | '?' | '^' | '$' => return None,
            _ => Token::Literal(c),
        };
        if out.last() != Some(&Token::Many) || token != Token::Many {
            out.push(token);
        }
    }
    if !ends && out.last() != Some(&Token::Many) {
        out.push(Token::Many);
    }
    Some(out)
}

impl LikePattern {
    /// Compiles a pattern.
    pub fn of(pattern: &str, syntax: Syntax) -> Result<Self> {
        match syntax {
            Syntax::Like { escape, fold: false } => Self::new(pattern, escape),
            Syntax::Like { escape, fold: true } => Self::case_insensitive(pattern, escape),
            Syntax::Regex { fold } => {
                if !fold && let Some(tokens) = tokens_of_regex(pattern) {
                    return Ok(Self::compile(tokens, false));
                }
                let regex = Regex::new(pattern, Options { fold, ..Options::default() })?;
                Ok(Self { matcher: Matcher::Regex(Arc::new(regex)), literal: String::new(), fold: false })
            }
        }
    }

    /// Compiles a LIKE pattern. `escape` is [`DEFAULT_ESCAPE`] unless there is an ESCAPE clause.
    ///
    /// ```
    /// use types::ops::like::{DEFAULT_ESCAPE, Kind, LikePattern};
    /// let pattern = LikePattern::new("%special%requests%", DEFAULT_ESCAPE)?;
    /// assert_eq!(pattern.kind(), Kind::Segments);
    /// assert!(pattern.matches("the special regular requests")? && !pattern.matches("requests, special")?);
    /// # Ok::<(), base::Error>(())
    /// ```
    pub fn new(pattern: &str, escape: Option<char>) -> Result<Self> {
        Ok(Self::compile(tokens(pattern, escape)?, false))
    }

    /// Compiles an ILIKE pattern: upper and lower case match.
    pub fn case_insensitive(pattern: &str, escape: Option<char>) -> Result<Self> {
        let mut tokens = tokens(pattern, escape)?;
        for token in &mut tokens {
            if let Token::Literal(c) = token {
                *c = fold(*c);
            }
        }
        Ok(Self::compile(tokens, true))
    }

    fn compile(tokens: Vec<Token>, fold: bool) -> Self {
        let literal: String =
            tokens.iter().filter_map(|t| if let Token::Literal(c) = t { Some(*c) } else { None }).collect();
        if tokens.contains(&Token::One) {
            return Self { matcher: Matcher::General(Wild::new(&tokens)), literal, fold };
        }
        let segments: Vec<String> = tokens
            .split(|t| *t == Token::Many)
            .map(|s| s.iter().filter_map(|t| if let Token::Literal(c) = t { Some(*c) } else { None }).collect())
            .collect();
        let finder = |needle: &String| Finder::new(needle.as_bytes()).into_owned();
        let matcher = match segments.as_slice() {
            [] | [_] => Matcher::Exact,
            [prefix, suffix] => match (prefix.as_str(), suffix.as_str()) {
                ("", "") => Matcher::Any,
                (_, "") => Matcher::Prefix,
                ("", _) => Matcher::Suffix,
                _ => Matcher::Segments { prefix: prefix.len(), suffix: suffix.len(), middle: vec![] },
            },
            [prefix, needle, suffix] if prefix.is_empty() && suffix.is_empty() => {
                Matcher::Contains(Box::new(finder(needle)))
            }
            [prefix, middle @ .., suffix] => {
                let middle = middle.iter().map(finder).collect();
                Matcher::Segments { prefix: prefix.len(), suffix: suffix.len(), middle }
            }
        };
        Self { matcher, literal, fold }
    }

    /// What the pattern asks.
    pub fn kind(&self) -> Kind<'_> {
        match &self.matcher {
            Matcher::Any => Kind::Any,
            _ if self.fold => Kind::General,
            Matcher::Exact => Kind::Exact(&self.literal),
            Matcher::Prefix => Kind::Prefix(&self.literal),
            Matcher::Suffix => Kind::Suffix(&self.literal),
            Matcher::Contains(_) => Kind::Contains(&self.literal),
            Matcher::Segments { .. } => Kind::Segments,
            Matcher::General(_) | Matcher::Regex(_) => Kind::General,
        }
    }

    /// What every matching text starts with, perhaps nothing: a range that an index or a block's minimum can use.
    pub fn prefix(&self) -> &str {
        match &self.matcher {
            _ if self.fold => "",
            Matcher::Exact | Matcher::Prefix => &self.literal,
            Matcher::Segments { prefix, .. } => &self.literal[..*prefix],
            Matcher::General(wild) => &self.literal[..wild.prefix()],
            Matcher::Any | Matcher::Suffix | Matcher::Contains(_) | Matcher::Regex(_) => "",
        }
    }

    /// Whether matching never fails: it takes time in proportion to the text, so that nobody need ask whether the statement
    /// goes on.
    pub fn never_fails(&self) -> bool {
        match &self.matcher {
            Matcher::General(_) => false,
            Matcher::Regex(regex) => regex.never_fails(),
            _ => true,
        }
    }

    /// A literal that every matching text contains, if one is to be searched for.
    pub fn needle(&self) -> Option<&Finder<'static>> {
        match &self.matcher {
            _ if self.fold => None,
            Matcher::Contains(finder) => Some(finder),
            Matcher::Segments { middle, .. } => middle.iter().max_by_key(|finder| finder.needle().len()),
            _ => None,
        }
    }

    /// Whether the text matches; an error if the statement is cancelled meanwhile.
    #[inline]
    pub fn matches(&self, text: &str) -> Result<bool> {
        match self.fold {
            false => self.matches_exactly(text),
            true if text.is_ascii() => self.matches_ascii_in_lower_case(text),
            true => self.matches_exactly(&folded(text)),
        }
    }

    /// The literals are in lower case.
    fn matches_ascii_in_lower_case(&self, text: &str) -> Result<bool> {
        let (bytes, literal) = (text.as_bytes(), self.literal.as_bytes());
        let found = |part: Option<&[u8]>| Ok(part.is_some_and(|part| part.eq_ignore_ascii_case(literal)));
        match &self.matcher {
            Matcher::Any => Ok(true),
            Matcher::Exact => found(Some(bytes)),
            Matcher::Prefix => found(bytes.get(..literal.len())),
            Matcher::Suffix => found(bytes.len().checked_sub(literal.len()).map(|start| &bytes[start..])),
            _ => {
                let mut lower = [0; SHORT];
                let Some(lower) = lower.get_mut(..bytes.len()) else { return self.matches_exactly(&folded(text)) };
                lower.copy_from_slice(bytes);
                lower.make_ascii_lowercase();
                // SAFETY: ASCII in lower case is ASCII.
                self.matches_exactly(unsafe { str::from_utf8_unchecked(lower) })
            }
        }
    }

    #[inline]
    fn matches_exactly(&self, text: &str) -> Result<bool> {
        let (bytes, literal) = (text.as_bytes(), self.literal.as_bytes());
        Ok(match &self.matcher {
            Matcher::Any => true,
            Matcher::Exact => bytes == literal,
            Matcher::Prefix => bytes.starts_with(literal),
            Matcher::Suffix => bytes.ends_with(literal),
            Matcher::Contains(finder) => finder.find(bytes).is_some(),
            Matcher::Segments { prefix, suffix, middle } => {
                let (head, tail) = (&literal[..*prefix], &literal[literal.len() - suffix..]);
                // Equal bytes mean equal characters: UTF-8 is self-synchronising.
                if bytes.len() < prefix + suffix || !bytes.starts_with(head) || !bytes.ends_with(tail) {
                    return Ok(false);
                }
                let mut rest = &bytes[*prefix..bytes.len() - suffix];
                middle.iter().all(|finder| match finder.find(rest) {
                    Some(at) => {
                        rest = &rest[at + finder.needle().len()..];
                        true
                    }
                    None => false,
                })
            }
            Matcher::General(wild) => wild.matches(text)?,
            Matcher::Regex(regex) => regex.is_match(text)?,
        })
    }
}

/// Whether a text matches a pattern of LIKE that is matched once: without compiling it. None if it has more in it than letters and `%`.
pub fn matches_plain(text: &str, pattern: &str, escape: Option<char>) -> Option<bool> {
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    let escape = match escape {
        Some(escape) => u8::try_from(escape).ok().filter(u8::is_ascii)?,
        None => b'_',
    };
    if memchr::memchr2(b'_', escape, pattern).is_some() {
        return None;
    }
    let Some(first) = memchr::memchr(b'%', pattern) else { return Some(text == pattern) };
    let last = memchr::memrchr(b'%', pattern).unwrap_or(first);
    let Some(rest) = text.strip_prefix(&pattern[..first]) else { return Some(false) };
    let Some(mut rest) = rest.strip_suffix(&pattern[last + 1..]) else { return Some(false) };
    for piece in pattern[first..=last].split(|byte| *byte == b'%').filter(|piece| !piece.is_empty()) {
        let Some(at) = memchr::memmem::find(rest, piece) else { return Some(false) };
        rest = &rest[at + piece.len()..];
    }
    Some(true)
}

/// Whether a text matches a pattern that is not constant.
pub fn matches(text: &str, pattern: &str, syntax: Syntax) -> Result<bool> {
    match syntax {
        Syntax::Like { escape, fold: false } => like(text, pattern, escape),
        Syntax::Like { escape, fold: true } => ilike(text, pattern, escape),
        Syntax::Regex { fold } => regex::is_match(text, pattern, Options { fold, ..Options::default() }),
    }
}

/// `text LIKE pattern` for a pattern that is not constant.
pub fn like(text: &str, pattern: &str, escape: Option<char>) -> Result<bool> {
    match matches_plain(text, pattern, escape) {
        Some(is_like) => Ok(is_like),
        None => LikePattern::new(pattern, escape)?.matches(text),
    }
}

/// `text ILIKE pattern` for a pattern that is not constant.
pub fn ilike(text: &str, pattern: &str, escape: Option<char>) -> Result<bool> {
    LikePattern::case_insensitive(pattern, escape)?.matches(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Random;

    #[test]
    fn plain_patterns_match_as_compiled_ones_do() {
        let mut random = Random(23);
        let mut plain = 0;
        for _ in 0..50_000 {
            let mut text = |parts: &[&str]| (0..random.index(7)).map(|_| random.pick(parts)).collect::<String>();
            let (text, pattern) = (text(&["a", "b", "é", "%", "\\"]), text(&["a", "b", "é", "%", "%", "_", "\\"]));
            for escape in [None, Some('\\'), Some('a'), Some('é')] {
                if let Some(is_like) = matches_plain(&text, &pattern, escape) {
                    let compiled = LikePattern::new(&pattern, escape).unwrap();
                    assert_eq!(Ok(is_like), compiled.matches(&text), "{text:?} like {pattern:?} escape {escape:?}");
                    plain += 1;
                }
            }
        }
        assert!(plain > 20_000);
    }

    #[test]
    fn plain_regular_expressions_match_as_others_do() {
        let parts = ["a", "b", "ab", ".*", ".*", "^", "$", "%", "_", "é", "\n"];
        let mut random = Random(17);
        let text = |random: &mut Random, parts: &[&str]| -> String {
            (0..random.index(6)).map(|_| random.pick(parts)).collect()
        };
        let mut plain = 0;
        for _ in 0..20_000 {
            let pattern = text(&mut random, &parts);
            if tokens_of_regex(&pattern).is_none() {
                continue;
            }
            plain += 1;
            let regex = Regex::new(&pattern, Options::default()).unwrap();
            let own = LikePattern::of(&pattern, Syntax::Regex { fold: false }).unwrap();
            for _ in 0..5 {
                let text = text(&mut random, &["a", "b", "ab", "%", "_", "é", "\n", "."]);
                assert_eq!(own.matches(&text), regex.is_match(&text), "{text:?} ~ {pattern:?}");
            }
        }
        assert!(plain > 5000);
        for pattern in ["a.b", "a*", "\\.", "(?i)a", "***=a", "a|b", "[ab]", ".*?", "a{2}"] {
            assert_eq!(tokens_of_regex(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn case_is_folded_as_texts_are() {
        let mut random = Random(23);
        let parts = ["a", "B", "k", "K", "\u{212a}", "ä", "Ä", "ß", "İ", "x"];
        let text = |random: &mut Random, more: usize| -> String {
            (0..random.index(6 + more)).map(|_| random.pick(&parts)).collect()
        };
        let (mut hits, mut plain) = (0, 0);
        for _ in 0..40_000 {
            let ascii = random.below(2) == 0;
            let mut part = |more| match ascii {
                true => text(&mut random, more).replace(|c: char| !c.is_ascii(), "a"),
                false => text(&mut random, more),
            };
            let of = part(300 * usize::from(ascii && hits % 50 == 0));
            // Often some of the text itself, in the other case.
            let some: String = of.chars().skip(of.len() % 2).map(|c| if c == 'a' { 'A' } else { c }).collect();
            let pattern = match of.len() % 4 {
                0 => [part(0), part(0), part(0)].join(["", "%", "_", "%%"][some.len() % 4]),
                1 => format!("%{some}"),
                2 => format!("{some}%"),
                _ => format!("%{some}%"),
            };
            let expected = LikePattern::new(&folded(&pattern), None).unwrap().matches(&folded(&of));
            let found = LikePattern::case_insensitive(&pattern, None).unwrap().matches(&of);
            assert_eq!(found, expected, "{of} ilike {pattern}");
            hits += u64::from(found == Ok(true));
            plain += u64::from(of.is_ascii());
        }
        assert!(hits > 500 && plain > 10_000, "{hits} {plain}");
    }

    fn naive(text: &[char], pattern: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['%', rest @ ..] => (0..=text.len()).any(|i| naive(&text[i..], rest)),
            ['_', rest @ ..] => !text.is_empty() && naive(&text[1..], rest),
            ['\\', c, rest @ ..] => text.first() == Some(c) && naive(&text[1..], rest),
            [c, rest @ ..] => text.first() == Some(c) && naive(&text[1..], rest),
        }
    }

    #[test]
    fn agrees_with_the_naive_matcher() {
        let mut random = Random(10);
        let mut pick = |alphabet: &[char], most: u64| -> String {
            (0..random.below(most)).map(|_| alphabet[random.below(alphabet.len() as u64) as usize]).collect()
        };
        let mut hits = 0;
        for _ in 0..60_000 {
            let text = pick(&['a', 'b', 'ä', '%'], 9);
            let pattern =
                pick(&['a', 'b', 'ä', '%', '%', '_'], 7).replace('b', if text.len() % 2 == 0 { "b" } else { "\\%" });
            let chars: (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
            let expected = naive(&chars.0, &chars.1);
            let compiled = LikePattern::new(&pattern, DEFAULT_ESCAPE).unwrap();
            assert_eq!(compiled.matches(&text), Ok(expected), "{text} like {pattern} ({:?})", compiled.kind());
            assert_eq!(like(&text, &pattern, DEFAULT_ESCAPE), Ok(expected));
            assert!(!expected || text.starts_with(compiled.prefix()), "{text} {pattern}");
            hits += usize::from(expected);
        }
        assert!(hits > 5000);
    }

    #[test]
    fn many_wildcards_in_a_long_text() {
        let text = "ab".repeat(1 << 20);
        let ends = |pattern: &str| LikePattern::new(pattern, DEFAULT_ESCAPE).unwrap().matches(&text).unwrap();
        // Each piece is found once, wherever the next one is.
        assert!(!ends(&format!("{}x%", "%a_a".repeat(2000))) && ends(&format!("{}%b", "%a_a".repeat(2000))));
        // At worst, a statement that is cancelled ends it.
        let hard = LikePattern::new(&format!("%{}b%", "a_".repeat(1000)), DEFAULT_ESCAPE).unwrap();
        let cancel = base::CancelToken::new();
        let _working = base::statement::work_for(&base::Budget::new(0), &cancel);
        cancel.cancel();
        assert_eq!(hard.matches(&text).unwrap_err().state(), SqlState::QUERY_CANCELED);
    }

    #[test]
    fn kinds() {
        let kind = |p: &str| format!("{:?}", LikePattern::new(p, DEFAULT_ESCAPE).unwrap().kind());
        assert_eq!(kind("abc"), "Exact(\"abc\")");
        assert_eq!(kind(""), "Exact(\"\")");
        assert_eq!(kind("a\\%c%"), "Prefix(\"a%c\")");
        assert_eq!(kind("%%abc"), "Suffix(\"abc\")");
        assert_eq!(kind("%abc%"), "Contains(\"abc\")");
        assert_eq!(kind("a%b"), "Segments");
        assert_eq!(kind("%"), "Any");
        assert_eq!(kind("a_"), "General");
        assert_eq!(LikePattern::new("ab_d%", DEFAULT_ESCAPE).unwrap().prefix(), "ab");
    }

    #[test]
    fn escapes_and_case() {
        let error = LikePattern::new("a\\", DEFAULT_ESCAPE).unwrap_err();
        assert_eq!(error.to_string(), "22025: LIKE pattern must not end with escape character");
        assert!(LikePattern::new("a#_b", Some('#')).unwrap().matches("a_b").unwrap());
        assert!(LikePattern::new("a\\b", None).unwrap().matches("a\\b").unwrap());
        assert!(escape_character("ab").is_err() && escape_character("") == Ok(None));
        assert!(ilike("ÄPFEL und Birnen", "äpf%BIRNEN", DEFAULT_ESCAPE).unwrap());
        assert!(!ilike("x", "y", DEFAULT_ESCAPE).unwrap());
    }
}
