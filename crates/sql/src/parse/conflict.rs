//! What the parser does not know of ON CONFLICT: keys that are expressions, and which rows an index has.

use sqlparser::ast::Expr;
use sqlparser::dialect::Dialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// `(keys) WHERE rows`: which index decides.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Arbiter {
    pub keys: Vec<Expr>,
    pub rows: Option<Expr>,
}

/// The tokens with the name of a constraint in place of keys that the parser does not know, and these. The name is not to be
/// looked at then. What cannot be read stays as it is.
pub(super) fn arbiter(
    mut tokens: Vec<TokenWithSpan>,
    dialect: &dyn Dialect,
) -> (Vec<TokenWithSpan>, Option<Box<Arbiter>>) {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let token = |at: usize| visible.get(at).map(|&i| &tokens[i].token);
    let is = |at: usize, name: &str| match token(at) {
        Some(Token::Word(word)) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case(name),
        _ => false,
    };
    if !is(0, "insert") && !is(0, "with") {
        return (tokens, None);
    }
    let begins = |at: &usize| is(*at, "on") && is(*at + 1, "conflict") && token(*at + 2) == Some(&Token::LParen);
    let Some(on) = (0..visible.len()).find(begins) else { return (tokens, None) };
    let first = on + 2;
    let Some(last) = closing(first, &token) else { return (tokens, None) };
    let is_plain = (first + 1..last).all(|at| matches!(token(at), Some(Token::Word(_) | Token::Comma)));
    let has_rows = is(last + 1, "where");
    if is_plain && !has_rows {
        return (tokens, None);
    }
    let end = if has_rows { (last + 2..visible.len()).find(|&at| is(at, "do")) } else { Some(last + 1) };
    let Some(end) = end else { return (tokens, None) };
    let between = |from: usize, to: usize| tokens[visible[from]..visible[to]].to_vec();
    let parser = |from: usize, to: usize| Parser::new(dialect).with_tokens_with_locations(between(from, to));
    let Ok(keys) = parser(first + 1, last).parse_comma_separated(Parser::parse_expr) else { return (tokens, None) };
    let mut rows = None;
    if has_rows {
        let mut parser = parser(last + 2, end);
        match parser.parse_expr() {
            Ok(expr) if parser.peek_token().token == Token::EOF => rows = Some(expr),
            _ => return (tokens, None),
        }
    }
    let span = tokens[visible[first]].span;
    let word = |value: &str, keyword: Keyword| TokenWithSpan {
        token: Token::Word(Word { value: value.to_owned(), quote_style: None, keyword }),
        span,
    };
    let space = TokenWithSpan { token: Token::Whitespace(sqlparser::tokenizer::Whitespace::Space), span };
    let named = [
        word("on", Keyword::ON),
        space.clone(),
        word("constraint", Keyword::CONSTRAINT),
        space.clone(),
        word("arbiter", Keyword::NoKeyword),
        space,
    ];
    tokens.splice(visible[first]..visible[end], named);
    (tokens, Some(Box::new(Arbiter { keys, rows })))
}

/// Where the parenthesis is closed that is opened there.
fn closing<'t>(open: usize, token: &impl Fn(usize) -> Option<&'t Token>) -> Option<usize> {
    let mut depth = 0_usize;
    (open..).map_while(|at| Some((at, token(at)?))).find_map(|(at, token)| {
        match token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}
