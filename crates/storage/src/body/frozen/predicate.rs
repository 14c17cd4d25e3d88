//! Predicates on values as predicates on codes, once a chunk.

use super::layout::Scheme;
use super::{Frozen, Header};
use crate::scan::{ScanPredicate, Test, select};
use crate::{ColumnRef, WINDOW};

/// What a predicate is on a frozen column.
#[derive(Clone, Debug)]
pub(crate) enum Translated {
    /// True of no row.
    Never,
    /// True where these are of the codes; of all rows if there is none.
    OnCodes(Vec<ScanPredicate>),
    /// To be asked of the values.
    OnValues,
}

/// So many rows for each entry of a dictionary are worth it to compute what takes long once an entry.
const ROWS_AN_ENTRY: usize = 16;
/// A list of keys up to this long is looked up code by code.
const FEW: usize = 6;

impl Frozen {
    /// What a predicate on the values is on the codes.
    pub(crate) fn translate(&self, predicate: &ScanPredicate) -> Translated {
        if predicate.is_computed() && !self.is_small_dictionary() {
            return Translated::OnCodes(Vec::new());
        }
        let Some(cells) = self.code_cells() else { return Translated::OnValues };
        let test = match &predicate.test {
            Test::Never => return Translated::Never,
            Test::Null(is_null) => self.null(*is_null),
            test if self.scheme() == Scheme::Numbers => match self.on_numbers(test) {
                Some(tests) => tests,
                None => return Translated::OnValues,
            },
            _ => self.on_entries(predicate),
        };
        let Some(tests) = test else { return Translated::Never };
        let of = |test| ScanPredicate { attribute: predicate.attribute, cells, test };
        Translated::OnCodes(tests.into_iter().map(of).collect())
    }

    fn is_small_dictionary(&self) -> bool {
        self.scheme() == Scheme::Dictionary && self.header.entries * ROWS_AN_ENTRY <= self.header.rows
    }

    /// The greatest code that there may be.
    fn last(&self) -> i128 {
        match self.scheme() {
            Scheme::Dictionary => self.header.entries as i128 - 1,
            _ => (1 << (8 * self.header.width)) - 1,
        }
    }

    /// The least code of a value.
    fn first(&self) -> i128 {
        self.has_null().into()
    }

    fn null(&self, is_null: bool) -> Option<Vec<Test>> {
        match (self.has_null(), is_null) {
            (true, true) => Some(vec![Test::Range { low: 0, high: 0, negate: false }]),
            // There may be no value at all.
            (true, false) if self.last() == 0 => None,
            (true, false) => Some(vec![Test::Range { low: 1, high: self.last(), negate: false }]),
            (false, true) => None,
            (false, false) => Some(Vec::new()),
        }
    }

    /// The codes `low` to `high`, or all values' but these.
    fn range(&self, low: i128, high: i128, negate: bool) -> Option<Vec<Test>> {
        let (low, high) = (low.max(self.first()), high.min(self.last()));
        match (low <= high, negate) {
            (false, false) => None,
            (false, true) => self.null(false),
            (true, false) if (low, high) == (self.first(), self.last()) => self.null(false),
            (true, false) => Some(vec![Test::Range { low, high, negate }]),
            (true, true) if (low, high) == (self.first(), self.last()) => None,
            (true, true) => {
                let mut tests = self.null(false)?;
                tests.push(Test::Range { low, high, negate });
                Some(tests)
            }
        }
    }

    /// On codes of numbers: by arithmetic. None if the values have to be asked; none inside if it is true of no row.
    fn on_numbers(&self, test: &Test) -> Option<Option<Vec<Test>>> {
        let Header { base, divisor, .. } = self.header;
        let divisor = i128::from(divisor);
        let limit = base.saturating_add(self.last().saturating_mul(divisor));
        match test {
            Test::Range { low, high, negate } => {
                // Outside of what codes reach, the nearest that they do is as good.
                let below =
                    |key: i128| (key.clamp(base.saturating_sub(1), limit.saturating_add(1)) - base).div_euclid(divisor);
                let low = match *low {
                    low if low <= base => 0,
                    low => below(low - 1) + 1,
                };
                Some(self.range(low + self.first(), below(*high) + self.first(), *negate))
            }
            Test::Few(keys) => {
                let code = |key: &i128| {
                    let distance = key.checked_sub(base).filter(|d| *d >= 0 && d % divisor == 0)?;
                    Some(distance / divisor + self.first()).filter(|code| *code <= self.last())
                };
                let codes: Vec<i128> = keys.iter().filter_map(code).collect();
                Some((!codes.is_empty()).then(|| vec![Test::Few(codes)]))
            }
            _ => None,
        }
    }

    /// On codes of a dictionary: whatever is true of its entries.
    fn on_entries(&self, predicate: &ScanPredicate) -> Option<Vec<Test>> {
        let entries = self.entries();
        let alone = ScanPredicate { attribute: 0, ..predicate.clone() };
        let address: ColumnRef = entries.address();
        let (mut out, mut codes) = ([0; WINDOW], Vec::new());
        let first = self.first() as usize;
        for begin in (first..entries.rows()).step_by(WINDOW) {
            let end = entries.rows().min(begin + WINDOW);
            // SAFETY: the entries are of the predicate's type and alive, as many as `rows` says.
            let count = unsafe { select(std::slice::from_ref(&alone), &[address], begin, end, &mut out) };
            codes.extend(out[..count].iter().map(|&place| (begin + place as usize) as i128));
        }
        let (&low, &high) = (codes.first()?, codes.last()?);
        if high - low + 1 == codes.len() as i128 {
            return self.range(low, high, false);
        }
        let all = entries.rows() - first;
        let left_out =
            (self.first()..=self.last()).zip(codes.iter()).find(|(code, of)| code != *of).map(|(code, _)| code);
        if codes.len() + 1 == all
            && let Some(code) = left_out
        {
            return self.range(code, code, true);
        }
        if codes.len() <= FEW {
            return Some(vec![Test::Few(codes)]);
        }
        let mut bits = vec![0u64; entries.rows().div_ceil(64)];
        codes.iter().for_each(|&code| bits[code as usize / 64] |= 1 << (code % 64));
        Some(vec![Test::Bitmap { base: 0, bits: bits.into() }])
    }
}
