//! Precision locking (Neumann, Mühlbauer and Kemper, SIGMOD 2015, 2.3): a transaction may commit if nothing that others have
//! committed since its moment would have changed what it has read.
//!
//! Its reads are predicates. Rows that others have inserted must not satisfy them; rows that others have changed or deleted
//! must satisfy them neither as they were nor as they are now. A row that its primary key has found stands for itself: as long as
//! nobody deletes it, which every change of its key does, there is no other with that key.

use std::sync::{Arc, Mutex};

use base::{Error, Result, SqlState};

use crate::bits::Bits;
use crate::clock::{Clock, Committed, Conflict, Recent, View, What, Written};
use crate::lock::lock;
use crate::relation::Relation;
use crate::{RowId, ScanPredicate, Scratch, WINDOW};

/// A transaction that reads rows by their keys does so in about so many statements that differ.
const USUAL_KINDS: usize = 16;

/// What a transaction has read.
#[derive(Debug, Default)]
pub struct Reads(Mutex<Vec<Read>>);

/// Rows of a relation of which it has seen some attributes.
#[derive(Debug)]
struct Read {
    relation: Arc<Relation>,
    which: Which,
    /// In order.
    attributes: Arc<[usize]>,
}

#[derive(Debug)]
enum Which {
    /// Those that satisfy predicates.
    Satisfying(Arc<[ScanPredicate]>),
    /// Those that their primary keys have found.
    Rows(Vec<RowId>),
}

impl Reads {
    /// Rows of a relation that satisfy the predicates are read: these attributes of them.
    pub fn note(
        &self,
        relation: &Arc<Relation>,
        predicates: &[ScanPredicate],
        attributes: impl Iterator<Item = usize>,
    ) {
        let mut attributes: Vec<usize> = attributes.chain(predicates.iter().map(|p| p.attribute)).collect();
        attributes.sort_unstable();
        attributes.dedup();
        let mut all = lock(&self.0);
        let whole = |read: &Read| {
            matches!(&read.which, Which::Satisfying(predicates) if predicates.is_empty())
                && Arc::ptr_eq(&read.relation, relation)
                && attributes.iter().all(|attribute| read.attributes.binary_search(attribute).is_ok())
        };
        if !all.iter().any(whole) {
            let which = Which::Satisfying(predicates.into());
            all.push(Read { relation: relation.clone(), which, attributes: attributes.into() });
        }
    }

    /// A row that was found by its primary key is read: these attributes of it, in order.
    pub fn note_row(&self, relation: &Arc<Relation>, row: RowId, attributes: &Arc<[usize]>) {
        let mut all = lock(&self.0);
        // The last statements first: they are often alike.
        for read in all.iter_mut().rev().take(USUAL_KINDS) {
            if let Which::Rows(rows) = &mut read.which
                && Arc::ptr_eq(&read.attributes, attributes)
                && Arc::ptr_eq(&read.relation, relation)
            {
                rows.push(row);
                return;
            }
        }
        if all.is_empty() {
            all.reserve(USUAL_KINDS);
        }
        let (relation, attributes) = (relation.clone(), attributes.clone());
        all.push(Read { relation, which: Which::Rows(vec![row]), attributes });
    }

    pub(super) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Whether it takes long to say whether others have written what was read: that is asked of rows, not of their numbers.
    fn has_predicates(&self) -> bool {
        lock(&self.0).iter().any(|read| matches!(read.which, Which::Satisfying(_)))
    }

    fn each<T>(&self, mut with: impl FnMut(&Read) -> Option<T>) -> Option<T> {
        lock(&self.0).iter().find_map(&mut with)
    }
}

/// Looks at what was written since the moment of a transaction with these reads, before it has the turn to commit, so that
/// nobody waits for that. Returns the last commit that was looked at; error 40001 if it would have read something of it.
pub(super) fn look(clock: &Clock, moment: &View, reads: &Reads) -> Result<u64> {
    if !reads.has_predicates() {
        return Ok(0);
    }
    let since = clock.between_commits(|recent| recent.since(moment.timestamp()).cloned().collect::<Vec<_>>());
    let looked = since.last().map_or(0, |(at, _)| *at);
    collision(&mut since.iter(), moment, reads)?;
    Ok(looked)
}

/// Error 40001 if something was written since the moment that a transaction with these reads would have read; commits up to `looked`
/// were [looked at](look) before.
pub(super) fn check(recent: &Recent, moment: &View, reads: &Reads, looked: u64) -> Result<()> {
    // What was written to another relation in the place of one that was read is not looked at.
    let replaced = |read: &Read| {
        let by_other = matches!(read.relation.check_unclaimed(Some(moment)), Err(Conflict::Newer));
        by_other.then(|| read.relation.name().to_owned())
    };
    if let Some(name) = reads.each(replaced) {
        return Err(dependent(&name));
    }
    collision(&mut recent.since(moment.timestamp().max(looked)), moment, reads)
}

/// Error 40001 if one of these commits has written what was read.
fn collision(since: &mut dyn Iterator<Item = &Committed>, moment: &View, reads: &Reads) -> Result<()> {
    let since: Vec<_> = since.collect();
    if since.is_empty() {
        return Ok(());
    }
    // Sees all of them.
    let now = moment.clock().view();
    let mut scratch = Scratch::default();
    let collision = reads.each(|read| {
        let written = since.iter().flat_map(|(_, written)| written.iter());
        let of_it = written.filter(|w| w.relation == read.relation.number());
        let mut of_it = of_it;
        of_it
            .any(|written| collides(read, written, moment, &now, &mut scratch))
            .then(|| read.relation.name().to_owned())
    });
    match collision {
        None => Ok(()),
        Some(name) => Err(dependent(&name)),
    }
}

#[cold]
fn dependent(name: &str) -> Error {
    let message = "could not serialize access due to read/write dependencies among transactions";
    Error::new(SqlState::SERIALIZATION_FAILURE, message)
        .detail(format!("Rows of \"{name}\" that this transaction has read were written by another one since."))
        .hint("the transaction might succeed if it is tried again")
}

fn collides(read: &Read, written: &Written, moment: &View, now: &View, scratch: &mut Scratch) -> bool {
    let is_read = |deleted: bool, attributes: &[usize]| {
        deleted || attributes.iter().any(|attribute| read.attributes.binary_search(attribute).is_ok())
    };
    let predicates = match &read.which {
        Which::Satisfying(predicates) => predicates,
        Which::Rows(read) => {
            return match &written.what {
                What::Anything => true,
                What::Inserted(_) => false,
                What::Changed { window, rows, deleted, attributes } => {
                    let is_changed = |row: &RowId| {
                        (written.chunk, *window) == (row.chunk(), row.offset() / WINDOW)
                            && rows.has(row.offset() % WINDOW)
                    };
                    is_read(*deleted, attributes) && read.iter().any(is_changed)
                }
            };
        }
    };
    let mut satisfies = |first: usize, rows: &Bits, view: &View| {
        satisfies((&read.relation, predicates), (written.chunk, first), rows, view, scratch)
    };
    match &written.what {
        What::Anything => true,
        What::Inserted(rows) => {
            let first = rows.start / WINDOW * WINDOW;
            (first..rows.end).step_by(WINDOW).any(|window| {
                let of = Bits::of_range(rows.start.max(window) - window..rows.end.min(window + WINDOW) - window);
                satisfies(window, &of, now)
            })
        }
        What::Changed { window, rows, deleted, attributes } => {
            is_read(*deleted, attributes) && [moment, now].iter().any(|view| satisfies(window * WINDOW, rows, view))
        }
    }
}

/// Whether a view sees one of these rows of a window satisfy the predicates.
fn satisfies(
    (relation, predicates): (&Arc<Relation>, &Arc<[ScanPredicate]>),
    (chunk, first): (usize, usize),
    rows: &Bits,
    view: &View,
    scratch: &mut Scratch,
) -> bool {
    let Some(reader) = Relation::reader_of(relation, chunk, view) else { return false };
    let end = reader.rows().min(first + WINDOW);
    if first >= end {
        return false;
    }
    let Some(applicable) = reader.applicable(predicates, scratch) else { return false };
    let mut out = [0u32; WINDOW];
    let found = reader.scan(first..end, &applicable, scratch, &mut out);
    out[..found].iter().any(|&row| rows.has(row as usize))
}
