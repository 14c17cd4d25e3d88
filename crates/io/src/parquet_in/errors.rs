//! Errors of the Parquet decoder, including its panics: some corrupt files make it panic.

use base::panics::catch;
use base::{Error, Result, SqlState};
use parquet::errors::ParquetError;

use crate::input::own;

/// The error for a file that is not what it should be.
#[cold]
pub fn corrupt(file: &str, detail: &str) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("\"{file}\" is not a valid Parquet file or is corrupt")).detail(detail)
}

/// Runs a step of decoding; what it throws or says becomes an error that names the file.
pub fn guarded<T>(file: &str, step: impl FnOnce() -> Result<T, ParquetError>) -> Result<T> {
    match catch(step) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(ParquetError::NYI(what))) => Err(Error::unsupported(format!("\"{file}\": {what}"))),
        Ok(Err(ParquetError::External(error))) => match error.downcast_ref::<std::io::Error>() {
            None if let Some(own) = error.downcast_ref::<Error>() => Err(own.clone()),
            Some(io) if let Some(own) = own(io) => Err(own.clone()),
            Some(io) if io.kind() != std::io::ErrorKind::UnexpectedEof => {
                Err(Error::new(SqlState::IO_ERROR, format!("could not read \"{file}\": {io}")))
            }
            _ => Err(corrupt(file, &error.to_string())),
        },
        Ok(Err(error)) => Err(corrupt(file, &error.to_string())),
        Err(_) => Err(corrupt(file, "decoding it failed")),
    }
}
