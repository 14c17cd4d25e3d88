//! `ALTER TABLE t ALTER a DROP IDENTITY`, `DROP EXPRESSION`, `SET GENERATED ALWAYS`, `SET INCREMENT 5` and `RESTART WITH 10`, which the
//! parser does not know: they travel as a default that nobody can write.

use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Value};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::sequence::is_option;
use super::window::as_word;

/// The function that the default is a call of.
const MARK: &str = "#identity";

/// What becomes of a column's identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IdentityChange {
    Drop {
        if_exists: bool,
    },
    Generated {
        always: bool,
    },
    /// What is computed of the other columns is kept as it is.
    DropExpression {
        if_exists: bool,
    },
    /// Options of its sequence, as ALTER SEQUENCE has them.
    Sequence(String),
}

/// The tokens as the parser takes them. Their positions stay.
pub(super) fn carry(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let is = |place: usize, wanted: &str| {
        let token = visible.get(place).map(|&i| &tokens[i].token);
        token.and_then(as_word).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted))
    };
    let word =
        |place: usize| visible.get(place).and_then(|&i| as_word(&tokens[i].token)).map_or("", |word| &word.value);
    if !is(0, "alter") || !is(1, "table") {
        return tokens;
    }
    let mut replaced = Vec::new();
    for begin in 3..visible.len() {
        // Behind the name of a column.
        let is_action = is(begin - 2, "alter") || is(begin - 2, "column") && is(begin - 3, "alter");
        let found = match is_action && !is(begin - 1, "column") {
            true if is(begin, "drop") && is(begin + 1, "identity") => {
                let if_exists = is(begin + 2, "if") && is(begin + 3, "exists");
                Some((if if_exists { 4 } else { 2 }, vec![text(if if_exists { "drop if exists" } else { "drop" })]))
            }
            true if is(begin, "set") && is(begin + 1, "generated") && is(begin + 2, "always") => {
                Some((3, vec![text("always")]))
            }
            true if is(begin, "set")
                && is(begin + 1, "generated")
                && is(begin + 2, "by")
                && is(begin + 3, "default") =>
            {
                Some((4, vec![text("by default")]))
            }
            true if is(begin, "drop") && is(begin + 1, "expression") => {
                let if_exists = is(begin + 2, "if") && is(begin + 3, "exists");
                let said = if if_exists { "drop expression if exists" } else { "drop expression" };
                Some((if if_exists { 4 } else { 2 }, vec![text(said)]))
            }
            true if is(begin, "restart") || is(begin, "set") && is_option(word(begin + 1)) => {
                let ends = |place: &usize| {
                    matches!(tokens[visible[*place]].token, Token::Comma | Token::SemiColon | Token::EOF)
                };
                let end = (begin..visible.len()).find(ends).unwrap_or(visible.len());
                // Each option may have a SET of its own.
                let said = (begin..end)
                    .filter(|place| !is(*place, "set"))
                    .map(|place| tokens[visible[place]].token.to_string());
                let said = said.collect::<Vec<_>>().join(" ");
                Some((end - begin, vec![text("sequence"), Token::Comma, text(&said)]))
            }
            _ => None,
        };
        replaced.extend(found.map(|(length, said)| (visible[begin], visible[begin + length - 1], said)));
    }
    for (first, last, said) in replaced.into_iter().rev() {
        let span = tokens[first].span;
        let begin = [
            Token::make_keyword("SET"),
            Token::make_keyword("DEFAULT"),
            Token::make_word(MARK, Some('"')),
            Token::LParen,
        ];
        let all = begin.into_iter().chain(said).chain([Token::RParen]);
        tokens.splice(first..=last, all.map(|token| TokenWithSpan { token, span }));
    }
    tokens
}

fn text(text: &str) -> Token {
    Token::SingleQuotedString(text.to_owned())
}

/// What a default says of the identity of its column, if it is no default.
pub(crate) fn identity_change(default: &Expr) -> Option<IdentityChange> {
    let Expr::Function(function) = default else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    if function.name.0.last()?.as_ident()?.value != MARK {
        return None;
    }
    let said: Vec<&str> = list.args.iter().filter_map(written).collect();
    match said.as_slice() {
        ["drop"] => Some(IdentityChange::Drop { if_exists: false }),
        ["drop if exists"] => Some(IdentityChange::Drop { if_exists: true }),
        ["drop expression"] => Some(IdentityChange::DropExpression { if_exists: false }),
        ["drop expression if exists"] => Some(IdentityChange::DropExpression { if_exists: true }),
        ["sequence", options] => Some(IdentityChange::Sequence((*options).to_owned())),
        [when] => Some(IdentityChange::Generated { always: *when == "always" }),
        _ => None,
    }
}

fn written(argument: &FunctionArg) -> Option<&str> {
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) = argument else { return None };
    match &value.value {
        Value::SingleQuotedString(text) => Some(text),
        _ => None,
    }
}
