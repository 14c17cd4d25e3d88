//! Statements that the parser library does not read as MorselDB needs them: EXPLAIN with its stages, COPY with any
//! option, SET and SHOW; PREPARE and its like are beside. Everything else is the library's.

use sqlparser::ast::{Expr, Ident, ObjectName, Query, SetExpr, Statement, TableFactor, TableWithJoins};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{IsOptional, Parser, ParserError};
use sqlparser::tokenizer::{Span, Token};

use super::comment::{CommentAst, comment};
use super::cursor::{CursorAst, cursor};
use super::domain::{DomainAst, domain};
use super::ignored::{Ignored, ignored};
use super::kin::{KinAst, kin};
use super::maintenance::{MaintenanceAst, maintenance};
use super::prepared::{PreparedAst, prepared};
use super::privileges::privileges;
use super::routine::{RoutineAst, routine};
use super::rule::RuleAst;
use super::sequence::{SequenceAst, sequence};
use super::session::{SessionAst, session};
use super::trigger::{TriggerAst, trigger};
use super::user_types::{TypeAst, user_type};
use super::words::{self, copy_options, option_value};
use super::{back_to, here};
use crate::dialect::MorselDialect;
use crate::statement::{CopyTarget, ExplainStage, ObjectKind};

/// A parsed statement.
#[derive(Debug)]
pub(crate) enum Ast {
    /// One that the library reads.
    Library(Box<Statement>),
    /// EXPLAIN.
    Explain { analyze: bool, stage: ExplainStage, statement: Box<Ast> },
    /// COPY.
    Copy(CopyAst),
    /// SET; no value means DEFAULT.
    Set { name: String, value: Option<String>, local: bool, span: Span },
    /// RESET; no name means ALL.
    Reset { name: Option<String>, span: Span },
    /// SHOW; no name means ALL.
    Show { name: Option<String>, span: Span },
    /// ALTER TABLE, ALTER VIEW or ALTER INDEX ... RENAME TO.
    Rename { kind: ObjectKind, name: ObjectName, to: Ident, column: Option<Ident>, if_exists: bool },
    /// ALTER TABLE or ALTER VIEW ... SET SCHEMA.
    SetSchema { kind: ObjectKind, name: ObjectName, to: Ident, if_exists: bool },
    /// ALTER VIEW ... OWNER TO: there is one user.
    Owner { view: ObjectName, if_exists: bool },
    /// CREATE or ALTER SEQUENCE.
    Sequence(Box<SequenceAst>),
    /// CREATE or ALTER TYPE.
    Type(TypeAst),
    /// SET CONSTRAINTS; no names mean all.
    SetConstraints { names: Option<Vec<ObjectName>>, deferred: bool },
    /// What changes nothing: what the statement is called.
    Nothing(&'static str),
    /// CREATE, ALTER or DROP DOMAIN.
    Domain(Box<DomainAst>),
    /// VACUUM, REINDEX and the like.
    Maintenance(MaintenanceAst),
    /// COMMENT ON.
    Comment(CommentAst),
    /// SHOW TABLES.
    ShowTables,
    /// DESCRIBE of a table, view or file.
    Describe(ObjectName),
    /// SUMMARIZE of a query.
    Summarize(Box<Query>),
    /// DESCRIBE of a query.
    DescribeQuery(Box<Query>),
    /// PREPARE, EXECUTE, DEALLOCATE.
    Prepared(PreparedAst),
    /// DECLARE, FETCH, MOVE, CLOSE.
    Cursor(CursorAst),
    /// Variables, extensions and DISCARD.
    Session(SessionAst),
    /// Of functions and procedures.
    Routine(RoutineAst),
    /// Of triggers.
    Trigger(TriggerAst),
    /// Of rules.
    Rule(RuleAst),
    /// Of children and partitions.
    Kin(KinAst),
}

impl Ast {
    /// What the library has read of it.
    pub(super) fn library(&mut self) -> Option<&mut Statement> {
        match self {
            Self::Library(statement) => Some(statement),
            Self::Explain { statement, .. } => statement.library(),
            _ => None,
        }
    }
}

/// A parsed COPY.
#[derive(Debug)]
pub(crate) struct CopyAst {
    pub subject: CopySubject,
    pub to: bool,
    pub target: CopyTarget,
    /// Position of the path.
    pub target_span: Span,
    pub options: Vec<(String, String)>,
    /// Which rows of a file are taken.
    pub condition: Option<Box<Expr>>,
}

/// What COPY copies.
#[derive(Debug)]
pub(crate) enum CopySubject {
    Table(ObjectName, Vec<Ident>),
    Query(Box<Query>),
}

type Result<T> = std::result::Result<T, ParserError>;

/// Reads one statement.
pub(super) fn statement(parser: &mut Parser<'_>) -> Result<Ast> {
    if parser.parse_keyword(Keyword::EXPLAIN) {
        return explain(parser);
    }
    if parser.parse_keyword(Keyword::COPY) {
        return copy(parser).map(Ast::Copy);
    }
    if let Some(found) = session(parser)? {
        return Ok(match found {
            SessionAst::Query(query) => Ast::Library(Box::new(Statement::Query(query))),
            SessionAst::Set { name, value, span } => Ast::Set { name, value, local: false, span },
            SessionAst::Lock(tables) => Ast::Maintenance(MaintenanceAst::Lock(tables)),
            other => Ast::Session(other),
        });
    }
    if parser.parse_keyword(Keyword::SET) {
        return set(parser);
    }
    if parser.parse_keyword(Keyword::RESET) {
        let span = parser.peek_token().span;
        let name = match parser.parse_keyword(Keyword::ALL) {
            true => None,
            false if is_word(parser, "session") && words::is_word(parser, 1, "authorization") => {
                parser.next_token();
                parser.next_token();
                Some("session_authorization".to_owned())
            }
            false => Some(setting_name(parser)?),
        };
        return Ok(Ast::Reset { name, span });
    }
    if parser.parse_keyword(Keyword::SHOW) {
        let span = parser.peek_token().span;
        if parser.parse_keyword(Keyword::TABLES) {
            return Ok(Ast::ShowTables);
        }
        let name = if parser.parse_keyword(Keyword::ALL) { None } else { Some(setting_name(parser)?) };
        return Ok(Ast::Show { name, span });
    }
    if parser.parse_one_of_keywords(&[Keyword::DESCRIBE, Keyword::DESC]).is_some() {
        if let Some(Keyword::SELECT | Keyword::WITH | Keyword::VALUES) =
            parser.peek_one_of_keywords(&[Keyword::SELECT, Keyword::WITH, Keyword::VALUES])
        {
            return Ok(Ast::DescribeQuery(parser.parse_query()?));
        }
        let _ = parser.parse_keyword(Keyword::TABLE);
        return Ok(Ast::Describe(parser.parse_object_name(true)?));
    }
    if let Some(statement) = prepared(parser)? {
        return Ok(Ast::Prepared(statement));
    }
    if is_word(parser, "summarize") {
        parser.next_token();
        return summarize(parser);
    }
    if let Some(kin) = kin(parser)? {
        return Ok(Ast::Kin(kin));
    }
    if let Some(Ignored { tag, tables }) = ignored(parser)? {
        return Ok(Ast::Maintenance(MaintenanceAst::Look(tag, tables)));
    }
    if let Some(rename) = rename(parser)? {
        return Ok(rename);
    }
    if let Some(tag) = privileges(parser)? {
        return Ok(Ast::Nothing(tag));
    }
    if let Some(domain) = domain(parser)? {
        return Ok(Ast::Domain(Box::new(domain)));
    }
    if let Some(maintenance) = maintenance(parser)? {
        return Ok(Ast::Maintenance(maintenance));
    }
    if let Some(comment) = comment(parser)? {
        return Ok(Ast::Comment(comment));
    }
    if let Some(user_type) = user_type(parser)? {
        return Ok(Ast::Type(user_type));
    }
    if let Some(cursor) = cursor(parser)? {
        return Ok(Ast::Cursor(cursor));
    }
    if let Some(trigger) = trigger(parser)? {
        return Ok(Ast::Trigger(trigger));
    }
    if let Some(routine) = routine(parser)? {
        return Ok(Ast::Routine(routine));
    }
    if let Some(sequence) = sequence(parser)? {
        return Ok(Ast::Sequence(Box::new(sequence)));
    }
    parser.parse_statement().map(|s| Ast::Library(Box::new(s)))
}

/// ALTER TABLE, ALTER VIEW and ALTER INDEX ... RENAME TO, ALTER VIEW ... RENAME COLUMN; the library does not know those of views.
fn rename(parser: &mut Parser<'_>) -> Result<Option<Ast>> {
    let begin = here(parser);
    if !parser.parse_keyword(Keyword::ALTER) {
        return Ok(None);
    }
    let kind = match parser.parse_one_of_keywords(&[Keyword::TABLE, Keyword::VIEW, Keyword::INDEX]) {
        Some(Keyword::TABLE) => Some(ObjectKind::Table),
        Some(Keyword::INDEX) => Some(ObjectKind::Index),
        Some(_) => Some(ObjectKind::View),
        None => None,
    };
    if let Some(kind) = kind {
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let name = parser.parse_object_name(false)?;
        if parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
            let (to, column) = (parser.parse_identifier()?, None);
            return Ok(Some(Ast::Rename { kind, name, to, column, if_exists }));
        }
        if kind == ObjectKind::View && parser.parse_keyword(Keyword::RENAME) {
            let _ = parser.parse_keyword(Keyword::COLUMN);
            let column = Some(parser.parse_identifier()?);
            parser.expect_keyword_is(Keyword::TO)?;
            return Ok(Some(Ast::Rename { kind, name, to: parser.parse_identifier()?, column, if_exists }));
        }
        if kind != ObjectKind::Index && parser.parse_keywords(&[Keyword::SET, Keyword::SCHEMA]) {
            return Ok(Some(Ast::SetSchema { kind, name, to: parser.parse_identifier()?, if_exists }));
        }
        if kind == ObjectKind::View && parser.parse_keywords(&[Keyword::OWNER, Keyword::TO]) {
            parser.parse_identifier()?;
            return Ok(Some(Ast::Owner { view: name, if_exists }));
        }
    }
    back_to(parser, begin);
    Ok(None)
}

fn is_word(parser: &Parser<'_>, name: &str) -> bool {
    matches!(&parser.peek_token_ref().token, Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(name))
}

/// SUMMARIZE of a query, or of all rows of a table, view or file.
fn summarize(parser: &mut Parser<'_>) -> Result<Ast> {
    let queries = [Keyword::SELECT, Keyword::WITH, Keyword::VALUES, Keyword::FROM];
    if parser.peek_one_of_keywords(&queries).is_some() || parser.peek_token_ref().token == Token::LParen {
        return Ok(Ast::Summarize(parser.parse_query()?));
    }
    let name = parser.parse_object_name(true)?;
    let text = "select * from t";
    let mut query = Parser::new(&MorselDialect).try_with_sql(text)?.parse_query()?;
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Some(TableWithJoins { relation: TableFactor::Table { name: read, .. }, .. }) = select.from.first_mut()
    {
        *read = name;
    }
    Ok(Ast::Summarize(query))
}

fn explain(parser: &mut Parser<'_>) -> Result<Ast> {
    let mut analyze = false;
    let mut stage = ExplainStage::Plain;
    if parser.peek_token().token == Token::LParen && !opens_query(parser) {
        parser.next_token();
        loop {
            let token = parser.next_token();
            let name = match &token.token {
                Token::Word(word) => word.value.to_ascii_lowercase(),
                _ => return parser.expected("an option of EXPLAIN", token),
            };
            match name.as_str() {
                "analyze" => analyze = switch(parser)?,
                "verbose" => stage = if switch(parser)? { ExplainStage::Optimized } else { ExplainStage::Plain },
                "logical" => stage = ExplainStage::Logical,
                "optimized" => stage = ExplainStage::Optimized,
                "pipelines" => stage = ExplainStage::Pipelines,
                "ir" => stage = ExplainStage::Ir,
                "asm" => stage = ExplainStage::Asm,
                "trace" => stage = ExplainStage::Trace,
                "format" => {
                    let token = parser.peek_token();
                    match option_value(parser)?.as_str() {
                        "text" => {}
                        "json" => stage = ExplainStage::Json,
                        _ => return parser.expected("TEXT or JSON", token),
                    }
                }
                "costs" | "timing" | "summary" | "buffers" | "settings" => {
                    // PostgreSQL's switches that tools send; they change nothing here.
                    switch(parser)?;
                }
                _ => return parser.expected("ANALYZE, TRACE, LOGICAL, OPTIMIZED, PIPELINES, IR or ASM", token),
            }
            if !parser.consume_token(&Token::Comma) {
                parser.expect_token(&Token::RParen)?;
                break;
            }
        }
    } else {
        analyze = parser.parse_keyword(Keyword::ANALYZE);
        if parser.parse_keyword(Keyword::VERBOSE) {
            stage = ExplainStage::Optimized;
        }
    }
    if parser.peek_keyword(Keyword::EXPLAIN) {
        return parser.expected("a statement to explain", parser.peek_token());
    }
    Ok(Ast::Explain { analyze, stage, statement: Box::new(statement(parser)?) })
}

/// Whether the parenthesis ahead begins a query and no list of options.
fn opens_query(parser: &Parser<'_>) -> bool {
    match &parser.peek_nth_token_ref(1).token {
        Token::LParen => true,
        Token::Word(w) => matches!(w.keyword, Keyword::SELECT | Keyword::WITH | Keyword::VALUES | Keyword::FROM),
        _ => false,
    }
}

fn copy(parser: &mut Parser<'_>) -> Result<CopyAst> {
    let subject = if parser.consume_token(&Token::LParen) {
        let query = parser.parse_query()?;
        parser.expect_token(&Token::RParen)?;
        CopySubject::Query(query)
    } else {
        let name = parser.parse_object_name(false)?;
        CopySubject::Table(name, parser.parse_parenthesized_column_list(IsOptional::Optional, false)?)
    };
    let to = match parser.expect_one_of_keywords(&[Keyword::FROM, Keyword::TO])? {
        Keyword::TO => true,
        _ if matches!(subject, CopySubject::Query(_)) => return parser.expected("TO", parser.peek_token()),
        _ => false,
    };
    let token = parser.next_token();
    let target = match &token.token {
        Token::SingleQuotedString(path) | Token::EscapedStringLiteral(path) => CopyTarget::File(path.clone()),
        Token::Word(w) if !to && w.keyword == Keyword::STDIN => CopyTarget::Stdin,
        Token::Word(w) if to && w.keyword == Keyword::STDOUT => CopyTarget::Stdout,
        _ => return parser.expected(if to { "a path or STDOUT" } else { "a path or STDIN" }, token),
    };
    let _ = parser.parse_keyword(Keyword::WITH);
    let mut options = Vec::new();
    if parser.consume_token(&Token::LParen) {
        options = copy_options(parser)?;
    } else {
        legacy_options(parser, &mut options)?;
    }
    let is_conditional = !to && parser.parse_keyword(Keyword::WHERE);
    let condition = is_conditional.then(|| parser.parse_expr()).transpose()?;
    Ok(CopyAst { subject, to, target, target_span: token.span, options, condition: condition.map(Box::new) })
}

/// The form before PostgreSQL 9.0: `CSV HEADER DELIMITER ','`.
fn legacy_options(parser: &mut Parser<'_>, options: &mut Vec<(String, String)>) -> Result<()> {
    while let Token::Word(word) = parser.peek_token().token {
        if word.keyword == Keyword::WHERE {
            break;
        }
        parser.next_token();
        let name = word.value.to_ascii_lowercase();
        match name.as_str() {
            "csv" | "text" | "binary" | "parquet" => options.push(("format".to_owned(), name)),
            "header" => options.push((name, "true".to_owned())),
            "delimiter" | "null" | "quote" | "escape" | "encoding" => {
                let _ = parser.parse_keyword(Keyword::AS);
                options.push((name, option_value(parser)?));
            }
            _ => {
                parser.prev_token();
                return parser.expected("an option of COPY", parser.peek_token());
            }
        }
    }
    Ok(())
}

/// Whether an option is on, which it is without a value.
fn switch(parser: &mut Parser<'_>) -> Result<bool> {
    Ok(match parser.peek_token().token {
        Token::Comma | Token::RParen => true,
        _ => !matches!(option_value(parser)?.as_str(), "false" | "off" | "0"),
    })
}

pub(super) fn setting_name(parser: &mut Parser<'_>) -> Result<String> {
    if parser.parse_keywords(&[Keyword::TIME, Keyword::ZONE]) {
        return Ok("timezone".to_owned());
    }
    if parser.parse_keywords(&[Keyword::TRANSACTION, Keyword::ISOLATION, Keyword::LEVEL]) {
        return Ok("transaction_isolation".to_owned());
    }
    let mut name = String::new();
    loop {
        let token = parser.next_token();
        match &token.token {
            Token::Word(word) => name += &word.value.to_ascii_lowercase(),
            _ => return parser.expected("the name of a setting", token),
        }
        if !parser.consume_token(&Token::Period) {
            return Ok(name);
        }
        name.push('.');
    }
}

fn set(parser: &mut Parser<'_>) -> Result<Ast> {
    let next_is = |parser: &Parser<'_>, token: &Token| parser.peek_nth_token_ref(1).token == *token;
    let is_name = next_is(parser, &Token::Eq) || next_is(parser, &Token::Period);
    let scopes = [Keyword::SESSION, Keyword::LOCAL, Keyword::GLOBAL];
    let scope = if is_name { None } else { parser.parse_one_of_keywords(&scopes) };
    let local = scope == Some(Keyword::LOCAL);
    if !is_name && is_word(parser, "constraints") {
        parser.next_token();
        let names = match parser.parse_keyword(Keyword::ALL) {
            true => None,
            false => Some(parser.parse_comma_separated(|p| p.parse_object_name(false))?),
        };
        let deferred = is_word(parser, "deferred");
        if !deferred && !is_word(parser, "immediate") {
            return parser.expected("DEFERRED or IMMEDIATE", parser.peek_token());
        }
        parser.next_token();
        return Ok(Ast::SetConstraints { names, deferred });
    }
    let span = parser.peek_token().span;
    let users = [("role", "role"), ("authorization", "session_authorization")];
    if let Some((_, name)) = users.iter().find(|(word, _)| !is_name && is_word(parser, word))
        && !matches!(parser.peek_nth_token_ref(1).token, Token::Eq)
        && !words::is_word(parser, 1, "to")
    {
        parser.next_token();
        let value = option_value(parser)?;
        return Ok(Ast::Set { name: (*name).to_owned(), value: Some(value), local, span });
    }
    let session = parser.parse_keywords(&[Keyword::CHARACTERISTICS, Keyword::AS]);
    if session || parser.peek_keyword(Keyword::TRANSACTION) {
        parser.expect_keyword_is(Keyword::TRANSACTION)?;
        let modes = parser.parse_transaction_modes()?;
        let set = sqlparser::ast::Set::SetTransaction { modes, snapshot: None, session };
        return Ok(Ast::Library(Box::new(Statement::Set(set))));
    }
    if parser.parse_keyword(Keyword::SCHEMA) {
        let value = Some(parser.parse_literal_string()?);
        return Ok(Ast::Set { name: "search_path".to_owned(), value, local, span });
    }
    let (name, value) = setting(parser)?;
    Ok(Ast::Set { name, value, local, span })
}

/// A setting and what it is set to: `name TO value, ...`, `TIME ZONE value`; no value means DEFAULT.
pub(super) fn setting(parser: &mut Parser<'_>) -> Result<(String, Option<String>)> {
    if parser.parse_keywords(&[Keyword::TIME, Keyword::ZONE]) {
        return Ok(("timezone".to_owned(), Some(option_value(parser)?)));
    }
    let name = setting_name(parser)?;
    if !parser.consume_token(&Token::Eq) && !parser.consume_token(&Token::Assignment) {
        parser.expect_keyword_is(Keyword::TO)?;
    }
    if parser.parse_keyword(Keyword::DEFAULT) {
        return Ok((name, None));
    }
    let mut values: Vec<String> = Vec::new();
    loop {
        let is_name = matches!(&parser.peek_token_ref().token, Token::Word(word) if word.quote_style.is_some());
        let value = option_value(parser)?;
        // What is in quotes is one schema, whatever is in it.
        let is_schema = name == "search_path" && is_name;
        values.push(if is_schema { format!("\"{}\"", value.replace('"', "\"\"")) } else { value });
        if !parser.consume_token(&Token::Comma) {
            return Ok((name, Some(values.join(","))));
        }
    }
}
