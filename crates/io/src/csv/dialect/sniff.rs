//! Finding out the dialect of a text.

use super::Dialect;
use crate::csv::records::Records;

/// Records that a guess at the delimiter looks at.
const RECORDS: usize = 1000;

/// How well a dialect explains the sample: the share of records with the most common number of fields, in thousandths,
/// and that number. A dialect that gives broken quotes explains nothing.
fn score(sample: &[u8], dialect: Dialect) -> (usize, usize) {
    let mut records = Records::new(dialect);
    let mut counts: Vec<usize> = Vec::new();
    let mut fields = Vec::new();
    while counts.len() < RECORDS {
        let Some(record) = records.next(sample, &mut fields) else { break };
        if record.end == record.start {
            continue;
        }
        if record.problem.is_some() {
            // The sample's last record may be cut in two.
            if record.end < sample.len() { return (0, 0) } else { break }
        }
        counts.push(fields.len());
    }
    let total = counts.len().max(1);
    let first = counts.first().copied();
    counts.sort_unstable();
    let Some(best) = counts.chunk_by(|a, b| a == b).max_by_key(|c| (c.len(), c[0])) else { return (0, 0) };
    let share = best.len() * 1000 / total;
    // A header that does not divide as the rows do: 1,5;2,5 under x;y.
    (if first == Some(best[0]) { share } else { share / 2 }, best[0])
}

/// Which line ending the sample has.
pub fn sniff_eol(sample: &[u8]) -> u8 {
    if memchr::memchr(b'\n', sample).is_none() && memchr::memchr(b'\r', sample).is_some() { b'\r' } else { b'\n' }
}

/// The delimiter (and quote, if not given) that explain the sample best; `fallback` if none makes more than one field.
pub fn sniff(sample: &[u8], fallback: Dialect, delimiter: Option<u8>, quote_given: bool) -> Dialect {
    let delimiters: Vec<u8> = delimiter.map_or_else(|| b",;\t|".to_vec(), |d| vec![d]);
    let with = |d: u8| Dialect { delimiter: d, ..fallback };
    let mut candidates: Vec<Dialect> = delimiters.iter().map(|&d| with(d)).collect();
    if !quote_given && has_quoted_field(sample, b'\'', &delimiters) && !has_quoted_field(sample, b'"', &delimiters) {
        candidates.extend(delimiters.iter().map(|&d| Dialect { quote: Some(b'\''), escape: b'\'', ..with(d) }));
    }
    let mut best = (with(delimiter.unwrap_or(fallback.delimiter)), (0, 1));
    for candidate in candidates {
        let (share, fields) = score(sample, candidate);
        let (best_share, best_fields) = best.1;
        // More fields at about the same consistency win; single quotes must make a difference.
        if fields > 1
            && (best_fields <= 1 || share > best_share + 50 || (share + 50 > best_share && fields > best_fields))
            || (fields >= best_fields && fields > 1 && share >= best_share && candidate.quote == Some(b'\''))
        {
            best = (candidate, (share, fields));
        }
    }
    best.0
}

/// Whether some field seems to begin and end with the quote.
fn has_quoted_field(sample: &[u8], quote: u8, delimiters: &[u8]) -> bool {
    let edge = |b: Option<&u8>| b.is_none_or(|b| matches!(b, b'\n' | b'\r') || delimiters.contains(b));
    let opens = memchr::memchr_iter(quote, sample).any(|p| edge(p.checked_sub(1).map(|p| &sample[p])));
    opens && memchr::memchr_iter(quote, sample).any(|p| edge(sample.get(p + 1)))
}
