//! `CREATE SECRET (TYPE s3, KEY_ID '...', SECRET '...')` and `DROP SECRET`, as DuckDB has them: they set what buckets are asked
//! with. A session has one such secret, whatever its name is.

use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token};

use super::words::{option_value, word};

type Result<T> = std::result::Result<T, ParserError>;

/// The options of a secret, and the settings that they are.
const SETTINGS: [(&str, &str); 7] = [
    ("key_id", "s3_access_key_id"),
    ("secret", "s3_secret_access_key"),
    ("session_token", "s3_session_token"),
    ("region", "s3_region"),
    ("endpoint", "s3_endpoint"),
    ("url_style", "s3_url_style"),
    ("use_ssl", "s3_use_ssl"),
];

/// One of these statements.
#[derive(Debug)]
pub(crate) struct SecretAst {
    /// Each setting that it changes, with its value; none: the default.
    pub settings: Vec<(&'static str, Option<String>)>,
    /// An option that means nothing here.
    pub unknown: Option<Ident>,
    pub span: Span,
}

/// The statement, if it is one of these.
pub(super) fn secret(parser: &mut Parser<'_>) -> Result<Option<SecretAst>> {
    let span = parser.peek_token_ref().span;
    let creates = match () {
        () if parser.parse_keyword(Keyword::CREATE) => true,
        () if parser.parse_keyword(Keyword::DROP) => false,
        () => return Ok(None),
    };
    if creates {
        let _ = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    }
    let _ = word(parser, "persistent") || word(parser, "temporary") || word(parser, "temp");
    if !word(parser, "secret") {
        return Ok(None);
    }
    let _ = match creates {
        true => parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]),
        false => parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]),
    };
    let mut ast = SecretAst { settings: SETTINGS.map(|(_, setting)| (setting, None)).into(), unknown: None, span };
    if parser.peek_token_ref().token != Token::LParen {
        parser.parse_identifier()?;
    }
    if !creates {
        return Ok(Some(ast));
    }
    parser.expect_token(&Token::LParen)?;
    loop {
        let name = parser.parse_identifier()?;
        let written = option_value(parser)?;
        match (name.value.to_lowercase().as_str(), written.to_lowercase().as_str()) {
            ("type", "s3") | ("provider", "config" | "credential_chain") => {}
            (known, _) => match SETTINGS.iter().find(|(option, _)| *option == known) {
                Some((_, setting)) => {
                    ast.settings
                        .iter_mut()
                        .filter(|(name, _)| name == setting)
                        .for_each(|(_, value)| *value = Some(written.clone()));
                }
                None => ast.unknown = ast.unknown.or(Some(name)),
            },
        }
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    parser.expect_token(&Token::RParen)?;
    Ok(Some(ast))
}
