//! What a script of the shell consists of: statements, which end where the engine says, and commands, which are lines.

use std::ops::Range;

use engine::{given_data, next_piece, reads_stdin};

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
    let Some(piece) = next_piece(text, from) else { return (Item::End, text.len()) };
    let start = piece.range.start;
    if text[start..].starts_with(['.', '\\']) {
        let end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        return (Item::Command(start..end), end);
    }
    (Item::Statement { range: piece.range, complete: piece.terminated }, piece.next)
}

/// Whether `text` ends outside of any statement: what was typed can run.
pub fn is_complete(text: &str) -> bool {
    let mut from = 0;
    loop {
        match next_item(text, from) {
            (Item::End, _) => return true,
            (Item::Statement { complete: false, .. }, _) => return false,
            // Its data are still to come.
            (Item::Statement { range, .. }, next)
                if next == text.len()
                    && reads_stdin(&text[range.clone()])
                    && given_data(&text[range.clone()]).1.is_none() =>
            {
                return false;
            }
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
    fn commands_are_lines() {
        assert_eq!(items(".mode csv\nselect 1;\n\\d t\n-- end"), [".mode csv", "select 1", "\\d t"]);
        assert_eq!(items("select 1\n.5;"), ["select 1\n.5"]);
        assert_eq!(items(".read it's\n select 'a;'; x"), [".read it's", "select 'a;'", "x"]);
    }

    #[test]
    fn statements_end_where_the_engine_says() {
        assert_eq!(items("select x$$a$;1"), ["select x$$a$", "1"]);
        assert_eq!(items("select 1; /* open"), ["select 1", "/* open"]);
        assert_eq!(items("/* a; /* b; */ c; */ select ';';"), ["select ';'"]);
    }

    #[test]
    fn completeness() {
        for text in ["", ";", "select 1;", " -- x", ".help", "select 1; -- rest", "copy t from stdin;\n1\n\\."] {
            assert!(is_complete(text), "{text}");
        }
        for text in [
            "select 1",
            "select ';",
            "select /* ;",
            "select 1; x",
            "select $$ ;",
            "select 1; /* x",
            "copy t from stdin;",
            "copy t from stdin;\n1",
        ] {
            assert!(!is_complete(text), "{text}");
        }
    }

    #[test]
    fn any_bytes_end() {
        let alphabet: Vec<char> = "';\"$a-/*\\\n.eé ".chars().collect();
        let mut random = base::Random(1);
        for _ in 0..2000 {
            let mut text = String::new();
            for _ in 0..random.below(24) {
                text.push(random.pick(&alphabet));
            }
            items(&text);
        }
    }
}
