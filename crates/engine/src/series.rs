//! `generate_series` as a source: its rows are computed when they are read (decision 38).

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use base::{Error, Result, SqlState};
use io::{CHUNK_ROWS, ColumnStatistics, FIRST_ROWS, Field, FileSource, PieceReader, PrunePredicate, Step};
use sql::{Series, SeriesBounds};
use types::ops::date::{self, Zone};
use types::ops::numeric;
use types::{Chunk, ColumnBuilder, Interval, Physical, SqlType, Value};

/// Rows of a morsel of a series that is not huge.
const MORSEL_ROWS: u64 = CHUNK_ROWS as u64;
/// Most morsels: each is known by its bounds before the first one is read.
const MOST_MORSELS: u64 = 1 << 13;
/// Most row numbers that a morsel takes: all rows together have to stay well below what row numbers can be.
const MOST_NUMBERS: u64 = 1 << 26;
/// Rows of a sample.
const SAMPLE_ROWS: u64 = 1024;

/// A series as a file without bytes.
pub(crate) struct SeriesSource {
    schema: Vec<Field>,
    values: Values,
}

/// What the values are.
#[derive(Clone, Debug)]
enum Values {
    /// As many, each as far from the one before: any of them can be computed by itself.
    Even { start: i128, step: i128, rows: u64 },
    /// Timestamps whose step has months, which are not of one length: each is computed from the one before.
    Calendar(Calendar),
}

#[derive(Clone, Debug)]
struct Calendar {
    start: i64,
    stop: i64,
    step: Interval,
    has_stop: bool,
    sql_type: SqlType,
    zone: Zone,
}

impl SeriesSource {
    /// The series. Error 22023 if its step is zero.
    pub fn new(series: Series) -> Result<Self> {
        let Series { column, sql_type, bounds, ordinality, zone, .. } = series;
        let mut schema = vec![Field { nullable: false, ..Field::new(column, sql_type) }];
        if ordinality {
            schema.push(Field { nullable: false, ..Field::new("ordinality", SqlType::BigInt) });
        }
        let values = match bounds {
            Some(bounds) => Values::new(&bounds, sql_type, zone)?,
            None => Values::Even { start: 0, step: 1, rows: 0 },
        };
        Ok(Self { schema, values })
    }

    fn rows(&self) -> u64 {
        match &self.values {
            Values::Even { rows, .. } => *rows,
            Values::Calendar(calendar) => calendar.estimated_rows(),
        }
    }

    /// How many rows a morsel of even ones has, but for the last.
    fn morsel_rows(&self) -> u64 {
        self.rows().div_ceil(MOST_MORSELS).max(MORSEL_ROWS)
    }

    /// The rows of a morsel; all that there are of one that has an estimate only.
    fn range(&self, morsel: usize) -> Range<u64> {
        let rows = self.rows();
        let each = self.morsel_rows();
        let begin = (morsel as u64).saturating_mul(each).min(rows);
        begin..begin.saturating_add(each).min(rows)
    }

    /// A chunk of even rows, `every` so many; `columns` are those of the schema.
    fn chunk(&self, rows: Range<u64>, every: u64, columns: &[usize]) -> Chunk {
        let count = (rows.end - rows.start).div_ceil(every) as usize;
        let Values::Even { start, step, .. } = self.values else { return Chunk::new(0, Vec::new()) };
        let column = |&column: &usize| {
            let (first, step) = if column == 0 { (start, step) } else { (1, 1) };
            // What is behind the end of 128 bits on the way is back before it in the end.
            let first = first.wrapping_add(step.wrapping_mul(rows.start.into()));
            let step = step.wrapping_mul(every.into());
            even_column(self.schema[column].sql_type, first, step, count)
        };
        Chunk::new(count, columns.iter().map(column).collect())
    }

    /// Whether some row of the range might be wanted.
    fn admits(&self, rows: &Range<u64>, prune: &[PrunePredicate]) -> bool {
        let of = |column: usize| self.bounds_of(column, rows).unwrap_or_default();
        prune.iter().all(|p| of(p.column).admits(p, rows.end - rows.start))
    }

    /// The least and greatest values of some rows.
    fn bounds_of(&self, column: usize, rows: &Range<u64>) -> Option<ColumnStatistics> {
        let Values::Even { start, step, .. } = self.values else { return None };
        let last = rows.end.checked_sub(1).filter(|last| *last >= rows.start)?;
        let (start, step) = if column == 0 { (start, step) } else { (1, 1) };
        let at = |row: u64| start.wrapping_add(step.wrapping_mul(row.into()));
        let (a, b) = (at(rows.start), at(last));
        let value = |stored| Value::of_integer(self.schema[column].sql_type, stored);
        Some(ColumnStatistics { min: value(a.min(b)), max: value(a.max(b)), are_exact: true, nulls: Some(0) })
    }
}

/// Stored values, each `step` behind the one before.
fn even_column(sql_type: SqlType, first: i128, step: i128, rows: usize) -> types::Column {
    let mut builder = ColumnBuilder::new(sql_type, rows);
    let values = (0..rows as i128).map(|row| first.wrapping_add(step.wrapping_mul(row)));
    match sql_type.physical() {
        Physical::I32 => values.for_each(|value| builder.push(value as i32)),
        Physical::I64 => values.for_each(|value| builder.push(value as i64)),
        _ => values.for_each(|value| builder.push(value)),
    }
    builder.finish()
}

impl Values {
    fn new(bounds: &SeriesBounds, sql_type: SqlType, zone: Zone) -> Result<Self> {
        let stored = |value: &Value| match value {
            Value::Int(i) | Value::Time(i) | Value::Timestamp(i) => Ok(i128::from(*i)),
            Value::Decimal(digits) => Ok(*digits),
            _ => Err(Error::unsupported("a series of numbers of more than 38 digits")),
        };
        for (value, what) in [(&bounds.start, "start value"), (&bounds.stop, "stop value"), (&bounds.step, "step size")]
        {
            if let Value::Str(form) = value
                && !numeric::is_finite(form)
            {
                let kind = if numeric::format(form, -1).starts_with('N') { "NaN" } else { "infinity" };
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("{what} cannot be {kind}")));
            }
        }
        let step = match (&bounds.start, &bounds.stop, &bounds.step) {
            (&Value::Timestamp(start), &Value::Timestamp(stop), &Value::Interval(step)) => {
                // Days of a zone are not all of one length either.
                let is_zoned = sql_type == SqlType::Timestamptz && !zone.is_utc() && step.days != 0;
                if (step.months != 0 || is_zoned) && step.approximate_micros() != 0 {
                    let has_stop = bounds.has_stop;
                    return Ok(Self::Calendar(Calendar { start, stop, step, has_stop, sql_type, zone }));
                }
                step.approximate_micros()
            }
            (_, _, step) => stored(step)?,
        };
        if step == 0 {
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "step size cannot equal zero"));
        }
        let (start, stop) = (stored(&bounds.start)?, stored(&bounds.stop)?);
        let (distance, size) = (start.abs_diff(stop), step.unsigned_abs());
        let steps = match () {
            () if start != stop && (start < stop) != (step > 0) => 0,
            () if bounds.has_stop => distance / size + 1,
            () => distance.div_ceil(size),
        };
        Ok(Self::Even { start, step, rows: u64::try_from(steps).unwrap_or(u64::MAX) })
    }
}

impl Calendar {
    fn after(&self, value: i64) -> Result<i64> {
        match self.sql_type {
            SqlType::Timestamptz => date::add_interval_in(value, self.step, &self.zone),
            _ => date::add_interval(value, self.step),
        }
    }

    fn has(&self, value: i64) -> bool {
        let forwards = self.step.approximate_micros() > 0;
        (value == self.stop && self.has_stop) || (value != self.stop && (value < self.stop) == forwards)
    }

    fn estimated_rows(&self) -> u64 {
        if !self.has(self.start) {
            return 0;
        }
        let distance = i128::from(self.start).abs_diff(self.stop.into());
        u64::try_from(distance / self.step.approximate_micros().unsigned_abs() + 1).unwrap_or(u64::MAX)
    }
}

impl FileSource for SeriesSource {
    fn schema(&self) -> &[Field] {
        &self.schema
    }
    fn estimated_rows(&self) -> u64 {
        self.rows()
    }
    fn exact_rows(&self) -> Option<u64> {
        matches!(self.values, Values::Even { .. }).then(|| self.rows())
    }
    fn morsels(&self) -> usize {
        match &self.values {
            Values::Even { rows, .. } => rows.div_ceil(self.morsel_rows()) as usize,
            Values::Calendar(_) => 1,
        }
    }
    fn rows_of(&self, morsel: usize) -> u64 {
        let rows = match &self.values {
            Values::Even { .. } => self.range(morsel),
            Values::Calendar(_) => 0..self.rows(),
        };
        (rows.end - rows.start).min(MOST_NUMBERS)
    }
    fn read(
        self: Arc<Self>,
        morsel: usize,
        columns: &[usize],
        prune: &[PrunePredicate],
        chunk_rows: usize,
    ) -> Result<Box<dyn PieceReader>> {
        let columns = columns.to_vec();
        let chunk_rows = chunk_rows.min(CHUNK_ROWS) as u64;
        if let Values::Calendar(calendar) = &self.values {
            // A step of a calendar takes longer than an addition.
            let chunk_rows = chunk_rows.min(FIRST_ROWS as u64);
            let next = calendar.has(calendar.start).then_some(calendar.start);
            let reader = CalendarReader { calendar: calendar.clone(), next, done: 0, columns, chunk_rows };
            return Ok(Box::new(reader));
        }
        let range = self.range(morsel);
        let rows = if self.admits(&range, prune) { range } else { range.end..range.end };
        Ok(Box::new(EvenReader { source: self, rows, every: 1, columns, chunk_rows }))
    }
    fn read_first(self: Arc<Self>, columns: &[usize]) -> Result<Box<dyn PieceReader>> {
        if let Values::Calendar(_) = self.values {
            return self.read(0, columns, &[], SAMPLE_ROWS as usize);
        }
        // Rows from everywhere cost as much as the first ones, and say more.
        let rows = 0..self.rows();
        let every = rows.end.div_ceil(SAMPLE_ROWS).max(1);
        Ok(Box::new(EvenReader { source: self, rows, every, columns: columns.to_vec(), chunk_rows: SAMPLE_ROWS }))
    }
    fn statistics(&self, column: usize) -> ColumnStatistics {
        self.bounds_of(column, &(0..self.rows())).unwrap_or_default()
    }
}

/// The reading of a morsel of values that are evenly apart.
struct EvenReader {
    source: Arc<SeriesSource>,
    rows: Range<u64>,
    every: u64,
    columns: Vec<usize>,
    chunk_rows: u64,
}

impl PieceReader for EvenReader {
    fn step(&mut self) -> Result<Step> {
        if self.rows.is_empty() {
            return Ok(Step::End);
        }
        let end = self.rows.start.saturating_add(self.chunk_rows.saturating_mul(self.every)).min(self.rows.end);
        let chunk = self.source.chunk(self.rows.start..end, self.every, &self.columns);
        self.rows.start = end;
        Ok(Step::Chunk(chunk))
    }
}

/// The reading of timestamps that are months apart.
struct CalendarReader {
    calendar: Calendar,
    next: Option<i64>,
    done: i64,
    columns: Vec<usize>,
    chunk_rows: u64,
}

impl PieceReader for CalendarReader {
    fn step(&mut self) -> Result<Step> {
        let mut values = Vec::new();
        while let Some(value) = self.next
            && (values.len() as u64) < self.chunk_rows
        {
            values.push(value);
            let next = self.calendar.after(value)?;
            self.next = self.calendar.has(next).then_some(next);
        }
        if values.is_empty() {
            return Ok(Step::End);
        }
        let column = |&column: &usize| {
            if column != 0 {
                return even_column(SqlType::BigInt, i128::from(self.done) + 1, 1, values.len());
            }
            let mut builder = ColumnBuilder::new(self.calendar.sql_type, values.len());
            values.iter().for_each(|value| builder.push(*value));
            builder.finish()
        };
        let chunk = Chunk::new(values.len(), self.columns.iter().map(column).collect());
        self.done += values.len() as i64;
        Ok(Step::Chunk(chunk))
    }
}
