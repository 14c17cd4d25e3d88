//! Figures, for people: `cargo test -p codegen --release --test speed -- --ignored --nocapture`.

mod common;

use std::time::Instant;

use codegen::Executable;
use pipeline::ir::{PipelineId, parse};
use runtime::QueryContext;
use runtime::abi::{BATCH, Batch, ColumnRef};

/// sum(price * discount) where quantity < 24, as a scan leaves it.
const SUM: &str = r#"program result s1
state s0 group size 40 (8 I64, 16 I128) combine (%0, %1) {
}
state s1 result ("bigint")
pipeline p0 "sum" fills s0
  from values 0 ("bigint", "bigint", "bigint") {
  %0: I64 = column 0
  %1: I64 = column 1
  %2: I64 = column 2
  %3: I64 = int 6
  %4: Bool = compare.lt %0, %3
  filter %4
  %5: I64 = checked.mul %1, %2 @5
  %6: Ptr = local_row s0
  %7: I64 = load %6+8
  %8: I64 = int 1
  %9: I64 = wrapping.add %7, %8
  store %6+8 %9
  %10: I128 = convert.widen %5
  %11: I128 = load %6+16
  %12: I128 = checked.add %10, %11
  store %6+16 %12
}
"#;

/// Two sums and a count by a key.
const GROUP: &str = r#"program result s1
state s0 group size 48 (8 I64, 16 I64, 24 I128, 40 I64) keys equal (%0, %1) {
  %2: I64 = load.stable %0+8
  %3: I64 = load.stable %1+8
  %4: Bool = compare.eq %2, %3
  yield %4
} combine (%0, %1) {
}
state s1 result ("bigint")
pipeline p0 "group" fills s0
  from values 0 ("bigint", "bigint", "bigint") {
  %0: I64 = column 0
  %1: I64 = column 1
  %2: I64 = column 2
  %3: I64 = hash %0
  %4: Ptr = group s0 hash %3 equal {
    %5: I64 = load.stable %4+8
    %6: Bool = compare.eq %5, %0
    yield %6
  } init {
    store %4+8 %0
  }
  %7: I64 = load %4+16
  %8: I64 = checked.add %7, %1
  store %4+16 %8
  %9: I64 = checked.mul %1, %2
  %10: I128 = convert.widen %9
  %11: I128 = load %4+24
  %12: I128 = checked.add %11, %10
  store %4+24 %12
  %13: I64 = load %4+40
  %14: I64 = int 1
  %15: I64 = wrapping.add %13, %14
  store %4+40 %15
}
"#;

fn measure(name: &str, text: &str, keys: i64) {
    let program = std::sync::Arc::new(parse(text).unwrap());
    pipeline::ir::verify(&program).unwrap();
    let started = Instant::now();
    let code = codegen::compile(&program, codegen::Compiling::default()).unwrap();
    let first = started.elapsed();
    let started = Instant::now();
    for _ in 0..20 {
        codegen::compile(&program, codegen::Compiling::default()).unwrap();
    }
    let compile = started.elapsed() / 20;
    let bytes = code.bytes();
    let executable = Executable::Compiled(std::sync::Arc::new(code));
    let context = QueryContext::new(&program, base::Budget::new(usize::MAX), |id| executable.pair_fns(id)).unwrap();
    let rows = 6_000_000;
    let mut random = base::Random(7);
    let columns: Vec<Vec<i64>> =
        (0..3).map(|_| (0..rows).map(|_| (random.below(keys as u64)) as i64).collect()).collect();
    let zeros = vec![0u8; rows];
    let refs: Vec<_> = columns.iter().map(|c| ColumnRef { data: c.as_ptr().cast(), nulls: zeros.as_ptr() }).collect();
    let all: Vec<u32> = (0..rows as u32).collect();
    let id = PipelineId(0);
    let mut worker = context.worker(0);
    worker.reserve_scratch(executable.scratch_bytes(id));
    let started = Instant::now();
    for part in all.chunks(BATCH) {
        let count = part.len() as u64;
        let batch = Batch { columns: refs.as_ptr(), selection: part.as_ptr(), rows: std::ptr::null(), count };
        // SAFETY: as the ABI asks.
        unsafe { executable.run_pipeline(id, &mut worker, &batch).unwrap() };
    }
    let ran = started.elapsed();
    let each = ran.as_secs_f64() * 1e9 / rows as f64;
    println!(
        "{name}: compiled in {first:?} ({compile:?} later), {bytes} bytes; {rows} rows in {ran:?}, {each:.2} ns each"
    );
    if std::env::var_os("ASM").is_some() {
        println!("{}", codegen::list(&program).unwrap());
    }
}

#[test]
#[ignore]
fn figures() {
    measure("sum, 100%", &SUM.replace("int 6", "int 1000000"), 12);
    measure("sum, 50%", SUM, 12);
    measure("group by 4", GROUP, 4);
    measure("group by 10000", GROUP, 10_000);
    measure(
        "nothing",
        "program result s0\nstate s0 result (\"bigint\")\npipeline p0 \"one\" fills s0\n  from values 0 () {\n%0: I64 = int 1\noutput s0 %0\n}\n",
        1,
    );
}
