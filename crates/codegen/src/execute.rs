//! Compiled or interpreted: whoever runs a query need not know.

use std::sync::Arc;

use base::Result;
use pipeline::ir::{Function, PipelineId, Program, State, StateId};
use runtime::abi::{Batch, Worker};
use runtime::{Pair, PairFns};

use crate::{Code, interpret};

/// A program that can be run.
#[derive(Clone, Debug)]
pub enum Executable {
    /// As machine code.
    Compiled(Arc<Code>),
    /// By the reference interpreter.
    Interpreted(Arc<Program>),
}

impl Executable {
    /// Whether it is machine code.
    pub fn is_compiled(&self) -> bool {
        matches!(self, Self::Compiled(_))
    }

    /// Bytes of scratch memory, aligned to 64, that workers need to run the pipeline.
    pub fn scratch_bytes(&self, id: PipelineId) -> usize {
        match self {
            Self::Compiled(code) => code.pipeline(id).scratch_bytes,
            Self::Interpreted(_) => 0,
        }
    }

    /// Runs a pipeline's body for every tuple of a batch; true if the [steps](Worker::steps) of the worker were used up
    /// before the end: called again with an equal batch and new steps, it goes on. The error has the position that
    /// generated code has written.
    ///
    /// # Safety
    /// Worker and batch are those of the program's query, laid out as `runtime::abi` says; the worker's scratch memory is
    /// large enough; the states that the pipeline reads are finished.
    pub unsafe fn run_pipeline(&self, id: PipelineId, worker: &mut Worker, batch: &Batch) -> Result<bool> {
        // SAFETY: as the caller promises.
        let code = unsafe {
            match self {
                Self::Compiled(code) => (code.pipeline(id).run)(worker, batch),
                Self::Interpreted(program) => interpret::run_pipeline(program, id, worker, batch),
            }
        };
        match code {
            1 => Err(worker.take_error()),
            code => Ok(code == 2),
        }
    }

    /// The functions of a group state for `runtime::QueryContext::new`; none for other states. Compiled ones are valid as
    /// long as `self` is.
    pub fn pair_fns(&self, id: StateId) -> Option<PairFns> {
        match self {
            Self::Compiled(code) => {
                let pair = code.pair(id)?;
                Some(PairFns { equal: pair.equal.map(Pair::Code), combine: Pair::Code(pair.combine) })
            }
            Self::Interpreted(program) => {
                let (equal, _) = program.states[id].pair()?;
                let interpreted = |function: fn(&State) -> Option<&Function>| {
                    let program = program.clone();
                    Pair::closure(move |worker, a, b| {
                        let function = function(&program.states[id]).expect("a state that has one");
                        // SAFETY: whoever calls a `Pair` passes rows of its state.
                        match unsafe { interpret::run_pair(&program, function, worker, [a, b]) } {
                            2 => Err(worker.take_error()),
                            answer => Ok(answer == 1),
                        }
                    })
                };
                Some(PairFns {
                    equal: equal.is_some().then(|| interpreted(|state| state.pair()?.0)),
                    combine: interpreted(|state| Some(state.pair()?.1)),
                })
            }
        }
    }
}
