//! Files by paths and glob patterns.

use std::path::{Path, PathBuf};

use base::{CancelToken, Error, Result, SqlState};

use crate::input::open_error;

/// The files that paths and glob patterns name, those of a pattern in the order of their names. A path that exists is
/// no pattern.
pub fn expand_paths(paths: &[String], cancel: &CancelToken) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for path in paths {
        if !path.contains(['*', '?', '[']) || Path::new(path).exists() {
            out.push(PathBuf::from(path));
            continue;
        }
        let bad = |e: &dyn std::fmt::Display| {
            Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid pattern \"{path}\": {e}"))
        };
        let before = out.len();
        for found in glob::glob(path).map_err(|e| bad(&e))? {
            cancel.check()?;
            let found = found.map_err(|e| open_error(e.path(), e.error()))?;
            if !found.is_dir() {
                out.push(found);
            }
        }
        if out.len() == before {
            return Err(Error::new(SqlState::UNDEFINED_FILE, format!("no file matches \"{path}\"")));
        }
    }
    Ok(out)
}
