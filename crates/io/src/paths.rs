//! Files by paths and glob patterns.

use std::fs::DirEntry;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use base::{CancelToken, Error, Result, SqlState};
use glob::Pattern;
use remote::{is_remote, list, pattern_of};

use crate::context::OpenContext;
use crate::input::{access, open_error};

/// The files that paths and glob patterns name, those of a pattern in the order of their names. A path that exists is
/// no pattern, and neither are addresses, but for those of buckets.
pub fn expand_paths(paths: &[String], context: &OpenContext) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for path in paths {
        if is_remote(path) {
            let before = out.len();
            match pattern_of(path) {
                None => out.push(PathBuf::from(path)),
                Some(_) => out.extend(
                    list(access(context.remote.as_ref())?, path, &context.cancel)?.into_iter().map(PathBuf::from),
                ),
            }
            if out.len() == before {
                return Err(no_match(path));
            }
            continue;
        }
        if !path.contains(['*', '?', '[']) || Path::new(path).exists() {
            out.push(PathBuf::from(path));
            continue;
        }
        let before = out.len();
        Walk::new(path, &context.cancel)?.files(&mut out)?;
        if out.len() == before {
            return Err(no_match(path));
        }
    }
    let remote: Vec<&str> = out.iter().filter_map(|path| path.to_str()).filter(|path| is_remote(path)).collect();
    if remote.len() > 1 {
        access(context.remote.as_ref())?.open_ahead(&remote, context.budget.as_ref(), &context.cancel)?;
    }
    Ok(out)
}

/// A walk through the folders that a pattern may mean. Each entry asks whether the statement is cancelled: a tree may be a whole disk, and
/// have no file that matches.
struct Walk<'c> {
    /// Where it begins.
    root: PathBuf,
    /// What the names below must be, one after the other.
    parts: Vec<Part>,
    cancel: &'c CancelToken,
}

/// What a pattern says of one name of a path.
enum Part {
    Name(String),
    Like(Pattern),
    /// `**`: any folders, or none. Links to folders are not followed, as they may go in circles.
    Folders,
}

impl<'c> Walk<'c> {
    fn new(path: &str, cancel: &'c CancelToken) -> Result<Self> {
        let bad = |e| Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid pattern \"{path}\": {e}"));
        Pattern::new(path).map_err(bad)?;
        let part = |name: &str| match name {
            "**" => Ok(Part::Folders),
            name if name.contains(['*', '?', '[']) => Pattern::new(name).map(Part::Like).map_err(bad),
            name => Ok(Part::Name(name.to_owned())),
        };
        let mut parts = path.split('/').filter(|name| !name.is_empty()).map(part).collect::<Result<Vec<_>>>()?;
        if matches!(parts.last(), Some(Part::Folders)) {
            // The files in all folders below one.
            parts.push(Part::Like(Pattern::new("*").map_err(bad)?));
        }
        Ok(Self { root: PathBuf::from(if path.starts_with('/') { "/" } else { "" }), parts, cancel })
    }

    /// The files, in the order of their names.
    fn files(&self, out: &mut Vec<PathBuf>) -> Result<()> {
        let first = out.len();
        // How deep a tree is, is not for the stack to say.
        let mut left = vec![(self.root.clone(), 0)];
        while let Some((path, part)) = left.pop() {
            self.cancel.check()?;
            match self.parts.get(part) {
                None if path.is_dir() => {}
                None => out.push(path),
                Some(Part::Name(name)) => {
                    let path = path.join(name);
                    if path.symlink_metadata().is_ok() {
                        left.push((path, part + 1));
                    }
                }
                Some(Part::Like(pattern)) => self.each_entry(&path, |entry| {
                    if entry.file_name().to_str().is_some_and(|name| pattern.matches(name)) {
                        left.push((path.join(entry.file_name()), part + 1));
                    }
                })?,
                Some(Part::Folders) => {
                    self.each_entry(&path, |entry| {
                        if entry.file_type().is_ok_and(|of| of.is_dir()) {
                            left.push((path.join(entry.file_name()), part));
                        }
                    })?;
                    left.push((path, part + 1));
                }
            }
        }
        out[first..].sort_unstable();
        // Where there is more than one `**`, a file may be found in more than one way.
        let mut found = out.split_off(first);
        found.dedup();
        out.append(&mut found);
        Ok(())
    }

    /// Shows what is in a folder; nothing if it is none.
    fn each_entry(&self, folder: &Path, mut show: impl FnMut(&DirEntry)) -> Result<()> {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let failed = |e: &std::io::Error| open_error(folder, e);
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(()),
            Err(e) => return Err(failed(&e)),
        };
        for entry in entries {
            self.cancel.check()?;
            show(&entry.map_err(|e| failed(&e))?);
        }
        Ok(())
    }
}

#[cold]
fn no_match(path: &str) -> Error {
    Error::new(SqlState::UNDEFINED_FILE, format!("no file matches \"{path}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, cancel: &CancelToken) -> Result<Vec<PathBuf>> {
        let mut out = Vec::new();
        Walk::new(pattern, cancel)?.files(&mut out).map(|()| out)
    }

    #[test]
    fn patterns_are_walked_in_order_and_not_in_circles() {
        let folder = std::env::temp_dir().join(format!("morsel-paths-{}", std::process::id()));
        let at = |name: &str| folder.join(name);
        for name in ["b/x.csv", "b/c/x.csv", "a.csv", "b/y.txt", ".hidden.csv", "b/c/d.csv/z.csv"] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), "1").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(".", at("b/circle")).unwrap();
        let names = |pattern: &str| {
            let found = found(at(pattern).to_str().unwrap(), &CancelToken::new()).unwrap();
            let name = |path: &PathBuf| path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
            found.iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(names("*.csv"), [".hidden.csv", "a.csv"]);
        assert_eq!(names("**/x.csv"), ["b/c/x.csv", "b/x.csv"]);
        assert_eq!(names("**/*.csv"), [".hidden.csv", "a.csv", "b/c/d.csv/z.csv", "b/c/x.csv", "b/x.csv"]);
        assert_eq!(names("**/c/**"), ["b/c/d.csv/z.csv", "b/c/x.csv"]);
        assert_eq!(names("**/**/x.csv"), ["b/c/x.csv", "b/x.csv"]);
        assert_eq!(names("?/[x-z].*"), ["b/x.csv", "b/y.txt"]);
        assert_eq!(names("b/circle/x.*"), ["b/circle/x.csv"]);
        assert_eq!(names("b/*/nothing/*"), [""; 0]);
        assert_eq!(names("a.csv/*"), [""; 0]);
        // A walk that finds nothing ends when it is cancelled, too.
        let cancel = CancelToken::new();
        cancel.cancel();
        let failed = found(at("**/*.none").to_str().unwrap(), &cancel).unwrap_err();
        assert_eq!(failed.state(), SqlState::QUERY_CANCELED);
        assert!(found("a**", &CancelToken::new()).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
