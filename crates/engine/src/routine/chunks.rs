//! Rows as tables have them: numbered where their order counts, and in few chunks.

use types::{Chunk, ColumnBuilder, SqlType, Value};

/// Rows of a chunk that is put together of small ones.
const MERGED: usize = 1024;

/// The rows of chunks in their order, few of which are small.
pub(super) fn merged(chunks: Vec<Chunk>, types: &[SqlType]) -> Vec<Chunk> {
    let mut all: Vec<Chunk> = Vec::new();
    let mut small: Vec<Chunk> = Vec::new();
    let flush = |small: &mut Vec<Chunk>, all: &mut Vec<Chunk>| {
        if small.len() < 2 {
            all.append(small);
            return;
        }
        let rows = small.iter().map(Chunk::rows).sum();
        let column = |(at, sql_type): (usize, &SqlType)| {
            let mut column = ColumnBuilder::new(*sql_type, rows);
            let values = small.iter().flat_map(|chunk| (0..chunk.rows()).map(move |row| chunk.column(at).value(row)));
            values.for_each(|value| column.push_value(&value));
            column.finish()
        };
        all.push(Chunk::new(rows, types.iter().enumerate().map(column).collect()));
        small.clear();
    };
    let mut pending = 0;
    for chunk in chunks {
        if pending + chunk.rows() > MERGED {
            flush(&mut small, &mut all);
            pending = 0;
        }
        pending += chunk.rows();
        small.push(chunk);
    }
    flush(&mut small, &mut all);
    all
}

/// Rows with their numbers behind them.
pub(super) fn numbered(chunks: Vec<Chunk>) -> Vec<Chunk> {
    let mut next = 0;
    let with_numbers = |chunk: Chunk| {
        let rows = chunk.rows();
        let mut numbers = ColumnBuilder::new(SqlType::BigInt, rows);
        for _ in 0..rows {
            numbers.push_value(&Value::Int(next));
            next += 1;
        }
        let mut columns = chunk.into_columns();
        columns.push(numbers.finish());
        Chunk::new(rows, columns)
    };
    chunks.into_iter().map(with_numbers).collect()
}
