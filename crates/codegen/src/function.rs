//! One function at a time: from a pipeline, or from a function of a state, to bytes that have no place yet.

use std::sync::LazyLock;

use base::{Error, Result};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, Signature, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{CompileError, Context};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{FuncId, ModuleReloc};
use pipeline::ir::{Function, PipelineId, Program, StateId};

use crate::translate;

/// What a function is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Pipeline(PipelineId),
    /// Whether two rows of a state are of one group.
    Equal(StateId),
    /// Adds one row of a state to another one.
    Combine(StateId),
}

/// A function's machine code before it has a place.
pub(crate) struct Compiled {
    pub alignment: u64,
    pub bytes: Vec<u8>,
    pub relocations: Vec<ModuleReloc>,
    /// Bytes of scratch memory that it needs.
    pub scratch: usize,
    /// Cranelift's IR and the assembly, if they are wanted.
    pub texts: Option<(String, String)>,
}

/// A function with its code.
pub(crate) type Done = (FuncId, Source, Compiled);

/// The machine that we run on, found out once.
static ISA: LazyLock<Result<OwnedTargetIsa>> = LazyLock::new(|| made_isa("backtracking"));

/// The same with registers given out in one pass. The other way takes time that grows faster than a function, of which hundreds of
/// aggregates make a long one: 800 took 450 ms.
static ISA_OF_LONG: LazyLock<Result<OwnedTargetIsa>> = LazyLock::new(|| made_isa("single_pass"));

/// From so many of Cranelift's instructions on, a function is long.
const LONG: usize = 2000;

/// The machine that code is for.
pub(crate) fn isa() -> Result<OwnedTargetIsa> {
    ISA.clone()
}

fn made_isa(register_allocation: &str) -> Result<OwnedTargetIsa> {
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

impl Source {
    /// The signature of its function: addresses in, a number out.
    pub fn signature(self, isa: &OwnedTargetIsa) -> Signature {
        let parameters = if matches!(self, Self::Pipeline(_)) { 2 } else { 3 };
        let mut signature = Signature::new(isa.default_call_conv());
        signature.params.extend(std::iter::repeat_n(AbiParam::new(types::I64), parameters));
        signature.returns.push(AbiParam::new(types::I32));
        signature
    }

    /// About how many instructions it has.
    pub fn size(self, program: &Program) -> usize {
        match self {
            Self::Pipeline(id) => program.pipelines[id].vars.len() + program.pipelines[id].body.len(),
            other => other.function(program).map_or(0, |f| f.vars.len() + f.body.len()),
        }
    }

    /// What it is called in listings.
    pub fn name(self, program: &Program) -> String {
        match self {
            Self::Pipeline(id) => format!("{id} {}", program.pipelines[id].name),
            Self::Equal(id) => format!("{id} equal"),
            Self::Combine(id) => format!("{id} combine"),
        }
    }

    /// The function of two rows that it is.
    fn function(self, program: &Program) -> Option<&Function> {
        match self {
            Self::Pipeline(_) => None,
            Self::Equal(id) => program.states[id].pair()?.0,
            Self::Combine(id) => Some(program.states[id].pair()?.1),
        }
    }
}

/// What compiles functions one after the other.
pub(crate) struct Compiler {
    isa: OwnedTargetIsa,
    context: Context,
    builder: FunctionBuilderContext,
    /// Whether texts are wanted.
    lists: bool,
}

impl Compiler {
    pub fn new(lists: bool) -> Result<Self> {
        Ok(Self { isa: isa()?, context: Context::new(), builder: FunctionBuilderContext::new(), lists })
    }

    /// Compiles a function, which the module knows by that number.
    pub fn compile(&mut self, program: &Program, source: Source, id: FuncId) -> Result<Compiled> {
        self.context.clear();
        self.context.func.signature = source.signature(&self.isa);
        let (config, mut scratch) = (self.isa.frontend_config(), 0);
        let builder = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
        match source {
            Source::Pipeline(id) => scratch = translate::pipeline(builder, config, program, &program.pipelines[id]),
            other => {
                let function = other.function(program).ok_or_else(|| Error::internal("a state without functions"))?;
                translate::function(builder, config, program, function);
            }
        }
        let clif = self.lists.then(|| self.context.func.display().to_string());
        self.context.set_disasm(self.lists);
        let isa = if self.context.func.dfg.num_insts() < LONG { self.isa.clone() } else { ISA_OF_LONG.clone()? };
        let code = self.context.compile(&*isa, &mut ControlPlane::default()).map_err(|error| broken(&error))?;
        let (buffer, assembly) = (code.buffer.clone(), code.vcode.clone());
        let of = &self.context.func;
        let relocations = buffer.relocs().iter().map(|reloc| ModuleReloc::from_mach_reloc(reloc, of, id)).collect();
        let alignment = u64::from(buffer.alignment.max(isa.function_alignment().minimum)).max(isa.symbol_alignment());
        let texts = clif.map(|clif| (clif, assembly.unwrap_or_default()));
        Ok(Compiled { alignment, bytes: buffer.data().to_vec(), relocations, scratch, texts })
    }
}

#[cold]
fn broken(error: &CompileError<'_>) -> Error {
    Error::internal(format!("code generation failed: {:?}", error.inner))
}
