//! What is run: TPC-H, or the tables of a folder and the queries of a file.

use std::path::PathBuf;

use base::{Error, Result};
use engine::Session;
use tpch::QUERIES;

use crate::DataOptions;
use crate::tpch::{prepare, source};

/// See the module.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct WorkloadOptions {
    #[command(flatten)]
    pub data: DataOptions,
    /// Folder of Parquet files that are loaded in the place of TPC-H's.
    #[arg(long, requires = "queries")]
    folder: Option<PathBuf>,
    /// File with a query in each line, its name and a tab before it, in the place of TPC-H's (`python bench/queries.py ssb`).
    #[arg(long, requires = "folder")]
    queries: Option<PathBuf>,
}

impl WorkloadOptions {
    pub fn is_tpch(&self) -> bool {
        self.folder.is_none()
    }

    /// Makes the tables.
    pub fn load(&self, session: &mut Session) -> Result<()> {
        let Some(folder) = &self.folder else {
            return tpch::load(session, &prepare(&self.data)?, source(&self.data), |_| {});
        };
        let failed = |e: std::io::Error| Error::internal(format!("{}: {e}", folder.display()));
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if let (Some(name), Some("parquet")) = (path.file_stem(), path.extension().and_then(|e| e.to_str())) {
                let sql = format!("create table {} as select * from '{}'", name.display(), path.display());
                session.execute(&sql, &[])?.collect()?;
            }
        }
        Ok(())
    }

    /// Names and texts.
    pub fn queries(&self) -> Result<Vec<(String, String)>> {
        let Some(file) = &self.queries else {
            return Ok(QUERIES.iter().map(|query| (format!("Q{}", query.number), query.sql.to_owned())).collect());
        };
        let text = std::fs::read_to_string(file).map_err(|e| Error::internal(format!("{}: {e}", file.display())))?;
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        Ok(lines.map(|(name, sql)| (name.to_owned(), sql.to_owned())).collect())
    }
}
