//! Reading a chunk: the one contract that scans, lookups, indexes and statistics use, whatever the body is like.
//!
//! A reader pins the body, so memory stays as long as it. Batches are at most a [`WINDOW`] long. What was changed in rows since
//! they were appended is looked up here, and only here: one test a chunk while there is nothing (`reader/changed.rs`). Of
//! a chunk that was changed, batches stay within windows.

mod changed;

use std::ops::Range;
use std::sync::Arc;

use types::{Buffer, Chunk, Column, ColumnBuilder, Physical, SqlType, Value};

use crate::body::{Body, Cell, Frozen, Scratch, Translated};
use crate::scan;
use crate::scan::lane::Cells;
use crate::values::Values;
use crate::{ColumnRef, RowId, ScanPredicate, WINDOW};
use changed::Changes;

/// More places than this are not worth an array of them: it should stay in the second-level cache.
const MOST_PLACES: usize = 1 << 15;

/// The predicates that have to be asked of the rows of one chunk.
#[derive(Debug)]
pub struct Applicable {
    /// Of arrays: values, or codes.
    direct: Vec<ScanPredicate>,
    /// Where these are, by attribute, if they are not the body's.
    columns: Option<Box<[ColumnRef]>>,
    /// Of texts behind one another, and of values that have to be decoded: of those rows that the others leave.
    late: Vec<ScanPredicate>,
    /// Of a chunk that was changed, all of them, for the windows that were; and whether no other row satisfies them.
    of_changed: Option<(Arc<[ScanPredicate]>, bool)>,
}

impl Applicable {
    /// Whether all rows satisfy them.
    pub fn is_empty(&self) -> bool {
        self.direct.is_empty() && self.late.is_empty() && self.of_changed.is_none()
    }
}

/// What was asked of a chunk last, and what that came to: a dictionary is asked once, however the chunk is cut.
#[derive(Debug)]
pub(crate) struct Asked {
    of: ChunkReader,
    predicates: Arc<[ScanPredicate]>,
    applicable: Option<Arc<Applicable>>,
}

/// The rows of a chunk as of a snapshot.
#[derive(Clone, Debug)]
pub struct ChunkReader {
    body: Arc<Body>,
    rows: usize,
    /// The chunk's number in its relation.
    number: usize,
    changes: Option<Arc<Changes>>,
}

impl ChunkReader {
    pub(crate) fn new(body: Arc<Body>, rows: usize) -> Self {
        Self { body, rows, number: 0, changes: None }
    }

    /// A reader of rows that are in no relation.
    pub fn of(chunk: Chunk) -> Self {
        let rows = chunk.rows();
        Self::new(Arc::new(Body::plain(chunk)), rows)
    }

    /// As [`of`](Self::of), as a relation would store them in the end.
    #[cfg(test)]
    pub(crate) fn frozen(chunk: Chunk) -> Self {
        let rows = chunk.rows();
        let bounds: Vec<_> = chunk.columns().iter().map(|c| crate::statistics::Bounds::of(c.into(), 0, rows)).collect();
        Self::new(Arc::new(Body::frozen(chunk, &bounds, |_, _| {}).packed()), rows)
    }

    /// Whether both keep the same memory alive.
    pub fn has_body_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.body, &other.body)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether any row may be NULL.
    pub fn may_be_null(&self, attribute: usize) -> bool {
        if self.is_patched_at_all(attribute) {
            return true;
        }
        match (self.body.constant(attribute), self.body.frozen_column(attribute)) {
            (Some(constant), _) => constant.is_null(),
            (_, Some(frozen)) => frozen.has_null(),
            _ => !self.body.refs()[attribute].nulls.is_null(),
        }
    }

    /// What has to be asked of each row: predicates on constant columns are decided here, those on frozen ones become ones on
    /// codes. None if no row can satisfy all.
    pub fn applicable(&self, predicates: &Arc<[ScanPredicate]>, scratch: &mut Scratch) -> Option<Arc<Applicable>> {
        match scratch.asked() {
            Some(asked)
                if asked.of.has_body_of(self)
                    && asked.of.is_changed() == self.is_changed()
                    && Arc::ptr_eq(&asked.predicates, predicates) =>
            {
                asked.applicable.clone()
            }
            asked => {
                let applicable = self.of_all_windows(predicates, self.translated(predicates)).map(Arc::new);
                *asked =
                    Some(Asked { of: self.clone(), predicates: predicates.clone(), applicable: applicable.clone() });
                applicable
            }
        }
    }

    fn translated(&self, predicates: &[ScanPredicate]) -> Option<Applicable> {
        let is_array = |p: &ScanPredicate| !self.body.refs()[p.attribute].data.is_null();
        if predicates.iter().all(|p| is_array(p) && !p.is_computed()) {
            return Some(Applicable { direct: predicates.to_vec(), columns: None, late: Vec::new(), of_changed: None });
        }
        let (mut direct, mut late, mut columns) = (Vec::new(), Vec::new(), self.body.refs().to_vec());
        for predicate in predicates {
            if let Some(constant) = self.body.constant(predicate.attribute) {
                if !predicate.holds(constant.values()) {
                    return None;
                }
            } else if let Some(frozen) = self.body.frozen_column(predicate.attribute) {
                match frozen.translate(predicate) {
                    Translated::Never => return None,
                    Translated::OnValues => late.push(predicate.clone()),
                    Translated::OnCodes(on_codes) if on_codes.is_empty() => {}
                    Translated::OnCodes(on_codes) => {
                        columns[predicate.attribute] = frozen.code_address();
                        direct.extend(on_codes);
                    }
                }
            } else if !predicate.is_computed() {
                direct.push(predicate.clone());
            }
        }
        ScanPredicate::arrange(&mut direct);
        Some(Applicable { direct, columns: Some(columns.into()), late, of_changed: None })
    }

    /// Writes to `out` those of `rows` that satisfy all predicates, as offsets from the first, and returns how many they
    /// are. The predicates are [`applicable`](Self::applicable) ones of this reader; at most [`WINDOW`] rows.
    #[inline]
    pub fn scan(&self, rows: Range<usize>, predicates: &Applicable, scratch: &mut Scratch, out: &mut [u32]) -> usize {
        self.select(rows, predicates, scratch, out, false)
    }

    /// How many of `rows`, of which there may be any number, [`scan`](Self::scan) would write; of `out`, with room for a
    /// [`WINDOW`], it makes what use it likes.
    pub fn count(&self, rows: Range<usize>, predicates: &Applicable, scratch: &mut Scratch, out: &mut [u32]) -> usize {
        assert!(rows.start <= rows.end && rows.end <= self.rows);
        if let ([one], [], None) = (&predicates.direct[..], &predicates.late[..], &predicates.of_changed) {
            let column = predicates.columns.as_deref().unwrap_or(self.body.refs())[one.attribute];
            assert!(!column.data.is_null() && self.cells_are(one));
            // SAFETY: an array of at least `self.rows` published rows of what the predicate is asked of, and pinned.
            if let Some(count) = unsafe { scan::count_dense(one, column, rows.clone()) } {
                return count;
            }
        }
        // Of a chunk that was changed, batches stay within windows.
        let next = |from: usize| ((from / WINDOW + 1) * WINDOW).min(rows.end);
        let starts = std::iter::successors(Some(rows.start), |&from| Some(next(from)).filter(|&from| from < rows.end));
        starts.map(|from| self.select(from..next(from), predicates, scratch, out, true)).sum()
    }

    #[inline]
    fn select(
        &self,
        rows: Range<usize>,
        predicates: &Applicable,
        scratch: &mut Scratch,
        out: &mut [u32],
        only_count: bool,
    ) -> usize {
        assert!(rows.start <= rows.end && rows.len() <= WINDOW && rows.end <= self.rows);
        scratch.begin_batch();
        match &predicates.of_changed {
            Some((all, _)) if self.is_touched(&rows) => return self.select_changed(rows, all, scratch, out),
            Some((_, true)) => return 0,
            _ => {}
        }
        let columns = predicates.columns.as_deref().unwrap_or(self.body.refs());
        for p in &predicates.direct {
            assert!(!columns[p.attribute].data.is_null() && self.cells_are(p));
        }
        // SAFETY: the columns are arrays of at least `self.rows` published rows of what the predicates are asked of, as
        // was just asserted, and pinned.
        let mut count = unsafe {
            match only_count && predicates.late.is_empty() {
                true => scan::count(&predicates.direct, columns, rows.start, rows.end, out),
                false => scan::select(&predicates.direct, columns, rows.start, rows.end, out),
            }
        };
        for predicate in &predicates.late {
            if count == 0 {
                break;
            }
            let of_texts = |frozen: &Arc<Frozen>| frozen.refine_texts(predicate, rows.clone(), &mut out[..count]);
            if let Some(left) = self.body.frozen_column(predicate.attribute).and_then(of_texts) {
                count = left;
                continue;
            }
            count = self.refine(predicate, &rows, scratch, out, count);
        }
        count
    }

    /// How many of the first `count` rows in `out` satisfy a predicate on values: they move to the front.
    fn refine(
        &self,
        predicate: &ScanPredicate,
        rows: &Range<usize>,
        scratch: &mut Scratch,
        out: &mut [u32],
        count: usize,
    ) -> usize {
        assert!(predicate.cells == Cells::Of(self.sql_type(predicate.attribute).physical()));
        let column = self.column(predicate.attribute, rows.clone(), Some(&out[..count]), scratch);
        // SAFETY: the column has a value for each of the rows that are left.
        unsafe { scan::refine(predicate, column, out, count) }
    }

    /// Whether a predicate is asked of what lies in its column's array: of values, or of codes of that many bytes.
    fn cells_are(&self, predicate: &ScanPredicate) -> bool {
        match self.body.frozen_column(predicate.attribute) {
            Some(frozen) => Some(predicate.cells) == frozen.code_cells(),
            None => predicate.cells == Cells::Of(self.body.sql_type(predicate.attribute).physical()),
        }
    }

    /// The addresses of a column's values from `rows.start` on, for at most [`WINDOW`] rows: valid as long as `self`, and
    /// until `scratch` is asked for this attribute again. If only `some` of the rows are named, as offsets from the first,
    /// nothing is said of the others' values; within a batch, which [`scan`](Self::scan) begins, they become fewer.
    #[inline]
    pub fn column(
        &self,
        attribute: usize,
        rows: Range<usize>,
        some: Option<&[u32]>,
        scratch: &mut Scratch,
    ) -> ColumnRef {
        debug_assert!(rows.len() <= WINDOW && rows.end <= self.rows);
        if attribute == self.row_id() {
            return scratch.numbered(attribute, RowId::new(self.number, rows.start).to_bits());
        }
        let column = self.body_column(attribute, rows.clone(), some, scratch);
        match &self.changes {
            Some(changes) => changes.over(attribute, (self.sql_type(attribute), column), rows, scratch),
            None => column,
        }
    }

    /// The same as it was appended.
    #[inline]
    fn body_column(
        &self,
        attribute: usize,
        rows: Range<usize>,
        some: Option<&[u32]>,
        scratch: &mut Scratch,
    ) -> ColumnRef {
        let of = self.body.refs()[attribute];
        if !of.data.is_null() {
            return of.at_row(rows.start, self.body.sql_type(attribute).physical().size());
        }
        match (self.body.constant(attribute), self.body.frozen_column(attribute)) {
            (Some(constant), _) => scratch.repeat(attribute, constant),
            (_, Some(frozen)) => scratch.decode(attribute, frozen, rows, some),
            _ => unreachable!("other columns lie in arrays"),
        }
    }

    /// The body that it pins.
    pub(crate) fn body(&self) -> &Body {
        &self.body
    }

    /// As [`column`](Self::column), of how many characters the texts of a column have, as numbers of 32 bits.
    pub fn lengths(
        &self,
        attribute: usize,
        rows: Range<usize>,
        some: Option<&[u32]>,
        scratch: &mut Scratch,
    ) -> ColumnRef {
        assert!(rows.start <= rows.end && rows.len() <= WINDOW && rows.end <= self.rows);
        if self.is_patched(attribute, &rows) {
            let of = self.column(attribute, rows.clone(), some, scratch);
            // SAFETY: the scratch memory has a value for each of the rows.
            let values = unsafe { Values::new(self.sql_type(attribute).physical(), of, rows.len()) };
            return scratch.lengths(attribute).of_values(values, some);
        }
        match (self.body.constant(attribute), self.body.frozen_column(attribute)) {
            (Some(constant), _) => scratch.lengths(attribute).of_constant(constant),
            (_, Some(frozen)) => scratch.lengths(attribute).of_frozen(frozen, rows, some),
            _ => {
                let physical = self.sql_type(attribute).physical();
                let of = self.body.refs()[attribute].at_row(rows.start, physical.size());
                // SAFETY: `self` pins the published rows.
                scratch.lengths(attribute).of_values(unsafe { Values::new(physical, of, rows.len()) }, some)
            }
        }
    }

    /// The distinct values of a column as a chunk of that column alone, where they are known, and equal values are the same.
    pub fn distinct(&self, attribute: usize) -> Option<Self> {
        let sql_type = self.sql_type(attribute);
        if self.is_changed() || matches!(sql_type.physical(), Physical::F32 | Physical::F64 | Physical::Interval) {
            return None;
        }
        let column = match (self.body.constant(attribute), self.body.frozen_column(attribute)) {
            (Some(_), _) if self.rows > 0 => self.gather(attribute, 0..1),
            // Those of a snapshot that sees some of the rows are not known.
            (_, Some(frozen)) if frozen.rows() == self.rows => frozen.distinct_rows(sql_type)?,
            _ => return None,
        };
        Some(Self::of(Chunk::new(column.rows(), vec![column])))
    }

    /// How many places the codes of these columns number together, or 0 if they don't, or too many.
    pub fn places(&self, attributes: &[usize]) -> usize {
        let places = |&attribute: &usize| match self.body.constant(attribute) {
            Some(_) => Some(1),
            None => self.body.frozen_column(attribute)?.places(),
        };
        if self.is_changed() {
            return 0;
        }
        let product = |all: usize, attribute| Some(all * places(attribute)?).filter(|all| *all <= MOST_PLACES);
        let first = usize::from(!attributes.is_empty());
        attributes.iter().try_fold(first, product).unwrap_or(0)
    }

    /// Whether the codes of these columns number the same values as those of another chunk, of which so many are numbered in each.
    pub fn has_codes_of(&self, other: &Self, attributes: &[usize]) -> bool {
        let has = |&attribute: &usize| match (self.body.constant(attribute), other.body.constant(attribute)) {
            (Some(_), Some(_)) if self.rows > 0 && other.rows > 0 => {
                self.value(attribute, 0).is_identical(&other.value(attribute, 0))
            }
            (None, None) => {
                let columns = self.body.frozen_column(attribute).zip(other.body.frozen_column(attribute));
                columns.is_some_and(|(own, other)| Arc::ptr_eq(own, other) || own.has_codes_of(other))
            }
            _ => false,
        };
        attributes.iter().all(has)
    }

    /// Writes the places of rows by the codes of these columns, which number [`places`](Self::places): from 1 on, the same
    /// ones only for rows whose values are.
    pub fn number(&self, attributes: &[usize], rows: Range<usize>, places: &mut [u32]) {
        let places = &mut places[..rows.len()];
        places.fill(0);
        let columns = attributes.iter().filter_map(|&attribute| self.body.frozen_column(attribute));
        columns.for_each(|column| column.number_rows(rows.clone(), places));
        places.iter_mut().for_each(|place| *place += 1);
    }

    /// The type of an attribute.
    pub fn sql_type(&self, attribute: usize) -> SqlType {
        if attribute == self.row_id() { SqlType::BigInt } else { self.body.sql_type(attribute) }
    }

    /// The attribute behind all others: the rows' ids, as [`RowId::to_bits`] has them.
    pub fn row_id(&self) -> usize {
        self.body.refs().len()
    }

    /// As [`column`](Self::column), as values with their lifetime.
    pub(crate) fn window<'a>(&'a self, attribute: usize, rows: Range<usize>, scratch: &'a mut Scratch) -> Values<'a> {
        assert!(rows.start <= rows.end && rows.len() <= WINDOW && rows.end <= self.rows);
        let of = self.column(attribute, rows.clone(), None, scratch);
        // SAFETY: `self` pins the published rows, and `scratch` is borrowed as long as the values.
        unsafe { Values::new(self.sql_type(attribute).physical(), of, rows.len()) }
    }

    /// One value as it was appended, if it is a whole number of at most 64 bits; perhaps none where it is NULL.
    #[inline]
    pub(crate) fn whole(&self, attribute: usize, row: usize) -> Option<i64> {
        assert!(row < self.rows);
        self.body.whole(attribute, row)
    }

    /// Shows where one value lies as it was appended: in some array, at some place.
    #[inline]
    pub(crate) fn show<T>(&self, attribute: usize, row: usize, show: impl FnOnce(Values<'_>, usize) -> T) -> T {
        assert!(row < self.rows);
        self.body.show(attribute, row, show)
    }

    /// Where one value lies as it was appended: in some array, at some place, or in the cell.
    pub(crate) fn cell<'a>(&'a self, attribute: usize, row: usize, cell: &'a mut Cell) -> (Values<'a>, usize) {
        assert!(row < self.rows);
        self.body.cell(attribute, row, cell)
    }

    /// The values of some rows, copied.
    pub fn gather(&self, attribute: usize, rows: impl ExactSizeIterator<Item = usize>) -> Column {
        let mut to = ColumnBuilder::new(self.sql_type(attribute), rows.len());
        self.gather_into(attribute, rows, &mut to);
        to.finish()
    }

    /// As [`gather`](Self::gather), behind what is in the column already.
    pub fn gather_into(&self, attribute: usize, rows: impl Iterator<Item = usize>, to: &mut ColumnBuilder) {
        if let Some(frozen) = self.body.frozen_column(attribute).filter(|frozen| frozen.is_of_numbers())
            && !self.is_patched_at_all(attribute)
        {
            return frozen.gather(rows.inspect(|&row| assert!(row < self.rows)), to);
        }
        for row in rows {
            assert!(row < self.rows);
            if !self.with_changed(attribute, row, |values, at| crate::body::copy(values, at, to)) {
                self.body.copy_to(attribute, row, to);
            }
        }
    }

    /// Rows copied as a chunk.
    pub fn chunk(&self, rows: Range<usize>) -> Chunk {
        let column = |attribute| self.gather(attribute, rows.clone());
        Chunk::new(rows.len(), (0..self.body.refs().len()).map(column).collect())
    }

    /// One value.
    pub fn value(&self, attribute: usize, row: usize) -> Value {
        self.values(std::iter::once(attribute), row).next().unwrap_or(Value::Null)
    }

    /// The values of attributes of one row, one after the other. Nobody changes the row meanwhile.
    pub fn values(&self, attributes: impl Iterator<Item = usize>, row: usize) -> impl Iterator<Item = Value> {
        assert!(row < self.rows);
        let seen = self.seen(row);
        let row_id = self.row_id();
        attributes.map(move |attribute| {
            if attribute == row_id {
                return Value::Int(RowId::new(self.number, row).to_bits() as i64);
            }
            match seen.as_ref().and_then(|seen| seen.find(attribute)) {
                Some((values, at)) => crate::body::value(values, at, self.body.sql_type(attribute)),
                None => self.body.value(attribute, row),
            }
        })
    }

    /// One row.
    pub fn row(&self, row: usize) -> Vec<Value> {
        self.values(0..self.body.refs().len(), row).collect()
    }

    /// How a column lies in memory, in a word or two, and the bytes that it takes (buffers shared with others count in full).
    pub fn form(&self, attribute: usize) -> (&'static str, usize) {
        if attribute == self.row_id() { ("row ids", 0) } else { self.body.form(attribute) }
    }

    /// The node of the machine that a column's memory is on, as the system says; none if it lies on no page of its own.
    pub fn machine_node(&self, attribute: usize) -> Option<u16> {
        let address = (attribute != self.row_id()).then(|| self.body.address(attribute)).flatten()?;
        (self.body.form(attribute).1 >= 2 * Buffer::LASTING).then(|| base::memory::node_of(address)).flatten()
    }

    /// Bytes of memory that the columns hold (buffers shared with others count in full).
    pub fn bytes(&self) -> usize {
        self.body.bytes()
    }
}
