//! CREATE and ALTER SEQUENCE, whose options the parser library takes in one order only.

use sqlparser::ast::{DataType, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{back_to, here};
use crate::dialect::MorselDialect;

/// What is said of a sequence, as it is written.
#[derive(Debug, Default)]
pub(crate) struct SequenceOptions {
    pub data_type: Option<DataType>,
    pub increment: Option<i64>,
    /// `Some(None)`: NO MINVALUE.
    pub min: Option<Option<i64>>,
    pub max: Option<Option<i64>>,
    pub start: Option<i64>,
    /// `Some(None)`: where it started.
    pub restart: Option<Option<i64>>,
    pub cache: Option<i64>,
    pub cycle: Option<bool>,
    /// `Some(None)`: OWNED BY NONE.
    pub owned_by: Option<Option<ObjectName>>,
}

/// CREATE or ALTER SEQUENCE.
#[derive(Debug)]
pub(crate) struct SequenceAst {
    pub name: ObjectName,
    /// IF NOT EXISTS of CREATE, IF EXISTS of ALTER.
    pub conditional: bool,
    pub change: SequenceChangeAst,
}

/// What a statement does to a sequence.
#[derive(Debug)]
pub(crate) enum SequenceChangeAst {
    Create {
        temporary: bool,
        or_replace: bool,
        options: SequenceOptions,
    },
    Alter(SequenceOptions),
    Rename(sqlparser::ast::Ident),
    /// SET SCHEMA.
    Schema(sqlparser::ast::Ident),
    /// OWNER TO: there is one user.
    Owner,
}

/// The options of a sequence in the order in which the parser library reads them.
const ORDER: [&str; 6] = ["increment", "minvalue", "maxvalue", "start", "cache", "cycle"];

/// The tokens with the options of identity columns in the library's order.
pub(super) fn ordered(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let lists: Vec<(usize, usize)> = visible
        .windows(2)
        .filter(|pair| word(&tokens[pair[0]]) == Some("identity".to_owned()) && tokens[pair[1]].token == Token::LParen)
        .filter_map(|pair| {
            let end = tokens[pair[1]..].iter().position(|t| t.token == Token::RParen)?;
            Some((pair[1] + 1, pair[1] + end))
        })
        .collect();
    for (begin, end) in lists {
        let mut options: Vec<(usize, Vec<TokenWithSpan>)> = Vec::new();
        let mut after_no = false;
        for token in without_name(&tokens[begin..end]) {
            let name = word(token).unwrap_or_default();
            let rank = ORDER.iter().position(|option| *option == name);
            match (rank, options.last_mut()) {
                // What follows NO is of the same option.
                (Some(rank), Some(last)) if after_no => {
                    *last = (rank, [std::mem::take(&mut last.1), vec![token.clone()]].concat())
                }
                (Some(rank), _) => options.push((rank, vec![token.clone()])),
                (None, _) if name == "no" => options.push((ORDER.len(), vec![token.clone()])),
                (None, Some((_, last))) => last.push(token.clone()),
                (None, None) => options.push((0, vec![token.clone()])),
            }
            if !matches!(token.token, Token::Whitespace(_)) {
                after_no = name == "no";
            }
        }
        options.sort_by_key(|(rank, _)| *rank);
        tokens.splice(begin..end, options.into_iter().flat_map(|(_, tokens)| tokens));
    }
    tokens
}

/// The options without SEQUENCE NAME: the sequence of a column has the name that it would get.
fn without_name(options: &[TokenWithSpan]) -> Vec<&TokenWithSpan> {
    let shown: Vec<&TokenWithSpan> = options.iter().filter(|t| !matches!(t.token, Token::Whitespace(_))).collect();
    let is = |at: usize, name: &str| shown.get(at).is_some_and(|token| word(token).as_deref() == Some(name));
    let Some(begin) = (0..shown.len()).find(|&at| is(at, "sequence") && is(at + 1, "name")) else {
        return options.iter().collect();
    };
    let mut end = begin + 3;
    while shown.get(end).is_some_and(|token| token.token == Token::Period) {
        end += 2;
    }
    shown[..begin].iter().chain(shown.iter().skip(end)).copied().collect()
}

fn word(token: &TokenWithSpan) -> Option<String> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_ascii_lowercase()),
        _ => None,
    }
}

type Result<T> = std::result::Result<T, ParserError>;

/// The statement, if it is one about sequences.
pub(super) fn sequence(parser: &mut Parser<'_>) -> Result<Option<SequenceAst>> {
    if parser.parse_keywords(&[Keyword::ALTER, Keyword::SEQUENCE]) {
        let conditional = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let name = parser.parse_object_name(false)?;
        let change = if parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
            SequenceChangeAst::Rename(parser.parse_identifier()?)
        } else if parser.parse_keywords(&[Keyword::SET, Keyword::SCHEMA]) {
            SequenceChangeAst::Schema(parser.parse_identifier()?)
        } else if parser.parse_keywords(&[Keyword::OWNER, Keyword::TO]) {
            parser.parse_identifier()?;
            SequenceChangeAst::Owner
        } else {
            SequenceChangeAst::Alter(options(parser, true)?)
        };
        return Ok(Some(SequenceAst { name, conditional, change }));
    }
    let begin = here(parser);
    if !parser.parse_keyword(Keyword::CREATE) {
        return Ok(None);
    }
    let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    let temporary = parser.parse_one_of_keywords(&[Keyword::TEMPORARY, Keyword::TEMP]).is_some();
    if !parser.parse_keyword(Keyword::SEQUENCE) {
        back_to(parser, begin);
        return Ok(None);
    }
    let conditional = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    let change = SequenceChangeAst::Create { temporary, or_replace, options: options(parser, false)? };
    Ok(Some(SequenceAst { name, conditional, change }))
}

/// Whether a word begins an option that ALTER TABLE sets of an identity column's sequence.
pub(super) fn is_option(word: &str) -> bool {
    ORDER.iter().chain(&["no", "restart"]).any(|option| option.eq_ignore_ascii_case(word))
}

/// The options in the text of an ALTER.
pub(crate) fn altered_options(text: &str) -> Result<SequenceOptions> {
    let mut parser = Parser::new(&MorselDialect).try_with_sql(text)?;
    let all = options(&mut parser, true)?;
    match parser.peek_token().token {
        Token::EOF => Ok(all),
        _ => parser.expected("an option of the sequence", parser.peek_token()),
    }
}

/// Options in any order, each once.
fn options(parser: &mut Parser<'_>, is_alter: bool) -> Result<SequenceOptions> {
    let mut all = SequenceOptions::default();
    loop {
        let token = parser.peek_token();
        let word = match &token.token {
            Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_lowercase(),
            _ => return Ok(all),
        };
        parser.next_token();
        let is_first = match word.as_str() {
            "as" => all.data_type.replace(parser.parse_data_type()?).is_none(),
            "increment" => {
                let _ = parser.parse_keyword(Keyword::BY);
                all.increment.replace(number(parser)?).is_none()
            }
            "minvalue" => all.min.replace(Some(number(parser)?)).is_none(),
            "maxvalue" => all.max.replace(Some(number(parser)?)).is_none(),
            "no" => match parser.expect_one_of_keywords(&[Keyword::MINVALUE, Keyword::MAXVALUE, Keyword::CYCLE])? {
                Keyword::MINVALUE => all.min.replace(None).is_none(),
                Keyword::MAXVALUE => all.max.replace(None).is_none(),
                _ => all.cycle.replace(false).is_none(),
            },
            "start" => {
                let _ = parser.parse_keyword(Keyword::WITH);
                all.start.replace(number(parser)?).is_none()
            }
            "restart" if is_alter => {
                let with = parser.parse_keyword(Keyword::WITH);
                let has_value = with || matches!(parser.peek_token_ref().token, Token::Number(..) | Token::Minus);
                let value = if has_value { Some(number(parser)?) } else { None };
                all.restart.replace(value).is_none()
            }
            "cache" => all.cache.replace(number(parser)?).is_none(),
            "cycle" => all.cycle.replace(true).is_none(),
            "owned" => {
                parser.expect_keyword_is(Keyword::BY)?;
                let is_none = parser.parse_keyword(Keyword::NONE);
                let owner = if is_none { None } else { Some(parser.parse_object_name(false)?) };
                all.owned_by.replace(owner).is_none()
            }
            _ => return parser.expected("an option of the sequence", token),
        };
        if !is_first {
            return parser.expected("each option once", token);
        }
    }
}

/// An integer with its sign.
fn number(parser: &mut Parser<'_>) -> Result<i64> {
    let token = parser.next_token();
    let (sign, digits) = match &token.token {
        Token::Minus => ("-", parser.next_token()),
        Token::Plus => ("", parser.next_token()),
        _ => ("", token.clone()),
    };
    match &digits.token {
        Token::Number(number, _) => match format!("{sign}{number}").parse() {
            Ok(number) => Ok(number),
            Err(_) => parser.expected("an integer of 64 bits", digits),
        },
        _ => parser.expected("an integer", digits),
    }
}
