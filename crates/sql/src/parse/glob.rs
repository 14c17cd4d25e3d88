//! Patterns of file names, as GLOB has them, as regular expressions: `*`, `?`, `[a-c]`, `[!a]`.

use sqlparser::ast::{BinaryOperator, Expr, Value, ValueWithSpan};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// `expr GLOB 'pattern'`, behind that word.
pub(crate) fn matching(parser: &mut Parser<'_>, expr: &Expr, precedence: u8) -> Result<Expr, ParserError> {
    let token = parser.peek_token();
    let pattern = parser.parse_subexpr(precedence)?;
    let text = match &pattern {
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => regex(text),
        _ => return parser.expected("a string literal", token),
    };
    let Token::SingleQuotedString(_) = token.token else { return parser.expected("a string literal", token) };
    let value = Value::SingleQuotedString(text).with_span(token.span);
    let (left, right) = (Box::new(expr.clone()), Box::new(Expr::Value(value)));
    Ok(Expr::BinaryOp { left, op: BinaryOperator::PGRegexMatch, right })
}

/// The regular expression that matches what the pattern does.
pub(crate) fn regex(pattern: &str) -> String {
    let mut out = String::from("^");
    let mut chars = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            ']' if in_class => {
                in_class = false;
                out.push(c);
            }
            '\\' if in_class => out.push_str("\\\\"),
            _ if in_class => out.push(c),
            '*' => out.push_str("(.|\n)*"),
            '?' => out.push_str("(.|\n)"),
            '[' if chars.clone().any(|c| c == ']') => {
                in_class = true;
                out.push('[');
                if chars.next_if(|c| *c == '!').is_some() {
                    out.push('^');
                }
            }
            '\\' => {
                // What stands behind it stands for itself.
                push_literal(&mut out, chars.next().unwrap_or(c));
            }
            other => push_literal(&mut out, other),
        }
    }
    out.push('$');
    out
}

fn push_literal(out: &mut String, c: char) {
    if !c.is_alphanumeric() && c.is_ascii() && !c.is_whitespace() && c != '_' {
        out.push('\\');
    }
    out.push(c);
}

#[cfg(test)]
mod tests {
    #[test]
    fn patterns_are_regular_expressions() {
        for (pattern, expected) in [("a*", "^a(.|\n)*$"), ("[!a-c]?.x", "^[^a-c](.|\n)\\.x$"), ("a[b", "^a\\[b$")] {
            assert_eq!(super::regex(pattern), expected);
        }
    }
}
