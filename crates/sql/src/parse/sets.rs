//! `GROUP BY DISTINCT`, and GROUPING SETS in GROUPING SETS, which the parser does not know. They travel through it as
//! placeholders and a function that nobody can write: a first element, an empty set, and a call whose arguments are the sets.

use sqlparser::ast::{Expr, Function, Ident, ObjectNamePart, Value};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

const DISTINCT: &str = "distinct sets";
const NO_KEYS: &str = "no keys";
/// What inner GROUPING SETS are called, in quotes that are none of SQL's.
const SETS: &str = "grouping sets";
const QUOTE: char = '[';

/// Whether an element says that equal sets count once.
pub(crate) fn is_distinct(expr: &Expr) -> bool {
    is_placeholder(expr, DISTINCT)
}

/// Whether an element is the set without keys.
pub(crate) fn is_no_keys(expr: &Expr) -> bool {
    is_placeholder(expr, NO_KEYS)
}

/// Whether a call is inner GROUPING SETS.
pub(crate) fn are_sets(function: &Function) -> bool {
    let is_name = |ident: &Ident| ident.quote_style == Some(QUOTE) && ident.value == SETS;
    matches!(function.name.0.as_slice(), [ObjectNamePart::Identifier(ident)] if is_name(ident))
}

fn is_placeholder(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Value(value) if matches!(&value.value, Value::Placeholder(found) if found == name))
}

/// The tokens as the parser takes them. Their positions stay.
pub(super) fn carry(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|t| keyword(&t.token) == Some(Keyword::GROUP)) {
        return tokens;
    }
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // For each open parenthesis, whether it is that of GROUPING SETS, or stands in one that is.
    let mut open: Vec<bool> = Vec::new();
    let mut last: [Option<Token>; 2] = [None, None];
    for mut token in tokens {
        if let Token::Whitespace(_) = token.token {
            out.push(token);
            continue;
        }
        let before = |at: usize, wanted: Keyword| last[at].as_ref().and_then(keyword) == Some(wanted);
        let (in_sets, follows_sets) = (open.last().copied().unwrap_or(false), last[1].as_ref().is_some_and(is_sets));
        let seen = token.token.clone();
        match &token.token {
            Token::LParen => open.push(follows_sets),
            Token::RParen => {
                open.pop();
            }
            word if keyword(word) == Some(Keyword::DISTINCT) && before(0, Keyword::GROUP) && before(1, Keyword::BY) => {
                let comma = TokenWithSpan::new(Token::Comma, token.span);
                token.token = Token::Placeholder(DISTINCT.to_owned());
                out.push(std::mem::replace(&mut token, comma));
            }
            word if in_sets && is_sets(word) && last[1].as_ref().is_some_and(is_grouping) => {
                // GROUPING has gone before.
                while let Some(before) = out.pop() {
                    if is_grouping(&before.token) {
                        break;
                    }
                }
                let name = Word { value: SETS.to_owned(), quote_style: Some(QUOTE), keyword: Keyword::NoKeyword };
                token.token = Token::Word(name);
            }
            _ => {}
        }
        out.push(token);
        last = [last[1].take(), Some(seen)];
    }
    enclosed(without_empty_arguments(out))
}

/// Each element of sets that begins with a parenthesis and goes on behind it, which the parser takes for a list of keys, in parentheses
/// of its own.
fn enclosed(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let token = |at: usize| &tokens[visible[at]].token;
    let has_sets = |word: &Token| is_sets(word) || matches!(keyword(word), Some(Keyword::ROLLUP | Keyword::CUBE));
    // For each open parenthesis: whether it is that of sets, where its element begins, and whether that goes on behind a parenthesis.
    let mut open: Vec<(bool, usize, bool)> = Vec::new();
    let mut marks: Vec<(usize, Token)> = Vec::new();
    for at in 0..visible.len() {
        let ends = matches!(token(at), Token::Comma | Token::RParen);
        if let Some((true, begin, goes_on)) = open.last_mut() {
            if ends && *goes_on {
                marks.extend([(visible[*begin], Token::LParen), (visible[at], Token::RParen)]);
            }
            let follows = at > *begin && *token(*begin) == Token::LParen && *token(at - 1) == Token::RParen;
            *goes_on = !ends && (*goes_on || follows);
            if ends {
                *begin = at + 1;
            }
        }
        match token(at) {
            Token::LParen => open.push((at > 0 && has_sets(token(at - 1)), at + 1, false)),
            Token::RParen => {
                open.pop();
            }
            _ => {}
        }
    }
    if marks.is_empty() {
        return tokens;
    }
    marks.sort_by_key(|(at, _)| *at);
    let mut marks = marks.into_iter().peekable();
    let mut out = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.into_iter().enumerate() {
        while let Some((_, mark)) = marks.next_if(|(place, _)| *place == at) {
            out.push(TokenWithSpan::new(mark, token.span));
        }
        out.push(token);
    }
    out
}

/// Each `()` among the arguments of inner GROUPING SETS becomes the set without keys.
fn without_empty_arguments(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_inner = |token: &Token| matches!(token, Token::Word(word) if word.quote_style == Some(QUOTE));
    if !tokens.iter().any(|t| is_inner(&t.token)) {
        return tokens;
    }
    let visible: Vec<TokenWithSpan> = tokens.into_iter().filter(|t| !matches!(t.token, Token::Whitespace(_))).collect();
    let (mut out, mut open) = (Vec::with_capacity(visible.len()), Vec::new());
    let mut tokens = visible.into_iter().peekable();
    while let Some(mut token) = tokens.next() {
        match token.token {
            Token::LParen if open.last() == Some(&true) && tokens.peek().is_some_and(|t| t.token == Token::RParen) => {
                tokens.next();
                token.token = Token::Placeholder(NO_KEYS.to_owned());
            }
            Token::LParen => open.push(out.last().is_some_and(|t: &TokenWithSpan| is_inner(&t.token))),
            Token::RParen => {
                open.pop();
            }
            _ => {}
        }
        out.push(token);
    }
    out
}

fn keyword(token: &Token) -> Option<Keyword> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

fn is_grouping(token: &Token) -> bool {
    keyword(token) == Some(Keyword::GROUPING)
}

fn is_sets(token: &Token) -> bool {
    keyword(token) == Some(Keyword::SETS)
}
