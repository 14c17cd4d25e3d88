//! Errors that several operations share, in PostgreSQL's words.

use base::{Error, SqlState};

/// Why a text is not a value of a type: small and without allocation, so that bulk readers can fail cheaply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bad {
    /// The text does not have the type's form.
    Syntax,
    /// The text has the form, but the value is out of the type's range.
    Range,
}

impl Bad {
    /// The error for `text` read as a value of the number or boolean type named `kind`.
    #[cold]
    pub fn number(self, kind: &str, text: &str) -> Error {
        match self {
            Self::Syntax => invalid_text(kind, text),
            Self::Range => Error::new(
                SqlState::NUMERIC_OUT_OF_RANGE,
                match kind {
                    "real" | "double precision" => format!("\"{text}\" is out of range for type {kind}"),
                    "numeric" => "value overflows numeric format".to_owned(),
                    _ => format!("value \"{text}\" is out of range for type {kind}"),
                },
            ),
        }
    }

    /// The error for `text` read as a value of the date or time type named `kind`.
    #[cold]
    pub fn datetime(self, kind: &str, text: &str) -> Error {
        match self {
            Self::Syntax => {
                Error::new(SqlState::INVALID_DATETIME, format!("invalid input syntax for type {kind}: \"{text}\""))
            }
            // SQLSTATE 22015: interval field overflow.
            Self::Range if kind == "interval" => {
                Error::new(SqlState("22015"), format!("interval field value out of range: \"{text}\""))
            }
            Self::Range => {
                Error::new(SqlState::DATETIME_OVERFLOW, format!("date/time field value out of range: \"{text}\""))
            }
        }
    }
}

/// 22P02: text that is not a value of the type named `kind`.
#[cold]
pub fn invalid_text(kind: &str, text: &str) -> Error {
    Error::new(SqlState::INVALID_TEXT, format!("invalid input syntax for type {kind}: \"{text}\""))
}

/// 22003: a result that does not fit the type named `kind`, such as `integer out of range`.
#[cold]
pub fn out_of_range(kind: &str) -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, format!("{kind} out of range"))
}

/// 22012.
#[cold]
pub fn division_by_zero() -> Error {
    Error::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

/// 22008: a date, timestamp or interval that does not fit, such as `timestamp out of range`.
#[cold]
pub fn datetime_out_of_range(kind: &str) -> Error {
    Error::new(SqlState::DATETIME_OVERFLOW, format!("{kind} out of range"))
}
