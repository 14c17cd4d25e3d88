//! `INSERT INTO t BY NAME query`: the columns of the query name those that it fills. The parser does not know the words.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The tokens without BY NAME of an INSERT, and whether it had that.
pub(super) fn by_name(mut tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, bool) {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let is = |at: usize, name: &str| {
        visible.get(at).is_some_and(|&i| match &tokens[i].token {
            Token::Word(word) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case(name),
            _ => false,
        })
    };
    if !is(0, "insert") || !is(1, "into") {
        return (tokens, false);
    }
    let mut last = 2;
    while visible.get(last + 1).is_some_and(|&i| tokens[i].token == Token::Period) {
        last += 2;
    }
    if !is(last + 1, "by") || !is(last + 2, "name") {
        return (tokens, false);
    }
    let begins_query = visible.get(last + 3).is_some_and(|&i| match &tokens[i].token {
        Token::LParen => true,
        Token::Word(word) => matches!(word.keyword, Keyword::SELECT | Keyword::WITH | Keyword::FROM | Keyword::TABLE),
        _ => false,
    });
    if begins_query {
        tokens.drain(visible[last + 1]..=visible[last + 2]);
    }
    (tokens, begins_query)
}
