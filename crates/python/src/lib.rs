//! The native module `morseldb._morseldb`: sessions, results, data frames. The package `morseldb` (folder `python`)
//! makes the DB-API, relations and replacement scans of them.
//!
//! Architecture invariants: the GIL is not held while a query runs or a lock is waited for; Python's signal handlers
//! run while a query does; no panic of the engine reaches Python as such.

mod errors;
mod frames;
mod parameters;
mod process;
mod result;
mod session;
mod stream;
mod values;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: allocator::MiMalloc = allocator::MiMalloc;

/// The names of a statement's parameters, in the order in which values for them are given.
#[pyfunction]
fn parameter_names(sql: &str) -> Vec<String> {
    engine::parameter_names(sql)
}

/// The native part of MorselDB.
#[pymodule]
fn _morseldb(module: &Bound<'_, PyModule>) -> PyResult<()> {
    allocator::prepare();
    base::panics::quiet_hook();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(parameter_names, module)?)?;
    module.add_class::<session::Session>()?;
    module.add_class::<result::Result>()?;
    Ok(())
}
