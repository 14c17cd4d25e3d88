//! What finished joins tell the scan below their probes: rows whose keys no build row has need not come.
//!
//! A join by one number has noted which there are. Of a join by several keys, each that is a number filters by itself, if build rows
//! are few beside the table's: they are read once more, when the scan opens.
//!
//! Whether that pays is seen from the table itself: a filter that lets most rows of a sample pass is not applied, nor one that
//! leaves out what others have left out. The sample depends on data alone, and so do the rows that come.

use std::sync::{Arc, PoisonError};

use base::memory::Reservation;
use pipeline::ir::{KeyFilter, KeyLookup, PipelineId};
use runtime::query::KeySet;
use storage::{ChunkView, ScanOp, ScanPredicate, Scratch, Snapshot, WINDOW};

use super::Query;

/// Chunks of the sample, and rows of each.
const CHUNKS: usize = 16;
const ROWS: usize = 512;
/// Filters are compared with each other where so many rows of the sample pass.
const TELLING: usize = 64;
/// Rows of the table for each build row whose keys are read once more, at least.
const ROWS_A_KEY: u64 = 16;
/// Bits of a set of keys for each key, and bits that it may have whatever the keys.
const BITS: (u64, u64) = (128, 1 << 16);
/// As many keys as are listed where they are too far apart for bits.
const LISTED: usize = 1 << 10;

/// The filters as predicates of a pipeline's scan, those that are worth while.
pub(super) fn of_joins(
    query: &Query,
    pipeline: PipelineId,
    snapshot: &Snapshot,
    (filters, lookups): (&[KeyFilter], &[KeyLookup]),
) -> Vec<ScanPredicate> {
    let by_one = filters.iter().filter_map(|filter| Some((filter.attribute, query.context.keys(filter.state)?)));
    let mut sets: Vec<(usize, KeySet)> = by_one.collect();
    let mut memory = Vec::new();
    for lookup in lookups.iter().filter(|lookup| !filters.iter().any(|filter| filter.state == lookup.state)) {
        sets.extend(of_parts(query, snapshot, lookup, &mut memory));
    }
    if !memory.is_empty() {
        // Instead of that of another round.
        query.of_filters.lock().unwrap_or_else(PoisonError::into_inner).insert(pipeline, memory);
    }
    let filters = sets.into_iter().filter_map(|(attribute, keys)| Filter::of(snapshot, attribute, keys));
    worth_while(snapshot, filters.collect())
}

/// What one set of keys asks of a scan.
struct Filter {
    predicates: Vec<ScanPredicate>,
    /// Rows of the sample that pass.
    passing: usize,
}

impl Filter {
    /// Whether the keys lie in a range is asked with a tenth of the time that it takes to look one up: so that is asked first, and
    /// alone if the range has nothing but keys, or next to nothing. None if most rows pass.
    fn of(snapshot: &Snapshot, attribute: usize, keys: KeySet) -> Option<Self> {
        let (least, greatest) = keys.range.clone().into_inner();
        let sql_type = snapshot.schema().attributes()[attribute].sql_type;
        let predicate = |op: ScanOp| ScanPredicate::new(attribute, sql_type, op);
        let in_range = predicate(ScanOp::Keys { least, greatest, bits: None });
        let of_range = sampled(snapshot, std::slice::from_ref(&in_range));
        let by_range = is_less(of_range.passing, of_range.rows);
        let set = match keys {
            KeySet { list: Some(list), .. } => Some(ScanOp::Listed(list)),
            KeySet { bits: Some(bits), .. } if !is_whole(&bits, greatest.abs_diff(least)) => {
                Some(ScanOp::Keys { least, greatest, bits: Some(bits) })
            }
            _ => None,
        };
        let Some(set) = set.map(predicate) else {
            return by_range.then(|| Self { predicates: vec![in_range], passing: of_range.passing });
        };
        let passing = sampled(snapshot, std::slice::from_ref(&set)).passing;
        let predicates = match (by_range, is_less(passing, of_range.passing)) {
            (true, true) => vec![in_range, set],
            (true, false) => return Some(Self { predicates: vec![in_range], passing: of_range.passing }),
            (false, _) => vec![set],
        };
        is_less(passing, of_range.rows).then_some(Self { predicates, passing })
    }
}

/// Whether so few rows pass that it is worth to ask.
fn is_less(passing: usize, of: usize) -> bool {
    passing <= of / 4 * 3
}

/// Whether all numbers are there, of which the last has that distance from the first.
fn is_whole(bits: &[u64], distance: u64) -> bool {
    bits.iter().map(|word| u64::from(word.count_ones())).sum::<u64>() > distance
}

/// Those that leave out what others do not, the most selective first.
fn worth_while(snapshot: &Snapshot, mut filters: Vec<Filter>) -> Vec<ScanPredicate> {
    filters.sort_by_key(|filter| filter.passing);
    let (mut chosen, mut passing) = (Vec::new(), None);
    for filter in filters {
        let before = chosen.len();
        chosen.extend(filter.predicates);
        let Some(alone) = passing.filter(|rows| *rows >= TELLING) else {
            passing = passing.or(Some(filter.passing));
            continue;
        };
        let together = sampled(snapshot, &chosen).passing;
        if is_less(together, alone) {
            passing = Some(together);
        } else {
            chosen.truncate(before);
        }
    }
    chosen
}

/// What a sample says.
#[derive(Clone, Copy, Default)]
struct Sampled {
    rows: usize,
    passing: usize,
}

/// How many rows of the sample pass.
fn sampled(snapshot: &Snapshot, predicates: &[ScanPredicate]) -> Sampled {
    let predicates: Arc<[ScanPredicate]> = predicates.into();
    let count = snapshot.chunk_count();
    let chunks = (0..count.min(CHUNKS)).map(|i| snapshot.chunk(i * count / count.min(CHUNKS)));
    chunks.fold(Sampled::default(), |all, chunk| Sampled {
        rows: all.rows + chunk.rows().min(ROWS),
        passing: all.passing + passing_rows(chunk, &predicates),
    })
}

/// The numbers among the keys of a join by several, each with its attribute of the table.
fn of_parts(
    query: &Query,
    snapshot: &Snapshot,
    lookup: &KeyLookup,
    memory: &mut Vec<Reservation>,
) -> Vec<(usize, KeySet)> {
    let places = lookup.parts.iter().map(|part| part.place).collect();
    let Some(keys) = query.context.build_keys(lookup.state, places) else { return Vec::new() };
    if keys.rows().saturating_mul(ROWS_A_KEY) > snapshot.rows() as u64 {
        return Vec::new();
    }
    let set = |(number, attribute): (usize, usize)| Some((attribute, key_set(query, keys.numbers(number)?, memory)?));
    lookup.parts.iter().map(|part| part.attribute).enumerate().filter_map(set).collect()
}

/// What the keys say; none if there is no memory for it.
fn key_set(query: &Query, mut keys: Vec<i64>, memory: &mut Vec<Reservation>) -> Option<KeySet> {
    let (least, greatest) = keys.iter().fold((i64::MAX, i64::MIN), |all, key| (all.0.min(*key), all.1.max(*key)));
    let set = KeySet { range: least..=greatest, bits: None, list: None };
    if keys.is_empty() {
        return Some(set);
    }
    let span = greatest.abs_diff(least);
    if span >= BITS.1.max(BITS.0.saturating_mul(keys.len() as u64)) {
        if keys.len() <= LISTED {
            keys.sort_unstable();
            keys.dedup();
            return Some(KeySet { list: Some(keys.into()), ..set });
        }
        return Some(set);
    }
    let words = span as usize / 64 + 1;
    memory.push(query.budget.reserve(8 * words, "filter by keys").ok()?);
    let mut bits = vec![0u64; words];
    for key in keys {
        let at = key.abs_diff(least) as usize;
        bits[at / 64] |= 1 << (at % 64);
    }
    Some(KeySet { bits: Some(bits.into()), ..set })
}

/// How many rows in the middle of a chunk pass.
fn passing_rows(chunk: ChunkView<'_>, predicates: &Arc<[ScanPredicate]>) -> usize {
    if !chunk.may_match(predicates) {
        return 0;
    }
    let reader = chunk.read();
    let from = chunk.rows().saturating_sub(ROWS) / 2;
    // Within a window, as rows of it may have changed.
    let rows = from..chunk.rows().min(from + ROWS).min((from / WINDOW + 1) * WINDOW);
    let mut scratch = Scratch::default();
    let rest = reader.applicable(predicates, &mut scratch);
    rest.map_or(0, |rest| reader.scan(rows, &rest, &mut scratch, &mut [0; ROWS]))
}
