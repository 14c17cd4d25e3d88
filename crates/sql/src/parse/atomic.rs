//! The body of a function that is SQL of the statement itself, BEGIN ATOMIC ... END: it travels as the literal that other bodies are, in
//! dollar quotes of a tag that nobody can write.

use sqlparser::ast::DollarQuotedString;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

use crate::position::Positions;

/// The tag.
const MARK: &str = "#atomic";

/// Whether a literal is such a body.
pub(super) fn is_body(token: &TokenWithSpan) -> bool {
    matches!(&token.token, Token::DollarQuotedString(text) if text.tag.as_deref() == Some(MARK))
}

/// Puts the literal in the place of the body, if the statement has one; `text` is the statement's, which starts at byte `base`.
pub(super) fn carry(tokens: &mut Vec<TokenWithSpan>, (text, base): (&str, usize), positions: &Positions) {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let word = |at: usize| match visible.get(at).map(|&i| &tokens[i].token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => word.value.to_ascii_lowercase(),
        _ => String::new(),
    };
    let replaces = word(1) == "or" && word(2) == "replace";
    if word(0) != "create" || !["function", "procedure"].contains(&word(if replaces { 3 } else { 1 }).as_str()) {
        return;
    }
    let Some(begin) = (2..visible.len()).find(|&at| word(at) == "begin" && word(at + 1) == "atomic") else { return };
    let mut depth = 1;
    for end in begin + 2..visible.len() {
        match word(end).as_str() {
            "case" | "begin" => depth += 1,
            "end" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let span = Span::new(tokens[visible[begin + 1]].span.end, tokens[visible[end]].span.start);
            let place = |location| (positions.offset(location)? as usize).checked_sub(base);
            let Some(body) = place(span.start).zip(place(span.end)).and_then(|(from, to)| text.get(from..to)) else {
                return;
            };
            let literal = DollarQuotedString { value: body.to_owned(), tag: Some(MARK.to_owned()) };
            let begins = TokenWithSpan { token: Token::make_keyword("AS"), span: tokens[visible[begin]].span };
            let body = TokenWithSpan { token: Token::DollarQuotedString(literal), span };
            tokens.splice(visible[begin]..=visible[end], [begins, body]);
            return;
        }
    }
}
