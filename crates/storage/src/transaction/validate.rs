//! Precision locking (Neumann, Mühlbauer and Kemper, SIGMOD 2015, 2.3): a transaction may commit if nothing that others have
//! committed since its moment would have changed what it has read.
//!
//! Its reads are predicates. Rows that others have inserted must not satisfy them; rows that others have changed or deleted
//! must satisfy them neither as they were nor as they are now.

use std::sync::{Arc, Mutex};

use base::{Error, Result, SqlState};

use crate::bits::Bits;
use crate::clock::{Conflict, Recent, View, What, Written};
use crate::lock::lock;
use crate::relation::Relation;
use crate::{ScanPredicate, Scratch, WINDOW};

/// What a transaction has read: rows that satisfy predicates, of which it has seen some attributes.
#[derive(Debug, Default)]
pub struct Reads(Mutex<Vec<Read>>);

#[derive(Debug)]
struct Read {
    relation: Arc<Relation>,
    predicates: Arc<[ScanPredicate]>,
    /// Those that were looked at, in order.
    attributes: Vec<usize>,
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
            read.predicates.is_empty()
                && Arc::ptr_eq(&read.relation, relation)
                && attributes.iter().all(|attribute| read.attributes.binary_search(attribute).is_ok())
        };
        if !all.iter().any(whole) {
            all.push(Read { relation: relation.clone(), predicates: predicates.into(), attributes });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    fn each<T>(&self, mut with: impl FnMut(&Read) -> Option<T>) -> Option<T> {
        lock(&self.0).iter().find_map(&mut with)
    }
}

/// Error 40001 if something was written since the moment that a transaction with these reads would have read.
pub(super) fn check(recent: &Recent, moment: &View, reads: &Reads) -> Result<()> {
    // What was written to another relation in the place of one that was read is not looked at.
    let replaced = |read: &Read| {
        let by_other = matches!(read.relation.check_unclaimed(Some(moment)), Err(Conflict::Newer));
        by_other.then(|| read.relation.name().to_owned())
    };
    if let Some(name) = reads.each(replaced) {
        return Err(dependent(&name));
    }
    let since: Vec<_> = recent.written.iter().filter(|(at, _)| *at > moment.timestamp()).collect();
    if since.is_empty() {
        return Ok(());
    }
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
    match &written.what {
        What::Anything => true,
        What::Inserted(rows) => {
            let first = rows.start / WINDOW * WINDOW;
            (first..rows.end).step_by(WINDOW).any(|window| {
                let of = Bits::of_range(rows.start.max(window) - window..rows.end.min(window + WINDOW) - window);
                satisfies(read, written.chunk, window, &of, now, scratch)
            })
        }
        What::Changed { window, rows, deleted, attributes } => {
            let is_read = *deleted || attributes.iter().any(|a| read.attributes.binary_search(a).is_ok());
            is_read
                && [moment, now].iter().any(|view| satisfies(read, written.chunk, window * WINDOW, rows, view, scratch))
        }
    }
}

/// Whether a view sees one of these rows of a window satisfy the predicates.
fn satisfies(read: &Read, chunk: usize, first: usize, rows: &Bits, view: &View, scratch: &mut Scratch) -> bool {
    let Some(reader) = Relation::reader_of(&read.relation, chunk, view) else { return false };
    let end = reader.rows().min(first + WINDOW);
    if first >= end {
        return false;
    }
    let Some(applicable) = reader.applicable(&read.predicates, scratch) else { return false };
    let mut out = [0u32; WINDOW];
    let found = reader.scan(first..end, &applicable, scratch, &mut out);
    out[..found].iter().any(|&row| rows.has(row as usize))
}
