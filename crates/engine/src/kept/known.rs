//! Texts of statements that are run again and again: cut into templates once, each with the plan by which it ran last.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Latch;
use sql::Template;
use types::{SqlType, Value};

use super::plans::{Kept, Text};
use crate::activity::cut;

/// Most texts that a session remembers.
const MOST_TEXTS: usize = 32;
/// Longer ones take longer to run than to be cut.
const LONGEST: usize = 4096;

/// The text of a statement.
pub(crate) struct KnownText {
    sql: String,
    /// As all sessions see it.
    shown: Arc<str>,
    template: Option<Template>,
    /// The plan by which it ran last.
    recent: Latch<Option<Arc<Kept>>>,
}

impl KnownText {
    /// A text; without a template there are no kept plans for it.
    pub fn new(sql: String, template: Option<Template>) -> Self {
        Self { shown: cut(&sql), sql, template, recent: Latch::default() }
    }

    pub fn sql(&self) -> &str {
        &self.sql
    }
    pub fn shown(&self) -> Arc<str> {
        self.shown.clone()
    }

    /// A statement of this text with these parameters, for kept plans; none if it can have none.
    pub fn text<'a>(&'a self, parameters: &'a [(Value, SqlType)]) -> Option<Text<'a>> {
        self.template.as_ref().map(|template| Text { sql: &self.sql, template, parameters })
    }

    /// The plan by which it ran last.
    pub fn recent(&self) -> Option<Arc<Kept>> {
        self.recent.lock().clone()
    }

    /// It runs by this plan.
    pub fn runs_by(&self, kept: &Arc<Kept>) {
        let before = self.recent.lock().replace(kept.clone());
        // Outside of the latch.
        drop(before);
    }
}

/// The texts that a session has run lately with parameters: as they have no literals that differ, they come again.
#[derive(Default)]
pub(crate) struct KnownTexts(Mutex<Vec<Arc<KnownText>>>);

impl Clone for KnownTexts {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.lock().clone()))
    }
}

impl KnownTexts {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<KnownText>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A text, which is known from now on; none if it has no template, or is long.
    pub fn of(&self, sql: &str) -> Option<Arc<KnownText>> {
        let mut known = self.lock();
        if let Some(text) = known.iter().find(|text| text.sql == sql) {
            return Some(text.clone());
        }
        let template = Template::of(sql).filter(|_| sql.len() <= LONGEST)?;
        let text = Arc::new(KnownText::new(sql.to_owned(), Some(template)));
        if known.len() == MOST_TEXTS {
            known.remove(0);
        }
        known.push(text.clone());
        Some(text)
    }
}
