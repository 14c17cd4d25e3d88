//! LIMIT in a correlated subquery: per outer row.

use base::{Error, Result};
use plan::{Node, SortKey};

use super::Unnester;
use super::domain::{Bindings, Domain};
use crate::rewrite::at_most_one_row;

impl Unnester<'_> {
    /// Pushes a dependent join over ORDER BY ... LIMIT.
    pub(super) fn push_limit(
        &mut self,
        input: Node,
        _keys: Vec<SortKey>,
        limit: Option<u64>,
        offset: u64,
        domain: &mut Domain,
        all: &std::collections::BTreeSet<plan::ColumnId>,
    ) -> Result<(Node, Bindings)> {
        if offset == 0 && (limit.is_none() || (limit != Some(0) && at_most_one_row(&input))) {
            return self.push(input, domain, all);
        }
        Err(Error::unsupported("LIMIT or OFFSET in a correlated subquery"))
    }
}
