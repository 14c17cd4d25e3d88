//! Hints for misspelt names.

/// The candidate most like `name`, if any is like enough to be what was meant: at most one edit in three letters.
/// Ties go to the first.
///
/// ```
/// assert_eq!(catalog::nearest_name("lineitm", ["orders", "lineitem"]), Some("lineitem"));
/// assert_eq!(catalog::nearest_name("x", ["orders", "lineitem"]), None);
/// ```
pub fn nearest_name<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: Vec<char> = name.chars().flat_map(char::to_lowercase).collect();
    let most = name.len().div_ceil(3);
    let distances = candidates.into_iter().map(|candidate| (edit_distance(&name, candidate, most), candidate));
    let (distance, candidate) = distances.min_by_key(|(distance, _)| *distance)?;
    // A name of one letter is like every other one; only its other case is a hint.
    let likely = distance <= most && distance < name.len().max(1);
    likely.then_some(candidate)
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn one into the other, regardless of case, or
/// some number above `most`.
fn edit_distance(a: &[char], b: &str, most: usize) -> usize {
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    if a.len().abs_diff(b.len()) > most {
        return most + 1;
    }
    // Rows i - 2, i - 1 and i of the matrix of distances between prefixes.
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let substitute = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substitute.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        let chars: Vec<char> = "orders".chars().collect();
        for (other, distance) in [("orders", 0), ("ORDERS", 0), ("order", 1), ("ordres", 1), ("oders", 1), ("0rdrs", 2)]
        {
            assert_eq!(edit_distance(&chars, other, 9), distance, "{other}");
        }
        assert_eq!(edit_distance(&[], "abc", 9), 3);
    }

    #[test]
    fn only_likely_names_are_hinted_at() {
        let tables = ["orders", "part", "partsupp", "a"];
        for (name, hint) in [
            ("order", Some("orders")),
            ("parts", Some("part")),
            ("nation", None),
            ("b", None),
            ("A", Some("a")),
            ("", None),
        ] {
            assert_eq!(nearest_name(name, tables), hint, "{name}");
        }
    }
}
