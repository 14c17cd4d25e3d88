//! Which crate may use which: the layers of ARCHITECTURE.md, checked against `cargo metadata`.

use std::path::Path;

use cargo_metadata::{DependencyKind, MetadataCommand};

/// The order of the crates: each may use those before it and nothing after it. This is the one place that says so.
pub const ORDER: &[&str] = &[
    "base",
    "allocator",
    "types",
    "functions",
    "scheduler",
    "index",
    "storage",
    "catalog",
    "plan",
    "sql",
    "optimizer",
    "pipeline",
    "runtime",
    "codegen",
    "remote",
    "io",
    "engine",
    "morsel",
    "morseldb-python",
    "tpch",
    "testkit",
    "bench",
    "xtask",
];

/// Dependencies that the order allows but the design does not: crate, what it must not use, why.
pub const FORBIDDEN: &[(&str, &str, &str)] = &[
    ("scheduler", "types", "the scheduler knows no SQL"),
    ("index", "types", "the index knows bytes, not SQL"),
    ("index", "scheduler", "the index is of use without an engine"),
    ("optimizer", "storage", "the optimizer sees statistics, never storage"),
    ("optimizer", "sql", "plans do not know the text that they come from"),
    ("pipeline", "optimizer", "lowering takes any verified plan"),
    ("pipeline", "storage", "pipelines name their sources; the engine opens them"),
    ("runtime", "catalog", "the runtime is testable without SQL"),
    ("runtime", "sql", "the runtime is testable without SQL"),
    ("codegen", "catalog", "code is generated from IR alone"),
    ("codegen", "plan", "code is generated from IR alone"),
    ("remote", "types", "bytes have no types"),
    ("remote", "scheduler", "whoever waits says how"),
    ("io", "catalog", "readers know files, not tables"),
];

/// Crates that outsiders call, so that nothing but `testkit`, `bench` and each other's tests may use them.
const LEAVES: &[&str] = &["morsel", "morseldb-python", "bench", "xtask"];

/// Every dependency that points the wrong way.
pub fn violations(root: &Path) -> Vec<String> {
    let metadata = match MetadataCommand::new().current_dir(root).no_deps().exec() {
        Ok(metadata) => metadata,
        Err(error) => return vec![format!("cargo metadata: {error}")],
    };
    let mut found = Vec::new();
    for package in &metadata.packages {
        let Some(position) = ORDER.iter().position(|name| *name == package.name.as_str()) else {
            found.push(format!("{}: not in the order of crates (crates/xtask/src/directions.rs)", package.name));
            continue;
        };
        for dependency in package.dependencies.iter().filter(|d| d.path.is_some()) {
            found.extend(wrong(&package.name, position, &dependency.name, dependency.kind));
        }
    }
    found
}

fn wrong(package: &str, position: usize, dependency: &str, kind: DependencyKind) -> Option<String> {
    let target = ORDER.iter().position(|name| *name == dependency);
    // Tests of the callers may use the generators of `testkit`.
    let test_only = kind == DependencyKind::Development && dependency == "testkit" && LEAVES.contains(&package);
    if target.is_none_or(|t| t >= position) && !test_only {
        return Some(format!("{package} must not use {dependency}: it comes later in the order of crates"));
    }
    if LEAVES.contains(&dependency) {
        return Some(format!("{package} must not use {dependency}: nothing builds on a leaf"));
    }
    let rule = FORBIDDEN.iter().find(|(from, to, _)| *from == package && *to == dependency);
    rule.filter(|_| kind == DependencyKind::Normal)
        .map(|(_, _, why)| format!("{package} must not use {dependency}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_point_one_way() {
        let found = violations(&crate::root());
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    #[test]
    fn the_check_sees_wrong_directions() {
        let position = |name: &str| ORDER.iter().position(|n| *n == name).unwrap();
        assert!(wrong("base", position("base"), "types", DependencyKind::Normal).is_some());
        assert!(wrong("optimizer", position("optimizer"), "storage", DependencyKind::Normal).is_some());
        assert!(wrong("testkit", position("testkit"), "morsel", DependencyKind::Normal).is_some());
        assert!(wrong("engine", position("engine"), "unheard-of", DependencyKind::Normal).is_some());
        assert!(wrong("engine", position("engine"), "plan", DependencyKind::Normal).is_none());
    }
}
