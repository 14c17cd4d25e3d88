//! `SET a[2] = ...` and `SET j['k'] = ...`, which the parser does not know: the subscripts travel beside the statement, and the
//! column's name says which are its own.

use std::ops::Range;

use sqlparser::ast::Expr;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::window::as_word;
use crate::dialect::MorselDialect;

/// What is between a column's name and the number of its subscripts: no name has it.
const MARK: char = '\u{1}';

/// Subscripts of columns that SET names.
pub(crate) type Subscripts = Vec<Vec<Subscript>>;

/// What stands between two brackets.
#[derive(Clone, Debug)]
pub(crate) enum Subscript {
    /// An element of an array, or of a document.
    At(Box<Expr>),
    /// Elements from one to another.
    Slice(Option<Box<Expr>>, Option<Box<Expr>>),
}

/// The tokens without the subscripts, and these.
pub(super) fn take(mut tokens: Vec<TokenWithSpan>) -> Result<(Vec<TokenWithSpan>, Subscripts), ParserError> {
    let is = |token: &Token, wanted: &str| as_word(token).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted));
    let has = |wanted: &Token| tokens.iter().any(|t| t.token == *wanted);
    let mut all = Vec::new();
    if !has(&Token::LBracket) || !tokens.iter().any(|t| is(&t.token, "set") || is(&t.token, "into")) {
        return Ok((tokens, all));
    }
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let token = |at: usize| visible.get(at).map(|&i| &tokens[i].token);
    let (mut found, mut depth, mut in_set) = (Vec::new(), 0usize, None);
    let columns = columns_of_insert(&visible, &tokens);
    for at in 1..visible.len() {
        if columns.contains(&at) && token(at + 1) == Some(&Token::LBracket) {
            let groups = groups(&visible, &tokens, at + 1, &[Token::Comma, Token::RParen]);
            found.extend(groups.map(|groups| (at, groups)));
        }
        match token(at) {
            Some(Token::LParen | Token::LBracket) => depth += 1,
            Some(Token::RParen | Token::RBracket) => depth = depth.saturating_sub(1),
            Some(word) if is(word, "set") => in_set = Some(depth),
            Some(word) if ["where", "returning", "when"].iter().any(|end| is(word, end)) && in_set == Some(depth) => {
                in_set = None;
            }
            Some(word)
                if is(word, "from") && in_set == Some(depth) && token(at - 1).is_some_and(|w| !is(w, "distinct")) =>
            {
                in_set = None;
            }
            Some(Token::Word(_)) if in_set == Some(depth) && token(at + 1) == Some(&Token::LBracket) => {
                let begins = token(at - 1).is_some_and(|before| is(before, "set") || *before == Token::Comma);
                let groups = begins.then(|| groups(&visible, &tokens, at + 1, &[Token::Eq])).flatten();
                found.extend(groups.map(|groups| (at, groups)));
            }
            _ => {}
        }
    }
    let mut gone = Vec::new();
    for (number, (at, groups)) in found.into_iter().enumerate() {
        let mut own = Vec::with_capacity(groups.len());
        for &(open, close) in &groups {
            let inside = tokens[visible[open] + 1..visible[close]].to_vec();
            let mut parser = Parser::new(&MorselDialect).with_tokens_with_locations(inside);
            own.push(subscript(&mut parser)?);
            if parser.peek_token_ref().token != Token::EOF {
                return parser.expected("]", parser.peek_token());
            }
        }
        all.push(own);
        if let (Token::Word(word), Some((_, close))) = (&mut tokens[visible[at]].token, groups.last()) {
            word.value = format!("{}{MARK}{number}", word.value);
            gone.push((visible[at] + 1, visible[*close] + 1));
        }
    }
    for (first, end) in gone.into_iter().rev() {
        tokens.drain(first..end);
    }
    Ok((tokens, all))
}

/// A number or key, or two numbers with a colon between them, either of which may be missing.
fn subscript(parser: &mut Parser<'_>) -> Result<Subscript, ParserError> {
    let from = if parser.peek_token_ref().token == Token::Colon { None } else { Some(parser.parse_expr()?) };
    if !parser.consume_token(&Token::Colon) {
        return from
            .map_or_else(|| parser.expected("a subscript", parser.peek_token()), |at| Ok(Subscript::At(Box::new(at))));
    }
    let to = if parser.peek_token_ref().token == Token::EOF { None } else { Some(parser.parse_expr()?) };
    Ok(Subscript::Slice(from.map(Box::new), to.map(Box::new)))
}

/// Where the columns stand that INSERT names; nowhere, if it names none.
fn columns_of_insert(visible: &[usize], tokens: &[TokenWithSpan]) -> Range<usize> {
    let word = |at: usize| visible.get(at).and_then(|&i| as_word(&tokens[i].token));
    let is = |at: usize, wanted: &str| word(at).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted));
    let token = |at: usize| visible.get(at).map(|&i| &tokens[i].token);
    let Some(into) = (1..visible.len()).find(|&at| is(at, "into") && is(at - 1, "insert")) else { return 0..0 };
    let ends = ["select", "values", "with", "default", "overriding", "table", "by"];
    let mut open = into + 1;
    while word(open).is_some() && !ends.iter().any(|end| is(open, end)) || token(open) == Some(&Token::Period) {
        open += 1;
    }
    let is_list = token(open) == Some(&Token::LParen) && !ends.iter().any(|end| is(open + 1, end));
    let close = (open..visible.len()).find(|&at| token(at) == Some(&Token::RParen));
    close.filter(|_| is_list).map_or(0..0, |close| open + 1..close)
}

/// The brackets from `at` on, each with its end, if one of these stands behind them.
fn groups(visible: &[usize], tokens: &[TokenWithSpan], mut at: usize, behind: &[Token]) -> Option<Vec<(usize, usize)>> {
    let token = |at: usize| visible.get(at).map(|&i| &tokens[i].token);
    let mut groups = Vec::new();
    while token(at) == Some(&Token::LBracket) {
        let mut depth = 0usize;
        let close = (at..visible.len()).find(|&end| {
            match token(end) {
                Some(Token::LBracket | Token::LParen) => depth += 1,
                Some(Token::RBracket | Token::RParen) => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        })?;
        groups.push((at, close));
        at = close + 1;
    }
    token(at).is_some_and(|token| behind.contains(token)).then_some(groups)
}

/// The name of a column, and the number of its subscripts if it has some.
pub(crate) fn parted(name: &str) -> (&str, Option<usize>) {
    match name.split_once(MARK) {
        Some((name, number)) => (name, number.parse().ok()),
        None => (name, None),
    }
}
