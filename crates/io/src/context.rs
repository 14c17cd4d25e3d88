//! What a database lends to whoever reads and writes files.

use std::sync::Arc;

use base::helpers::Helpers;
use base::{Budget, CancelToken};
use types::Value;
use types::ops::date::Zone;

use crate::csv::{CsvOptions, RejectSink};
use crate::json::JsonOptions;

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
}

impl OpenContext {
    /// Options of JSON files with that.
    pub(crate) fn json(self) -> JsonOptions {
        JsonOptions { budget: self.budget, cancel: self.cancel, zone: self.zone, ..JsonOptions::default() }
    }

    /// Lends it to options of text files.
    pub(crate) fn lend(self, csv: &mut CsvOptions) {
        csv.budget = self.budget;
        csv.cancel = self.cancel;
        csv.helpers = self.helpers;
        csv.rejects = self.rejects;
        csv.zone = self.zone;
        if let Some((_, values)) = &mut csv.default {
            *values = self.defaults;
        }
    }
}
