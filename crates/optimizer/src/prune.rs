//! What nobody needs goes: columns, computed columns, joins, sorts, duplicate eliminations and branches without rows.
//!
//! `cleanup.rs` simplifies operators from below (merged filters and maps, limits in sorts, empty inputs); `aliases.rs`
//! removes columns that only rename others; `columns.rs` then walks from the root down with the set of needed columns.

mod aliases;
mod cleanup;
mod columns;
pub(crate) mod unique;

use base::Result;
use plan::Plan;

use crate::rewrite::bottom_up;
use crate::{Check, Pass};

/// See the module.
pub struct Prune;

impl Pass for Prune {
    fn name(&self) -> &'static str {
        "prune"
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        bottom_up(plan, check, &mut cleanup::simplify)?;
        aliases::remove(plan);
        columns::prune(plan, check)?;
        bottom_up(plan, check, &mut cleanup::simplify)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
