//! `ASOF JOIN ... ON` as DuckDB has it, with a kind of join behind the word, and `POSITIONAL JOIN`, which the parser does not know:
//! the words travel through it as `GLOBAL` and `GLOBAL CROSS`, which mean nothing else here. `USING (a) AS x` travels as another name of
//! USING, the last one.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

use super::window::as_word;

/// The words that may stand between ASOF and JOIN.
const KINDS: [&str; 7] = ["inner", "left", "right", "full", "outer", "semi", "anti"];

/// The tokens as the parser takes them. Their positions stay.
pub(super) fn carry(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is = |token: &Token, wanted: &str| as_word(token).is_some_and(|w| w.value.eq_ignore_ascii_case(wanted));
    if !tokens.iter().any(|t| ["asof", "positional", "global"].iter().any(|word| is(&t.token, word))) {
        return tokens;
    }
    let mut crossed = Vec::new();
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    for (at, &place) in visible.iter().enumerate() {
        if let Token::Word(word) = &mut tokens[place].token
            && word.keyword == Keyword::GLOBAL
        {
            // What somebody calls so is a name.
            word.keyword = Keyword::NoKeyword;
        } else if is(&tokens[place].token, "asof") {
            let mut behind = visible[at + 1..].iter().map(|&i| &tokens[i].token);
            let is_kind = |token: &Token| KINDS.iter().any(|kind| is(token, kind));
            if behind.find(|token| !is_kind(token)).is_some_and(|token| is(token, "join")) {
                tokens[place].token = Token::make_keyword("GLOBAL");
            }
        } else if is(&tokens[place].token, "positional")
            && visible.get(at + 1).is_some_and(|&next| is(&tokens[next].token, "join"))
        {
            tokens[place].token = Token::make_keyword("GLOBAL");
            crossed.push(place + 1);
        }
    }
    for place in crossed.into_iter().rev() {
        let span = tokens[place].span;
        let space = Token::Whitespace(Whitespace::Space);
        let words = [space, Token::make_keyword("CROSS")].map(|token| TokenWithSpan { token, span });
        tokens.splice(place..place, words);
    }
    tokens
}

/// What the name of a join's columns begins with among those of USING: no column's does.
const ALIAS: char = '\u{1}';

/// The tokens with the alias of `USING (a, b) AS x` among the names.
pub(super) fn aliases(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is = |token: &Token, wanted: &str| as_word(token).is_some_and(|w| w.value.eq_ignore_ascii_case(wanted));
    if !tokens.iter().any(|t| is(&t.token, "using")) {
        return tokens;
    }
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let token = |at: usize| visible.get(at).map(|&i| &tokens[i].token);
    let mut found = Vec::new();
    for at in 0..visible.len() {
        if !token(at).is_some_and(|t| is(t, "using")) || token(at + 1) != Some(&Token::LParen) {
            continue;
        }
        let is_name = |token: &Token| matches!(token, Token::Word(_) | Token::Comma);
        let Some(close) = (at + 2..visible.len()).find(|&close| !token(close).is_some_and(is_name)) else { continue };
        if token(close) == Some(&Token::RParen)
            && token(close + 1).is_some_and(|t| is(t, "as"))
            && matches!(token(close + 2), Some(Token::Word(_)))
        {
            found.push([close, close + 1, close + 2].map(|at| visible[at]));
        }
    }
    for [close, first, name] in found.into_iter().rev() {
        let (span, Token::Word(word)) = (tokens[name].span, tokens[name].token.clone()) else { continue };
        tokens.drain(first..=name);
        let name = if word.quote_style.is_some() { word.value } else { word.value.to_lowercase() };
        let alias = Token::make_word(&format!("{ALIAS}{name}"), Some('"'));
        tokens.splice(close..close, [Token::Comma, alias].map(|token| TokenWithSpan { token, span }));
    }
    tokens
}

/// The alias that a name of USING is, if it is one.
pub(crate) fn alias(name: &str) -> Option<&str> {
    name.strip_prefix(ALIAS)
}
