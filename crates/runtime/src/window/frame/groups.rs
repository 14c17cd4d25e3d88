//! Bounds that lie so many groups of peers away.

use std::ops::Range;

use base::Result;

use super::{End, Frames, distance};
use crate::window::Operand;

/// One end of the frames of rows of a partition. With a constant distance the next group's bound is the group next to this
/// one's; the bound of a part's first group, and each with a distance of its own, is found by its number.
pub(super) fn bounds(
    frames: &Frames,
    offset: &Operand,
    preceding: bool,
    end: End,
    part: Range<usize>,
    partition: &Range<usize>,
    out: &mut [usize],
) -> Result<()> {
    let peers = &frames.positions.peers;
    let offsets = offset.cells::<i64>();
    let first = peers.count_before(partition.start);
    let behind = usize::from(end == End::End);
    // Groups are numbered through all partitions.
    let group_of = |row: usize| peers.count_before(row + 1) - 1;
    let found = |row: usize, by: usize| {
        let group = group_of(row) + behind;
        let target = if preceding { group.saturating_sub(by).max(first) } else { group.saturating_add(by) };
        peers.select(target).min(partition.end)
    };
    if !offset.is_constant() {
        for (out, row) in out.iter_mut().zip(part) {
            *out = found(row, distance(&offsets, row, end)?);
        }
        return Ok(());
    }
    let by = distance(&offsets, part.start, end)?;
    let mut row = part.start;
    let mut bound = found(row, by);
    // How many groups of the partition lie before this one.
    let mut group = group_of(row) - first;
    loop {
        let last = peers.end(row).min(part.end);
        out[row - part.start..last - part.start].fill(bound);
        row = last;
        if row == part.end {
            return Ok(());
        }
        group += 1;
        let stays = preceding && group + behind <= by;
        if !stays && bound < partition.end {
            bound = peers.end(bound);
        }
    }
}
