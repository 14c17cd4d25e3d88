//! The width of text on a terminal, and what of it may go there.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns that a text takes.
pub fn width(text: &str) -> usize {
    // ASCII without control characters: almost all there is.
    if text.bytes().all(|b| (b' '..0x7f).contains(&b)) { text.len() } else { text.width() }
}

/// The text cut to `limit` columns, with an ellipsis if something is missing.
pub fn fit(text: &str, limit: usize) -> std::borrow::Cow<'_, str> {
    if width(text) <= limit {
        return text.into();
    }
    let (mut used, mut out) = (1, String::new());
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > limit {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out.into()
}

/// The text with control characters written as escapes: they would break tables, and may command the terminal.
pub fn printable(text: String) -> String {
    escaped(text, char::is_control)
}

/// As [`printable`], but with the ends of lines and tabs as they are.
pub fn harmless(text: String) -> String {
    escaped(text, |c| c.is_control() && !matches!(c, '\n' | '\t'))
}

fn escaped(text: String, bad: impl Fn(char) -> bool) -> String {
    if !text.chars().any(&bad) {
        return text;
    }
    text.chars().fold(String::with_capacity(text.len() + 8), |mut out, c| {
        if bad(c) {
            out.extend(c.escape_default())
        } else {
            out.push(c)
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_columns() {
        assert_eq!(fit("abcdef", 6), "abcdef");
        assert_eq!(fit("abcdef", 4), "abc…");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(width("日本語"), 6);
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\nb\u{1b}[1m".into()), "a\\nb\\u{1b}[1m");
        assert_eq!(harmless("a\nb\u{1b}[1m\u{9b}".into()), "a\nb\\u{1b}[1m\\u{9b}");
        assert_eq!(printable("ä".into()), "ä");
    }
}
