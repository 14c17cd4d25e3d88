//! Calls that the parser does not know: `concat(VARIADIC texts)` and its like, with an array for the last arguments, are written anew as
//! calls of functions that take the array, as users' own do under their name; `trim(BOTH FROM x)` loses its FROM.

use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::window::as_word;

/// What the argument of VARIADIC is called.
pub(crate) const GATHERED: &str = "variadic argument";

/// Functions, what is written for a call whose only argument is an array, and for one with an argument before it: `{a}` is the array,
/// `{x}` what is before it.
const CALLS: &[(&str, &[&str], &[&str])] = &[
    ("concat", &["array_to_string", "(", "{a}", ",", "''", ")"], &[]),
    ("concat_ws", &[], &["array_to_string", "(", "{a}", ",", "{x}", ")"]),
    ("format", &[], &["format_of_array", "(", "{x}", ",", "CAST", "(", "{a}", "AS", "TEXT", "[", "]", ")", ")"]),
    ("jsonb_build_array", &["to_jsonb", "(", "{a}", ")"], &[]),
    ("json_build_array", &["to_json", "(", "{a}", ")"], &[]),
    ("jsonb_build_object", &["jsonb_object", "(", "{a}", ")"], &[]),
    ("json_build_object", &["json_object", "(", "{a}", ")"], &[]),
    ("num_nulls", &["cardinality", "(", "array_positions", "(", "{a}", ",", "NULL", ")", ")"], &[]),
    ("num_nonnulls", &["cardinality", "(", "array_remove", "(", "{a}", ",", "NULL", ")", ")"], &[]),
];

/// The tokens with such calls written anew.
pub(super) fn variadic(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is = |token: &Token, wanted: &str| as_word(token).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted));
    // From the last one on, so that those before it stay where they are.
    if !tokens.iter().any(|t| is(&t.token, "variadic")) {
        return tokens;
    }
    // Where functions are defined, it stands before parameters.
    let mut first = tokens.iter().filter(|t| !matches!(t.token, Token::Whitespace(_))).take(4);
    if first.any(|t| ["function", "procedure", "routine", "aggregate"].iter().any(|kind| is(&t.token, kind))) {
        return tokens;
    }
    while let Some(at) = tokens.iter().rposition(|t| is(&t.token, "variadic")) {
        match call(&tokens, at) {
            Some((range, made)) => drop(tokens.splice(range, made)),
            None => {
                let span = tokens[at].span;
                let name = Ident::with_quote('"', GATHERED);
                let word = Word { value: name.value, quote_style: name.quote_style, keyword: Keyword::NoKeyword };
                let named = [Token::Word(word), Token::RArrow].map(|token| TokenWithSpan { token, span });
                tokens.splice(at..=at, named);
            }
        }
    }
    tokens
}

/// Where the call around VARIADIC stands, and what stands for it.
fn call(tokens: &[TokenWithSpan], at: usize) -> Option<(std::ops::Range<usize>, Vec<TokenWithSpan>)> {
    let mut depth = 0usize;
    let open = (0..at).rev().find(|&at| {
        match tokens[at].token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => return true,
            Token::LParen => depth -= 1,
            _ => {}
        }
        false
    })?;
    let close = (at..tokens.len()).find(|&at| {
        match tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return true,
            Token::RParen => depth -= 1,
            _ => {}
        }
        false
    })?;
    let blank = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let name = (0..open).rev().find(|&at| !blank(&tokens[at]))?;
    let known = as_word(&tokens[name].token)?.value.to_lowercase();
    let (_, alone, behind) = CALLS.iter().find(|(function, ..)| *function == known)?;
    let mut before = tokens[open + 1..at].to_vec();
    while before.last().is_some_and(blank) {
        before.pop();
    }
    if before.last().is_some_and(|token| token.token == Token::Comma) {
        before.pop();
    }
    let template = if before.iter().all(blank) { alone } else { behind };
    if template.is_empty() {
        return None;
    }
    let span = tokens[name].span;
    let mut made = Vec::new();
    for part in *template {
        match *part {
            "{a}" => made.extend_from_slice(&tokens[at + 1..close]),
            "{x}" => made.extend_from_slice(&before),
            other => made.push(TokenWithSpan { token: token_of(other), span }),
        }
    }
    Some((name..close + 1, made))
}

fn token_of(text: &str) -> Token {
    match text {
        "(" => Token::LParen,
        ")" => Token::RParen,
        "," => Token::Comma,
        "''" => Token::SingleQuotedString(String::new()),
        "[" => Token::LBracket,
        "]" => Token::RBracket,
        "NULL" | "CAST" | "AS" | "TEXT" => Token::make_keyword(text),
        name => Token::make_word(&Ident::new(name).value, None),
    }
}

/// The tokens without FROM in `trim(BOTH FROM x)`, which means nothing there.
pub(super) fn trims(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is = |token: &Token, keyword| matches!(token, Token::Word(word) if word.keyword == keyword);
    let sides = [Keyword::BOTH, Keyword::LEADING, Keyword::TRAILING];
    let mut at = 0;
    while at < tokens.len() {
        if sides.iter().any(|&side| is(&tokens[at].token, side)) {
            let next = (at + 1..tokens.len()).find(|&next| !matches!(tokens[next].token, Token::Whitespace(_)));
            if let Some(next) = next.filter(|&next| is(&tokens[next].token, Keyword::FROM)) {
                tokens.remove(next);
            }
        }
        at += 1;
    }
    tokens
}
