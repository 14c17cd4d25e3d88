//! Sequences that a transaction has declared anew or begun again: what they were, as long as that may not have happened. Numbers that are
//! handed out meanwhile come from the new state, as for everybody else, and are forgotten with it.

use std::sync::Arc;

use base::Result;
use functions::sequence::{Shape, State};
use functions::{ScalarFunction, Sequence};
use plan::{Expr, ExprKind, Plan};

/// See the module. What is not [kept](Self::keep) is taken back when this is dropped.
#[derive(Default, Debug)]
pub(crate) struct Altered(Vec<Before>);

#[derive(Debug)]
struct Before {
    /// The statement that has changed it.
    statement: u32,
    sequence: Arc<Sequence>,
    state: State,
}

impl Altered {
    /// Declares a sequence anew; with a value, it begins again there. 22023 if its last value is outside then.
    pub fn alter(
        &mut self,
        statement: u32,
        sequence: &Arc<Sequence>,
        shape: Shape,
        restart: Option<i64>,
    ) -> Result<()> {
        let state = sequence.alter(shape, restart)?;
        self.0.push(Before { statement, sequence: sequence.clone(), state });
        Ok(())
    }

    /// What statements from number `first` on have done has not happened.
    pub fn take_back(&mut self, first: u32) {
        for Before { sequence, state, .. } in
            self.0.extract_if(.., |b| b.statement >= first).collect::<Vec<_>>().into_iter().rev()
        {
            sequence.restore(state);
        }
    }

    /// It has happened.
    pub fn keep(&mut self) {
        self.0.clear();
    }
}

impl Drop for Altered {
    fn drop(&mut self) {
        self.take_back(0);
    }
}

/// Whether a plan takes values of sequences: it has them in the order of its rows, so it runs on one thread.
pub(crate) fn are_asked(plan: &Plan) -> bool {
    const ASKING: [ScalarFunction; 4] = [
        ScalarFunction::SEQUENCE_NEXT,
        ScalarFunction::SEQUENCE_CURRENT,
        ScalarFunction::SEQUENCE_LAST,
        ScalarFunction::SEQUENCE_SET,
    ];
    let asks = |e: &Expr| matches!(&e.kind, ExprKind::Call(f, _) if ASKING.contains(f));
    let roots = std::iter::once(&plan.root).chain(plan.ctes.values().map(|cte| &cte.plan));
    let mut found = false;
    for root in roots {
        root.walk(&mut |node| found |= node.expressions().any(|e| e.any(&asks)));
    }
    found
}
