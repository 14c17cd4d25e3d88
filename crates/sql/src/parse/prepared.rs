//! PREPARE, EXECUTE, DEALLOCATE.

use sqlparser::ast::{DataType, Expr, Ident, Statement};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token};

type Result<T> = std::result::Result<T, ParserError>;

/// One of the three.
#[derive(Debug)]
pub(crate) enum PreparedAst {
    Prepare(PrepareAst),
    Execute(ExecuteAst),
    /// No name means ALL.
    Deallocate(Option<Ident>),
}

/// A parsed PREPARE.
#[derive(Debug)]
pub(crate) struct PrepareAst {
    pub name: Ident,
    /// Types of the first parameters.
    pub types: Vec<DataType>,
    pub statement: Box<Statement>,
    /// Where that begins.
    pub begin: Span,
}

/// A parsed EXECUTE.
#[derive(Debug)]
pub(crate) struct ExecuteAst {
    pub name: Ident,
    pub arguments: Vec<(Option<Ident>, Expr)>,
}

/// The statement, if it is one of these.
pub(super) fn prepared(parser: &mut Parser<'_>) -> Result<Option<PreparedAst>> {
    Ok(Some(match parser.parse_one_of_keywords(&[Keyword::PREPARE, Keyword::EXECUTE, Keyword::DEALLOCATE]) {
        Some(Keyword::PREPARE) => PreparedAst::Prepare(prepare(parser)?),
        Some(Keyword::EXECUTE) => PreparedAst::Execute(execute(parser)?),
        Some(_) => deallocate(parser)?,
        None => return Ok(None),
    }))
}

fn prepare(parser: &mut Parser<'_>) -> Result<PrepareAst> {
    let name = parser.parse_identifier()?;
    let mut types = Vec::new();
    if parser.consume_token(&Token::LParen) {
        types = parser.parse_comma_separated(Parser::parse_data_type)?;
        parser.expect_token(&Token::RParen)?;
    }
    parser.expect_keyword_is(Keyword::AS)?;
    let first = parser.peek_token();
    let begin = first.span;
    match parser.parse_statement() {
        Ok(statement) if is_preparable(&statement) => {
            Ok(PrepareAst { name, types, statement: Box::new(statement), begin })
        }
        Ok(_) => parser.expected("SELECT, INSERT, UPDATE, DELETE, MERGE or VALUES", first),
        Err(error) => Err(error),
    }
}

fn is_preparable(statement: &Statement) -> bool {
    use Statement as S;
    matches!(statement, S::Query(_) | S::Insert(_) | S::Update { .. } | S::Delete(_) | S::Merge { .. })
}

/// The arguments of EXECUTE, with parentheses only if there are some.
fn execute(parser: &mut Parser<'_>) -> Result<ExecuteAst> {
    let name = parser.parse_identifier()?;
    let mut arguments = Vec::new();
    if parser.consume_token(&Token::LParen) {
        arguments = parser.parse_comma_separated(argument)?;
        parser.expect_token(&Token::RParen)?;
    }
    Ok(ExecuteAst { name, arguments })
}

/// `value` or `name := value`.
fn argument(parser: &mut Parser<'_>) -> Result<(Option<Ident>, Expr)> {
    let is_named = matches!(parser.peek_nth_token_ref(0).token, Token::Word(_))
        && matches!(parser.peek_nth_token_ref(1).token, Token::Assignment | Token::RArrow);
    let name = match is_named {
        true => {
            let name = parser.parse_identifier()?;
            parser.next_token();
            Some(name)
        }
        false => None,
    };
    Ok((name, parser.parse_expr()?))
}

/// `DEALLOCATE [PREPARE] {name | ALL}`: `prepare` before something else is the word, not the name.
fn deallocate(parser: &mut Parser<'_>) -> Result<PreparedAst> {
    let before_name = matches!(parser.peek_nth_token_ref(1).token, Token::Word(_));
    if before_name {
        let _ = parser.parse_keyword(Keyword::PREPARE);
    }
    let name = if parser.parse_keyword(Keyword::ALL) { None } else { Some(parser.parse_identifier()?) };
    Ok(PreparedAst::Deallocate(name))
}
