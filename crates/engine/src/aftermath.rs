//! What happens when a statement of a transaction has done its work: foreign keys are looked after, then triggers are called.

use std::sync::Arc;

use base::Result;
use storage::transaction::Effect;

use crate::environment::Environment;
use crate::references::{Run, look_after_due, of_effects};
use crate::transaction::Block;
use crate::triggers;

/// Looks after what the statement that has just run has done; further ones are run by `run`.
pub(crate) fn look_after(environment: &mut Environment, block: &Arc<Block>, run: Run) -> Result<()> {
    look_after_due(environment, block, run)?;
    let effects = block.transaction.take_effects();
    if effects.is_empty() && !block.has_fired() {
        return Ok(());
    }
    let statement = block.transaction.statement();
    // From here on its rows are seen.
    block.transaction.next_statement();
    let effects: Vec<Arc<Effect>> = effects.into_iter().map(Arc::new).collect();
    let done = triggers::put_down(environment, block, &effects)?;
    of_effects(environment, block, statement, &effects, run)?;
    triggers::after(environment, done)
}
