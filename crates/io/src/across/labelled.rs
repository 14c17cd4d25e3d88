//! Columns that have one value in all rows of a file. What a predicate says of them leaves files out before they are read.

use std::sync::Arc;

use base::Result;
use types::{Chunk, Column, ColumnBuilder, Value};

use crate::source::{
    ColumnStatistics, Field, FileSource, NoRows, PieceReader, PrunePredicate, Step, morsels_of_source,
};

/// A column with its value by file.
pub struct Label {
    pub field: Field,
    pub values: Vec<Value>,
}

/// Where a column comes from.
#[derive(Clone, Copy)]
enum Place {
    Source(usize),
    Label(usize),
}

/// A source and such columns behind its own; a column of the source that has one of their names is not seen.
pub struct Labelled {
    source: Arc<dyn FileSource>,
    labels: Vec<Label>,
    schema: Vec<Field>,
    places: Vec<Place>,
}

impl Labelled {
    pub fn new(source: Arc<dyn FileSource>, labels: Vec<Label>) -> Self {
        let is_label = |field: &Field| labels.iter().any(|label| label.field.name == field.name);
        let own = source.schema().iter().enumerate().filter(|(_, field)| !is_label(field));
        let own = own.map(|(at, field)| (field.clone(), Place::Source(at)));
        let all = labels.iter().enumerate().map(|(at, label)| (label.field.clone(), Place::Label(at)));
        let (schema, places) = own.chain(all).unzip();
        Self { source, labels, schema, places }
    }

    /// The columns of the source among those, in order.
    fn of_source(&self, columns: &[usize]) -> Vec<usize> {
        let own = columns.iter().filter_map(|&c| match self.places[c] {
            Place::Source(at) => Some(at),
            Place::Label(_) => None,
        });
        own.collect()
    }

    /// What chunks of these columns get between those of the source.
    fn values(&self, columns: &[usize], file: usize) -> Vec<Option<(Field, Value)>> {
        let value = |&c: &usize| match self.places[c] {
            Place::Source(_) => None,
            Place::Label(at) => Some((self.labels[at].field.clone(), self.labels[at].values[file].clone())),
        };
        columns.iter().map(value).collect()
    }
}

/// A chunk of the source with such columns.
fn labelled(chunk: Chunk, values: &[Option<(Field, Value)>]) -> Chunk {
    let rows = chunk.rows();
    let mut own = chunk.into_columns().into_iter();
    let constant = |field: &Field, value: &Value| {
        let mut builder = ColumnBuilder::new(field.sql_type, rows);
        (0..rows).for_each(|_| builder.push_value(value));
        builder.finish()
    };
    let column = |value: &Option<(Field, Value)>| match value {
        Some((field, value)) => constant(field, value),
        None => own.next().expect("the source gives all columns"),
    };
    let columns: Vec<Column> = values.iter().map(column).collect();
    Chunk::new(rows, columns)
}

fn only(value: &Value) -> ColumnStatistics {
    match value {
        Value::Null => ColumnStatistics { nulls: Some(1), ..ColumnStatistics::default() },
        value => {
            let end = Some(value.clone());
            ColumnStatistics { min: end.clone(), max: end, are_exact: false, nulls: Some(0) }
        }
    }
}

struct LabelledReader {
    reader: Box<dyn PieceReader>,
    values: Vec<Option<(Field, Value)>>,
}

impl PieceReader for LabelledReader {
    fn step(&mut self) -> Result<Step> {
        Ok(match self.reader.step()? {
            Step::Chunk(chunk) => Step::Chunk(labelled(chunk, &self.values)),
            other => other,
        })
    }
}

impl FileSource for Labelled {
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
        let file = self.source.file_of(morsel);
        let mut of_source = Vec::new();
        for predicate in prune {
            match self.places[predicate.column] {
                Place::Source(column) => of_source.push(PrunePredicate { column, ..predicate.clone() }),
                Place::Label(at) if only(&self.labels[at].values[file]).admits(predicate, 1) => {}
                Place::Label(_) => return Ok(Box::new(NoRows)),
            }
        }
        let reader = self.source.clone().read(morsel, &self.of_source(columns), &of_source, chunk_rows)?;
        Ok(Box::new(LabelledReader { reader, values: self.values(columns, file) }))
    }
    fn read_first(self: Arc<Self>, columns: &[usize]) -> Result<Box<dyn PieceReader>> {
        let file = if self.source.morsels() == 0 { 0 } else { self.source.file_of(0) };
        let reader = self.source.clone().read_first(&self.of_source(columns))?;
        Ok(Box::new(LabelledReader { reader, values: self.values(columns, file) }))
    }
    fn extremes(&self, morsel: usize, columns: &[usize]) -> Option<Chunk> {
        // Without rows there are no values.
        if self.source.exact_rows().is_none() || self.source.rows_of(morsel) == 0 {
            return None;
        }
        let known = self.source.extremes(morsel, &self.of_source(columns))?;
        Some(labelled(known, &self.values(columns, self.source.file_of(morsel))))
    }
    fn statistics(&self, column: usize) -> ColumnStatistics {
        match self.places[column] {
            Place::Source(column) => self.source.statistics(column),
            Place::Label(at) => {
                let values = || self.labels[at].values.iter().filter(|value| !value.is_null());
                let is_whole = values().count() == self.labels[at].values.len();
                ColumnStatistics {
                    min: values().min_by(|a, b| a.total_cmp(b)).cloned(),
                    max: values().max_by(|a, b| a.total_cmp(b)).cloned(),
                    are_exact: false,
                    nulls: is_whole.then_some(0),
                }
            }
        }
    }
}
