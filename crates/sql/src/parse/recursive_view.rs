//! `CREATE RECURSIVE VIEW v (a, b) AS query`, which is `CREATE VIEW v (a, b) AS WITH RECURSIVE v (a, b) AS (query) SELECT a, b FROM v`.

use sqlparser::ast::CreateView;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::window::as_word;

/// The tokens as the parser takes them. Their positions stay.
pub(super) fn carry(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let token = |place: usize| visible.get(place).map(|&i| &tokens[i].token);
    let is = |place: usize, wanted: &str| {
        token(place).and_then(as_word).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted))
    };
    let mut at = if is(1, "or") && is(2, "replace") { 3 } else { 1 };
    at += usize::from(is(at, "temp") || is(at, "temporary"));
    if !is(0, "create") || !is(at, "recursive") || !is(at + 1, "view") {
        return tokens;
    }
    let recursive = at;
    let mut name = at + 2;
    while token(name + 1) == Some(&Token::Period) {
        name += 2;
    }
    let (begin, end) = (name + 1, (name + 1..visible.len()).find(|&place| token(place) == Some(&Token::RParen)));
    let Some(end) = end.filter(|&end| token(begin) == Some(&Token::LParen) && is(end + 1, "as")) else { return tokens };
    let last =
        (end + 2..visible.len()).rev().find(|&place| !matches!(token(place), Some(Token::SemiColon | Token::EOF)));
    let Some(last) = last else { return tokens };
    let copied = |from: usize, to: usize| visible[from..to].iter().map(|&i| tokens[i].clone()).collect::<Vec<_>>();
    let (named, columns) = (copied(name, name + 1), copied(begin + 1, end));
    let span = tokens[visible[end + 1]].span;
    let word = |word: &str| TokenWithSpan { token: Token::make_keyword(word), span };
    let sign = |token: Token| TokenWithSpan { token, span };
    let behind: Vec<TokenWithSpan> = [sign(Token::RParen), word("SELECT")]
        .into_iter()
        .chain(columns.clone())
        .chain([word("FROM")])
        .chain(named.clone())
        .collect();
    let before: Vec<TokenWithSpan> = [word("WITH"), word("RECURSIVE")]
        .into_iter()
        .chain(named)
        .chain([sign(Token::LParen)])
        .chain(columns)
        .chain([sign(Token::RParen), word("AS"), sign(Token::LParen)])
        .collect();
    let (last, query, recursive) = (visible[last], visible[end + 1] + 1, visible[recursive]);
    tokens.splice(last + 1..last + 1, behind);
    tokens.splice(query..query, before);
    tokens.remove(recursive);
    tokens
}

/// The query of a view as it is written, as the whole one that it stands for, if it is recursive.
pub(crate) fn whole(text: &str, query: &str, view: &CreateView) -> Option<String> {
    let mut words = text.split_whitespace().take_while(|word| !word.eq_ignore_ascii_case("view"));
    let is_recursive = words.any(|word| word.eq_ignore_ascii_case("recursive"));
    let name = view.name.0.last().filter(|_| is_recursive)?;
    let columns: Vec<String> = view.columns.iter().map(|column| column.name.to_string()).collect();
    let columns = columns.join(", ");
    Some(format!("WITH RECURSIVE {name} ({columns}) AS ({query}) SELECT {columns} FROM {name}"))
}
