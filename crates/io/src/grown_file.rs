//! Files that are written while others read them: a log of what happens.

use std::fs::File;
use std::path::Path;

use base::{Error, Result, SqlState};

use crate::context::OpenContext;
use crate::input::open_error;

/// Opens a file to be written at any place, or makes it; what it holds stays until somebody cuts it off. It must be a regular
/// file: of others, nothing that was written can be written over.
pub fn open_grown(path: &str, _outside: &OpenContext) -> Result<File> {
    let failed = |e| open_error(Path::new(path), &e);
    let is_regular = |m: &std::fs::Metadata| m.is_file();
    // Before it is opened: that would wait for the other end of a pipe.
    if std::fs::metadata(path).is_ok_and(|m| !is_regular(&m)) {
        let message = format!("could not open file \"{path}\": it is not a regular file");
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    File::options().write(true).create(true).truncate(false).open(path).map_err(failed)
}
