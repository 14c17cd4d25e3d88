//! What COPY writes: a file, or a folder of files.

use base::{Error, Result};

use crate::context::OpenContext;
use crate::option::flag;
use crate::partitioned::PartitionedWriter;
use crate::planned::{ChunkWriter, Planned};
use crate::source::Field;

/// Creates a file for rows of these fields, in the format that options or the path's ending say; a folder of files, where
/// options name columns by whose values they are parted, or say so.
pub fn create(
    path: &str,
    fields: &[Field],
    options: &[(String, String)],
    outside: &OpenContext,
) -> Result<Box<dyn ChunkWriter>> {
    if remote::is_remote(path) {
        let error = Error::unsupported(format!("writing \"{path}\", a file on a server,"));
        return Err(error.hint("COPY ... TO a file on this machine, and upload it"));
    }
    let makes_folder = |(name, value): &(String, String)| match name.as_str() {
        "partition_by" => true,
        "per_thread_output" => flag(name, value).unwrap_or(true),
        _ => false,
    };
    if options.iter().any(makes_folder) {
        return Ok(Box::new(PartitionedWriter::create(path, fields, options, outside)?));
    }
    // Options first: a mistake in them must not cost the file that is there.
    Planned::new(path, fields, options, outside)?.start(path, fields, outside)
}
