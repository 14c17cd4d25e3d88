//! Bodies: how the rows of a chunk lie in memory. Immutable; growing and freezing make another one.
//!
//! A column is plain (as it was delivered), open (addresses of a chunk that grows: bytes behind a reader's rows are the
//! writer's, see [`open`](crate::open)), or constant. Nobody outside of this module knows which: readers ask the
//! [`ChunkReader`](crate::ChunkReader).

mod constant;

pub use constant::Scratch;

use std::sync::Arc;

use types::{Chunk, Column, ColumnBuilder, Interval, Physical, SqlType, Str, Value};

use crate::ColumnRef;
use crate::open::OpenView;
use crate::statistics::Bounds;
use crate::values::Values;
use constant::Constant;

/// One column of a body.
#[derive(Debug)]
enum Stored {
    Plain(Column),
    Open(OpenView),
    Constant(Arc<Constant>),
}

/// The columns of a chunk.
#[derive(Debug)]
pub(crate) struct Body {
    columns: Box<[Stored]>,
    /// Addresses of the first row's values; null where there is no array of them.
    refs: Box<[ColumnRef]>,
    types: Box<[SqlType]>,
}

impl Body {
    fn new(types: Box<[SqlType]>, columns: Box<[Stored]>) -> Self {
        let address = |column: &Stored| match column {
            Stored::Plain(column) => ColumnRef::of(column),
            Stored::Open(view) => view.address(),
            Stored::Constant(_) => ColumnRef::NONE,
        };
        Self { refs: columns.iter().map(address).collect(), columns, types }
    }

    /// A body over a chunk that grows.
    pub(crate) fn open(views: impl Iterator<Item = OpenView>) -> Self {
        let columns: Box<[Stored]> = views.map(Stored::Open).collect();
        let types = columns.iter().map(|c| if let Stored::Open(view) = c { view.sql_type() } else { SqlType::Null });
        Self::new(types.collect(), columns)
    }

    /// A body of complete rows as they are.
    pub(crate) fn plain(chunk: Chunk) -> Self {
        let types = chunk.columns().iter().map(Column::sql_type).collect();
        Self::new(types, chunk.into_columns().into_iter().map(Stored::Plain).collect())
    }

    /// A body of complete rows. A column whose values are all the same keeps one of them.
    pub(crate) fn frozen(chunk: Chunk, bounds: &[Bounds]) -> Self {
        let types = chunk.columns().iter().map(Column::sql_type).collect();
        let columns = chunk.into_columns().into_iter().zip(bounds);
        let freeze = |(column, bounds): (Column, &Bounds)| match Constant::of((&column).into(), bounds) {
            Some(constant) => Stored::Constant(Arc::new(constant)),
            None => Stored::Plain(column),
        };
        Self::new(types, columns.map(freeze).collect())
    }

    /// This body without its constant columns, if it has `rows` complete rows with these bounds and any such column.
    pub(crate) fn freeze(&self, rows: usize, bounds: &[Bounds]) -> Option<Self> {
        let constant = |(column, bounds): (usize, &Bounds)| match &self.columns[column] {
            Stored::Constant(_) => None,
            _ => Constant::of(self.values(column, rows)?, bounds),
        };
        let found: Vec<Option<Constant>> = bounds.iter().enumerate().map(constant).collect();
        if found.iter().all(Option::is_none) {
            return None;
        }
        let keep = |(stored, constant): (&Stored, Option<Constant>)| match (constant, stored) {
            (Some(constant), _) => Stored::Constant(Arc::new(constant)),
            (None, Stored::Plain(column)) => Stored::Plain(column.clone()),
            (None, Stored::Open(view)) => Stored::Open(view.clone()),
            (None, Stored::Constant(constant)) => Stored::Constant(constant.clone()),
        };
        let columns = self.columns.iter().zip(found).map(keep).collect();
        Some(Self::new(self.types.clone(), columns))
    }

    /// The addresses of the columns; null for those that have no array of values.
    pub(crate) fn refs(&self) -> &[ColumnRef] {
        &self.refs
    }
    pub(crate) fn sql_type(&self, attribute: usize) -> SqlType {
        self.types[attribute]
    }

    /// The first `rows` values of a column, if they lie in an array. The caller has seen these rows published.
    pub(crate) fn values(&self, attribute: usize, rows: usize) -> Option<Values<'_>> {
        let of = self.refs[attribute];
        // SAFETY: published rows are initialised and never written again; `self` owns the memory.
        (!of.data.is_null()).then(|| unsafe { Values::new(self.types[attribute].physical(), of, rows) })
    }

    pub(crate) fn constant(&self, attribute: usize) -> Option<&Arc<Constant>> {
        match self.columns.get(attribute) {
            Some(Stored::Constant(constant)) => Some(constant),
            _ => None,
        }
    }

    /// Number of columns that are constant.
    pub(crate) fn constants(&self) -> usize {
        self.columns.iter().filter(|c| matches!(c, Stored::Constant(_))).count()
    }

    /// Bytes of memory held (buffers shared with other columns count in full).
    pub(crate) fn bytes(&self) -> usize {
        let bytes = |column: &Stored| match column {
            Stored::Plain(column) => column.bytes(),
            Stored::Open(view) => view.bytes(),
            Stored::Constant(constant) => constant.bytes(),
        };
        self.columns.iter().map(bytes).sum()
    }

    /// Appends a published row's value to a column that is being built.
    pub(crate) fn copy_to(&self, attribute: usize, row: usize, to: &mut ColumnBuilder) {
        let (values, row) = self.cell(attribute, row);
        if values.is_null(row) {
            return to.push_null();
        }
        match values.physical() {
            Physical::Bool => to.push::<u8>(values.get(row)),
            Physical::I16 => to.push::<i16>(values.get(row)),
            Physical::I32 => to.push::<i32>(values.get(row)),
            Physical::I64 => to.push::<i64>(values.get(row)),
            Physical::I128 => to.push::<i128>(values.get(row)),
            Physical::F32 => to.push::<f32>(values.get(row)),
            Physical::F64 => to.push::<f64>(values.get(row)),
            Physical::Interval => to.push::<Interval>(values.get(row)),
            Physical::Str => {
                let text = values.get::<Str>(row);
                // SAFETY: the body owns the payload, and readers admit only UTF-8.
                to.push_str(unsafe { text.as_str() });
            }
        }
    }

    /// Where a published row's value lies: in some array, at some place.
    pub(crate) fn cell(&self, attribute: usize, row: usize) -> (Values<'_>, usize) {
        match &self.columns[attribute] {
            Stored::Constant(constant) => (constant.values(), 0),
            // SAFETY: as in `values`.
            _ => (unsafe { Values::new(self.types[attribute].physical(), self.refs[attribute], row + 1) }, row),
        }
    }

    /// A published row's value.
    pub(crate) fn value(&self, attribute: usize, row: usize) -> Value {
        let mut one = ColumnBuilder::new(self.types[attribute], 1);
        self.copy_to(attribute, row, &mut one);
        one.finish().value(0)
    }
}
