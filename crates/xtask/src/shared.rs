//! What builds share: the Python module's own build takes libraries that the tests' has made, if both have them with the same
//! features. One that differs has everything above it compiled a second time, which is minutes.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Libraries with their features, one a line, that are built otherwise for the module than for the tests.
pub fn built_twice(root: &Path) -> Result<Vec<String>, String> {
    let all = libraries(root, &["--workspace", "--edges", "normal,build,dev"])?;
    let of_module = libraries(root, &["--package", "morseldb-python", "--edges", "normal,build"])?;
    Ok(of_module.difference(&all).cloned().collect())
}

fn libraries(root: &Path, which: &[&str]) -> Result<BTreeSet<String>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(["tree", "--locked", "--prefix", "none", "--format", "{p} with {f}"]).args(which);
    let output = command.output().map_err(|error| format!("cargo tree: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    // Those that were listed before are marked.
    Ok(text.lines().map(|line| line.trim_end_matches(" (*)").trim_end().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_module_takes_what_the_tests_have_built() {
        let twice = super::built_twice(&crate::root()).expect("cargo lists libraries");
        let help = "crates/python/Cargo.toml names features for this";
        assert!(twice.is_empty(), "built a second time for the Python module; {help}: {twice:#?}");
    }
}
