//! The error of a row that must not be written, as a call in the plan that fails: its state and message, what it is about, and
//! the row itself.

use base::{SqlState, about_as_text};
use catalog::DEFAULT_SCHEMA;
use functions::ScalarFunction;
use plan::{Expr, ExprKind};
use types::{SqlType, Value};

use crate::ObjectName;

/// See the module.
#[derive(Clone, Default)]
pub(super) struct Refusal {
    message: String,
    /// Items of diagnostics, and the names that they are.
    about: Vec<(&'static str, String)>,
    row: Vec<Expr>,
    /// The names of the key of partitions, if the row is shown by that alone.
    key: Option<String>,
}

impl Refusal {
    /// What is wrong, for people.
    pub fn saying(self, message: impl Into<String>) -> Self {
        Self { message: message.into(), ..self }
    }

    /// The name of what it is about, for programs.
    pub fn about(mut self, item: &'static str, name: &str) -> Self {
        self.about.push((item, name.to_owned()));
        self
    }

    /// The table that it is about.
    pub fn about_table(self, table: &ObjectName) -> Self {
        let schema = table.schema.as_deref().unwrap_or(DEFAULT_SCHEMA);
        self.about("schema_name", schema).about("table_name", &table.name)
    }

    /// The values of the row as texts, which are shown.
    pub fn showing(self, row: Vec<Expr>) -> Self {
        Self { row, ..self }
    }

    /// The names and values of the key of partitions, which are shown instead of the row.
    pub fn showing_key(self, names: String, values: Vec<Expr>) -> Self {
        Self { row: values, key: Some(names), ..self }
    }

    /// The call that fails.
    pub fn with(self, state: SqlState) -> Expr {
        let text = |text: &str| Expr::constant(Value::str(text), SqlType::Text);
        let key = self.key.map(|names| ("partition_key", names));
        let about = about_as_text(&self.about.into_iter().chain(key).collect::<Vec<_>>());
        let arguments = [text(state.0), text(&self.message), text(&about)].into_iter().chain(self.row).collect();
        Expr::new(ExprKind::Call(ScalarFunction::REFUSE_ROW, arguments), SqlType::Bool)
    }
}
