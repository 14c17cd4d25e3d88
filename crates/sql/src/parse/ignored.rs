//! What PostgreSQL stores by, plans by, and asks of its users, which has no meaning here: such a statement does nothing but name
//! tables that must be there, and clauses of that kind are left out.

use sqlparser::ast::ObjectName;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::window::as_word;
use super::words::word;
use super::{back_to, here};

type Result<T> = std::result::Result<T, ParserError>;

/// A statement that means nothing: what it is called, and tables that must be there.
pub(super) struct Ignored {
    pub tag: &'static str,
    pub tables: Vec<ObjectName>,
}

impl Ignored {
    fn nothing(tag: &'static str) -> Self {
        Self { tag, tables: Vec::new() }
    }
}

/// Kinds of objects whose comments nobody reads here.
const COMMENTED: &[&str] = &[
    "access",
    "aggregate",
    "cast",
    "collation",
    "conversion",
    "event",
    "foreign",
    "function",
    "language",
    "large",
    "materialized",
    "operator",
    "policy",
    "procedural",
    "procedure",
    "publication",
    "role",
    "routine",
    "rule",
    "server",
    "statistics",
    "subscription",
    "tablespace",
    "text",
    "transform",
    "trigger",
];

/// What ALTER FUNCTION may say of how one is called, but that it is STRICT.
const TRAITS: &[&str] =
    &["immutable", "stable", "volatile", "leakproof", "not", "security", "external", "invoker", "definer", "restrict"];

/// The statement, if it is one of these.
pub(super) fn ignored(parser: &mut Parser<'_>) -> Result<Option<Ignored>> {
    let begin = here(parser);
    let found = found(parser)?;
    if found.is_none() {
        back_to(parser, begin);
    }
    Ok(found)
}

fn found(parser: &mut Parser<'_>) -> Result<Option<Ignored>> {
    if word(parser, "cluster") {
        let _ = word(parser, "verbose");
        let mut tables = Vec::new();
        if !is_end(parser) {
            tables.push(parser.parse_object_name(false)?);
            if word(parser, "using") {
                parser.parse_identifier()?;
            }
        }
        return Ok(Some(Ignored { tag: "CLUSTER", tables }));
    }
    if word(parser, "security") {
        return Ok(word(parser, "label").then(|| rest(parser, "SECURITY LABEL")));
    }
    if word(parser, "comment") {
        let is_one = word(parser, "on") && COMMENTED.iter().any(|kind| word(parser, kind));
        return Ok(is_one.then(|| rest(parser, "COMMENT")));
    }
    for (verb, tag) in [("create", "CREATE STATISTICS"), ("drop", "DROP STATISTICS"), ("alter", "ALTER STATISTICS")] {
        if super::words::is_word(parser, 0, verb) && super::words::is_word(parser, 1, "statistics") {
            return Ok(Some(rest(parser, tag)));
        }
    }
    if !word(parser, "alter") {
        return Ok(None);
    }
    if word(parser, "table") {
        return table(parser);
    }
    let _ = word(parser, "materialized");
    for (kind, tag) in [("view", "ALTER VIEW"), ("index", "ALTER INDEX")] {
        if word(parser, kind) {
            let _ = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
            parser.parse_object_name(false)?;
            return Ok((action(parser)? && is_end(parser)).then_some(Ignored::nothing(tag)));
        }
    }
    for (kind, tag) in [("function", "ALTER FUNCTION"), ("procedure", "ALTER PROCEDURE"), ("routine", "ALTER ROUTINE")]
    {
        if word(parser, kind) {
            parser.parse_object_name(false)?;
            if parser.peek_token_ref().token == Token::LParen {
                parenthesised(parser);
            }
            return Ok(traits(parser).then_some(Ignored::nothing(tag)));
        }
    }
    Ok(None)
}

/// ALTER TABLE, if all that it does is of that kind.
fn table(parser: &mut Parser<'_>) -> Result<Option<Ignored>> {
    let may_lack = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let _ = word(parser, "only");
    let name = parser.parse_object_name(false)?;
    loop {
        if !action(parser)? {
            return Ok(None);
        }
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    let tables = if may_lack { Vec::new() } else { vec![name] };
    Ok(is_end(parser).then_some(Ignored { tag: "ALTER TABLE", tables }))
}

/// Reads an action of ALTER, if it means nothing.
fn action(parser: &mut Parser<'_>) -> Result<bool> {
    if word(parser, "alter") {
        let _ = word(parser, "column");
        // A column, or its number in an index.
        if !matches!(parser.next_token().token, Token::Word(_) | Token::Number(..)) {
            return Ok(false);
        }
        if word(parser, "reset") {
            return Ok(parenthesised(parser));
        }
        if !word(parser, "set") {
            return Ok(false);
        }
        if word(parser, "storage") || word(parser, "compression") {
            parser.next_token();
            return Ok(true);
        }
        if word(parser, "statistics") {
            let _ = parser.consume_token(&Token::Minus);
            parser.next_token();
            return Ok(true);
        }
        return Ok(parenthesised(parser));
    }
    if word(parser, "cluster") {
        return Ok(word(parser, "on") && parser.parse_identifier().is_ok());
    }
    if word(parser, "replica") {
        if !word(parser, "identity") {
            return Ok(false);
        }
        if word(parser, "using") {
            let _ = parser.parse_keyword(Keyword::INDEX);
        }
        parser.next_token();
        return Ok(true);
    }
    if word(parser, "reset") {
        return Ok(parenthesised(parser));
    }
    if !word(parser, "set") {
        return Ok(false);
    }
    if word(parser, "without") {
        return Ok(word(parser, "oids") || word(parser, "cluster"));
    }
    if word(parser, "tablespace") {
        return Ok(parser.parse_identifier().is_ok());
    }
    if word(parser, "access") {
        return Ok(word(parser, "method") && parser.parse_identifier().is_ok());
    }
    Ok(word(parser, "logged") || word(parser, "unlogged") || parenthesised(parser))
}

/// Traits of a function up to the statement's end.
fn traits(parser: &mut Parser<'_>) -> bool {
    if is_end(parser) {
        return false;
    }
    while !is_end(parser) {
        if TRAITS.iter().any(|one| word(parser, one)) {
            continue;
        }
        if ["parallel", "cost", "rows", "support"].iter().any(|one| word(parser, one)) {
            parser.next_token();
            continue;
        }
        return false;
    }
    true
}

fn is_end(parser: &Parser<'_>) -> bool {
    matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon)
}

fn rest(parser: &mut Parser<'_>, tag: &'static str) -> Ignored {
    while !is_end(parser) {
        parser.next_token();
    }
    Ignored::nothing(tag)
}

/// Eats what stands in parentheses, if it begins here.
fn parenthesised(parser: &mut Parser<'_>) -> bool {
    if !parser.consume_token(&Token::LParen) {
        return false;
    }
    let mut depth = 1;
    while depth > 0 {
        match parser.next_token().token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::EOF => return false,
            _ => {}
        }
    }
    true
}

/// The tokens without clauses that mean nothing: options of storage of indexes and views, where they are stored, that an index is
/// dropped beside others, that a transaction may wait for a good moment.
pub(super) fn without(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let first = tokens.iter().find(|t| !matches!(t.token, Token::Whitespace(_))).and_then(|t| as_word(&t.token));
    let begins = |word: &str| first.is_some_and(|first| first.value.eq_ignore_ascii_case(word));
    if !["create", "drop", "begin", "start", "set"].into_iter().any(begins) {
        return tokens;
    }
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let is = |at: usize, wanted: &str| {
        let token = visible.get(at).map(|&i| &tokens[i].token);
        token.and_then(as_word).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted))
    };
    let token = |at: usize| visible.get(at).map(|&i| &tokens[i].token);
    let mut gone: Vec<(usize, usize)> = Vec::new();
    let kind = (1..6).find(|&at| is(at, "index") || is(at, "view")).filter(|_| is(0, "create") || is(0, "drop"));
    match kind {
        Some(at) if is(0, "drop") => {
            if at == 1 && is(1, "index") && is(2, "concurrently") {
                gone.push((2, 3));
            }
        }
        Some(at) => {
            let mut depth = 0;
            for at in at..visible.len() {
                match token(at) {
                    Some(Token::LParen) => depth += 1,
                    Some(Token::RParen) => depth -= 1,
                    // What follows is the view's query.
                    _ if depth == 0 && is(at, "as") => break,
                    _ if depth == 0 && is(at, "with") && token(at + 1) == Some(&Token::LParen) => {
                        let close = (at..visible.len()).find(|&close| token(close) == Some(&Token::RParen));
                        gone.extend(close.map(|close| (at, close + 1)));
                    }
                    _ if depth == 0 && is(at, "tablespace") => gone.push((at, at + 2)),
                    _ => {}
                }
            }
        }
        None if is(0, "begin") || is(0, "start") || is(0, "set") => {
            for at in (1..visible.len()).filter(|&at| is(at, "deferrable")) {
                let first = if is(at - 1, "not") { at - 1 } else { at };
                let comma = first > 1 && token(first - 1) == Some(&Token::Comma);
                gone.push((if comma { first - 1 } else { first }, at + 1));
            }
            // Nothing but that is no mode at all, which SET TRANSACTION does not take.
            if is(0, "set") && gone.len() == 1 && gone[0].0 <= 2 && gone[0].1 == visible.len() {
                gone.clear();
            }
        }
        None => return tokens,
    }
    let mut tokens = tokens;
    for (first, end) in gone.into_iter().rev() {
        let end = visible.get(end).copied().unwrap_or(tokens.len());
        tokens.drain(visible[first]..end);
    }
    tokens
}
