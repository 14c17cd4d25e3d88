//! CREATE, ALTER and DROP DOMAIN.

use sqlparser::ast::{DataType, Expr, Ident, ObjectName};
use sqlparser::dialect::{Dialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use crate::dialect::MorselDialect;

/// A statement about domains.
#[derive(Debug)]
pub(crate) enum DomainAst {
    /// CREATE DOMAIN.
    Create { name: ObjectName, data_type: DataType, parts: Vec<DomainPart> },
    /// ALTER DOMAIN.
    Alter { name: ObjectName, action: Box<DomainAction> },
    /// DROP DOMAIN.
    Drop { names: Vec<ObjectName>, if_exists: bool, cascade: bool },
}

/// What is said of a domain.
#[derive(Debug)]
pub(crate) enum DomainPart {
    Default(Expr),
    NotNull(bool),
    Check(Option<Ident>, Expr),
}

/// What becomes of a domain.
#[derive(Debug)]
pub(crate) enum DomainAction {
    Add(DomainPart),
    DropConstraint(Ident, bool),
    RenameConstraint(Ident, Ident),
    NotNull(bool),
    /// None: DROP DEFAULT.
    Default(Option<Expr>),
    Rename(Ident),
    /// OWNER TO: there is one user.
    Owner,
}

type Result<T> = std::result::Result<T, ParserError>;

/// The statement, if it is one about domains.
pub(super) fn domain(parser: &mut Parser<'_>) -> Result<Option<DomainAst>> {
    if parser.parse_keywords(&[Keyword::CREATE, Keyword::DOMAIN]) {
        let name = parser.parse_object_name(false)?;
        let _ = parser.parse_keyword(Keyword::AS);
        let data_type = parser.parse_data_type()?;
        let mut parts = Vec::new();
        while let Some(part) = part(parser)? {
            parts.push(part);
        }
        return Ok(Some(DomainAst::Create { name, data_type, parts }));
    }
    if parser.parse_keywords(&[Keyword::ALTER, Keyword::DOMAIN]) {
        let name = parser.parse_object_name(false)?;
        return Ok(Some(DomainAst::Alter { name, action: Box::new(action(parser)?) }));
    }
    if parser.parse_keywords(&[Keyword::DROP, Keyword::DOMAIN]) {
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let names = parser.parse_comma_separated(|p| p.parse_object_name(false))?;
        let cascade = parser.parse_keyword(Keyword::CASCADE);
        let _ = !cascade && parser.parse_keyword(Keyword::RESTRICT);
        return Ok(Some(DomainAst::Drop { names, if_exists, cascade }));
    }
    Ok(None)
}

fn part(parser: &mut Parser<'_>) -> Result<Option<DomainPart>> {
    let named = parser.parse_keyword(Keyword::CONSTRAINT).then(|| parser.parse_identifier()).transpose()?;
    if parser.parse_keyword(Keyword::CHECK) {
        parser.expect_token(&Token::LParen)?;
        let condition = parser.parse_expr()?;
        parser.expect_token(&Token::RParen)?;
        return Ok(Some(DomainPart::Check(named, condition)));
    }
    if parser.parse_keywords(&[Keyword::NOT, Keyword::NULL]) {
        return Ok(Some(DomainPart::NotNull(true)));
    }
    if parser.parse_keyword(Keyword::NULL) {
        return Ok(Some(DomainPart::NotNull(false)));
    }
    if parser.parse_keyword(Keyword::DEFAULT) {
        return Ok(Some(DomainPart::Default(default(parser)?)));
    }
    match named {
        Some(_) => parser.expected("CHECK or NOT NULL", parser.peek_token()),
        None => Ok(None),
    }
}

/// A default, which NOT NULL may follow.
fn default(parser: &mut Parser<'_>) -> Result<Expr> {
    parser.parse_subexpr(MorselDialect.prec_value(Precedence::Is))
}

fn action(parser: &mut Parser<'_>) -> Result<DomainAction> {
    if parser.parse_keyword(Keyword::ADD) {
        return match part(parser)? {
            Some(part @ (DomainPart::Check(..) | DomainPart::NotNull(_))) => Ok(DomainAction::Add(part)),
            _ => parser.expected("CHECK", parser.peek_token()),
        };
    }
    if parser.parse_keywords(&[Keyword::DROP, Keyword::CONSTRAINT]) {
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let name = parser.parse_identifier()?;
        let _ = parser.parse_one_of_keywords(&[Keyword::CASCADE, Keyword::RESTRICT]);
        return Ok(DomainAction::DropConstraint(name, if_exists));
    }
    for (word, set) in [(Keyword::SET, true), (Keyword::DROP, false)] {
        if parser.parse_keywords(&[word, Keyword::NOT, Keyword::NULL]) {
            return Ok(DomainAction::NotNull(set));
        }
        if parser.parse_keywords(&[word, Keyword::DEFAULT]) {
            let value = set.then(|| default(parser)).transpose()?;
            return Ok(DomainAction::Default(value));
        }
    }
    if parser.parse_keywords(&[Keyword::RENAME, Keyword::CONSTRAINT]) {
        let from = parser.parse_identifier()?;
        parser.expect_keyword_is(Keyword::TO)?;
        return Ok(DomainAction::RenameConstraint(from, parser.parse_identifier()?));
    }
    if parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
        return Ok(DomainAction::Rename(parser.parse_identifier()?));
    }
    if parser.parse_keywords(&[Keyword::OWNER, Keyword::TO]) {
        parser.parse_identifier()?;
        return Ok(DomainAction::Owner);
    }
    parser.expected("ADD, DROP, SET, RENAME or OWNER TO", parser.peek_token())
}
