//! What is done to a plan before its calls are computed, so that there are few of them (decision 51).

use base::Result;
use optimizer::Pass;
use optimizer::computed::Computed;
use optimizer::pushdown::Pushdown;
use optimizer::unnest::Unnest;
use plan::Plan;

use crate::environment::Environment;

/// Takes the first steps of optimising a bound plan: subqueries become joins, rows that nobody asks for go, and what indexes have
/// computed stands for itself.
pub(super) fn begin_optimizing(environment: &Environment, plan: &mut Plan) -> Result<()> {
    let cancel = environment.call.token();
    let passes: [&dyn Pass; 3] = [&Unnest, &Pushdown, &Computed];
    passes.iter().try_for_each(|pass| pass.run(plan, &|| cancel.check()))
}
