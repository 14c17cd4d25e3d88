//! What the parser does not know of INSERT: `INSERT INTO t BY NAME query`, where the columns of the query name those that it
//! fills, and `OVERRIDING SYSTEM VALUE`.

use sqlparser::dialect::Dialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::conflict::{Arbiter, arbiter};

/// The forms of an INSERT.
#[derive(Clone, Default, Debug)]
pub(crate) struct InsertForm {
    /// BY NAME.
    pub by_name: bool,
    /// OVERRIDING ... VALUE.
    pub overriding: Option<Overriding>,
    /// OR REPLACE, OR IGNORE.
    pub or: Option<Or>,
    /// ON CONFLICT (...), if it does not name columns alone.
    pub arbiter: Option<Box<Arbiter>>,
}

/// What becomes of rows whose keys are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Or {
    /// They take the places of those that are there.
    Replace,
    /// They are passed over.
    Ignore,
}

/// What becomes of values for identity columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Overriding {
    /// They are stored, also where the column is GENERATED ALWAYS.
    System,
    /// They are passed over.
    User,
}

/// The tokens without what the parser does not know, and what that was.
pub(super) fn form(tokens: Vec<TokenWithSpan>, dialect: &dyn Dialect) -> (Vec<TokenWithSpan>, InsertForm) {
    let (mut tokens, arbiter) = arbiter(tokens, dialect);
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let is = |at: usize, name: &str| {
        visible.get(at).is_some_and(|&i| match &tokens[i].token {
            Token::Word(word) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case(name),
            _ => false,
        })
    };
    let token = |at: usize| visible.get(at).map(|&i| &tokens[i].token);
    let mut form = InsertForm { arbiter, ..InsertForm::default() };
    if is(0, "insert") && is(1, "or") && is(3, "into") {
        form.or = match () {
            () if is(2, "replace") => Some(Or::Replace),
            () if is(2, "ignore") => Some(Or::Ignore),
            () => None,
        };
    }
    if form.or.is_some() {
        let or = form.or;
        tokens.drain(visible[1]..=visible[2]);
        let (tokens, rest) = self::form(tokens, dialect);
        return (tokens, InsertForm { or, ..rest });
    }
    if !is(0, "insert") || !is(1, "into") {
        return (tokens, form);
    }
    let mut last = 2;
    while token(last + 1) == Some(&Token::Period) {
        last += 2;
    }
    // What INSERT does anyway.
    if is(last + 1, "by") && is(last + 2, "position") {
        tokens.drain(visible[last + 1]..=visible[last + 2]);
        return self::form(tokens, dialect);
    }
    if is(last + 1, "by") && is(last + 2, "name") {
        form.by_name = match token(last + 3) {
            Some(Token::LParen) => true,
            Some(Token::Word(word)) => {
                matches!(word.keyword, Keyword::SELECT | Keyword::WITH | Keyword::FROM | Keyword::TABLE)
            }
            _ => false,
        };
        if form.by_name {
            tokens.drain(visible[last + 1]..=visible[last + 2]);
        }
        return (tokens, form);
    }
    // The list of columns has no parentheses inside.
    if token(last + 1) == Some(&Token::LParen) {
        while token(last).is_some_and(|token| *token != Token::RParen) {
            last += 1;
        }
    }
    form.overriding = match () {
        () if !is(last + 1, "overriding") || !is(last + 3, "value") => None,
        () if is(last + 2, "system") => Some(Overriding::System),
        () if is(last + 2, "user") => Some(Overriding::User),
        () => None,
    };
    if form.overriding.is_some() {
        tokens.drain(visible[last + 1]..=visible[last + 3]);
    }
    (tokens, form)
}
