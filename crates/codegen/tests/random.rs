//! Random programs do the same compiled and interpreted.

mod common;

#[test]
fn random_programs_agree() {
    let (mut failed, mut rows) = (0, 0);
    let count: u64 = std::env::var("COUNT").ok().and_then(|s| s.parse().ok()).unwrap_or(400);
    let first = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    for seed in first..first + count {
        match common::check(&common::random::program(seed)) {
            Some(result) => rows += result.len(),
            None => failed += 1,
        }
    }
    assert!(failed < count / 2, "{failed} of {count} programs fail");
    assert!(rows > 1000, "{rows} rows");
}

#[test]
fn programs_survive_printing() {
    for seed in 0..200 {
        let program = common::random::program(seed);
        let text = program.to_string();
        let parsed = pipeline::ir::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(text, parsed.to_string());
        for ((_, a), (_, b)) in program.pipelines.iter().zip(parsed.pipelines.iter()) {
            // NaN constants are not equal to themselves: compare what Debug shows.
            assert_eq!(format!("{:?}{:?}", a.body, a.vars), format!("{:?}{:?}", b.body, b.vars), "{text}");
        }
        assert_eq!(format!("{:?}", program.states), format!("{:?}", parsed.states));
        assert_eq!(codegen::fingerprint(&program), codegen::fingerprint(&parsed));
    }
}

#[test]
fn products_of_128_bits_are_decimals() {
    // More than 38 digits, which 128 bits could hold.
    let program = r#"program result s0
state s0 result ("decimal(38,0)")
pipeline p0 "product" fills s0
  from values 1 ("decimal(38,0)")
    (decimal 50000000000000000000000000000000000000)
  {
    %0: I128 = column 0
    %1: I128 = int 3
    %2: I128 = checked.mul %0, %1
    output s0 %2
  }
"#;
    assert_eq!(common::check(&pipeline::ir::parse(program).unwrap()), None);
}
