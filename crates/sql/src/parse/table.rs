//! `TABLE t` is `(SELECT * FROM t)`, wherever a query may stand: the parser knows it in few places and loses quotes.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The tokens with `(SELECT * FROM t)` in the place of each `TABLE t` that is a query. Positions are those of its words.
pub(super) fn as_select(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let token = |at: usize| visible.get(at).map(|&i| &tokens[i].token);
    if matches!(token(0), Some(Token::Word(first)) if first.value.eq_ignore_ascii_case("reindex")) {
        return tokens;
    }
    let is_insert = token(0).and_then(keyword) == Some(Keyword::INSERT);
    let mut replaced = Vec::new();
    for at in 0..visible.len() {
        let begins = token(at).and_then(keyword) == Some(Keyword::TABLE)
            && (is_insert || may_precede_query(at.checked_sub(1).and_then(token)));
        let is_query = token(at + 1).and_then(keyword).is_some_and(|k| {
            // A macro that is a table.
            [Keyword::SELECT, Keyword::WITH, Keyword::FROM, Keyword::VALUES].contains(&k)
        });
        if let (true, false, Some(Token::Word(_))) = (begins, is_query, token(at + 1)) {
            let mut last = at + 1;
            while let (Some(Token::Period), Some(Token::Word(_))) = (token(last + 1), token(last + 2)) {
                last += 2;
            }
            replaced.push((visible[at], visible[last]));
        }
    }
    let mut replaced = replaced.into_iter().peekable();
    let mut end = None;
    let mut out = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.into_iter().enumerate() {
        let span = token.span;
        match replaced.next_if(|&(table, _)| table == at) {
            Some((_, name)) => {
                end = Some(name);
                let select = [Token::LParen, word("SELECT", Keyword::SELECT), Token::Mul, word("FROM", Keyword::FROM)];
                out.extend(select.map(|t| TokenWithSpan::new(t, span)));
            }
            None => out.push(token),
        }
        if end == Some(at) {
            out.push(TokenWithSpan::new(Token::RParen, span));
        }
    }
    out
}

/// Whether a query may begin behind a token, in which case TABLE means no table that is created, dropped or described.
pub(super) fn may_precede_query(token: Option<&Token>) -> bool {
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
