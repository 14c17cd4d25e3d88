//! `STRUCT(a INTEGER, b TEXT)` and `MAP(TEXT, INTEGER)` as types: the parser takes a name with texts between parentheses for one, so that what stands between
//! them becomes one text, which is read when the type is looked for.

use sqlparser::ast::{DataType, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};

use crate::dialect::MorselDialect;

/// The tokens with one text between the parentheses of each `STRUCT(...)` and `COMPOSITE(...)`, and of each `MAP(...)` where a type stands.
pub(crate) fn types(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_struct = |token: &Token| {
        let is = |word: &Word| word.keyword == Keyword::STRUCT || word.value.eq_ignore_ascii_case("composite");
        matches!(token, Token::Word(word) if word.quote_style.is_none() && is(word))
    };
    let is_map = |token: &Token| matches!(token, Token::Word(word) if word.keyword == Keyword::MAP && word.quote_style.is_none());
    if !tokens.iter().any(|token| is_struct(&token.token) || is_map(&token.token)) {
        return tokens;
    }
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let before = out.iter().rev().find(|token| !matches!(token.token, Token::Whitespace(_)));
        let begins = is_struct(&token.token) || is_map(&token.token) && precedes_type(before.map(|token| &token.token));
        out.push(token);
        if !begins {
            continue;
        }
        while let Some(blank) = tokens.next_if(|token| matches!(token.token, Token::Whitespace(_))) {
            out.push(blank);
        }
        let Some(open) = tokens.next_if(|token| token.token == Token::LParen) else { continue };
        let (mut text, mut depth, span) = (String::new(), 1, open.span);
        out.push(open);
        for inner in tokens.by_ref() {
            match inner.token {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                _ => {}
            }
            if depth == 0 || inner.token == Token::EOF {
                out.push(TokenWithSpan::new(Token::SingleQuotedString(std::mem::take(&mut text)), span));
                out.push(inner);
                break;
            }
            text += &inner.token.to_string();
        }
    }
    out
}

/// Whether what stands behind a token is a type: a column's, that of a cast, or one within a type.
fn precedes_type(token: Option<&Token>) -> bool {
    match token {
        None | Some(Token::DoubleColon) => true,
        Some(Token::Word(word)) => {
            matches!(word.keyword, Keyword::NoKeyword | Keyword::AS | Keyword::TYPE) || word.quote_style.is_some()
        }
        _ => false,
    }
}

/// The two types that stand between the parentheses of a map.
pub(crate) fn key_and_value(text: &str) -> Result<[DataType; 2], ParserError> {
    // A type begins the text, and stands behind the comma.
    let mut tokens = Tokenizer::new(&MorselDialect, text).tokenize_with_location()?;
    let mut depth = 0;
    let comma = tokens.iter().position(|token| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0 && token.token == Token::Comma
    });
    let behind = tokens.split_off(comma.map_or(tokens.len(), |comma| comma + 1));
    tokens.pop();
    let one = |tokens: Vec<TokenWithSpan>| {
        let mut parser = Parser::new(&MorselDialect).with_tokens_with_locations(types(tokens));
        let of = parser.parse_data_type()?;
        parser.expect_token(&Token::EOF).map(|_| of)
    };
    Ok([one(tokens)?, one(behind)?])
}

/// The names and types that stand between the parentheses.
pub(crate) fn fields(text: &str) -> Result<Vec<(Ident, DataType)>, ParserError> {
    let tokens = types(Tokenizer::new(&MorselDialect, text).tokenize_with_location()?);
    let mut parser = Parser::new(&MorselDialect).with_tokens_with_locations(tokens);
    let fields = parser.parse_comma_separated(|p| Ok((p.parse_identifier()?, p.parse_data_type()?)))?;
    parser.expect_token(&Token::EOF)?;
    Ok(fields)
}
