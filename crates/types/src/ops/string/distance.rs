//! How far two texts are apart, and how alike they are, by characters.

use std::collections::BTreeSet;

use base::{Error, Result, SqlState};

/// Pairs of characters that are compared at most: a tenth of a second's work, during which nothing can stop the query.
const MOST_PAIRS: usize = 1 << 27;
/// Pairs where all of them are kept.
const MOST_KEPT: usize = 1 << 22;

fn characters(a: &str, b: &str, most: usize) -> Result<(Vec<char>, Vec<char>)> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    match a.len().checked_mul(b.len()) {
        Some(pairs) if pairs <= most => Ok((a, b)),
        _ => Err(Error::new(SqlState::PROGRAM_LIMIT, "the texts are too long to be compared by characters")),
    }
}

/// `levenshtein(a, b)`: insertions, deletions and replacements that make the one of the other.
pub fn levenshtein(a: &str, b: &str) -> Result<i64> {
    let (a, b) = characters(a, b, MOST_PAIRS)?;
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    Ok(row[b.len()] as i64)
}

/// `damerau_levenshtein(a, b)`: as [`levenshtein`], where neighbours may also change places, and something may be put
/// between them afterwards (Lowrance and Wagner 1975).
pub fn damerau_levenshtein(a: &str, b: &str) -> Result<i64> {
    let (a, b) = characters(a, b, MOST_KEPT)?;
    let far = a.len() + b.len();
    let width = b.len() + 2;
    let mut cells = vec![0; (a.len() + 2) * width];
    cells[0] = far;
    for i in 0..=a.len() {
        cells[(i + 1) * width] = far;
        cells[(i + 1) * width + 1] = i;
    }
    for j in 0..=b.len() {
        cells[j + 1] = far;
        cells[width + j + 1] = j;
    }
    // The last row in which each character stood.
    let mut last_rows = std::collections::BTreeMap::new();
    for i in 1..=a.len() {
        let mut last_column = 0;
        for j in 1..=b.len() {
            let (row, column) = (last_rows.get(&b[j - 1]).copied().unwrap_or(0), last_column);
            let equal = a[i - 1] == b[j - 1];
            if equal {
                last_column = j;
            }
            let replaced = cells[i * width + j] + usize::from(!equal);
            let inserted = cells[(i + 1) * width + j] + 1;
            let deleted = cells[i * width + j + 1] + 1;
            let exchanged = cells[row * width + column] + (i - row - 1) + 1 + (j - column - 1);
            cells[(i + 1) * width + j + 1] = replaced.min(inserted).min(deleted).min(exchanged);
        }
        last_rows.insert(a[i - 1], i);
    }
    Ok(cells[(a.len() + 1) * width + b.len() + 1] as i64)
}

/// `hamming(a, b)`: places in which two texts of one length differ.
pub fn hamming(a: &str, b: &str) -> Result<i64> {
    let (mut first, mut second) = (a.chars(), b.chars());
    let mut different = 0;
    loop {
        match (first.next(), second.next()) {
            (None, None) => return Ok(different),
            (Some(x), Some(y)) => different += i64::from(x != y),
            _ => {
                let message = "mismatch function: strings must be of equal length";
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
        }
    }
}

/// `jaccard(a, b)`: the share of the characters of both that are in both.
pub fn jaccard(a: &str, b: &str) -> Result<f64> {
    let (a, b): (BTreeSet<char>, BTreeSet<char>) = (a.chars().collect(), b.chars().collect());
    if a.is_empty() || b.is_empty() {
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "jaccard of an empty text"));
    }
    let both = a.intersection(&b).count();
    Ok(both as f64 / (a.len() + b.len() - both) as f64)
}

/// `jaro_similarity(a, b)`: from 0 to 1, by characters that are the same not far from each other, and how many of them
/// have changed places.
pub fn jaro(a: &str, b: &str) -> Result<f64> {
    let (a, b) = characters(a, b, MOST_PAIRS)?;
    if a.is_empty() && b.is_empty() {
        return Ok(1.0);
    }
    let reach = (a.len().max(b.len()) / 2).saturating_sub(1);
    let (mut in_a, mut taken) = (Vec::new(), vec![false; b.len()]);
    for (i, x) in a.iter().enumerate() {
        let near = i.saturating_sub(reach)..(i + reach + 1).min(b.len());
        if let Some(j) = near.into_iter().find(|&j| !taken[j] && b[j] == *x) {
            taken[j] = true;
            in_a.push(*x);
        }
    }
    if in_a.is_empty() {
        return Ok(0.0);
    }
    let in_b = b.iter().zip(&taken).filter(|(_, taken)| **taken).map(|(y, _)| y);
    let moved = in_a.iter().zip(in_b).filter(|(x, y)| x != y).count();
    let same = in_a.len() as f64;
    Ok((same / a.len() as f64 + same / b.len() as f64 + (same - (moved / 2) as f64) / same) / 3.0)
}

/// `jaro_winkler_similarity(a, b)`: as [`jaro`], and more for a common beginning of alike texts.
pub fn jaro_winkler(a: &str, b: &str) -> Result<f64> {
    let alike = jaro(a, b)?;
    if alike <= 0.7 {
        return Ok(alike);
    }
    let common = a.chars().zip(b.chars()).take(4).take_while(|(x, y)| x == y).count();
    Ok(alike + common as f64 * 0.1 * (1.0 - alike))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_the_published_ones() {
        assert_eq!(levenshtein("kitten", "sitting"), Ok(3));
        assert_eq!(levenshtein("", "äöü"), Ok(3));
        assert_eq!(damerau_levenshtein("ca", "abc"), Ok(2));
        assert_eq!(damerau_levenshtein("duckdb", "udckbd"), Ok(2));
        assert_eq!(damerau_levenshtein("", "ab"), Ok(2));
        assert_eq!(hamming("duck", "luck"), Ok(1));
        assert!(hamming("a", "ab").is_err());
        let near = |x: Result<f64>, y: f64| assert!((x.clone().unwrap() - y).abs() < 1e-4, "{x:?} {y}");
        near(jaro("MARTHA", "MARHTA"), 0.9444);
        near(jaro("DIXON", "DICKSONX"), 0.7667);
        near(jaro_winkler("MARTHA", "MARHTA"), 0.9611);
        near(jaro_winkler("DIXON", "DICKSONX"), 0.8133);
        near(jaro("", ""), 1.0);
        near(jaro("a", ""), 0.0);
        near(jaccard("duck", "luck"), 0.6);
    }
}
