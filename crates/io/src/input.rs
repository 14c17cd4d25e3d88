//! Bytes of files: on disk, read by position, or in memory, decompressed or given.
//!
//! Nothing here goes on for long once the statement is cancelled: each read looks, and pipes are waited for in steps.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use base::memory::Reservation;
use base::{Budget, CancelToken, Error, Result, SqlState};
use bytes::Bytes;
use remote::{Access, RemoteFile, Stream, Wanted, is_remote, name_of};

/// How a file is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip (several members allowed).
    Gzip,
    /// Zstandard (several frames allowed).
    Zstd,
}

impl Compression {
    /// What the file's name says.
    pub fn of_path(path: &Path) -> Self {
        let name = path.to_string_lossy();
        match Path::new(name_of(&name)).extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("gz" | "gzip") => Self::Gzip,
            Some("zst" | "zstd") => Self::Zstd,
            _ => Self::None,
        }
    }
}

/// The name by which memory is charged.
pub const OPERATOR: &str = "file scan";
/// Bytes by which the charge of a growing text grows.
const CHARGE: usize = 1 << 20;
/// Bytes that are read between two looks at the statement's token.
const READ: u64 = 1 << 20;
/// Milliseconds between them while a pipe has nothing to read.
const PATIENCE: i32 = 50;

/// Random access to the bytes of a file.
#[derive(Debug)]
pub enum Input {
    /// A file of this many bytes.
    File(File, u64, CancelToken),
    /// A file on a server.
    Remote(RemoteFile, CancelToken),
    /// Text in memory.
    Memory {
        /// The text.
        text: Bytes,
        /// Given back with it.
        _charged: Option<Reservation>,
    },
}

/// What opening a file takes.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// Most bytes that a file may have when decompressed.
    pub limit: usize,
    /// What bytes in memory are charged to.
    pub budget: Option<&'a Budget>,
    /// Stops it.
    pub cancel: &'a CancelToken,
    /// Who asks servers; none: nobody.
    pub remote: Option<&'a Access>,
}

impl Input {
    /// Opens a file, decompressing it into memory if need be.
    pub fn open(path: &Path, compression: Compression, means: Means<'_>) -> Result<Self> {
        let Means { limit, budget, cancel, remote } = means;
        if let Some(address) = path.to_str().filter(|path| is_remote(path)) {
            let file = access(remote)?.open(address, budget, cancel)?;
            let text = Text { path, limit, budget, cancel };
            let stream = || Stream::new(file.clone(), cancel.clone());
            let (text, charged) = match compression {
                Compression::None => return Ok(Self::Remote(file, cancel.clone())),
                Compression::Gzip => text.read_all(flate2::read::MultiGzDecoder::new(stream()))?,
                Compression::Zstd => {
                    let decoder = zstd::stream::read::Decoder::new(stream());
                    text.read_all(decoder.map_err(|e| text.error(&e))?)?
                }
            };
            return Ok(Self::Memory { text: text.into(), _charged: charged });
        }
        // Opening a pipe would wait for somebody who writes to it.
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        let file = file.map_err(|e| open_error(path, &e))?;
        let meta = file.metadata().map_err(|e| open_error(path, &e))?;
        if meta.is_dir() {
            let message = format!("could not read \"{}\": it is a directory", path.display());
            return Err(Error::new(SqlState::UNDEFINED_FILE, message).hint("name the files: 'directory/*.csv'"));
        }
        // Pipes and devices have no length and no positions.
        let text = Text { path, limit, budget, cancel };
        let (text, charged) = match compression {
            Compression::None if meta.is_file() => return Ok(Self::File(file, meta.len(), cancel.clone())),
            Compression::None => text.read_all(Patient(file, cancel))?,
            Compression::Gzip => text.read_all(flate2::read::MultiGzDecoder::new(Patient(file, cancel)))?,
            Compression::Zstd => {
                let decoder = zstd::stream::read::Decoder::new(Patient(file, cancel));
                text.read_all(decoder.map_err(|e| text.error(&e))?)?
            }
        };
        Ok(Self::Memory { text: text.into(), _charged: charged })
    }

    /// Bytes in all.
    pub fn len(&self) -> u64 {
        match self {
            Self::File(_, len, _) => *len,
            Self::Remote(file, _) => file.len(),
            Self::Memory { text, .. } => text.len() as u64,
        }
    }

    /// Has bytes fetched that are on a server, which stay if they are `kept`, or until what this returns is dropped; none: they are
    /// not on a server.
    pub fn want(&self, ranges: impl IntoIterator<Item = Range<u64>>, kept: bool) -> Result<Option<Wanted>> {
        match self {
            Self::Remote(file, _) => file.want(ranges, kept).map(Some),
            _ => Ok(None),
        }
    }

    /// Has bytes there that are about to be read, here and there: all at once, where each would be waited for.
    pub fn fetch(&self, ranges: impl IntoIterator<Item = Range<u64>>) -> Result<()> {
        match self {
            Self::Remote(file, cancel) => file.want(ranges, true)?.wait(cancel),
            _ => Ok(()),
        }
    }

    /// Bytes that are given.
    pub fn memory(bytes: Bytes) -> Self {
        Self::Memory { text: bytes, _charged: None }
    }

    /// The bytes from `start` to `end`, which are within the length, of the file `name`.
    pub fn read(&self, name: &str, start: u64, end: u64) -> Result<Bytes> {
        self.check()?;
        self.bytes(start, end).map_err(|e| failed(name, &e))
    }

    /// As many bytes as there is room for, from `start` on.
    pub fn read_into(&self, name: &str, start: u64, room: &mut [u8]) -> Result<()> {
        self.check()?;
        self.bytes_into(start, room).map_err(|e| failed(name, &e))
    }

    fn check(&self) -> Result<()> {
        match self {
            Self::File(_, _, cancel) | Self::Remote(_, cancel) => cancel.check(),
            Self::Memory { .. } => Ok(()),
        }
    }

    /// As [`read`](Self::read), with the system's error.
    pub fn bytes(&self, start: u64, end: u64) -> std::io::Result<Bytes> {
        assert!(start <= end && end <= self.len());
        match self {
            Self::Memory { text, .. } => Ok(text.slice(start as usize..end as usize)),
            Self::File(..) | Self::Remote(..) => {
                let mut bytes = vec![0; (end - start) as usize];
                self.bytes_into(start, &mut bytes)?;
                Ok(bytes.into())
            }
        }
    }

    /// As [`read_into`](Self::read_into), with the system's error.
    pub fn bytes_into(&self, start: u64, room: &mut [u8]) -> std::io::Result<()> {
        match self {
            Self::Memory { text, .. } => room.copy_from_slice(&text[start as usize..][..room.len()]),
            Self::File(file, ..) => file.read_exact_at(room, start)?,
            Self::Remote(file, cancel) => file.read_into(start, room, cancel).map_err(std::io::Error::other)?,
        }
        Ok(())
    }
}

/// Who asks servers.
pub fn access(remote: Option<&Access>) -> Result<&Access> {
    remote.ok_or_else(|| Error::unsupported("files on servers"))
}

/// The error of ours that an error of the system stands for.
pub fn own(error: &std::io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref::<Error>()
}

#[cold]
fn failed(name: &str, error: &std::io::Error) -> Error {
    if let Some(own) = own(error) {
        return own.clone();
    }
    match error.kind() {
        ErrorKind::UnexpectedEof => {
            Error::new(SqlState::BAD_COPY_FILE, format!("file \"{name}\" became shorter while it was read"))
        }
        _ => Error::new(SqlState::IO_ERROR, format!("could not read file \"{name}\": {error}")),
    }
}

/// A file, pipe or device as a stream: its bytes are waited for, but not longer than the statement is wanted.
struct Patient<'a>(File, &'a CancelToken);

impl Read for Patient<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        loop {
            if self.1.is_cancelled() {
                // Readers try again after `Interrupted`.
                return Err(ErrorKind::ConnectionAborted.into());
            }
            let mut waits = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: `waits` is one valid `pollfd`, of a descriptor that `self` keeps open.
            let ready = unsafe { libc::poll(&raw mut waits, 1, PATIENCE) };
            if ready > 0 {
                match self.0.read(bytes) {
                    Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                    result => return result,
                }
            }
        }
    }
}

/// A text that is read into memory.
struct Text<'a> {
    path: &'a Path,
    limit: usize,
    budget: Option<&'a Budget>,
    cancel: &'a CancelToken,
}

impl Text<'_> {
    fn read_all(&self, source: impl Read) -> Result<(Vec<u8>, Option<Reservation>)> {
        let mut text = Vec::new();
        let mut charged = self.budget.map(|b| b.reserve(0, OPERATOR)).transpose()?;
        let mut source = source.take((self.limit as u64).saturating_add(1));
        loop {
            if text.len() == text.capacity() {
                // Charged before it is allocated: the vector doubles, and the old one is there until it has been copied.
                let capacity = (2 * text.capacity()).max(CHARGE);
                self.charge(&mut charged, text.capacity() + capacity)?;
                text.reserve_exact(capacity - text.len());
                self.charge(&mut charged, text.capacity())?;
            }
            let room = ((text.capacity() - text.len()) as u64).min(READ);
            let read = (&mut source).take(room).read_to_end(&mut text).map_err(|e| self.error(&e))?;
            self.cancel.check()?;
            if text.len() > self.limit {
                let message =
                    format!("\"{}\" has more than {} bytes when decompressed", self.path.display(), self.limit);
                return Err(Error::new(SqlState::OUT_OF_MEMORY, message).hint("decompress the file first"));
            }
            if (read as u64) < room {
                break;
            }
        }
        text.shrink_to_fit();
        self.charge(&mut charged, text.len())?;
        Ok((text, charged))
    }

    fn charge(&self, charged: &mut Option<Reservation>, bytes: usize) -> Result<()> {
        let Some(charged) = charged else { return Ok(()) };
        charged.resize(bytes).map_err(|e| e.detail(format!("reading \"{}\" into memory", self.path.display())))
    }

    #[cold]
    fn error(&self, error: &std::io::Error) -> Error {
        if let Err(canceled) = self.cancel.check() {
            return canceled;
        }
        if let Some(own) = own(error) {
            return own.clone();
        }
        let message = format!("could not decompress \"{}\": {error}", self.path.display());
        Error::new(SqlState::DATA_CORRUPTED, message)
    }
}

/// The error for a file that cannot be opened.
#[cold]
pub fn open_error(path: &Path, error: &std::io::Error) -> Error {
    let path = path.display();
    match error.kind() {
        ErrorKind::NotFound => Error::new(SqlState::UNDEFINED_FILE, format!("file \"{path}\" does not exist")),
        // SQLSTATE 42501: insufficient privilege.
        ErrorKind::PermissionDenied => {
            Error::new(SqlState("42501"), format!("could not open file \"{path}\": permission denied"))
        }
        _ => Error::new(SqlState::IO_ERROR, format!("could not open file \"{path}\": {error}")),
    }
}

/// The error for a write that failed.
#[cold]
pub(crate) fn write_error(error: &std::io::Error) -> Error {
    // SQLSTATE 53100: disk full.
    let state = if error.kind() == std::io::ErrorKind::StorageFull { SqlState("53100") } else { SqlState::IO_ERROR };
    Error::new(state, format!("could not write file: {error}"))
}
