//! Words that are no keywords of the library, and values of options.

use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

type Result<T> = std::result::Result<T, ParserError>;

/// Eats an unquoted word.
pub(super) fn word(parser: &mut Parser<'_>, wanted: &str) -> bool {
    let found = is_word(parser, 0, wanted);
    if found {
        parser.next_token();
    }
    found
}

pub(super) fn is_word(parser: &Parser<'_>, ahead: usize, wanted: &str) -> bool {
    matches!(&parser.peek_nth_token_ref(ahead).token,
        Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(wanted))
}

/// A value of an option or setting: a word, a string, a number, or a list of names in parentheses.
pub(super) fn option_value(parser: &mut Parser<'_>) -> Result<String> {
    let token = parser.next_token();
    match &token.token {
        Token::Word(word) if word.quote_style.is_some() => Ok(word.value.clone()),
        Token::Word(word) => Ok(word.value.to_ascii_lowercase()),
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => Ok(text.clone()),
        Token::Number(number, _) => Ok(number.clone()),
        Token::Mul => Ok("*".to_owned()),
        Token::Eq => option_value(parser),
        Token::Minus | Token::Plus => match parser.next_token() {
            next if matches!(next.token, Token::Number(..)) => {
                let Token::Number(number, _) = next.token else { return parser.expected("a number", token) };
                Ok(format!("{}{number}", token.token))
            }
            next => parser.expected("a number", next),
        },
        Token::LParen => {
            let mut items = vec![option_value(parser)?];
            while parser.consume_token(&Token::Comma) {
                items.push(option_value(parser)?);
            }
            parser.expect_token(&Token::RParen)?;
            Ok(items.join(","))
        }
        _ => parser.expected("a value", token),
    }
}
