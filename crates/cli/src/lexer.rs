//! Where statements and commands end in a script, without understanding them: quotes, dollar quotes and comments count.

use std::ops::Range;

/// The next thing in a script.
#[derive(Debug, PartialEq, Eq)]
pub enum Item {
    /// A line that starts with `.` or `\`, without the end of the line.
    Command(Range<usize>),
    /// A statement without its semicolon. `complete` says whether there was one.
    Statement { range: Range<usize>, complete: bool },
    /// Nothing but blanks, comments and semicolons.
    End,
}

/// The first item of `text` at or after byte `from`, and where to go on.
pub fn next_item(text: &str, from: usize) -> (Item, usize) {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        at = skip_blank(bytes, at);
        if bytes.get(at) != Some(&b';') {
            break;
        }
        at += 1;
    }
    let Some(&first) = bytes.get(at) else { return (Item::End, text.len()) };
    if matches!(first, b'.' | b'\\') {
        let end = text[at..].find('\n').map_or(text.len(), |i| at + i);
        return (Item::Command(at..end), end);
    }
    let start = at;
    while let Some(&byte) = bytes.get(at) {
        if byte == b';' {
            return (Item::Statement { range: start..at, complete: true }, at + 1);
        }
        at = skip_token(bytes, at);
    }
    (Item::Statement { range: start..text.trim_end().len().max(start), complete: false }, text.len())
}

/// Past blanks and comments.
fn skip_blank(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = bytes.get(at) {
        if byte.is_ascii_whitespace() {
            at += 1;
        } else if let Some(end) = comment(bytes, at) {
            at = end;
        } else {
            break;
        }
    }
    at
}

/// Past the token at `at`, as far as semicolons in it would not end the statement.
fn skip_token(bytes: &[u8], at: usize) -> usize {
    match bytes[at] {
        b'\'' => {
            let escapes = at > 0 && matches!(bytes[at - 1], b'e' | b'E') && !(at > 1 && is_word(bytes[at - 2]));
            quoted(bytes, at, escapes)
        }
        b'"' => quoted(bytes, at, false),
        b'$' if at == 0 || !is_word(bytes[at - 1]) => dollar_quoted(bytes, at).unwrap_or(at + 1),
        _ => comment(bytes, at).unwrap_or(at + 1),
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Past the quoted text that opens at `at`; a doubled quote closes and opens again, which comes to the same.
fn quoted(bytes: &[u8], at: usize, escapes: bool) -> usize {
    let quote = bytes[at];
    let mut at = at + 1;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        if byte == quote {
            break;
        }
        if escapes && byte == b'\\' {
            at += 1;
        }
    }
    at.min(bytes.len())
}

/// Past `$tag$...$tag$`, if one opens at `at`.
fn dollar_quoted(bytes: &[u8], at: usize) -> Option<usize> {
    let tag_end = at + 1 + bytes[at + 1..].iter().position(|b| !is_word(*b))?;
    if bytes[tag_end] != b'$' || bytes[at + 1].is_ascii_digit() {
        return None;
    }
    let tag = &bytes[at..=tag_end];
    let body = tag_end + 1;
    Some(bytes[body..].windows(tag.len()).position(|w| w == tag).map_or(bytes.len(), |i| body + i + tag.len()))
}

/// Past the comment that starts at `at`, if one does. Block comments nest.
fn comment(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at..at + 2)? {
        b"--" => Some(bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |i| at + i)),
        b"/*" => {
            let (mut depth, mut at) = (1, at + 2);
            while depth > 0 {
                match bytes.get(at..at + 2) {
                    Some(b"/*") => (depth, at) = (depth + 1, at + 2),
                    Some(b"*/") => (depth, at) = (depth - 1, at + 2),
                    Some(_) => at += 1,
                    None => return Some(bytes.len()),
                }
            }
            Some(at)
        }
        _ => None,
    }
}

/// Whether `text` ends outside of any statement: what was typed can run.
pub fn is_complete(text: &str) -> bool {
    let mut from = 0;
    loop {
        match next_item(text, from) {
            (Item::End, _) => return true,
            (Item::Statement { complete: false, .. }, _) => return false,
            (_, next) => from = next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Vec<&str> {
        let (mut from, mut found) = (0, Vec::new());
        loop {
            let (item, next) = next_item(text, from);
            match item {
                Item::End => return found,
                Item::Command(range) | Item::Statement { range, .. } => found.push(&text[range]),
            }
            assert!(next > from);
            from = next;
        }
    }

    #[test]
    fn semicolons_in_quotes_and_comments_do_not_count() {
        assert_eq!(items("select ';'; select 2"), ["select ';'", "select 2"]);
        assert_eq!(items("select \"a;\"\"b;\" -- c;\n;;"), ["select \"a;\"\"b;\" -- c;\n"]);
        assert_eq!(items("/* a; /* b; */ c; */ select 1;"), ["select 1"]);
        assert_eq!(items("select $$;$$, $a$;$$;$a$; x"), ["select $$;$$, $a$;$$;$a$", "x"]);
        assert_eq!(items(r"select e'\';', 'a\'; b"), [r"select e'\';', 'a\'", "b"]);
        assert_eq!(items("select $1; b$$;$$"), ["select $1", "b$$", "$$"]);
    }

    #[test]
    fn commands_are_lines() {
        assert_eq!(items(".mode csv\nselect 1;\n\\d t\n-- end"), [".mode csv", "select 1", "\\d t"]);
        assert_eq!(items("select 1\n.5;"), ["select 1\n.5"]);
    }

    #[test]
    fn completeness() {
        for text in ["", ";", "select 1;", " -- x", ".help", "select 1; -- rest"] {
            assert!(is_complete(text), "{text}");
        }
        for text in ["select 1", "select ';", "select /* ;", "select 1; x", "select $$ ;"] {
            assert!(!is_complete(text), "{text}");
        }
    }

    #[test]
    fn any_bytes_end() {
        let alphabet: Vec<char> = "';\"$a-/*\\\n.eé ".chars().collect();
        let mut state = 1u64;
        for _ in 0..2000 {
            let mut text = String::new();
            for _ in 0..state % 24 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                text.push(alphabet[(state >> 33) as usize % alphabet.len()]);
            }
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            items(&text);
        }
    }
}
