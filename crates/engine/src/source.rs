//! What a query reads: a snapshot of a relation, or a file. The binder puts it into the plan as an opaque handle; running
//! the query takes it out again.

use std::sync::Arc;

use base::{Error, Result};
use io::FileSource;
use plan::TableSource;
use storage::{Relation, Snapshot};

use crate::routine_rows::RoutineRows;

/// The handle behind [`TableSource`].
#[derive(Clone)]
pub(crate) enum Source {
    /// A relation as of the moment when the statement was bound.
    Stored(Snapshot, Arc<Relation>),
    /// A file, or a data frame of the host language.
    File(Arc<dyn FileSource>),
    /// A call of a function, which becomes its rows before the plan runs.
    Routine(Arc<RoutineRows>),
    /// What a part of a WITH that changes data gives, which is there before the plan is optimised.
    Part(usize),
}

impl Source {
    pub fn into_handle(self) -> TableSource {
        TableSource(Arc::new(self))
    }

    pub fn of(handle: &TableSource) -> Result<&Self> {
        handle.0.downcast_ref().ok_or_else(|| Error::internal("a plan reads what this engine does not know"))
    }

    /// The relation of a table that is written to.
    pub fn relation(handle: &TableSource) -> Result<Arc<Relation>> {
        match Self::of(handle)? {
            Self::Stored(_, relation) => Ok(relation.clone()),
            Self::File(_) | Self::Routine(_) | Self::Part(_) => {
                Err(Error::new(base::SqlState::WRONG_OBJECT_TYPE, "cannot write to a file or data frame")
                    .hint("COPY ... TO writes files"))
            }
        }
    }
}
