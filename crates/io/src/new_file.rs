//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use base::Result;

use crate::input::open_error;
use crate::open::write_error;

/// A file that is written beside its place and moved there when it is complete: until then, and if that never happens,
/// what was there before stays, even for whoever reads it for what is written. Pipes and devices are written to at once.
pub(crate) struct NewFile {
    file: File,
    /// Where the file is now, and where it is to be.
    moves: Option<(PathBuf, PathBuf)>,
}

impl NewFile {
    /// Opens the file.
    pub fn create(path: &str) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let failed = |e: io::Error| open_error(Path::new(path), &e);
        // Through links: they stay.
        let target = fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
        let before = fs::metadata(&target).ok();
        if before.as_ref().is_some_and(|m| !m.is_file()) {
            let file = File::options().write(true).open(path).map_err(failed)?;
            return Ok(Self { file, moves: None });
        }
        if before.is_some() {
            // A file that may not be written to must not be replaced either.
            File::options().append(true).open(&target).map_err(failed)?;
        }
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let beside = target.with_file_name(format!(".{name}.{}.{number}.part", std::process::id()));
        let file = File::create(&beside).map_err(failed)?;
        if let Some(before) = before {
            // As far as the file system can.
            let _ = file.set_permissions(before.permissions());
        }
        Ok(Self { file, moves: Some((beside, target)) })
    }

    /// Puts the complete file in its place.
    pub fn finish(mut self) -> Result<()> {
        self.file.flush().map_err(|e| write_error(&e))?;
        if let Some((from, to)) = self.moves.take() {
            fs::rename(&from, &to).map_err(|e| {
                let _ = fs::remove_file(&from);
                write_error(&e)
            })?;
        }
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some((from, _)) = &self.moves {
            let _ = fs::remove_file(from);
        }
    }
}
