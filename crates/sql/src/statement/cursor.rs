//! DECLARE, FETCH, MOVE, CLOSE.

use plan::Plan;

/// One of them.
#[derive(Clone, Debug)]
pub enum CursorStatement {
    /// DECLARE.
    Declare {
        /// The cursor's name.
        name: String,
        /// Where it stands.
        position: Option<u32>,
        /// Whether it can go back: all can unless NO SCROLL is said.
        scrolls: bool,
        /// WITH HOLD: it is there when its transaction has committed.
        holds: bool,
        /// Its query.
        plan: Plan,
    },
    /// FETCH or MOVE.
    Fetch {
        /// The cursor's name.
        name: String,
        /// Where it stands.
        position: Option<u32>,
        /// Which rows.
        direction: Direction,
        /// MOVE: the rows are not given.
        moves: bool,
    },
    /// CLOSE; no name means all.
    Close {
        /// The cursor's name.
        name: Option<String>,
        /// Where it stands.
        position: Option<u32>,
    },
}

/// Which rows FETCH gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// The next ones, the rows before if the number is negative, the one where the cursor is if it is 0; [`i64::MAX`] and
    /// [`i64::MIN`]: all of them.
    Forward(i64),
    /// The one with a number, from the end if that is negative.
    Absolute(i64),
    /// The one so many behind the one where the cursor is.
    Relative(i64),
}
