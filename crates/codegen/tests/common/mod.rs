//! A single-threaded engine: just enough to run programs, compiled and interpreted.

#![allow(dead_code)]

pub mod random;

use std::sync::Arc;

use base::{Budget, Random, Result};
use codegen::Executable;
use pipeline::ir::{PipelineId, Program, Source};
use runtime::QueryContext;
use runtime::abi::{BATCH, Batch, ColumnRef};
use runtime::query::WorkerGuard;
use runtime::result::Next;
use types::Value;

/// Runs a program; returns the result's rows in no particular order.
pub fn run(program: &Program, executable: &Executable) -> Result<Vec<Vec<Value>>> {
    run_pausing(program, executable, None)
}

/// The same, with batches that pause now and then, and go on with another worker.
pub fn run_pausing(program: &Program, executable: &Executable, mut pauses: Option<Random>) -> Result<Vec<Vec<Value>>> {
    let context = QueryContext::new(program, Budget::new(usize::MAX), |id| executable.pair_fns(id))?;
    for (id, pipeline) in program.pipelines.iter() {
        {
            let mut worker = context.worker(0);
            worker.reserve_scratch(executable.scratch_bytes(id));
            worker.begin_morsel(0..1);
            let mut other = context.worker(1);
            other.begin_morsel(0..1);
            match &pipeline.source {
                Source::Table { .. } => unreachable!("tests have no tables"),
                Source::Values(chunk) => {
                    let zeros = vec![0u8; chunk.rows()];
                    let columns: Vec<_> = chunk
                        .columns()
                        .iter()
                        .map(|c| ColumnRef { data: c.data(), nulls: c.nulls().map_or(zeros.as_ptr(), <[u8]>::as_ptr) })
                        .collect();
                    let all: Vec<u32> = (0..chunk.rows() as u32).collect();
                    for part in all.chunks(BATCH) {
                        let batch = Batch {
                            columns: columns.as_ptr(),
                            selection: part.as_ptr(),
                            rows: std::ptr::null(),
                            count: part.len() as u64,
                        };
                        run_batch(executable, id, [&mut worker, &mut other], &batch, &mut pauses)?;
                    }
                }
                Source::Rows { state, rows } => {
                    let source = context.rows(*state, *rows);
                    let mut out = vec![std::ptr::null_mut(); BATCH];
                    let mut cursor = 0;
                    loop {
                        let n = source.fill(&mut worker, &mut cursor, source.len(), &mut out)?;
                        if n == 0 {
                            break;
                        }
                        let batch = Batch {
                            columns: std::ptr::null(),
                            selection: std::ptr::null(),
                            rows: out.as_ptr(),
                            count: n as u64,
                        };
                        run_batch(executable, id, [&mut worker, &mut other], &batch, &mut pauses)?;
                    }
                }
            }
            worker.end_morsel()?;
            other.end_morsel()?;
        }
        for &state in &pipeline.fills {
            let later = program.pipelines.iter().any(|(other, p)| other.0 > id.0 && p.fills.contains(&state));
            if !later && state != program.result {
                context.finalize_inline(state)?;
            }
        }
    }
    context.finalize_inline(program.result)?;
    context.result().finish(Ok(()));
    let mut rows = Vec::new();
    loop {
        match context.result().try_next()? {
            Next::Chunk(chunk) => rows.extend((0..chunk.rows()).map(|i| chunk.row(i))),
            Next::End => return Ok(rows),
            Next::Pending => unreachable!("the queue is finished"),
        }
    }
}

/// Runs a batch, which may pause and go on with the other worker.
fn run_batch<'c>(
    executable: &Executable,
    id: PipelineId,
    [worker, other]: [&mut WorkerGuard<'c>; 2],
    batch: &Batch,
    pauses: &mut Option<Random>,
) -> Result<()> {
    let mut steps = || pauses.as_mut().map_or(u64::MAX, |random| 1 + random.below(40));
    let (mut from, mut to) = (worker, other);
    from.steps = steps();
    // SAFETY: batches are as the ABI asks.
    while unsafe { executable.run_pipeline(id, from, batch)? } {
        // As the engine does: the states of who leaves own their text while that of the batch is there.
        let suspended = from.suspend();
        from.end_morsel_at(1, true)?;
        from.reserve_scratch(executable.scratch_bytes(id));
        from.begin_morsel(0..1);
        to.go_on(suspended);
        to.steps = steps();
        (from, to) = (to, from);
    }
    Ok(())
}

/// A program as it is run in tests: by both.
pub fn both(program: &Program) -> [Executable; 2] {
    pipeline::ir::verify(program).unwrap_or_else(|e| panic!("{e}\n{program:#?}"));
    let program = Arc::new(program.clone());
    let code = codegen::compile(&program, codegen::Compiling { threads: 3, ..Default::default() }).unwrap();
    [Executable::Interpreted(program), Executable::Compiled(Arc::new(code))]
}

/// Rows as a sorted list of texts: NaNs and all.
pub fn sorted(rows: Vec<Vec<Value>>) -> Vec<String> {
    let mut texts: Vec<_> = rows.iter().map(|r| format!("{r:?}")).collect();
    texts.sort();
    texts
}

/// Runs a program both ways and compares.
pub fn check(program: &Program) -> Option<Vec<String>> {
    let executables = both(program);
    let [a, b] = executables.clone().map(|e| run(program, &e).map(sorted));
    for executable in &executables {
        let paused = run_pausing(program, executable, Some(Random(a.as_ref().map_or(0, Vec::len) as u64))).map(sorted);
        match (&a, paused) {
            (Ok(a), Ok(paused)) => assert!(*a == paused, "{} rows, {} with pauses\n{program}", a.len(), paused.len()),
            (Err(_), Err(_)) => {}
            (a, paused) => panic!("{:?}, {:?} with pauses\n{program}", a.as_ref().err(), paused.err()),
        }
    }
    match (a, b) {
        (Ok(a), Ok(b)) => {
            if a != b {
                let listing = codegen::list(program).unwrap();
                for (name, clif, _) in &listing.functions {
                    eprintln!("{name}\n{clif}");
                }
                let only = |x: &[String], y: &[String]| {
                    x.iter().filter(|t| !y.contains(t)).take(5).cloned().collect::<Vec<_>>()
                };
                panic!(
                    "{} rows interpreted, {} compiled\nonly interpreted: {:?}\nonly compiled: {:?}\n{program:#?}",
                    a.len(),
                    b.len(),
                    only(&a, &b),
                    only(&b, &a)
                );
            }
            Some(a)
        }
        (Err(_), Err(_)) => None,
        (a, b) => panic!("interpreted: {:?}\ncompiled: {:?}\n{program:#?}", a.map(|r| r.len()), b.map(|r| r.len())),
    }
}
