//! Statements that PostgreSQL's and DuckDB's users bring and that are others here: PRAGMA and `CALL pragma_...`, SHOW ALL TABLES, SCHEMAS and DATABASES, USE,
//! extensions, LOCK TABLE, DISCARD, variables of the session.

use sqlparser::ast::{Expr, Ident, ObjectName, Query};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token};

use super::secret::{SecretAst, secret};
use super::words::{is_word, option_value, word};
use super::{back_to, here};
use crate::dialect::MorselDialect;

type Result<T> = std::result::Result<T, ParserError>;

/// Extensions of PostgreSQL and DuckDB of which nothing is missing here that is asked for by their names.
const EXTENSIONS: [&str; 16] = [
    "plpgsql",
    "pgcrypto",
    "uuid-ossp",
    "pg_stat_statements",
    "btree_gin",
    "btree_gist",
    "json",
    "parquet",
    "icu",
    "tpch",
    "core_functions",
    "autocomplete",
    "jemalloc",
    "fuzzystrmatch",
    "httpfs",
    "aws",
];

/// SHOW SCHEMAS.
const SCHEMAS: &str = "SELECT database_name, schema_name FROM duckdb_schemas() WHERE NOT internal ORDER BY schema_name";

/// One of them.
#[derive(Debug)]
pub(crate) enum SessionAst {
    /// SET VARIABLE.
    SetVariable { name: Ident, value: Box<Expr> },
    /// RESET VARIABLE.
    ResetVariable { name: Ident },
    /// DISCARD.
    Discard(&'static str),
    /// USE.
    Use(ObjectName),
    /// What is a query of the system's tables.
    Query(Box<Query>),
    /// What is SET.
    Set { name: String, value: Option<String>, span: Span },
    /// LOCK TABLE.
    Lock(TableLockAst),
    /// CREATE SECRET, DROP SECRET.
    Secret(SecretAst),
    /// An extension that is to be made or loaded: what the statement is called, and what is said.
    Extension { tag: &'static str, name: Ident },
}

/// The statement, if it is one of these.
pub(super) fn session(parser: &mut Parser<'_>) -> Result<Option<SessionAst>> {
    let begin = here(parser);
    if let Some(found) = found(parser)? {
        return Ok(Some(found));
    }
    back_to(parser, begin);
    Ok(None)
}

fn found(parser: &mut Parser<'_>) -> Result<Option<SessionAst>> {
    if word(parser, "pragma") {
        return pragma(parser).map(Some);
    }
    if is_word(parser, 0, "call") && begins(parser, 1, "pragma_") {
        parser.next_token();
        return pragma(parser).map(Some);
    }
    if word(parser, "show") {
        let ends = |parser: &Parser<'_>| matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon);
        let text = match () {
            () if word(parser, "schemas") && ends(parser) => SCHEMAS,
            () if word(parser, "databases") && ends(parser) => "SELECT database_name FROM duckdb_databases()",
            () if parser.parse_keyword(Keyword::ALL) && word(parser, "tables") => {
                "SELECT * FROM pragma_show_tables_expanded()"
            }
            () => return Ok(None),
        };
        return query(text).map(Some);
    }
    if word(parser, "use") {
        return Ok(Some(SessionAst::Use(parser.parse_object_name(false)?)));
    }
    for (name, tag) in [("install", "INSTALL"), ("load", "LOAD")] {
        if word(parser, name) {
            return extension(parser, tag).map(Some);
        }
    }
    let begin = here(parser);
    if let Some(secret) = secret(parser)? {
        return Ok(Some(SessionAst::Secret(secret)));
    }
    back_to(parser, begin);
    if parser.parse_keywords(&[Keyword::CREATE, Keyword::EXTENSION]) {
        let _ = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
        return extension(parser, "CREATE EXTENSION").map(Some);
    }
    if parser.parse_keywords(&[Keyword::DROP, Keyword::EXTENSION]) {
        let _ = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        return extension(parser, "DROP EXTENSION").map(Some);
    }
    if word(parser, "lock") {
        return lock(parser).map(Some);
    }
    if word(parser, "discard") {
        for (name, tag) in [
            ("all", "DISCARD ALL"),
            ("plans", "DISCARD PLANS"),
            ("sequences", "DISCARD SEQUENCES"),
            ("temp", "DISCARD TEMP"),
            ("temporary", "DISCARD TEMP"),
        ] {
            if word(parser, name) {
                return Ok(Some(SessionAst::Discard(tag)));
            }
        }
        return parser.expected("ALL, PLANS, SEQUENCES or TEMP", parser.peek_token());
    }
    if is_word(parser, 0, "set") && is_word(parser, 1, "variable") {
        parser.next_token();
        parser.next_token();
        let name = parser.parse_identifier()?;
        if !parser.consume_token(&Token::Eq) && !parser.consume_token(&Token::Assignment) {
            parser.expect_keyword_is(Keyword::TO)?;
        }
        let value = Box::new(parser.parse_expr()?);
        return Ok(Some(SessionAst::SetVariable { name, value }));
    }
    if is_word(parser, 0, "reset") && is_word(parser, 1, "variable") {
        parser.next_token();
        parser.next_token();
        return Ok(Some(SessionAst::ResetVariable { name: parser.parse_identifier()? }));
    }
    Ok(None)
}

fn begins(parser: &Parser<'_>, ahead: usize, prefix: &str) -> bool {
    match &parser.peek_nth_token_ref(ahead).token {
        Token::Word(word) => word.value.to_lowercase().starts_with(prefix),
        _ => false,
    }
}

/// `table_info('t')`, `version`, `name = value`; behind CALL, the name has a prefix.
fn pragma(parser: &mut Parser<'_>) -> Result<SessionAst> {
    let span = parser.peek_token().span;
    let name = crate::bind::fold(&parser.parse_identifier()?);
    if parser.consume_token(&Token::Eq) {
        let value = Some(option_value(parser)?);
        return Ok(SessionAst::Set { name, value, span });
    }
    let mut arguments = String::new();
    if parser.consume_token(&Token::LParen) && !parser.consume_token(&Token::RParen) {
        let given = parser.parse_comma_separated(Parser::parse_expr)?;
        parser.expect_token(&Token::RParen)?;
        arguments = given.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    }
    let name = name.strip_prefix("pragma_").unwrap_or(&name);
    query(&format!("SELECT * FROM pragma_{}({arguments})", Ident::new(name)))
}

/// A query of which nothing has a place in the statement.
fn query(text: &str) -> Result<SessionAst> {
    Parser::new(&MorselDialect).try_with_sql(text)?.parse_query().map(SessionAst::Query)
}

fn extension(parser: &mut Parser<'_>, tag: &'static str) -> Result<SessionAst> {
    let token = parser.next_token();
    let name = match &token.token {
        Token::Word(word) => Ident { value: word.value.clone(), quote_style: word.quote_style, span: token.span },
        Token::SingleQuotedString(text) => Ident { value: text.clone(), quote_style: Some('"'), span: token.span },
        _ => return parser.expected("the name of an extension", token),
    };
    // WITH SCHEMA s VERSION v CASCADE, FROM a repository: where it comes from makes no difference.
    while !matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon) {
        parser.next_token();
    }
    Ok(SessionAst::Extension { tag, name })
}

/// `[TABLE] t [, ...] [IN ... MODE] [NOWAIT]`
fn lock(parser: &mut Parser<'_>) -> Result<SessionAst> {
    let _ = parser.parse_keyword(Keyword::TABLE);
    let _ = parser.parse_keyword(Keyword::ONLY);
    let tables: Vec<ObjectName> = parser.parse_comma_separated(|p| p.parse_object_name(false))?;
    let mut refuses_writers = true;
    if parser.parse_keyword(Keyword::IN) {
        let mut mode = Vec::new();
        while !word(parser, "mode") {
            let token = parser.next_token();
            match &token.token {
                Token::Word(word) => mode.push(word.value.to_lowercase()),
                _ => return parser.expected("a mode of LOCK", token),
            }
        }
        let mode = mode.join(" ");
        let Some((_, refuses)) = MODES.iter().find(|(name, _)| *name == mode) else {
            return Err(ParserError::ParserError(format!("Expected: a mode of LOCK, found: {mode}")));
        };
        refuses_writers = *refuses;
    }
    let waits = !word(parser, "nowait");
    Ok(SessionAst::Lock(TableLockAst { tables, refuses_writers, waits }))
}

/// The modes of LOCK, and whether others may not change rows beside them.
const MODES: [(&str, bool); 8] = [
    ("access share", false),
    ("row share", false),
    ("row exclusive", false),
    ("share update exclusive", false),
    ("share", true),
    ("share row exclusive", true),
    ("exclusive", true),
    ("access exclusive", true),
];

/// LOCK TABLE.
#[derive(Debug)]
pub(crate) struct TableLockAst {
    pub tables: Vec<ObjectName>,
    /// Whether nobody else may change rows of them.
    pub refuses_writers: bool,
    /// Whether it waits for others that have them.
    pub waits: bool,
}

/// Whether an extension is there by nature.
pub(crate) fn is_built_in(name: &str) -> bool {
    EXTENSIONS.contains(&name)
}
