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
    /// Complete: at least half full.
    Frozen { node: u16, rows: usize, body: Body, bounds: Box<[Bounds]>, memory: Reservation },
    /// A rest, which may be copied to other rests.
    Open(OpenChunk),
}
