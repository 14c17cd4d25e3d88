//! Machine code of a program.

use std::mem::ManuallyDrop;
use std::sync::{Arc, LazyLock};

use base::{Error, IdMap, Result};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, Signature, types};
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, ModuleReloc, default_libcall_names};
use pipeline::ir::{PipelineId, Program, StateId};
use runtime::abi::{PairFn, PipelineFn};

use crate::translate;

/// The machine code of a program: one function per pipeline, and those that finalise breakers. Valid as long as it lives.
pub struct Code {
    pipelines: IdMap<PipelineId, CompiledPipeline>,
    pairs: IdMap<StateId, Option<CompiledPair>>,
    bytes: usize,
    module: ManuallyDrop<JITModule>,
}

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

/// Texts of a compilation, for EXPLAIN (ASM).
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// (what, Cranelift IR, assembly) of each function.
    pub functions: Vec<(String, String, String)>,
}

impl std::fmt::Display for Listing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, _, assembly) in &self.functions {
            writeln!(f, "; {name}\n{}", assembly.trim_end())?;
        }
        Ok(())
    }
}

/// The machine that we run on, found out once.
static ISA: LazyLock<Result<OwnedTargetIsa>> = LazyLock::new(|| isa("backtracking"));

/// The same with registers given out in one pass. The other way takes time that grows faster than a function, of which hundreds of
/// aggregates make a long one: 800 took 450 ms.
static ISA_OF_LONG: LazyLock<Result<OwnedTargetIsa>> = LazyLock::new(|| isa("single_pass"));

/// From so many of Cranelift's instructions on, a function is long.
const LONG: usize = 2000;

fn isa(register_allocation: &str) -> Result<OwnedTargetIsa> {
    let mut flags = settings::builder();
    let wanted = [
        ("opt_level", "speed"),
        ("regalloc_algorithm", register_allocation),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("enable_probestack", "false"),
        ("unwind_info", "false"),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
    ];
    for (name, value) in wanted {
        flags.set(name, value).map_err(|e| Error::internal(format!("code generator setting {name}: {e}")))?;
    }
    let builder = cranelift_native::builder().map_err(Error::unsupported)?;
    builder.finish(settings::Flags::new(flags)).map_err(|e| Error::internal(format!("code generator: {e}")))
}

/// Compiles all functions of a program. `check` is asked before each whether to go on.
pub fn compile(program: &Program, check: &dyn Fn() -> Result<()>) -> Result<Code> {
    Ok(Compilation::new(false)?.program(program, check)?.0)
}

/// Compiles a program and tells what it has become.
pub fn list(program: &Program) -> Result<Listing> {
    Ok(Compilation::new(true)?.program(program, &|| Ok(()))?.1)
}

struct Compilation {
    module: JITModule,
    context: cranelift_codegen::Context,
    builder: FunctionBuilderContext,
    listing: Option<Listing>,
    bytes: usize,
}

impl Compilation {
    fn new(listing: bool) -> Result<Self> {
        let isa: Arc<dyn TargetIsa> = ISA.clone()?;
        let module = JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()));
        let context = module.make_context();
        let listing = listing.then(Listing::default);
        Ok(Self { module, context, builder: FunctionBuilderContext::new(), listing, bytes: 0 })
    }

    fn program(mut self, program: &Program, check: &dyn Fn() -> Result<()>) -> Result<(Code, Listing)> {
        #[cfg(debug_assertions)]
        pipeline::ir::verify(program).map_err(|e| Error::internal(format!("invalid pipeline IR: {e}")))?;
        let result = self.functions(program, check);
        let (pipelines, pairs) = match result {
            Ok(ids) => ids,
            Err(e) => {
                // SAFETY: none of the functions has been called.
                unsafe { self.module.free_memory() };
                return Err(e);
            }
        };
        let module = &self.module;
        let address = |id: FuncId| module.get_finalized_function(id);
        // SAFETY: the function was compiled with the signature of `PairFn`.
        let pair = |id: FuncId| unsafe { std::mem::transmute::<*const u8, PairFn>(address(id)) };
        let pipelines = pipelines
            .into_iter()
            .map(|(id, scratch_bytes)| CompiledPipeline {
                // SAFETY: the function was compiled with the signature of `PipelineFn`.
                run: unsafe { std::mem::transmute::<*const u8, PipelineFn>(address(id)) },
                scratch_bytes,
            })
            .collect();
        let pairs = pairs
            .into_iter()
            .map(|p| p.map(|(equal, combine)| CompiledPair { equal: equal.map(pair), combine: pair(combine) }))
            .collect();
        let code = Code { pipelines, pairs, bytes: self.bytes, module: ManuallyDrop::new(self.module) };
        Ok((code, self.listing.unwrap_or_default()))
    }

    fn functions(&mut self, program: &Program, check: &dyn Fn() -> Result<()>) -> Result<Functions> {
        let mut pipelines = Vec::with_capacity(program.pipelines.len());
        for (id, p) in program.pipelines.iter() {
            check()?;
            let mut scratch = 0;
            let config = self.module.target_config();
            let function = self.define(&format!("{id} {}", p.name), 2, |b| {
                scratch = translate::pipeline(b, config, program, p);
            })?;
            pipelines.push((function, scratch));
        }
        let mut pairs = Vec::with_capacity(program.states.len());
        for (id, state) in program.states.iter() {
            check()?;
            let config = self.module.target_config();
            pairs.push(match state.pair() {
                Some((equal, combine)) => {
                    let equal = match equal {
                        Some(f) => Some(
                            self.define(&format!("{id} equal"), 3, |b| translate::function(b, config, program, f))?,
                        ),
                        None => None,
                    };
                    let combine =
                        self.define(&format!("{id} combine"), 3, |b| translate::function(b, config, program, combine))?;
                    Some((equal, combine))
                }
                None => None,
            });
        }
        self.module.finalize_definitions().map_err(broken)?;
        Ok((pipelines, pairs))
    }

    fn define(&mut self, name: &str, params: usize, build: impl FnOnce(FunctionBuilder<'_>)) -> Result<FuncId> {
        let mut signature = Signature::new(self.module.target_config().default_call_conv);
        signature.params.extend(std::iter::repeat_n(AbiParam::new(types::I64), params));
        signature.returns.push(AbiParam::new(types::I32));
        let id = self.module.declare_anonymous_function(&signature).map_err(broken)?;
        self.context.func.signature = signature;
        build(FunctionBuilder::new(&mut self.context.func, &mut self.builder));
        let clif = self.listing.is_some().then(|| self.context.func.display().to_string());
        self.context.set_disasm(self.listing.is_some());
        if self.context.func.dfg.num_insts() < LONG {
            self.module.define_function(id, &mut self.context).map_err(broken)?;
        } else {
            self.define_long(id)?;
        }
        let code = self.context.compiled_code().expect("just compiled");
        self.bytes += code.code_info().total_size as usize;
        if let (Some(listing), Some(clif)) = (&mut self.listing, clif) {
            listing.functions.push((name.to_owned(), clif, code.vcode.clone().unwrap_or_default()));
        }
        self.module.clear_context(&mut self.context);
        Ok(id)
    }

    /// Compiles the function of the context as a long one.
    fn define_long(&mut self, id: FuncId) -> Result<()> {
        let isa = ISA_OF_LONG.clone()?;
        let compiled = self.context.compile(&*isa, &mut ControlPlane::default());
        let buffer = compiled.map_err(|e| broken(e.into()))?.buffer.clone();
        let of = &self.context.func;
        let moved: Vec<_> = buffer.relocs().iter().map(|reloc| ModuleReloc::from_mach_reloc(reloc, of, id)).collect();
        self.module.define_function_bytes(id, buffer.alignment.into(), buffer.data(), &moved).map_err(broken)
    }
}

type Functions = (Vec<(FuncId, usize)>, Vec<Option<(Option<FuncId>, FuncId)>>);

#[cold]
fn broken(error: cranelift_module::ModuleError) -> Error {
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

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: `module` is taken only here; whoever calls the code keeps the `Code` alive, so nobody runs it.
        unsafe { ManuallyDrop::take(&mut self.module).free_memory() };
    }
}
