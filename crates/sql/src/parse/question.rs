//! `?`, which is a placeholder in many clients and an operator of JSON in PostgreSQL: it is the operator where an operand ends
//! before it and another one, or a name that nothing else could be, begins behind it. `?|` and `?&` are cut apart by the lexer.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Makes operators of those question marks that are such.
pub(super) fn operators(tokens: &mut Vec<TokenWithSpan>) {
    let is_question = |token: &Token| matches!(token, Token::Placeholder(name) if name == "?");
    if !tokens.iter().any(|t| is_question(&t.token)) {
        return;
    }
    let mut at = 0;
    while at < tokens.len() {
        if is_question(&tokens[at].token) {
            let before = tokens[..at].iter().rev().find(|t| !is_blank(&t.token));
            let before = before.map_or(Operand::No, |t| ends_operand(&t.token));
            let sign = match tokens.get(at + 1).map(|t| &t.token) {
                Some(Token::Pipe) => Some(Token::QuestionPipe),
                Some(Token::Ampersand) => Some(Token::QuestionAnd),
                _ => None,
            };
            let next = tokens[at + 1..].iter().find(|t| !is_blank(&t.token));
            let text_follows = next.is_some_and(|t| begins_text(&t.token));
            match (before, sign) {
                (Operand::Yes | Operand::Maybe, Some(sign)) => {
                    tokens[at].token = sign;
                    tokens.remove(at + 1);
                }
                (Operand::Yes, None) => tokens[at].token = Token::Question,
                (Operand::Maybe, None) if text_follows => tokens[at].token = Token::Question,
                _ => {}
            }
        }
        at += 1;
    }
}

/// Whether an operand ends.
#[derive(Clone, Copy)]
enum Operand {
    Yes,
    /// A keyword, which may be the name of a column.
    Maybe,
    No,
}

fn is_blank(token: &Token) -> bool {
    matches!(token, Token::Whitespace(_))
}

fn ends_operand(token: &Token) -> Operand {
    match token {
        Token::Word(word) if word.quote_style.is_some() || word.keyword == Keyword::NoKeyword => Operand::Yes,
        Token::Word(_) => Operand::Maybe,
        Token::RParen | Token::RBracket | Token::SingleQuotedString(_) => Operand::Yes,
        _ => Operand::No,
    }
}

fn begins_text(token: &Token) -> bool {
    matches!(token, Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) | Token::Placeholder(_))
}
