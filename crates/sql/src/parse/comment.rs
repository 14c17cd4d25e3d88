//! COMMENT ON, with the kinds of objects that the library does not know.

use sqlparser::ast::{Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::{back_to, here};

/// A parsed COMMENT ON.
#[derive(Debug)]
pub(crate) struct CommentAst {
    pub on: CommentedAst,
    /// None: NULL, which removes the comment.
    pub text: Option<String>,
}

/// What it is on, as it is written.
#[derive(Debug)]
pub(crate) enum CommentedAst {
    Database,
    Schema(ObjectName),
    Table(ObjectName),
    View(ObjectName),
    Sequence(ObjectName),
    Index(ObjectName),
    Type(ObjectName),
    Column(ObjectName),
    Constraint(Ident, ObjectName),
    /// What dumps say of extensions, of which there are none.
    Extension,
}

type Result<T> = std::result::Result<T, ParserError>;

/// The statement, if it is one, and one that is understood here.
pub(super) fn comment(parser: &mut Parser<'_>) -> Result<Option<CommentAst>> {
    let begin = here(parser);
    if !parser.parse_keywords(&[Keyword::COMMENT, Keyword::ON]) {
        return Ok(None);
    }
    let Some(on) = commented(parser)? else {
        back_to(parser, begin);
        return Ok(None);
    };
    parser.expect_keyword_is(Keyword::IS)?;
    let text = if parser.parse_keyword(Keyword::NULL) { None } else { Some(string(parser)?) };
    Ok(Some(CommentAst { on, text }))
}

fn commented(parser: &mut Parser<'_>) -> Result<Option<CommentedAst>> {
    let Token::Word(kind) = parser.next_token().token else { return Ok(None) };
    let mut name = || parser.parse_object_name(false);
    Ok(Some(match kind.value.to_ascii_lowercase().as_str() {
        "database" => {
            name()?;
            CommentedAst::Database
        }
        "extension" => {
            name()?;
            CommentedAst::Extension
        }
        "schema" => CommentedAst::Schema(name()?),
        "table" => CommentedAst::Table(name()?),
        "view" => CommentedAst::View(name()?),
        "sequence" => CommentedAst::Sequence(name()?),
        "index" => CommentedAst::Index(name()?),
        "type" | "domain" => CommentedAst::Type(name()?),
        "column" => CommentedAst::Column(name()?),
        "constraint" => {
            let constraint = parser.parse_identifier()?;
            parser.expect_keyword_is(Keyword::ON)?;
            CommentedAst::Constraint(constraint, parser.parse_object_name(false)?)
        }
        _ => return Ok(None),
    }))
}

fn string(parser: &mut Parser<'_>) -> Result<String> {
    parser.parse_literal_string()
}
