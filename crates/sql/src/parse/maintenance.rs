//! VACUUM, ANALYZE, CHECKPOINT, EXPORT and IMPORT DATABASE, REINDEX and REFRESH MATERIALIZED VIEW, with PostgreSQL's options.

use sqlparser::ast::ObjectName;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::session::TableLockAst;
use super::words::copy_options;
use super::{back_to, here};
use crate::statement::ReindexKind;

/// One of them.
#[derive(Debug)]
pub(crate) enum MaintenanceAst {
    /// VACUUM and the like: what it is called, and the tables that it names.
    Look(&'static str, Vec<ObjectName>),
    /// REFRESH MATERIALIZED VIEW, with data or without.
    Refresh(ObjectName, bool),
    /// LOCK TABLE.
    Lock(TableLockAst),
    /// EXPORT DATABASE: the folder, and the options of the files in it.
    Export(String, Vec<(String, String)>),
    /// IMPORT DATABASE: the folder.
    Import(String),
    /// REINDEX, and whether CONCURRENTLY; of a database the name may be missing.
    Reindex(ReindexKind, Option<ObjectName>, bool),
}

type Result<T> = std::result::Result<T, ParserError>;

/// The statement, if it is one.
pub(super) fn maintenance(parser: &mut Parser<'_>) -> Result<Option<MaintenanceAst>> {
    let begin = here(parser);
    Ok(Some(match word(parser).as_deref() {
        Some("export") if is_word(parser, &["database"]) => {
            let directory = parser.parse_literal_string()?;
            let options = if parser.consume_token(&Token::LParen) { copy_options(parser)? } else { Vec::new() };
            MaintenanceAst::Export(directory, options)
        }
        Some("import") if is_word(parser, &["database"]) => MaintenanceAst::Import(parser.parse_literal_string()?),
        Some("checkpoint") => MaintenanceAst::Look("CHECKPOINT", Vec::new()),
        Some("vacuum") => {
            if !options(parser)? {
                while is_word(parser, &["full", "freeze", "verbose", "analyze"]) {}
            }
            MaintenanceAst::Look("VACUUM", tables(parser)?)
        }
        Some("analyze" | "analyse") => {
            if !options(parser)? {
                is_word(parser, &["verbose"]);
            }
            MaintenanceAst::Look("ANALYZE", tables(parser)?)
        }
        Some("reindex") => {
            let told = reindex_options(parser)?;
            let token = parser.peek_token();
            let kind = match word(parser).as_deref() {
                Some("index") => ReindexKind::Index,
                Some("table") => ReindexKind::Table,
                Some("schema") => ReindexKind::Schema,
                Some("database" | "system") => ReindexKind::Database,
                _ => return parser.expected("INDEX, TABLE, SCHEMA, DATABASE or SYSTEM", token),
            };
            let concurrently = is_word(parser, &["concurrently"]) || told;
            let is_over = kind == ReindexKind::Database && is_end(parser);
            let name = if is_over { None } else { Some(parser.parse_object_name(false)?) };
            MaintenanceAst::Reindex(kind, name, concurrently)
        }
        Some("refresh") => {
            if !is_word(parser, &["materialized"]) || !is_word(parser, &["view"]) {
                return parser.expected("MATERIALIZED VIEW", parser.peek_token());
            }
            is_word(parser, &["concurrently"]);
            let name = parser.parse_object_name(false)?;
            let mut with_data = true;
            if is_word(parser, &["with"]) {
                with_data = !is_word(parser, &["no"]);
                if !is_word(parser, &["data"]) {
                    return parser.expected("DATA", parser.peek_token());
                }
            }
            MaintenanceAst::Refresh(name, with_data)
        }
        _ => {
            back_to(parser, begin);
            return Ok(None);
        }
    }))
}

fn is_end(parser: &Parser<'_>) -> bool {
    matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon)
}

/// The next word, in lower case.
fn word(parser: &mut Parser<'_>) -> Option<String> {
    match &parser.peek_token_ref().token {
        Token::Word(word) if word.quote_style.is_none() => {
            let word = word.value.to_ascii_lowercase();
            parser.next_token();
            Some(word)
        }
        _ => None,
    }
}

/// Takes the next word if it is one of these.
fn is_word(parser: &mut Parser<'_>, words: &[&str]) -> bool {
    let begin = here(parser);
    let found = word(parser).is_some_and(|word| words.contains(&word.as_str()));
    if !found {
        back_to(parser, begin);
    }
    found
}

/// Options in parentheses, whatever they say.
fn options(parser: &mut Parser<'_>) -> Result<bool> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(false);
    }
    loop {
        let token = parser.next_token();
        match token.token {
            Token::RParen => return Ok(true),
            Token::Word(_) | Token::Comma | Token::Number(..) | Token::SingleQuotedString(_) => {}
            _ => return parser.expected("an option", token),
        }
    }
}

/// The options of REINDEX in parentheses: whether CONCURRENTLY is among them.
fn reindex_options(parser: &mut Parser<'_>) -> Result<bool> {
    let mut concurrently = false;
    if !parser.consume_token(&Token::LParen) {
        return Ok(false);
    }
    loop {
        let token = parser.peek_token();
        let Some(option) = word(parser) else { return parser.expected("an option", token) };
        let is_on = !is_word(parser, &["false", "off", "0"]);
        match option.as_str() {
            "concurrently" => concurrently = is_on,
            "verbose" => {}
            "tablespace" => _ = parser.parse_identifier()?,
            _ => return Err(ParserError::ParserError(format!("unrecognized REINDEX option \"{option}\""))),
        }
        is_word(parser, &["true", "on"]);
        if !parser.consume_token(&Token::Comma) {
            parser.expect_token(&Token::RParen)?;
            return Ok(concurrently);
        }
    }
}

/// Names of tables, each perhaps with columns.
fn tables(parser: &mut Parser<'_>) -> Result<Vec<ObjectName>> {
    let mut tables = Vec::new();
    while !is_end(parser) {
        tables.push(parser.parse_object_name(false)?);
        if parser.consume_token(&Token::LParen) {
            parser.parse_comma_separated(Parser::parse_identifier)?;
            parser.expect_token(&Token::RParen)?;
        }
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    Ok(tables)
}
