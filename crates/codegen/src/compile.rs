//! A program's functions become machine code, each for itself: by the thread that asks, and others that help it where that
//! saves time. A function that takes long is left to the others: who asks waits for it no longer than it wants to, and what
//! nobody waits for any more is dropped when its function is done.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use base::memory::Reservation;
use base::{Error, Result, stack};
use cranelift_module::FuncId;
use pipeline::ir::Program;

use crate::code::{Code, Module};
use crate::function::{Compiler, Done, Source};

/// Where others have so many instructions to compile, they help: an instruction takes about 10 us, a thread 30 to begin.
const WORTH: usize = 50;
/// More threads hardly help, as the longest function decides then.
const MOST: usize = 8;
/// Functions of so many instructions take milliseconds: others compile them.
const LONG: usize = 600;
/// So often it is asked whether to go on.
const TICK: Duration = Duration::from_micros(500);

/// How a program is compiled.
pub struct Compiling<'a> {
    /// By so many threads at most.
    pub threads: usize,
    /// The memory that it takes, as long as some thread is at it.
    pub room: Option<Reservation>,
    /// Says now and then whether to go on.
    pub check: &'a dyn Fn() -> Result<()>,
}

impl Default for Compiling<'_> {
    /// By one thread, to the end.
    fn default() -> Self {
        Self { threads: 1, room: None, check: &|| Ok(()) }
    }
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

/// Compiles all functions of a program.
pub fn compile(program: &Arc<Program>, compiling: Compiling<'_>) -> Result<Code> {
    #[cfg(debug_assertions)]
    pipeline::ir::verify(program).map_err(|e| Error::internal(format!("invalid pipeline IR: {e}")))?;
    let Compiling { threads, room, check } = compiling;
    let mut module = Module::new()?;
    let wanted = module.declare(program)?;
    let sizes = || wanted.iter().map(|(source, _)| source.size(program));
    let (all, longest) = (sizes().sum::<usize>(), sizes().max().unwrap_or(0));
    let most = threads.min(MOST).clamp(1, wanted.len());
    let helpers = match longest >= LONG {
        true => most,
        false if all - longest >= WORTH => most - 1,
        false => 0,
    };
    let work = Work { program: program.clone(), wanted, next: AtomicUsize::new(0), is_over: false.into(), room };
    let functions = by_several(work, helpers, longest < LONG, check)?;
    module.finish(program, functions)
}

/// Compiles a program, and tells what it has become.
pub fn list(program: &Program) -> Result<Listing> {
    let (wanted, mut compiler) = (Module::new()?.declare(program)?, Compiler::new(true)?);
    let mut functions = Vec::with_capacity(wanted.len());
    for (source, id) in wanted {
        let (clif, assembly) = compiler.compile(program, source, id)?.texts.unwrap_or_default();
        functions.push((source.name(program), clif, assembly));
    }
    Ok(Listing { functions })
}

/// Functions that threads take one after the other, the longest first.
struct Work {
    program: Arc<Program>,
    wanted: Vec<(Source, FuncId)>,
    next: AtomicUsize,
    /// Nobody waits for it any more.
    is_over: AtomicBool,
    #[expect(dead_code, reason = "held until the last thread is done")]
    room: Option<Reservation>,
}

impl Work {
    /// Compiles the next function that nobody has begun; none if there is none.
    fn next(&self, compiler: &mut Option<Compiler>) -> Option<Result<Done>> {
        let next = self.wanted.get(self.next.fetch_add(1, Ordering::Relaxed));
        let &(source, id) = next.filter(|_| !self.is_over.load(Ordering::Relaxed))?;
        Some(self.compile(compiler, source, id))
    }

    fn compile(&self, compiler: &mut Option<Compiler>, source: Source, id: FuncId) -> Result<Done> {
        let compiler = match compiler {
            Some(compiler) => compiler,
            None => compiler.insert(Compiler::new(false)?),
        };
        let levels = source.size(&self.program);
        let compiled = stack::with_room(levels, || compiler.compile(&self.program, source, id))?;
        Ok((id, source, compiled?))
    }

    /// A helper's part.
    fn help(&self, to: &Sender<Result<Done>>) {
        let mut compiler = None;
        // Whoever is gone wants no more of it.
        while let Some(done) = self.next(&mut compiler)
            && to.send(done).is_ok()
        {}
    }
}

/// Has so many other threads compile, and waits for them; this one does so, too, if it `compiles`.
fn by_several(mut work: Work, helpers: usize, compiles: bool, check: &dyn Fn() -> Result<()>) -> Result<Vec<Done>> {
    let count = work.wanted.len();
    let program = work.program.clone();
    work.wanted.sort_by_key(|(source, _)| Reverse(source.size(&program)));
    let work = Arc::new(work);
    let (sender, receiver) = mpsc::channel();
    let begin = |_: &usize| {
        let (work, sender) = (work.clone(), sender.clone());
        std::thread::Builder::new().name("compiling".into()).spawn(move || work.help(&sender)).is_ok()
    };
    // Where no thread can be had, this one compiles, however long that takes.
    let compiles = (0..helpers).filter(begin).count() == 0 || compiles;
    drop(sender);
    let (mut compiler, mut done) = (None, Vec::with_capacity(count));
    let mut wait = || {
        check()?;
        while compiles && let Some(function) = work.next(&mut compiler) {
            done.push(function?);
            check()?;
        }
        while done.len() < count {
            match receiver.recv_timeout(TICK) {
                Ok(function) => done.push(function?),
                Err(RecvTimeoutError::Timeout) => check()?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::internal("a thread that compiled has panicked"));
                }
            }
        }
        Ok(())
    };
    wait().inspect_err(|_: &Error| work.is_over.store(true, Ordering::Relaxed))?;
    Ok(done)
}
