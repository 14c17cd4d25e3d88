//! Checks of the repository itself: `cargo test -p xtask` enforces them, `cargo run -p xtask` prints what they measure.

use std::process::ExitCode;

fn main() -> ExitCode {
    let root = xtask::root();
    let mut broken = xtask::directions::violations(&root);
    let (found, sizes) = xtask::tidy::check(&root);
    broken.extend(found);
    println!("{} Rust files, median {} lines, longest {}", sizes.files, sizes.median, sizes.longest);
    for (kind, places) in [("scalar", xtask::places::scalars(&root)), ("aggregate", xtask::places::aggregates(&root))] {
        let counts = |n: usize| places.iter().filter(|p| p.files.len() == n).count();
        let most = places.iter().map(|p| p.files.len()).max().unwrap_or(0);
        let counts: Vec<String> = (1..=most).map(|n| format!("{} in {n}", counts(n))).collect();
        println!("{kind} functions by the files that name them: {}", counts.join(", "));
    }
    broken.iter().for_each(|b| println!("{b}"));
    if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
