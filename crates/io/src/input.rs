//! Bytes of text files: on disk, read by position, or in memory, decompressed or given.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use base::memory::Reservation;
use base::{Budget, Error, Result, SqlState};
use bytes::Bytes;

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
        match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
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

/// Random access to the text of a file.
#[derive(Debug)]
pub enum Input {
    /// A file of this many bytes.
    File(File, u64),
    /// Text in memory.
    Memory {
        /// The text.
        text: Bytes,
        /// Given back with it.
        _charged: Option<Reservation>,
    },
}

impl Input {
    /// Opens a file, decompressing it into memory if need be, at most `limit` bytes, which are charged to the budget.
    pub fn open(path: &Path, compression: Compression, limit: usize, budget: Option<&Budget>) -> Result<Self> {
        let file = File::open(path).map_err(|e| open_error(path, &e))?;
        let meta = file.metadata().map_err(|e| open_error(path, &e))?;
        if meta.is_dir() {
            let message = format!("could not read \"{}\": it is a directory", path.display());
            return Err(Error::new(SqlState::UNDEFINED_FILE, message).hint("name the files: 'directory/*.csv'"));
        }
        // Pipes and devices have no length and no positions.
        let (text, charged) = match compression {
            Compression::None if meta.is_file() => return Ok(Self::File(file, meta.len())),
            Compression::None => read_all(path, file, limit, budget)?,
            Compression::Gzip => read_all(path, flate2::read::MultiGzDecoder::new(file), limit, budget)?,
            Compression::Zstd => {
                let decoder = zstd::stream::read::Decoder::new(file).map_err(|e| corrupt(path, &e))?;
                read_all(path, decoder, limit, budget)?
            }
        };
        Ok(Self::Memory { text: text.into(), _charged: charged })
    }

    /// Bytes in all.
    pub fn len(&self) -> u64 {
        match self {
            Self::File(_, len) => *len,
            Self::Memory { text, .. } => text.len() as u64,
        }
    }

    /// The bytes from `start` to `end`, which are within the length.
    pub fn read(&self, name: &str, start: u64, end: u64) -> Result<Bytes> {
        assert!(start <= end && end <= self.len());
        match self {
            Self::Memory { text, .. } => Ok(text.slice(start as usize..end as usize)),
            Self::File(file, _) => {
                let mut bytes = vec![0; (end - start) as usize];
                file.read_exact_at(&mut bytes, start).map_err(|e| match e.kind() {
                    ErrorKind::UnexpectedEof => {
                        Error::new(SqlState::BAD_COPY_FILE, format!("file \"{name}\" became shorter while it was read"))
                    }
                    _ => Error::new(SqlState::IO_ERROR, format!("could not read file \"{name}\": {e}")),
                })?;
                Ok(bytes.into())
            }
        }
    }
}

fn read_all(
    path: &Path,
    source: impl Read,
    limit: usize,
    budget: Option<&Budget>,
) -> Result<(Vec<u8>, Option<Reservation>)> {
    let mut text = Vec::new();
    let mut charged = budget.map(|b| b.reserve(0, OPERATOR)).transpose()?;
    let mut source = source.take((limit as u64).saturating_add(1));
    let named = |e: Error| e.detail(format!("reading \"{}\" into memory", path.display()));
    loop {
        // Charged before it is allocated: the vector doubles.
        let capacity = text.capacity().max(text.len() + CHARGE);
        let capacity = if capacity > text.capacity() { capacity.max(2 * text.capacity()) } else { capacity };
        if let Some(charged) = &mut charged {
            charged.resize(capacity, OPERATOR).map_err(named)?;
        }
        text.reserve_exact(capacity - text.len());
        let room = (text.capacity() - text.len()) as u64;
        let read = (&mut source).take(room).read_to_end(&mut text).map_err(|e| corrupt(path, &e))?;
        if text.len() > limit {
            let message = format!("\"{}\" has more than {limit} bytes when decompressed", path.display());
            return Err(Error::new(SqlState::OUT_OF_MEMORY, message).hint("decompress the file first"));
        }
        if (read as u64) < room {
            break;
        }
    }
    text.shrink_to_fit();
    if let Some(charged) = &mut charged {
        charged.resize(text.len(), OPERATOR)?;
    }
    Ok((text, charged))
}

#[cold]
fn corrupt(path: &Path, error: &std::io::Error) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("could not decompress \"{}\": {error}", path.display()))
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
