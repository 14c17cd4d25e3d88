//! Mutated SQL text, mutated files, keys and trees for a while each; any panic or internal error fails the run.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use testkit::fuzz::{Target, fuzz};

/// Mutated input for a while.
#[derive(Parser)]
struct Arguments {
    /// Seconds for each kind of input.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Another seed, other input.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this kind.
    #[arg(long, value_parser = Target::ALL.map(|(name, _)| name))]
    only: Option<String>,
}

fn main() -> ExitCode {
    // Panics that become errors are part of the game.
    base::panics::quiet_hook();
    let arguments = Arguments::parse();
    let folder: PathBuf = std::env::temp_dir().join(format!("morseldb-fuzz-{}", std::process::id()));
    let mut failed = false;
    for (name, target) in Target::ALL {
        if arguments.only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        match fuzz(target, arguments.seed, Duration::from_secs(arguments.seconds), &folder) {
            Ok(findings) => {
                let bad = findings.bad.len();
                println!("{name}: {} inputs, {} accepted, {bad} findings", findings.inputs, findings.accepted);
                findings.bad.iter().for_each(|b| println!("  {b}"));
                failed |= bad > 0;
            }
            Err(error) => {
                println!("{name}: {error:?}");
                failed = true;
            }
        }
    }
    // What is left behind is small, and only a courtesy to remove.
    let _ = std::fs::remove_dir_all(&folder);
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
