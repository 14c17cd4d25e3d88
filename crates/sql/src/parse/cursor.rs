//! DECLARE, FETCH, MOVE, CLOSE.

use sqlparser::ast::{Ident, Query};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::changes;
use crate::Direction;

type Result<T> = std::result::Result<T, ParserError>;

/// One of them.
#[derive(Debug)]
pub(crate) enum CursorAst {
    Declare { name: Ident, scrolls: bool, holds: bool, query: Box<Query> },
    Fetch { name: Ident, direction: Direction, moves: bool },
    Close(Option<Ident>),
}

/// The statement, if it is one of these.
pub(super) fn cursor(parser: &mut Parser<'_>) -> Result<Option<CursorAst>> {
    Ok(Some(match parser.parse_one_of_keywords(&[Keyword::DECLARE, Keyword::FETCH, Keyword::CLOSE]) {
        Some(Keyword::DECLARE) => declare(parser)?,
        Some(Keyword::FETCH) => fetch(parser, false)?,
        Some(_) if parser.parse_keyword(Keyword::ALL) => CursorAst::Close(None),
        Some(_) => CursorAst::Close(Some(parser.parse_identifier()?)),
        None if said(parser, "move") => fetch(parser, true)?,
        None => return Ok(None),
    }))
}

/// Whether the next token is that word, which it passes then.
fn said(parser: &mut Parser<'_>, wanted: &str) -> bool {
    let is = match &parser.peek_token_ref().token {
        Token::Word(word) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted),
        _ => false,
    };
    if is {
        parser.next_token();
    }
    is
}

fn declare(parser: &mut Parser<'_>) -> Result<CursorAst> {
    let name = parser.parse_identifier()?;
    let (mut scrolls, mut holds) = (true, false);
    loop {
        if said(parser, "no") {
            parser.expect_keyword_is(Keyword::SCROLL)?;
            scrolls = false;
        } else if !["binary", "insensitive", "asensitive", "scroll"].iter().any(|word| said(parser, word)) {
            break;
        }
    }
    parser.expect_keyword_is(Keyword::CURSOR)?;
    if parser.parse_keyword(Keyword::WITH) {
        parser.expect_keyword_is(Keyword::HOLD)?;
        holds = true;
    } else if parser.parse_keyword(Keyword::WITHOUT) {
        parser.expect_keyword_is(Keyword::HOLD)?;
    }
    parser.expect_keyword_is(Keyword::FOR)?;
    let first = parser.peek_token();
    let query = parser.parse_query()?;
    if changes(&query.body) {
        return parser.expected("SELECT or VALUES", first);
    }
    Ok(CursorAst::Declare { name, scrolls, holds, query })
}

fn fetch(parser: &mut Parser<'_>, moves: bool) -> Result<CursorAst> {
    let direction = match () {
        () if said(parser, "next") => Direction::Forward(1),
        () if said(parser, "prior") => Direction::Forward(-1),
        () if said(parser, "first") => Direction::Absolute(1),
        () if said(parser, "last") => Direction::Absolute(-1),
        () if said(parser, "all") => Direction::Forward(i64::MAX),
        () if said(parser, "absolute") => Direction::Absolute(number(parser)?),
        () if said(parser, "relative") => Direction::Relative(number(parser)?),
        () if said(parser, "forward") => Direction::Forward(count(parser)?),
        () if said(parser, "backward") => match count(parser)? {
            i64::MAX => Direction::Forward(i64::MIN),
            count => Direction::Forward(-count),
        },
        () if is_number(parser) => Direction::Forward(number(parser)?),
        () => Direction::Forward(1),
    };
    let _ = parser.parse_one_of_keywords(&[Keyword::FROM, Keyword::IN]);
    Ok(CursorAst::Fetch { name: parser.parse_identifier()?, direction, moves })
}

fn is_number(parser: &Parser<'_>) -> bool {
    matches!(parser.peek_token_ref().token, Token::Number(..) | Token::Minus | Token::Plus)
}

fn number(parser: &mut Parser<'_>) -> Result<i64> {
    let is_negative = parser.consume_token(&Token::Minus);
    if !is_negative {
        let _ = parser.consume_token(&Token::Plus);
    }
    let number = i64::from(i32::try_from(parser.parse_literal_uint()?).unwrap_or(i32::MAX));
    Ok(if is_negative { -number } else { number })
}

/// How many rows FORWARD and BACKWARD say: one, all, or a number.
fn count(parser: &mut Parser<'_>) -> Result<i64> {
    if said(parser, "all") {
        return Ok(i64::MAX);
    }
    if is_number(parser) { number(parser) } else { Ok(1) }
}
