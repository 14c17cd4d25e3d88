//! Sequences: numbers that are handed out once each, whatever becomes of the statement that asked.
//!
//! A call names its sequence and its session by numbers of the process, which plans and code carry as constants; what they name
//! is found in one table. Sequences that are gone are errors there, so that code may outlive them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use base::{Error, Result, SqlState};
use types::SqlType;

/// The sequence has no next value.
const LIMIT_EXCEEDED: SqlState = SqlState("2200H");
/// No value was asked for yet.
const NOT_DEFINED_YET: SqlState = SqlState("55000");

/// Sequences by number.
static SEQUENCES: Mutex<Option<HashMap<i64, Weak<Sequence>>>> = Mutex::new(None);
/// What sessions were given, by number.
static SESSIONS: Mutex<Option<HashMap<i64, Given>>> = Mutex::new(None);
static NEXT_NUMBER: AtomicI64 = AtomicI64::new(1);

/// What a sequence is declared as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// `smallint`, `integer` or `bigint`.
    pub sql_type: SqlType,
    /// The first value.
    pub start: i64,
    /// What is added each time; never 0.
    pub increment: i64,
    /// The least value.
    pub min: i64,
    /// The greatest value.
    pub max: i64,
    /// How many values PostgreSQL would take at a time; here it changes nothing.
    pub cache: i64,
    /// Whether it begins again at its end.
    pub cycle: bool,
}

/// A sequence.
#[derive(Debug)]
pub struct Sequence {
    number: i64,
    state: Mutex<State>,
}

/// What a sequence is declared as, and how far it has come.
#[derive(Clone, Debug)]
pub struct State {
    name: String,
    shape: Shape,
    last: i64,
    /// Whether `last` has been handed out.
    is_called: bool,
}

/// The values that a session was given.
#[derive(Debug, Default)]
struct Given {
    by_sequence: HashMap<i64, i64>,
    /// The sequence that was asked last.
    last: Option<i64>,
}

/// A session as sequences know it; they forget it when this is dropped.
#[derive(Debug)]
pub struct SequenceSession(i64);

impl Default for SequenceSession {
    fn default() -> Self {
        Self(NEXT_NUMBER.fetch_add(1, Ordering::Relaxed))
    }
}

impl SequenceSession {
    /// The number that calls name it by.
    pub fn number(&self) -> i64 {
        self.0
    }
}

impl Drop for SequenceSession {
    fn drop(&mut self) {
        lock(&SESSIONS).get_or_insert_default().remove(&self.0);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PartialEq for Sequence {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Drop for Sequence {
    fn drop(&mut self) {
        lock(&SEQUENCES).get_or_insert_default().remove(&self.number);
    }
}

impl Sequence {
    /// A sequence that has handed out nothing yet. The name is for messages.
    pub fn new(name: impl Into<String>, shape: Shape) -> Arc<Self> {
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        let state = State { name: name.into(), shape, last: shape.start, is_called: false };
        let sequence = Arc::new(Self { number, state: Mutex::new(state) });
        lock(&SEQUENCES).get_or_insert_default().insert(number, Arc::downgrade(&sequence));
        sequence
    }

    /// The number that calls name it by.
    pub fn number(&self) -> i64 {
        self.number
    }

    /// What it is declared as.
    pub fn shape(&self) -> Shape {
        lock(&self.state).shape
    }

    /// Its name.
    pub fn name(&self) -> String {
        lock(&self.state).name.clone()
    }

    /// The value that was handed out last, or will be first, and whether it was handed out.
    pub fn last(&self) -> (i64, bool) {
        let state = lock(&self.state);
        (state.last, state.is_called)
    }

    /// Gives it another name.
    pub fn rename(&self, name: &str) {
        lock(&self.state).name = name.to_owned();
    }

    /// Declares it anew; with a value, it begins again there. Returns what it was. 22023 if its last value is outside then.
    pub fn alter(&self, shape: Shape, restart: Option<i64>) -> Result<State> {
        let mut state = lock(&self.state);
        let before = state.clone();
        let (last, is_called) = restart.map_or((state.last, state.is_called), |value| (value, false));
        check_bounds("RESTART value", last, &shape)?;
        (state.shape, state.last, state.is_called) = (shape, last, is_called);
        Ok(before)
    }

    /// It is again what it was, but for its name.
    pub fn restore(&self, before: State) {
        let mut state = lock(&self.state);
        (state.shape, state.last, state.is_called) = (before.shape, before.last, before.is_called);
    }

    fn numbered(number: i64) -> Result<Arc<Self>> {
        let found = lock(&SEQUENCES).get_or_insert_default().get(&number).and_then(Weak::upgrade);
        found.ok_or_else(|| Error::new(SqlState::UNDEFINED_TABLE, "the sequence does not exist any more"))
    }

    fn take(&self) -> Result<i64> {
        let mut state = lock(&self.state);
        let next = state.next()?;
        (state.last, state.is_called) = (next, true);
        Ok(next)
    }
}

impl State {
    fn next(&self) -> Result<i64> {
        if !self.is_called {
            return Ok(self.last);
        }
        let Shape { increment, min, max, cycle, .. } = self.shape;
        let ascends = increment > 0;
        match self.last.checked_add(increment).filter(|next| (min..=max).contains(next)) {
            Some(next) => Ok(next),
            None if cycle => Ok(if ascends { min } else { max }),
            None => {
                let (which, bound) = if ascends { ("maximum", max) } else { ("minimum", min) };
                let message = format!("nextval: reached {which} value of sequence \"{}\" ({bound})", self.name);
                Err(Error::new(LIMIT_EXCEEDED, message))
            }
        }
    }
}

/// 22023 if a value is not one of the sequence.
pub fn check_bounds(word: &str, value: i64, shape: &Shape) -> Result<()> {
    let wrong = |message: String| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    if value < shape.min {
        return wrong(format!("{word} ({value}) cannot be less than MINVALUE ({})", shape.min));
    }
    if value > shape.max {
        return wrong(format!("{word} ({value}) cannot be greater than MAXVALUE ({})", shape.max));
    }
    Ok(())
}

fn give(session: i64, sequence: i64, value: i64, is_asked: bool) {
    let mut all = lock(&SESSIONS);
    let given = all.get_or_insert_default().entry(session).or_default();
    given.by_sequence.insert(sequence, value);
    if is_asked {
        given.last = Some(sequence);
    }
}

/// `nextval`.
pub(crate) fn next(sequence: i64, session: i64) -> Result<i64> {
    let value = Sequence::numbered(sequence)?.take()?;
    give(session, sequence, value, true);
    Ok(value)
}

/// `currval`: 55000 if the session was given no value of it.
pub(crate) fn current(sequence: i64, session: i64) -> Result<i64> {
    let found = Sequence::numbered(sequence)?;
    let given =
        lock(&SESSIONS).get_or_insert_default().get(&session).and_then(|g| g.by_sequence.get(&sequence).copied());
    given.ok_or_else(|| {
        let message = format!("currval of sequence \"{}\" is not yet defined in this session", found.name());
        Error::new(NOT_DEFINED_YET, message)
    })
}

/// `lastval`: of the sequence that the session asked last.
pub(crate) fn last(session: i64) -> Result<i64> {
    let mut all = lock(&SESSIONS);
    let given = all.get_or_insert_default().get(&session);
    let value = given.and_then(|g| g.last.and_then(|sequence| g.by_sequence.get(&sequence).copied()));
    value.ok_or_else(|| Error::new(NOT_DEFINED_YET, "lastval is not yet defined in this session"))
}

/// `setval`: the value is the last one that was handed out, or the next one.
pub(crate) fn set(sequence: i64, session: i64, value: i64, is_called: bool) -> Result<i64> {
    let found = Sequence::numbered(sequence)?;
    {
        let mut state = lock(&found.state);
        let Shape { min, max, .. } = state.shape;
        if !(min..=max).contains(&value) {
            let name = &state.name;
            let message = format!("setval: value {value} is out of bounds for sequence \"{name}\" ({min}..{max})");
            return Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message));
        }
        (state.last, state.is_called) = (value, is_called);
    }
    if is_called {
        give(session, sequence, value, false);
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(increment: i64, min: i64, max: i64, cycle: bool) -> Shape {
        let start = if increment > 0 { min } else { max };
        Shape { sql_type: SqlType::BigInt, start, increment, min, max, cache: 1, cycle }
    }

    #[test]
    fn values_end_at_the_bounds_or_begin_again() {
        let session = SequenceSession::default();
        let up = Sequence::new("up", shape(2, 1, 4, false));
        let take = |s: &Sequence| next(s.number(), session.number());
        assert_eq!((take(&up), take(&up)), (Ok(1), Ok(3)));
        assert_eq!(take(&up).unwrap_err().message(), "nextval: reached maximum value of sequence \"up\" (4)");
        let down = Sequence::new("down", shape(-3, -5, -1, true));
        assert_eq!([take(&down), take(&down), take(&down)], [Ok(-1), Ok(-4), Ok(-1)]);
        let edge = Sequence::new("edge", shape(1, i64::MAX - 1, i64::MAX, false));
        assert!(take(&edge).is_ok() && take(&edge).is_ok());
        assert_eq!(take(&edge).unwrap_err().state(), LIMIT_EXCEEDED);
    }

    #[test]
    fn sessions_know_what_they_were_given() {
        let (one, other) = (SequenceSession::default(), SequenceSession::default());
        let sequence = Sequence::new("s", shape(1, 1, 9, false));
        let number = sequence.number();
        assert_eq!(current(number, one.number()).unwrap_err().state(), NOT_DEFINED_YET);
        assert_eq!(next(number, one.number()), Ok(1));
        assert_eq!(next(number, other.number()), Ok(2));
        assert_eq!((current(number, one.number()), last(one.number())), (Ok(1), Ok(1)));
        assert_eq!(set(number, one.number(), 5, false), Ok(5));
        assert_eq!((current(number, one.number()), sequence.last()), (Ok(1), (5, false)));
        assert_eq!(set(number, one.number(), 10, true).unwrap_err().state(), SqlState::NUMERIC_OUT_OF_RANGE);
        let forgotten = one.number();
        drop(one);
        assert!(last(forgotten).is_err() && last(other.number()).is_ok());
        drop(sequence);
        assert_eq!(next(number, other.number()).unwrap_err().state(), SqlState::UNDEFINED_TABLE);
    }

    #[test]
    fn what_is_altered_holds_its_last_value() {
        let sequence = Sequence::new("s", shape(1, 1, 9, false));
        set(sequence.number(), 0, 7, true).unwrap();
        assert!(sequence.alter(shape(1, 1, 5, false), None).is_err());
        assert!(sequence.alter(shape(1, 1, 5, false), Some(2)).is_ok());
        assert_eq!(sequence.last(), (2, false));
    }
}
