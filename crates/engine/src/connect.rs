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
        if let Some((_, path)) = config.settings.of(Scope::Session).find(|(s, _)| s.name == "trace") {
            let trace = first.open_trace(path)?;
            database.0.first_trace.get_or_init(|| trace);
        }
        Ok(database)
    }

    /// A session. Sessions are independent and may live in different threads.
    pub fn connect(&self) -> Session {
        Session::new(self.clone())
    }
}
