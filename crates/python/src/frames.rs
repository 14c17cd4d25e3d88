//! Data frames of Python as sources of rows, by Arrow's C stream interface.

use std::ffi::CStr;
use std::sync::Arc;

use io::ffi::Import;
use io::{FileSource, MemorySource};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

use crate::errors;

/// The name of capsules with streams.
pub const STREAM: &CStr = c"arrow_array_stream";

/// Reads all of what an object with `__arrow_c_stream__` holds.
pub fn import(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Arc<dyn FileSource>> {
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: a capsule of that name holds a stream of Arrow's C stream interface; the capsule is alive. The stream is
    // moved out and marked as released, as the interface asks of consumers.
    let mut import = unsafe { Import::from_raw(stream.as_ptr().cast()) }.map_err(|e| errors::plain(py, &e))?;
    let read = py.detach(move || {
        let mut chunks = Vec::new();
        while let Some(more) = import.next_chunks()? {
            chunks.extend(more);
        }
        Ok(MemorySource::new(import.fields().to_vec(), chunks))
    });
    read.map(|source| Arc::new(source) as Arc<dyn FileSource>).map_err(|e: base::Error| errors::plain(py, &e))
}
