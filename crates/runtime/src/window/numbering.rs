//! Functions that number the rows of a partition (thesis 5.4.4): a first result from the sets of boundaries, the others
//! each from the one before. O(1) a row, in parallel inside of a partition.

use std::ops::Range;

use base::{CancelToken, Error, Result, SqlState};

use super::column::Sink;
use super::{Evaluation, Operand, Out, Positions, chunks};

/// Which.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    /// Into so many buckets.
    Ntile(Operand),
}

/// A function that numbers rows.
#[derive(Debug)]
pub(super) struct Numbering {
    pub(super) kind: Kind,
    pub(super) positions: Positions,
    pub(super) cancel: CancelToken,
}

impl Numbering {
    /// Calls `each` with parts of the range: rows, their partition, and where in the range they begin.
    fn each_part(
        &self,
        rows: Range<usize>,
        mut each: impl FnMut(Range<usize>, Range<usize>, usize) -> Result<()>,
    ) -> Result<()> {
        for chunk in chunks(rows.clone()) {
            self.cancel.check()?;
            for (part, partition) in self.positions.parts(chunk) {
                let at = part.start - rows.start;
                each(part, partition, at)?;
            }
        }
        Ok(())
    }

    /// Calls `each` with each row, its place in the range, and the first of its peers' place in the partition.
    fn each_rank(&self, rows: Range<usize>, mut each: impl FnMut(usize, usize, &Range<usize>)) -> Result<()> {
        let peers = &self.positions.peers;
        self.each_part(rows, |part, partition, at| {
            let mut first = peers.begin(part.start);
            for (at, row) in (at..).zip(part) {
                first = if peers.contains(row) { row } else { first };
                each(at, first - partition.start, &partition);
            }
            Ok(())
        })
    }

    fn integers(&self, rows: Range<usize>, mut out: Sink<'_, i64>) -> Result<()> {
        let peers = &self.positions.peers;
        out.nulls.fill(0);
        match &self.kind {
            Kind::RowNumber => self.each_part(rows, |part, partition, at| {
                let out = &mut out.values[at..at + part.len()];
                out.iter_mut().zip(part).for_each(|(out, row)| *out = (row - partition.start) as i64 + 1);
                Ok(())
            }),
            Kind::Rank => self.each_rank(rows, |at, before, _| out.values[at] = before as i64 + 1),
            Kind::DenseRank => self.each_part(rows, |part, partition, at| {
                let mut rank = peers.count_before(part.start) - peers.count_before(partition.start);
                for (out, row) in out.values[at..].iter_mut().zip(part) {
                    rank += usize::from(peers.contains(row));
                    *out = rank as i64;
                }
                Ok(())
            }),
            Kind::Ntile(buckets) => {
                let buckets = buckets.cells::<i64>();
                self.each_part(rows, |part, partition, at| {
                    for (at, row) in (at..).zip(part) {
                        let bucket = buckets.get(row).map(|n| bucket(n, row - partition.start, partition.len()));
                        out.set(at, bucket.transpose()?);
                    }
                    Ok(())
                })
            }
            Kind::PercentRank | Kind::CumeDist => unreachable!("their results are doubles"),
        }
    }

    fn shares(&self, rows: Range<usize>, out: Sink<'_, f64>) -> Result<()> {
        out.nulls.fill(0);
        if matches!(self.kind, Kind::PercentRank) {
            return self.each_rank(rows, |at, before, partition| {
                let others = partition.len() - 1;
                out.values[at] = if others == 0 { 0.0 } else { before as f64 / others as f64 };
            });
        }
        self.each_part(rows, |part, partition, at| {
            let mut row = part.start;
            while row < part.end {
                let peers = self.positions.peers.end(row);
                let (last, share) = (peers.min(part.end), (peers - partition.start) as f64 / partition.len() as f64);
                out.values[at + row - part.start..at + last - part.start].fill(share);
                row = last;
            }
            Ok(())
        })
    }
}

impl Evaluation for Numbering {
    fn evaluate(&self, rows: Range<usize>, out: Out<'_>) -> Result<()> {
        match self.kind {
            Kind::PercentRank | Kind::CumeDist => self.shares(rows, out.form()),
            _ => self.integers(rows, out.form()),
        }
    }
}

/// The bucket, from 1, of a place among so many rows; the first buckets take one row more each if they are not even.
pub(super) fn bucket(buckets: i64, place: usize, rows: usize) -> Result<i64> {
    let Some(buckets) = usize::try_from(buckets).ok().filter(|&n| n > 0) else {
        return Err(Error::new(SqlState("22014"), "argument of ntile must be greater than zero"));
    };
    let (least, larger) = (rows / buckets, rows % buckets);
    let in_larger = larger * (least + 1);
    let bucket = if place < in_larger { place / (least + 1) } else { larger + (place - in_larger) / least };
    Ok(bucket as i64 + 1)
}
