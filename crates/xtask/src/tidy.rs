//! Habits that a program can see, as a ratchet: the bounds may be tightened, never loosened.
//!
//! Allow-lists name the debts that exist; an entry that is no longer needed is itself an error, so that lists shrink.

use std::fs;
use std::path::{Path, PathBuf};

/// Most lines that a Rust file may have.
pub const LONGEST_FILE: usize = 620;
/// Most lines that half of the files may exceed.
pub const MEDIAN_FILE: usize = 135;
/// Most lines that a function may have, from `fn` to its last brace.
pub const LONGEST_FUNCTION: usize = 135;

/// Crates in which `unsafe` may be written: memory, layouts, kernels, generated code, foreign interfaces.
const UNSAFE: &[&str] = &[
    "allocator",
    "base",
    "types",
    "scheduler",
    "index",
    "storage",
    "runtime",
    "codegen",
    "engine",
    "io",
    "python",
    "cli",
];

/// Files that are longer than [`LONGEST_FILE`], with what they are allowed.
const LONG_FILES: &[(&str, usize)] = &[];

/// Hosts that links in sources and documents may name.
const HOSTS: &[&str] = &[
    "www.apache.org",
    "www.postgresql.org",
    "doc.rust-lang.org",
    "docs.rs",
    "arrow.apache.org",
    "parquet.apache.org",
    "www.tpc.org",
    "www.sqlite.org",
    "peps.python.org",
    "docs.python.org",
    "crates.io",
    "pypi.org",
    "static.rust-lang.org",
    "rustup.rs",
    "doi.org",
    "github.com",
];

/// Sizes of the sources.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Rust files.
    pub files: usize,
    /// Lines of the median file.
    pub median: usize,
    /// Lines of the longest file.
    pub longest: usize,
    /// Lines of the longest function.
    pub longest_function: usize,
}

/// All violations, and the sizes of the sources.
pub fn check(root: &Path) -> (Vec<String>, Sizes) {
    let mut found = Vec::new();
    let mut lengths = Vec::new();
    let mut longest_function = 0;
    for path in files(root) {
        let name = path.strip_prefix(root).expect("a file of the repository").to_string_lossy().into_owned();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if name.ends_with(".rs") {
            let lines = text.lines().count();
            lengths.push(lines);
            for (function, lines) in functions(&text) {
                longest_function = longest_function.max(lines);
                if lines > LONGEST_FUNCTION {
                    found.push(format!("{name}: {function} has {lines} lines, more than {LONGEST_FUNCTION}: split it"));
                }
            }
            rust_file(&name, &text, lines, &mut found);
        }
        any_file(&name, &text, &mut found);
    }
    for (name, allowed) in LONG_FILES {
        let lines = fs::read_to_string(root.join(name)).map_or(0, |t| t.lines().count());
        if lines <= LONGEST_FILE || lines > *allowed {
            found.push(format!("{name}: has {lines} lines; its entry among the long files says {allowed}"));
        }
    }
    lengths.sort_unstable();
    let sizes = Sizes {
        files: lengths.len(),
        median: lengths.get(lengths.len() / 2).copied().unwrap_or(0),
        longest: lengths.last().copied().unwrap_or(0),
        longest_function,
    };
    if sizes.median > MEDIAN_FILE {
        found.push(format!("the median file has {} lines, more than {MEDIAN_FILE}: split some", sizes.median));
    }
    (found, sizes)
}

/// Names and lengths of a file's functions. The formatter puts a function's last brace below its `fn`.
fn functions(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    (0..lines.len()).filter_map(move |at| {
        let code = lines[at].trim_start();
        let indent = lines[at].len() - code.len();
        let name = code.split_once("fn ").filter(|(before, _)| before.chars().all(|c| !"(=/\"".contains(c)))?.1;
        let name = &name[..name.find(|c: char| !(c.is_alphanumeric() || c == '_'))?];
        let is_end = |line: &&str| line.len() == indent + 1 && line.ends_with('}');
        let body = lines[at..].iter().position(|line| line.ends_with('{') || line.ends_with(';'))?;
        if lines[at + body].ends_with(';') || name.is_empty() {
            return None;
        }
        Some((name, lines[at..].iter().position(is_end)? + 1))
    })
}

fn rust_file(name: &str, text: &str, lines: usize, found: &mut Vec<String>) {
    if lines > LONGEST_FILE && !LONG_FILES.iter().any(|(long, _)| *long == name) {
        found.push(format!("{name}: {lines} lines, more than {LONGEST_FILE}: split it by what its parts do"));
    }
    // A `tests.rs` belongs to the module that it stands beside, whose head speaks for both.
    if !text.starts_with("//!") && !name.ends_with("/tests.rs") {
        found.push(format!("{name}: does not begin by saying what it is for (//!)"));
    }
    let allowed = UNSAFE.iter().any(|c| name.starts_with(&format!("crates/{c}/")));
    // The words are put together here so that this file does not find itself.
    let unfinished =
        [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("FIX", "ME"), concat!("dbg", "!(")];
    for (number, line) in text.lines().enumerate() {
        let at = || format!("{name}:{}", number + 1);
        for word in unfinished.iter().filter(|w| line.contains(**w)) {
            found.push(format!("{}: {word} left behind", at()));
        }
        let code = line.split("//").next().unwrap_or("");
        let keyword = concat!("uns", "afe");
        let written = ["{", "fn ", "impl ", "extern "].iter().any(|next| code.contains(&format!("{keyword} {next}")));
        if written && !allowed {
            found.push(format!("{}: {keyword} code outside of the crates that may have it", at()));
        }
    }
}

fn any_file(name: &str, text: &str, found: &mut Vec<String>) {
    for (number, line) in text.lines().enumerate() {
        for scheme in ["http://", "https://"] {
            for link in line.split(scheme).skip(1) {
                let host =
                    link.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '-')).next().unwrap_or("");
                let example = host.is_empty() || host.starts_with("example.") || host == "localhost";
                if !example && !HOSTS.contains(&host) {
                    found.push(format!("{name}:{}: link to {host}, which is not among the known hosts", number + 1));
                }
            }
        }
        for place in [concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/ro", "ot/")] {
            if line.contains(place) {
                found.push(format!("{name}:{}: names a place on somebody's machine ({place})", number + 1));
            }
        }
    }
}

/// Sources and documents that people write: not data, not the lock file, not what builds leave.
pub(crate) fn files(root: &Path) -> Vec<PathBuf> {
    const WRITTEN: &[&str] = &["rs", "md", "toml", "py", "pyi", "sh", "slt", "yml", "yaml"];
    const SKIPPED: &[&str] = &["target", "data", "node_modules", "__pycache__", "build", "dist"];
    let mut all = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let hidden = name.starts_with('.') && name != ".ci";
            if path.is_dir() {
                if !hidden && !SKIPPED.contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| WRITTEN.iter().any(|w| *w == e))
                || name == "Makefile"
                || name == "run"
            {
                all.push(path);
            }
        }
    }
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let (found, sizes) = check(&crate::root());
        assert!(found.is_empty(), "{}", found.join("\n"));
        assert!(sizes.files > 50, "files were not found");
    }

    #[test]
    fn the_check_sees_what_it_should() {
        let mut found = Vec::new();
        let text = format!("fn a() {{ {}) }}\nlet x = {} {{ 1 }};\n", concat!("todo", "!("), concat!("uns", "afe"));
        rust_file("crates/plan/src/a.rs", &text, LONGEST_FILE + 1, &mut found);
        any_file("a.md", concat!("see http", "://evil.invalid/x and /ho", "me/me"), &mut found);
        assert_eq!(found.len(), 6, "{found:#?}");
    }

    #[test]
    fn functions_have_lengths() {
        let text = "pub fn a() {\n    b();\n}\nimpl X {\n    fn c(\n        x: u8,\n    ) -> u8 {\n        x\n    }\n    fn d();\n}\n";
        assert_eq!(functions(text).collect::<Vec<_>>(), [("a", 3), ("c", 5)]);
    }
}
