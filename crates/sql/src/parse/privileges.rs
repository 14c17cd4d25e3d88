//! What dumps say of users, privileges and extensions: there is one user, who may do everything, and nothing to extend.

use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::words::word;
use super::{back_to, here};

type Result<T> = std::result::Result<T, ParserError>;

/// The extension that every database of PostgreSQL has.
const BUILT_IN: &str = "plpgsql";

/// What the statement is called, if it is one that changes nothing here.
pub(super) fn privileges(parser: &mut Parser<'_>) -> Result<Option<&'static str>> {
    let begin = here(parser);
    let tag = match parser.parse_one_of_keywords(&[Keyword::GRANT, Keyword::REVOKE]) {
        Some(Keyword::GRANT) => Some("GRANT"),
        Some(_) => Some("REVOKE"),
        None => other(parser)?,
    };
    match tag {
        Some(_) => while parser.next_token().token != Token::EOF {},
        None => {
            back_to(parser, begin);
        }
    }
    Ok(tag)
}

/// `CREATE [OR REPLACE] [TRUSTED] [PROCEDURAL] LANGUAGE plpgsql`, and ALTER ... OWNER TO, as old dumps have them.
fn language(parser: &mut Parser<'_>) -> Result<Option<&'static str>> {
    let begin = here(parser);
    let tag = match parser.parse_one_of_keywords(&[Keyword::CREATE, Keyword::ALTER]) {
        Some(Keyword::CREATE) => "CREATE LANGUAGE",
        Some(_) => "ALTER LANGUAGE",
        None => return Ok(None),
    };
    let _ = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    let _ = word(parser, "trusted");
    let _ = word(parser, "procedural");
    if parser.parse_keyword(Keyword::LANGUAGE) && parser.parse_identifier()?.value.eq_ignore_ascii_case(BUILT_IN) {
        return Ok(Some(tag));
    }
    back_to(parser, begin);
    Ok(None)
}

fn other(parser: &mut Parser<'_>) -> Result<Option<&'static str>> {
    if parser.parse_keywords(&[Keyword::CREATE, Keyword::EXTENSION]) {
        let _ = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
        let is_built_in = parser.parse_identifier()?.value.eq_ignore_ascii_case(BUILT_IN);
        return Ok(is_built_in.then_some("CREATE EXTENSION"));
    }
    if let Some(tag) = language(parser)? {
        return Ok(Some(tag));
    }
    if !parser.parse_keyword(Keyword::ALTER) {
        return Ok(None);
    }
    if parser.parse_keywords(&[Keyword::DEFAULT, Keyword::PRIVILEGES]) {
        return Ok(Some("ALTER DEFAULT PRIVILEGES"));
    }
    if parser.parse_keyword(Keyword::SCHEMA) {
        parser.parse_object_name(false)?;
        return Ok(parser.parse_keywords(&[Keyword::OWNER, Keyword::TO]).then_some("ALTER SCHEMA"));
    }
    Ok(None)
}
