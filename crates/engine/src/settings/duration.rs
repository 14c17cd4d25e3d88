//! Times as settings have them: milliseconds, or a number with a unit, as PostgreSQL reads and shows them.

use std::time::Duration;

/// The longest, in milliseconds: PostgreSQL's.
const MOST: u64 = i32::MAX as u64;

/// Units that show a time, the greatest first, in milliseconds.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1)];

/// The time that `500`, `1.5 s` or `2min` stand for, in whole milliseconds.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "" => 1.0,
        "us" => 0.001,
        unit => UNITS.iter().find(|(name, _)| *name == unit)?.1 as f64,
    };
    let millis = (number * unit).round_ties_even();
    (millis <= MOST as f64).then(|| Duration::from_millis(millis as u64))
}

/// A time in the greatest unit that expresses it.
pub(super) fn text(time: Duration) -> String {
    let millis = time.as_millis() as u64;
    match UNITS.iter().find(|(_, unit)| millis > 0 && millis.is_multiple_of(*unit)) {
        Some((name, unit)) => format!("{}{name}", millis / unit),
        None => "0".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_shown_as_by_postgresql() {
        let shown = |given: &str| parse(given).map(text);
        for (given, expected) in [
            ("0", "0"),
            ("5000", "5s"),
            ("1500", "1500ms"),
            ("1.5s", "1500ms"),
            ("90 s", "90s"),
            ("60s", "1min"),
            ("36h", "36h"),
            ("48h", "2d"),
            ("400us", "0"),
            ("2147483647", "2147483647ms"),
        ] {
            assert_eq!(shown(given).as_deref(), Some(expected), "{given}");
        }
        for bad in ["", "x", "-1", "5 weeks", "2147483648", "30d", "1e3", "s", "1.2.3"] {
            assert_eq!(shown(bad), None, "{bad}");
        }
    }
}
