//! Chunks that wait for a commit.

use base::memory::Reservation;

use crate::body::Body;
use crate::open::OpenChunk;
use crate::statistics::Bounds;

/// A chunk that waits for the commit.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) part: usize,
    pub(super) rows: PieceRows,
}

#[derive(Debug)]
pub(super) enum PieceRows {
    /// At least half full. It is frozen later if there was memory enough to wait with it.
    Complete { node: u16, rows: usize, body: Body, frozen: bool, bounds: Box<[Bounds]>, memory: Reservation },
    /// A rest, which may be copied to other rests.
    Open(OpenChunk),
}
