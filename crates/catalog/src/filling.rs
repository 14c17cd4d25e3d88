//! What a table says of the rows that are written into it, besides their types: what fills a column, and what must hold.
//!
//! Expressions are kept as text and bound by each statement that writes: what `now()` or a function means is that
//! statement's.

use std::sync::Arc;

use functions::Sequence;
use types::ops::cast::format_value;
use types::{SqlType, Value};

/// What a column holds that INSERT does not name, or gives DEFAULT.
#[derive(Clone, Debug, PartialEq)]
pub enum Filling {
    /// A constant; NULL without a DEFAULT.
    Value(Value),
    /// An expression without columns, which is evaluated for each row.
    Expression(String),
    /// GENERATED ALWAYS AS (...) STORED: an expression of the row's other columns. Nothing else may be written.
    Generated(String),
    /// The next value of a sequence.
    Next(Arc<Sequence>),
    /// GENERATED AS IDENTITY: the next value of a sequence of its own.
    Identity {
        /// Whether nothing else may be written, unless the statement insists.
        always: bool,
        /// Its sequence.
        sequence: Arc<Sequence>,
    },
}

impl Filling {
    /// NULL.
    pub const NULL: Self = Self::Value(Value::Null);

    /// How SQL writes the default or the generation of a column of that type; none if it has none.
    pub fn sql(&self, sql_type: SqlType) -> Option<String> {
        match self {
            Self::Value(Value::Null) => None,
            Self::Value(value) => {
                let text = format_value(value, sql_type);
                let bare = matches!(value, Value::Int(_) | Value::Decimal(_) | Value::Bool(_));
                Some(if bare { text } else { format!("'{}'", text.replace('\'', "''")) })
            }
            Self::Expression(sql) | Self::Generated(sql) => Some(sql.clone()),
            Self::Next(sequence) => Some(format!("nextval('{}'::regclass)", sequence.name().replace('\'', "''"))),
            Self::Identity { .. } => None,
        }
    }

    /// The sequence whose next value it is.
    pub fn sequence(&self) -> Option<&Arc<Sequence>> {
        match self {
            Self::Next(sequence) | Self::Identity { sequence, .. } => Some(sequence),
            _ => None,
        }
    }

    /// Whether it is computed of the row's other columns.
    pub fn is_generated(&self) -> bool {
        matches!(self, Self::Generated(_))
    }
}

/// A CHECK constraint: no row may make it false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name, one of its table's.
    pub name: String,
    /// The condition.
    pub sql: String,
}

/// What an index is of besides columns: an attribute that no statement names. Its name says what it is of, as error messages
/// show that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computed {
    /// An expression of the row's columns. None: the index is gone, and rows get NULL until all are written anew.
    pub sql: Option<String>,
}
