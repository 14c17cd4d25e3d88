//! CREATE, DROP and ALTER TRIGGER, and ALTER TABLE ... ENABLE or DISABLE TRIGGER, as PostgreSQL has them.

use catalog::{Event, Timing};
use sqlparser::ast::{Expr, Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::words::{is_word, word};
use super::{back_to, here};

type Result<T> = std::result::Result<T, ParserError>;

/// One of them.
#[derive(Debug)]
pub(crate) enum TriggerAst {
    Create(Box<CreateTriggerAst>),
    Drop {
        name: Ident,
        table: ObjectName,
        if_exists: bool,
    },
    Rename {
        name: Ident,
        table: ObjectName,
        to: Ident,
    },
    /// No name means all, with `keys_too` those of foreign keys among them.
    Enable {
        name: Option<Ident>,
        table: ObjectName,
        if_exists: bool,
        is_enabled: bool,
        keys_too: bool,
    },
}

/// CREATE TRIGGER.
#[derive(Debug)]
pub(crate) struct CreateTriggerAst {
    pub name: Ident,
    pub table: ObjectName,
    pub timing: Timing,
    pub events: Vec<Event>,
    pub columns: Vec<Ident>,
    pub for_each_row: bool,
    pub when: Option<Expr>,
    pub function: ObjectName,
    pub arguments: Vec<String>,
    pub old_table: Option<Ident>,
    pub new_table: Option<Ident>,
    pub is_constraint: bool,
    pub is_deferred: bool,
    pub or_replace: bool,
}

/// The statement, if it is one of these.
pub(super) fn trigger(parser: &mut Parser<'_>) -> Result<Option<TriggerAst>> {
    let begin = here(parser);
    let found = match parser.parse_one_of_keywords(&[Keyword::CREATE, Keyword::DROP, Keyword::ALTER]) {
        Some(Keyword::CREATE) => {
            let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
            let is_constraint = parser.parse_keyword(Keyword::CONSTRAINT);
            match word(parser, "trigger") {
                true => Some(create(parser, or_replace, is_constraint)?),
                false => None,
            }
        }
        Some(Keyword::DROP) if word(parser, "trigger") => Some(dropped(parser)?),
        Some(Keyword::ALTER) if word(parser, "trigger") => Some(renamed(parser)?),
        Some(Keyword::ALTER) if parser.parse_keyword(Keyword::TABLE) => enabled(parser)?,
        _ => None,
    };
    if found.is_none() {
        back_to(parser, begin);
    }
    Ok(found)
}

fn create(parser: &mut Parser<'_>, or_replace: bool, is_constraint: bool) -> Result<TriggerAst> {
    let name = parser.parse_identifier()?;
    let timing = if word(parser, "before") {
        Timing::Before
    } else if word(parser, "after") {
        Timing::After
    } else if is_word(parser, 0, "instead") && is_word(parser, 1, "of") {
        parser.next_token();
        parser.next_token();
        Timing::InsteadOf
    } else {
        return parser.expected("BEFORE, AFTER or INSTEAD OF", parser.peek_token());
    };
    let (mut events, mut columns) = (Vec::new(), Vec::new());
    loop {
        events.push(event(parser, &mut columns)?);
        if !parser.parse_keyword(Keyword::OR) {
            break;
        }
    }
    events.sort_unstable();
    parser.expect_keyword_is(Keyword::ON)?;
    let table = parser.parse_object_name(false)?;
    if is_constraint && parser.parse_keyword(Keyword::FROM) {
        parser.parse_object_name(false)?;
    }
    let is_deferred = deferred(parser)?;
    let (mut old_table, mut new_table) = (None, None);
    if word(parser, "referencing") {
        loop {
            let place = if word(parser, "old") {
                &mut old_table
            } else if word(parser, "new") {
                &mut new_table
            } else {
                break;
            };
            parser.expect_keyword_is(Keyword::TABLE)?;
            let _ = parser.parse_keyword(Keyword::AS);
            *place = Some(parser.parse_identifier()?);
        }
    }
    let mut for_each_row = false;
    if parser.parse_keyword(Keyword::FOR) {
        let _ = word(parser, "each");
        for_each_row = word(parser, "row");
        if !for_each_row && !word(parser, "statement") {
            return parser.expected("ROW or STATEMENT", parser.peek_token());
        }
    }
    let mut when = None;
    if parser.parse_keyword(Keyword::WHEN) {
        parser.expect_token(&Token::LParen)?;
        when = Some(parser.parse_expr()?);
        parser.expect_token(&Token::RParen)?;
    }
    parser.expect_keyword_is(Keyword::EXECUTE)?;
    if !parser.parse_keyword(Keyword::FUNCTION) {
        parser.expect_keyword_is(Keyword::PROCEDURE)?;
    }
    let function = parser.parse_object_name(false)?;
    parser.expect_token(&Token::LParen)?;
    let mut arguments = Vec::new();
    if !parser.consume_token(&Token::RParen) {
        arguments = parser.parse_comma_separated(argument)?;
        parser.expect_token(&Token::RParen)?;
    }
    Ok(TriggerAst::Create(Box::new(CreateTriggerAst {
        name,
        table,
        timing,
        events,
        columns,
        for_each_row,
        when,
        function,
        arguments,
        old_table,
        new_table,
        is_constraint,
        is_deferred,
        or_replace,
    })))
}

fn event(parser: &mut Parser<'_>, columns: &mut Vec<Ident>) -> Result<Event> {
    let event =
        match parser.parse_one_of_keywords(&[Keyword::INSERT, Keyword::DELETE, Keyword::UPDATE, Keyword::TRUNCATE]) {
            Some(Keyword::INSERT) => Event::Insert,
            Some(Keyword::DELETE) => Event::Delete,
            Some(Keyword::TRUNCATE) => Event::Truncate,
            Some(_) => Event::Update,
            None => return parser.expected("INSERT, UPDATE, DELETE or TRUNCATE", parser.peek_token()),
        };
    if event == Event::Update && word(parser, "of") {
        *columns = parser.parse_comma_separated(Parser::parse_identifier)?;
    }
    Ok(event)
}

/// `[NOT] DEFERRABLE`, `INITIALLY DEFERRED` or `IMMEDIATE`: whether it is deferred at first.
fn deferred(parser: &mut Parser<'_>) -> Result<bool> {
    let mut is_deferred = false;
    loop {
        if parser.parse_keyword(Keyword::DEFERRABLE) || parser.parse_keywords(&[Keyword::NOT, Keyword::DEFERRABLE]) {
            continue;
        }
        if !word(parser, "initially") {
            return Ok(is_deferred);
        }
        is_deferred = word(parser, "deferred");
        if !is_deferred && !word(parser, "immediate") {
            return parser.expected("DEFERRED or IMMEDIATE", parser.peek_token());
        }
    }
}

/// What the function is given, as text.
fn argument(parser: &mut Parser<'_>) -> Result<String> {
    let token = parser.next_token();
    Ok(match token.token {
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => text,
        Token::DollarQuotedString(text) => text.value,
        Token::Number(number, _) => number,
        Token::Word(word) if word.quote_style.is_some() => word.value,
        Token::Word(word) => word.value.to_lowercase(),
        Token::Minus => match parser.next_token().token {
            Token::Number(number, _) => format!("-{number}"),
            _ => return parser.expected("a number", parser.peek_token()),
        },
        _ => return parser.expected("a literal", token),
    })
}

fn dropped(parser: &mut Parser<'_>) -> Result<TriggerAst> {
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = parser.parse_identifier()?;
    parser.expect_keyword_is(Keyword::ON)?;
    let table = parser.parse_object_name(false)?;
    let _ = parser.parse_one_of_keywords(&[Keyword::CASCADE, Keyword::RESTRICT]);
    Ok(TriggerAst::Drop { name, table, if_exists })
}

fn renamed(parser: &mut Parser<'_>) -> Result<TriggerAst> {
    let name = parser.parse_identifier()?;
    parser.expect_keyword_is(Keyword::ON)?;
    let table = parser.parse_object_name(false)?;
    if !parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
        return parser.expected("RENAME TO", parser.peek_token());
    }
    Ok(TriggerAst::Rename { name, table, to: parser.parse_identifier()? })
}

/// `[IF EXISTS] [ONLY] table {ENABLE | DISABLE} [ALWAYS | REPLICA] TRIGGER {name | ALL | USER}`
fn enabled(parser: &mut Parser<'_>) -> Result<Option<TriggerAst>> {
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let _ = parser.parse_keyword(Keyword::ONLY);
    let Ok(table) = parser.parse_object_name(false) else { return Ok(None) };
    let is_enabled = parser.parse_keyword(Keyword::ENABLE);
    if !is_enabled && !parser.parse_keyword(Keyword::DISABLE) {
        return Ok(None);
    }
    let _ = is_enabled && (word(parser, "always") || word(parser, "replica"));
    if !word(parser, "trigger") {
        return Ok(None);
    }
    let keys_too = parser.parse_keyword(Keyword::ALL);
    let name = match keys_too || word(parser, "user") {
        true => None,
        false => Some(parser.parse_identifier()?),
    };
    Ok(Some(TriggerAst::Enable { name, table, if_exists, is_enabled, keys_too }))
}
