//! Programs: pipelines, their sources and the states between them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::IdMap;
use functions::ScalarFunction;
use plan::{ArgumentId, TableId};
use types::ops::like::Syntax;
use types::{Chunk, SqlType, Value};

use super::{Block, FoldKind, Function, Inst, KeyLookup, Operation, ParamId, Ty, Var, Vectors, WindowState};

base::typed_id!(/// A pipeline of a program.
    PipelineId, "p");
base::typed_id!(/// A state that pipelines fill and read.
    StateId, "s");
base::typed_id!(/// A call of an SQL function through boxed values.
    SiteId, "site");

/// One query, ready to be compiled or interpreted.
#[derive(Clone, Debug)]
pub struct Program {
    /// Constants.
    pub params: IdMap<ParamId, Param>,
    /// Calls through boxed values.
    pub sites: IdMap<SiteId, Site>,
    /// What pipelines fill and read.
    pub states: IdMap<StateId, State>,
    /// Pipelines in an order in which each comes after those that it depends on; the last ones fill the result.
    pub pipelines: IdMap<PipelineId, Pipeline>,
    /// The state that holds the query's result.
    pub result: StateId,
    /// Whether the rows of the result have an order: that of the only pipeline that fills it.
    pub ordered: bool,
    /// What each counter of EXPLAIN ANALYZE counts (an operator's label); empty otherwise.
    pub counters: Vec<String>,
    /// Byte offsets in the SQL text, for errors: instructions name them by their number here, so that code does not
    /// depend on where in the text it comes from.
    pub positions: Vec<u32>,
}

impl Program {
    /// About how many instructions it has.
    pub fn size(&self) -> usize {
        self.pipelines.values().map(|p| p.vars.len() + p.body.len()).sum()
    }

    /// The last pipeline that runs in the rounds of each recursion: others wait for all of them there.
    pub fn ends_of_rounds(&self) -> BTreeMap<StateId, PipelineId> {
        self.pipelines.iter().filter_map(|(id, pipeline)| Some((pipeline.rounds?, id))).collect()
    }

    /// Whether what waits for a pipeline that runs in rounds comes after all that do.
    pub fn rounds_are_whole(&self) -> bool {
        let ends = self.ends_of_rounds();
        self.pipelines.iter().all(|(id, p)| {
            let waits = p.after.iter().filter_map(|&before| self.pipelines[before].rounds);
            waits.filter(|&rounds| p.rounds != Some(rounds)).all(|rounds| ends[&rounds] < id)
        })
    }
}

/// A constant of the query: known when it runs, unknown to its code.
#[derive(Clone, Debug, PartialEq)]
pub enum Param {
    /// A value, in a slot of the type.
    Value(Value, SqlType),
    /// An argument of the statement, in a slot of the type: the value is that of the run that the program was made for;
    /// others bring their own.
    Argument(ArgumentId, Value, SqlType),
    /// A pattern of LIKE or `~`, compiled when the query starts.
    Like {
        /// The pattern.
        pattern: Arc<str>,
        /// How the pattern is written.
        syntax: Syntax,
    },
    /// The set of an IN list.
    Set(Vec<Value>, SqlType),
}

/// A call of an SQL function through boxed values: slow, and complete.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// What is computed.
    pub kind: SiteKind,
    /// Types of the arguments. NULL arguments do not reach strict functions.
    pub arguments: Vec<SqlType>,
    /// Type of the result.
    pub result: SqlType,
}

/// What a site computes.
#[derive(Clone, Debug, PartialEq)]
pub enum SiteKind {
    /// A scalar function.
    Scalar(ScalarFunction),
    /// A cast from the only argument's type to the result's; `true`: NULL instead of an error.
    Cast(bool),
    /// LIKE or `~` with a pattern that is not constant: (text, pattern).
    Like {
        /// How the pattern is written.
        syntax: Syntax,
    },
    /// No call: tells of which type the elements of a list are, its result's.
    Elements,
}

/// A pipeline.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// For people: `scan lineitem, probe orders, group`.
    pub name: String,
    /// Where its tuples come from.
    pub source: Source,
    /// What the source, a table, computes before the body sees a tuple.
    pub vectors: Option<Vectors>,
    /// What happens to one tuple.
    pub body: Block,
    /// Types of all values.
    pub vars: IdMap<Var, Ty>,
    /// Pipelines that must have ended, with their states finalised, before this one starts.
    pub after: Vec<PipelineId>,
    /// States that this pipeline fills: finalised when the last pipeline that fills them ends.
    pub fills: Vec<StateId>,
    /// The recursion in each of whose rounds it runs; none: it runs once. Those that the recursion does not depend on run
    /// first: they take the rows that were added away.
    pub rounds: Option<StateId>,
    /// With EXPLAIN ANALYZE, the operator (its counter) that the pipeline ends in: the work behind the last
    /// [`Count`](super::Inst::Count) is for it, as is finalising what it fills.
    pub operator: Option<u32>,
}

impl Pipeline {
    /// Whether the body only counts tuples and looks at none.
    pub fn only_counts(&self) -> bool {
        let filters = self.vectors.as_ref().is_some_and(|vectors| vectors.filter.is_some());
        !filters
            && self.body.iter().all(|inst| match inst {
                Inst::Let { op, .. } => matches!(op, Operation::LocalRow(_)),
                Inst::Fold(fold) => fold.column.is_none(),
                Inst::Count(_) => true,
                _ => false,
            })
    }

    /// The limit that all tuples of a table come to before anything else happens to them.
    pub fn limit_of_all(&self) -> Option<StateId> {
        let Source::Table { predicates, filters, lookups, .. } = &self.source else { return None };
        if !predicates.is_empty() || !filters.is_empty() || !lookups.is_empty() || self.vectors.is_some() {
            return None;
        }
        let is_silent = |inst: &&Inst| matches!(inst, Inst::Let { op, .. } if op.never_fails());
        self.body.iter().find(|inst| !is_silent(inst))?.limit()
    }

    /// Whether the body only looks for the least and greatest values of columns: tuples that have the same ones do as well. Of
    /// lengths that is not said, as the ends of texts say nothing of theirs.
    pub fn only_finds_extremes(&self) -> bool {
        self.vectors.is_none()
            && self.body.iter().all(|inst| match inst {
                Inst::Let { op, .. } => matches!(op, Operation::LocalRow(_)),
                Inst::Count(_) => true,
                Inst::Fold(fold) => {
                    let is_length = fold.column.is_some_and(|column| self.source.delivers_length(column.index));
                    matches!(fold.kind, FoldKind::Min | FoldKind::Max) && !is_length
                }
                _ => false,
            })
    }

    /// The columns of the source that are read, by the body or to compute others.
    pub fn columns_read(&self) -> BTreeSet<u32> {
        let mut read = self.columns_read_by_tuple();
        for step in self.vectors.iter().flat_map(|vectors| &vectors.steps) {
            if let Operation::Column(column, _) | Operation::ColumnNull(column) = step.op {
                read.insert(column);
            }
        }
        read
    }

    /// The columns that the body reads, those that are computed among them.
    pub fn columns_read_by_tuple(&self) -> BTreeSet<u32> {
        let mut read = BTreeSet::new();
        columns_read(&self.body, &mut read);
        read
    }

    /// Whether the body only finds the groups of tuples: a tuple like one that it has seen changes nothing.
    pub fn only_finds_groups(&self) -> bool {
        let is_part = |inst: &Inst| matches!(inst, Inst::Let { .. } | Inst::Prefetch { .. });
        match self.body.split_last() {
            Some((Inst::Group { .. }, before)) if self.vectors.is_none() => before.iter().all(is_part),
            _ => false,
        }
    }

    /// The operator (its counter) that the instructions from number `at` of the body on work for, up to the next count.
    pub fn operator_at(&self, at: usize) -> Option<u32> {
        let count = |inst: &Inst| match inst {
            Inst::Count(i) => Some(*i),
            _ => None,
        };
        self.body[at..].iter().find_map(count).or(self.operator)
    }
}

fn columns_read(block: &Block, read: &mut BTreeSet<u32>) {
    for inst in block {
        match inst {
            Inst::Let { op: Operation::Column(column, _) | Operation::ColumnNull(column), .. } => {
                read.insert(*column);
            }
            Inst::Fold(fold) => read.extend(fold.column.map(|column| column.index)),
            Inst::If { then, otherwise, .. } => [then, otherwise].into_iter().for_each(|b| columns_read(b, read)),
            Inst::Loop { body, .. } => columns_read(body, read),
            Inst::Match(found) => found.condition.iter().for_each(|condition| columns_read(&condition.block, read)),
            Inst::Group { equal, init, known, .. } => {
                let keys = known.iter().map(|known| &known.keys);
                keys.chain([equal, init]).for_each(|b| columns_read(b, read));
            }
            _ => {}
        }
    }
}

/// Where tuples come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A table or file: `Column(i)` reads `columns[i]`.
    Table {
        /// Which.
        table: TableId,
        /// The columns that the body reads.
        columns: Vec<SourceColumn>,
        /// Predicates that the scan itself applies: only rows that satisfy all of them reach the body.
        predicates: Vec<ScanPredicate>,
        /// Rows that the body would drop anyhow, so that the scan may leave them out.
        filters: Vec<KeyFilter>,
        /// Likewise: rows that the body would drop anyhow, so that it is enough to find the others by an index.
        lookups: Vec<KeyLookup>,
        /// Attributes whose values the body knows by their codes, if it does: then there is one column more behind the
        /// others, I32: a place from 1 on that only tuples of the same chunk have whose attributes are the same bit for
        /// bit, or 0.
        codes: Vec<usize>,
    },
    /// Rows given in the query: `Column(i)` reads the chunk's column i. A chunk without columns has rows all the same.
    Values(Arc<Chunk>),
    /// The rows of a finalised state: `Row` is the current one.
    Rows {
        /// Which.
        state: StateId,
        /// Which of its rows.
        rows: RowSet,
    },
}

impl Source {
    /// How many columns it has without those that are computed.
    pub fn column_count(&self) -> usize {
        match self {
            Self::Table { columns, codes, .. } => columns.len() + usize::from(!codes.is_empty()),
            Self::Values(chunk) => chunk.columns().len(),
            Self::Rows { .. } => 0,
        }
    }

    /// Whether a column is of how many characters texts have.
    fn delivers_length(&self, column: u32) -> bool {
        let Self::Table { columns, .. } = self else { return false };
        columns.get(column as usize).is_some_and(|column| column.is_length)
    }
}

/// A column that a table source delivers.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceColumn {
    /// Attribute of the table.
    pub attribute: usize,
    /// Its type.
    pub sql_type: SqlType,
    /// Whether the body looks at its NULL flags; if not, no value may be NULL.
    pub nullable: bool,
    /// Lower and upper bound, both inclusive, of the numbers that the body takes for granted.
    pub bounds: Option<(i128, i128)>,
    /// Whether not the attribute's texts are delivered, but how many characters they have.
    pub is_length: bool,
}

impl SourceColumn {
    /// The lengths of a column of texts, as a column.
    pub fn length(&self) -> Self {
        Self { sql_type: SqlType::Integer, bounds: None, is_length: true, ..*self }
    }
}

/// Rows of a table whose value is the key of no build row of a join: no probe lets them through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyFilter {
    /// Attribute of the table.
    pub attribute: usize,
    /// A [`State::Join`] by key that is finished before the pipeline starts.
    pub state: StateId,
}

/// A predicate that scan kernels evaluate. NULL never satisfies it, but for `IsNull`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanPredicate {
    /// Attribute of the table.
    pub attribute: usize,
    /// What must hold; constants are of the attribute's type.
    pub op: ScanOp,
    /// The arguments of the statement that the constants of `op` are, in their order; see [`Param::Argument`]. None: they
    /// are constants.
    pub arguments: Vec<ArgumentId>,
}

/// What scan kernels know.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum ScanOp {
    Eq(Value),
    Ne(Value),
    Lt(Value),
    Le(Value),
    Gt(Value),
    Ge(Value),
    In(Vec<Value>),
    /// Strings that start so.
    Prefix(Arc<str>),
    /// Strings that match a pattern, or that do not: one that never fails (`types::ops::like`).
    Like {
        pattern: Arc<str>,
        syntax: Syntax,
        negated: bool,
    },
    IsNull,
    IsNotNull,
}

/// Which rows of a state a source delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowSet {
    /// All: groups, sorted rows in order (limit and offset applied), materialised rows, build rows.
    All,
    /// The build rows whose byte at the offset is 1.
    Marked(u32),
    /// The build rows whose byte at the offset is 0.
    Unmarked(u32),
    /// Of a recursion, the rows that the round before has added.
    Round,
}

/// What lies where in a row. NULL flags are bytes of their own.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RowLayout {
    /// Fields in order of their offsets.
    pub fields: Vec<RowField>,
    /// Bytes of a row, a multiple of 8.
    pub size: u32,
}

/// A field of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct RowField {
    /// Byte offset.
    pub offset: u32,
    /// Type.
    pub ty: Ty,
    /// Offset of its NULL flag, a field of its own, if it can be NULL.
    pub null: Option<u32>,
    /// For strings: whoever stores one keeps its payload ([`Callee::KeepStr`](super::Callee::KeepStr)). That of others
    /// is copied for the row when its morsel ends.
    pub kept: bool,
}

/// What pipelines fill and read.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// A join's build side.
    Join(JoinState),
    /// Groups.
    Group(GroupState),
    /// Rows that are added in rounds.
    Recursion(RecursionState),
    /// Rows to be ordered.
    Sort(SortState),
    /// Rows to which window functions add fields.
    Window(WindowState),
    /// Materialised rows, in no order.
    Rows(RowLayout),
    /// A counter of rows for LIMIT without ORDER BY: (offset, limit).
    Limit {
        /// Rows left out first.
        offset: u64,
        /// Rows admitted then.
        limit: u64,
    },
    /// The result: column types.
    Result(Vec<SqlType>),
    /// Rows for a table, which has them when the last pipeline ends: column types.
    Table(Vec<SqlType>),
}

/// A join's table (thesis 4.5.2). Bytes 0 to 8 of a row are the chain, 8 to 16 the word that it is found by.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinState {
    /// Rows, the 16-byte header included.
    pub layout: RowLayout,
    /// Whether at most one build row has a given key, so that a probe may stop at its first match.
    pub unique: bool,
    /// What rows are found by.
    pub word: JoinWord,
    /// Whether a source has a [`KeyFilter`] of it.
    pub filters: bool,
}

/// What the rows of a join table are found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinWord {
    /// The hash of the keys.
    Hash,
    /// The only key, a number: equal words are equal keys, and the table may have an array by key.
    Key {
        /// Offset of a byte of the row that is 1 if the key is NULL: nothing matches such a row.
        null: Option<u32>,
    },
    /// The number that a range begins with: candidates are the rows whose word is at most the probe's, and whose end is at
    /// least the probe's other number.
    Range {
        /// As of a key.
        null: Option<u32>,
        /// Offset of the I64 that the range ends with; none if it has no end.
        until: Option<u32>,
    },
}

impl JoinWord {
    /// Offset of the byte that is 1 if nothing matches the row.
    #[inline]
    pub fn null(self) -> Option<u32> {
        match self {
            Self::Hash => None,
            Self::Key { null } | Self::Range { null, .. } => null,
        }
    }
}

/// Groups. Bytes 0 to 8 of a row are a hash; the rest is zero in a new row, which is an empty group's state.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupState {
    /// Rows, the 8-byte header included.
    pub layout: RowLayout,
    /// Without keys there is exactly one group, also for an empty input.
    pub has_keys: bool,
    /// If given, groups are not found by the hash of their keys, but by a number below this, which is theirs alone.
    pub slots: Option<u64>,
    /// As many groups as are asked for, whichever they are: with so many, no further tuple has to come.
    pub enough: Option<u64>,
    /// Whether two rows with equal hashes are of one group. None: equal hashes imply equal keys.
    pub equal: Option<Function>,
    /// Adds the second row's aggregates to the first's.
    pub combine: Function,
}

/// Rows that are added in rounds (WITH RECURSIVE). Pipelines that name it in [`Pipeline::rounds`] run once in each round, as
/// long as the round before has added rows.
#[derive(Clone, Debug, PartialEq)]
pub struct RecursionState {
    /// Rows, with the header of a group's if they are distinct.
    pub layout: RowLayout,
    /// UNION: of equal rows only one is added, in all rounds together. `AddRow` says so; bytes 0 to 8 of a row are a hash.
    pub distinct: Option<Distinct>,
    /// Of distinct rows of one or two integers: the bounds, both inclusive, of most of them; empty if they are not known, or far
    /// apart. `FirstSeen` tells by a bit whether such a row is new.
    pub domains: Vec<(i64, i64)>,
    /// Whether all rows are read when there are no more rounds.
    pub kept: bool,
    /// States that are empty again when a round begins.
    pub renewed: Vec<StateId>,
}

/// How equal rows are found.
#[derive(Clone, Debug, PartialEq)]
pub struct Distinct {
    /// Whether two rows with equal hashes are equal. None: equal hashes imply it.
    pub equal: Option<Function>,
    /// Makes the first row the one of both that is shown.
    pub combine: Function,
}

/// Rows to be ordered, all or the first ones (thesis 4.5.6).
#[derive(Clone, Debug, PartialEq)]
pub struct SortState {
    /// Rows, without header.
    pub layout: RowLayout,
    /// Most significant first.
    pub keys: Vec<SortField>,
    /// With so many leading keys, `limit` and `offset` count anew for each of their values. 0: they count all rows.
    pub partition: usize,
    /// At most so many rows.
    pub limit: Option<u64>,
    /// After so many are left out.
    pub offset: u64,
}

/// One key of an order.
#[derive(Clone, Debug, PartialEq)]
pub struct SortField {
    /// Offset of the value.
    pub offset: u32,
    /// Its type.
    pub ty: Ty,
    /// Offset of its NULL flag, if it can be NULL.
    pub null: Option<u32>,
    /// From high to low.
    pub descending: bool,
    /// NULLs first.
    pub nulls_first: bool,
}

/// Bytes of a join row's header.
pub const JOIN_HEADER: u32 = 16;
/// Bytes of a group row's header.
pub const GROUP_HEADER: u32 = 8;

impl RowLayout {
    /// A layout with a header of so many bytes and no field yet.
    pub fn with_header(bytes: u32) -> Self {
        Self { fields: Vec::new(), size: bytes }
    }

    /// Bytes from one row to the next where rows lie one after the other: `size` rounded up to 16. Rows without fields have
    /// a place of their own, too: they are counted.
    pub fn stride(&self) -> u32 {
        self.size.max(1).next_multiple_of(16)
    }

    /// Adds a field and returns its offset. Fields are aligned to their size, at most to 8; add large ones first.
    pub fn add(&mut self, ty: Ty) -> u32 {
        let align = ty.size().min(8);
        let offset = self.fields.last().map_or(self.size, |f| f.offset + f.ty.size()).next_multiple_of(align);
        self.fields.push(RowField { offset, ty, null: None, kept: false });
        self.size = (offset + ty.size()).next_multiple_of(8);
        offset
    }

    /// Adds a field for a string whose payload is kept by whoever stores it.
    pub fn add_kept(&mut self) -> u32 {
        let offset = self.add(Ty::Str);
        self.fields.last_mut().expect("added just now").kept = true;
        offset
    }

    /// Adds the NULL flag of the field at an offset and returns the flag's offset.
    pub fn add_null_flag(&mut self, of: u32) -> u32 {
        let flag = self.add(Ty::Bool);
        let field = self.fields.iter_mut().find(|field| field.offset == of);
        field.expect("a field that was added before").null = Some(flag);
        flag
    }
}

impl State {
    /// The layout of its rows, if it has rows.
    pub fn layout(&self) -> Option<&RowLayout> {
        match self {
            Self::Join(j) => Some(&j.layout),
            Self::Group(g) => Some(&g.layout),
            Self::Recursion(r) => Some(&r.layout),
            Self::Sort(s) => Some(&s.layout),
            Self::Window(w) => Some(&w.layout),
            Self::Rows(layout) => Some(layout),
            Self::Limit { .. } | Self::Result(_) | Self::Table(_) => None,
        }
    }

    /// Whether it has groups of which only so many are asked for.
    pub fn needs_few_groups(&self) -> bool {
        matches!(self, Self::Group(GroupState { enough: Some(_), .. }))
    }

    /// The functions of two rows by which rows with equal hashes are told apart, and added up, if it needs them.
    pub fn pair(&self) -> Option<(Option<&Function>, &Function)> {
        match self {
            Self::Group(group) => Some((group.equal.as_ref(), &group.combine)),
            Self::Recursion(recursion) => recursion.distinct.as_ref().map(|d| (d.equal.as_ref(), &d.combine)),
            _ => None,
        }
    }

    /// The states that are empty again when a round of it begins.
    pub fn renewed(&self) -> &[StateId] {
        match self {
            Self::Recursion(recursion) => &recursion.renewed,
            _ => &[],
        }
    }

    /// The types of the rows that `Output` writes to it, if it takes such.
    pub fn output(&self) -> Option<&[SqlType]> {
        match self {
            Self::Result(types) | Self::Table(types) => Some(types),
            _ => None,
        }
    }
}
