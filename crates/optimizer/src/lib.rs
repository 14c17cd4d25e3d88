//! The optimizer: an ordered list of passes over a logical plan.
//!
//! [`optimize`] is the story. Each pass is a file (or folder) of its own whose head names its source. Passes see
//! statistics through [`catalog::Statistics`], never storage.
//!
//! Architecture invariant: a pass keeps the result of the plan, and the plan valid ([`plan::verify()`], which debug builds
//! check after each pass).

pub mod build_side;
pub mod cardinality;
pub mod distinct_aggregates;
pub mod fold;
pub mod joinorder;
pub mod prune;
pub mod pushdown;
pub mod reduce;
pub mod unnest;

#[cfg(test)]
mod oracle;
mod rewrite;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use base::Result;
use plan::Plan;

/// One step of optimisation.
pub trait Pass {
    /// What settings, EXPLAIN and observers call it.
    fn name(&self) -> &'static str;
    /// Rewrites the plan.
    fn run(&self, plan: &mut Plan) -> Result<()>;
    /// Whether execution needs it, so that it runs even if optimisation is off.
    fn is_required(&self) -> bool {
        false
    }
}

/// What of the optimizer is switched on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// False: only what execution needs (the other side of "optimised against not").
    pub optimize: bool,
    /// Names of passes that are left out.
    pub disabled: BTreeSet<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { optimize: true, disabled: BTreeSet::new() }
    }
}

/// The passes in order. Some run twice, since others make work for them.
fn passes() -> Vec<Box<dyn Pass>> {
    vec![
        Box::new(fold::Fold),
        Box::new(unnest::Unnest),
        Box::new(distinct_aggregates::DistinctAggregates),
        Box::new(fold::Fold),
        Box::new(pushdown::Pushdown),
        Box::new(prune::Prune),
        Box::new(pushdown::Pushdown),
        Box::new(reduce::Reduce),
        Box::new(fold::Fold),
        Box::new(prune::Prune),
        Box::new(build_side::BuildSides),
        Box::new(joinorder::JoinOrder::default()),
        Box::new(cardinality::Estimates),
    ]
}

/// The names of the passes, for settings.
pub fn pass_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = passes().iter().map(|p| p.name()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Optimises a plan from the binder. `observe` sees the plan after each pass, with the pass's name.
///
/// The result is unnested in any case. Errors are those of statements that cannot be unnested (0A000), and XX000 if a
/// pass broke the plan.
pub fn optimize(mut plan: Plan, settings: &Settings, observe: &mut dyn FnMut(&str, &Plan)) -> Result<Plan> {
    let mut unnested = false;
    if cfg!(debug_assertions) {
        plan::verify(&plan, false)?;
    }
    for pass in passes() {
        let wanted = settings.optimize && !settings.disabled.contains(pass.name());
        if !wanted && !pass.is_required() {
            continue;
        }
        pass.run(&mut plan)?;
        unnested |= pass.name() == "unnest";
        if cfg!(debug_assertions) {
            let name = pass.name();
            plan::verify(&plan, unnested).map_err(|e| e.detail(format!("after {name}:\n{plan}")))?;
        }
        observe(pass.name(), &plan);
    }
    Ok(plan)
}
