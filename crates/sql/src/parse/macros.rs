//! DuckDB's macros: `CREATE MACRO f(a, b := 1) AS a + b, (a) AS a`, `CREATE MACRO f(a) AS TABLE SELECT ...`, with the word FUNCTION too
//! where it is none of PostgreSQL's functions, and `DROP MACRO [TABLE]`.

use sqlparser::ast::{Expr, Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token};

use super::words::{is_word, word};
use super::{back_to, here};

type Result<T> = std::result::Result<T, ParserError>;

/// CREATE MACRO.
#[derive(Debug)]
pub(crate) struct CreateMacroAst {
    pub name: ObjectName,
    pub or_replace: bool,
    pub temporary: bool,
    pub if_not_exists: bool,
    pub overloads: Vec<MacroAst>,
}

/// What one number of arguments means.
#[derive(Debug)]
pub(crate) struct MacroAst {
    pub parameters: Vec<(Ident, Option<Expr>)>,
    pub is_table: bool,
    /// Where the expression or query begins and ends.
    pub begin: Location,
    pub end: Location,
}

/// The statement behind CREATE [OR REPLACE], if it is one.
pub(super) fn create_macro(parser: &mut Parser<'_>, or_replace: bool) -> Result<Option<CreateMacroAst>> {
    let begin = here(parser);
    let temporary = parser.parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY]).is_some();
    let is_macro = word(parser, "macro");
    if !(is_macro || parser.parse_keyword(Keyword::FUNCTION) && is_behind_parameters(parser)) {
        back_to(parser, begin);
        return Ok(None);
    }
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    let overloads = parser.parse_comma_separated(overload)?;
    Ok(Some(CreateMacroAst { name, or_replace, temporary, if_not_exists, overloads }))
}

/// Whether AS and no text stand behind the parentheses ahead.
fn is_behind_parameters(parser: &Parser<'_>) -> bool {
    let token = |n: usize| &parser.peek_nth_token_ref(n).token;
    let mut depth = 0;
    for n in 0.. {
        match token(n) {
            Token::LParen => depth += 1,
            Token::RParen if depth == 1 => {
                let is_text = matches!(
                    token(n + 2),
                    Token::DollarQuotedString(_) | Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_)
                );
                return is_word(parser, n + 1, "as") && !is_text;
            }
            Token::RParen => depth -= 1,
            Token::EOF => return false,
            _ => {}
        }
    }
    false
}

fn overload(parser: &mut Parser<'_>) -> Result<MacroAst> {
    let mut parameters = Vec::new();
    parser.expect_token(&Token::LParen)?;
    if !parser.consume_token(&Token::RParen) {
        parameters = parser.parse_comma_separated(parameter)?;
        parser.expect_token(&Token::RParen)?;
    }
    parser.expect_keyword_is(Keyword::AS)?;
    let is_table = parser.parse_keyword(Keyword::TABLE);
    let begin = parser.peek_token_ref().span.start;
    if is_table {
        parser.parse_query()?;
    } else {
        parser.parse_expr()?;
    }
    parser.prev_token();
    let end = parser.next_token().span.end;
    Ok(MacroAst { parameters, is_table, begin, end })
}

/// `name`, or `name := default`.
fn parameter(parser: &mut Parser<'_>) -> Result<(Ident, Option<Expr>)> {
    let name = parser.parse_identifier()?;
    let has_default = parser.consume_token(&Token::Assignment) || parser.parse_keyword(Keyword::DEFAULT);
    Ok((name, if has_default { Some(parser.parse_expr()?) } else { None }))
}

/// `[TABLE] [IF EXISTS] name`, behind DROP MACRO.
pub(super) fn dropped_macro(parser: &mut Parser<'_>) -> Result<(ObjectName, bool)> {
    let _ = parser.parse_keyword(Keyword::TABLE);
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    Ok((parser.parse_object_name(false)?, if_exists))
}
