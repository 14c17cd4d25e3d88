//! Nanoseconds a row of each operator, without generated code: `cargo run --release -p runtime --example operators`.
//!
//! Input is uniformly random; each number is the best of three runs on one worker, then on two. What generated code does
//! inline (allocating, hashing, finding a group's row) is done by plain Rust here.

use std::sync::Arc;
use std::time::Instant;

use base::{Budget, IdMap};
use pipeline::ir::{
    Function, GROUP_HEADER, GroupState, JOIN_HEADER, JoinState, JoinWord, Program, RowLayout, SortField, SortState,
    State, StateId, Ty,
};
use runtime::abi::{
    BATCH, GROUP_PROBES, GroupLocal, JoinTable, ProbeScratch, RowsLocal, Worker, group_new, probe_begin, probe_next,
};
use runtime::query::WorkerGuard;
use runtime::{Pair, PairFns, QueryContext};
use types::ops::hash::hash_u64;

const STATE: StateId = StateId(0);

fn context(state: State, pairs: Option<PairFns>) -> Arc<QueryContext> {
    let program = Program {
        params: IdMap::new(),
        sites: IdMap::new(),
        states: [state].into_iter().collect(),
        pipelines: IdMap::new(),
        result: STATE,
        ordered: false,
        counters: Vec::new(),
        positions: Vec::new(),
    };
    QueryContext::new(&program, Budget::new(usize::MAX), |_| pairs.clone()).unwrap()
}

/// Runs `work` on every worker with its share of `rows`; returns seconds.
fn parallel(
    context: &Arc<QueryContext>,
    workers: usize,
    rows: u64,
    work: impl Fn(&mut WorkerGuard<'_>, std::ops::Range<u64>) + Sync,
) -> f64 {
    let workers = workers as u64;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for n in 0..workers {
            let work = &work;
            scope.spawn(move || work(&mut context.worker(n as usize), rows * n / workers..rows * (n + 1) / workers));
        }
    });
    start.elapsed().as_secs_f64()
}

fn finalize(context: &Arc<QueryContext>, workers: usize) -> f64 {
    let start = Instant::now();
    let cut = scheduler::Cutting::new(workers);
    for phase in 0.. {
        let Some(tasks) = context.finalize_phase(STATE, phase, &cut).unwrap() else { break };
        std::thread::scope(|scope| {
            for n in 0..workers {
                let (tasks, worker) = (&*tasks, scheduler::WorkerId(n as u32));
                scope.spawn(move || scheduler::exhaust(tasks, worker).unwrap());
            }
        });
    }
    start.elapsed().as_secs_f64()
}

fn new_row(worker: &mut Worker) -> *mut u8 {
    // SAFETY: states with rows only.
    unsafe {
        let local = &mut *(*worker.locals).cast::<RowsLocal>();
        local.area.allocate(local.stride).unwrap().as_ptr()
    }
}

fn join(build: u64, probe: u64, percent: u64, workers: usize, word: JoinWord) -> [f64; 3] {
    let of_key = |key| if word == JoinWord::Hash { hash_u64(key) } else { key };
    let mut layout = RowLayout::with_header(JOIN_HEADER);
    layout.add(Ty::I64);
    layout.add(Ty::I64);
    let context = context(State::Join(JoinState { layout, unique: true, word, filters: false }), None);
    let materialise = parallel(&context, workers, build, |worker, rows| {
        for key in rows {
            let row = new_row(worker).cast::<u64>();
            // SAFETY: a row of 32 bytes.
            unsafe {
                *row.add(1) = of_key(key);
                *row.add(2) = key;
                *row.add(3) = key;
            }
        }
        worker.end_morsel().unwrap();
    });
    let insert = finalize(&context, workers);
    let space = build * 100 / percent;
    let probing = parallel(&context, workers, probe, |worker, rows| {
        // SAFETY: a finished join state; scratch memory for which zero is a value; rows of 32 bytes.
        unsafe {
            let table = (*worker.shared).cast::<JoinTable>();
            let mut s = Box::<ProbeScratch>::new_zeroed().assume_init();
            let (mut matches, mut sum) = (0u64, 0u64);
            let mut keys = [0u64; BATCH];
            for from in rows.clone().step_by(BATCH) {
                s.count = (rows.end - from).min(BATCH as u64);
                s.first_only = 1;
                let count = s.count as usize;
                for (i, (key, hash)) in keys[..count].iter_mut().zip(&mut s.hashes).enumerate() {
                    *key = ((u128::from(hash_u64((from + i as u64) ^ 0x5555)) * u128::from(space)) >> 64) as u64;
                    *hash = of_key(*key);
                }
                probe_begin(table, &mut *s);
                let mut steps = u64::MAX;
                loop {
                    let n = probe_next(table, &mut *s, &mut steps) as usize;
                    if n == 0 {
                        break;
                    }
                    for i in 0..n {
                        let row = s.entries[i].cast::<u64>();
                        let equal = *row.add(2) == keys[s.tuples[i] as usize];
                        matches += u64::from(equal);
                        sum = sum.wrapping_add(*row.add(3) * u64::from(equal));
                    }
                }
            }
            std::hint::black_box((matches, sum));
        }
    });
    [materialise / build as f64, insert / build as f64, probing / probe as f64]
}

fn group(rows: u64, keys: u64, workers: usize) -> [f64; 2] {
    unsafe extern "C" fn equal(_: *mut Worker, a: *mut u8, b: *mut u8) -> u32 {
        // SAFETY: rows of this state.
        unsafe { u32::from(*a.cast::<u64>().add(1) == *b.cast::<u64>().add(1)) }
    }
    unsafe extern "C" fn combine(_: *mut Worker, a: *mut u8, b: *mut u8) -> u32 {
        // SAFETY: rows of this state.
        unsafe {
            *a.cast::<u64>().add(2) += *b.cast::<u64>().add(2);
            *a.cast::<u64>().add(3) += *b.cast::<u64>().add(3);
        }
        0
    }
    let mut layout = RowLayout::with_header(GROUP_HEADER);
    for _ in 0..3 {
        layout.add(Ty::I64);
    }
    let function = Function { rows: [pipeline::ir::Var(0); 2], body: vec![], result: None, vars: IdMap::new() };
    let state = GroupState { layout, has_keys: true, slots: None, enough: None, equal: None, combine: function };
    let pairs = PairFns { equal: Some(Pair::Code(equal)), combine: Pair::Code(combine) };
    let context = context(State::Group(state), Some(pairs));
    let aggregate = parallel(&context, workers, rows, |worker, rows| {
        for i in rows {
            if i % 65_536 == 0 {
                worker.end_morsel().unwrap();
                worker.begin_morsel(i..i + 65_536);
            }
            let key = ((u128::from(hash_u64(i ^ 0x5555)) * u128::from(keys)) >> 64) as u64;
            let hash = hash_u64(key);
            // SAFETY: a group state with keys, whose rows have 32 bytes.
            unsafe {
                let local = &*(*worker.locals).cast::<GroupLocal>();
                let mut found = std::ptr::null_mut::<u64>();
                for i in 0..GROUP_PROBES as u64 {
                    let slot = *local.directory.add((((hash >> 16) + i) & local.mask) as usize);
                    let row = (slot & ((1 << 48) - 1)) as *mut u64;
                    if slot == 0 {
                        break;
                    }
                    if slot >> 48 == hash >> 48 && *row == hash && *row.add(1) == key {
                        found = row;
                        break;
                    }
                }
                if found.is_null() {
                    found = group_new(&mut **worker, 0, hash).cast();
                    *found.add(1) = key;
                }
                *found.add(2) += i;
                *found.add(3) += 1;
            }
        }
    });
    let combined = finalize(&context, workers);
    [aggregate / rows as f64, combined / rows as f64]
}

fn sort(rows: u64, limit: Option<u64>, workers: usize) -> [f64; 2] {
    let mut layout = RowLayout::with_header(0);
    let offset = layout.add(Ty::I64);
    layout.add(Ty::I64);
    let keys = vec![SortField { offset, ty: Ty::I64, null: None, descending: false, nulls_first: false }];
    let context = context(State::Sort(SortState { layout, keys, partition: 0, limit, offset: 0 }), None);
    let materialise = parallel(&context, workers, rows, |worker, rows| {
        for i in rows {
            // SAFETY: a sort state, whose rows have 16 bytes.
            unsafe {
                let local = &mut *(*worker.locals).cast::<RowsLocal>();
                let bump = std::ptr::from_mut(&mut local.area).cast::<u8>();
                let next = bump.add(base::Area::NEXT_OFFSET).cast::<*mut u8>();
                let end = *bump.add(base::Area::END_OFFSET).cast::<*mut u8>();
                let row = if (end as usize) - (*next as usize) >= 16 {
                    let row = *next;
                    *next = row.add(16);
                    row
                } else {
                    runtime::abi::rows_grow(&mut **worker, 0)
                };
                *row.cast::<u64>() = hash_u64(i);
            }
        }
    });
    let sorted = finalize(&context, workers);
    [materialise / rows as f64, sorted / rows as f64]
}

/// The best of three runs, in nanoseconds.
fn best<const N: usize>(mut run: impl FnMut() -> [f64; N]) -> String {
    let mut best = [f64::INFINITY; N];
    for _ in 0..3 {
        best.iter_mut().zip(run()).for_each(|(b, t)| *b = b.min(t * 1e9));
    }
    best.map(|t| format!("{t:8.2}")).join("")
}

fn main() {
    for workers in [1, 2] {
        println!("{workers} worker(s), ns a row");
        println!("join                              materialise, insert, probe by hash; by key");
        for (build, probe, percent) in [
            (2_000, 8 << 20, 100),
            (200_000, 8 << 20, 100),
            (1_500_000, 8 << 20, 100),
            (1_500_000, 8 << 20, 10),
            (1_500_000, 8 << 20, 1),
            (16_000_000, 8 << 20, 50),
        ] {
            let by = |word| best(|| join(build, probe, percent, workers, word));
            let (hash, key) = (by(JoinWord::Hash), by(JoinWord::Key { null: None }));
            println!("  {build:>9} rows, {percent:>3}% match   {hash}; {key}");
        }
        println!("group                             aggregate, combine");
        for keys in [10, 10_000, 50_000, 200_000, 1_500_000, 4_000_000] {
            println!("  {keys:>9} groups            {}", best(|| group(8 << 20, keys, workers)));
        }
        println!("sort                              materialise, sort");
        for limit in [None, Some(10), Some(10_000)] {
            println!("  limit {limit:?}          {}", best(|| sort(4 << 20, limit, workers)));
        }
    }
}
