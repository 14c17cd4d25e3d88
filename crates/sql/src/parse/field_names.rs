//! Fields of structs in ALTER TABLE: `ADD COLUMN s.f integer`, `DROP COLUMN s.f`, `RENAME COLUMN s.f TO g`. The path travels as one
//! name, in quotes that are none of SQL's.

use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::window::as_word;

const QUOTE: char = '[';
/// Between the parts: no name has it.
const BETWEEN: char = '\0';

/// The column and the fields that a name is the path of, if it is such.
pub(crate) fn path(ident: &Ident) -> Option<Vec<String>> {
    (ident.quote_style == Some(QUOTE)).then(|| ident.value.split(BETWEEN).map(str::to_owned).collect())
}

/// The tokens as the parser takes them. Their positions stay.
pub(super) fn carry(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let token = |at: usize| visible.get(at).map(|&i| &tokens[i].token);
    let is = |at: usize, wanted: &str| {
        token(at).and_then(as_word).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted))
    };
    if !is(0, "alter") || !is(1, "table") {
        return tokens;
    }
    let mut found = Vec::new();
    for action in 3..visible.len() {
        let begins = is(action, "add") || is(action, "drop") || is(action, "rename");
        let mut at = action + 1 + usize::from(is(action + 1, "column"));
        at += if is(at, "if") { 2 + usize::from(is(at + 1, "not")) } else { 0 };
        let mut last = at;
        let mut parts = Vec::new();
        while let (true, Some(Token::Word(word))) = (begins, token(last)) {
            let folded = if word.quote_style.is_none() { word.value.to_lowercase() } else { word.value.clone() };
            parts.push(folded);
            if token(last + 1) != Some(&Token::Period) {
                break;
            }
            last += 2;
        }
        if parts.len() > 1 {
            found.push((visible[at], visible[last], parts.join(&BETWEEN.to_string())));
        }
    }
    for (first, last, value) in found.into_iter().rev() {
        let span = tokens[first].span;
        let token = Token::Word(Word { value, quote_style: Some(QUOTE), keyword: Keyword::NoKeyword });
        tokens.splice(first..=last, [TokenWithSpan { token, span }]);
    }
    tokens
}
