//! Text search as PostgreSQL has it: the lexemes of a text with their places (`tsvector`), and what is asked of them (`tsquery`).
//! Both are texts, in the form in which PostgreSQL shows them.
//!
//! Words are told apart as PostgreSQL's default parser does for words, numbers, words with hyphens, hosts and addresses; there are
//! the configurations `english` (Snowball's stems, without stop words) and `simple`.

mod query;
mod words;

use std::collections::BTreeMap;
use std::fmt::Write;

use base::{Error, Result, SqlState};
use rust_stemmers::{Algorithm, Stemmer};

pub use query::{matches, phrase_query, plain_query, query, shown_query, web_query};
use words::{Kind, words};

/// The last place that is told; later words are there too.
const MAX_PLACE: u16 = 16_383;
/// Most places of a lexeme.
const MAX_PLACES: usize = 256;

/// Words of English that nobody looks for, in order.
#[rustfmt::skip]
const STOP_WORDS: [&str; 127] = [
    "a", "about", "above", "after", "again", "against", "all", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "below", "between", "both", "but", "by", "can", "did", "do", "does",
    "doing", "don", "down", "during", "each", "few", "for", "from", "further", "had", "has", "have", "having", "he",
    "her", "here", "hers", "herself", "him", "himself", "his", "how", "i", "if", "in", "into", "is", "it", "its",
    "itself", "just", "me", "more", "most", "my", "myself", "no", "nor", "not", "now", "of", "off", "on", "once",
    "only", "or", "other", "our", "ours", "ourselves", "out", "over", "own", "s", "same", "she", "should", "so",
    "some", "such", "t", "than", "that", "the", "their", "theirs", "them", "themselves", "then", "there", "these",
    "they", "this", "those", "through", "to", "too", "under", "until", "up", "very", "was", "we", "were", "what",
    "when", "where", "which", "while", "who", "whom", "why", "will", "with", "you", "your", "yours", "yourself",
    "yourselves",
];

/// How words become lexemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configuration {
    /// In small letters.
    Simple,
    /// Their stems, but for stop words.
    English,
}

impl Configuration {
    /// By its name; 42704 if there is none of that name.
    pub fn named(name: &str) -> Result<Self> {
        match name.strip_prefix("pg_catalog.").unwrap_or(name) {
            "english" => Ok(Self::English),
            "simple" => Ok(Self::Simple),
            _ => Err(Error::new(
                SqlState::UNDEFINED_OBJECT,
                format!("text search configuration \"{name}\" does not exist"),
            )
            .hint("there are english and simple")),
        }
    }

    /// The lexeme of a word; none of a stop word.
    fn lexeme(self, word: &str, kind: Kind) -> Option<String> {
        let lower = word.to_lowercase();
        if self == Self::Simple || kind != Kind::Word {
            return Some(lower);
        }
        if STOP_WORDS.binary_search(&lower.as_str()).is_ok() {
            return None;
        }
        Some(Stemmer::create(Algorithm::English).stem(&lower).into_owned())
    }
}

/// Lexemes with their places, each with its weight: D where none is shown.
type Lexemes = BTreeMap<String, Vec<(u16, char)>>;

/// The lexemes of a text.
pub fn vector(configuration: Configuration, text: &str) -> String {
    let mut lexemes = Lexemes::new();
    for (at, (word, kind)) in words(text).into_iter().enumerate() {
        if let Some(lexeme) = configuration.lexeme(word, kind) {
            let places = lexemes.entry(lexeme).or_default();
            let place = u16::try_from(at + 1).unwrap_or(MAX_PLACE).min(MAX_PLACE);
            if places.len() < MAX_PLACES && places.last().is_none_or(|(last, _)| *last != place) {
                places.push((place, 'D'));
            }
        }
    }
    shown(&lexemes)
}

fn shown(lexemes: &Lexemes) -> String {
    let mut text = String::new();
    for (lexeme, places) in lexemes {
        if !text.is_empty() {
            text.push(' ');
        }
        quote(lexeme, &mut text);
        for (at, (place, weight)) in places.iter().enumerate() {
            let between = if at == 0 { ':' } else { ',' };
            let _ = write!(text, "{between}{place}");
            if *weight != 'D' {
                text.push(*weight);
            }
        }
    }
    text
}

fn quote(lexeme: &str, text: &mut String) {
    text.push('\'');
    for c in lexeme.chars() {
        if matches!(c, '\'' | '\\') {
            text.push(c);
        }
        text.push(c);
    }
    text.push('\'');
}

/// A `tsvector` as it is written in any form, as it is shown: 42601 if it is none.
pub fn shown_vector(text: &str) -> Result<String> {
    parsed(text).map(|lexemes| shown(&lexemes))
}

/// The lexemes of a vector, without their places.
pub fn stripped(text: &str) -> Result<String> {
    let mut lexemes = parsed(text)?;
    lexemes.values_mut().for_each(Vec::clear);
    Ok(shown(&lexemes))
}

/// The lexemes of a vector, in order.
pub fn lexemes(text: &str) -> Result<Vec<String>> {
    Ok(parsed(text)?.into_keys().collect())
}

/// Lexemes of two vectors, those of the second behind those of the first.
pub fn joined(one: &str, other: &str) -> Result<String> {
    let (mut all, other) = (parsed(one)?, parsed(other)?);
    let last = all.values().flatten().map(|(place, _)| *place).max().unwrap_or(0);
    for (lexeme, places) in other {
        let moved = places.into_iter().map(|(place, weight)| (place.saturating_add(last).min(MAX_PLACE), weight));
        all.entry(lexeme).or_default().extend(moved);
    }
    Ok(shown(&all))
}

/// A vector whose places all have a weight: A, B, C or D.
pub fn weighted(text: &str, weight: &str) -> Result<String> {
    let weight = match weight.to_ascii_uppercase().as_str() {
        "A" => 'A',
        "B" => 'B',
        "C" => 'C',
        "D" => 'D',
        _ => {
            let message = format!("unrecognized weight: \"{weight}\"");
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
    };
    let mut lexemes = parsed(text)?;
    lexemes.values_mut().flatten().for_each(|(_, own)| *own = weight);
    Ok(shown(&lexemes))
}

fn parsed(text: &str) -> Result<Lexemes> {
    let wrong = || Error::new(SqlState::SYNTAX_ERROR, format!("syntax error in tsvector: \"{text}\""));
    let mut lexemes = Lexemes::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.peek().is_none() {
            return Ok(lexemes);
        }
        let lexeme = read_lexeme(&mut chars, &[':']).ok_or_else(wrong)?;
        let places = lexemes.entry(lexeme).or_default();
        if chars.next_if_eq(&':').is_none() {
            continue;
        }
        loop {
            let mut place = String::new();
            while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                place.push(digit);
            }
            let place: u32 = place.parse().map_err(|_| wrong())?;
            if place == 0 {
                return Err(wrong());
            }
            let weight = chars.next_if(|c| matches!(c.to_ascii_uppercase(), 'A'..='D' | '*'));
            let place = u16::try_from(place).unwrap_or(MAX_PLACE).min(MAX_PLACE);
            places.push((place, weight.map_or('D', |c| c.to_ascii_uppercase())));
            if chars.next_if_eq(&',').is_none() {
                break;
            }
        }
        places.sort_unstable();
        places.dedup_by_key(|(place, _)| *place);
    }
}

/// A lexeme, in quotes or up to a space or one of these; none if there is none.
fn read_lexeme(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, ends: &[char]) -> Option<String> {
    let mut lexeme = String::new();
    if chars.next_if_eq(&'\'').is_some() {
        loop {
            match chars.next()? {
                '\'' if chars.next_if_eq(&'\'').is_some() => lexeme.push('\''),
                '\'' => return Some(lexeme),
                '\\' => lexeme.push(chars.next()?),
                c => lexeme.push(c),
            }
        }
    }
    while let Some(c) = chars.next_if(|c| !c.is_whitespace() && !ends.contains(c)) {
        lexeme.push(if c == '\\' { chars.next()? } else { c });
    }
    (!lexeme.is_empty()).then_some(lexeme)
}
