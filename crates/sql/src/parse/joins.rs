//! `ASOF JOIN ... ON` as DuckDB has it, with a kind of join behind the word, which the parser does not know: the word travels
//! through it as `GLOBAL`, which means nothing else here.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::window::as_word;

/// The words that may stand between ASOF and JOIN.
const KINDS: [&str; 7] = ["inner", "left", "right", "full", "outer", "semi", "anti"];

/// The tokens as the parser takes them. Their positions stay.
pub(super) fn carry(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is = |token: &Token, wanted: &str| as_word(token).is_some_and(|w| w.value.eq_ignore_ascii_case(wanted));
    if !tokens.iter().any(|t| is(&t.token, "asof") || is(&t.token, "global")) {
        return tokens;
    }
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
        }
    }
    tokens
}
