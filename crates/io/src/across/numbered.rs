//! A column that numbers the rows of each file, from 0. Whoever asks for it reads all rows of a morsel, as those that are left out
//! have numbers, too.

use std::sync::Arc;

use base::{Error, Result};
use types::{Chunk, ColumnBuilder, SqlType, Value};

use crate::source::{ColumnStatistics, Field, FileSource, PieceReader, PrunePredicate, Step, morsels_of_source};

/// A source with such a column behind its own.
pub struct Numbered {
    source: Arc<dyn FileSource>,
    schema: Vec<Field>,
}

impl Numbered {
    /// Error 0A000 if the source does not know how many rows its morsels have.
    pub fn new(source: Arc<dyn FileSource>, name: &str) -> Result<Self> {
        if source.exact_rows().is_none() {
            return Err(Error::unsupported(format!("{name} of files other than Parquet")));
        }
        let number = Field { nullable: false, ..Field::new(name, SqlType::BigInt) };
        let own = source.schema().iter().filter(|field| field.name != name).cloned();
        let schema = own.chain([number]).collect();
        Ok(Self { source, schema })
    }

    fn number(&self) -> usize {
        self.schema.len() - 1
    }

    /// The columns of the source among those, in order, and where the number stands in between.
    fn of_source(&self, columns: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let place = |&column: &usize| {
            let name = &self.schema[column].name;
            self.source.schema().iter().position(|field| field.name == *name)
        };
        let own = columns.iter().filter(|&&column| column != self.number()).filter_map(place).collect();
        (own, (0..columns.len()).filter(|&at| columns[at] == self.number()).collect())
    }

    /// The number of a morsel's first row in its file.
    fn first(&self, morsel: usize) -> i64 {
        let file = self.source.file_of(morsel);
        let before = (0..morsel).rev().take_while(|&other| self.source.file_of(other) == file);
        before.map(|other| self.source.rows_of(other) as i64).sum()
    }
}

struct NumberedReader {
    reader: Box<dyn PieceReader>,
    next: i64,
    places: Vec<usize>,
}

impl PieceReader for NumberedReader {
    fn step(&mut self) -> Result<Step> {
        let chunk = match self.reader.step()? {
            Step::Chunk(chunk) => chunk,
            other => return Ok(other),
        };
        let rows = chunk.rows();
        let mut builder = ColumnBuilder::new(SqlType::BigInt, rows);
        (0..rows).for_each(|row| builder.push_value(&Value::Int(self.next + row as i64)));
        self.next += rows as i64;
        let numbers = builder.finish();
        let mut columns = chunk.into_columns();
        self.places.iter().for_each(|&at| columns.insert(at, numbers.clone()));
        Ok(Step::Chunk(Chunk::new(rows, columns)))
    }
}

impl FileSource for Numbered {
    fn schema(&self) -> &[Field] {
        &self.schema
    }
    morsels_of_source!();
    fn read(
        self: Arc<Self>,
        morsel: usize,
        columns: &[usize],
        prune: &[PrunePredicate],
        chunk_rows: usize,
    ) -> Result<Box<dyn PieceReader>> {
        let (own, places) = self.of_source(columns);
        let of_source = |p: &PrunePredicate| {
            let (column, _) = self.of_source(&[p.column]);
            column.first().map(|&column| PrunePredicate { column, ..p.clone() })
        };
        let prune: Vec<PrunePredicate> =
            if places.is_empty() { prune.iter().filter_map(of_source).collect() } else { Vec::new() };
        let reader = self.source.clone().read(morsel, &own, &prune, chunk_rows)?;
        if places.is_empty() {
            return Ok(reader);
        }
        Ok(Box::new(NumberedReader { reader, next: self.first(morsel), places }))
    }
    fn extremes(&self, morsel: usize, columns: &[usize]) -> Option<Chunk> {
        let (own, places) = self.of_source(columns);
        if places.is_empty() { self.source.extremes(morsel, &own) } else { None }
    }
    fn statistics_of(&self, morsel: usize, column: usize) -> ColumnStatistics {
        match self.of_source(&[column]).0.first() {
            Some(&column) => self.source.statistics_of(morsel, column),
            None => ColumnStatistics::default(),
        }
    }
    fn statistics(&self, column: usize) -> ColumnStatistics {
        match self.of_source(&[column]).0.first() {
            Some(&column) => self.source.statistics(column),
            None => ColumnStatistics::default(),
        }
    }
}
