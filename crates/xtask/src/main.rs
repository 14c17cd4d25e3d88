//! Checks of the repository itself: `cargo test -p xtask` enforces them, `cargo run -p xtask` prints what they measure.

use std::process::ExitCode;

fn main() -> ExitCode {
    let root = xtask::root();
    let mut broken = xtask::directions::violations(&root);
    let (found, sizes) = xtask::tidy::check(&root);
    broken.extend(found);
    println!("{} Rust files, median {} lines, longest {}", sizes.files, sizes.median, sizes.longest);
    println!("the longest function has {} lines", sizes.longest_function);
    let imports = xtask::imports::count(&root);
    println!("{} imports go upward, {} files import in circles", imports.upward, imports.in_circles.len());
    for (kind, places) in [
        ("scalar functions", xtask::places::scalars(&root)),
        ("aggregates", xtask::places::aggregates(&root)),
        ("operators", xtask::places::variants(&root, "crates/plan/src/node.rs", "Op")),
        ("types", xtask::places::variants(&root, "crates/types/src/sql_type.rs", "SqlType")),
    ] {
        let mut counts: Vec<usize> = places.iter().map(|p| p.files.len()).collect();
        counts.sort_unstable();
        let median = counts.get(counts.len() / 2).copied().unwrap_or(0);
        let (least, most) = (counts.first().copied().unwrap_or(0), counts.last().copied().unwrap_or(0));
        println!("{} {kind}: one is named in {least} to {most} files, median {median}", counts.len());
    }
    broken.iter().for_each(|b| println!("{b}"));
    if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
