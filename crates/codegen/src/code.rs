//! Machine code of a program.

use std::mem::ManuallyDrop;

use base::{Error, IdMap, Result};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module as _, ModuleError, default_libcall_names};
use pipeline::ir::{PipelineId, Program, StateId};
use runtime::abi::{PairFn, PipelineFn};

use crate::function::{Done, Source, isa};

/// The machine code of a program: one function per pipeline, and those that finalise breakers. Valid as long as it lives.
pub struct Code {
    pipelines: IdMap<PipelineId, CompiledPipeline>,
    pairs: IdMap<StateId, Option<CompiledPair>>,
    bytes: usize,
    /// Where it lies.
    _module: Module,
}

/// Where code lies.
pub(crate) struct Module(ManuallyDrop<JITModule>);

// SAFETY: after compilation the module is only touched by `drop`; the code that it owns is immutable, and what the code
// works on comes in as arguments.
unsafe impl Send for Code {}
// SAFETY: as above; no method of a shared `Code` touches the module.
unsafe impl Sync for Code {}

/// A pipeline's code.
#[derive(Clone, Copy, Debug)]
pub struct CompiledPipeline {
    /// Runs a batch.
    pub run: PipelineFn,
    /// Bytes that `Worker::scratch` must point to, aligned to 64.
    pub scratch_bytes: usize,
}

/// The code that finalises a group state.
#[derive(Clone, Copy, Debug)]
pub struct CompiledPair {
    /// Whether two rows with equal hashes are of one group; none if they always are.
    pub equal: Option<PairFn>,
    /// Adds the second row's aggregates to the first's.
    pub combine: PairFn,
}

impl Module {
    pub fn new() -> Result<Self> {
        let module = JITModule::new(JITBuilder::with_isa(isa()?, default_libcall_names()));
        Ok(Self(ManuallyDrop::new(module)))
    }

    /// Gives each function of a program a number.
    pub fn declare(&mut self, program: &Program) -> Result<Vec<(Source, FuncId)>> {
        let mut sources: Vec<Source> = program.pipelines.iter().map(|(id, _)| Source::Pipeline(id)).collect();
        for (id, state) in program.states.iter() {
            let Some((equal, _)) = state.pair() else { continue };
            sources.extend(equal.is_some().then_some(Source::Equal(id)));
            sources.push(Source::Combine(id));
        }
        let isa = isa()?;
        let declare = |source: Source| {
            let id = self.0.declare_anonymous_function(&source.signature(&isa)).map_err(broken)?;
            Ok((source, id))
        };
        sources.into_iter().map(declare).collect()
    }

    /// All functions of a program, which get their places.
    pub fn finish(mut self, program: &Program, functions: Vec<Done>) -> Result<Code> {
        for (id, _, compiled) in &functions {
            let (alignment, relocations) = (compiled.alignment, &compiled.relocations);
            self.0.define_function_bytes(*id, alignment, &compiled.bytes, relocations).map_err(broken)?;
        }
        self.0.finalize_definitions().map_err(broken)?;
        let bytes = functions.iter().map(|(_, _, compiled)| compiled.bytes.len()).sum();
        let mut pipelines: IdMap<PipelineId, Option<CompiledPipeline>> =
            program.pipelines.values().map(|_| None).collect();
        let mut equal: IdMap<StateId, Option<PairFn>> = program.states.values().map(|_| None).collect();
        let mut combine = equal.clone();
        for (id, source, compiled) in functions {
            let address = self.0.get_finalized_function(id);
            // SAFETY: the function was compiled with the signature of `PairFn`.
            let pair = || Some(unsafe { std::mem::transmute::<*const u8, PairFn>(address) });
            match source {
                Source::Pipeline(id) => {
                    // SAFETY: the function was compiled with the signature of `PipelineFn`.
                    let run = unsafe { std::mem::transmute::<*const u8, PipelineFn>(address) };
                    pipelines[id] = Some(CompiledPipeline { run, scratch_bytes: compiled.scratch });
                }
                Source::Equal(id) => equal[id] = pair(),
                Source::Combine(id) => combine[id] = pair(),
            }
        }
        let all = pipelines.values().copied().collect::<Option<_>>();
        let pairs =
            combine.iter().map(|(id, combine)| combine.map(|combine| CompiledPair { equal: equal[id], combine }));
        Ok(Code {
            pipelines: all.ok_or_else(|| Error::internal("a pipeline that was not compiled"))?,
            pairs: pairs.collect(),
            bytes,
            _module: self,
        })
    }
}

#[cold]
fn broken(error: ModuleError) -> Error {
    Error::internal(format!("code generation failed: {error:?}"))
}

impl Code {
    /// A pipeline's code.
    pub fn pipeline(&self, id: PipelineId) -> CompiledPipeline {
        self.pipelines[id]
    }

    /// The code that finalises a group state; none for other states.
    pub fn pair(&self, id: StateId) -> Option<CompiledPair> {
        self.pairs[id]
    }

    /// Bytes of machine code.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Code({} pipelines, {} bytes)", self.pipelines.len(), self.bytes)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: `module` is taken only here; whoever calls the code keeps the `Code` alive, so nobody runs it.
        unsafe { ManuallyDrop::take(&mut self.0).free_memory() };
    }
}
