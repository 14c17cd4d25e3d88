//! What happens when a statement of a transaction has done its work: foreign keys are looked after, then triggers are called.
//!
//! What keys have done to other rows is looked after behind what the statement itself still has to do, as it is in PostgreSQL: two
//! keys may lead to the same rows, of which one deletes them and the other refuses if they are there.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Result;
use storage::transaction::Effect;

use crate::environment::Environment;
use crate::references::{Run, look_after_due, of_effects};
use crate::transaction::Block;
use crate::triggers::{self, Done};

/// What a statement has done that is to be looked after.
struct Work {
    statement: u32,
    effects: Vec<Arc<Effect>>,
    done: Vec<Done>,
}

type Works = Arc<Mutex<VecDeque<Work>>>;

/// Where statements that keys have run leave that to whoever looks after these keys.
#[derive(Clone)]
pub(crate) struct Left {
    works: Works,
    /// How many calls of functions these are within: what these run looks after itself.
    calls: usize,
}

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
    let work = Work { statement, effects, done };
    let calls = environment.calls;
    if let Some(left) = environment.left.as_ref().filter(|left| left.calls == calls) {
        of(&left.works).push_back(work);
        return Ok(());
    }
    let works = Works::new(Mutex::new(VecDeque::from([work])));
    loop {
        let Some(Work { statement, effects, done }) = of(&works).pop_front() else { return Ok(()) };
        let around = environment.left.replace(Left { works: works.clone(), calls });
        let kept = of_effects(environment, block, statement, &effects, run);
        environment.left = around;
        kept?;
        triggers::after(environment, done)?;
    }
}

fn of(works: &Works) -> MutexGuard<'_, VecDeque<Work>> {
    works.lock().unwrap_or_else(PoisonError::into_inner)
}
