//! What is asked of lexemes.

use std::iter::Peekable;
use std::ops::Bound;
use std::str::Chars;

use base::{Error, Result, SqlState};

use super::words::words;
use super::{Configuration, Lexemes, parsed, quote, read_lexeme};

/// Deepest nesting.
const MAX_DEPTH: usize = 200;

#[derive(Clone, Debug)]
enum Query {
    /// A lexeme, or with `prefix` all that begin with it; at a place of one of the weights, or at any.
    Lexeme {
        lexeme: String,
        prefix: bool,
        weights: String,
    },
    Not(Box<Query>),
    And(Box<Query>, Box<Query>),
    Or(Box<Query>, Box<Query>),
    /// The second so many places behind the first.
    Phrase(Box<Query>, Box<Query>, u16),
}

/// `to_tsquery`: operators as they are written, words as lexemes. 42601 if it cannot be read.
pub fn query(configuration: Configuration, text: &str) -> Result<String> {
    let found = read(text, &mut |word| {
        let lexemes: Vec<Option<String>> =
            words(word).into_iter().map(|(word, kind)| configuration.lexeme(word, kind)).collect();
        phrase(&lexemes)
    })?;
    Ok(found.map_or_else(String::new, |query| shown(&query, 0)))
}

/// A `tsquery` as it is written in any form, as it is shown.
pub fn shown_query(text: &str) -> Result<String> {
    let found = read(text, &mut |word| Some(lexeme(word.to_owned())))?;
    Ok(found.map_or_else(String::new, |query| shown(&query, 0)))
}

/// `plainto_tsquery`: all words of a text.
pub fn plain_query(configuration: Configuration, text: &str) -> String {
    let lexemes = words(text).into_iter().filter_map(|(word, kind)| configuration.lexeme(word, kind));
    let all = lexemes.map(lexeme).reduce(|one, other| Query::And(Box::new(one), Box::new(other)));
    all.map_or_else(String::new, |query| shown(&query, 0))
}

/// `phraseto_tsquery`: the words of a text, one behind the other.
pub fn phrase_query(configuration: Configuration, text: &str) -> String {
    let lexemes: Vec<Option<String>> =
        words(text).into_iter().map(|(word, kind)| configuration.lexeme(word, kind)).collect();
    phrase(&lexemes).map_or_else(String::new, |query| shown(&query, 0))
}

/// `websearch_to_tsquery`: words, "phrases", `or`, and `-` before what must not be there.
pub fn web_query(configuration: Configuration, text: &str) -> String {
    let (mut any, mut all): (Vec<Query>, Option<Query>) = (Vec::new(), None);
    let mut rest = text;
    while let Some(c) = rest.trim_start().chars().next() {
        rest = rest.trim_start();
        let negated = c == '-';
        if negated {
            rest = &rest[1..];
        }
        let end = match rest.strip_prefix('"') {
            Some(quoted) => quoted.find('"').map_or(rest.len(), |end| end + 2),
            None => rest.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(rest.len()),
        };
        let (word, behind) = rest.split_at(end);
        rest = behind;
        if word.eq_ignore_ascii_case("or") && !negated {
            any.extend(all.take());
            continue;
        }
        let lexemes: Vec<Option<String>> =
            words(word.trim_matches('"')).into_iter().map(|(word, kind)| configuration.lexeme(word, kind)).collect();
        let Some(found) = phrase(&lexemes) else { continue };
        let found = if negated { Query::Not(Box::new(found)) } else { found };
        all = Some(match all {
            Some(before) => Query::And(Box::new(before), Box::new(found)),
            None => found,
        });
    }
    any.extend(all);
    let whole = any.into_iter().reduce(|one, other| Query::Or(Box::new(one), Box::new(other)));
    whole.map_or_else(String::new, |query| shown(&query, 0))
}

fn lexeme(lexeme: String) -> Query {
    Query::Lexeme { lexeme, prefix: false, weights: String::new() }
}

/// One behind the other, with room for the stop words between them.
fn phrase(lexemes: &[Option<String>]) -> Option<Query> {
    let mut found: Option<Query> = None;
    let mut distance = 0;
    for next in lexemes {
        distance += 1;
        let Some(next) = next.clone().map(lexeme) else { continue };
        found = Some(match found {
            Some(before) => Query::Phrase(Box::new(before), Box::new(next), distance),
            None => next,
        });
        distance = 0;
    }
    found
}

type Reader<'r> = &'r mut dyn FnMut(&str) -> Option<Query>;

fn read(text: &str, term: Reader<'_>) -> Result<Option<Query>> {
    let wrong = || Error::new(SqlState::SYNTAX_ERROR, format!("syntax error in tsquery: \"{text}\""));
    let mut chars = text.chars().peekable();
    skip(&mut chars);
    if chars.peek().is_none() {
        return Ok(None);
    }
    let found = any(&mut chars, term, 0).ok_or_else(wrong)?;
    if chars.peek().is_some() {
        return Err(wrong());
    }
    Ok(found)
}

fn skip(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|c| c.is_whitespace()).is_some() {}
}

/// None if it cannot be read; none within if only stop words were there.
type Read = Option<Option<Query>>;

fn pair(one: Option<Query>, other: Option<Query>, both: impl FnOnce(Box<Query>, Box<Query>) -> Query) -> Option<Query> {
    match (one, other) {
        (Some(one), Some(other)) => Some(both(Box::new(one), Box::new(other))),
        (one, other) => one.or(other),
    }
}

fn any(chars: &mut Peekable<Chars<'_>>, term: Reader<'_>, depth: usize) -> Read {
    let mut found = all(chars, term, depth)?;
    while chars.next_if_eq(&'|').is_some() {
        found = pair(found, all(chars, term, depth)?, Query::Or);
    }
    Some(found)
}

fn all(chars: &mut Peekable<Chars<'_>>, term: Reader<'_>, depth: usize) -> Read {
    let mut found = behind(chars, term, depth)?;
    while chars.next_if_eq(&'&').is_some() {
        found = pair(found, behind(chars, term, depth)?, Query::And);
    }
    Some(found)
}

fn behind(chars: &mut Peekable<Chars<'_>>, term: Reader<'_>, depth: usize) -> Read {
    let mut found = one(chars, term, depth)?;
    while chars.next_if_eq(&'<').is_some() {
        let mut distance = String::new();
        while let Some(c) = chars.next_if(|c| *c != '>') {
            distance.push(c);
        }
        chars.next()?;
        let distance: u16 = if distance == "-" { 1 } else { distance.parse().ok()? };
        found = pair(found, one(chars, term, depth)?, |a, b| Query::Phrase(a, b, distance));
    }
    Some(found)
}

fn one(chars: &mut Peekable<Chars<'_>>, term: Reader<'_>, depth: usize) -> Read {
    skip(chars);
    if depth > MAX_DEPTH {
        return None;
    }
    let found = if chars.next_if_eq(&'!').is_some() {
        one(chars, term, depth + 1)?.map(|query| Query::Not(Box::new(query)))
    } else if chars.next_if_eq(&'(').is_some() {
        let found = any(chars, term, depth + 1)?;
        chars.next_if_eq(&')')?;
        found
    } else {
        let word = read_lexeme(chars, &['&', '|', '!', '(', ')', '<', ':'])?;
        let (mut prefix, mut weights) = (false, String::new());
        if chars.next_if_eq(&':').is_some() {
            while let Some(c) = chars.next_if(|c| matches!(c.to_ascii_uppercase(), 'A'..='D' | '*')) {
                match c.to_ascii_uppercase() {
                    '*' => prefix = true,
                    weight => weights.push(weight),
                }
            }
        }
        term(&word).map(|query| marked(query, prefix, &weights))
    };
    skip(chars);
    Some(found)
}

/// What is said of a word is said of all its lexemes.
fn marked(query: Query, is_prefix: bool, of: &str) -> Query {
    match query {
        Query::Lexeme { lexeme, .. } => Query::Lexeme { lexeme, prefix: is_prefix, weights: of.to_owned() },
        Query::Phrase(a, b, distance) => {
            Query::Phrase(Box::new(marked(*a, is_prefix, of)), Box::new(marked(*b, is_prefix, of)), distance)
        }
        other => other,
    }
}

/// As PostgreSQL shows it, where what is around binds so tightly.
fn shown(query: &Query, around: u8) -> String {
    let (own, text) = match query {
        Query::Lexeme { lexeme, prefix, weights } => {
            let mut text = String::new();
            quote(lexeme, &mut text);
            if *prefix || !weights.is_empty() {
                text.push(':');
                text += if *prefix { "*" } else { "" };
                text += weights;
            }
            (4, text)
        }
        Query::Not(query) => (4, format!("!{}", shown(query, 4))),
        Query::Phrase(a, b, 1) => (3, format!("{} <-> {}", shown(a, 3), shown(b, 4))),
        Query::Phrase(a, b, distance) => (3, format!("{} <{distance}> {}", shown(a, 3), shown(b, 4))),
        Query::And(a, b) => (2, format!("{} & {}", shown(a, 2), shown(b, 2))),
        Query::Or(a, b) => (1, format!("{} | {}", shown(a, 1), shown(b, 1))),
    };
    if own < around { format!("( {text} )") } else { text }
}

/// Whether a vector has what a query asks for.
pub fn matches(vector: &str, query: &str) -> Result<bool> {
    let lexemes = parsed(vector)?;
    let found = read(query, &mut |word| Some(lexeme(word.to_owned())))?;
    Ok(found.is_some_and(|query| holds(&query, &lexemes)))
}

fn holds(query: &Query, lexemes: &Lexemes) -> bool {
    match query {
        Query::Lexeme { weights, .. } => {
            let has = |(_, weight): &(u16, char)| weights.is_empty() || weights.contains(*weight);
            // A lexeme without places is at any.
            places_of(query, lexemes).into_iter().any(|places| places.is_empty() || places.iter().any(has))
        }
        Query::Not(query) => !holds(query, lexemes),
        Query::And(a, b) => holds(a, lexemes) && holds(b, lexemes),
        Query::Or(a, b) => holds(a, lexemes) || holds(b, lexemes),
        Query::Phrase(..) => !ends(query, lexemes).is_empty(),
    }
}

/// The places of each lexeme that is meant.
fn places_of<'l>(query: &Query, lexemes: &'l Lexemes) -> Vec<&'l Vec<(u16, char)>> {
    match query {
        Query::Lexeme { lexeme, prefix: true, .. } => {
            let from = lexemes.range::<str, _>((Bound::Included(lexeme.as_str()), Bound::Unbounded));
            from.take_while(|(known, _)| known.starts_with(lexeme.as_str())).map(|(_, places)| places).collect()
        }
        Query::Lexeme { lexeme, .. } => lexemes.get(lexeme).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Where what is asked for ends.
fn ends(query: &Query, lexemes: &Lexemes) -> Vec<u16> {
    let mut all: Vec<u16> = match query {
        Query::Lexeme { weights, .. } => {
            let has = |(_, weight): &&(u16, char)| weights.is_empty() || weights.contains(*weight);
            places_of(query, lexemes).into_iter().flatten().filter(has).map(|(place, _)| *place).collect()
        }
        Query::Phrase(a, b, distance) => {
            let before = ends(a, lexemes);
            let is_behind = |place: &u16| place.checked_sub(*distance).is_some_and(|first| before.contains(&first));
            ends(b, lexemes).into_iter().filter(is_behind).collect()
        }
        Query::Or(a, b) => [ends(a, lexemes), ends(b, lexemes)].concat(),
        Query::And(a, b) => {
            let other = ends(b, lexemes);
            ends(a, lexemes).into_iter().filter(|place| other.contains(place)).collect()
        }
        // Everywhere but there: no place is told.
        Query::Not(_) => Vec::new(),
    };
    all.sort_unstable();
    all.dedup();
    all
}
