//! What joins cost: the model is a trait, as estimates matter more than it (thesis 6.5) and both can be told apart only
//! where each can be exchanged alone.

use plan::index_join::scanned_meanwhile;
use plan::{BuildSide, JoinKind};

use super::graph::Connection;

/// Costs of a tree's parts, in units of a row that a join hands on.
pub(crate) trait CostModel {
    /// Reading a leaf: `scanned` rows before its filters.
    fn leaf(&self, scanned: f64) -> f64;

    /// A join besides its inputs: `build` rows are put into a hash table, `probe` rows look up, `rows` leave.
    fn join(&self, probe: f64, build: f64, rows: f64, connection: Connection) -> f64;

    /// An index join in the place of a scan of `scanned` rows and a join with it: `build` rows are put into a hash table and looked
    /// up, which finds `found` rows, and `rows` leave.
    fn index_join(&self, build: f64, scanned: f64, found: f64, rows: f64) -> f64;

    /// What marking and finding the marked ones of so many build rows adds.
    fn marks(&self, build: f64) -> f64;
}

/// As measured: a row put into a hash table costs about four times what a probing row does, for it is materialised,
/// inserted, and ends a pipeline. Scans cost the same in every order and are left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hashing;

impl Hashing {
    const BUILD: f64 = 2.0;
    const PROBE: f64 = 0.5;
    const MARKED: f64 = 0.5;
    /// Scanning a row, which only an index join spares.
    const SCAN: f64 = 0.25;
}

impl CostModel for Hashing {
    fn leaf(&self, _: f64) -> f64 {
        0.0
    }

    fn join(&self, probe: f64, build: f64, rows: f64, connection: Connection) -> f64 {
        let pairs = if connection == Connection::Hashed { probe } else { probe * build.max(1.0) };
        Self::BUILD * build + Self::PROBE * pairs + rows
    }

    fn index_join(&self, build: f64, scanned: f64, found: f64, rows: f64) -> f64 {
        let found_each = found / build.max(1.0);
        let lookups = Self::SCAN * (scanned_meanwhile(build, found_each) - scanned);
        // What is spared of a scan is no credit for others.
        (Self::BUILD * build + lookups + Self::PROBE * found + rows).max(rows)
    }

    fn marks(&self, build: f64) -> f64 {
        Self::MARKED * build
    }
}

/// C_mm (thesis 6.5.4): a join costs the rows of its result, a scan a fifth of its rows (tau = 0.2), an index join twice what
/// is found (lambda = 2), at least a row for each that is looked up. Pairs that a nested loop compares count as rows. It
/// cannot tell a build side from a probe side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cmm;

impl Cmm {
    const TAU: f64 = 0.2;
    const LAMBDA: f64 = 2.0;
}

impl CostModel for Cmm {
    fn leaf(&self, scanned: f64) -> f64 {
        Self::TAU * scanned
    }

    fn join(&self, probe: f64, build: f64, rows: f64, connection: Connection) -> f64 {
        if connection == Connection::Hashed { rows } else { rows.max(probe * build) }
    }

    fn index_join(&self, build: f64, _: f64, found: f64, _: f64) -> f64 {
        Self::LAMBDA * found.max(build)
    }

    fn marks(&self, _: f64) -> f64 {
        0.0
    }
}

/// A left side is built on only if it is clearly the smaller one: estimates of both are uncertain, and the marker
/// costs a write at every match.
const CLEARLY_SMALLER: f64 = 0.5;

/// What a join of a kind costs, and the side to build on.
pub(crate) fn join(
    costs: &dyn CostModel,
    kind: &JoinKind,
    (left, right): (f64, f64),
    rows: f64,
    connection: Connection,
) -> (f64, BuildSide) {
    let on_right = costs.join(left, right, rows, connection);
    let on_left = match kind {
        JoinKind::Inner if left < right => costs.join(right, left, rows, connection),
        // A tie of the model goes to the smaller side.
        JoinKind::Left | JoinKind::Semi | JoinKind::Anti if left <= right * CLEARLY_SMALLER => {
            costs.join(right, left, rows, connection) + costs.marks(left)
        }
        _ => return (on_right, BuildSide::Right),
    };
    if on_left < on_right || (*kind == JoinKind::Inner && on_left == on_right) {
        (on_left, BuildSide::Left)
    } else {
        (on_right, BuildSide::Right)
    }
}
