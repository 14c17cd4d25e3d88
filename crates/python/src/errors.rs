//! Errors as exceptions of the DB-API, chosen by the class of the SQLSTATE.

use base::{ABOUT, Error, SqlState};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// The name of the exception for an SQLSTATE.
fn exception_of(state: &str) -> &'static str {
    match state.get(..2).unwrap_or_default() {
        "0A" => "NotSupportedError",
        // What a file holds is data.
        _ if state == SqlState::DATA_CORRUPTED.0 => "DataError",
        "21" | "22" => "DataError",
        "23" => "IntegrityError",
        "2B" | "3D" | "3F" | "42" => "ProgrammingError",
        _ if state == "08P01" => "ProgrammingError",
        "08" | "25" | "40" | "53" | "54" | "55" | "57" | "58" => "OperationalError",
        "XX" => "InternalError",
        _ => "DatabaseError",
    }
}

/// The exception for an error of the statement `sql`.
pub fn exception(py: Python<'_>, error: &Error, sql: &str) -> PyErr {
    let state = error.state().0;
    let message = error.render(sql);
    // As Python counts: in characters.
    let position = error.position().map(|p| sql.get(..p as usize).map_or(0, |head| head.chars().count()));
    let made = MODULE
        .get_or_try_init(py, || py.import("morseldb._errors").map(Bound::unbind))
        .and_then(|module| module.bind(py).getattr(exception_of(state)))
        .and_then(|class| {
            let about = ABOUT.map(|item| error.get_about(item));
            class.call1((message, state, position, error.get_hint(), error.get_detail(), error.message(), about))
        });
    made.map_or_else(|failure| failure, PyErr::from_value)
}

/// The exception for an error that has no statement.
pub fn plain(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error, "")
}
