//! `RETURNING WITH (OLD AS o, NEW AS n) ...`, which the parser does not know: each name travels through it as the first items, a
//! placeholder that nobody can write.

use sqlparser::ast::{Expr, SelectItem, Value};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::window::as_word;

/// A version of a row that a statement has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    Old,
    New,
}

const OLD: &str = "old as ";
const NEW: &str = "new as ";

/// The name that an item carries, and what it names.
pub(crate) fn named_version(item: &SelectItem) -> Option<(Version, String)> {
    let SelectItem::UnnamedExpr(Expr::Value(value)) = item else { return None };
    let Value::Placeholder(carried) = &value.value else { return None };
    let of = |prefix: &str, version: Version| Some((version, carried.strip_prefix(prefix)?.to_owned()));
    of(OLD, Version::Old).or_else(|| of(NEW, Version::New))
}

/// The tokens as the parser takes them. What does not read as such a list stays as it is.
pub(super) fn carry(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut from = 0;
    while let Some(begin) = next_list(&tokens, from) {
        from = begin + 1;
        if let Some((end, names)) = list(&tokens, begin) {
            let span = tokens[begin].span;
            let carried = names.into_iter().flat_map(|name| [Token::Placeholder(name), Token::Comma]);
            let carried: Vec<_> = carried.map(|token| TokenWithSpan { token, span }).collect();
            tokens.splice(begin..end, carried);
        }
    }
    tokens
}

/// Where the WITH of the next RETURNING WITH is.
fn next_list(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let is = |at: usize, name: &str| as_word(&tokens[at].token).is_some_and(|w| w.value.eq_ignore_ascii_case(name));
    (from..tokens.len()).filter(|&at| is(at, "returning")).find_map(|at| {
        let with = visible(tokens, at + 1).next()?;
        is(with, "with").then_some(with)
    })
}

fn visible(tokens: &[TokenWithSpan], from: usize) -> impl Iterator<Item = usize> {
    (from..tokens.len()).filter(|&at| !matches!(tokens[at].token, Token::Whitespace(_)))
}

/// What `WITH (OLD AS o, NEW AS n)` names, and where it ends.
fn list(tokens: &[TokenWithSpan], with: usize) -> Option<(usize, Vec<String>)> {
    let mut places = visible(tokens, with + 1);
    let mut next = || places.next().map(|at| (at, &tokens[at].token));
    let mut names = Vec::new();
    let (_, Token::LParen) = next()? else { return None };
    loop {
        let version = as_word(next()?.1)?;
        let prefix = match () {
            () if version.value.eq_ignore_ascii_case("old") => OLD,
            () if version.value.eq_ignore_ascii_case("new") => NEW,
            () => return None,
        };
        as_word(next()?.1).filter(|word| word.value.eq_ignore_ascii_case("as"))?;
        let (_, Token::Word(name)) = next()? else { return None };
        let name = if name.quote_style.is_some() { name.value.clone() } else { name.value.to_lowercase() };
        names.push(format!("{prefix}{name}"));
        match next()? {
            (_, Token::Comma) => {}
            (end, Token::RParen) => return Some((end + 1, names)),
            _ => return None,
        }
    }
}
