//! Short plans: indexes find the few rows that they need, and these are computed one by one by the client's thread, their
//! expressions evaluated as they stand. Nothing is compiled for them, and nothing started: no pipeline, no state, no worker. A
//! microsecond is what the rest of a query costs.
//!
//! A short plan rests on nothing but the definitions of its tables. Whatever is not as it should be, an error or more rows
//! than a few, has it give up with nothing done: the statement is run as others are, which tells what it is.

mod access;
mod builder;
mod chosen;
mod frame;
mod group;
mod join;
mod one;

use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use plan::Plan;
use sql::ArgumentUse;
use storage::transaction::Reads;
use storage::{Relation, Snapshot};
use types::{Chunk, ColumnBuilder, SqlType, Value};

use access::Access;
use builder::Builder;
pub(super) use builder::has_operands;
use frame::{Formula, Frame};
use group::Group;
use join::Join;
pub(crate) use one::OneRow;

/// A short plan gives up when it has looked at so many rows: compiled code is as fast then.
const MOST_ROWS: usize = 2048;

/// A place in the frame, where a value lies.
type Place = usize;
/// The values of a statement's arguments, in their order.
pub(crate) type Given<'a> = &'a [&'a Value];
/// A row of some places.
pub(crate) type Row = Vec<Value>;
/// Whether more rows are wanted; none: it gives up.
type On = Option<bool>;
/// What is done with each row, which lies in the frame.
type Out<'o, 'r> = &'o mut dyn FnMut(&mut Run<'r>) -> On;

/// See the module.
pub(crate) struct Short {
    root: Step,
    /// The types of its columns, and where their values lie.
    types: Arc<[SqlType]>,
    output: Vec<Place>,
    /// Whether nobody needs what lies there behind a row.
    is_taken: bool,
    is_of_one: bool,
    relations: Vec<Weak<Relation>>,
    /// How many arguments there are, whose places come first.
    arguments: usize,
    places: usize,
    runs: AtomicU32,
    gave_up: AtomicU32,
}

/// An operator.
enum Step {
    /// Rows that the query gives.
    Values {
        rows: Vec<Vec<(Place, Formula)>>,
    },
    Scan(Box<Access>),
    Filter {
        input: Box<Step>,
        predicates: Vec<Formula>,
    },
    Map {
        input: Box<Step>,
        columns: Vec<(Place, Formula)>,
    },
    Join(Box<Join>),
    Group(Box<Group>),
    /// Rows that differ in these places.
    Distinct {
        input: Box<Step>,
        places: Vec<Place>,
    },
    Sort {
        input: Box<Step>,
        keys: Vec<Key>,
        limit: Limit,
        carried: Vec<Place>,
    },
    Limit {
        input: Box<Step>,
        limit: Limit,
    },
}

/// By what rows are sorted.
struct Key {
    formula: Formula,
    descending: bool,
    nulls_first: bool,
}

/// Which rows of all.
#[derive(Clone, Copy)]
struct Limit {
    most: Count,
    offset: Count,
}

/// A number of rows.
#[derive(Clone, Copy)]
enum Count {
    Known(u64),
    /// An argument of the statement.
    At(Place),
}

/// A limit, with the numbers of a run.
#[derive(Clone, Copy)]
struct Slice {
    most: u64,
    offset: u64,
}

/// What the arguments of a run tell of the rows of a table that it looks at.
pub(crate) struct Told<'r> {
    access: &'r Access,
    run: &'r Run<'r>,
}

impl Told<'_> {
    /// The hash of the primary key of the only row, if they tell it.
    pub fn key_hash(&self) -> Option<u64> {
        self.access.key_hash(self.run)
    }

    /// The hash of the values of attributes, if they tell them.
    pub fn hash_of(&self, attributes: &[usize]) -> Option<u64> {
        self.access.told(attributes, self.run)
    }
}

/// A run of a short plan.
struct Run<'r> {
    frame: Frame<'r>,
    /// Of its tables.
    snapshots: &'r [Snapshot],
    reads: Option<&'r Reads>,
    /// Whether an index has told all that it was asked of the row that was looked at last, so that what is asked need not be computed.
    is_told: bool,
    /// So many rows more may be looked at.
    left: usize,
}

impl Run<'_> {
    fn count(&self, count: Count) -> Option<u64> {
        match count {
            Count::Known(rows) => Some(rows),
            Count::At(place) => match &self.frame[place] {
                Value::Int(rows) => u64::try_from(*rows).ok(),
                _ => None,
            },
        }
    }

    fn slice(&self, limit: Limit) -> Option<Slice> {
        Some(Slice { most: self.count(limit.most)?, offset: self.count(limit.offset)? })
    }

    /// One more row is looked at.
    fn look(&mut self) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        Some(())
    }
}

impl<'r> Deref for Run<'r> {
    type Target = Frame<'r>;

    fn deref(&self) -> &Frame<'r> {
        &self.frame
    }
}

impl Short {
    /// Whether a plan that is not optimised yet may be one.
    pub fn may_be(plan: &Plan) -> bool {
        builder::may_be(plan)
    }

    /// Whether a plan is as the binder made it of these arguments: none has become something else.
    pub fn leaves_open(plan: &Plan, arguments: &[ArgumentUse]) -> bool {
        builder::leaves_open(plan, arguments)
    }

    /// An optimised plan as a short one, if it is one. These are its statement's arguments.
    pub fn of(plan: &Plan, arguments: &[ArgumentUse]) -> Option<Self> {
        Builder::short(plan, arguments)
    }

    /// Whether all that it reads is at most one row, by its primary key.
    pub fn is_of_key(&self) -> bool {
        self.root.is_of_key()
    }

    /// Whether it reads no table.
    pub fn reads_nothing(&self) -> bool {
        self.relations.is_empty()
    }

    /// Whether it is worth trying: not if it has given up often.
    pub fn is_promising(&self) -> bool {
        let (runs, gave_up) = (self.runs.load(Relaxed), self.gave_up.load(Relaxed));
        gave_up < 4 || gave_up < runs / 8
    }

    /// The types of its columns.
    pub fn types(&self) -> &Arc<[SqlType]> {
        &self.types
    }

    /// Its rows; none if these arguments need another way. What they are made of is noted among what a transaction reads.
    pub fn rows(
        &self,
        arguments: Given<'_>,
        snapshot: &dyn Fn(&Arc<Relation>) -> Snapshot,
        reads: Option<&Reads>,
    ) -> Option<Vec<Row>> {
        // Most statements that run so are of one row.
        let mut rows = Vec::with_capacity(1);
        let mut snapshots = Vec::with_capacity(self.relations.len());
        for relation in &self.relations {
            snapshots.push(snapshot(&relation.upgrade()?));
        }
        self.each(arguments, &snapshots, reads, &mut |run| {
            rows.push(if self.is_taken { run.frame.take(&self.output) } else { run.row(&self.output) });
            Some(true)
        })?;
        Some(rows)
    }

    /// Rows that it has given as columns.
    pub fn chunk(&self, rows: &[Row]) -> Chunk {
        let mut columns: Vec<_> = self.types.iter().map(|of| ColumnBuilder::new(*of, rows.len())).collect();
        rows.iter().for_each(|row| columns.iter_mut().zip(row).for_each(|(to, value)| to.push_value(value)));
        Chunk::new(rows.len(), columns.into_iter().map(ColumnBuilder::finish).collect())
    }

    /// Each table that it reads, and what the arguments tell of the rows that it looks at. None if its tables are gone.
    pub fn each_read(&self, arguments: Given<'_>, each: &mut dyn FnMut(&Arc<Relation>, Told<'_>)) -> Option<()> {
        let relations = self.relations.iter().map(Weak::upgrade).collect::<Option<Vec<_>>>()?;
        let run = Self::frame_of(arguments);
        self.root.each_scan(&mut |access| each(&relations[access.table], Told { access, run: &run }));
        Some(())
    }

    /// The hashes of a key of rows that are inserted, if all of them are told by the arguments.
    pub fn keys_given(
        &self,
        relation: &Relation,
        attributes: &[usize],
        key: &[usize],
        arguments: Given<'_>,
    ) -> Option<Vec<u64>> {
        let run = Self::frame_of(arguments);
        let of_schema = relation.schema().attributes();
        let of_row = |row: usize| {
            let part = |part: &usize| {
                let place = self.output[attributes.iter().position(|a| a == part)?];
                if place < arguments.len() {
                    return Some(arguments[place].clone());
                }
                let formula = self.root.given(place, row).filter(|formula| formula.is_of_arguments)?;
                run.value(formula)
            };
            let values = key.iter().map(part).collect::<Option<Vec<Value>>>()?;
            let typed = key.iter().zip(&values).map(|(part, value)| (of_schema[*part].sql_type, value));
            access::hash_of(typed)
        };
        if key.is_empty() { None } else { (0..self.root.rows_given()?).map(of_row).collect() }
    }

    /// A run that has arguments and nothing else.
    fn frame_of(arguments: Given<'_>) -> Run<'_> {
        let frame = Frame::new(arguments, arguments.len(), Vec::new());
        Run { frame, snapshots: &[], reads: None, is_told: false, left: 0 }
    }

    /// Does this with each row, which lies in the frame.
    fn each<'r>(
        &self,
        arguments: Given<'r>,
        snapshots: &'r [Snapshot],
        reads: Option<&'r Reads>,
        out: Out<'_, 'r>,
    ) -> On {
        if self.runs.fetch_add(1, Relaxed) == u32::MAX / 2 {
            self.runs.store(0, Relaxed);
            self.gave_up.store(0, Relaxed);
        }
        let run = (arguments.len() == self.arguments).then(|| {
            let frame = Frame::new(arguments, self.places, Vec::new());
            Run { frame, snapshots, reads, is_told: false, left: MOST_ROWS }
        });
        let found = run.and_then(|mut run| self.root.each(&mut run, out));
        if found.is_none() {
            self.gave_up.fetch_add(1, Relaxed);
        }
        found
    }
}

impl Step {
    /// Whether all that it reads is at most one row, by its primary key.
    fn is_of_key(&self) -> bool {
        match self {
            Self::Scan(access) => access.key.is_some(),
            Self::Filter { input, .. } | Self::Map { input, .. } => input.is_of_key(),
            _ => false,
        }
    }

    /// How many rows the query gives, if they are those that it says itself.
    fn rows_given(&self) -> Option<usize> {
        match self {
            Self::Values { rows } => Some(rows.len()),
            Self::Map { input, .. } | Self::Filter { input, .. } => input.rows_given(),
            _ => None,
        }
    }

    /// What is at a place in one of these rows.
    fn given(&self, place: Place, row: usize) -> Option<&Formula> {
        match self {
            Self::Values { rows } => rows.get(row)?.iter().find(|(own, _)| *own == place).map(|(_, formula)| formula),
            Self::Filter { input, .. } => input.given(place, row),
            Self::Map { input, columns } => match columns.iter().find(|(own, _)| *own == place) {
                None => input.given(place, row),
                Some((_, formula)) if formula.is_of_arguments => Some(formula),
                Some((_, formula)) => input.given(formula.expr.place()?, row),
            },
            _ => None,
        }
    }

    /// Each scan.
    fn each_scan(&self, each: &mut dyn FnMut(&Access)) {
        match self {
            Self::Values { .. } => {}
            Self::Scan(access) => each(access),
            Self::Filter { input, .. }
            | Self::Map { input, .. }
            | Self::Distinct { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. } => input.each_scan(each),
            Self::Join(join) => {
                join.outer.each_scan(each);
                join.inner.each_scan(each);
            }
            Self::Group(group) => group.input.each_scan(each),
        }
    }

    /// Puts each row into the frame, as long as more are wanted.
    fn each<'r>(&self, run: &mut Run<'r>, out: Out<'_, 'r>) -> On {
        match self {
            Self::Values { rows } => {
                for row in rows {
                    run.look()?;
                    run.frame.compute(row)?;
                    if !out(run)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            Self::Scan(access) => access.each(run, out),
            Self::Filter { input, predicates } => {
                input.each(run, &mut |run| if run.is_true(predicates)? { out(run) } else { Some(true) })
            }
            Self::Map { input, columns } => input.each(run, &mut |run| {
                run.frame.compute(columns)?;
                out(run)
            }),
            Self::Join(join) => join.each(run, out),
            Self::Group(group) => group.each(run, out),
            Self::Distinct { input, places } => {
                let mut seen = std::collections::HashSet::new();
                input.each(run, &mut |run| if seen.insert(run.row(places)) { out(run) } else { Some(true) })
            }
            Self::Sort { input, keys, limit, carried } => {
                let mut rows: Vec<(Row, Row)> = Vec::new();
                input.each(run, &mut |run| {
                    let by = keys.iter().map(|key| run.value(&key.formula)).collect::<Option<_>>()?;
                    rows.push((by, run.row(carried)));
                    Some(true)
                })?;
                rows.sort_by(|(a, _), (b, _)| in_order(keys, a, b));
                let slice = run.slice(*limit)?;
                if is_open(keys, &rows, slice) {
                    return None;
                }
                for (_, row) in rows.iter().skip(slice.offset as usize).take(slice.most as usize) {
                    run.frame.set(carried, row);
                    if !out(run)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            Self::Limit { input, limit } => {
                let Slice { most, offset } = run.slice(*limit)?;
                let (mut number, end) = (0, offset.saturating_add(most));
                let mut is_wanted = true;
                if end > offset {
                    input.each(run, &mut |run| {
                        number += 1;
                        if number > offset {
                            is_wanted = out(run)?;
                        }
                        Some(is_wanted && number < end)
                    })?;
                }
                Some(is_wanted)
            }
        }
    }
}

/// Whether it is not the keys that say in which order sorted rows come, or which of them do: all that is selected has a say
/// then, as sorts have it.
fn is_open(keys: &[Key], rows: &[(Row, Row)], Slice { most, offset }: Slice) -> bool {
    let counts = |at: usize| at as u64 + 1 >= offset && (at as u64) < offset.saturating_add(most);
    let is_same = |a: &[Value], b: &[Value]| a.iter().zip(b).all(|(a, b)| a.is_identical(b));
    let ties = |(at, pair): (usize, &[(Row, Row)])| {
        counts(at) && in_order(keys, &pair[0].0, &pair[1].0).is_eq() && !is_same(&pair[0].1, &pair[1].1)
    };
    rows.windows(2).enumerate().any(ties)
}

fn in_order(keys: &[Key], a: &[Value], b: &[Value]) -> Ordering {
    for ((key, a), b) in keys.iter().zip(a).zip(b) {
        let order = match (a.is_null(), b.is_null()) {
            (true, true) => Ordering::Equal,
            (false, false) if key.descending => b.total_cmp(a),
            (false, false) => a.total_cmp(b),
            (is_null, _) if is_null == key.nulls_first => Ordering::Less,
            _ => Ordering::Greater,
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}
