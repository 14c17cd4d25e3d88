//! Functions of regular expressions. Each thread keeps the patterns that it used last, so that one that is the same for many
//! rows is compiled once.

use std::cell::RefCell;
use std::rc::Rc;

use base::{Error, Result, SqlState, statement};

use super::compiled::{Place, Regex};
use super::options::Options;
use crate::ops::string;

/// Patterns that a thread keeps.
const KEPT: usize = 8;

struct Kept {
    pattern: String,
    options: Options,
    regex: Rc<Regex>,
}

thread_local! {
    /// The last one used is the last one.
    static PATTERNS: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// The compiled pattern, from among the last ones if it is there.
fn compiled(pattern: &str, options: Options) -> Result<Rc<Regex>> {
    PATTERNS.with_borrow_mut(|patterns| {
        let known = patterns.iter().rposition(|kept| kept.options == options && kept.pattern == pattern);
        if let Some(at) = known {
            let last = patterns.len() - 1;
            if at != last {
                patterns[at..].rotate_left(1);
            }
            return Ok(patterns[last].regex.clone());
        }
        let regex = Rc::new(Regex::new(pattern, options)?);
        if patterns.len() == KEPT {
            patterns.remove(0);
        }
        patterns.push(Kept { pattern: pattern.to_owned(), options, regex: regex.clone() });
        Ok(regex)
    })
}

/// Which match a function is about.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence {
    /// The character where the search begins, from 1.
    pub start: i64,
    /// The number of the match, from 1.
    pub number: i64,
    /// The group that is asked for; 0 for the match.
    pub group: i64,
}

impl Occurrence {
    fn check(&self) -> Result<()> {
        check("start", self.start, 1)?;
        check("n", self.number, 1)?;
        check("subexpr", self.group, 0)
    }
}

fn check(parameter: &str, value: i64, least: i64) -> Result<()> {
    if value >= least {
        return Ok(());
    }
    let message = format!("invalid value for parameter \"{parameter}\": {value}");
    Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
}

/// Whether the pattern matches anywhere.
pub fn is_match(text: &str, pattern: &str, options: Options) -> Result<bool> {
    compiled(pattern, options)?.is_match(text)
}

/// Whether the pattern matches the whole text.
pub fn is_whole(text: &str, pattern: &str, options: Options) -> Result<bool> {
    // The pattern may have options of its own, which must stay at its beginning.
    if pattern.starts_with("(?") || pattern.starts_with("***") {
        return Ok(compiled(pattern, options)?.find(text, 0)? == Some((0, text.len())));
    }
    compiled(&format!("\\A(?:{pattern})\\Z"), options)?.is_match(text)
}

/// How many matches follow each other, from the character `start` on.
pub fn count(text: &str, pattern: &str, start: i64, options: Options) -> Result<i64> {
    check("start", start, 1)?;
    let regex = compiled(pattern, options)?;
    let (mut count, mut from) = (0, byte_of(text, start));
    while let Some(at) = from {
        let Some(found) = regex.find(text, at)? else { break };
        (count, from) = (count + 1, behind(text, found));
        goes_on(count)?;
    }
    Ok(count)
}

/// The place, counted in characters from 1, where the match begins, or of what follows it (`end`); 0 if there is none.
pub fn instr(text: &str, pattern: &str, which: Occurrence, end: bool, options: Options) -> Result<i64> {
    let Some((from, to)) = occurrence(text, pattern, which, options)? else { return Ok(0) };
    Ok(string::length(&text[..if end { to } else { from }]) + 1)
}

/// The text of a match, or of a group in it.
pub fn substring<'t>(text: &'t str, pattern: &str, which: Occurrence, options: Options) -> Result<Option<&'t str>> {
    Ok(occurrence(text, pattern, which, options)?.map(|(from, to)| &text[from..to]))
}

/// `substring(text from pattern)`: the first group, if there are groups.
pub fn substring_of_group<'t>(text: &'t str, pattern: &str) -> Result<Option<&'t str>> {
    let regex = compiled(pattern, Options::default())?;
    let place = match regex.groups() {
        0 => regex.find(text, 0)?,
        _ => regex.captures(text, 0)?.and_then(|places| places[1]),
    };
    Ok(place.map(|(from, to)| &text[from..to]))
}

/// The groups of the first match, or the match if there are no groups; none if the pattern does not match.
pub fn first_match<'t>(text: &'t str, pattern: &str, options: Options) -> Result<Option<Vec<Option<&'t str>>>> {
    let regex = compiled(pattern, options)?;
    let part = |place: Option<Place>| place.map(|(from, to)| &text[from..to]);
    Ok(match regex.groups() {
        0 => regex.find(text, 0)?.map(|place| vec![part(Some(place))]),
        _ => regex.captures(text, 0)?.map(|places| places.into_iter().skip(1).map(part).collect()),
    })
}

/// The groups of each match, as [`first_match`] gives them: of all matches if the options say so, else of the first.
pub fn each_match<'t>(
    text: &'t str,
    pattern: &str,
    options: Options,
    each: &mut dyn FnMut(Vec<Option<&'t str>>) -> Result<()>,
) -> Result<()> {
    let regex = compiled(pattern, options)?;
    let part = |place: Option<Place>| place.map(|(from, to)| &text[from..to]);
    let (mut from, mut count) = (Some(0), 0);
    while let Some(at) = from {
        let Some(found) = regex.find(text, at)? else { break };
        each(match regex.groups() {
            0 => vec![part(Some(found))],
            _ => regex.captures(text, at)?.into_iter().flatten().skip(1).map(part).collect(),
        })?;
        from = behind(text, found).filter(|_| options.global);
        count += 1;
        goes_on(count)?;
    }
    Ok(())
}

/// DuckDB's extraction of a group: nothing if the pattern does not match, or the group took no part.
pub fn extract<'t>(text: &'t str, pattern: &str, group: i64, options: Options) -> Result<&'t str> {
    let regex = compiled(pattern, options)?;
    let place = match usize::try_from(group) {
        Ok(0) => regex.find(text, 0)?,
        Ok(group) if group <= regex.groups() => regex.captures(text, 0)?.and_then(|places| places[group]),
        _ => return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("the pattern has no group {group}"))),
    };
    Ok(place.map_or("", |(from, to)| &text[from..to]))
}

/// The parts of a text between matches, in order. Empty matches at an end of the text, or right behind another match, separate
/// nothing.
pub fn split<'t>(
    text: &'t str,
    pattern: &str,
    options: Options,
    part: &mut dyn FnMut(&'t str) -> Result<()>,
) -> Result<()> {
    let regex = compiled(pattern, options)?;
    let (mut begin, mut from, mut count) = (0, Some(0), 0);
    while let Some(at) = from {
        let Some(found) = regex.find(text, at)? else { break };
        from = behind(text, found);
        count += 1;
        goes_on(count)?;
        if found.1 > found.0 || found.0 > begin && found.1 < text.len() {
            part(&text[begin..found.0])?;
            begin = found.1;
        }
    }
    part(&text[begin..])
}

/// All matches, or a group of each: nothing of one in which it took no part.
pub fn extract_all<'t>(
    text: &'t str,
    pattern: &str,
    group: i64,
    options: Options,
    part: &mut dyn FnMut(&'t str) -> Result<()>,
) -> Result<()> {
    let regex = compiled(pattern, options)?;
    let group = usize::try_from(group)
        .ok()
        .filter(|group| *group <= regex.groups())
        .ok_or_else(|| Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("the pattern has no group {group}")))?;
    let (mut from, mut count) = (Some(0), 0);
    while let Some(at) = from {
        let Some(found) = regex.find(text, at)? else { break };
        let place = match group {
            0 => Some(found),
            _ => regex.captures(text, at)?.and_then(|places| places[group]),
        };
        part(place.map_or("", |(from, to)| &text[from..to]))?;
        from = behind(text, found);
        count += 1;
        goes_on(count)?;
    }
    Ok(())
}

fn occurrence(text: &str, pattern: &str, which: Occurrence, options: Options) -> Result<Option<Place>> {
    which.check()?;
    let regex = compiled(pattern, options)?;
    let (mut number, mut from) = (1, byte_of(text, which.start));
    while let Some(at) = from {
        let Some(found) = regex.find(text, at)? else { break };
        if number == which.number {
            return match usize::try_from(which.group) {
                Ok(0) => Ok(Some(found)),
                Ok(group) => Ok(regex.captures(text, at)?.and_then(|places| places.get(group).copied().flatten())),
                Err(_) => Ok(None),
            };
        }
        (number, from) = (number + 1, behind(text, found));
        goes_on(number)?;
    }
    Ok(None)
}

/// The text with matches replaced: the `number`-th, or all (0), from the character `start` on.
pub fn replace(
    text: &str,
    pattern: &str,
    replacement: &str,
    start: i64,
    number: i64,
    options: Options,
) -> Result<String> {
    check("start", start, 1)?;
    check("n", number, 0)?;
    let mut made = String::new();
    replace_to(text, pattern, replacement, (start, number), options, &mut made)?;
    Ok(made)
}

/// Writes it into `made`; false if that has nothing of use, as there is no match.
pub fn replace_to(
    text: &str,
    pattern: &str,
    replacement: &str,
    (start, number): (i64, i64),
    options: Options,
    made: &mut String,
) -> Result<bool> {
    let regex = compiled(pattern, options)?;
    let parts = Replacement(replacement);
    let groups = parts.wants_groups() && regex.groups() > 0;
    let (mut seen, mut done, mut from) = (0, 0, byte_of(text, start));
    while let Some(at) = from {
        let places = if groups { regex.captures(text, at)? } else { regex.find(text, at)?.map(|f| vec![Some(f)]) };
        let Some((places, found)) = places.and_then(|p| p[0].map(|found| (p, found))) else { break };
        seen += 1;
        from = behind(text, found);
        goes_on(seen)?;
        if number > 0 && seen != number {
            continue;
        }
        made.push_str(&text[done..found.0]);
        parts.write(text, &places, made)?;
        done = found.1;
        if number > 0 {
            break;
        }
    }
    made.push_str(&text[done..]);
    Ok(true)
}

/// A replacement: `\1` to `\9` and `\&` stand for what was matched.
struct Replacement<'r>(&'r str);

impl Replacement<'_> {
    fn wants_groups(&self) -> bool {
        self.0.as_bytes().windows(2).any(|two| two[0] == b'\\' && matches!(two[1], b'1'..=b'9'))
    }

    fn write(&self, text: &str, places: &[Option<Place>], made: &mut String) -> Result<()> {
        let mut rest = self.0;
        while let Some(at) = rest.find('\\') {
            made.push_str(&rest[..at]);
            let place = |number: usize| places.get(number).copied().flatten();
            let next = rest.as_bytes().get(at + 1);
            let taken = match next {
                Some(digit @ b'1'..=b'9') => place(usize::from(digit - b'0')),
                Some(b'&') => place(0),
                _ => None,
            };
            if let Some((from, to)) = taken {
                made.push_str(&text[from..to]);
            }
            // Any other backslash is itself.
            let known = matches!(next, Some(b'1'..=b'9' | b'&' | b'\\'));
            if !known || next == Some(&b'\\') {
                made.push('\\');
            }
            rest = &rest[at + 1 + usize::from(known)..];
        }
        made.push_str(rest);
        string::check_length(made.len())
    }
}

/// The byte where the character of that number begins; none if it is more than one behind the last.
fn byte_of(text: &str, number: i64) -> Option<usize> {
    let before = usize::try_from(number - 1).ok()?;
    text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(before)
}

/// Where the next search begins: behind the match; behind the next character, if it was empty.
fn behind(text: &str, (from, to): Place) -> Option<usize> {
    if from < to {
        return Some(to);
    }
    text[to..].chars().next().map(|c| to + c.len_utf8())
}

/// Asks now and then whether the statement goes on.
fn goes_on(count: i64) -> Result<()> {
    if count & 0xffff == 0 { statement::check() } else { Ok(()) }
}
