//! Comparing a result with the expected answer.

/// Relative difference up to which two numbers count as equal: double arithmetic in another order.
const TOLERANCE: f64 = 1e-9;

/// Compares rows of text with an expected answer (bars between fields, a first line with names).
///
/// Numbers are compared as numbers, so that a decimal equals a double, text without surrounding blanks. The rows must
/// come in the expected order unless `any_order`: rows that the query's ORDER BY leaves as ties may then be anywhere.
pub fn compare_answers(expected: &str, actual: &[Vec<String>], any_order: bool) -> Result<(), String> {
    let mut expected: Vec<Vec<&str>> = expected.lines().skip(1).map(|l| l.split('|').collect()).collect();
    let mut actual: Vec<Vec<&str>> = actual.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    if expected.len() != actual.len() {
        return Err(format!("{} rows, expected {}", actual.len(), expected.len()));
    }
    if any_order {
        // Numbers that differ in their last digits must not change places: sort by what is exact first.
        expected.sort_by_cached_key(|row| key(row));
        actual.sort_by_cached_key(|row| key(row));
    }
    for (number, (want, have)) in expected.iter().zip(&actual).enumerate() {
        if want.len() != have.len() {
            return Err(format!("row {}: {} columns, expected {}", number + 1, have.len(), want.len()));
        }
        if let Some(column) = (0..want.len()).find(|c| !same(want[*c], have[*c])) {
            let place = format!("row {}, column {}", number + 1, column + 1);
            return Err(format!("{place}: {}, expected {}", have[column], want[column]));
        }
    }
    Ok(())
}

/// Whether two fields are the same value.
pub(crate) fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim(), b.trim());
    if a == b {
        return true;
    }
    match (number(a), number(b)) {
        (Some(a), Some(b)) => (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()).max(1e-3),
        _ => false,
    }
}

fn number(text: &str) -> Option<f64> {
    let looks = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    if looks { text.parse().ok() } else { None }
}

fn key(row: &[&str]) -> (Vec<String>, Vec<String>) {
    let fraction = |field: &&str| number(field.trim()).is_some_and(|n| n.fract() != 0.0);
    let exact = row.iter().filter(|f| !fraction(f)).map(|f| canonical(f)).collect();
    let inexact = row.iter().filter(|f| fraction(f)).map(|f| canonical(f)).collect();
    (exact, inexact)
}

fn canonical(field: &str) -> String {
    number(field.trim()).map_or_else(|| field.trim().to_string(), |n| format!("{n:+.8e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &[&[&str]]) -> Vec<Vec<String>> {
        text.iter().map(|row| row.iter().map(|f| f.to_string()).collect()).collect()
    }

    #[test]
    fn numbers_are_numbers_and_text_is_text() {
        let expected = "a|b\nx |1.50\ny|25.522005853257337\n";
        assert_eq!(compare_answers(expected, &rows(&[&["x", "1.5"], &["y", "25.5220058532573"]]), false), Ok(()));
        assert!(compare_answers(expected, &rows(&[&["x", "1.5"], &["y", "25.52"]]), false).is_err());
        assert!(compare_answers(expected, &rows(&[&["z", "1.5"], &["y", "25.5220058532573"]]), false).is_err());
        assert!(compare_answers(expected, &rows(&[&["x", "1.5"]]), false).is_err());
        assert!(compare_answers("a\n1\n", &rows(&[&["1", "2"]]), false).is_err());
    }

    #[test]
    fn order_matters_unless_it_does_not() {
        let swapped = rows(&[&["2", "0.3333333333333333"], &["1", "0.3333333333333334"]]);
        let expected = "k|v\n1|0.333333333333333\n2|0.333333333333333\n";
        assert!(compare_answers(expected, &swapped, false).is_err());
        assert_eq!(compare_answers(expected, &swapped, true), Ok(()));
    }
}
