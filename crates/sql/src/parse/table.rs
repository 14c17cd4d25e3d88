//! `TABLE t` is `SELECT * FROM t`, wherever a query may stand: the parser knows it in few places and loses quotes.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The tokens with `SELECT * FROM` in the place of each `TABLE` that begins a query. Positions are those of the word.
pub(super) fn as_select(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut visible = tokens.iter().filter(|t| !matches!(t.token, Token::Whitespace(_))).map(|t| &t.token);
    let is_insert = visible.next().and_then(keyword) == Some(Keyword::INSERT);
    let mut out = Vec::with_capacity(tokens.len());
    let mut last = None;
    for token in tokens {
        if matches!(token.token, Token::Whitespace(_)) {
            out.push(token);
            continue;
        }
        if keyword(&token.token) == Some(Keyword::TABLE) && (is_insert || may_precede_query(last.as_ref())) {
            let select = [word("SELECT", Keyword::SELECT), Token::Mul, word("FROM", Keyword::FROM)];
            out.extend(select.map(|t| TokenWithSpan::new(t, token.span)));
        } else {
            out.push(token.clone());
        }
        last = Some(token.token);
    }
    out
}

/// Whether a query may begin behind a token, in which case TABLE means no table that is created, dropped or described.
fn may_precede_query(token: Option<&Token>) -> bool {
    use Keyword::{ALL, ANALYZE, AS, DISTINCT, EXCEPT, EXPLAIN, INTERSECT, UNION, VERBOSE};
    match token {
        None | Some(Token::LParen | Token::RParen) => true,
        Some(token) => keyword(token)
            .is_some_and(|k| [ALL, ANALYZE, AS, DISTINCT, EXCEPT, EXPLAIN, INTERSECT, UNION, VERBOSE].contains(&k)),
    }
}

fn keyword(token: &Token) -> Option<Keyword> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

fn word(text: &str, keyword: Keyword) -> Token {
    Token::Word(Word { value: text.to_owned(), quote_style: None, keyword })
}
