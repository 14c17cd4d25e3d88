//! Whether anything shows for which tuples instructions have run: an error, a mark, a row that was counted or stored. Tuples
//! for which nothing shows may as well not come.

use crate::ir::{Block, Inst, Match, MatchKind};

/// Whether nothing shows.
pub(super) fn is_pure(block: &Block) -> bool {
    block.iter().all(|inst| match inst {
        Inst::Let { op, .. } => op.never_fails(),
        Inst::Call { callee, .. } => callee.never_fails(),
        Inst::If { then, otherwise, .. } => is_pure(then) && is_pure(otherwise),
        Inst::Match(found) => matched(found),
        Inst::Filter(_) | Inst::Repeat { .. } | Inst::Count(_) => true,
        Inst::Loop { .. } | Inst::Store { .. } | Inst::AddToSum { .. } | Inst::Raise { .. } => false,
        Inst::Prefetch { .. } | Inst::Group { .. } | Inst::AllocRow { .. } | Inst::Output { .. } | Inst::Fold(_) => {
            false
        }
    })
}

fn matched(found: &Match) -> bool {
    found.marker.is_none()
        && !matches!(found.kind, MatchKind::Single { .. })
        && found.condition.as_ref().is_none_or(|condition| is_pure(&condition.block))
}
