//! Tables of TPC-H in a database.

use std::path::Path;

use base::Result;
use engine::Session;

use super::{SCHEMA, TABLES};

/// Where the tables come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Parquet files; the tables get the files' types.
    Parquet,
    /// CSV files, copied into tables with the specification's types and keys.
    Csv,
    /// Views on Parquet files: nothing is loaded.
    ParquetViews,
}

/// Loads all tables from the files that [`generate`](super::generate) wrote into a folder; `report` hears of each.
pub fn load(session: &mut Session, folder: &Path, source: Source, mut report: impl FnMut(&'static str)) -> Result<()> {
    let mut run = |sql: &str| session.execute(sql, &[]).and_then(engine::QueryResult::collect).map(drop);
    if source == Source::Csv {
        for statement in SCHEMA.split_inclusive(';').filter(|s| !s.trim().is_empty()) {
            run(statement)?;
        }
    }
    for &table in TABLES {
        report(table);
        let path = |extension| folder.join(format!("{table}.{extension}")).display().to_string().replace('\'', "''");
        match source {
            Source::Parquet => run(&format!("CREATE TABLE {table} AS SELECT * FROM '{}'", path("parquet")))?,
            Source::Csv => run(&format!("COPY {table} FROM '{}' (FORMAT csv, HEADER)", path("csv")))?,
            Source::ParquetViews => run(&format!("CREATE VIEW {table} AS SELECT * FROM '{}'", path("parquet")))?,
        }
    }
    Ok(())
}
