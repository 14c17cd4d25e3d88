//! Bodies: how the rows of a chunk lie in memory. Immutable; growing and freezing make another one.
//!
//! A column is plain (as it was delivered), open (addresses of a chunk that grows: bytes behind a reader's rows are the
//! writer's, see [`open`](crate::open)), constant, or frozen, which is compressed. Nobody outside of this module knows which:
//! readers ask the [`ChunkReader`](crate::ChunkReader).

mod constant;
mod frozen;
mod lengths;
mod scratch;

pub(crate) use frozen::{Frozen, Packing, Symbols, Translated};
pub(crate) use scratch::{Cell, Overlay};
pub use scratch::{Scratch, Texts};

use std::sync::Arc;

use base::prefetch::prefetch;
use types::{Chunk, Column, ColumnBuilder, Interval, Physical, SqlType, Str, Value};

use crate::ColumnRef;
use crate::open::OpenView;
use crate::statistics::Bounds;
use crate::values::Values;
use constant::Constant;
use frozen::Scheme;

/// One column of a body.
#[derive(Clone, Debug)]
pub(crate) enum Stored {
    Plain(Column),
    Open(OpenView),
    Constant(Arc<Constant>),
    Frozen(Arc<Frozen>),
}

impl Stored {
    fn bytes(&self) -> usize {
        match self {
            Self::Plain(column) => column.bytes(),
            Self::Open(view) => view.bytes(),
            Self::Constant(constant) => constant.bytes(),
            Self::Frozen(frozen) => frozen.bytes(),
        }
    }

    /// The values in fewer bytes, if there is a way; `bounds` are theirs.
    pub(crate) fn freeze(values: Values<'_>, bounds: &Bounds) -> Option<Self> {
        match Constant::of(values, bounds) {
            Some(constant) => Some(Self::Constant(Arc::new(constant))),
            None => Frozen::of(values, bounds).map(|frozen| Self::Frozen(Arc::new(frozen))),
        }
    }

    /// As it is, in memory that has nothing beside it that is lost.
    pub(crate) fn to_lasting(&self) -> Option<Self> {
        match self {
            Self::Plain(column) => column.to_lasting().map(Self::Plain),
            _ => None,
        }
    }

    /// Where the values begin, if they are more than a page's worth.
    fn address(&self) -> Option<*const u8> {
        match self {
            Self::Plain(column) => Some(column.data()),
            Self::Open(view) => Some(view.address().data),
            Self::Constant(_) => None,
            Self::Frozen(frozen) => Some(frozen.address()),
        }
    }

    /// Begins to put symbols into texts that lie behind one another, if that is what they do: those `known` of others, if these
    /// are good enough.
    pub(crate) fn pack(&self, known: Option<Arc<Symbols>>) -> Option<(Arc<Frozen>, Box<Packing>)> {
        match self {
            Self::Frozen(frozen) => Packing::new(frozen, known).map(|packing| (frozen.clone(), Box::new(packing))),
            _ => None,
        }
    }

    /// Whether these are texts with symbols whose readers had rather none. Reads are counted anew from here on.
    pub(crate) fn has_warmed(&self) -> bool {
        matches!(self, Self::Frozen(frozen) if frozen.has_warmed())
    }

    /// Texts with symbols without them.
    pub(crate) fn unpack(&self) -> Option<Self> {
        match self {
            Self::Frozen(frozen) => Some(Self::Frozen(Arc::new(frozen.unpacked()?))),
            _ => None,
        }
    }

    /// Whether both are the same values at the same place.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Plain(mine), Self::Plain(theirs)) => {
                Values::from(mine).address().data == Values::from(theirs).address().data
            }
            (Self::Open(mine), Self::Open(theirs)) => mine.address().data == theirs.address().data,
            (Self::Constant(mine), Self::Constant(theirs)) => Arc::ptr_eq(mine, theirs),
            (Self::Frozen(mine), Self::Frozen(theirs)) => Arc::ptr_eq(mine, theirs),
            _ => false,
        }
    }

    /// Whether these are texts that lie behind one another.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Self::Frozen(frozen) if frozen.scheme() == Scheme::Text)
    }

    /// The distinct values other than NULL, where they are known.
    pub(crate) fn distinct(&self) -> Option<Values<'_>> {
        match self {
            Self::Constant(constant) => Some(constant.values()),
            Self::Frozen(frozen) => frozen.distinct(),
            Self::Plain(_) | Self::Open(_) => None,
        }
    }
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
            Stored::Constant(_) | Stored::Frozen(_) => ColumnRef::NONE,
        };
        Self { refs: columns.iter().map(address).collect(), columns, types }
    }

    /// A body over a chunk that grows.
    pub(crate) fn open(views: impl Iterator<Item = OpenView>) -> Self {
        let columns: Box<[Stored]> = views.map(Stored::Open).collect();
        let types = columns.iter().map(|c| if let Stored::Open(view) = c { view.sql_type() } else { SqlType::Null });
        Self::new(types.collect(), columns)
    }

    /// A body of complete rows as they are: what is codes of few texts stays codes.
    pub(crate) fn plain(chunk: Chunk) -> Self {
        let types = chunk.columns().iter().map(Column::sql_type).collect();
        let stored = |column: Column| match Frozen::of_codes((&column).into()) {
            Some(frozen) => Stored::Frozen(Arc::new(frozen)),
            None => Stored::Plain(column),
        };
        Self::new(types, chunk.into_columns().into_iter().map(stored).collect())
    }

    /// The same body again.
    pub(crate) fn of(other: &Self) -> Self {
        Self::new(other.types.clone(), other.columns.clone())
    }

    /// A body whose rows nobody ever sees.
    pub(crate) fn of_dead_rows(types: impl Iterator<Item = SqlType>) -> Self {
        let types: Box<[SqlType]> = types.collect();
        let null = |sql_type: &SqlType| Stored::Constant(Arc::new(Constant::null(sql_type.physical())));
        let columns = types.iter().map(null).collect();
        Self::new(types, columns)
    }

    /// Bytes beyond the rows' own that freezing takes for a while: columns are written one after the other.
    pub(crate) fn room_to_freeze<'a>(columns: impl Iterator<Item = Values<'a>>) -> usize {
        let written = |values: Values<'_>| match values.physical() {
            Physical::Str => values.slice::<Str>(0..values.rows()).iter().map(|s| size_of::<u32>() + s.len()).sum(),
            physical => values.rows() * physical.size(),
        };
        columns.map(written).max().unwrap_or(0)
    }

    /// As [`plain`](Self::plain), of rows with these bounds: each column in the smallest of the forms that suit it. `distinct` is
    /// told the values of each column: at least the distinct ones, only these where freezing finds them.
    pub(crate) fn frozen(chunk: Chunk, bounds: &[Bounds], mut distinct: impl FnMut(usize, Values<'_>)) -> Self {
        let types = chunk.columns().iter().map(Column::sql_type).collect();
        let columns = chunk.into_columns().into_iter().zip(bounds).enumerate();
        let freeze = |(attribute, (column, bounds)): (usize, (Column, &Bounds))| {
            let stored = Stored::freeze((&column).into(), bounds);
            distinct(attribute, stored.as_ref().and_then(Stored::distinct).unwrap_or((&column).into()));
            stored.unwrap_or(Stored::Plain(column))
        };
        Self::new(types, columns.map(freeze).collect())
    }

    /// The same rows, texts by symbols where that is worth it.
    #[cfg(test)]
    pub(crate) fn packed(self) -> Self {
        let packed = |stored| match stored {
            Stored::Frozen(frozen) => Stored::Frozen(Arc::new(Arc::into_inner(frozen).expect("not shared").packed())),
            stored => stored,
        };
        Self::new(self.types, self.columns.into_iter().map(packed).collect())
    }

    /// The same rows with one column in another form.
    pub(crate) fn with_column(&self, attribute: usize, stored: Stored) -> Self {
        let mut columns = self.columns.clone();
        columns[attribute] = stored;
        Self::new(self.types.clone(), columns)
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

    /// The distinct values of those columns of which they are known.
    pub(crate) fn each_distinct(&self, mut with: impl FnMut(usize, Values<'_>)) {
        let known =
            self.columns.iter().enumerate().filter_map(|(attribute, stored)| Some((attribute, stored.distinct()?)));
        known.for_each(|(attribute, values)| with(attribute, values));
    }

    /// How a column is stored.
    pub(crate) fn stored(&self, attribute: usize) -> &Stored {
        &self.columns[attribute]
    }

    pub(crate) fn constant(&self, attribute: usize) -> Option<&Arc<Constant>> {
        match self.columns.get(attribute) {
            Some(Stored::Constant(constant)) => Some(constant),
            _ => None,
        }
    }

    pub(crate) fn frozen_column(&self, attribute: usize) -> Option<&Arc<Frozen>> {
        match self.columns.get(attribute) {
            Some(Stored::Frozen(frozen)) => Some(frozen),
            _ => None,
        }
    }

    /// How a column lies in memory, in a word or two, and the bytes that it takes.
    pub(crate) fn form(&self, attribute: usize) -> (&'static str, usize) {
        let stored = &self.columns[attribute];
        let form = match stored {
            Stored::Plain(_) => "plain",
            Stored::Open(_) => "open",
            Stored::Constant(_) => "constant",
            Stored::Frozen(frozen) => match (frozen.scheme(), frozen.width()) {
                (Scheme::Numbers, 1) => "numbers, 1 byte",
                (Scheme::Numbers, 2) => "numbers, 2 bytes",
                (Scheme::Numbers, 4) => "numbers, 4 bytes",
                (Scheme::Numbers, _) => "numbers, 8 bytes",
                (Scheme::Dictionary, 1) => "dictionary, 1 byte",
                (Scheme::Dictionary, _) => "dictionary, 2 bytes",
                (Scheme::Text, _) => "text",
                (Scheme::Symbols, _) => "text, symbols",
            },
        };
        (form, stored.bytes())
    }

    /// See [`Stored::address`].
    pub(crate) fn address(&self, attribute: usize) -> Option<*const u8> {
        self.columns[attribute].address()
    }

    /// Bytes of memory held (buffers shared with other columns count in full).
    pub(crate) fn bytes(&self) -> usize {
        self.columns.iter().map(Stored::bytes).sum()
    }

    /// Appends a published row's value to a column that is being built.
    pub(crate) fn copy_to(&self, attribute: usize, row: usize, to: &mut ColumnBuilder) {
        let mut cell = Cell::default();
        let (values, row) = self.cell(attribute, row, &mut cell);
        copy(values, row, to);
    }

    /// A published row's value.
    #[inline]
    pub(crate) fn value(&self, attribute: usize, row: usize) -> Value {
        let sql_type = self.types[attribute];
        match &self.columns[attribute] {
            Stored::Constant(constant) => value(constant.values(), 0, sql_type),
            Stored::Frozen(frozen) => frozen.value(row, sql_type),
            _ => {
                // SAFETY: as in `values`.
                let values = unsafe { Values::new(sql_type.physical(), self.refs[attribute], row + 1) };
                value(values, row, sql_type)
            }
        }
    }

    /// Fetches what a row's values of attributes are made of into the cache.
    pub(crate) fn fetch(&self, attributes: impl Iterator<Item = usize> + Clone, row: usize) {
        let stored = || attributes.clone().filter_map(|attribute| Some((attribute, self.columns.get(attribute)?)));
        for (attribute, column) in stored() {
            match column {
                Stored::Frozen(frozen) => frozen.fetch(row),
                Stored::Constant(_) => {}
                Stored::Plain(_) | Stored::Open(_) => {
                    let size = self.types[attribute].physical().size();
                    prefetch(self.refs[attribute].data.wrapping_add(row * size));
                }
            }
        }
        for (_, column) in stored() {
            if let Stored::Frozen(frozen) = column {
                frozen.fetch_text(row);
            }
        }
    }

    /// A published row's value, if it is a whole number of at most 64 bits; perhaps none where it is NULL.
    #[inline]
    pub(crate) fn whole(&self, attribute: usize, row: usize) -> Option<i64> {
        let (physical, data) = (self.types[attribute].physical(), self.refs[attribute].data);
        if data.is_null() {
            return self.whole_elsewhere(attribute, physical, row);
        }
        // SAFETY: as in `values`: a value of the layout for each row.
        unsafe {
            match physical {
                Physical::I16 => Some(data.cast::<i16>().add(row).read().into()),
                Physical::I32 => Some(data.cast::<i32>().add(row).read().into()),
                Physical::I64 => Some(data.cast::<i64>().add(row).read()),
                _ => None,
            }
        }
    }

    /// The same of a column that lies in no array.
    fn whole_elsewhere(&self, attribute: usize, physical: Physical, row: usize) -> Option<i64> {
        match (&self.columns[attribute], physical) {
            (Stored::Frozen(frozen), Physical::I16 | Physical::I32 | Physical::I64) => frozen.number(row),
            (Stored::Constant(constant), Physical::I16) => Some(constant.values().get::<i16>(0).into()),
            (Stored::Constant(constant), Physical::I32) => Some(constant.values().get::<i32>(0).into()),
            (Stored::Constant(constant), Physical::I64) => Some(constant.values().get(0)),
            _ => None,
        }
    }

    /// Shows where a published row's value lies: in some array, at some place.
    #[inline]
    pub(crate) fn show<T>(&self, attribute: usize, row: usize, show: impl FnOnce(Values<'_>, usize) -> T) -> T {
        match self.values(attribute, row + 1) {
            Some(values) => show(values, row),
            None => {
                let mut cell = Cell::default();
                let (values, at) = self.cell(attribute, row, &mut cell);
                show(values, at)
            }
        }
    }

    /// Where a published row's value lies: in some array, at some place, or in the cell.
    pub(crate) fn cell<'a>(&'a self, attribute: usize, row: usize, cell: &'a mut Cell) -> (Values<'a>, usize) {
        match &self.columns[attribute] {
            Stored::Constant(constant) => (constant.values(), 0),
            Stored::Frozen(frozen) => (frozen.cell(row, cell), 0),
            // SAFETY: as in `values`.
            _ => (unsafe { Values::new(self.types[attribute].physical(), self.refs[attribute], row + 1) }, row),
        }
    }
}

/// A value of a type.
pub(crate) fn value(values: Values<'_>, row: usize, sql_type: SqlType) -> Value {
    if values.is_null(row) {
        return Value::Null;
    }
    let stored: i128 = match values.physical() {
        Physical::Bool => values.get::<u8>(row).into(),
        Physical::I16 => values.get::<i16>(row).into(),
        Physical::I32 => values.get::<i32>(row).into(),
        Physical::I64 => values.get::<i64>(row).into(),
        Physical::I128 => values.get::<i128>(row),
        Physical::F32 => return Value::Float(values.get::<f32>(row).into()),
        Physical::F64 => return Value::Float(values.get::<f64>(row)),
        Physical::Interval => return Value::Interval(values.get::<Interval>(row)),
        Physical::Str => {
            let text = values.get::<Str>(row);
            // SAFETY: whoever made the values keeps the payload alive, and only UTF-8 is admitted to columns.
            return Value::str(unsafe { text.as_str() });
        }
    };
    // A bare NULL has no other value.
    Value::of_integer(sql_type, stored).unwrap_or(Value::Null)
}

/// Appends a value to a column that is being built.
pub(crate) fn copy(values: Values<'_>, row: usize, to: &mut ColumnBuilder) {
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
            // SAFETY: whoever made the values keeps the payload alive, and only UTF-8 is admitted to columns.
            to.push_str(unsafe { text.as_str() });
        }
    }
}
