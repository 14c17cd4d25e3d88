//! Integers in other bases: `0x1F`, `0o17`, `0b101`, as in PostgreSQL 16. The lexer knows the first, as a string of digits, and takes the others for
//! a zero and a word.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Makes decimal numbers of such integers. `begins_with_zero` says of a token whether it is written so.
pub(super) fn in_decimal(tokens: &mut Vec<TokenWithSpan>, begins_with_zero: impl Fn(&TokenWithSpan) -> bool) {
    let mut at = 0;
    while at < tokens.len() {
        let value = match (&tokens[at].token, tokens.get(at + 1).map(|t| &t.token)) {
            (Token::HexStringLiteral(digits), _) if begins_with_zero(&tokens[at]) => {
                decimal(digits, 16).map(|value| (value, false))
            }
            (Token::Number(zero, false), Some(Token::Word(word))) if zero == "0" && word.quote_style.is_none() => {
                let base = match word.value.as_bytes().first() {
                    Some(b'o' | b'O') => Some(8),
                    Some(b'b' | b'B') => Some(2),
                    Some(b'X') => Some(16),
                    _ => None,
                };
                base.and_then(|base| decimal(&word.value[1..], base)).map(|value| (value, true))
            }
            _ => None,
        };
        if let Some((value, of_two)) = value {
            tokens[at].token = Token::Number(value, false);
            if of_two {
                tokens.remove(at + 1);
            }
        }
        at += 1;
    }
}

/// The number that the digits are, with underscores between them.
fn decimal(digits: &str, base: u32) -> Option<String> {
    // One may stand behind the letter, and none at the end.
    let digits = digits.strip_prefix('_').unwrap_or(digits);
    if digits.ends_with('_') || digits.contains("__") {
        return None;
    }
    u128::from_str_radix(&digits.replace('_', ""), base).ok().map(|value| value.to_string())
}
