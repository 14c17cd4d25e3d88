//! Window functions in a correlated subquery: for each value of the free columns.

use plan::{ColumnId, Node, Op, SortKey, WindowCall};

use super::Unnester;
use super::domain::Bindings;
use crate::rewrite::column;

impl Unnester<'_> {
    /// The window over an input that carries the free columns, which partition it before all else.
    pub(super) fn window(
        &self,
        input: Node,
        keys: Vec<SortKey>,
        functions: Vec<(ColumnId, WindowCall)>,
        bindings: &Bindings,
    ) -> Node {
        let mut carried: Vec<ColumnId> = bindings.values().map(|bound| bound.column).collect();
        carried.dedup();
        let added = carried.len();
        let first = carried.into_iter().map(|c| SortKey {
            expr: column(self.columns, c),
            descending: false,
            nulls_first: false,
        });
        let keys = first.chain(keys).collect();
        let mut window = Node::new(Op::Window { input: Box::new(input), keys, functions });
        window.expressions_mut().for_each(|e| self.bind(e, bindings));
        if let Op::Window { functions, .. } = &mut window.op {
            for (_, call) in functions {
                call.partition += added;
                call.peers += added;
            }
        }
        window
    }
}
