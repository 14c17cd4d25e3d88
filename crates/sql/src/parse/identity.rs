//! `ALTER TABLE t ALTER a DROP IDENTITY`, `SET GENERATED ALWAYS` and `RESTART WITH 10`, which the parser does not know: they
//! travel as a default that nobody can write.

use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Value};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::window::as_word;

/// The function that the default is a call of.
const MARK: &str = "#identity";

/// What becomes of a column's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdentityChange {
    Drop {
        if_exists: bool,
    },
    Generated {
        always: bool,
    },
    /// From where its numbers go on; none: where they began.
    Restart(Option<i64>),
}

/// The tokens as the parser takes them. Their positions stay.
pub(super) fn carry(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let is = |place: usize, wanted: &str| {
        let token = visible.get(place).map(|&i| &tokens[i].token);
        token.and_then(as_word).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted))
    };
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
            true if is(begin, "restart") => {
                let with = usize::from(is(begin + 1, "with"));
                let token = |place: usize| visible.get(place).map(|&i| &tokens[i].token);
                let sign = usize::from(token(begin + 1 + with) == Some(&Token::Minus));
                match token(begin + 1 + with + sign) {
                    Some(Token::Number(number, _)) => {
                        let written = if sign > 0 { format!("-{number}") } else { number.clone() };
                        Some((2 + with + sign, vec![text("restart"), Token::Comma, text(&written)]))
                    }
                    _ => Some((1, vec![text("restart")])),
                }
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
        ["restart"] => Some(IdentityChange::Restart(None)),
        ["restart", number] => Some(IdentityChange::Restart(Some(number.parse().ok()?))),
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
