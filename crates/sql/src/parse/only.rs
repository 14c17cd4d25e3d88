//! `ONLY t`: a table without its children. The parser knows it in few places; elsewhere it travels as the first part of the name.

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What it travels as: a name that nobody can write.
const ONLY: &str = "only ";

/// The name that means the table alone.
pub(crate) fn only(name: &ObjectName) -> ObjectName {
    if is_only(name) {
        return name.clone();
    }
    let mark = ObjectNamePart::Identifier(Ident::with_quote('"', ONLY));
    ObjectName([mark].into_iter().chain(name.0.iter().cloned()).collect())
}

/// Whether a name means the table alone.
pub(crate) fn is_only(name: &ObjectName) -> bool {
    matches!(name.0.first(), Some(ObjectNamePart::Identifier(first)) if first.value == ONLY && first.quote_style.is_some())
}

/// The parts of a name, without the mark.
pub(crate) fn unmarked(name: &ObjectName) -> &[ObjectNamePart] {
    if is_only(name) { &name.0[1..] } else { &name.0 }
}

/// Whether ONLY is a name before it.
fn is_after_only(keyword: Keyword) -> bool {
    matches!(keyword, Keyword::AS | Keyword::ON | Keyword::WHERE | Keyword::SET | Keyword::AND | Keyword::OR)
}

/// The tokens as the parser takes them. Their positions stay.
pub(super) fn carry(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_only = |token: &TokenWithSpan| matches!(&token.token, Token::Word(word) if word.keyword == Keyword::ONLY && word.quote_style.is_none());
    if !tokens.iter().any(is_only) {
        return tokens;
    }
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let at = |place: usize| visible.get(place).map(|&i| &tokens[i].token);
    let mut marks: Vec<usize> = Vec::new();
    let mut dropped: Vec<usize> = Vec::new();
    for place in 1..visible.len() {
        let is_place = match at(place - 1) {
            Some(Token::Comma) => true,
            Some(Token::Word(word)) if word.quote_style.is_none() => {
                matches!(
                    word.keyword,
                    Keyword::FROM | Keyword::JOIN | Keyword::UPDATE | Keyword::INTO | Keyword::USING | Keyword::ON
                )
            }
            _ => false,
        };
        if !is_place || !is_only(&tokens[visible[place]]) {
            continue;
        }
        match (at(place + 1), at(place + 2), at(place + 3)) {
            (Some(Token::LParen), Some(Token::Word(_)), _) => {
                let mut last = place + 2;
                while let (Some(Token::Period), Some(Token::Word(_))) = (at(last + 1), at(last + 2)) {
                    last += 2;
                }
                if at(last + 1) == Some(&Token::RParen) {
                    marks.push(visible[place]);
                    dropped.extend([visible[place + 1], visible[last + 1]]);
                }
            }
            (Some(Token::Word(word)), ..) if !is_after_only(word.keyword) => marks.push(visible[place]),
            _ => {}
        }
    }
    let mut out = Vec::with_capacity(tokens.len() + marks.len());
    for (place, token) in tokens.into_iter().enumerate() {
        let span = token.span;
        if marks.contains(&place) {
            out.push(TokenWithSpan::new(Token::make_word(ONLY, Some('"')), span));
            out.push(TokenWithSpan::new(Token::Period, span));
        } else if !dropped.contains(&place) {
            out.push(token);
        }
    }
    out
}
