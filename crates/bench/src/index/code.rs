//! The table of section 3.5.4: lines of the core algorithm by protocol, without comments, empty lines, locks, and reclamation;
//! and bytes of machine code. The tree's code is one for all protocols: of a protocol count the lines that do something in it.

use std::path::Path;
use std::process::Command;

use base::Result;

use super::failed;

/// Words of lines that synchronise. They do nothing without synchronisation, and nothing but `operate` with an elided latch.
const SYNCHRONISES: [&str; 16] = [
    "Held",
    "Locked",
    "Restart",
    ".check()",
    ".release()",
    ".upgrade()",
    ".obsolete()",
    "drop(",
    "until_done",
    "attempt",
    "locking",
    "snapshot",
    "retire",
    "held",
    "const X",
    "parent = ",
];
const OPERATES: &str = "P::operate";
/// Words of lines that are for ROWEX alone.
const KEEPS: [&str; 2] = ["KEEPS_SLOTS", "vacate"];

/// The thesis's numbers: of lookups, insertions and removals.
const THESIS: [(&str, [usize; 3]); 5] = [
    ("no synchronisation", [29, 95, 87]),
    ("elided latch", [30, 96, 88]),
    ("lock coupling", [41, 136, 139]),
    ("optimistic", [44, 148, 143]),
    ("ROWEX", [34, 200, 156]),
];
/// The protocols' files and types.
const FILES: [(&str, &str); 5] = [
    ("none", "Unsynchronised"),
    ("elided", "ElidedLatch"),
    ("coupling", "LockCoupling"),
    ("optimistic", "OptimisticLockCoupling"),
    ("rowex", "Rowex"),
];

pub(super) fn run() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../index/src");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).map_err(|e| failed(format!("{name}: {e}")));
    let operations = [read("lookup.rs")?, read("insert.rs")?, read("remove.rs")?];
    let symbols = symbols()?;
    println!(
        "{:20} {:>15} {:>15} {:>15} {:>7} {:>7}",
        "lines; the thesis's", "lookup", "insert", "remove", "its own", "bytes"
    );
    for (at, ((name, thesis), (file, type_name))) in THESIS.iter().zip(FILES).enumerate() {
        let counts = |line: &str| match at {
            0 => !synchronises(line) && !line.contains(OPERATES) && !keeps(line),
            1 => !synchronises(line) && !keeps(line),
            2 | 3 => !line.contains(OPERATES) && !keeps(line),
            _ => !line.contains(OPERATES),
        };
        let lines: String = operations
            .iter()
            .zip(thesis)
            .map(|(text, thesis)| format!(" {:7} ({thesis:5})", code(text).filter(|line| counts(line)).count()))
            .collect();
        let own = code(&read(&format!("protocol/{file}.rs"))?).count();
        let bytes = bytes(&symbols, type_name).map_or("-".into(), |bytes| bytes.to_string());
        println!("{name:20}{lines} {own:7} {bytes:>7}");
    }
    if bytes(&symbols, FILES[0].1).is_none() {
        println!(
            "bytes: build with RUSTFLAGS='-C symbol-mangling-version=v0', so that symbols name protocols; needs `nm`"
        );
    }
    Ok(())
}

fn synchronises(line: &str) -> bool {
    SYNCHRONISES.iter().any(|word| line.contains(word))
}

fn keeps(line: &str) -> bool {
    KEEPS.iter().any(|word| line.contains(word))
}

/// Lines of code.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(str::trim);
    code.filter(|line| {
        !line.is_empty() && !line.starts_with("//") && !line.starts_with("use ") && !line.starts_with("#[")
    })
}

/// Names and sizes of this program's functions.
fn symbols() -> Result<Vec<(usize, String)>> {
    let program = std::env::current_exe().map_err(failed)?;
    let Ok(output) = Command::new("nm").args(["--demangle", "--print-size"]).arg(program).output() else {
        return Ok(Vec::new());
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let symbol = |line: &str| {
        let (_, rest) = line.split_once(' ')?;
        let (size, name) = rest.split_once(' ')?;
        Some((usize::from_str_radix(size, 16).ok()?, name.to_owned()))
    };
    Ok(text.lines().filter_map(symbol).collect())
}

/// Bytes of a protocol's functions over numbers; none if symbols do not name protocols.
fn bytes(symbols: &[(usize, String)], type_name: &str) -> Option<usize> {
    let is_of = |name: &str| {
        let end = |at: usize| !name[at + type_name.len()..].starts_with(|c: char| c.is_alphanumeric());
        let names = name.match_indices(type_name).any(|(at, _)| name[..at].ends_with("::") && end(at));
        // Names as the compiler makes them by default have types only where these are dropped.
        names
            && !name.contains("drop")
            && name.contains("Numbers")
            && !name.contains("atched")
            && !name.contains("Counted")
    };
    let sizes: Vec<usize> = symbols.iter().filter(|(_, name)| is_of(name)).map(|(size, _)| *size).collect();
    (!sizes.is_empty()).then(|| sizes.iter().sum())
}
