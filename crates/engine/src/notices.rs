//! What statements tell besides their results: RAISE NOTICE and its like.

use std::sync::{Arc, Mutex, PoisonError};

use base::SqlState;

/// Most notices that wait for a client.
const MOST: usize = 10_000;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `DEBUG`, `LOG`, `INFO`, `NOTICE` or `WARNING`.
    pub level: &'static str,
    /// Its SQLSTATE.
    pub state: SqlState,
    /// What it says.
    pub message: String,
    /// Particulars, if any.
    pub detail: Option<String>,
    /// Advice, if any.
    pub hint: Option<String>,
}

impl Notice {
    /// Whether a client hears of it that wants messages from a level on (`client_min_messages`): INFO is for everybody.
    pub(crate) fn is_heard(&self, from: &str) -> bool {
        const LEVELS: [&str; 5] = ["debug", "log", "notice", "warning", "error"];
        let rank = |level: &str| LEVELS.iter().position(|known| level.to_lowercase().starts_with(known)).unwrap_or(2);
        self.level == "INFO" || rank(self.level) >= rank(from)
    }
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:  {}", self.level, self.message)?;
        self.detail.iter().try_for_each(|detail| write!(f, "\nDETAIL:  {detail}"))?;
        self.hint.iter().try_for_each(|hint| write!(f, "\nHINT:  {hint}"))
    }
}

/// The messages of a session that its client has not taken yet: of too many the first ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notices(Arc<Mutex<Vec<Notice>>>);

impl Notices {
    pub fn push(&self, notice: Notice) {
        let mut all = self.lock();
        if all.len() < MOST {
            all.push(notice);
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Forgets those behind the first `count`: of what did not happen.
    pub fn truncate(&self, count: usize) {
        self.lock().truncate(count);
    }

    pub fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Notice>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
