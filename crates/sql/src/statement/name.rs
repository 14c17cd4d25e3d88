//! Names of tables and of what else is in a schema.

use base::{Error, Result, SqlState};
use catalog::TEMPORARY_SCHEMA;

/// A possibly qualified name of a table or view.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ObjectName {
    /// The schema, if written.
    pub schema: Option<String>,
    /// The name; in lower case unless it was quoted.
    pub name: String,
    /// Byte offset in the text.
    pub position: Option<u32>,
}

impl ObjectName {
    /// The name in the schema of what only the session sees; 42P16 if it has another.
    pub(crate) fn make_temporary(&mut self) -> Result<()> {
        if self.schema.as_deref().is_some_and(|schema| schema != TEMPORARY_SCHEMA) {
            let message = "cannot create temporary relation in non-temporary schema";
            return Err(Error::new(SqlState("42P16"), message).at(self.position));
        }
        self.schema = Some(TEMPORARY_SCHEMA.to_owned());
        Ok(())
    }
}

impl std::fmt::Display for ObjectName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}
