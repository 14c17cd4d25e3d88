//! What a recursion computes anew in each of its rounds.
//!
//! The recursive term of a common table expression reads its working table as a scan of the very expression that it is part
//! of. Passes may have made common table expressions of parts of that term: these read the working table too, and come before
//! the recursion, which reads them.

use base::IdMap;

use crate::{CteId, Node, Op, Plan};

/// The common table expressions of a plan that are computed in rounds; see the module.
#[derive(Clone, Debug)]
pub struct Rounds(IdMap<CteId, Option<CteId>>);

impl Plan {
    /// Which common table expressions are computed anew in the rounds of which recursion.
    pub fn rounds(&self) -> Rounds {
        let mut rounds = Rounds(IdMap::new());
        for (id, cte) in self.ctes.iter() {
            let mut within = None;
            cte.plan.walk(&mut |node| {
                if let Op::CteScan { cte: read, .. } = node.op {
                    let later = if read > id { Some(read) } else { rounds.of(read) };
                    within = within.max(later.filter(|&recursion| recursion != id));
                }
            });
            rounds.0.push(within);
        }
        rounds
    }
}

impl Rounds {
    /// The recursion in whose rounds the expression is computed; none: it is computed once.
    pub fn of(&self, cte: CteId) -> Option<CteId> {
        self.0.get(cte).copied().flatten()
    }

    /// Whether what the operator produces in the rounds of a recursion depends on the round.
    pub fn changes(&self, node: &Node, recursion: CteId) -> bool {
        let mut changes = false;
        node.walk(&mut |node| {
            if let Op::CteScan { cte, .. } = node.op {
                changes |= cte == recursion || self.of(cte) == Some(recursion);
            }
        });
        changes
    }
}
