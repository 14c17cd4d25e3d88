//! Files by paths and glob patterns.

use std::path::{Path, PathBuf};

use base::{Error, Result, SqlState};
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
        let bad = |e: &dyn std::fmt::Display| {
            Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid pattern \"{path}\": {e}"))
        };
        let before = out.len();
        // The files in all folders below one.
        let below = path.ends_with("/**").then(|| format!("{path}/*"));
        for found in glob::glob(below.as_deref().unwrap_or(path)).map_err(|e| bad(&e))? {
            context.cancel.check()?;
            let found = found.map_err(|e| open_error(e.path(), e.error()))?;
            if !found.is_dir() {
                out.push(found);
            }
        }
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

#[cold]
fn no_match(path: &str) -> Error {
    Error::new(SqlState::UNDEFINED_FILE, format!("no file matches \"{path}\""))
}
