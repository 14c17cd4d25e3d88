//! Generators, one tuple after the other: each that has begun keeps a cursor, so that a body need not be run by recursion
//! and can stop between two deliveries.

use base::SqlState;
use pipeline::ir::{Callee, Inst, Match, MatchCondition, MatchKind, Pipeline, RepeatedElement, StateId};
use runtime::abi::Slot;

use super::operation::bool_slot;
use super::rows::{join_table, next_in_chain};
use super::{Interpreter, Run};
use crate::messages;

/// A generator that has begun.
#[derive(Debug)]
struct Cursor {
    /// Number of its instruction in the body.
    at: usize,
    /// The limit that its deliveries come to.
    limit: Option<StateId>,
    /// The build row that is looked at next, 0 behind the last one; of a repetition, how many deliveries there will be.
    next: u64,
    /// Matches, or deliveries, so far.
    matches: u64,
    /// Whether a condition was NULL.
    null: bool,
    /// Whether what follows the last candidate was delivered.
    finished: bool,
}

/// What a generator says when it is asked for its next delivery.
enum Delivery {
    /// The rest of the body is to be run.
    Tuple,
    /// There is none.
    End,
    /// The worker's steps are used up.
    Pause,
}

/// Where a batch has paused: its tuple, the generators that have begun, and all values.
#[derive(Debug)]
struct Paused {
    tuple: usize,
    cursors: Vec<Cursor>,
    values: Vec<Slot>,
}

impl<'a> Interpreter<'a> {
    /// Runs a pipeline's body for every tuple of the batch, or goes on with it; true if it has paused.
    pub(super) fn batch(&mut self, pipeline: &'a Pipeline, count: usize) -> Run<bool> {
        let mut cursors = self.take_up();
        let body = &pipeline.body;
        loop {
            let from = match cursors.last_mut() {
                None if self.tuple == count => return Ok(false),
                None => {
                    if pipeline.operator.is_some() {
                        self.worker.now_working_for(pipeline.operator_at(0));
                    }
                    0
                }
                Some(cursor) => match self.deliver(cursor, &body[cursor.at])? {
                    Delivery::Tuple => cursor.at + 1,
                    Delivery::End => {
                        cursors.pop();
                        self.tuple += usize::from(cursors.is_empty());
                        continue;
                    }
                    Delivery::Pause => {
                        let values = std::mem::take(&mut self.values);
                        let paused = Paused { tuple: self.tuple, cursors, values };
                        self.worker.inner.interpreted = Some(Box::new(paused));
                        return Ok(true);
                    }
                },
            };
            match self.line(&body[from..])? {
                Some(generator) => cursors.push(self.begin(body, from + generator)),
                None => self.tuple += usize::from(cursors.is_empty()),
            }
        }
    }

    /// Goes on where the batch has paused, if it has.
    fn take_up(&mut self) -> Vec<Cursor> {
        let Some(paused) = self.worker.inner.interpreted.take() else { return Vec::new() };
        let Paused { tuple, cursors, values } = *paused.downcast().expect("nobody else stores anything there");
        (self.tuple, self.values) = (tuple, values);
        cursors
    }

    fn begin(&self, body: &[Inst], at: usize) -> Cursor {
        let next = match &body[at] {
            Inst::Match(m) if m.active.is_none_or(|v| self.bool(v)) => {
                let table = join_table(self.worker, m.state);
                table.first(table.in_rows(self.get(m.hash).0[0])) as u64
            }
            Inst::Repeat { times, .. } => (self.get(*times).0[0] as i64).max(0) as u64,
            _ => 0,
        };
        let limit = body[at + 1..].iter().find_map(Inst::limit);
        Cursor { at, limit, next, matches: 0, null: false, finished: false }
    }

    fn deliver(&mut self, cursor: &mut Cursor, generator: &Inst) -> Run<Delivery> {
        loop {
            if cursor.limit.is_some_and(|limit| self.worker.is_exhausted(limit)) {
                cursor.next = 0;
            }
            if cursor.next == 0 {
                return Ok(match generator {
                    Inst::Match(m) if !cursor.finished && self.finish(cursor, m) => Delivery::Tuple,
                    _ => Delivery::End,
                });
            }
            let Some(steps) = self.worker.steps.checked_sub(1) else { return Ok(Delivery::Pause) };
            self.worker.steps = steps;
            let is_delivery = match generator {
                Inst::Match(m) => self.candidate(cursor, m)?,
                _ => {
                    if let Inst::Repeat { index, elements, .. } = generator {
                        self.set(*index, Slot([cursor.matches, 0]));
                        elements.iter().try_for_each(|element| self.element(element, cursor.matches))?;
                    }
                    cursor.next -= 1;
                    cursor.matches += 1;
                    true
                }
            };
            if is_delivery {
                return Ok(Delivery::Tuple);
            }
        }
    }

    /// The element of a list that goes with a copy.
    fn element(&mut self, element: &RepeatedElement, copy: u64) -> Run {
        let RepeatedElement { list, missing, site, value, null } = *element;
        if missing.is_some_and(|missing| self.bool(missing)) {
            self.set(value, Slot::default());
            self.set(null, Slot::bool(true));
            return Ok(());
        }
        let args = [self.get(list), Slot::integer((copy + 1).into())];
        let callee = Callee::Subscript(site, self.vars[value]);
        self.call_with(&[value, null], callee, &args, None)
    }

    /// Looks at the next row of the chain: whether it is a pair that the rest of the body sees.
    fn candidate(&mut self, cursor: &mut Cursor, m: &Match) -> Run<bool> {
        let entry = cursor.next as *mut u8;
        let table = join_table(self.worker, m.state);
        let (next, word) = match table.has_payloads() {
            true => (std::ptr::null_mut(), table.in_rows(self.get(m.hash).0[0])),
            // SAFETY: the cursor walks the chain of a finished table.
            false => unsafe { next_in_chain(entry) },
        };
        cursor.next = next as u64;
        if table.has_ranges() {
            if m.until.is_some_and(|until| (word as i64) < self.get(until).0[0] as i64) {
                cursor.next = 0;
                return Ok(false);
            }
        } else if word != table.in_rows(self.get(m.hash).0[0]) {
            return Ok(false);
        }
        self.set(m.entry, Slot([entry as u64, 0]));
        let (is_true, is_null) = self.judge(m.condition.as_ref())?;
        cursor.null |= is_null;
        if !is_true {
            return Ok(false);
        }
        cursor.matches += 1;
        if let Some(marker) = m.marker {
            // SAFETY: the marker lies in the build row; all writers write the same byte.
            unsafe { entry.add(marker as usize).write(1) };
        }
        let first = cursor.matches == 1;
        match m.kind {
            MatchKind::Inner | MatchKind::Left => Ok(true),
            MatchKind::Semi => Ok(first),
            MatchKind::Single { .. } if first => Ok(true),
            MatchKind::Single { position } => {
                self.raise(SqlState::CARDINALITY_VIOLATION, messages::MORE_THAN_ONE_ROW, position)
            }
            MatchKind::Anti | MatchKind::Mark { .. } => Ok(false),
        }
    }

    /// Whether the rest of the body sees the tuple once more, behind all candidates.
    fn finish(&mut self, cursor: &mut Cursor, m: &Match) -> bool {
        cursor.finished = true;
        let matched = cursor.matches > 0;
        match m.kind {
            MatchKind::Left | MatchKind::Single { .. } if !matched => {
                self.set(m.entry, Slot::default());
                true
            }
            MatchKind::Anti => !matched,
            MatchKind::Mark { is_true, is_null } => {
                self.set(is_true, bool_slot(matched));
                self.set(is_null, bool_slot(!matched && cursor.null));
                true
            }
            _ => false,
        }
    }

    /// Whether the condition is true for an entry, and whether it is NULL.
    fn judge(&mut self, condition: Option<&MatchCondition>) -> Run<(bool, bool)> {
        let Some(c) = condition else { return Ok((true, false)) };
        self.block(&c.block)?;
        Ok((self.bool(c.is_true), c.is_null.is_some_and(|v| self.bool(v))))
    }
}
