//! Cardinality estimation: how many rows each operator produces (Leis, thesis chapter 6).
//!
//! - Scans try all their predicates together on the table's sample (`sample.rs`), so correlated predicates need no
//!   independence assumption; where no sample row qualifies, and everywhere else, textbook selectivities combined with
//!   exponential back-off stand in (`selectivity.rs`).
//! - Joins assume that the smaller key domain is contained in the larger one (`join.rs`).
//!
//! A column is made by one operator, so what is known of it is kept once, by id, as of where it was made; an operator
//! above only adds its number of rows ([`Estimator::distinct_at`]). Deterministic: the same plan and statistics give
//! the same estimates.

mod join;
mod operator;
mod pieces;
mod sample;
mod scan;
mod selectivity;

pub(crate) use join::equality;

use base::{IdMap, Result};
use plan::{ColumnId, Cte, CteId, Node, Op, Plan, TableId, TableInfo};

use crate::{Check, Pass};

/// Fills in the estimates that are missing: `Node::rows` of every operator, also in common table expressions.
pub struct Estimates;

impl Pass for Estimates {
    fn name(&self) -> &'static str {
        "estimates"
    }

    fn run(&self, plan: &mut Plan, _: Check<'_>) -> Result<()> {
        estimate(plan);
        Ok(())
    }
}

/// Estimates every operator that is not estimated yet.
pub fn estimate(plan: &mut Plan) {
    let missing = |node: &Node| {
        let mut missing = false;
        node.walk(&mut |n| missing |= n.rows.is_nan());
        missing
    };
    if !missing(&plan.root) && !plan.ctes.values().any(|c| missing(&c.plan)) {
        return;
    }
    let Plan { columns, tables, ctes, root, .. } = plan;
    Estimator::of_all(tables, columns.len(), (ctes, root));
}

/// What is known of a column where it is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnProfile {
    /// Distinct values that the column ranges over, as far as its own predicates leave them: predicates on other columns
    /// take rows away but not values of the domain, which is what joins are estimated with.
    pub domain: f64,
    /// Distinct values among the `rows` rows.
    pub distinct: f64,
    /// Rows of the operator that made it.
    pub rows: f64,
    /// Fraction of NULLs.
    pub nulls: f64,
    /// Bounds, for types that have a place on the number line.
    pub range: Option<(f64, f64)>,
    /// Of whole numbers, the bounds of those in sampled rows that predicates on other columns leave.
    pub seen: Option<(f64, f64)>,
}

impl ColumnProfile {
    /// Nothing known but the number of rows.
    pub fn unknown(rows: f64) -> Self {
        let distinct = (rows / 10.0).clamp(200f64.min(rows), rows).max(1.0);
        Self { domain: distinct, distinct, rows, nulls: 0.0, range: None, seen: None }
    }
}

/// A set of columns whose values are unique in an operator's result, and how many values there were before filters.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub columns: Vec<ColumnId>,
    pub domain: f64,
}

/// What is known of an operator's result, besides its columns.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub rows: f64,
    pub keys: Vec<Key>,
}

impl Profile {
    pub fn new(rows: f64) -> Self {
        Self { rows, keys: Vec::new() }
    }
}

/// Estimates operators bottom-up.
pub(crate) struct Estimator<'a> {
    tables: &'a IdMap<TableId, TableInfo>,
    columns: Vec<Option<ColumnProfile>>,
    ctes: Vec<(CteId, Profile)>,
}

impl<'a> Estimator<'a> {
    pub fn new(tables: &'a IdMap<TableId, TableInfo>, columns: usize) -> Self {
        Self { tables, columns: vec![None; columns], ctes: Vec::new() }
    }

    /// With all definitions and the query estimated.
    pub fn of_all(
        tables: &'a IdMap<TableId, TableInfo>,
        columns: usize,
        (ctes, root): (&mut IdMap<CteId, Cte>, &mut Node),
    ) -> Self {
        let mut estimator = Self::new(tables, columns);
        for (id, cte) in ctes.iter_mut() {
            let profile = estimator.annotate(&mut cte.plan);
            estimator.define_cte(id, profile);
        }
        estimator.annotate(root);
        estimator
    }

    /// Estimates the node and all below it. Estimates that are there already stand.
    pub fn annotate(&mut self, node: &mut Node) -> Profile {
        let begun = self.begin_recursion(node);
        let mut inputs: Vec<Profile> = Vec::new();
        for input in node.inputs_mut() {
            let profile = self.annotate(input);
            if let (Some(recursion), []) = (&begun, inputs.as_slice()) {
                self.begin_rounds(recursion, &profile);
            }
            inputs.push(profile);
        }
        let mut profile = self.operator(node, &inputs);
        if node.rows.is_nan() {
            node.rows = profile.rows;
        } else {
            profile.rows = node.rows;
        }
        profile
    }

    /// Remembers the result of a common table expression for its readers.
    pub fn define_cte(&mut self, id: CteId, profile: Profile) {
        self.ctes.retain(|(known, _)| *known != id);
        self.ctes.push((id, profile));
    }

    /// The expression that the node defines, if that is a recursion, and its columns.
    pub fn begin_recursion(&self, node: &Node) -> Option<(CteId, Vec<ColumnId>)> {
        match &node.op {
            Op::Recursion { cte, columns, .. } => Some((*cte, columns.clone())),
            _ => None,
        }
    }

    /// The first term of a recursion is estimated: a round is expected to read as many rows. Of values that rounds come to,
    /// nothing is known.
    pub fn begin_rounds(&mut self, (cte, columns): &(CteId, Vec<ColumnId>), first: &Profile) {
        for &column in columns {
            self.set_column(column, ColumnProfile::unknown(first.rows.max(1000.0)));
        }
        self.define_cte(*cte, Profile::new(first.rows));
    }

    /// What is known of a column as of where it was made.
    pub fn column(&self, column: ColumnId) -> ColumnProfile {
        use base::ids::Id;
        self.columns.get(column.index()).copied().flatten().unwrap_or(ColumnProfile::unknown(1000.0))
    }

    pub fn set_column(&mut self, column: ColumnId, profile: ColumnProfile) {
        use base::ids::Id;
        if column.index() >= self.columns.len() {
            self.columns.resize(column.index() + 1, None);
        }
        self.columns[column.index()] = Some(profile);
    }

    /// Distinct values of a column in a result of `rows` rows.
    pub fn distinct_at(&self, column: ColumnId, rows: f64) -> f64 {
        let known = self.column(column);
        drawn(known.distinct, known.rows, rows)
    }
}

/// Expected distinct values among `rows` of `all` rows that have `distinct` of them (Cardenas' formula).
pub(crate) fn drawn(distinct: f64, all: f64, rows: f64) -> f64 {
    if rows >= all || distinct <= 1.0 {
        return distinct.min(rows).max(1.0);
    }
    (distinct * (1.0 - (1.0 - rows / all).powf(all / distinct))).min(rows).max(1.0)
}

/// The product of numbers that are probably correlated: each next one counts with half of the exponent of the one
/// before, the most telling first (selectivities ascending, distinct counts descending).
pub(crate) fn back_off(sorted: impl IntoIterator<Item = f64>) -> f64 {
    let mut exponent = 1.0;
    let mut product = 1.0;
    for factor in sorted {
        product *= factor.powf(exponent);
        exponent /= 2.0;
    }
    product
}

#[cfg(test)]
pub(crate) mod synthetic;
#[cfg(test)]
mod tests;
