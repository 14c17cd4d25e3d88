//! Enumerated types: names for numbers that are ordered as the names were declared.
//!
//! A value lies in memory as its code, an integer, so that whatever compares, hashes, sorts and freezes integers does that with
//! enums too. Codes are [`GAP`] apart as they are declared, and a label that is put between two others gets the code
//! in the middle: codes never change, and none is ever used again.
//!
//! Labels can be added and renamed while the type is in use. Whoever needs a text looks the label up as it is then, so a type
//! is known by its number alone, and there is one [`EnumType`] for each that was ever made, which is kept for ever.

use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use base::{Error, Result, SqlState};

/// How far apart codes are that were declared one behind the other: as often as it can be halved, labels can come in
/// between at the same place.
const GAP: i32 = 1 << 10;
/// Longest label in bytes, as in PostgreSQL.
const MAX_LABEL: usize = 63;

const INVALID_NAME: SqlState = SqlState("42602");

/// An enumerated type.
#[derive(Debug)]
pub struct EnumType {
    number: u32,
    labels: RwLock<&'static Labels>,
}

/// What a type is called and what its values are, at one moment.
#[derive(Debug)]
pub struct Labels {
    /// The name of the type.
    pub name: String,
    /// Codes and labels, in their order.
    ordered: Vec<(i32, String)>,
    codes: HashMap<String, i32>,
}

/// Where a label is put.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// Behind all others.
    Last,
    /// Before a label.
    Before(String),
    /// Behind a label.
    After(String),
}

impl PartialEq for EnumType {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl Eq for EnumType {}
impl Hash for EnumType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

/// The types of names, the last one of each: what the text forms of plans and pipelines refer to.
static NAMED: Mutex<BTreeMap<String, &'static EnumType>> = Mutex::new(BTreeMap::new());

impl EnumType {
    /// A new type. It is kept for ever: types of values are copied freely.
    pub fn new(labels: &'static Labels) -> &'static Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let new: &'static Self = Box::leak(Box::new(Self { number, labels: RwLock::new(labels) }));
        new.enter_name();
        new
    }

    /// The last type that got that name, if there is one.
    pub fn named(name: &str) -> Option<&'static Self> {
        NAMED.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied()
    }

    fn enter_name(&'static self) {
        let name = self.labels().name.clone();
        NAMED.lock().unwrap_or_else(PoisonError::into_inner).insert(name, self);
    }

    /// What tells it from all others.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Its labels as they are now.
    pub fn labels(&self) -> &'static Labels {
        *self.labels.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on these are its labels.
    pub fn set_labels(&'static self, labels: &'static Labels) {
        *self.labels.write().unwrap_or_else(PoisonError::into_inner) = labels;
        self.enter_name();
    }
}

impl Labels {
    /// Those of a new type; error 42602 for labels that are too long or empty, 23505 for those that come twice.
    pub fn new(name: &str, labels: &[String]) -> Result<&'static Self> {
        let mut ordered = Vec::with_capacity(labels.len());
        for (number, label) in labels.iter().enumerate() {
            check_label(label)?;
            let code = i32::try_from(number).ok().and_then(|n| n.checked_mul(GAP)).ok_or_else(no_room)?;
            ordered.push((code, label.clone()));
        }
        let all = Self::of(name, ordered);
        if all.codes.len() == labels.len() {
            return Ok(all);
        }
        let twice = labels.iter().enumerate().find(|(at, label)| labels[..*at].contains(label));
        let label = twice.map_or("", |(_, label)| label);
        Err(Error::new(SqlState::UNIQUE_VIOLATION, format!("enum label \"{label}\" is declared more than once")))
    }

    fn of(name: &str, ordered: Vec<(i32, String)>) -> &'static Self {
        let codes = ordered.iter().map(|(code, label)| (label.clone(), *code)).collect();
        Box::leak(Box::new(Self { name: name.to_owned(), ordered, codes }))
    }

    /// The label of a code.
    pub fn label(&self, code: i32) -> Option<&str> {
        let at = self.ordered.binary_search_by_key(&code, |(code, _)| *code).ok()?;
        Some(&self.ordered[at].1)
    }

    /// The code of a label.
    pub fn code(&self, label: &str) -> Option<i32> {
        self.codes.get(label).copied()
    }

    /// Codes and labels, in their order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (i32, &str)> + ExactSizeIterator {
        self.ordered.iter().map(|(code, label)| (*code, label.as_str()))
    }

    /// With another name of the type.
    pub fn named(&self, name: &str) -> &'static Self {
        Self::of(name, self.ordered.clone())
    }

    /// With one more label: 42710 if there is one of that name, 22023 if there is none where it is to be put.
    pub fn with(&self, label: &str, place: &Place) -> Result<&'static Self> {
        check_label(label)?;
        if self.codes.contains_key(label) {
            return Err(taken(label));
        }
        let at = match place {
            Place::Last => self.ordered.len(),
            Place::Before(next) => self.position(next)?,
            Place::After(previous) => self.position(previous)? + 1,
        };
        let mut ordered = self.ordered.clone();
        let code = |at: usize| self.ordered.get(at).map(|(code, _)| *code);
        let new = match (at.checked_sub(1).and_then(code), code(at)) {
            (None, None) => 0,
            (None, Some(first)) => first.checked_sub(GAP).ok_or_else(no_room)?,
            (Some(last), None) => last.checked_add(GAP).ok_or_else(no_room)?,
            (Some(before), Some(after)) if after - before < 2 => return Err(no_room()),
            (Some(before), Some(after)) => before + (after - before) / 2,
        };
        ordered.insert(at, (new, label.to_owned()));
        Ok(Self::of(&self.name, ordered))
    }

    /// With another label in the place of one: 22023 if there is none of that name, 42710 if there is one of the new one.
    pub fn renamed(&self, from: &str, to: &str) -> Result<&'static Self> {
        check_label(to)?;
        let at = self.position(from)?;
        if self.codes.contains_key(to) {
            return Err(taken(to));
        }
        let mut ordered = self.ordered.clone();
        ordered[at].1 = to.to_owned();
        Ok(Self::of(&self.name, ordered))
    }

    fn position(&self, label: &str) -> Result<usize> {
        let found = self.ordered.iter().position(|(_, known)| known == label);
        found.ok_or_else(|| {
            let message = format!("\"{label}\" is not an existing enum label");
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        })
    }
}

fn check_label(label: &str) -> Result<()> {
    if !label.is_empty() && label.len() <= MAX_LABEL {
        return Ok(());
    }
    let detail = format!("Labels must be {MAX_LABEL} bytes or less, and have a character.");
    Err(Error::new(INVALID_NAME, format!("invalid enum label \"{label}\"")).detail(detail))
}

#[cold]
fn taken(label: &str) -> Error {
    Error::new(SqlState::DUPLICATE_OBJECT, format!("enum label \"{label}\" already exists"))
}

#[cold]
fn no_room() -> Error {
    Error::new(SqlState::PROGRAM_LIMIT, "the enum has no room for another label at that place")
        .hint("make a type with all labels, and change columns to it: ALTER COLUMN ... TYPE new USING old::text::new")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(all: &[&str]) -> &'static Labels {
        let all: Vec<String> = all.iter().map(|l| (*l).to_owned()).collect();
        Labels::new("mood", &all).unwrap()
    }

    fn names(labels: &Labels) -> Vec<&str> {
        labels.iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn codes_stay_while_labels_come() {
        let few = labels(&["sad", "ok"]);
        let (sad, ok) = (few.code("sad").unwrap(), few.code("ok").unwrap());
        let more = few.with("happy", &Place::Last).unwrap().with("dead", &Place::Before("sad".into())).unwrap();
        let more = more.with("meh", &Place::After("sad".into())).unwrap();
        assert_eq!(names(more), ["dead", "sad", "meh", "ok", "happy"]);
        assert_eq!((more.code("sad"), more.label(ok)), (Some(sad), Some("ok")));
        let codes: Vec<i32> = more.iter().map(|(code, _)| code).collect();
        assert!(codes.is_sorted_by(|a, b| a < b));
        let renamed = more.renamed("meh", "so so").unwrap();
        assert_eq!((renamed.code("meh"), renamed.code("so so")), (None, more.code("meh")));
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        let few = labels(&["a", "b"]);
        let state = |result: Result<&'static Labels>| result.unwrap_err().state().0;
        assert_eq!(state(few.with("a", &Place::Last)), "42710");
        assert_eq!(state(few.with("c", &Place::After("x".into()))), "22023");
        assert_eq!(state(few.with(&"x".repeat(64), &Place::Last)), "42602");
        assert_eq!(state(few.renamed("x", "y")), "22023");
        assert_eq!(state(few.renamed("a", "b")), "42710");
        assert_eq!(state(Labels::new("t", &["a".into(), "a".into()])), "23505");
        let mut between = few;
        let room = std::iter::from_fn(|| {
            between = between.with(&format!("{}", between.iter().len()), &Place::After("a".into())).ok()?;
            Some(())
        });
        assert_eq!(room.count(), 10);
    }

    #[test]
    fn a_type_is_its_number() {
        let (one, other) = (EnumType::new(labels(&["a"])), EnumType::new(labels(&["a"])));
        assert_ne!(one, other);
        one.set_labels(one.labels().named("renamed"));
        assert_eq!(EnumType::named("renamed"), Some(one));
    }
}
