//! Long rows: where very many computed values are stored together, each rests in memory from where it is computed.
//!
//! A value that stays in a register or a place of Cranelift's own is alive from its computation to its use. A thousand of
//! them, with a branch for the errors of each, would be a million facts for the register allocator. Parked values are
//! alive for two instructions.

use base::ids::Id;
use pipeline::ir::{Inst, Var};

use super::Values;
use crate::translate::stages::{Definition, Key};
use crate::translate::value::{Val, changing, load, store};

/// Values that are stored together and need no parking.
const FEW: usize = 64;
/// Bytes of a parked value.
const PLACE: usize = 16;

impl Values<'_, '_> {
    /// Chooses the variables to be parked: those of the last stage that are stored with many others, and computed where
    /// they stand.
    pub fn choose_parked(&mut self) {
        let last = self.plan.stages.len() - 1;
        let mut stored: Vec<Var> = Vec::new();
        for inst in self.plan.stages[last].insts {
            match inst {
                Inst::Output { values, .. } => {
                    stored.extend(values.iter().flat_map(|&(v, null)| [Some(v), null]).flatten());
                }
                Inst::Store { value, .. } => stored.push(*value),
                _ => {}
            }
        }
        if stored.len() <= FEW {
            return;
        }
        stored.sort_unstable_by_key(|v| v.index());
        stored.dedup();
        stored.retain(|&v| matches!(self.plan.definition(v), (stage, Definition::Placed) if stage == last));
        let start = self.code.reserve(stored.len() * PLACE);
        self.parked = stored.into_iter().enumerate().map(|(i, v)| (v, start + (i * PLACE) as u32)).collect();
    }

    /// Stores a new value, if it is to be parked.
    pub fn park(&mut self, v: Var, value: Val) -> bool {
        let Some(&at) = self.parked.get(&v) else { return false };
        let scratch = self.code.scratch();
        store(&mut self.code.b, value, scratch, at);
        true
    }

    /// The value of a key that is parked.
    pub fn fetch(&mut self, key: Key) -> Option<Val> {
        let Key::Var(v) = key else { return None };
        let &at = self.parked.get(&v)?;
        let scratch = self.code.scratch();
        let ty = self.ty(v);
        Some(load(&mut self.code.b, changing(), ty, scratch, at))
    }
}
