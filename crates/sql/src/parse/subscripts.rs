//! `SET a[2] = ...` and `SET j['k'] = ...`, which the parser does not know: the subscripts travel beside the statement, and the
//! column's name says which are its own.

use sqlparser::ast::Expr;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::window::as_word;
use crate::dialect::MorselDialect;

/// What is between a column's name and the number of its subscripts: no name has it.
const MARK: char = '\u{1}';

/// Subscripts of columns that SET names.
pub(crate) type Subscripts = Vec<Vec<Expr>>;

/// The tokens without the subscripts, and these.
pub(super) fn take(mut tokens: Vec<TokenWithSpan>) -> Result<(Vec<TokenWithSpan>, Subscripts), ParserError> {
    let is = |token: &Token, wanted: &str| as_word(token).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted));
    let has = |wanted: &Token| tokens.iter().any(|t| t.token == *wanted);
    let mut all = Vec::new();
    if !has(&Token::LBracket) || !tokens.iter().any(|t| is(&t.token, "set")) {
        return Ok((tokens, all));
    }
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let token = |at: usize| visible.get(at).map(|&i| &tokens[i].token);
    let (mut found, mut depth, mut in_set) = (Vec::new(), 0usize, None);
    for at in 1..visible.len() {
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
                let groups = begins.then(|| groups(&visible, &tokens, at + 1)).flatten();
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
            own.push(parser.parse_expr()?);
            if parser.peek_token_ref().token != Token::EOF {
                return parser.expected("] (slices are not assigned)", parser.peek_token());
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

/// The brackets from `at` on, each with its end, if `=` stands behind them.
fn groups(visible: &[usize], tokens: &[TokenWithSpan], mut at: usize) -> Option<Vec<(usize, usize)>> {
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
    (token(at) == Some(&Token::Eq)).then_some(groups)
}

/// The name of a column, and the number of its subscripts if it has some.
pub(crate) fn parted(name: &str) -> (&str, Option<usize>) {
    match name.split_once(MARK) {
        Some((name, number)) => (name, number.parse().ok()),
        None => (name, None),
    }
}
