//! The end of the query: its result columns.

use base::Result;
use types::SqlType;

use super::sort::is_ordered;
use super::{Lowering, Needed, Target};
use crate::ir::{Inst, State, StateId};

impl Lowering<'_> {
    /// Lowers the root and ends its pipes in the result: its state, and whether its rows are in order.
    pub(super) fn result(&mut self, target: Target) -> Result<(StateId, bool)> {
        let plan = self.plan;
        let needed: Needed = plan.output.iter().map(|(_, c)| *c).collect();
        let pipes = self.node(&plan.root, &needed)?;
        self.pipelines.operator = self.counters.get(&plan.root);
        let types: Vec<SqlType> = plan.output.iter().map(|(_, c)| self.type_of(*c)).collect();
        let (state, name) = match target {
            Target::Client => (State::Result(types), "result"),
            Target::Table => (State::Table(types), "table"),
        };
        let state = self.pipelines.add_state(state);
        let ordered = matches!(pipes.as_slice(), [pipe] if is_ordered(pipe));
        for mut pipe in pipes {
            let mut values = Vec::new();
            for &(_, column) in &plan.output {
                let sql = pipe.column(column).ok_or_else(|| super::unbound(column))?;
                let sql = pipe.in_layout(sql, self.type_of(column));
                values.push((sql.value, sql.null));
            }
            pipe.push(Inst::Output { state, values });
            pipe.name.push(name.into());
            self.pipelines.close(pipe, state);
        }
        Ok((state, ordered))
    }
}
