//! How a short plan comes to rows of a table: by the primary key, or by an index.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use storage::index::{KeyPart, RowOrder};
use storage::relation::{Few, FirstRows, FoundRow, IndexedRows};
use storage::transaction::{Reads, View};
use storage::{Comparison, Relation, RowId, ScanOp, ScanPredicate};
use types::{SqlType, Value};

use super::chosen::Chosen;
use super::frame::{Formula, Frame};
use super::{Limit, MOST_ROWS, On, Out, Place, Run, Slice};
use crate::key::key_part;

/// To start pipelines takes as long as to read so many rows where they lie.
const MOST_FOUND: usize = 256;
/// Most parts of a key that is looked up; one of more is asked for as other predicates are.
const MOST_PARTS: usize = 8;

/// A scan.
pub(super) struct Access {
    /// Which of the plan's tables.
    pub table: usize,
    /// What indexes can be asked for, among its predicates.
    pub asked: Vec<Asked>,
    /// If the predicates tell the primary key: which of `asked` tell its parts.
    pub key: Option<Vec<usize>>,
    /// The predicates that the key does not tell; without one, all of them.
    pub predicates: Vec<Formula>,
    /// Attributes, and where their values go.
    pub read: Vec<(usize, Place)>,
    /// Those that somebody reads if the index tells all that is asked of it; none if there are predicates that it is not asked.
    pub read_if_told: Option<Vec<(usize, Place)>>,
    /// Nobody wants to know more than whether there is a row, if the index tells that.
    pub is_any_enough: bool,
    /// Those of them that the table has, in order, and those that are chosen.
    pub stored: Arc<[usize]>,
    /// Values of which arguments choose the attribute.
    pub chosen: Vec<Chosen>,
    /// The first rows in an order are enough.
    pub first: Option<First>,
}

/// So many first rows, and those that are skipped before.
#[derive(Clone, Copy)]
pub(super) struct First {
    pub order: RowOrder,
    pub limit: Limit,
    /// Whether rows that are equal to the last one have a say.
    pub ties: bool,
}

impl First {
    /// For a run, if they are few.
    fn rows(self, run: &Run<'_>) -> Option<FirstRows> {
        let Slice { most, offset } = run.slice(self.limit)?;
        let rows = Self::few(most, offset)?;
        Some(FirstRows { order: self.order, rows, ties: self.ties })
    }

    /// How many they are, if they are few.
    pub fn few(most: u64, offset: u64) -> Option<usize> {
        let rows = most.checked_add(offset)?;
        (1..=MOST_FOUND as u64).contains(&rows).then_some(rows as usize)
    }
}

/// What an index is asked for.
pub(super) struct Asked {
    pub attribute: usize,
    pub sql_type: SqlType,
    pub op: Op,
}

pub(super) enum Op {
    Compare(Comparison, Formula),
    In(Vec<Value>),
    IsNull,
    IsNotNull,
}

impl Asked {
    fn predicate(&self, frame: &Frame<'_>) -> Option<ScanPredicate> {
        let op = match &self.op {
            Op::Compare(comparison, with) => ScanOp::Compare(*comparison, frame.value(with)?),
            Op::In(values) => ScanOp::In(values.clone()),
            Op::IsNull => ScanOp::IsNull,
            Op::IsNotNull => ScanOp::IsNotNull,
        };
        Some(ScanPredicate::new(self.attribute, self.sql_type, op))
    }

    /// What it says that the attribute is equal to.
    fn equal(&self) -> Option<&Formula> {
        match &self.op {
            Op::Compare(Comparison::Eq, with) => Some(with),
            _ => None,
        }
    }

    /// Whether it lists the values that it is true of.
    pub fn is_of_values(&self) -> bool {
        matches!(self.op, Op::Compare(Comparison::Eq, _) | Op::In(_) | Op::IsNull)
    }

    /// Whether it leaves an index some of its keys.
    pub fn narrows(&self) -> bool {
        !matches!(self.op, Op::Compare(Comparison::Ne, _) | Op::IsNotNull)
    }
}

/// The hash of a key; none if it has a part that is NULL, or that cannot be looked up.
pub(super) fn hash_of<'v>(parts: impl Iterator<Item = (SqlType, &'v Value)>) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    for (sql_type, value) in parts {
        key_part(sql_type, value)?;
        match value {
            Value::Str(text) => text.as_bytes().hash(&mut hasher),
            Value::Int(number) => number.hash(&mut hasher),
            Value::Date(number) => i64::from(*number).hash(&mut hasher),
            Value::Enum(number) => i64::from(*number).hash(&mut hasher),
            Value::Timestamp(number) => number.hash(&mut hasher),
            _ => return None,
        }
    }
    Some(hasher.finish())
}

impl Access {
    /// The hash of the primary key that is looked up, if arguments tell it.
    pub fn key_hash(&self, run: &Run<'_>) -> Option<u64> {
        self.hash(self.key.as_ref()?, run)
    }

    /// The hash of the values that attributes are equal to, if arguments tell them.
    pub fn told(&self, attributes: &[usize], run: &Run<'_>) -> Option<u64> {
        self.hash(&Self::key_of(&self.asked, attributes)?, run)
    }

    fn hash(&self, parts: &[usize], run: &Run<'_>) -> Option<u64> {
        let of_part = |part: &usize| {
            let asked = &self.asked[*part];
            let formula = asked.equal().filter(|formula| formula.is_of_arguments)?;
            Some((asked.sql_type, run.value(formula)?))
        };
        let parts = parts.iter().map(of_part).collect::<Option<Vec<_>>>()?;
        hash_of(parts.iter().map(|(sql_type, value)| (*sql_type, value)))
    }

    /// Which of those that are asked tell the parts of a key, if they do.
    pub fn key_of(asked: &[Asked], key: &[usize]) -> Option<Vec<usize>> {
        let told = |part: &usize| asked.iter().position(|a| a.attribute == *part && a.equal().is_some());
        let told = key.iter().map(told).collect::<Option<Vec<_>>>()?;
        (1..=MOST_PARTS).contains(&told.len()).then_some(told)
    }

    pub fn each<'r>(&self, run: &mut Run<'r>, out: Out<'_, 'r>) -> On {
        let snapshot = &run.snapshots[self.table];
        if self.key.is_some() {
            let guard = storage::pin();
            let fetch = |row: &FoundRow<'_>| self.fetch(row, self.is_told());
            let found = self.find(run, |key| snapshot.find_one(key, &guard, fetch))?;
            if let Some(reads) = run.reads {
                self.note_found(reads, snapshot.relation(), found.as_ref(), run)?;
            }
            let Some(row) = found else { return Some(true) };
            return self.show(Some(&row), self.is_told(), run, out);
        }
        let predicates = self.predicates(run)?;
        self.note(run, &predicates);
        if self.is_any_enough
            && let Some(any) = snapshot.search_any(&predicates)
        {
            return self.each_of(any, true, run, out);
        }
        let first = self.first.and_then(|first| first.rows(run));
        let reads_nothing = self.read_if_told.as_ref().is_some_and(Vec::is_empty);
        let few = Few { read: MOST_FOUND, told: if reads_nothing { MOST_ROWS } else { MOST_FOUND } };
        let IndexedRows { rows, is_exact } = snapshot.search_few(&predicates, first.as_slice(), few)?;
        self.each_of(rows, is_exact, run, out)
    }

    /// Shows rows that were found; `is_told`: as the index tells all that is asked of it.
    fn each_of<'r>(
        &self,
        found: impl IntoIterator<Item = RowId>,
        is_told: bool,
        run: &mut Run<'r>,
        out: Out<'_, 'r>,
    ) -> On {
        let is_read = !self.to_read(is_told).0.is_empty();
        let snapshot = &run.snapshots[self.table];
        for row in found {
            let guard = storage::pin();
            let row = is_read.then(|| snapshot.pin(row, &guard));
            row.iter().for_each(|row| self.fetch(row, is_told));
            if !self.show(row.as_ref(), is_told, run, out)? {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Shows a row; none: nothing of it is read.
    fn show<'r>(&self, row: Option<&FoundRow<'_>>, is_told: bool, run: &mut Run<'r>, out: Out<'_, 'r>) -> On {
        run.look()?;
        let Run { snapshots, frame, .. } = &mut *run;
        let is_it = self.read(row, snapshots[self.table].view(), is_told, frame)?;
        run.is_told = is_told && self.read_if_told.is_some();
        if is_it { out(run) } else { Some(true) }
    }

    /// Fetches what is read of a row.
    pub fn fetch(&self, row: &FoundRow<'_>, is_told: bool) {
        row.fetch(self.to_read(is_told).0.iter().map(|(attribute, _)| *attribute));
    }

    /// Puts what is read of a row into the frame, and says whether it is one that is asked for.
    pub fn read(&self, row: Option<&FoundRow<'_>>, view: &View, is_told: bool, frame: &mut Frame<'_>) -> Option<bool> {
        let (read, predicates) = self.to_read(is_told);
        if let Some(row) = row {
            let mut read = Cow::Borrowed(read);
            for chosen in &self.chosen {
                match chosen.attribute(frame)? {
                    Some(attribute) => read.to_mut().push((attribute, chosen.place)),
                    None => frame.put(chosen.place, Value::Null)?,
                }
            }
            let mut places = read.iter().map(|(_, place)| *place);
            let attributes = read.iter().map(|(attribute, _)| *attribute);
            row.each_value(view, attributes, |value| frame.put(places.next()?, value))?;
        }
        frame.is_true(predicates)
    }

    /// Notes what a lookup of the primary key has read.
    pub fn note_found(
        &self,
        reads: &Reads,
        relation: &Arc<Relation>,
        found: Option<&FoundRow<'_>>,
        frame: &Frame<'_>,
    ) -> Option<()> {
        match found {
            Some(row) => reads.note_row(relation, row.id(), &self.stored),
            None => reads.note(relation, &self.predicates(frame)?, self.stored.iter().copied()),
        }
        Some(())
    }

    /// Which attributes are read, and what is asked of them, if the index tells all that it is asked, or not.
    fn to_read(&self, is_told: bool) -> (&[(usize, Place)], &[Formula]) {
        let told = self.read_if_told.as_deref().filter(|_| is_told);
        told.map_or((&self.read[..], &self.predicates[..]), |read| (read, &[]))
    }

    /// Whether the primary key tells all that is asked.
    pub fn is_told(&self) -> bool {
        let is_of_key = |asked: usize| self.key.as_ref().is_some_and(|key| key.contains(&asked));
        self.predicates.is_empty() && (0..self.asked.len()).all(is_of_key)
    }

    /// What its indexes are asked for.
    fn predicates(&self, frame: &Frame<'_>) -> Option<Arc<[ScanPredicate]>> {
        self.asked.iter().map(|asked| asked.predicate(frame)).collect()
    }

    fn note(&self, run: &Run<'_>, predicates: &[ScanPredicate]) {
        if let Some(reads) = run.reads {
            reads.note(run.snapshots[self.table].relation(), predicates, self.stored.iter().copied());
        }
    }

    /// What a lookup of the primary key that is asked for gives.
    pub fn find<T>(&self, frame: &Frame<'_>, lookup: impl FnOnce(&[KeyPart<'_>]) -> Option<T>) -> Option<Option<T>> {
        let key = self.key.as_ref()?;
        // Most are borrowed where they lie.
        let mut values = [const { Cow::Owned(Value::Null) }; MOST_PARTS];
        for (&part, value) in key.iter().zip(&mut values) {
            *value = frame.get(self.asked[part].equal()?)?;
            if value.is_null() {
                return Some(None);
            }
        }
        let mut parts = [KeyPart::I16(0); MOST_PARTS];
        for ((&asked, value), part) in key.iter().zip(&values).zip(&mut parts) {
            *part = key_part(self.asked[asked].sql_type, value)?;
        }
        Some(lookup(&parts[..key.len()]))
    }
}
