//! LIMIT in a correlated subquery: for each value of the free columns.

use std::collections::BTreeSet;

use base::Result;
use plan::{ColumnId, Node, Op, SortKey};

use super::Unnester;
use super::domain::{Bindings, Domain};
use crate::rewrite::at_most_one_row;

impl Unnester<'_> {
    /// Pushes a dependent join over ORDER BY ... LIMIT, which counts anew for each value of the free columns (and of the
    /// `partition` columns, if it did so already).
    #[allow(clippy::too_many_arguments)] // the operator's own parts, and what every rule is given
    pub(super) fn push_limit(
        &mut self,
        input: Node,
        mut partition: Vec<ColumnId>,
        mut keys: Vec<SortKey>,
        limit: Option<u64>,
        offset: u64,
        domain: &mut Domain,
        all: &BTreeSet<ColumnId>,
    ) -> Result<(Node, Bindings)> {
        let keeps_all = limit.is_none() || (limit != Some(0) && at_most_one_row(&input));
        let (input, bindings) = self.push(input, domain, all)?;
        if offset == 0 && keeps_all {
            return Ok((input, bindings));
        }
        for bound in bindings.values() {
            if !partition.contains(&bound.column) {
                partition.push(bound.column);
            }
        }
        keys.iter_mut().for_each(|k| self.bind(&mut k.expr, &bindings));
        Ok((Node::new(Op::GroupLimit { input: Box::new(input), partition, keys, limit, offset }), bindings))
    }
}
