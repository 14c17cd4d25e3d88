//! What needs the values' order: the first of the most frequent values, and how many values come before one. Both are
//! implicit trees over the values, changed and asked in O(log n).

use base::Result;

use super::Content;
use crate::window::Operand;
use crate::window::column::{Cells, Element};

/// The first of the most frequent values of an operand.
#[derive(Debug)]
pub(super) struct Mode(pub(super) Operand);

/// The first of the most frequent values.
pub(super) struct Frequent<'a, T>(pub(super) Cells<'a, T>);

impl<T: Element> Content for Frequent<'_, T> {
    type Result = T;
    /// A tournament: the greatest count below each node, the leaves last.
    type State = Vec<u32>;
    /// Two nodes each, of up to twice as many values.
    const BYTES: usize = 4 * size_of::<u32>();
    const BY_FRAME: bool = true;

    fn empty(&self, values: usize) -> Vec<u32> {
        vec![0; 2 * values.max(1).next_power_of_two()]
    }

    fn change(&self, counts: &mut Vec<u32>, value: usize, count: u32, _: bool, _: usize) {
        let mut node = counts.len() / 2 + value;
        counts[node] = count;
        while node > 1 {
            node /= 2;
            let greatest = counts[2 * node].max(counts[2 * node + 1]);
            if counts[node] == greatest {
                break;
            }
            counts[node] = greatest;
        }
    }

    fn result(&self, counts: &Vec<u32>, _: usize, row_of: impl Fn(usize) -> usize) -> Result<Option<T>> {
        if counts[1] == 0 {
            return Ok(None);
        }
        let mut node = 1;
        while node < counts.len() / 2 {
            node = 2 * node + usize::from(counts[2 * node] != counts[node]);
        }
        Ok(Some(self.0.value(row_of(node - counts.len() / 2))))
    }
}

/// How many values come before a row's, and one.
#[derive(Debug)]
pub(super) struct DenseRank;

impl Content for DenseRank {
    type Result = i64;
    /// A Fenwick tree of how many values there are.
    type State = Vec<u32>;
    const BYTES: usize = size_of::<u32>();
    const BY_FRAME: bool = false;

    fn empty(&self, values: usize) -> Vec<u32> {
        vec![0; values + 1]
    }

    fn change(&self, sums: &mut Vec<u32>, value: usize, count: u32, entered: bool, _: usize) {
        if count != u32::from(entered) {
            return;
        }
        let mut at = value + 1;
        while at < sums.len() {
            sums[at] = if entered { sums[at] + 1 } else { sums[at] - 1 };
            at += at & at.wrapping_neg();
        }
    }

    fn result(&self, sums: &Vec<u32>, value: usize, _: impl Fn(usize) -> usize) -> Result<Option<i64>> {
        let mut before = 0;
        let mut at = value;
        while at > 0 {
            before += i64::from(sums[at]);
            at &= at - 1;
        }
        Ok(Some(before + 1))
    }
}
