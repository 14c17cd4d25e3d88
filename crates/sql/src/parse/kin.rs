//! ALTER TABLE ... ATTACH and DETACH PARTITION, INHERIT and NO INHERIT, ALTER INDEX ... ATTACH PARTITION, as PostgreSQL has them;
//! and SET and RESET of the parameter `partition_key`, by which transactions are kept apart.

use sqlparser::ast::{ForValues, Ident, ObjectName, PartitionBoundValue};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::words::is_word;
use super::{back_to, here};

type Result<T> = std::result::Result<T, ParserError>;

/// The parameter of a table that names the column by which its rows are parts of the database.
pub(crate) const PARTITION_KEY: &str = "partition_key";
/// And the one that says how they are distributed over NUMA nodes.
pub(crate) const DISTRIBUTION: &str = "distribution";

/// One of them.
#[derive(Debug)]
pub(crate) struct KinAst {
    /// The table or index.
    pub name: ObjectName,
    pub action: KinAction,
}

/// What becomes of a table.
#[derive(Debug)]
pub(crate) enum KinAction {
    Attach(ObjectName, ForValues),
    Detach(ObjectName),
    Inherit(ObjectName),
    NoInherit(ObjectName),
    AttachIndex(ObjectName),
    /// By which column its rows are parts of the database; none: by no one.
    PartitionKey {
        column: Option<Ident>,
        if_exists: bool,
    },
    /// How its rows are distributed is said once, by CREATE TABLE: the parameter's name.
    Distribution(Ident),
}

/// Reads one, if the next statement is one.
pub(super) fn kin(parser: &mut Parser<'_>) -> Result<Option<KinAst>> {
    let begin = here(parser);
    let found = altered(parser)?;
    if found.is_none() {
        back_to(parser, begin);
    }
    Ok(found)
}

fn altered(parser: &mut Parser<'_>) -> Result<Option<KinAst>> {
    if !parser.parse_keyword(Keyword::ALTER) {
        return Ok(None);
    }
    let kind = parser.parse_one_of_keywords(&[Keyword::TABLE, Keyword::INDEX]);
    if kind.is_none() {
        return Ok(None);
    }
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let _ = parser.parse_keyword(Keyword::ONLY);
    let name = parser.parse_object_name(false)?;
    let next = |parser: &mut Parser<'_>, word: &str| {
        let is_it = is_word(parser, 0, word);
        if is_it {
            parser.next_token();
        }
        is_it
    };
    let action = if next(parser, "attach") {
        parser.expect_keyword_is(Keyword::PARTITION)?;
        let child = parser.parse_object_name(false)?;
        match kind {
            Some(Keyword::INDEX) => KinAction::AttachIndex(child),
            _ => KinAction::Attach(child, values(parser)?),
        }
    } else if next(parser, "detach") {
        parser.expect_keyword_is(Keyword::PARTITION)?;
        let child = parser.parse_object_name(false)?;
        let _ = next(parser, "concurrently") || next(parser, "finalize");
        KinAction::Detach(child)
    } else if next(parser, "inherit") {
        KinAction::Inherit(parser.parse_object_name(false)?)
    } else if parser.parse_keyword(Keyword::NO) {
        if !next(parser, "inherit") {
            return Ok(None);
        }
        KinAction::NoInherit(parser.parse_object_name(false)?)
    } else if kind == Some(Keyword::TABLE) && (is_word(parser, 0, "set") || is_word(parser, 0, "reset")) {
        let sets = next(parser, "set") || !next(parser, "reset");
        if !parser.consume_token(&Token::LParen) {
            return Ok(None);
        }
        match parameters(parser, sets, if_exists)? {
            Some(action) => action,
            None => return Ok(None),
        }
    } else {
        return Ok(None);
    };
    Ok(Some(KinAst { name, action }))
}

/// Sets or resets parameters, up to the closing parenthesis: what is said of one that means something, if any is.
fn parameters(parser: &mut Parser<'_>, sets: bool, if_exists: bool) -> Result<Option<KinAction>> {
    let mut action = None;
    loop {
        let name = parser.parse_identifier()?;
        if name.value.eq_ignore_ascii_case(DISTRIBUTION) {
            action = Some(KinAction::Distribution(name));
        } else if name.value.eq_ignore_ascii_case(PARTITION_KEY) {
            let column = if sets {
                parser.expect_token(&Token::Eq)?;
                Some(column(parser)?)
            } else {
                None
            };
            action = action.or(Some(KinAction::PartitionKey { column, if_exists }));
        }
        while !matches!(parser.peek_token_ref().token, Token::Comma | Token::RParen) {
            if parser.next_token().token == Token::EOF {
                return Ok(None);
            }
        }
        if parser.next_token().token == Token::RParen {
            return Ok(action);
        }
    }
}

/// The name of a column, also as a text, as values of parameters may be written.
fn column(parser: &mut Parser<'_>) -> Result<Ident> {
    if let Token::SingleQuotedString(name) = &parser.peek_token_ref().token {
        let name = Ident::with_quote('"', name.clone());
        parser.next_token();
        return Ok(name);
    }
    parser.parse_identifier()
}

/// `FOR VALUES ...` or DEFAULT.
fn values(parser: &mut Parser<'_>) -> Result<ForValues> {
    if parser.parse_keyword(Keyword::DEFAULT) {
        return Ok(ForValues::Default);
    }
    parser.expect_keywords(&[Keyword::FOR, Keyword::VALUES])?;
    match parser.expect_one_of_keywords(&[Keyword::IN, Keyword::FROM, Keyword::WITH])? {
        Keyword::IN => {
            parser.expect_token(&Token::LParen)?;
            let values = parser.parse_comma_separated(Parser::parse_expr)?;
            parser.expect_token(&Token::RParen)?;
            Ok(ForValues::In(values))
        }
        Keyword::FROM => {
            let from = limits(parser)?;
            parser.expect_keyword_is(Keyword::TO)?;
            Ok(ForValues::From { from, to: limits(parser)? })
        }
        _ => {
            parser.expect_token(&Token::LParen)?;
            parser.expect_keyword_is(Keyword::MODULUS)?;
            let modulus = parser.parse_literal_uint()?;
            parser.expect_token(&Token::Comma)?;
            parser.expect_keyword_is(Keyword::REMAINDER)?;
            let remainder = parser.parse_literal_uint()?;
            parser.expect_token(&Token::RParen)?;
            Ok(ForValues::With { modulus, remainder })
        }
    }
}

fn limits(parser: &mut Parser<'_>) -> Result<Vec<PartitionBoundValue>> {
    parser.expect_token(&Token::LParen)?;
    let limits = parser.parse_comma_separated(|parser| {
        Ok(match parser.parse_one_of_keywords(&[Keyword::MINVALUE, Keyword::MAXVALUE]) {
            Some(Keyword::MINVALUE) => PartitionBoundValue::MinValue,
            Some(_) => PartitionBoundValue::MaxValue,
            None => PartitionBoundValue::Expr(parser.parse_expr()?),
        })
    })?;
    parser.expect_token(&Token::RParen)?;
    Ok(limits)
}
