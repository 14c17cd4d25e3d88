//! `x.*` and `(x).*` where the parser takes no star: as arguments, among values, beside operators, behind parentheses. There the
//! star travels as a name that nobody can mean by it, quoted.

use sqlparser::ast::{AccessExpr, Expr, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What the star travels as.
const STAR: &str = "*";
/// What `*COLUMNS` travels as.
pub(crate) const UNPACKED: &str = "*columns";

/// Whether a part of a name is such a star.
pub(crate) fn is_star(ident: &Ident) -> bool {
    ident.quote_style.is_some() && ident.value == STAR
}

/// What stands before the star, if an expression ends with one: the parts of a name, or an expression with what is accessed of it.
pub(crate) enum Starred<'a> {
    Name(&'a [Ident]),
    Value(&'a Expr, &'a [AccessExpr]),
}

/// See [`Starred`].
pub(crate) fn starred(expr: &Expr) -> Option<Starred<'_>> {
    match expr {
        Expr::Nested(inner) => starred(inner),
        Expr::CompoundIdentifier(parts) => match parts.split_last() {
            Some((last, before)) if is_star(last) && !before.is_empty() => Some(Starred::Name(before)),
            _ => None,
        },
        Expr::CompoundFieldAccess { root, access_chain } => match access_chain.split_last() {
            Some((AccessExpr::Dot(Expr::Identifier(last)), before)) if is_star(last) => {
                Some(Starred::Value(root, before))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The tokens as the parser takes them. Their positions stay.
pub(super) fn carry(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut tokens = named_by_pattern(unpacked(tokens));
    if !tokens.windows(2).any(|pair| pair[0].token == Token::Period && pair[1].token == Token::Mul) {
        return tokens;
    }
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let at = |place: usize| visible.get(place).map(|&i| &tokens[i].token);
    let keyword = |place: usize| match at(place) {
        Some(Token::Word(word)) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    };
    let (mut open, mut stars) = (Vec::new(), Vec::new());
    for (place, &token) in visible.iter().enumerate() {
        match at(place) {
            Some(Token::LParen) => {
                let begins_query = matches!(
                    keyword(place + 1),
                    Some(Keyword::SELECT | Keyword::WITH | Keyword::FROM | Keyword::VALUES | Keyword::TABLE)
                );
                open.push(!begins_query);
            }
            Some(Token::RParen) => drop(open.pop()),
            Some(Token::Mul) if place >= 2 && at(place - 1) == Some(&Token::Period) => {
                // The first token of the name before it.
                let mut first = place - 2;
                while first >= 2 && at(first - 1) == Some(&Token::Period) && matches!(at(first), Some(Token::Word(_))) {
                    first -= 2;
                }
                let is_value = !matches!(at(place - 2), Some(Token::Word(_)))
                    || open.last() == Some(&true)
                    || at(place + 1).is_some_and(is_operator)
                    || first > 0 && at(first - 1).is_some_and(is_operator)
                    || first > 1
                        && keyword(first - 1) == Some(Keyword::FROM)
                        && keyword(first - 2) == Some(Keyword::DISTINCT);
                if is_value {
                    stars.push(token);
                }
            }
            _ => {}
        }
    }
    for star in stars {
        tokens[star].token = Token::make_word(STAR, Some('"'));
    }
    tokens
}

/// The tokens with `"*columns"(...)` for `*COLUMNS(...)` among arguments, or the elements of a list.
fn unpacked(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_columns = |token: &Token| match token {
        Token::Word(word) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case("columns"),
        _ => false,
    };
    let stars: Vec<usize> = (1..tokens.len().saturating_sub(1))
        .filter(|&at| {
            let before = tokens[..at].iter().rev().find(|t| !matches!(t.token, Token::Whitespace(_)));
            tokens[at].token == Token::Mul
                && is_columns(&tokens[at + 1].token)
                && before.is_some_and(|t| matches!(t.token, Token::LParen | Token::LBracket | Token::Comma))
        })
        .collect();
    for at in stars.into_iter().rev() {
        tokens[at + 1].token = Token::make_word(UNPACKED, Some('"'));
        tokens.remove(at);
    }
    tokens
}

/// The tokens with a name for the string behind `COLUMNS('...') AS`, in which `\\1` is what the pattern has found.
fn named_by_pattern(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let keyword = |i: usize| match &tokens[i].token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    };
    // Their bodies are strings, too.
    let is_routine = visible
        .iter()
        .take(4)
        .any(|&i| matches!(keyword(i), Some(Keyword::FUNCTION | Keyword::PROCEDURE | Keyword::DO)));
    let name = |three: &[usize]| match &tokens[three[2]].token {
        Token::SingleQuotedString(name)
            if name.contains('\\')
                && keyword(three[1]) == Some(Keyword::AS)
                && tokens[three[0]].token == Token::RParen
                && !is_routine =>
        {
            Some((three[2], name.clone()))
        }
        _ => None,
    };
    let names: Vec<(usize, String)> = visible.windows(3).filter_map(name).collect();
    for (at, name) in names {
        tokens[at].token = Token::make_word(&name, Some('"'));
    }
    tokens
}

/// Whether a value stands on both sides of it.
fn is_operator(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.quote_style.is_none() && word.keyword == Keyword::IS,
        Token::Eq | Token::Neq | Token::Lt | Token::LtEq | Token::Gt | Token::GtEq | Token::DoubleColon => true,
        _ => false,
    }
}
