//! The cost function: C_mm (thesis 6.5.4), which counts tuples, with the build side of a hash join told apart.
//!
//! Scans cost the same in every order and are left out (their discount is the thesis's tau = 0.2). There |T| alone stands
//! for a hash join; here a row put into a hash table costs about four times what a probing row does, as measured: it is
//! materialised, inserted, and ends a pipeline. Index joins (lambda = 2) come with indexes.

use plan::{BuildSide, JoinKind};

use super::graph::{Connection, Extender, Graph};
use super::relations::Relations;

const BUILD: f64 = 2.0;
const PROBE: f64 = 0.5;
/// Finding the marked rows of a build side, a row.
const MARKED: f64 = 0.5;
/// A left side is built on only if it is clearly the smaller one: estimates of both are uncertain, and the marker
/// costs a write at every match.
const CLEARLY_SMALLER: f64 = 0.5;

/// A plan of a set of leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree {
    pub set: Relations,
    pub rows: f64,
    pub cost: f64,
    /// The left (probing or outer) and the right input.
    pub inputs: Option<(Relations, Relations)>,
    pub build: BuildSide,
}

impl Tree {
    pub fn leaf(graph: &Graph, leaf: usize) -> Self {
        let rows = graph.leaves[leaf].rows;
        Self { set: Relations::single(leaf), rows, cost: 0.0, inputs: None, build: BuildSide::Right }
    }

    /// The join of two trees, if the result has `rows` rows. None where an extender does not allow it.
    pub fn join(graph: &Graph, a: &Self, b: &Self, connection: Connection, rows: f64) -> Option<Self> {
        let (mut left, mut right) = (a, b);
        if extender(graph, left).is_some_and(|e| !left.set.covers(e.needs)) {
            (left, right) = (right, left);
        }
        if extender(graph, left).is_some_and(|e| !left.set.covers(e.needs)) {
            return None;
        }
        let extends = extender(graph, right);
        if extends.is_some_and(|e| !left.set.covers(e.needs)) {
            return None;
        }
        let (cost, build) = match extends {
            Some(extender) => kept(&extender.kind, left.rows, right.rows, connection),
            None => {
                if left.rows < right.rows || left.rows == right.rows && left.set > right.set {
                    (left, right) = (right, left);
                }
                (matching(left.rows, right.rows, connection), BuildSide::Right)
            }
        };
        let cost = a.cost + b.cost + cost + rows;
        Some(Self { set: a.set | b.set, rows, cost, inputs: Some((left.set, right.set)), build })
    }
}

/// The extender that a tree consists of.
fn extender<'g>(graph: &'g Graph, tree: &Tree) -> Option<&'g Extender> {
    if tree.inputs.is_some() { None } else { graph.leaves[tree.set.lowest()].extender.as_ref() }
}

/// What an inner join costs besides its result.
fn matching(probe: f64, build: f64, connection: Connection) -> f64 {
    match connection {
        Connection::Hashed => BUILD * build + PROBE * probe,
        _ => BUILD * build + PROBE * probe * build.max(1.0),
    }
}

/// What a join that keeps its left side costs besides its result, and the side to build on.
pub(super) fn kept(kind: &JoinKind, left: f64, right: f64, connection: Connection) -> (f64, BuildSide) {
    let on_right = matching(left, right, connection);
    let markers = matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti);
    if !markers || left > right * CLEARLY_SMALLER {
        return (on_right, BuildSide::Right);
    }
    let on_left = matching(right, left, connection) + MARKED * left;
    if on_left < on_right { (on_left, BuildSide::Left) } else { (on_right, BuildSide::Right) }
}
