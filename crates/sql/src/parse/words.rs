//! Words that are no keywords of the library, and values of options.

use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;
use types::ops::json::quote;

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

/// The options of COPY, behind their parenthesis.
pub(super) fn copy_options(parser: &mut Parser<'_>) -> Result<Vec<(String, String)>> {
    let mut options = Vec::new();
    loop {
        let token = parser.next_token();
        let Token::Word(word) = &token.token else { return parser.expected("an option of COPY", token) };
        let name = word.value.to_ascii_lowercase();
        let value = match parser.peek_token().token {
            Token::Comma | Token::RParen => "true".to_owned(),
            _ => option_value(parser)?,
        };
        options.push((name, value));
        if !parser.consume_token(&Token::Comma) {
            parser.expect_token(&Token::RParen)?;
            return Ok(options);
        }
    }
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
        Token::LBrace => {
            let mut members = Vec::new();
            while parser.peek_token_ref().token != Token::RBrace {
                let key = option_name(parser)?;
                parser.expect_token(&Token::Colon)?;
                members.push(format!("{}: {}", quote(&key), quote(&option_value(parser)?)));
                if !parser.consume_token(&Token::Comma) {
                    break;
                }
            }
            parser.expect_token(&Token::RBrace)?;
            Ok(format!("{{{}}}", members.join(", ")))
        }
        _ => parser.expected("a value", token),
    }
}

/// The name of a member of a struct.
fn option_name(parser: &mut Parser<'_>) -> Result<String> {
    let token = parser.next_token();
    match token.token {
        Token::Word(word) => Ok(word.value),
        Token::SingleQuotedString(text) => Ok(text),
        _ => parser.expected("a name", token),
    }
}
