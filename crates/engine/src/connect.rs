//! Opening a database, and sessions on it.

use base::Result;

use crate::database::{Config, Database};
use crate::environment::Environment;
use crate::session::Session;
use crate::settings::Scope;

impl Database {
    /// An empty database.
    pub fn new(config: Config) -> Result<Self> {
        let database = Self::bare(&config)?;
        let mut first = Environment::new(database.clone());
        // The lock last: it is for those who come later.
        let (locks, others): (Vec<_>, Vec<_>) =
            config.settings.of(Scope::Database).partition(|(s, _)| s.name == "lock_configuration");
        others.into_iter().chain(locks).try_for_each(|(s, value)| first.set(s, Some(value.to_string())))?;
        Ok(database)
    }

    /// A session. Sessions are independent and may live in different threads.
    pub fn connect(&self) -> Session {
        Session::new(self.clone())
    }
}
