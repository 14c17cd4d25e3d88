//! Settings of PostgreSQL that its tools set at the beginning of a session or a script: what they ask for is as it is here
//! anyhow, or has no meaning here.

use base::{Error, Result, SqlState};

/// Each with the only values that may be set, if others would mean something else: the first of these is shown.
const SETTINGS: &[(&str, &[&str])] = &[
    ("application_name", &[]),
    ("bytea_output", &["hex"]),
    ("client_encoding", &["utf8", "utf-8", "unicode"]),
    ("client_min_messages", &[]),
    ("datestyle", &["iso", "iso, mdy", "iso,mdy", "iso, dmy", "iso, ymd"]),
    ("default_table_access_method", &["heap"]),
    ("default_tablespace", &[""]),
    ("default_transaction_read_only", &["off", "false"]),
    ("default_with_oids", &["off", "false"]),
    ("escape_string_warning", &[]),
    ("extra_float_digits", &[]),
    ("idle_in_transaction_session_timeout", &[]),
    ("intervalstyle", &["postgres"]),
    ("lock_timeout", &[]),
    ("row_security", &[]),
    ("standard_conforming_strings", &["on", "true"]),
    ("synchronize_seqscans", &[]),
    ("synchronous_commit", &[]),
    ("transaction_timeout", &[]),
    ("xmloption", &["content"]),
];

/// What such a setting is, if it can be one thing only.
pub(crate) fn of_postgresql(name: &str) -> Option<String> {
    let (_, values) = SETTINGS.iter().find(|(known, _)| *known == name)?;
    let shown = match *values.first()? {
        "utf8" => "UTF8",
        "iso" => "ISO, MDY",
        other => other,
    };
    Some(shown.to_owned())
}

/// Whether it is such a setting; error 22023 if the value would mean something else.
pub(crate) fn is_of_postgresql(name: &str, value: &str) -> Result<bool> {
    let Some((_, values)) = SETTINGS.iter().find(|(known, _)| *known == name) else { return Ok(false) };
    let value = value.trim().to_lowercase();
    if values.is_empty() || values.contains(&value.as_str()) {
        return Ok(true);
    }
    let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
    Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).hint(format!("it is {}", values[0])))
}
