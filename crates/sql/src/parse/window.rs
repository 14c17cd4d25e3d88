//! What the parser does not know of windows: `EXCLUDE ...` at the end of a frame, and calls like `rank(ORDER BY x)`, whose
//! parentheses hold nothing but an order. Both travel through it as placeholders that nobody can write: a frame's exclusion
//! as the first expression of its window's PARTITION BY, the missing arguments as an argument. And a frame's bound may begin
//! with a text, which the parser takes for an interval and nothing else: it gets parentheses.

use sqlparser::ast::{Expr, Value};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

/// What EXCLUDE says, as placeholders. [`exclusion`] reads them.
const EXCLUSIONS: [(&[&str], &str); 4] = [
    (&["current", "row"], "exclude current row"),
    (&["group"], "exclude group"),
    (&["ties"], "exclude ties"),
    (&["no", "others"], "exclude no others"),
];
const NO_ARGUMENT: &str = "no argument";

/// The exclusion that an expression of PARTITION BY carries: what stands behind EXCLUDE, in lower case.
pub(crate) fn exclusion(expr: &Expr) -> Option<&str> {
    carried(expr)?.strip_prefix("exclude ")
}

/// Whether an argument stands for none.
pub(crate) fn is_no_argument(expr: &Expr) -> bool {
    carried(expr) == Some(NO_ARGUMENT)
}

fn carried(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Placeholder(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// The tokens as the parser takes them. Their positions stay.
pub(super) fn carry(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    // Words and parentheses; what is inserted behind a token, by its index; and the tokens that go.
    let (mut inserted, mut gone) = (Vec::<(usize, Vec<Token>)>::new(), Vec::<usize>::new());
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let word = |at: usize| visible.get(at).and_then(|&i| as_word(&tokens[i].token));
    let is = |at: usize, wanted: &str| word(at).is_some_and(|w| w.value.eq_ignore_ascii_case(wanted));
    let mut open = Vec::new();
    // How many parentheses are open where a frame is.
    let mut frame = None;
    for at in 0..visible.len() {
        match &tokens[visible[at]].token {
            Token::LParen => {
                open.push(at);
                let name = at.checked_sub(1).and_then(|i| match &tokens[visible[i]].token {
                    Token::Word(word) => Some(word),
                    _ => None,
                });
                let is_call = name.is_some_and(|w| !matches!(w.keyword, Keyword::OVER | Keyword::AS | Keyword::GROUP));
                if is_call && is(at + 1, "order") && is(at + 2, "by") {
                    inserted.push((visible[at], vec![Token::Placeholder(NO_ARGUMENT.to_owned())]));
                }
            }
            Token::RParen => {
                frame = frame.filter(|&depth| depth < open.len());
                open.pop();
            }
            Token::Word(_) if is(at, "rows") || is(at, "range") || is(at, "groups") => {
                let in_window = open.last().is_some_and(|&o| o > 0 && (is(o - 1, "over") || is(o - 1, "as")));
                frame = frame.or(in_window.then_some(open.len()));
            }
            Token::SingleQuotedString(_) if frame == Some(open.len()) => {
                let is_text = |at: usize| {
                    visible.get(at).is_some_and(|&i| matches!(tokens[i].token, Token::SingleQuotedString(_)))
                };
                let begins = ["rows", "range", "groups", "between", "and"].iter().any(|w| is(at - 1, w));
                if begins {
                    let last = (at..).find(|&i| !is_text(i + 1)).unwrap_or(at);
                    inserted.push((visible[at - 1], vec![Token::LParen]));
                    inserted.push((visible[last], vec![Token::RParen]));
                }
            }
            Token::Word(_) if is(at, "exclude") && at > 0 => {
                let ends = is(at - 1, "preceding") || is(at - 1, "following") || is(at - 1, "row");
                let found = EXCLUSIONS.iter().find(|(words, _)| {
                    words.iter().enumerate().all(|(i, w)| is(at + 1 + i, w))
                        && visible.get(at + 1 + words.len()).is_some_and(|&i| tokens[i].token == Token::RParen)
                });
                let Some(&begin) = open.last().filter(|&&o| ends && o > 0 && (is(o - 1, "over") || is(o - 1, "as")))
                else {
                    continue;
                };
                let Some((words, marker)) = found else { continue };
                gone.extend((0..=words.len()).map(|i| visible[at + i]));
                let marker = Token::Placeholder((*marker).to_owned());
                // Behind the name of the window that is refined, if there is one.
                let named = match &tokens[visible[begin + 1]].token {
                    Token::Word(w) => w.keyword == Keyword::NoKeyword,
                    _ => false,
                };
                let first = begin + usize::from(named);
                inserted.push(match is(first + 1, "partition") && is(first + 2, "by") {
                    true => (visible[first + 2], vec![marker, Token::Comma]),
                    false => (visible[first], vec![keyword("PARTITION"), keyword("BY"), marker]),
                });
            }
            _ => {}
        }
    }
    if inserted.is_empty() {
        return tokens;
    }
    inserted.sort_by_key(|(at, _)| *at);
    let mut inserted = inserted.into_iter().peekable();
    let mut gone = gone.into_iter().peekable();
    let mut out = Vec::with_capacity(tokens.len());
    let spans: Vec<Span> = tokens.iter().map(|t| t.span).collect();
    for (at, token) in tokens.into_iter().enumerate() {
        match gone.next_if_eq(&at) {
            Some(_) => {}
            None => out.push(token),
        }
        // Mistakes around what is inserted are found at what follows.
        let span = spans.get(at + 1).copied().unwrap_or(spans[at]);
        while let Some((_, more)) = inserted.next_if(|(i, _)| *i == at) {
            out.extend(more.into_iter().map(|token| TokenWithSpan { token, span }));
        }
    }
    out
}

pub(super) fn as_word(token: &Token) -> Option<&Word> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word),
        _ => None,
    }
}

fn keyword(text: &str) -> Token {
    Token::make_keyword(text)
}

#[cfg(test)]
mod tests {
    use crate::dialect::MorselDialect;
    use sqlparser::tokenizer::{Token, Tokenizer};

    fn carried(sql: &str) -> String {
        let tokens = Tokenizer::new(&MorselDialect, sql).tokenize_with_location().unwrap();
        let visible = super::carry(tokens).into_iter().filter(|t| !matches!(t.token, Token::Whitespace(_)));
        visible.map(|t| t.token.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn exclusions_lead_the_partition() {
        let frame = "rows between 1 preceding and current row";
        let check = |spec: &str, expected: &str| {
            assert_eq!(carried(&format!("f ( ) over ( {spec} )")), format!("f ( ) over ( {expected} )"));
        };
        check(frame, frame);
        check(&format!("{frame} exclude ties"), &format!("PARTITION BY exclude ties {frame}"));
        check(&format!("w {frame} Exclude no  others"), &format!("w PARTITION BY exclude no others {frame}"));
        check(&format!("partition by a {frame} exclude group"), &format!("partition by exclude group , a {frame}"));
    }

    #[test]
    fn what_is_no_frame_stays() {
        for sql in [
            "select * exclude ( a )",
            "f ( row exclude ties )",
            "over ( exclude ties )",
            "( 1 preceding exclude ties )",
        ] {
            assert_eq!(carried(sql), sql);
        }
    }

    #[test]
    fn calls_may_hold_an_order_only() {
        assert_eq!(carried("rank(order by a)"), "rank ( no argument order by a )");
        for sql in ["over ( order by a )", "within group ( order by a )", "w as ( order by a )", "f ( a order by b )"] {
            assert_eq!(carried(sql), sql);
        }
    }
}
