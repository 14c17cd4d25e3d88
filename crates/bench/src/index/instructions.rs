//! The table of section 3.5.1: instructions and misses of an operation. This program runs itself under callgrind, whose
//! processor has a cache of 32 KiB for data and a last one that is to the tree as the thesis's 25 MB are to its 50 million
//! keys: half a byte a key. It has one thread, no prefetching and no clock, so there are no cycles.

use std::path::Path;
use std::process::{Command, Stdio};

use base::Result;

use super::{IndexOptions, arguments, failed};

/// The functions where counting begins and ends, for callgrind.
pub(super) const BEGIN: &str = "*measure::measured*";
pub(super) const END: &str = "*measure::behind_measured*";

/// Counts that are printed, and the sums of callgrind's events that they are.
const COLUMNS: [(&str, &[&str]); 5] = [
    ("instructions", &["Ir"]),
    ("reads, writes", &["Dr", "Dw"]),
    ("L1 misses", &["D1mr", "D1mw"]),
    ("last misses", &["DLmr", "DLmw"]),
    ("mispredicted", &["Bcm", "Bim"]),
];

pub(super) fn run(options: &IndexOptions) -> Result<()> {
    let headings: String = COLUMNS.iter().map(|(name, _)| format!(" {name:>14}")).collect();
    println!("{:8} {:16} {:8}{headings}", "keys", "", "");
    for kind in &options.kind {
        for name in options.names() {
            let arguments = arguments(options, *kind, 1, name);
            for (operation, counts) in ["insert", "lookup", "remove"].iter().zip(counted(options, &arguments)?) {
                let counts: String =
                    counts.iter().map(|count| format!(" {:14.2}", count / options.keys as f64)).collect();
                println!("{:8} {name:16} {operation:8}{counts}", kind.name());
            }
        }
    }
    Ok(())
}

/// The counts of three phases.
fn counted(options: &IndexOptions, arguments: &[String]) -> Result<Vec<Vec<f64>>> {
    let folder = std::env::temp_dir().join(format!("morsel-index-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let out = folder.join("out");
    let last = 1usize << (options.keys / 2).max(128 << 10).ilog2();
    let status = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--cache-sim=yes", "--branch-sim=yes"])
        .args(["--I1=32768,8,64".into(), "--D1=32768,8,64".into(), format!("--LL={last},16,64")])
        .args([format!("--zero-before={BEGIN}"), format!("--dump-before={END}")])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe().map_err(failed)?)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|e| failed(format!("valgrind (Debian's package of that name): {e}")));
    let counts = (1..=3).map(|phase| read(&folder.join(format!("out.{phase}")))).collect::<Option<Vec<_>>>();
    let _ = std::fs::remove_dir_all(&folder);
    if !status?.success() {
        return Err(failed("valgrind has failed"));
    }
    Ok(counts.unwrap_or_default())
}

/// The columns' counts in what callgrind has written.
fn read(file: &Path) -> Option<Vec<f64>> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::split_whitespace);
    let numbers = line("totals:")?.map(|number| number.parse().unwrap_or(0.0));
    let counts: Vec<(&str, f64)> = line("events:")?.zip(numbers).collect();
    let of = |events: &[&str]| counts.iter().filter(|(event, _)| events.contains(event)).map(|(_, count)| count).sum();
    Some(COLUMNS.iter().map(|(_, events)| of(events)).collect())
}
