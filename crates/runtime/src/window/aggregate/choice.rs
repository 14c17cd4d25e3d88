//! Which algorithm, from the frame's structure alone (thesis 5.4.3): one that follows frames only where that cannot become
//! quadratic, else the segment tree.

use plan::{FrameBound, FrameExclusion, FrameUnit};

use crate::window::Operand;
use crate::window::frame::Frames;

/// How frames are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Each from its rows.
    Naive,
    /// While they grow, from the frame before.
    Cumulative,
    /// From the frame before, by adding and taking away.
    Removable,
    /// Each from the nodes of a tree.
    SegmentTree,
}

impl Algorithm {
    /// What they are called in settings.
    pub const ALL: [(&'static str, Option<Self>); 5] = [
        ("auto", None),
        ("naive", Some(Self::Naive)),
        ("cumulative", Some(Self::Cumulative)),
        ("removable", Some(Self::Removable)),
        ("tree", Some(Self::SegmentTree)),
    ];
}

/// An algorithm and what goes with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) algorithm: Algorithm,
    /// From the last row to the first, as frames grow that way.
    pub(super) backward: bool,
    /// Whether something is excluded, so that there are two ranges to follow.
    pub(super) excludes: bool,
    /// Whether frames hold of each value that occurs in them the last occurrence in the partition (or the first).
    pub(super) outermost: Option<bool>,
    /// Whether frames have so few rows that they need no tree.
    short: bool,
}

/// Up to so many rows need no tree to begin with.
const SHORT: u64 = 2048;
/// Rows under a node of a tree that is asked for the first row of a range only.
const COARSE: usize = 1024;

impl Choice {
    /// The choice for frames; `forced`: for these, whatever the cost.
    pub(super) fn new(frames: &Frames, removable: bool, forced: Option<Algorithm>) -> Self {
        let frame = &frames.frame;
        let [start_moves, end_moves] = frames.moves_on();
        let excludes = frame.exclude != FrameExclusion::NoOthers;
        let from_first = matches!(frame.start, FrameBound::UnboundedPreceding);
        let to_last = matches!(frame.end, FrameBound::UnboundedFollowing);
        let (algorithm, backward) = match () {
            () if !excludes && from_first && end_moves => (Algorithm::Cumulative, false),
            () if !excludes && to_last && start_moves => (Algorithm::Cumulative, true),
            () if start_moves && end_moves && removable => (Algorithm::Removable, false),
            () => (Algorithm::SegmentTree, false),
        };
        let short = width(frames).is_some_and(|width| width <= SHORT);
        let outermost = if from_first { Some(false) } else { to_last.then_some(true) };
        let outermost = outermost.filter(|_| !excludes);
        Self { algorithm: forced.unwrap_or(algorithm), backward, excludes, outermost, short }
    }

    /// How many rows are under a node of the tree; none if there is no tree.
    pub(super) fn leaf(&self, fanout: usize) -> Option<usize> {
        match self.algorithm {
            Algorithm::Naive => None,
            Algorithm::SegmentTree => Some(fanout),
            Algorithm::Cumulative | Algorithm::Removable => (!self.short).then_some(COARSE),
        }
    }
}

/// How many rows a frame has at most, if its structure says so.
fn width(frames: &Frames) -> Option<u64> {
    let distance = |bound: &FrameBound<Operand>| {
        let offset = |offset: &Operand| offset.cells::<i64>().constant().flatten();
        match bound {
            FrameBound::CurrentRow => Some(0),
            FrameBound::Preceding(by) => offset(by).map(i64::saturating_neg),
            FrameBound::Following(by) => offset(by),
            FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => None,
        }
    };
    if frames.frame.unit != FrameUnit::Rows {
        return None;
    }
    let (start, end) = (distance(&frames.frame.start)?, distance(&frames.frame.end)?);
    Some(end.saturating_sub(start).saturating_add(1).max(0) as u64)
}
