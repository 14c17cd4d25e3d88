//! Groups before joins: where a grouping aggregates columns of one side of joins by columns of the others, that side is grouped
//! first, by what the joins and the groups need of it, and its few groups are joined and grouped again. Yan and Larson, *Eager
//! Aggregation and Lazy Aggregation* (VLDB 1995), their eager group-by; the final grouping always stays, so nothing need be known
//! of keys.
//!
//! `SELECT i_brand, sum(price) FROM sales JOIN item ... GROUP BY i_brand` joins a row for each item with its sum, and not each
//! sale: what it saves are lookups and groups by texts. `GROUP BY strftime(day, '%Y-%m')` is the same without a join: the rows are
//! grouped by their days, and the months of these are grouped again. Where it does not matter how often a row is there, as to `max`, rows
//! are made distinct instead ([`duplicates`]).
//!
//! Invariant: results and errors are those of the plan before. Only aggregates whose groups add up exactly are taken apart
//! ([`parts`]), what is evaluated below a join cannot fail ([`sure`]), and keys are of types whose equal values are the same.

mod cost;
mod duplicates;
mod parts;
mod sure;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use base::{IdMap, Result};
use plan::{AggregateCall, ColumnId, ColumnInfo, Expr, JoinKind, Node, Op, Plan};
use types::SqlType;

use crate::cardinality::Estimator;
use crate::rewrite::{column, fresh_like, map, take};
use crate::{Check, Pass};
use cost::Costs;
use parts::Parts;
pub(crate) use sure::is_sure;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct EagerGroups(pub When);

/// When groups are made before joins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// Where it is estimated to pay.
    #[default]
    Worthwhile,
    /// Wherever it can be done, for tests.
    Always,
}

impl When {
    /// All, by the names that people call them.
    pub const ALL: [(&str, Self); 2] = [("worthwhile", Self::Worthwhile), ("always", Self::Always)];

    /// Of fewer rows no groups are made before.
    fn least_rows(self) -> f64 {
        if self == Self::Always { 0.0 } else { 100_000.0 }
    }
}

impl Pass for EagerGroups {
    fn name(&self) -> &'static str {
        "eager_groups"
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        let mut is_there = false;
        let mut look = |node: &Node| node.walk(&mut |n| is_there |= self.adds_up(n) || self.ignores_duplicates(n));
        plan.ctes.values().for_each(|cte| look(&cte.plan));
        look(&plan.root);
        if !is_there {
            return Ok(());
        }
        let Plan { columns, tables, ctes, root, .. } = plan;
        let estimator = Estimator::of_all(tables, columns.len(), (&mut *ctes, &mut *root));
        let mut rewriting = Rewriting { pass: *self, columns, estimator };
        for (_, cte) in ctes.iter_mut() {
            cte.plan = rewriting.node(take(&mut cte.plan), check)?;
        }
        *root = rewriting.node(take(root), check)?;
        Ok(())
    }
}

impl EagerGroups {
    /// Whether a grouping is of so many rows that others may be made before, and its aggregates add up.
    fn adds_up(&self, node: &Node) -> bool {
        match &node.op {
            // Without groups there is a row for no input, which no part would say.
            Op::Aggregate { input, groups, aggregates } => {
                let adds_up = |(_, call): &(ColumnId, AggregateCall)| parts::adds_up(call);
                !groups.is_empty() && self.is_large(input) && aggregates.iter().all(adds_up)
            }
            _ => false,
        }
    }

    fn is_large(&self, input: &Node) -> bool {
        input.rows.is_nan() || input.rows >= self.0.least_rows()
    }
}

type Calls = Vec<(ColumnId, AggregateCall)>;
type Keys = Vec<(ColumnId, Expr)>;

struct Rewriting<'p> {
    pass: EagerGroups,
    columns: &'p mut IdMap<ColumnId, ColumnInfo>,
    estimator: Estimator<'p>,
}

/// Where to group first.
struct Place {
    /// The way down from the grouping: of each operator on it, which input goes on.
    way: Vec<usize>,
    /// By these columns.
    keys: Vec<ColumnId>,
    /// What is aggregated there.
    calls: Calls,
    /// The columns that the operators above need, whoever makes them.
    above: BTreeSet<ColumnId>,
    /// Estimated.
    groups: f64,
    saved: f64,
}

impl Rewriting<'_> {
    fn node(&mut self, mut node: Node, check: Check<'_>) -> Result<Node> {
        check()?;
        for input in node.inputs_mut() {
            *input = self.node(take(input), check)?;
        }
        let place = if self.pass.adds_up(&node) { self.place(&node) } else { None };
        let Some(place) = place else { return Ok(self.without_duplicates(node)) };
        let rows = node.rows;
        let Op::Aggregate { input, groups, aggregates } = node.op else { return Ok(node) };
        Ok(self.split(*input, (groups, aggregates), place, rows))
    }

    /// The best place, if one pays.
    fn place(&self, grouping: &Node) -> Option<Place> {
        let Op::Aggregate { input, groups, aggregates } = &grouping.op else { return None };
        let mut calls = aggregates.clone();
        let mut above: BTreeSet<ColumnId> = groups.iter().flat_map(|(_, key)| key.columns()).collect();
        let of_keys: Vec<SqlType> = groups.iter().map(|(_, key)| key.sql_type).collect();
        let mut costs = Costs::new(input.rows, cost::of_group(&of_keys, grouping.rows));
        let mut best: Option<Place> = None;
        let (mut node, mut way) = (&**input, Vec::new());
        let is_steady = |expr: &Expr| !expr.is_volatile();
        if !grouping.expressions().all(is_steady) {
            return None;
        }
        let are_sure = |calls: &Calls| calls.iter().flat_map(|(_, call)| call.expressions()).all(sure::is_sure);
        let of_keys: f64 = groups.iter().map(|(_, key)| cost::of_expression(key)).sum();
        if of_keys > 0.0 && are_sure(&calls) {
            costs.compute(input.rows, of_keys);
            best = self.at(input, &[], &calls, &above, &costs);
        }
        // What is another value for each row is not for a group.
        while node.expressions().all(is_steady) {
            let (mut is_place, mut next) = (false, 0);
            node = match &node.op {
                Op::Filter { input, predicates } => {
                    predicates.iter().for_each(|p| above.extend(p.columns()));
                    input
                }
                Op::Map { input, columns } => {
                    // What is aggregated is computed below, what others need where it was.
                    let of = |c: ColumnId| columns.iter().find(|(own, _)| *own == c).map(|(_, expr)| expr.clone());
                    calls
                        .iter_mut()
                        .flat_map(|(_, call)| call.expressions_mut())
                        .for_each(|e| e.substitute(&mut |c| of(c)));
                    let needed: Vec<&Expr> =
                        columns.iter().filter(|(own, _)| above.contains(own)).map(|(_, expr)| expr).collect();
                    let of_needed: f64 = needed.iter().map(|expr| cost::of_expression(expr)).sum();
                    costs.compute(input.rows, of_needed);
                    is_place = of_needed > 0.0;
                    above.extend(needed.iter().flat_map(|expr| expr.columns()));
                    input
                }
                Op::Join { kind, left, right, condition, .. } => {
                    let Some(is_left) = side(kind, left, right, &calls) else { break };
                    let (own, other) = if is_left { (left, right) } else { (right, left) };
                    condition.iter().for_each(|c| above.extend(c.columns()));
                    costs.join(own.rows, other.rows);
                    (is_place, next) = (true, usize::from(!is_left));
                    own
                }
                _ => break,
            };
            way.push(next);
            if !are_sure(&calls) {
                break;
            }
            if is_place && let Some(place) = self.at(node, &way, &calls, &above, &costs) {
                best = best.filter(|best| best.saved >= place.saved).or(Some(place));
            }
        }
        best
    }

    /// To group what the node gives, if that pays.
    fn at(
        &self,
        node: &Node,
        way: &[usize],
        calls: &[(ColumnId, AggregateCall)],
        above: &BTreeSet<ColumnId>,
        costs: &Costs,
    ) -> Option<Place> {
        // They are grouped already.
        if matches!(node.op, Op::Aggregate { .. } | Op::Distinct { .. }) || node.rows < self.pass.0.least_rows() {
            return None;
        }
        let keys: Vec<ColumnId> = node.columns().into_iter().filter(|c| above.contains(c)).collect();
        let types: Vec<SqlType> = keys.iter().map(|&key| self.columns[key].sql_type).collect();
        if keys.is_empty() || !types.iter().all(|of| of.equality_is_identity()) {
            return None;
        }
        // Not damped as elsewhere: too many groups cost more than too few rows save.
        let distinct = keys.iter().map(|&key| self.estimator.distinct_at(key, node.rows));
        let groups = distinct.product::<f64>().clamp(1.0, node.rows.max(1.0));
        let saved = costs.saved(node.rows, groups, cost::of_group(&types, groups), self.pass.0)?;
        Some(Place { way: way.to_vec(), keys, calls: calls.to_vec(), above: above.clone(), groups, saved })
    }

    /// The grouping, over one in its place.
    fn split(&mut self, input: Node, (mut groups, aggregates): (Keys, Calls), place: Place, rows: f64) -> Node {
        let names: HashMap<ColumnId, ColumnId> =
            place.keys.iter().map(|&key| (key, fresh_like(self.columns, key))).collect();
        let mut parts = Parts::new(&names);
        for ((result, original), (_, below)) in aggregates.into_iter().zip(place.calls.iter()) {
            parts.add(self.columns, result, original, below);
        }
        let Parts { below, combined, results, .. } = parts;
        let input = self.below(input, &place, &names, below, &place.way);
        groups.iter_mut().for_each(|(_, key)| key.rename(&names));
        let grouping = Op::Aggregate { input: Box::new(input), groups, aggregates: combined };
        let mut node = map(Node { op: grouping, rows }, results);
        node.rows = rows;
        node
    }

    /// The operators below the grouping, down to the place.
    fn below(
        &mut self,
        mut node: Node,
        place: &Place,
        names: &HashMap<ColumnId, ColumnId>,
        parts: Calls,
        way: &[usize],
    ) -> Node {
        let [next, way @ ..] = way else {
            let keys = place.keys.iter().map(|&key| (names[&key], column(self.columns, key))).collect();
            let grouping = Op::Aggregate { input: Box::new(node), groups: keys, aggregates: parts };
            return Node { op: grouping, rows: place.groups };
        };
        // Its own expressions, before those below have other names.
        node.expressions_mut().for_each(|expr| expr.rename(names));
        if let Op::Map { columns, .. } = &mut node.op {
            columns.retain(|(own, _)| place.above.contains(own));
        }
        let Some(input) = node.inputs_mut().nth(*next) else { return node };
        let before = input.rows;
        *input = self.below(take(input), place, names, parts, way);
        node.rows *= (input.rows / before).clamp(0.0, 1.0);
        node
    }
}

/// Whether all that is aggregated is of a join's left side, or of its right one; of neither, it is the larger one. None: rows of
/// neither side can be grouped before.
fn side(kind: &JoinKind, left: &Node, right: &Node, calls: &[(ColumnId, AggregateCall)]) -> Option<bool> {
    let mut used = calls.iter().flat_map(|(_, call)| call.expressions()).flat_map(Expr::columns).peekable();
    let is_inner = *kind == JoinKind::Inner;
    if !is_inner && !matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti) {
        return None;
    }
    if used.peek().is_none() {
        return Some(!is_inner || left.rows >= right.rows);
    }
    let used: Vec<ColumnId> = used.collect();
    let is_of = |node: &Node| {
        let columns = node.columns();
        used.iter().all(|c| columns.contains(c))
    };
    if is_of(left) {
        return Some(true);
    }
    (is_inner && is_of(right)).then_some(false)
}
