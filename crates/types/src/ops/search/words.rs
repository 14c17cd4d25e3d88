//! The words of a text.

/// What kind of word it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Of letters, maybe with hyphens between them.
    Word,
    /// A number, a host, an address, or letters and digits: none of these has a stem.
    Other,
}

/// The words of a text, in order. One with hyphens is followed by its parts.
pub(super) fn words(text: &str) -> Vec<(&str, Kind)> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let is_signed = matches!(c, '-' | '+') && rest[1..].starts_with(|c: char| c.is_ascii_digit());
        if c.is_ascii_digit() || is_signed {
            let end = number(rest, usize::from(is_signed));
            at += end;
            words.push((&rest[..end], Kind::Other));
        } else if c.is_alphabetic() {
            at += word(rest, &mut words);
        } else {
            at += c.len_utf8();
        }
    }
    words
}

/// Where the alphanumeric characters at the beginning end.
fn run(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len())
}

/// Where a number ends, or what begins with digits and has letters.
fn number(text: &str, from: usize) -> usize {
    let mut end = from + run(&text[from..]);
    if text[from..end].chars().all(|c| c.is_ascii_digit()) {
        let fraction = &text[end..];
        if fraction.starts_with('.') && fraction[1..].starts_with(|c: char| c.is_ascii_digit()) {
            end += 1 + run(&fraction[1..]);
        }
    }
    end
}

/// Puts down the word at the beginning, and says where it ends.
fn word<'t>(text: &'t str, words: &mut Vec<(&'t str, Kind)>) -> usize {
    let end = run(text);
    let kind = |word: &str| if word.chars().all(char::is_alphabetic) { Kind::Word } else { Kind::Other };
    // Parts of a name by dots or an @ are one word.
    let mut dotted = end;
    let mut separators = 0;
    while let Some(separator @ ('.' | '@')) = text[dotted..].chars().next() {
        let next = run(&text[dotted + 1..]);
        if next == 0 || separator == '@' && separators > 0 && text[..dotted].contains('@') {
            break;
        }
        dotted += 1 + next;
        separators += 1;
    }
    if separators > 0 {
        words.push((&text[..dotted], Kind::Other));
        return dotted;
    }
    let mut hyphenated = end;
    let mut parts = vec![&text[..end]];
    while text[hyphenated..].starts_with('-') {
        let next = run(&text[hyphenated + 1..]);
        if !text[hyphenated + 1..].starts_with(char::is_alphabetic) {
            break;
        }
        parts.push(&text[hyphenated + 1..hyphenated + 1 + next]);
        hyphenated += 1 + next;
    }
    if parts.len() > 1 {
        let whole = if parts.iter().all(|part| kind(part) == Kind::Word) { Kind::Word } else { Kind::Other };
        words.push((&text[..hyphenated], whole));
    }
    words.extend(parts.into_iter().map(|part| (part, kind(part))));
    hyphenated
}
