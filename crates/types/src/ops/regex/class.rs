//! Classes of characters: PostgreSQL's names, over Unicode. Digits are 0 to 9; spaces are those that do not hold words
//! together.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// The class of that name in `[[:name:]]`.
pub(super) fn named(name: &str) -> Option<ClassUnicode> {
    Some(of(match name {
        "alnum" => r"[\p{Alphabetic}\p{Nd}]",
        "alpha" => r"[\p{Alphabetic}\p{Nd}--0-9]",
        "ascii" => r"[\x00-\x7F]",
        "blank" => r"[\t\p{Zs}--[\u{A0}\u{2007}\u{202F}]]",
        "cntrl" => r"[\p{Cc}\u{2028}\u{2029}]",
        "digit" => "[0-9]",
        "graph" => r"[^\p{Cc}\p{Cn}\p{Z}]",
        "lower" => r"\p{Lowercase}",
        "print" => r"[^\p{Cc}\p{Cn}\u{2028}\u{2029}]",
        "punct" => r"[[^\p{Cc}\p{Cn}\p{Z}]--[\p{Alphabetic}\p{Nd}]]",
        "space" => r"[\s--[\u{85}\u{A0}\u{2007}\u{202F}]]",
        "upper" => r"\p{Uppercase}",
        "word" => r"\w",
        "xdigit" => "[0-9A-Fa-f]",
        _ => return None,
    }))
}

/// The characters between two, both included.
pub(super) fn range(first: char, last: char) -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new(first, last)])
}

pub(super) fn one(c: char) -> ClassUnicode {
    range(c, c)
}

/// Every character, but for a new line if `lines` count.
pub(super) fn any(lines: bool) -> ClassUnicode {
    let mut class = range('\0', char::MAX);
    if lines {
        class.difference(&one('\n'));
    }
    class
}

/// Characters of a class whose cases are looked up one by one.
const FEW: usize = 2000;

/// With the upper and the lower case of its characters.
pub(super) fn folded(mut class: ClassUnicode) -> ClassUnicode {
    let characters: usize = class.ranges().iter().map(ClassUnicodeRange::len).sum();
    if characters > FEW {
        class.case_fold_simple();
        return class;
    }
    let single = |mut cases: Box<dyn Iterator<Item = char>>| cases.next().filter(|_| cases.next().is_none());
    let cases: Vec<char> = class
        .ranges()
        .iter()
        .flat_map(|r| r.start()..=r.end())
        .flat_map(|c| [single(Box::new(c.to_lowercase())), single(Box::new(c.to_uppercase()))])
        .flatten()
        .collect();
    class.union(&ClassUnicode::new(cases.into_iter().map(|c| ClassUnicodeRange::new(c, c))));
    class
}

pub(super) fn contains(class: &ClassUnicode, c: char) -> bool {
    let ranges = class.ranges();
    let at = ranges.partition_point(|r| r.end() < c);
    ranges.get(at).is_some_and(|r| r.start() <= c)
}

/// What the notation of `regex_syntax` describes.
fn of(notation: &str) -> ClassUnicode {
    let parsed = regex_syntax::parse(notation).map(regex_syntax::hir::Hir::into_kind);
    match parsed {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        // The notations above are classes.
        _ => ClassUnicode::empty(),
    }
}
