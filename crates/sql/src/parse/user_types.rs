//! CREATE TYPE ... AS ENUM and ALTER TYPE. Labels are strings, for which the library takes names too.

use catalog::TypeChange;
use sqlparser::ast::{DataType, Ident, ObjectName, Query};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};
use types::enumeration::Place;

use super::{back_to, here, words};

/// A statement about types.
#[derive(Debug)]
pub(crate) struct TypeAst {
    pub name: ObjectName,
    pub action: TypeAction,
}

/// What becomes of the type.
#[derive(Debug)]
pub(crate) enum TypeAction {
    /// CREATE TYPE ... AS ENUM.
    CreateEnum(Vec<String>),
    /// The same, of the labels that a query gives.
    CreateEnumOf(Box<Query>),
    /// ALTER TYPE.
    Alter(TypeChange),
    /// OWNER TO: there is one user.
    Owner,
    /// What becomes of the attributes of a composite type.
    Attributes(Vec<AttributeChange>),
}

/// What becomes of an attribute.
#[derive(Debug)]
pub(crate) enum AttributeChange {
    /// ADD ATTRIBUTE.
    Add(Ident, DataType),
    /// DROP ATTRIBUTE; whether it is no error if there is none.
    Drop(Ident, bool),
    /// ALTER ATTRIBUTE ... TYPE.
    Type(Ident, DataType),
    /// RENAME ATTRIBUTE.
    Rename(Ident, Ident),
}

type Result<T> = std::result::Result<T, ParserError>;

/// `CREATE TYPE t AS (a integer, ...)` as the domain of rows that it is here.
pub(super) fn composites(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let is = |at: usize, keyword: Keyword| matches!(visible.get(at).map(|&i| &tokens[i].token), Some(Token::Word(w)) if w.keyword == keyword && w.quote_style.is_none());
    if !is(0, Keyword::CREATE) || !is(1, Keyword::TYPE) {
        return tokens;
    }
    let token = |at: usize| visible.get(at).map(|&i| &tokens[i].token);
    let mut last = 2;
    while token(last + 1) == Some(&Token::Period) {
        last += 2;
    }
    if is(last + 1, Keyword::AS) && token(last + 2) == Some(&Token::LParen) {
        let open = visible[last + 2];
        let span = tokens[open].span;
        tokens[visible[1]].token = Token::make_keyword("DOMAIN");
        tokens.insert(open, TokenWithSpan { token: Token::make_word("composite", None), span });
        return tokens;
    }
    // Another name of a type.
    let is_other = |at: usize| matches!(token(at), Some(Token::Word(w)) if w.quote_style.is_some() || !["enum", "range"].iter().any(|known| w.value.eq_ignore_ascii_case(known)));
    if is(last + 1, Keyword::AS) && is_other(last + 2) {
        tokens[visible[1]].token = Token::make_keyword("DOMAIN");
    }
    tokens
}

/// The statement, if it is one about types that users have made.
pub(super) fn user_type(parser: &mut Parser<'_>) -> Result<Option<TypeAst>> {
    if parser.parse_keywords(&[Keyword::ALTER, Keyword::TYPE]) {
        let name = parser.parse_object_name(false)?;
        let action = alteration(parser)?;
        return Ok(Some(TypeAst { name, action }));
    }
    let begin = here(parser);
    if parser.parse_keywords(&[Keyword::CREATE, Keyword::TYPE]) {
        let name = parser.parse_object_name(false)?;
        if parser.parse_keywords(&[Keyword::AS, Keyword::ENUM]) {
            parser.expect_token(&Token::LParen)?;
            let queries = [Keyword::SELECT, Keyword::WITH, Keyword::FROM, Keyword::VALUES];
            if parser.peek_one_of_keywords(&queries).is_some() {
                let query = parser.parse_query()?;
                parser.expect_token(&Token::RParen)?;
                return Ok(Some(TypeAst { name, action: TypeAction::CreateEnumOf(query) }));
            }
            let labels = parser.parse_comma_separated0(label, Token::RParen)?;
            parser.expect_token(&Token::RParen)?;
            return Ok(Some(TypeAst { name, action: TypeAction::CreateEnum(labels) }));
        }
    }
    back_to(parser, begin);
    Ok(None)
}

fn alteration(parser: &mut Parser<'_>) -> Result<TypeAction> {
    if parser.parse_keywords(&[Keyword::ADD, Keyword::VALUE]) {
        let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
        let new = label(parser)?;
        let place = match parser.parse_one_of_keywords(&[Keyword::BEFORE, Keyword::AFTER]) {
            Some(Keyword::BEFORE) => Place::Before(label(parser)?),
            Some(_) => Place::After(label(parser)?),
            None => Place::Last,
        };
        return Ok(TypeAction::Alter(TypeChange::Add(new, place, if_not_exists)));
    }
    if parser.parse_keywords(&[Keyword::RENAME, Keyword::VALUE]) {
        let from = label(parser)?;
        parser.expect_keyword_is(Keyword::TO)?;
        return Ok(TypeAction::Alter(TypeChange::Rename(from, label(parser)?)));
    }
    if let Some(changes) = attributes(parser)? {
        return Ok(TypeAction::Attributes(changes));
    }
    if parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
        return Ok(TypeAction::Alter(TypeChange::Name(folded(&parser.parse_identifier()?))));
    }
    if parser.parse_keywords(&[Keyword::SET, Keyword::SCHEMA]) {
        return Ok(TypeAction::Alter(TypeChange::Schema(folded(&parser.parse_identifier()?))));
    }
    if parser.parse_keywords(&[Keyword::OWNER, Keyword::TO]) {
        parser.parse_identifier()?;
        return Ok(TypeAction::Owner);
    }
    let known = "ADD VALUE, RENAME VALUE, ADD, DROP, ALTER or RENAME ATTRIBUTE, RENAME TO, SET SCHEMA or OWNER TO";
    parser.expected(known, parser.peek_token())
}

/// Changes of attributes, if it is one of these.
fn attributes(parser: &mut Parser<'_>) -> Result<Option<Vec<AttributeChange>>> {
    let begin = here(parser);
    let mut changes = Vec::new();
    loop {
        let verb = parser.parse_one_of_keywords(&[Keyword::ADD, Keyword::DROP, Keyword::ALTER, Keyword::RENAME]);
        if verb.is_none() || !words::is_word(parser, 0, "attribute") {
            back_to(parser, begin);
            return Ok(None);
        }
        parser.next_token();
        changes.push(match verb {
            Some(Keyword::ADD) => AttributeChange::Add(parser.parse_identifier()?, parser.parse_data_type()?),
            Some(Keyword::DROP) => {
                let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
                AttributeChange::Drop(parser.parse_identifier()?, if_exists)
            }
            Some(Keyword::ALTER) => {
                let name = parser.parse_identifier()?;
                let _ = parser.parse_keywords(&[Keyword::SET, Keyword::DATA]);
                parser.expect_keyword_is(Keyword::TYPE)?;
                AttributeChange::Type(name, parser.parse_data_type()?)
            }
            _ => {
                let from = parser.parse_identifier()?;
                parser.expect_keyword_is(Keyword::TO)?;
                AttributeChange::Rename(from, parser.parse_identifier()?)
            }
        });
        let _ = parser.parse_one_of_keywords(&[Keyword::CASCADE, Keyword::RESTRICT]);
        if !parser.consume_token(&Token::Comma) {
            return Ok(Some(changes));
        }
    }
}

fn label(parser: &mut Parser<'_>) -> Result<String> {
    parser.parse_literal_string()
}

fn folded(ident: &Ident) -> String {
    crate::bind::fold(ident)
}
