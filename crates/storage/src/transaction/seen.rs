//! What a transaction sees of its moment, as its last statement did: for the next one, which sees the same but for what its own have
//! done since.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::clock::View;
use crate::relation::{Relation, Visible};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// None: nothing yet.
    pub view: Option<View>,
    pub relations: SmallVec<[(Arc<Relation>, Arc<Visible>); 2]>,
}
