//! Queries that are run for the errors that they end with, if something is not as it must be.

use std::ops::Range;
use std::sync::Arc;

use base::{Budget, Error, Result};
use plan::Plan;
use runtime::result::Sink;
use types::{Chunk, FreeRows, SqlType};

use super::load::run_to;
use crate::environment::Environment;

/// Runs a query that has to end well, and of which nothing else is asked.
pub(super) fn ask(environment: &Environment, plan: &Plan) -> Result<()> {
    run_to(environment, plan, false, &|_: &Budget| Arc::new(Nowhere) as Arc<dyn Sink>).map(drop)
}

/// For rows that nobody wants.
#[derive(Debug)]
struct Nowhere;

impl Sink for Nowhere {
    fn append(&self, _worker: usize, _morsel: u64, _chunk: Chunk) -> Result<()> {
        Ok(())
    }
    fn free_rows(&self, _worker: usize, _types: &[SqlType], _most: usize) -> Result<Option<FreeRows>> {
        Ok(None)
    }
    unsafe fn advance(&self, _worker: usize, _morsel: u64, _rows: usize, _nulls: &[Option<&[u8]>]) -> Result<()> {
        Err(Error::internal("no rows were free"))
    }
    fn end_morsel(&self, _worker: usize, _rows: Range<u64>, _broken: bool) {}
    fn finish(&self) -> Result<()> {
        Ok(())
    }
}
