//! `CREATE VIEW ... WITH [LOCAL | CASCADED] CHECK OPTION`, which the parser does not know, as the option of a view that it is in
//! PostgreSQL: `WITH (check_option = cascaded)`. WITH [NO] DATA of a materialized view travels likewise.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The tokens as the parser takes them. Their positions stay.
pub(super) fn carry(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_solid = |token: &Token| !matches!(token, Token::Whitespace(_) | Token::EOF | Token::SemiColon);
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| is_solid(&tokens[i].token)).collect();
    let word = |place: Option<usize>| -> Option<&Word> {
        match &tokens[*visible.get(place?)?].token {
            Token::Word(word) if word.quote_style.is_none() => Some(word),
            _ => None,
        }
    };
    let is = |place: Option<usize>, wanted: &str| word(place).is_some_and(|w| w.value.eq_ignore_ascii_case(wanted));
    let from_end = |by: usize| visible.len().checked_sub(by);
    if !is(Some(0), "create") {
        return tokens;
    }
    let is_check = is(from_end(1), "option") && is(from_end(2), "check");
    let is_materialized = (1..4).any(|place| is(Some(place), "materialized"));
    let (begin, option, scope) = match (is(from_end(3), "with"), is(from_end(4), "with")) {
        (true, _) if is_check => (from_end(3), "check_option", "cascaded"),
        (_, true) if is_check && is(from_end(3), "local") => (from_end(4), "check_option", "local"),
        (_, true) if is_check && is(from_end(3), "cascaded") => (from_end(4), "check_option", "cascaded"),
        (true, _) if is_materialized && is(from_end(2), "no") && is(from_end(1), "data") => {
            (from_end(3), "with_data", "no")
        }
        _ if is_materialized && is(from_end(2), "with") && is(from_end(1), "data") => (from_end(2), "with_data", "yes"),
        _ => return tokens,
    };
    let is_view = (1..6).any(|place| word(Some(place)).is_some_and(|w| w.keyword == Keyword::VIEW));
    // The first AS outside of parentheses.
    let mut depth = 0;
    let as_word = (0..visible.len()).find(|&place| {
        match tokens[visible[place]].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0 && word(Some(place)).is_some_and(|w| w.keyword == Keyword::AS)
    });
    let (true, Some(as_word), Some(begin)) = (is_view, as_word, begin) else { return tokens };
    let (at, span) = (visible[as_word], tokens[visible[as_word]].span);
    tokens.truncate(visible[begin]);
    let written = [
        Token::make_keyword("WITH"),
        Token::LParen,
        Token::make_word(option, None),
        Token::Eq,
        Token::SingleQuotedString(scope.to_owned()),
        Token::RParen,
    ];
    tokens.splice(at..at, written.map(|token| TokenWithSpan { token, span }));
    tokens
}
