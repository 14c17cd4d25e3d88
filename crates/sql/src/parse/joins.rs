//! `ASOF JOIN ... ON` as DuckDB has it, with a kind of join behind the word, and `POSITIONAL JOIN`, which the parser does not know:
//! the words travel through it as `GLOBAL` and `GLOBAL CROSS`, which mean nothing else here.

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
