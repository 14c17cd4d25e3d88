//! The optimizer: an ordered list of passes over a logical plan.
//!
//! [`optimize`] is the story. Each pass is a file (or folder) of its own whose head names its source. Passes see
//! statistics through [`catalog::Statistics`], never storage.
//!
//! Architecture invariant: a pass keeps the result of the plan, and the plan valid ([`plan::verify()`], which debug builds
//! check after each pass).

pub mod build_side;
pub mod cardinality;
pub mod common;
pub mod computed;
pub mod distinct_aggregates;
pub mod eager;
pub mod existence;
pub mod extremes;
pub mod first_elements;
pub mod first_groups;
pub mod first_rows;
pub mod fold;
pub mod joinorder;
pub mod late_averages;
pub mod modes;
pub mod prune;
pub mod pushdown;
pub mod reduce;
pub mod set_operations;
pub mod unnest;
pub mod windows;

mod averages;
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

pub use eager::When;
pub use joinorder::KnownRows;

/// Asks whether to go on: an error if the statement is to end.
pub type Check<'a> = &'a dyn Fn() -> Result<()>;

/// One step of optimisation.
pub trait Pass {
    /// What settings, EXPLAIN and observers call it.
    fn name(&self) -> &'static str;
    /// Rewrites the plan. What may take more than some milliseconds asks `check` now and then whether it shall go on.
    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()>;
    /// Whether execution needs it, so that it runs even if optimisation is off.
    fn is_required(&self) -> bool {
        false
    }
}

/// What of the optimizer is switched on.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// False: only what execution needs (the other side of "optimised against not").
    pub optimize: bool,
    /// Names of passes that are left out.
    pub disabled: BTreeSet<String>,
    /// What values join orders.
    pub costs: Costs,
    /// Which join orders are looked at.
    pub search: Search,
    /// When groups are made before joins.
    pub eager_groups: When,
    /// Sizes of joins that are known better than by estimates.
    pub known: KnownRows,
}

/// The cost models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Costs {
    /// Rows that joins hand on, put into hash tables and look up, as measured.
    #[default]
    Hashing,
    /// C_mm: rows that joins hand on.
    Cmm,
}

impl Costs {
    /// All, by the names that people call them.
    pub const ALL: [(&str, Self); 2] = [("hashing", Self::Hashing), ("cmm", Self::Cmm)];

    fn model(self) -> &'static dyn joinorder::cost::CostModel {
        match self {
            Self::Hashing => &joinorder::cost::Hashing,
            Self::Cmm => &joinorder::cost::Cmm,
        }
    }
}

/// The ways to enumerate join orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// All orders without cross products, where that is worth its time.
    #[default]
    Exhaustive,
    /// One, by Greedy Operator Ordering.
    Greedy,
}

impl Search {
    /// All, by the names that people call them.
    pub const ALL: [(&str, Self); 2] = [("exhaustive", Self::Exhaustive), ("greedy", Self::Greedy)];
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            optimize: true,
            disabled: BTreeSet::new(),
            costs: Costs::default(),
            search: Search::default(),
            eager_groups: When::default(),
            known: KnownRows::default(),
        }
    }
}

/// The passes in order. Some run twice, since others make work for them.
fn passes(settings: &Settings) -> Vec<Box<dyn Pass>> {
    let costs = settings.costs.model();
    let search: Box<dyn joinorder::search::Enumerator> = match settings.search {
        Search::Exhaustive => Box::new(joinorder::search::Exhaustive::default()),
        Search::Greedy => Box::new(joinorder::search::Greedy),
    };
    vec![
        Box::new(fold::Fold),
        Box::new(unnest::Unnest),
        Box::new(first_elements::FirstElements),
        Box::new(distinct_aggregates::DistinctAggregates),
        Box::new(modes::Modes),
        Box::new(fold::Fold),
        Box::new(pushdown::Pushdown),
        Box::new(computed::Computed),
        Box::new(prune::Prune),
        Box::new(windows::Windows),
        Box::new(first_rows::FirstRows),
        Box::new(pushdown::Pushdown),
        Box::new(reduce::Reduce),
        Box::new(fold::Fold),
        Box::new(prune::Prune),
        Box::new(existence::Existence { always: settings.eager_groups == When::Always }),
        Box::new(extremes::Extremes),
        Box::new(joinorder::JoinOrder { costs, search, known: settings.known.clone() }),
        Box::new(cardinality::Estimates),
        Box::new(first_groups::FirstGroups(settings.eager_groups)),
        Box::new(eager::EagerGroups(settings.eager_groups)),
        Box::new(late_averages::LateAverages),
        Box::new(common::CommonSubplans { always: settings.eager_groups == When::Always }),
        Box::new(set_operations::SetOperations),
        Box::new(build_side::BuildSides { costs }),
    ]
}

/// The names of the passes, for settings.
pub fn pass_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = passes(&Settings::default()).iter().map(|p| p.name()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Optimises a plan from the binder. `observe` sees the plan after each pass, with the pass's name.
///
/// The result is unnested in any case. Errors are those of statements that cannot be unnested (0A000), those of `check`,
/// which is asked between passes and inside of those that take long, and XX000 if a pass broke the plan.
pub fn optimize(
    mut plan: Plan,
    settings: &Settings,
    check: Check<'_>,
    observe: &mut dyn FnMut(&str, &Plan),
) -> Result<Plan> {
    let mut unnested = false;
    if cfg!(debug_assertions) {
        plan::verify(&plan, false)?;
    }
    for pass in passes(settings) {
        let wanted = settings.optimize && !settings.disabled.contains(pass.name());
        if !wanted && !pass.is_required() {
            continue;
        }
        check()?;
        pass.run(&mut plan, check)?;
        unnested |= pass.name() == "unnest";
        if cfg!(debug_assertions) {
            let name = pass.name();
            plan::verify(&plan, unnested).map_err(|e| e.detail(format!("after {name}:\n{plan}")))?;
        }
        observe(pass.name(), &plan);
    }
    Ok(plan)
}
