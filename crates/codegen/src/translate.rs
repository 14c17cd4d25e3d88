//! From the IR to Cranelift's: one function per pipeline, with a loop per stage.
//!
//! The loops nest: stage k+1 runs, for at most 1,024 pairs at once, each time that the generator after stage k delivers
//! pairs, and returns to it for the next ones. So every batch buffer is used up before it is filled again. See
//! [`stages`] for what lies in buffers, and `runtime::abi` for the protocol of probes.
//!
//! Three layers, each of which knows nothing of those above: [`code`], the function that is made; [`values`], what the IR's
//! variables are at the current tuple; [`body`], the loops and instructions.

mod body;
mod code;
mod stages;
mod value;
mod values;

use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::FunctionBuilder;
use pipeline::ir::{Function, Pipeline, Program};

use body::Body;
use code::Code;
use stages::Stages;
use values::Values;

/// Translates a pipeline into the function that `b` builds: `(worker, batch) -> u32`. Returns the bytes of scratch
/// memory that it needs.
pub(crate) fn pipeline(
    b: FunctionBuilder<'_>,
    config: TargetFrontendConfig,
    program: &Program,
    pipeline: &Pipeline,
) -> usize {
    let stages = Stages::new(&pipeline.body, &pipeline.vars);
    let mut values = Values::new(Code::new(b, 1), &pipeline.vars, stages);
    values.load_accumulators(&pipeline.body);
    values.choose_parked();
    let timed = Some(pipeline).filter(|_| !program.counters.is_empty());
    let mut body = Body::new(values, program, timed);
    body.body();
    body.into_code().finish(config)
}

/// Translates a function of two rows into the function that `b` builds: `(worker, row, row) -> u32`.
pub(crate) fn function(b: FunctionBuilder<'_>, config: TargetFrontendConfig, program: &Program, function: &Function) {
    let stages = Stages::of_function(&function.body, function.rows, &function.vars);
    let values = Values::new(Code::new(b, 2), &function.vars, stages);
    let mut body = Body::new(values, program, None);
    body.pair(function);
    body.into_code().finish(config);
}
