//! Who is stopped leaves a compilation, however long that still takes; then its memory is given back.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::{Budget, Error, Result};
use codegen::{CodeCache, Compiling};
use pipeline::ir::{Program, parse};

/// A program of one function with so many instructions.
fn long(instructions: usize) -> Arc<Program> {
    let sums: String = (1..=instructions).map(|n| format!("%{n}: I64 = checked.add %{}, %0\n", n - 1)).collect();
    let text = format!(
        "program result s0\nstate s0 result (\"bigint\")\npipeline p0 \"one\" fills s0\n  from values 0 () {{\n%0: I64 = int 1\n{sums}output s0 %{instructions}\n}}\n"
    );
    Arc::new(parse(&text).unwrap())
}

fn stopped() -> Error {
    Error::internal("stopped")
}

#[test]
fn who_is_stopped_waits_for_no_function() {
    let (program, budget, cache) = (long(3000), Budget::new(usize::MAX), CodeCache::new(1 << 20, 10));
    let room = || budget.reserve(1000, "compiling").unwrap();
    let asked = Cell::new(0);
    let check = || -> Result<()> {
        asked.set(asked.get() + 1);
        Err(stopped())
    };
    let compiling = Compiling { threads: 2, room: Some(room()), check: &check };
    assert_eq!(cache.get(&program, compiling).map(|_| ()).unwrap_err().message(), stopped().message());
    assert_eq!(asked.get(), 1);
    let until = Instant::now() + Duration::from_secs(60);
    while budget.used() > 0 {
        assert!(Instant::now() < until, "{} bytes are left", budget.used());
        std::thread::sleep(Duration::from_millis(1));
    }
    // Whoever asks next compiles it.
    let again = cache.get(&program, Compiling { threads: 2, room: Some(room()), ..Default::default() }).unwrap();
    assert!(!again.1 && again.0.bytes() > 3000);
    assert!(cache.get(&program, Compiling::default()).unwrap().1);
}

/// So many instructions of one function take no thread more than there are functions, and one thread is enough.
#[test]
fn one_thread_compiles_as_several_do() {
    let program = long(1000);
    let bytes = |threads| codegen::compile(&program, Compiling { threads, ..Default::default() }).unwrap().bytes();
    assert_eq!(bytes(1), bytes(8));
}
