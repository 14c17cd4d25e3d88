//! CREATE AGGREGATE, in PostgreSQL's form and in that before 8.2, which names the type of the argument among the options.

use sqlparser::ast::{DataType, ObjectName};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::words::{is_word, option_value, word};
use crate::dialect::MorselDialect;

type Result<T> = std::result::Result<T, ParserError>;

/// A parsed CREATE AGGREGATE.
#[derive(Debug)]
pub(crate) struct CreateAggregateAst {
    pub name: ObjectName,
    pub types: Vec<DataType>,
    pub or_replace: bool,
    pub options: AggregateOptions,
    /// Its options that are not known.
    pub unknown: Option<String>,
}

/// What an aggregate does with its rows.
#[derive(Debug, Default)]
pub(crate) struct AggregateOptions {
    /// SFUNC: what the state is after another row.
    pub step: Option<ObjectName>,
    /// STYPE: the type of the state.
    pub state: Option<DataType>,
    /// INITCOND: the state before the first row.
    pub first: Option<String>,
    /// FINALFUNC: what the result is of the last state.
    pub last: Option<ObjectName>,
}

/// The statement behind CREATE [OR REPLACE] AGGREGATE.
pub(super) fn create_aggregate(parser: &mut Parser<'_>, or_replace: bool) -> Result<CreateAggregateAst> {
    let name = parser.parse_object_name(false)?;
    parser.expect_token(&Token::LParen)?;
    let mut types = Vec::new();
    let is_old = is_word(parser, 1, "=") || parser.peek_nth_token_ref(1).token == Token::Eq;
    if !is_old {
        if !parser.consume_token(&Token::Mul) && parser.peek_token_ref().token != Token::RParen {
            types = parser.parse_comma_separated(argument)?;
        }
        if is_word(parser, 0, "order") {
            return parser.expected("no ORDER BY: ordered-set aggregates cannot be made", parser.peek_token());
        }
        parser.expect_token(&Token::RParen)?;
        parser.expect_token(&Token::LParen)?;
    }
    let (options, base, unknown) = options(parser)?;
    parser.expect_token(&Token::RParen)?;
    types.extend(base);
    Ok(CreateAggregateAst { name, types, or_replace, options, unknown })
}

/// `[IN] [name] type`.
fn argument(parser: &mut Parser<'_>) -> Result<DataType> {
    let _ = word(parser, "in");
    if let (Token::Word(_), Token::Word(_)) = (&parser.peek_nth_token_ref(0).token, &parser.peek_nth_token_ref(1).token)
        && let Ok(data_type) = parser.try_parse(|parser| {
            parser.parse_identifier()?;
            parser.parse_data_type()
        })
    {
        return Ok(data_type);
    }
    parser.parse_data_type()
}

/// The options, the type of the argument if it is among them, and one that is not known.
fn options(parser: &mut Parser<'_>) -> Result<(AggregateOptions, Option<DataType>, Option<String>)> {
    let (mut options, mut base, mut unknown) = (AggregateOptions::default(), None, None);
    loop {
        let name = parser.parse_identifier()?.value.to_lowercase();
        let has_value = parser.consume_token(&Token::Eq);
        match name.as_str() {
            "sfunc" | "sfunc1" => options.step = Some(parser.parse_object_name(false)?),
            "stype" | "stype1" => options.state = Some(parser.parse_data_type()?),
            "initcond" | "initcond1" => options.first = Some(option_value(parser)?),
            "finalfunc" => options.last = Some(parser.parse_object_name(false)?),
            "basetype" => match is_word(parser, 0, "any") {
                true => drop(parser.next_token()),
                false => base = Some(parser.parse_data_type()?),
            },
            // How several of them work together.
            "sspace" | "parallel" | "combinefunc" | "serialfunc" | "deserialfunc" | "finalfunc_modify" | "msfunc"
            | "minvfunc" | "mstype" | "msspace" | "mfinalfunc" | "minitcond" | "mfinalfunc_modify"
                if has_value =>
            {
                option_value(parser)?;
            }
            _ => {
                if has_value {
                    option_value(parser)?;
                }
                unknown = Some(name);
            }
        }
        if !parser.consume_token(&Token::Comma) {
            return Ok((options, base, unknown));
        }
    }
}

/// The options of an aggregate as the catalog has them.
pub(crate) fn aggregate_options(text: &str) -> base::Result<AggregateOptions> {
    let wrong = |error: ParserError| base::Error::internal(format!("{text}: {error}"));
    let mut parser = Parser::new(&MorselDialect).try_with_sql(text).map_err(wrong)?;
    options(&mut parser).map(|(options, ..)| options).map_err(wrong)
}

impl AggregateOptions {
    /// As [`aggregate_options`] reads them.
    pub fn text(&self) -> String {
        let mut all = Vec::new();
        all.extend(self.step.as_ref().map(|step| format!("SFUNC = {step}")));
        all.extend(self.state.as_ref().map(|state| format!("STYPE = {state}")));
        all.extend(self.first.as_ref().map(|first| format!("INITCOND = '{}'", first.replace('\'', "''"))));
        all.extend(self.last.as_ref().map(|last| format!("FINALFUNC = {last}")));
        all.join(", ")
    }
}
