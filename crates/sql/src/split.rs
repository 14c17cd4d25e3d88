//! Cutting a script into statements at semicolons, without parsing it: what a shell does with its input.

use std::ops::Range;

/// One statement of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Byte range of its text, without the semicolon and the white space and comments before it.
    pub range: Range<usize>,
    /// Whether a semicolon ends it; if not, a shell asks for more.
    pub terminated: bool,
    /// Whether the text ends inside of a string, quoted name, comment or dollar quote.
    pub unclosed: bool,
    /// Where what follows begins: after the semicolon, or at the end of the script.
    pub next: usize,
}

/// Cuts `script` at semicolons outside of strings, quoted names, comments and dollar quotes. Empty statements are left out.
/// Linear in the length; never fails.
pub fn split(script: &str) -> Vec<Piece> {
    let mut from = 0;
    std::iter::from_fn(|| {
        let piece = next_piece(script, from)?;
        from = piece.next;
        Some(piece)
    })
    .collect()
}

/// The first statement at or after byte `from`, which is outside of all quotes and comments. The data of a COPY ... FROM STDIN
/// are a part of it.
pub fn next_piece(script: &str, from: usize) -> Option<Piece> {
    let piece = plain_piece(script, from)?;
    let Some((data, next)) = data_of(script, &piece) else { return Some(piece) };
    Some(Piece {
        range: piece.range.start..data.end,
        terminated: next.is_some(),
        next: next.unwrap_or(script.len()),
        ..piece
    })
}

/// The first statement of a text and the data that follow it, if it is a COPY ... FROM STDIN: the lines behind that of its
/// semicolon, up to one that is `\.`.
pub fn given_data(text: &str) -> (&str, Option<&str>) {
    // Nothing else is looked through for its end.
    let begins = || Some(plain_piece(text, 0)?).filter(|piece| reads_stdin(&text[piece.range.clone()]));
    let begin = text.trim_start();
    let is_copy = begin.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("copy"));
    if !is_copy && !begin.starts_with(['-', '/']) || !text.contains('\n') {
        return (text, None);
    }
    match begins().and_then(|piece| Some((data_of(text, &piece)?.0, piece))) {
        Some((data, piece)) => (&text[..piece.range.end], Some(&text[data])),
        None => (text, None),
    }
}

/// How many bytes of a script from `from` on are statements and not data of them.
pub fn bytes_of_statements(script: &str, from: usize) -> usize {
    let (mut at, mut bytes) = (from, 0);
    while let Some(piece) = next_piece(script, at) {
        bytes += given_data(&script[piece.range.clone()]).0.len();
        at = piece.next;
    }
    bytes
}

/// The data behind a COPY ... FROM STDIN, and where to go on; not there if nothing ends them.
fn data_of(script: &str, piece: &Piece) -> Option<(Range<usize>, Option<usize>)> {
    if !piece.terminated || !reads_stdin(&script[piece.range.clone()]) {
        return None;
    }
    let line = script[piece.next..].find('\n')?;
    if !script[piece.next..piece.next + line].trim().is_empty() {
        return None;
    }
    let begin = piece.next + line + 1;
    let mut at = begin;
    for line in script[begin..].split_inclusive('\n') {
        if line.trim_end_matches(['\n', '\r']) == "\\." {
            return Some((begin..at, Some(at + line.len())));
        }
        at += line.len();
    }
    Some((begin..script.len(), None))
}

/// Whether a statement is a COPY ... FROM STDIN, whose data come in the lines behind it.
pub fn reads_stdin(statement: &str) -> bool {
    let is_copy = statement.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("copy"));
    let is = |word: Option<&str>, name: &str| word.is_some_and(|word| word.eq_ignore_ascii_case(name));
    let mut words = statement.split_ascii_whitespace().peekable();
    is_copy
        && std::iter::from_fn(|| Some((words.next()?, words.peek().copied())))
            .any(|(a, b)| is(Some(a), "from") && is(b, "stdin"))
}

/// The first statement, up to its semicolon.
fn plain_piece(script: &str, from: usize) -> Option<Piece> {
    let bytes = script.as_bytes();
    let (mut at, mut start, mut end, mut depth) = (from, None, from, 0usize);
    while at < bytes.len() {
        let opened = at;
        let next = match bytes[at] {
            // Between the actions of a rule.
            b';' if depth > 0 && start.is_some_and(|start| makes_rule(&script[start..at])) => Some(at + 1),
            b';' if start.is_some_and(|start| is_in_body(&script[start..at])) => Some(at + 1),
            b';' => {
                at += 1;
                match start {
                    Some(start) => {
                        return Some(Piece { range: start..end, terminated: true, unclosed: false, next: at });
                    }
                    None => continue,
                }
            }
            b if b.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                at = memchr(b'\n', bytes, at).unwrap_or(bytes.len());
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => match comment_end(bytes, at) {
                Some(next) => {
                    at = next;
                    continue;
                }
                // An open comment is text that a shell must not take for the end of the statement.
                None => None,
            },
            b'\'' => string_end(bytes, at, b'\'', escapes(bytes, at)),
            b'"' => string_end(bytes, at, b'"', false),
            b'$' if !is_word_before(bytes, at) => dollar_end(bytes, at),
            b'(' => {
                depth += 1;
                Some(at + 1)
            }
            b')' => {
                depth = depth.saturating_sub(1);
                Some(at + 1)
            }
            _ => Some(at + 1),
        };
        let start = *start.get_or_insert(opened);
        let Some(next) = next else {
            let range = start..bytes.len();
            return Some(Piece { range, terminated: false, unclosed: true, next: bytes.len() });
        };
        (at, end) = (next, next);
    }
    start.map(|start| Piece { range: start..end, terminated: false, unclosed: false, next: bytes.len() })
}

/// Whether a statement is a CREATE RULE, whose actions may be several in parentheses.
fn makes_rule(statement: &str) -> bool {
    let words: Vec<String> = statement.split_ascii_whitespace().take(4).map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    matches!(words.as_slice(), ["create", "rule", ..] | ["create", "or", "replace", "rule"])
}

/// Whether a text is a CREATE FUNCTION or PROCEDURE up to some place in its BEGIN ATOMIC ... END.
fn is_in_body(statement: &str) -> bool {
    let is_create = statement.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("create"));
    if !is_create || !statement.to_ascii_lowercase().contains("atomic") {
        return false;
    }
    let words = words(statement);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let makes = if words.get(1..3) == Some(&["or", "replace"]) { words.get(3) } else { words.get(1) };
    if !matches!(makes, Some(&("function" | "procedure"))) {
        return false;
    }
    let Some(begin) = words.windows(2).position(|pair| pair == ["begin", "atomic"]) else { return false };
    let mut depth = 1;
    for word in &words[begin + 2..] {
        match *word {
            "case" | "begin" => depth += 1,
            "end" => depth -= 1,
            _ => {}
        }
    }
    depth > 0
}

/// The words of a text outside of quotes and comments, in lower case.
fn words(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let (mut at, mut words) = (0, Vec::new());
    while at < bytes.len() {
        let next = match bytes[at] {
            b'-' if bytes.get(at + 1) == Some(&b'-') => memchr(b'\n', bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'*') => comment_end(bytes, at),
            b'\'' => string_end(bytes, at, b'\'', escapes(bytes, at)),
            b'"' => string_end(bytes, at, b'"', false),
            b'$' => dollar_end(bytes, at),
            b if is_word(b) => {
                let end = bytes[at..].iter().position(|&b| !is_word(b) && b != b'$').map_or(bytes.len(), |by| at + by);
                words.push(text[at..end].to_ascii_lowercase());
                Some(end)
            }
            _ => Some(at + 1),
        };
        at = next.unwrap_or(bytes.len());
    }
    words
}

fn memchr(byte: u8, bytes: &[u8], from: usize) -> Option<usize> {
    bytes[from..].iter().position(|&b| b == byte).map(|i| from + i)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn is_word_before(bytes: &[u8], at: usize) -> bool {
    at > 0 && (is_word(bytes[at - 1]) || bytes[at - 1] == b'$')
}

/// Whether the string at `at` is an `E'...'` string, in which a backslash escapes.
fn escapes(bytes: &[u8], at: usize) -> bool {
    at > 0 && matches!(bytes[at - 1], b'e' | b'E') && !is_word_before(bytes, at - 1)
}

/// After the closing quote of a string at `at`; a doubled quote does not close it.
pub(crate) fn string_end(bytes: &[u8], at: usize, quote: u8, escapes: bool) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match *bytes.get(at)? {
            b'\\' if escapes => at += 2,
            b if b == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            b if b == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// After a comment, which may contain comments.
pub(crate) fn comment_end(bytes: &[u8], at: usize) -> Option<usize> {
    let (mut at, mut depth) = (at, 0usize);
    loop {
        match (*bytes.get(at)?, bytes.get(at + 1)) {
            (b'/', Some(b'*')) => {
                depth += 1;
                at += 2;
            }
            (b'*', Some(b'/')) => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
}

/// After a dollar-quoted string at `at`, or after the dollar if it begins none (`$1`).
pub(crate) fn dollar_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut tag_end = at + 1;
    while bytes.get(tag_end).is_some_and(|&b| is_word(b)) {
        tag_end += 1;
    }
    if bytes.get(tag_end) != Some(&b'$') || bytes[at + 1].is_ascii_digit() {
        return Some(at + 1);
    }
    let tag = &bytes[at..=tag_end];
    let mut from = tag_end + 1;
    while let Some(next) = memchr(b'$', bytes, from) {
        if bytes[next..].starts_with(tag) {
            return Some(next + tag.len());
        }
        from = next + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(script: &str) -> Vec<&str> {
        split(script).into_iter().map(|p| &script[p.range]).collect()
    }

    #[test]
    fn semicolons_inside_of_quotes_do_not_split() {
        assert_eq!(texts("select 1; select 2"), ["select 1", "select 2"]);
        assert_eq!(texts("select ';''\\' ; x"), ["select ';''\\'", "x"]);
        assert_eq!(texts(r"select E'\';' ; x"), [r"select E'\';'", "x"]);
        assert_eq!(
            texts("select \";\" /* ; /* ; */ ; */ -- ;\n + 1;; ; x"),
            ["select \";\" /* ; /* ; */ ; */ -- ;\n + 1", "x"]
        );
        assert_eq!(texts("select $$;$$, $a$;$$;$a$, $1;x"), ["select $$;$$, $a$;$$;$a$, $1", "x"]);
        // A dollar inside of a name quotes nothing.
        assert_eq!(texts("select x$$a$;1"), ["select x$$a$", "1"]);
        assert_eq!(texts(" -- nothing\n ; /* */ "), [""; 0]);
        assert_eq!(texts("-- first\nselect 'ä;' ;"), ["select 'ä;'"]);
    }

    #[test]
    fn data_belong_to_their_statement() {
        let script = "x; COPY t (a) FROM stdin;\n1;\t'\n\\N\n\\.\n\nselect 1; copy u from STDIN;\n2\n";
        assert_eq!(texts(script), ["x", "COPY t (a) FROM stdin;\n1;\t'\n\\N\n", "select 1", "copy u from STDIN;\n2\n"]);
        assert_eq!(given_data(texts(script)[1]), ("COPY t (a) FROM stdin", Some("1;\t'\n\\N\n")));
        assert_eq!(given_data("copy t from stdin;\n\\.\n"), ("copy t from stdin", Some("")));
        assert_eq!(given_data("copy t from stdin"), ("copy t from stdin", None));
        assert_eq!(given_data("copy t from 'a';\nselect 1"), ("copy t from 'a';\nselect 1", None));
        assert!(!split(script)[3].terminated);
        assert_eq!(bytes_of_statements(script, 0), 1 + 21 + 8 + 17);
    }

    #[test]
    fn bodies_of_functions_are_not_split() {
        let body = "create or replace function f() returns int begin atomic select 'end'; -- end\n select case when true then 1 end; end";
        assert_eq!(texts(&format!("{body}; select 1")), [body, "select 1"]);
        assert_eq!(texts("create procedure p() begin atomic x; END; begin; end")[1..], ["begin", "end"]);
        assert_eq!(texts("create table atomic (a int); begin; x; end").len(), 4);
    }

    #[test]
    fn what_is_left_open_is_said() {
        let open = |script: &str| split(script).last().is_some_and(|p| p.unclosed);
        for script in ["select '", "x; select \"a", "select $q$ $$", "/* x", "select /* x", r"select e'\'"] {
            assert!(open(script), "{script}");
        }
        assert_eq!(texts("x; /* y"), ["x", "/* y"]);
        assert!(!open("select 1"));
        assert!(!split("select 1")[0].terminated);
        assert!(split("select 1 ;")[0].terminated);
    }
}
