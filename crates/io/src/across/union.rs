//! Files whose columns are found by their names: a file that lacks one has NULLs there, and one that has it of another type
//! gets the type that holds both.

use std::path::PathBuf;
use std::slice;
use std::sync::Arc;

use base::{Error, Result};
use types::ops::cast::{can_cast, cast_value};
use types::{Chunk, Column, ColumnBuilder, SqlType};

use super::Open;
use crate::arrow_in::all_null;
use crate::source::{ColumnStatistics, CompareOp, Field, FileSource, NoRows, PieceReader, PrunePredicate, Step};

/// Opens each file on its own.
pub fn open(files: &[PathBuf], open: Open<'_>) -> Result<Arc<dyn FileSource>> {
    let mut sources = files.iter().map(|file| open(slice::from_ref(file), &[])).collect::<Result<Vec<_>>>()?;
    let mut schema: Vec<Field> = Vec::new();
    for source in &sources {
        for field in source.schema() {
            match schema.iter_mut().find(|known| known.name == field.name) {
                Some(known) => known.sql_type = both(known.sql_type, field.sql_type),
                None => schema.push(Field { nullable: true, ..field.clone() }),
            }
        }
    }
    for (source, file) in sources.iter_mut().zip(files) {
        let wanted = |field: &Field| schema.iter().find(|known| known.name == field.name).map(|known| known.sql_type);
        // A text file says more than the type that it seemed to be: it is read as what it is to be.
        let others = source.schema().iter().filter_map(|field| Some((field, wanted(field)?)));
        let others = others.filter(|(field, sql_type)| field.sql_type != *sql_type);
        let others: Vec<(String, SqlType)> = others.map(|(field, of)| (field.name.clone(), of)).collect();
        if !others.is_empty() {
            *source = open(slice::from_ref(file), &others)?;
        }
    }
    let place = |source: &Arc<dyn FileSource>, field: &Field| source.schema().iter().position(|f| f.name == field.name);
    let places = sources.iter().map(|source| schema.iter().map(|field| place(source, field)).collect()).collect();
    Ok(Arc::new(Union { sources, schema, places }))
}

/// The type that holds values of both.
fn both(a: SqlType, b: SqlType) -> SqlType {
    let is = |of: fn(SqlType) -> bool| of(a) && of(b);
    let moment = |of: SqlType| matches!(of, SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz);
    match () {
        () if a == b || b == SqlType::Null => a,
        () if a == SqlType::Null => b,
        () if is(SqlType::is_integer) => {
            if a == SqlType::BigInt || b == SqlType::BigInt {
                SqlType::BigInt
            } else {
                SqlType::Integer
            }
        }
        () if is(SqlType::is_numeric) => SqlType::Double,
        () if moment(a) && moment(b) => {
            if a == SqlType::Timestamptz || b == SqlType::Timestamptz {
                SqlType::Timestamptz
            } else {
                SqlType::Timestamp
            }
        }
        () if a.is_json() || b.is_json() || a.is_nested() && b.is_nested() => SqlType::Json,
        () => SqlType::Text,
    }
}

/// Sources, one for each file.
struct Union {
    sources: Vec<Arc<dyn FileSource>>,
    schema: Vec<Field>,
    /// For each source its column for each column of all.
    places: Vec<Vec<Option<usize>>>,
}

impl Union {
    /// The number of a morsel's source, and its own there.
    fn place(&self, morsel: usize) -> (usize, usize) {
        let (mut at, mut source) = (morsel, 0);
        while at >= self.sources[source].morsels() {
            at -= self.sources[source].morsels();
            source += 1;
        }
        (source, at)
    }

    /// A column of a source as all have it, if it is of that type or can be.
    fn is_same(&self, source: usize, column: usize) -> Option<usize> {
        let own = self.places[source][column]?;
        (self.sources[source].schema()[own].sql_type == self.schema[column].sql_type).then_some(own)
    }

    fn reader(&self, source: usize, columns: &[usize], reader: Box<dyn PieceReader>) -> Box<dyn PieceReader> {
        let column = |&c: &usize| (self.places[source][c].is_some(), self.schema[c].sql_type);
        Box::new(UnionReader { reader, columns: columns.iter().map(column).collect() })
    }

    fn of_source(&self, source: usize, columns: &[usize]) -> Vec<usize> {
        columns.iter().filter_map(|&c| self.places[source][c]).collect()
    }
}

struct UnionReader {
    reader: Box<dyn PieceReader>,
    /// Whether the source has the column, and its type.
    columns: Vec<(bool, SqlType)>,
}

fn cast(column: Column, to: SqlType) -> Result<Column> {
    let from = column.sql_type();
    if from == to {
        return Ok(column);
    }
    if !can_cast(from, to) {
        return Err(Error::unsupported(format!("files with a column of types {from} and {to}")));
    }
    let mut out = ColumnBuilder::new(to, column.rows());
    for row in 0..column.rows() {
        out.push_value(&cast_value(&column.value(row), from, to)?);
    }
    Ok(out.finish())
}

impl PieceReader for UnionReader {
    fn step(&mut self) -> Result<Step> {
        let chunk = match self.reader.step()? {
            Step::Chunk(chunk) => chunk,
            other => return Ok(other),
        };
        let rows = chunk.rows();
        let mut own = chunk.into_columns().into_iter();
        let column = |&(is_own, sql_type): &(bool, SqlType)| match if is_own { own.next() } else { None } {
            Some(column) => cast(column, sql_type),
            None => Ok(all_null(sql_type, rows)),
        };
        let columns = self.columns.iter().map(column).collect::<Result<Vec<_>>>()?;
        Ok(Step::Chunk(Chunk::new(rows, columns)))
    }
}

impl FileSource for Union {
    fn schema(&self) -> &[Field] {
        &self.schema
    }
    fn estimated_rows(&self) -> u64 {
        self.sources.iter().map(|source| source.estimated_rows()).fold(0, u64::saturating_add)
    }
    fn exact_rows(&self) -> Option<u64> {
        self.sources.iter().map(|source| source.exact_rows()).sum()
    }
    fn morsels(&self) -> usize {
        self.sources.iter().map(|source| source.morsels()).sum()
    }
    fn file_of(&self, morsel: usize) -> usize {
        self.place(morsel).0
    }
    fn preparations(&self) -> usize {
        if self.sources.iter().any(|source| source.preparations() > 0) { self.morsels() } else { 0 }
    }
    fn prepare(&self, piece: usize) -> Result<bool> {
        let (source, piece) = self.place(piece);
        let source = &self.sources[source];
        if piece < source.preparations() { source.prepare(piece) } else { Ok(true) }
    }
    fn rows_of(&self, morsel: usize) -> u64 {
        let (source, morsel) = self.place(morsel);
        self.sources[source].rows_of(morsel)
    }
    fn read(
        self: Arc<Self>,
        morsel: usize,
        columns: &[usize],
        prune: &[PrunePredicate],
        chunk_rows: usize,
    ) -> Result<Box<dyn PieceReader>> {
        let (source, morsel) = self.place(morsel);
        let mut of_source = Vec::new();
        for predicate in prune {
            if self.places[source][predicate.column].is_none() {
                // All rows are NULL there.
                if predicate.op != CompareOp::IsNull {
                    return Ok(Box::new(NoRows));
                }
            } else if let Some(column) = self.is_same(source, predicate.column) {
                of_source.push(PrunePredicate { column, ..predicate.clone() });
            }
        }
        let own = self.of_source(source, columns);
        let reader = self.sources[source].clone().read(morsel, &own, &of_source, chunk_rows)?;
        Ok(self.reader(source, columns, reader))
    }
    fn read_first(self: Arc<Self>, columns: &[usize]) -> Result<Box<dyn PieceReader>> {
        let reader = self.sources[0].clone().read_first(&self.of_source(0, columns))?;
        Ok(self.reader(0, columns, reader))
    }
    fn statistics(&self, column: usize) -> ColumnStatistics {
        let all: Option<Vec<_>> = (0..self.sources.len()).map(|s| Some((s, self.is_same(s, column)?))).collect();
        let Some(all) = all else { return ColumnStatistics::default() };
        let each = all.into_iter().map(|(source, column)| self.sources[source].statistics(column));
        each.reduce(ColumnStatistics::and).unwrap_or_default()
    }
}
