//! How the algorithms of a query run, for experiments: results are the same.

use crate::window;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How window functions are evaluated.
    pub windows: window::Settings,
    /// Whether the slots of joins' directories tell most misses apart by tags (thesis 4.5.2). Without, a probe walks the chain
    /// of any slot that has one.
    pub join_tags: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { windows: window::Settings::default(), join_tags: true }
    }
}
