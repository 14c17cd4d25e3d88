//! What is built before rows can be evaluated: parts one after the other, each of phases of pieces.

use base::Result;

/// Something that is built in phases, a phase in independent pieces.
pub(super) trait Built {
    /// How many phases there are.
    fn phases(&self) -> usize;
    /// How many pieces a phase has; asked once the phases before it are over.
    fn pieces(&self, phase: usize) -> usize;
    /// Builds a piece, once.
    fn build(&self, phase: usize, piece: usize) -> Result<()>;
}

/// The part that a phase of all of them belongs to, and which of its phases that is.
fn locate<'a>(parts: &[&'a dyn Built], mut phase: usize) -> Option<(&'a dyn Built, usize)> {
    for &part in parts {
        if phase < part.phases() {
            return Some((part, phase));
        }
        phase -= part.phases();
    }
    None
}

/// How many pieces a phase of parts has that are built one after the other.
pub(super) fn pieces(parts: &[&dyn Built], phase: usize) -> Option<usize> {
    locate(parts, phase).map(|(part, phase)| part.pieces(phase))
}

/// Builds a piece of a phase of parts.
pub(super) fn build(parts: &[&dyn Built], phase: usize, piece: usize) -> Result<()> {
    locate(parts, phase).map_or(Ok(()), |(part, phase)| part.build(phase, piece))
}

impl<T: Built> Built for Option<T> {
    fn phases(&self) -> usize {
        self.as_ref().map_or(0, T::phases)
    }

    fn pieces(&self, phase: usize) -> usize {
        self.as_ref().map_or(0, |part| part.pieces(phase))
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        self.as_ref().map_or(Ok(()), |part| part.build(phase, piece))
    }
}
