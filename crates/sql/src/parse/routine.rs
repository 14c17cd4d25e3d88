//! CREATE, DROP and ALTER of functions and procedures, CALL and DO: the parser library reads parts of these, in other forms.

use sqlparser::ast::{DataType, Expr, FunctionArg, Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token};

use super::aggregate::{CreateAggregateAst, create_aggregate};
use super::atomic::is_body;
use super::macros::{CreateMacroAst, create_macro, dropped_macro};
use super::words::{is_word, word};
use super::{back_to, here};

use catalog::{Mode, RoutineKind, Volatility};

type Result<T> = std::result::Result<T, ParserError>;

/// One of them.
#[derive(Debug)]
pub(crate) enum RoutineAst {
    Create(Box<CreateRoutineAst>),
    CreateAggregate(Box<CreateAggregateAst>),
    CreateMacro(Box<CreateMacroAst>),
    DropMacro {
        name: ObjectName,
        if_exists: bool,
    },
    Drop {
        kind: Option<RoutineKind>,
        names: Vec<RoutineNameAst>,
        if_exists: bool,
        cascade: bool,
    },
    Rename {
        kind: Option<RoutineKind>,
        name: RoutineNameAst,
        to: Ident,
    },
    /// What options say, each as CREATE has it; those of SET without a value are reset.
    Alter {
        kind: Option<RoutineKind>,
        name: RoutineNameAst,
        options: Box<CreateRoutineAst>,
        resets_all: bool,
    },
    /// OWNER TO and the like: what changes nothing.
    Nothing {
        kind: Option<RoutineKind>,
    },
    Call {
        name: ObjectName,
        arguments: Vec<FunctionArg>,
    },
    Do {
        language: Option<Ident>,
        body: String,
        span: Span,
    },
}

/// CREATE FUNCTION or PROCEDURE.
#[derive(Debug)]
pub(crate) struct CreateRoutineAst {
    pub kind: RoutineKind,
    pub or_replace: bool,
    pub name: ObjectName,
    pub parameters: Vec<ParameterAst>,
    pub returns: Option<ReturnsAst>,
    pub language: Option<Ident>,
    pub volatility: Option<Volatility>,
    pub is_strict: Option<bool>,
    /// SET: names and values; none: the session's.
    pub settings: Vec<(String, Option<String>)>,
    /// The body, and where its literal stands.
    pub body: Option<(String, Span)>,
    /// Whether that is no literal, but BEGIN ATOMIC ... END.
    pub is_atomic: bool,
    /// RETURN expression.
    pub expression: Option<Expr>,
}

/// A parameter as it is written.
#[derive(Debug)]
pub(crate) struct ParameterAst {
    pub name: Option<Ident>,
    pub mode: Mode,
    pub data_type: RoutineTypeAst,
    pub default: Option<Expr>,
    pub is_variadic: bool,
    pub span: Span,
}

/// A type, or `table.column%TYPE`.
#[derive(Debug)]
pub(crate) enum RoutineTypeAst {
    Named(DataType),
    Like(ObjectName),
}

/// RETURNS.
#[derive(Debug)]
pub(crate) enum ReturnsAst {
    Void,
    Trigger,
    Record {
        is_set: bool,
    },
    Type {
        data_type: RoutineTypeAst,
        is_set: bool,
    },
    /// TABLE, whose columns are among the parameters.
    Table,
}

/// A routine as DROP names it.
#[derive(Debug)]
pub(crate) struct RoutineNameAst {
    pub name: ObjectName,
    pub types: Option<Vec<DataType>>,
}

/// The statement, if it is one of these.
pub(super) fn routine(parser: &mut Parser<'_>) -> Result<Option<RoutineAst>> {
    let begin = here(parser);
    let found = match parser.parse_one_of_keywords(&[
        Keyword::CREATE,
        Keyword::DROP,
        Keyword::ALTER,
        Keyword::CALL,
        Keyword::DO,
    ]) {
        Some(Keyword::CALL) => Some(call(parser)?),
        Some(Keyword::DO) => Some(anonymous(parser)?),
        Some(Keyword::CREATE) => {
            let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
            if let Some(made) = create_macro(parser, or_replace)? {
                return Ok(Some(RoutineAst::CreateMacro(Box::new(made))));
            }
            if word(parser, "aggregate") {
                return Ok(Some(RoutineAst::CreateAggregate(Box::new(create_aggregate(parser, or_replace)?))));
            }
            match kind(parser, false) {
                Some(Some(kind)) => Some(create(parser, kind, or_replace)?),
                _ => None,
            }
        }
        Some(Keyword::DROP) if word(parser, "macro") => {
            let (name, if_exists) = dropped_macro(parser)?;
            Some(RoutineAst::DropMacro { name, if_exists })
        }
        Some(Keyword::DROP) => match kind(parser, true) {
            Some(kind) => Some(dropped(parser, kind)?),
            None => None,
        },
        Some(_) => match kind(parser, true) {
            Some(kind) => Some(altered(parser, kind)?),
            None => None,
        },
        None => None,
    };
    if found.is_none() {
        back_to(parser, begin);
    }
    Ok(found)
}

/// FUNCTION, PROCEDURE or, for either, ROUTINE.
fn kind(parser: &mut Parser<'_>, any: bool) -> Option<Option<RoutineKind>> {
    if parser.parse_keyword(Keyword::FUNCTION) {
        return Some(Some(RoutineKind::Function));
    }
    if parser.parse_keyword(Keyword::PROCEDURE) {
        return Some(Some(RoutineKind::Procedure));
    }
    if any && word(parser, "aggregate") {
        return Some(Some(RoutineKind::Aggregate));
    }
    (any && word(parser, "routine")).then_some(None)
}

fn call(parser: &mut Parser<'_>) -> Result<RoutineAst> {
    let name = parser.parse_object_name(false)?;
    parser.expect_token(&Token::LParen)?;
    let mut arguments = Vec::new();
    if !parser.consume_token(&Token::RParen) {
        arguments = parser.parse_comma_separated(Parser::parse_function_args)?;
        parser.expect_token(&Token::RParen)?;
    }
    Ok(RoutineAst::Call { name, arguments })
}

fn anonymous(parser: &mut Parser<'_>) -> Result<RoutineAst> {
    let mut language = None;
    if parser.parse_keyword(Keyword::LANGUAGE) {
        language = Some(parser.parse_identifier()?);
    }
    let (body, span) = text(parser)?;
    if language.is_none() && parser.parse_keyword(Keyword::LANGUAGE) {
        language = Some(parser.parse_identifier()?);
    }
    Ok(RoutineAst::Do { language, body, span })
}

/// A string, and where it stands.
fn text(parser: &mut Parser<'_>) -> Result<(String, Span)> {
    let token = parser.next_token();
    match token.token {
        Token::DollarQuotedString(text) => Ok((text.value, token.span)),
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => Ok((text, token.span)),
        _ => parser.expected("a string", token),
    }
}

fn create(parser: &mut Parser<'_>, kind: RoutineKind, or_replace: bool) -> Result<RoutineAst> {
    let name = parser.parse_object_name(false)?;
    let mut parameters = Vec::new();
    parser.expect_token(&Token::LParen)?;
    if !parser.consume_token(&Token::RParen) {
        parameters = parser.parse_comma_separated(parameter)?;
        parser.expect_token(&Token::RParen)?;
    }
    let mut made = CreateRoutineAst::new(kind, or_replace, name, parameters);
    while option(parser, &mut made)? {}
    Ok(RoutineAst::Create(Box::new(made)))
}

impl CreateRoutineAst {
    /// Without options.
    fn new(kind: RoutineKind, or_replace: bool, name: ObjectName, parameters: Vec<ParameterAst>) -> Self {
        Self {
            kind,
            or_replace,
            name,
            parameters,
            returns: None,
            language: None,
            volatility: None,
            is_strict: None,
            settings: Vec::new(),
            body: None,
            is_atomic: false,
            expression: None,
        }
    }
}

/// One of the options, in any order.
fn option(parser: &mut Parser<'_>, made: &mut CreateRoutineAst) -> Result<bool> {
    if matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon) {
        return Ok(false);
    }
    if parser.parse_keyword(Keyword::RETURNS) {
        if parser.parse_keywords(&[Keyword::NULL, Keyword::ON, Keyword::NULL, Keyword::INPUT]) {
            made.is_strict = Some(true);
        } else {
            made.returns = Some(returns(parser, &mut made.parameters)?);
        }
    } else if parser.parse_keyword(Keyword::LANGUAGE) {
        made.language = Some(match &parser.peek_token_ref().token {
            Token::SingleQuotedString(name) => {
                let name = Ident::new(name.to_lowercase());
                parser.next_token();
                name
            }
            _ => parser.parse_identifier()?,
        });
    } else if parser.parse_keyword(Keyword::AS) {
        made.is_atomic = is_body(parser.peek_token_ref());
        made.body = Some(text(parser)?);
    } else if parser.parse_keyword(Keyword::SET) {
        made.settings.push(super::command::setting(parser)?);
    } else if parser.parse_keyword(Keyword::RETURN) {
        made.expression = Some(parser.parse_expr()?);
    } else if word(parser, "immutable") {
        made.volatility = Some(Volatility::Immutable);
    } else if word(parser, "stable") {
        made.volatility = Some(Volatility::Stable);
    } else if word(parser, "volatile") {
        made.volatility = Some(Volatility::Volatile);
    } else if word(parser, "strict") {
        made.is_strict = Some(true);
    } else if parser.parse_keywords(&[Keyword::CALLED, Keyword::ON, Keyword::NULL, Keyword::INPUT]) {
        made.is_strict = Some(false);
    } else if is_word(parser, 0, "not") && is_word(parser, 1, "leakproof") {
        parser.next_token();
        parser.next_token();
    } else if word(parser, "leakproof") || word(parser, "window") {
        // They promise what nobody here needs to know.
    } else if word(parser, "external") || is_word(parser, 0, "security") {
        parser.next_token();
        if !word(parser, "invoker") && !word(parser, "definer") {
            return parser.expected("INVOKER or DEFINER", parser.peek_token());
        }
    } else if word(parser, "parallel") || word(parser, "cost") || word(parser, "rows") {
        parser.next_token();
    } else {
        return parser.expected("an option of a function", parser.peek_token());
    }
    Ok(true)
}

fn returns(parser: &mut Parser<'_>, parameters: &mut Vec<ParameterAst>) -> Result<ReturnsAst> {
    if parser.parse_keyword(Keyword::TABLE) {
        parser.expect_token(&Token::LParen)?;
        let columns = parser.parse_comma_separated(|parser| {
            let span = parser.peek_token_ref().span;
            let name = Some(parser.parse_identifier()?);
            Ok(ParameterAst {
                name,
                mode: Mode::Table,
                data_type: data_type(parser)?,
                default: None,
                is_variadic: false,
                span,
            })
        })?;
        parser.expect_token(&Token::RParen)?;
        parameters.extend(columns);
        return Ok(ReturnsAst::Table);
    }
    if word(parser, "void") {
        return Ok(ReturnsAst::Void);
    }
    if word(parser, "trigger") {
        return Ok(ReturnsAst::Trigger);
    }
    let is_set = parser.parse_keyword(Keyword::SETOF);
    if word(parser, "record") {
        return Ok(ReturnsAst::Record { is_set });
    }
    Ok(ReturnsAst::Type { data_type: data_type(parser)?, is_set })
}

/// `[mode] [name] type [DEFAULT expression]`
fn parameter(parser: &mut Parser<'_>) -> Result<ParameterAst> {
    let span = parser.peek_token_ref().span;
    let mut mode = None;
    for (written, meant) in [("in", Mode::In), ("out", Mode::Out), ("inout", Mode::InOut)] {
        if mode.is_none() && is_word(parser, 0, written) {
            parser.next_token();
            mode = Some(meant);
        }
    }
    if mode == Some(Mode::In) && word(parser, "out") {
        mode = Some(Mode::InOut);
    }
    let is_variadic = mode.is_none_or(|mode| mode == Mode::In) && word(parser, "variadic");
    let name = if is_named(parser) { Some(parser.parse_identifier()?) } else { None };
    // The mode may stand behind the name.
    if name.is_some() && mode.is_none() {
        for (written, meant) in [("in", Mode::In), ("out", Mode::Out), ("inout", Mode::InOut)] {
            if mode.is_none() && word(parser, written) {
                mode = Some(meant);
            }
        }
    }
    let data_type = data_type(parser)?;
    let mut default = None;
    if parser.parse_keyword(Keyword::DEFAULT)
        || parser.consume_token(&Token::Eq)
        || parser.consume_token(&Token::Assignment)
    {
        default = Some(parser.parse_expr()?);
    }
    Ok(ParameterAst { name, mode: mode.unwrap_or(Mode::In), data_type, default, is_variadic, span })
}

/// Whether a name stands before the type: what is ahead is a word, and so is what follows, unless both are one type.
fn is_named(parser: &Parser<'_>) -> bool {
    const PAIRS: [&str; 5] = ["precision", "varying", "without", "with", "large"];
    let is_default = is_word(parser, 1, "default");
    let first = matches!(&parser.peek_nth_token_ref(0).token, Token::Word(_));
    let second = matches!(&parser.peek_nth_token_ref(1).token, Token::Word(_));
    first && second && !is_default && !PAIRS.iter().any(|word| is_word(parser, 1, word))
}

/// A type, or that of a column.
fn data_type(parser: &mut Parser<'_>) -> Result<RoutineTypeAst> {
    let (mut by, mut is_name) = (0, true);
    while is_name && matches!(&parser.peek_nth_token_ref(by).token, Token::Word(_)) {
        is_name = parser.peek_nth_token_ref(by + 1).token == Token::Period;
        by += if is_name { 2 } else { 1 };
    }
    if by > 1 && parser.peek_nth_token_ref(by).token == Token::Mod && is_word(parser, by + 1, "type") {
        let name = parser.parse_object_name(false)?;
        parser.next_token();
        parser.next_token();
        return Ok(RoutineTypeAst::Like(name));
    }
    parser.parse_data_type().map(RoutineTypeAst::Named)
}

/// `name [(types)]`, where types may have modes and names before them.
fn routine_name(parser: &mut Parser<'_>) -> Result<RoutineNameAst> {
    let name = parser.parse_object_name(false)?;
    if !parser.consume_token(&Token::LParen) {
        return Ok(RoutineNameAst { name, types: None });
    }
    let mut types = Vec::new();
    // Of an aggregate without arguments.
    let _ = parser.consume_token(&Token::Mul);
    if !parser.consume_token(&Token::RParen) {
        for given in parser.parse_comma_separated(parameter)? {
            if let (true, RoutineTypeAst::Named(data_type)) = (given.mode.is_given(), given.data_type) {
                types.push(data_type);
            }
        }
        parser.expect_token(&Token::RParen)?;
    }
    Ok(RoutineNameAst { name, types: Some(types) })
}

fn dropped(parser: &mut Parser<'_>, kind: Option<RoutineKind>) -> Result<RoutineAst> {
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let names = parser.parse_comma_separated(routine_name)?;
    let behaviour = parser.parse_one_of_keywords(&[Keyword::CASCADE, Keyword::RESTRICT]);
    Ok(RoutineAst::Drop { kind, names, if_exists, cascade: behaviour == Some(Keyword::CASCADE) })
}

fn altered(parser: &mut Parser<'_>, kind: Option<RoutineKind>) -> Result<RoutineAst> {
    let name = routine_name(parser)?;
    if parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
        return Ok(RoutineAst::Rename { kind, name, to: parser.parse_identifier()? });
    }
    if parser.parse_keywords(&[Keyword::OWNER, Keyword::TO]) {
        parser.parse_identifier()?;
        return Ok(RoutineAst::Nothing { kind });
    }
    let kind_of_options = kind.unwrap_or(RoutineKind::Function);
    let mut options = CreateRoutineAst::new(kind_of_options, false, name.name.clone(), Vec::new());
    let mut resets_all = false;
    loop {
        if parser.parse_keyword(Keyword::RESET) {
            match parser.parse_keyword(Keyword::ALL) {
                true => resets_all = true,
                false => options.settings.push((super::command::setting_name(parser)?, None)),
            }
        } else if is_word(parser, 0, "language") || is_word(parser, 0, "as") || is_word(parser, 0, "return") {
            return parser.expected("an option that can be altered", parser.peek_token());
        } else if parser.parse_keyword(Keyword::RESTRICT) || !option(parser, &mut options)? {
            break;
        }
    }
    Ok(RoutineAst::Alter { kind, name, options: Box::new(options), resets_all })
}
