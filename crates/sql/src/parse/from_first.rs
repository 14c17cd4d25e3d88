//! Queries that begin with FROM (`FROM t WHERE x > 1`, `FROM t SELECT a`), commas behind the last item of a list, and `x IN [1, 2]`, as
//! DuckDB has them, and `= ANY (VALUES ...)`, `SELECT (VALUES (1))` and `FROM f() AS (a integer)`, as PostgreSQL has them: written as what the parser
//! knows. `SELECT *` stands where nothing is selected.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::window::as_word;

/// What ends a select list that stands behind FROM.
const BEHIND_LIST: [&str; 13] = [
    "where",
    "group",
    "having",
    "window",
    "qualify",
    "order",
    "limit",
    "offset",
    "fetch",
    "using",
    "union",
    "except",
    "intersect",
];
/// What rows without a name are called.
const RECORD: &str = "record";
const SETS: [&str; 3] = ["union", "except", "intersect"];
/// Words that begin a clause, whatever columns are called.
const CLAUSES: [&str; 6] = ["from", "where", "group", "having", "order", "limit"];

/// The tokens as the parser takes them. Their positions stay.
pub(super) fn carry(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let tokens = named_records(values_as_queries(lists(without_last_commas(tokens))));
    let visible = visible(&tokens);
    let words = Words { tokens: &tokens, visible: &visible };
    let begins: Vec<usize> = (0..visible.len()).filter(|&at| words.is(at, "from") && words.begins_query(at)).collect();
    if begins.is_empty() {
        return tokens;
    }
    let mut ordered: Vec<TokenWithSpan> = visible.iter().map(|&at| tokens[at].clone()).collect();
    // What is within a query comes behind its beginning, and is in its order by then.
    for from in begins.into_iter().rev() {
        let all: Vec<usize> = (0..ordered.len()).collect();
        let words = Words { tokens: &ordered, visible: &all };
        let end = words.end_of_query(from);
        let (select, list_end) = match words.at_level(from, end, &["select"]) {
            Some(select) => (Some(select), words.at_level(select, end, &BEHIND_LIST).unwrap_or(end)),
            None => (None, from),
        };
        match select {
            Some(select) => ordered[from..list_end].rotate_left(select - from),
            None => {
                let span = ordered[from].span;
                let all = [Token::make_keyword("SELECT"), Token::Mul].map(|token| TokenWithSpan { token, span });
                ordered.splice(from..from, all);
            }
        }
    }
    ordered
}

fn visible(tokens: &[TokenWithSpan]) -> Vec<usize> {
    (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect()
}

/// Tokens without white space, by their numbers.
struct Words<'t> {
    tokens: &'t [TokenWithSpan],
    visible: &'t [usize],
}

impl<'t> Words<'t> {
    fn token(&self, at: usize) -> Option<&'t Token> {
        self.visible.get(at).map(|&i| &self.tokens[i].token)
    }

    fn is(&self, at: usize, wanted: &str) -> bool {
        let word = self.token(at).and_then(as_word).filter(|word| word.quote_style.is_none());
        word.is_some_and(|word| word.value.eq_ignore_ascii_case(wanted))
    }

    fn is_any(&self, at: usize, wanted: &[&str]) -> bool {
        wanted.iter().any(|wanted| self.is(at, wanted))
    }

    /// Whether FROM is the first word of a query there.
    fn begins_query(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return true };
        let is_behind_set = |at: usize| self.is_any(at, &SETS);
        match self.token(before) {
            Some(Token::SemiColon) => true,
            Some(Token::LParen) => before == 0 || !self.is(before - 1, "trim"),
            Some(Token::RParen) if self.is_query_with(at) => true,
            Some(Token::Word(_)) if is_behind_set(before) => true,
            Some(Token::Word(_)) if self.is_any(before, &["all", "distinct"]) => {
                before > 0 && is_behind_set(before - 1)
            }
            Some(Token::Word(_)) if self.is(before, "name") && before > 1 && self.is(before - 1, "by") => {
                is_behind_set(before - 2) || self.is_inserted(at) || self.is_any(before - 2, &["all", "distinct"])
            }
            Some(Token::Word(_)) if self.is_any(0, &["create", "prepare"]) => {
                self.is(before, "as") || self.is(before, "table") && self.is(before.wrapping_sub(1), "as")
            }
            Some(Token::Word(_)) if before == 0 && self.is_any(0, &["explain", "describe", "summarize"]) => true,
            Some(Token::Word(_)) if self.is_any(before, &["describe", "summarize"]) => {
                self.token(before - 1) == Some(&Token::LParen)
            }
            _ => self.is_inserted(at),
        }
    }

    /// Whether what stands there is the query of an INSERT.
    fn is_inserted(&self, at: usize) -> bool {
        const OTHERS: [&str; 6] = ["select", "values", "from", "set", "default", "returning"];
        let is_outside = || {
            let depth = |depth: i32, at| match self.token(at) {
                Some(Token::LParen) => depth + 1,
                Some(Token::RParen) => depth - 1,
                _ => depth,
            };
            (0..at).fold(0, depth) == 0
        };
        self.is(0, "insert") && self.is(1, "into") && at > 2 && is_outside() && self.at_level(0, at, &OTHERS).is_none()
    }

    /// Whether the last query of WITH begins there.
    fn is_query_with(&self, at: usize) -> bool {
        let mut depth = 0;
        let mut first = None;
        for before in (0..at).rev() {
            match self.token(before) {
                Some(Token::RParen | Token::RBracket) => depth += 1,
                Some(Token::LParen | Token::LBracket) if depth == 0 => break,
                Some(Token::LParen | Token::LBracket) => depth -= 1,
                Some(Token::SemiColon) => break,
                _ if depth == 0 => {
                    if self.is_any(before, &["select", "from", "insert", "update", "delete", "merge", "values"]) {
                        return false;
                    }
                    first = Some(before);
                }
                _ => {}
            }
        }
        first.is_some_and(|first| self.is(first, "with") || self.is_any(first, &["explain", "create"]))
            && (0..at).any(|at| self.is(at, "with"))
    }

    /// The place behind the query that begins there.
    fn end_of_query(&self, from: usize) -> usize {
        let mut depth = 0;
        for at in from + 1..self.visible.len() {
            match self.token(at) {
                Some(Token::LParen | Token::LBracket | Token::LBrace) => depth += 1,
                Some(Token::RParen | Token::RBracket | Token::RBrace) if depth == 0 => return at,
                Some(Token::RParen | Token::RBracket | Token::RBrace) => depth -= 1,
                Some(Token::SemiColon | Token::EOF) => return at,
                _ if depth == 0 && self.is_any(at, &SETS) => return at,
                _ => {}
            }
        }
        self.visible.len()
    }

    /// The first of these words between two places that no bracket is around.
    fn at_level(&self, from: usize, end: usize, wanted: &[&str]) -> Option<usize> {
        let mut depth = 0;
        for at in from + 1..end {
            match self.token(at) {
                Some(Token::LParen | Token::LBracket | Token::LBrace) => depth += 1,
                Some(Token::RParen | Token::RBracket | Token::RBrace) => depth -= 1,
                _ if depth == 0 && self.is_any(at, wanted) => return Some(at),
                _ => {}
            }
        }
        None
    }
}

/// The tokens without a comma behind which a list ends.
fn without_last_commas(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let visible = visible(&tokens);
    let words = Words { tokens: &tokens, visible: &visible };
    let is_item = |token: &Token| {
        !matches!(token, Token::Comma | Token::LParen | Token::LBracket | Token::LBrace)
            && as_word(token).is_none_or(|word| word.keyword != Keyword::SELECT)
    };
    let is_last = |&at: &usize| {
        let closes = matches!(words.token(at + 1), Some(Token::RParen | Token::RBracket | Token::RBrace));
        words.token(at) == Some(&Token::Comma)
            && at.checked_sub(1).and_then(|before| words.token(before)).is_some_and(is_item)
            && (closes || words.is_any(at + 1, &CLAUSES))
    };
    let last: Vec<usize> = (0..visible.len()).filter(is_last).map(|at| visible[at]).collect();
    last.into_iter().rev().for_each(|at| drop(tokens.remove(at)));
    tokens
}

/// The tokens with `x = ANY ([1, 2])` for `x IN [1, 2]`, and likewise of variables.
fn lists(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let visible = visible(&tokens);
    let words = Words { tokens: &tokens, visible: &visible };
    let mut changes: Vec<(usize, usize, Vec<Token>)> = Vec::new();
    let is_list = |at: usize| {
        let is_loop = at > 1 && words.is(at - 2, "for")
            || at > 3 && words.is(at - 4, "for") && words.token(at - 2) == Some(&Token::Comma);
        let has_list = words.token(at + 1) == Some(&Token::LBracket)
            || words.is(at + 1, "getvariable") && words.token(at + 2) == Some(&Token::LParen);
        words.is(at, "in") && has_list && at > 0 && !is_loop
    };
    for at in (0..visible.len()).filter(|&at| is_list(at)) {
        let mut depth = 0;
        let first = at + 1 + usize::from(words.is(at + 1, "getvariable"));
        let close = (first..visible.len()).find(|&at| {
            match words.token(at) {
                Some(Token::LBracket | Token::LParen) => depth += 1,
                Some(Token::RBracket | Token::RParen) => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let Some(close) = close else { continue };
        let negated = words.is(at - 1, "not");
        let (operator, all) = if negated { (Token::Neq, "ALL") } else { (Token::Eq, "ANY") };
        let first = if negated { at - 1 } else { at };
        changes.push((visible[first], visible[at] + 1, vec![operator, Token::make_keyword(all), Token::LParen]));
        changes.push((visible[close] + 1, visible[close] + 1, vec![Token::RParen]));
    }
    changes.sort_by_key(|(first, ..)| *first);
    for (first, end, with) in changes.into_iter().rev() {
        let span = tokens[first.min(end - 1)].span;
        tokens.splice(first..end, with.into_iter().map(|token| TokenWithSpan { token, span }));
    }
    tokens
}

/// Words before an expression that may be a query.
const BEFORE_VALUE: [&str; 19] = [
    "any", "some", "all", "select", "where", "having", "on", "and", "or", "not", "when", "then", "else", "case", "by",
    "limit", "offset", "between", "distinct",
];

/// Whether a token may stand before an expression. Behind a comma there may be a table, too, to which it does not matter.
fn is_before_value(token: &Token) -> bool {
    let is_operator = matches!(token, Token::Eq | Token::Neq | Token::Lt | Token::Gt | Token::LtEq | Token::GtEq);
    let is_sign = matches!(token, Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::StringConcat);
    is_operator || is_sign || matches!(token, Token::Comma | Token::LParen | Token::LBracket)
}

/// The tokens with `(SELECT * FROM (VALUES ...))` for `(VALUES ...)` behind ANY, and where it is a value.
fn values_as_queries(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let visible = visible(&tokens);
    let words = Words { tokens: &tokens, visible: &visible };
    let is_value = |&at: &usize| {
        at > 1
            && words.is(at, "values")
            && words.token(at - 1) == Some(&Token::LParen)
            && words.token(at + 1) == Some(&Token::LParen)
            && (words.is_any(at - 2, &BEFORE_VALUE) || words.token(at - 2).is_some_and(is_before_value))
    };
    let found: Vec<(usize, usize)> = (0..visible.len())
        .filter(is_value)
        .map(|at| (visible[at], words.end_of_query(at)))
        .filter_map(|(at, end)| Some((at, *visible.get(end)?)))
        .collect();
    for (at, end) in found.into_iter().rev() {
        let made = |token: Token, span| TokenWithSpan { token, span };
        tokens.insert(end, made(Token::RParen, tokens[end].span));
        let span = tokens[at].span;
        let select = [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM"), Token::LParen];
        tokens.splice(at..at, select.map(|token| made(token, span)));
    }
    tokens
}

/// The tokens with a name for the rows of a function in FROM that has columns but no name: `f() AS (a integer)`.
fn named_records(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    const QUERIES: [&str; 10] =
        ["select", "with", "values", "table", "from", "insert", "update", "delete", "merge", "partition"];
    let visible = visible(&tokens);
    let words = Words { tokens: &tokens, visible: &visible };
    let is_unnamed = |&at: &usize| {
        let is_word = |at: usize| matches!(words.token(at), Some(Token::Word(_)));
        words.is(at, "as")
            && at > 0
            && words.token(at - 1) == Some(&Token::RParen)
            && words.token(at + 1) == Some(&Token::LParen)
            && is_word(at + 2)
            && is_word(at + 3)
            && !words.is_any(at + 2, &QUERIES)
    };
    let found: Vec<usize> = (0..visible.len()).filter(is_unnamed).map(|at| visible[at]).collect();
    for at in found.into_iter().rev() {
        let (span, name) =
            (tokens[at].span, Word { value: RECORD.to_owned(), quote_style: None, keyword: Keyword::NoKeyword });
        tokens.insert(at + 1, TokenWithSpan { token: Token::Word(name), span });
    }
    tokens
}

#[cfg(test)]
mod tests {
    use sqlparser::tokenizer::Tokenizer;

    use super::*;
    use crate::dialect::MorselDialect;

    fn carried(text: &str) -> String {
        let tokens = Tokenizer::new(&MorselDialect, text).tokenize_with_location().unwrap();
        let shown = carry(tokens).into_iter().map(|token| token.token.to_string());
        shown.filter(|word| !word.trim().is_empty() && word != "EOF").collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn queries_begin_with_from() {
        for (text, expected) in [
            ("from t", "SELECT * from t"),
            ("from t where a > 1 limit 3", "SELECT * from t where a > 1 limit 3"),
            (
                "from t join u using (a) select distinct a, b where a > 1",
                "select distinct a , b from t join u using ( a ) where a > 1",
            ),
            ("select (from t select max(a)) + 1", "select ( select max ( a ) from t ) + 1"),
            ("from (from t where a) s select b", "select b from ( SELECT * from t where a ) s"),
            (
                "with x as (from t) from x select a order by a",
                "with x as ( SELECT * from t ) select a from x order by a",
            ),
            ("from a union all from b select c", "SELECT * from a union all select c from b"),
            ("from a union by name from b", "SELECT * from a union by name SELECT * from b"),
            ("insert into q from range(2)", "insert into q SELECT * from range ( 2 )"),
            ("insert into q (a) from t select b", "insert into q ( a ) select b from t"),
            ("create table x as from t limit 2", "create table x as SELECT * from t limit 2"),
            ("copy (from t) to 'x'", "copy ( SELECT * from t ) to 'x'"),
            ("explain from t", "explain SELECT * from t"),
        ] {
            assert_eq!(carried(text), expected, "{text}");
        }
    }

    #[test]
    fn other_words_stay() {
        for text in [
            "select a from t",
            "delete from t",
            "copy t from 'x'",
            "select extract ( year from d ) , trim ( from a )",
            "select a is distinct from b from t",
            "fetch all from c",
            "create table p partition of q for values from ( 1 ) to ( 2 )",
            "insert into q select a from t",
            "select substring ( a from 2 )",
            "with x as ( select 1 ) select a from x",
            "select , from t",
            "select ( , )",
            "select [ x for x in [ 1 , 2 ] ]",
            "select [ x for x , i in [ 1 , 2 ] ]",
            "insert into q with t ( n ) as ( select 1 union all select n + 1 from t ) select n from t",
        ] {
            assert_eq!(carried(text), text);
        }
    }

    #[test]
    fn lists_end_with_commas() {
        assert_eq!(carried("select a, b, from t group by a, having c"), "select a , b from t group by a having c");
        assert_eq!(carried("select [1, 2,], (a, b,)"), "select [ 1 , 2 ] , ( a , b )");
    }

    #[test]
    fn values_are_in_lists() {
        assert_eq!(carried("select a in [1, [2][1]] or b"), "select a = ANY ( [ 1 , [ 2 ] [ 1 ] ] ) or b");
        assert_eq!(carried("select a not in [1]"), "select a <> ALL ( [ 1 ] )");
        let values = "select a = any ( SELECT * FROM ( values ( 1 ) , ( 2 ) ) )";
        assert_eq!(carried("select a = any (values (1), (2))"), values);
        assert_eq!(carried("select a from f() as (a int)"), "select a from f ( ) as record ( a int )");
    }
}
