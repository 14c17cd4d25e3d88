//! `FROM (DESCRIBE t)`, `(SUMMARIZE SELECT ...)`, `(SHOW TABLES)`: statements of DuckDB that are tables, written as queries of functions
//! that nobody can call otherwise.

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};

use super::window::as_word;
use crate::dialect::MorselDialect;

/// What the functions travel as.
const DESCRIBE: &str = "#describe";
const SUMMARIZE: &str = "#summarize";
/// What a query begins with.
const QUERIES: [&str; 6] = ["select", "from", "values", "with", "pivot", "unpivot"];

/// What such a function does with its query.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Described {
    /// A row for each column, with its type.
    Columns,
    /// A row for each column, with figures of its values.
    Figures,
}

/// Which of them has this name.
pub(crate) fn described(name: &ObjectName) -> Option<Described> {
    let [ObjectNamePart::Identifier(Ident { value, quote_style: Some(_), .. })] = name.0.as_slice() else {
        return None;
    };
    match value.as_str() {
        DESCRIBE => Some(Described::Columns),
        SUMMARIZE => Some(Described::Figures),
        _ => None,
    }
}

/// The tokens as the parser takes them. Positions are those of their words.
pub(super) fn carry(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    // The last one first: what is within another has been written by then.
    let mut before = tokens.len();
    while let Some((at, end, instead)) = (0..before).rev().find_map(|at| written(&tokens, at)) {
        before = at;
        tokens.splice(at..end, instead);
    }
    tokens
}

/// What stands instead of such a statement in brackets that begins there, and what is behind it.
fn written(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, usize, Vec<TokenWithSpan>)> {
    let is = |at: usize, wanted: &str| {
        tokens.get(at).and_then(|t| as_word(&t.token)).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted))
    };
    let next = |mut at: usize| {
        while matches!(tokens.get(at).map(|t| &t.token), Some(Token::Whitespace(_))) {
            at += 1;
        }
        at
    };
    let before = |at: usize| (0..at).rev().find(|&at| !matches!(tokens[at].token, Token::Whitespace(_)));
    let previous = before(at)?;
    let function = match () {
        () if tokens[previous].token != Token::LParen => return None,
        () if is(at, "describe") || is(at, "desc") || is(at, "show") => DESCRIBE,
        () if is(at, "summarize") => SUMMARIZE,
        () => return None,
    };
    // Elsewhere these words are names of what is defined: `CREATE TABLE t (show text)`.
    let around = before(previous)?;
    let is_cte = || {
        let name = before(around)?;
        let with = before(name)?;
        let begins = is(with, "with") || is(with, "recursive") || tokens[with].token == Token::Comma;
        (is(around, "as") && begins).then_some(())
    };
    if !is(around, "from") && !is(around, "join") && tokens[around].token != Token::Comma && is_cte().is_none() {
        return None;
    }
    let end = closing(tokens, previous)?;
    let first = next(at + 1);
    let span = tokens[at].span;
    let made = |text: &str| -> Vec<TokenWithSpan> {
        let tokens = Tokenizer::new(&MorselDialect, text).tokenize().expect("a text of ours");
        tokens.into_iter().map(|token| TokenWithSpan { token, span }).collect()
    };
    if is(at, "show") && (is(first, "tables") || is(first, "all") && is(next(first + 1), "tables")) {
        let expanded = if is(first, "all") { "_expanded" } else { "" };
        return Some((at, end, made(&format!("SELECT * FROM pragma_show_tables{expanded}()"))));
    }
    let first = if is(first, "table") { next(first + 1) } else { first };
    let is_query = QUERIES.iter().any(|word| is(first, word)) || tokens[first].token == Token::LParen;
    // Behind a name there is nothing, or the arguments of a function.
    let is_name = match &tokens[first].token {
        Token::Word(_) | Token::SingleQuotedString(_) => {
            let mut last = first;
            while tokens.get(next(last + 1)).is_some_and(|t| t.token == Token::Period) {
                last = next(next(last + 1) + 1);
            }
            let behind = next(last + 1);
            let is_call = tokens.get(behind).is_some_and(|t| t.token == Token::LParen)
                && closing(tokens, behind).is_some_and(|close| next(close + 1) == end);
            behind == end || is_call
        }
        _ => false,
    };
    if !is_query && !is_name {
        return None;
    }
    let name = Word { value: function.to_owned(), quote_style: Some('"'), keyword: Keyword::NoKeyword };
    let mut instead = made("SELECT * FROM ");
    instead.push(TokenWithSpan { token: Token::Word(name), span });
    instead.extend(made(if is_query { "((" } else { "((SELECT * FROM " }));
    instead.extend_from_slice(&tokens[first..end]);
    instead.extend(made("))"));
    Some((at, end, instead))
}

/// The bracket that closes one.
fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0;
    (open..tokens.len()).find(|&at| {
        match tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}
