//! What a database lends to whoever reads and writes files.

use std::sync::Arc;

use base::helpers::Helpers;
use base::{Budget, CancelToken};
use remote::Access;
use types::Value;
use types::ops::date::Zone;

use crate::csv::{CsvOptions, RejectSink};
use crate::input::Means;
use crate::json::JsonOptions;
use crate::parquet_in::footers::Footers;

/// What a database lends to the reading of a file.
#[derive(Clone, Default)]
pub struct OpenContext {
    /// What is charged for texts and column chunks in memory.
    pub budget: Option<Budget>,
    /// Stops opening and reading.
    pub cancel: CancelToken,
    /// Who helps to look at a text file before it is read, and to encode one that is written.
    pub helpers: Option<Arc<dyn Helpers>>,
    /// Who is told of bad records of a text file, which are then left out.
    pub rejects: Option<RejectSink>,
    /// COPY: the defaults of the columns.
    pub defaults: Vec<Value>,
    /// The zone of moments in text files.
    pub zone: Zone,
    /// Who asks servers for files.
    pub remote: Option<Access>,
    /// What Parquet files have said before.
    pub footers: Option<Arc<Footers>>,
}

impl OpenContext {
    /// What opening a file takes.
    pub(crate) fn means(&self) -> Means<'_> {
        Means { limit: usize::MAX, budget: self.budget.as_ref(), cancel: &self.cancel, remote: self.remote.as_ref() }
    }

    /// Options of JSON files with that.
    pub(crate) fn json(self) -> JsonOptions {
        let Self { budget, cancel, zone, remote, .. } = self;
        JsonOptions { budget, cancel, zone, remote, ..JsonOptions::default() }
    }

    /// Lends it to options of text files.
    pub(crate) fn lend(self, csv: &mut CsvOptions) {
        csv.budget = self.budget;
        csv.cancel = self.cancel;
        csv.helpers = self.helpers;
        csv.rejects = self.rejects;
        csv.zone = self.zone;
        csv.remote = self.remote;
        if let Some((_, values)) = &mut csv.default {
            *values = self.defaults;
        }
    }
}
