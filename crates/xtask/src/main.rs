//! Checks of the repository itself: `cargo test -p xtask` enforces them, `cargo run -p xtask` prints what they measure.

use std::process::ExitCode;

fn main() -> ExitCode {
    let root = xtask::root();
    let mut broken = xtask::directions::violations(&root);
    let (found, sizes) = xtask::tidy::check(&root);
    broken.extend(found);
    println!("{} Rust files, median {} lines, longest {}", sizes.files, sizes.median, sizes.longest);
    broken.iter().for_each(|b| println!("{b}"));
    if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
