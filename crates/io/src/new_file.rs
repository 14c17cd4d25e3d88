//! Files that appear whole or not at all.
//!
//! Where the file system allows it, a new file has no name until it is complete: whatever ends the process, nothing is
//! left behind. Elsewhere it has a hidden one.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use base::Result;

use crate::input::{open_error, write_error};

/// A file that is written beside its place and moved there when it is complete: until then, and if that never happens,
/// what was there before stays, even for whoever reads it for what is written.
///
/// Files that cannot be replaced (they have several names, are mounted, or lie in folders that take no new ones) are
/// overwritten then. Pipes, devices and open descriptors are written to at once.
pub(crate) struct NewFile {
    file: File,
    moves: Option<Move>,
}

/// What is left to do with a complete file.
struct Move {
    /// Where the file is until then, or is to be on its way, if it has no name yet.
    part: PathBuf,
    named: bool,
    /// Where it is to be.
    target: PathBuf,
}

impl NewFile {
    /// Opens the file.
    pub fn create(path: &str) -> Result<Self> {
        Self::open(Path::new(path)).map_err(|e| open_error(Path::new(path), &e))
    }

    fn open(path: &Path) -> io::Result<Self> {
        let links = follow(path)?;
        let target = links.last().expect("the path itself");
        let before = fs::metadata(target).ok();
        if links.iter().any(|p| is_descriptor(p)) {
            let descriptor = match path.to_str() {
                Some("/dev/stdout") => {
                    io::stdout().flush()?;
                    Some(io::stdout().as_fd().try_clone_to_owned()?)
                }
                Some("/dev/stderr") => Some(io::stderr().as_fd().try_clone_to_owned()?),
                _ => None,
            };
            let file = descriptor.map_or_else(|| File::options().append(true).open(path), |d| Ok(File::from(d)))?;
            return Ok(Self { file, moves: None });
        }
        let Some(before) = before else {
            let (file, part, named) = part_of(target, target, None)?;
            return Ok(Self { file, moves: Some(Move { part, named, target: target.clone() }) });
        };
        if !before.is_file() {
            return Ok(Self { file: File::options().write(true).open(path)?, moves: None });
        }
        // A file that may not be written to must not be replaced either.
        File::options().append(true).open(target)?;
        let (file, part, named) = part_of(target, target, Some(&before)).or_else(|e| match e.kind() {
            ErrorKind::PermissionDenied => {
                part_of(target, &std::env::temp_dir().join(target.file_name().unwrap_or_default()), Some(&before))
            }
            _ => Err(e),
        })?;
        Ok(Self { file, moves: Some(Move { part, named, target: target.clone() }) })
    }

    /// Puts the complete file in its place.
    pub fn finish(mut self) -> Result<()> {
        self.file.flush().map_err(|e| write_error(&e))?;
        match self.moves.take() {
            None => Ok(()),
            Some(last) => last.run(&self.file).map_err(|e| write_error(&e)),
        }
    }
}

impl Move {
    fn run(self, file: &File) -> io::Result<()> {
        let Self { part, named, target } = self;
        // All of the contents before the name: a crash must not leave half a file there.
        let moved = file.sync_all().and_then(|()| if named { Ok(()) } else { give_name(file, &part) }).and_then(|()| {
            // Other names of the file stay its names; a mounted file, or one in a closed folder, cannot be replaced.
            let is_shared = fs::metadata(&target).is_ok_and(|m| m.nlink() > 1);
            let moved = if is_shared { Err(ErrorKind::Other.into()) } else { fs::rename(&part, &target) };
            moved.or_else(|e| if target.is_file() { overwrite(&part, &target) } else { Err(e) })
        });
        let _ = fs::remove_file(&part);
        // The name, too; some file systems do not sync folders, and the file is in its place then all the same.
        let _ = File::open(folder_of(&target)).and_then(|folder| folder.sync_all());
        moved
    }
}

/// Copies the bytes of `part` into the file that is there.
fn overwrite(part: &Path, target: &Path) -> io::Result<()> {
    fs::copy(part, target)?;
    File::options().append(true).open(target)?.sync_all()
}

/// The folder that a file lies in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives an open file without a name one.
fn give_name(file: &File, path: &Path) -> io::Result<()> {
    let nul = |_| io::Error::from(ErrorKind::InvalidInput);
    let from = std::ffi::CString::new(descriptor(file)).map_err(nul)?;
    let to = std::ffi::CString::new(path.as_os_str().as_bytes()).map_err(nul)?;
    let (here, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
    // SAFETY: both paths are strings that end with a zero byte and live until the call returns.
    match unsafe { libc::linkat(here, from.as_ptr(), here, to.as_ptr(), follow) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The path of an open file's descriptor.
fn descriptor(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// A file without a name in the folder of `neighbour`, if there can be one that is given a name later.
fn unnamed(neighbour: &Path, mode: u32) -> Option<File> {
    let file = File::options().write(true).mode(mode).custom_flags(libc::O_TMPFILE).open(folder_of(neighbour)).ok()?;
    fs::symlink_metadata(descriptor(&file)).ok().map(|_| file)
}

/// Whether the path is an open descriptor's, which may be of any file: others write to it too.
fn is_descriptor(path: &Path) -> bool {
    let in_proc = path.starts_with("/proc") && path.parent().is_some_and(|folder| folder.ends_with("fd"));
    in_proc || path.starts_with("/dev/fd") || path == Path::new("/dev/stdout") || path == Path::new("/dev/stderr")
}

/// The path and, as long as it is a link, where it leads: links stay.
fn follow(path: &Path) -> io::Result<Vec<PathBuf>> {
    const MOST_LINKS: usize = 40;
    let mut all = vec![path.to_owned()];
    while let Ok(next) = fs::read_link(all.last().expect("never empty")) {
        if all.len() > MOST_LINKS {
            // The system says so.
            return fs::metadata(path).map(|_| all);
        }
        let link = all.last().expect("never empty");
        all.push(link.parent().map_or(next.clone(), |folder| folder.join(&next)));
    }
    Ok(all)
}

/// A new file beside `neighbour` for `target`, with what `before` says of the one that is there; and whether its name is
/// taken yet.
fn part_of(target: &Path, neighbour: &Path, before: Option<&Metadata>) -> io::Result<(File, PathBuf, bool)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let is_file_name = !target.as_os_str().as_encoded_bytes().ends_with(b"/");
    let name = target.file_name().filter(|_| is_file_name).ok_or(ErrorKind::IsADirectory)?;
    // Part names are longer, and names have at most 255 bytes.
    let start: String = name.to_string_lossy().chars().take(32).collect();
    loop {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.subsec_nanos());
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let part = neighbour.with_file_name(format!(".{start}.{}.{number}.{now:x}.part", std::process::id()));
        // Never through somebody else's file or link; and nobody reads it who may not read the file that it replaces.
        let mode = if before.is_some() { 0o600 } else { 0o666 };
        let (opened, named) = match unnamed(neighbour, mode) {
            Some(file) => (Ok(file), false),
            None => (File::options().write(true).create_new(true).mode(mode).open(&part), true),
        };
        match opened {
            Ok(file) => {
                if let Some(before) = before {
                    // As far as the file system and our rights go.
                    let _ = fchown(&file, Some(before.uid()), Some(before.gid()));
                    let _ = file.set_permissions(before.permissions());
                }
                return Ok((file, part, named));
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
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
        if let Some(Move { part, named: true, .. }) = &self.moves {
            let _ = fs::remove_file(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            static NEXT: AtomicU64 = AtomicU64::new(0);
            let name = format!("morsel-new-file-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let path = std::env::temp_dir().join(name);
            fs::create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn write(path: &Path, text: &str, finish: bool) {
        let mut file = NewFile::create(path.to_str().unwrap()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        if finish {
            file.finish().unwrap();
        }
    }

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_file_is_replaced_when_it_is_complete() {
        let folder = Folder::new();
        let path = folder.0.join("n".repeat(255));
        write(&path, "one", true);
        write(&path, "unfinished", false);
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names(&folder.0)), ("one", 1));
        write(&path, "two", true);
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names(&folder.0)), ("two", 1));
    }

    #[test]
    fn links_stay_and_lead_to_the_file() {
        let folder = Folder::new();
        let (link, target) = (folder.0.join("link"), folder.0.join("target"));
        std::os::unix::fs::symlink("target", &link).unwrap();
        for text in ["dangling", "there"] {
            write(&link, text, true);
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::read_to_string(&target).unwrap(), text);
        }
        let other = folder.0.join("hard");
        fs::hard_link(&target, &other).unwrap();
        write(&link, "both", true);
        write(&link, "unfinished", false);
        assert_eq!(fs::read_to_string(&other).unwrap(), "both");
        assert_eq!(names(&folder.0), 3);
    }

    #[test]
    fn what_is_no_file_is_an_error_or_written_to() {
        let folder = Folder::new();
        assert!(NewFile::create(folder.0.to_str().unwrap()).is_err());
        assert!(NewFile::create(&format!("{}/new/", folder.0.display())).is_err());
        let path = folder.0.join("loop");
        std::os::unix::fs::symlink("loop", &path).unwrap();
        assert!(NewFile::create(path.to_str().unwrap()).is_err());
        write(Path::new("/dev/null"), "nothing", true);
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
