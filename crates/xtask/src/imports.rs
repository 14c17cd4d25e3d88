//! How files of a crate import from each other: arrows upward, from a module to one that it lies in, and files in circles,
//! of which none can be read without the others. Tests aside; what a `use` line names counts, paths in code do not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::places::sources;

/// Most files that may import in circles: a ratchet. A circle is broken by giving what two files share a file of its own, or
/// by making one of them a part of the other; a module that only declares its parts imports nothing.
pub const IN_CIRCLES: usize = 16;

/// What was counted.
#[derive(Clone, Debug)]
pub struct Imports {
    /// Pairs of a file and one of a module around it that it imports from.
    pub upward: usize,
    /// Files that import from each other, directly or through others.
    pub in_circles: Vec<String>,
}

/// Counts the imports of all crates.
pub fn count(root: &Path) -> Imports {
    let mut crates: BTreeMap<String, BTreeMap<Vec<String>, String>> = BTreeMap::new();
    for (name, text) in sources(root) {
        let Some((folder, file)) = name.split_once("/src/") else { continue };
        let path = file.trim_end_matches(".rs");
        let path = if matches!(path, "lib" | "main") { "" } else { path };
        let module = path.split('/').filter(|p| !p.is_empty()).map(str::to_owned).collect();
        crates.entry(folder.to_owned()).or_default().insert(module, text);
    }
    let mut all = Imports { upward: 0, in_circles: Vec::new() };
    for (folder, files) in &crates {
        let modules: Vec<&Vec<String>> = files.keys().collect();
        let targets: Vec<BTreeSet<usize>> = files.iter().map(|(m, text)| imported(&modules, m, text)).collect();
        for (from, to) in targets.iter().enumerate() {
            all.upward += to.iter().filter(|&&t| modules[from].starts_with(modules[t])).count();
            if to.iter().any(|&t| reaches(&targets, t, from)) {
                all.in_circles.push(format!("{folder}/src/{}.rs", modules[from].join("/")));
            }
        }
    }
    all
}

/// The files that a file imports from.
fn imported(modules: &[&Vec<String>], own: &Vec<String>, text: &str) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for statement in text.split(';') {
        let Some((_, tree)) = statement.rsplit_once("use ") else { continue };
        let mut paths = Vec::new();
        leaves(&tree.split_whitespace().collect::<String>(), &mut paths);
        for path in paths {
            let mut parts = path.split("::").peekable();
            let mut at = match parts.peek() {
                Some(&"crate") => Vec::new(),
                Some(&("super" | "self")) => own.clone(),
                _ => continue,
            };
            for part in parts {
                match part {
                    "crate" | "self" => {}
                    "super" => _ = at.pop(),
                    name => at.push(name.to_owned()),
                }
            }
            // The innermost module on the path has what is named.
            let lies_in = |at: &Vec<String>| modules.iter().position(|m| *m == at);
            while lies_in(&at).is_none() && at.pop().is_some() {}
            found.extend(lies_in(&at).filter(|&m| modules[m] != own));
        }
    }
    found
}

/// The paths of `a::{b, c::{d, e}}`.
fn leaves(tree: &str, into: &mut Vec<String>) {
    let Some((before, group)) = tree.split_once('{') else { return into.push(tree.to_owned()) };
    let (mut depth, mut begin) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                leaves(&format!("{before}{}", &group[begin..at]), into);
                begin = at + 1;
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
}

fn reaches(targets: &[BTreeSet<usize>], from: usize, to: usize) -> bool {
    let (mut seen, mut pending) = (BTreeSet::new(), vec![from]);
    while let Some(at) = pending.pop() {
        if at == to {
            return true;
        }
        if seen.insert(at) {
            pending.extend(&targets[at]);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_only_go() {
        let found = count(&crate::root()).in_circles;
        assert_eq!(found.len(), IN_CIRCLES, "files in circles; where they are fewer, lower the bound: {found:#?}");
    }

    #[test]
    fn paths_are_found() {
        let modules = [vec![], vec!["a".to_owned()], vec!["a".to_owned(), "b".to_owned()]];
        let modules: Vec<&Vec<String>> = modules.iter().collect();
        let text = "//! Head.\n\nuse super::{X, super::Y};\nuse crate::a::b::{Z, self};\n";
        assert_eq!(imported(&modules, modules[2], text), BTreeSet::from([0, 1]));
        assert_eq!(imported(&modules, modules[0], text), BTreeSet::from([2]));
    }
}
