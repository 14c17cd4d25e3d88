//! Expressions that the catalog keeps as texts: conditions, defaults, what indexes and generated columns compute.

use base::{Error, Result};
use sqlparser::ast::Expr;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::{MAX_RECURSION, lambda, question, shorthand, structs, user_types, window};
use crate::dialect::MorselDialect;

/// The syntax of such an expression, whose text was part of a statement before: its tokens go the same way. Nothing of it has a
/// place in the statement that is bound.
pub(crate) fn kept_expression(text: &str) -> Result<Expr> {
    let wrong = |error: &dyn std::fmt::Display| Error::internal(format!("{text}: {error}"));
    let own = Tokenizer::new(&MorselDialect, text).tokenize().map_err(|e| wrong(&e))?;
    // Between parentheses, so that what comes first does not look like a type.
    let all = [Token::LParen].into_iter().chain(own).chain([Token::RParen]);
    let mut tokens: Vec<TokenWithSpan> = all.map(TokenWithSpan::wrap).collect();
    question::operators(&mut tokens);
    let tokens = structs::types(user_types::composites(shorthand::carry(tokens)));
    let tokens = window::carry(lambda::arrows(tokens));
    let mut parser = Parser::new(&MorselDialect).with_recursion_limit(MAX_RECURSION).with_tokens_with_locations(tokens);
    match parser.parse_expr().map_err(|e| wrong(&e))? {
        Expr::Nested(own) => Ok(*own),
        other => Err(wrong(&format!("is read as {other}"))),
    }
}
