//! Tables and queries in place of each other: `TABLE t` is `(SELECT * FROM t)`, wherever a query may stand (the parser knows it in few
//! places and loses quotes), `CREATE TABLE t (a, b) AS` names columns, and `SELECT ... INTO t` is CREATE TABLE AS.

use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use sqlparser::ast::{Expr, ObjectName, ObjectNamePart, Query, SelectInto, SetExpr, Statement, Values};
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

/// What stands for the type of a generated column that has that of its expression.
pub(crate) const OF_EXPRESSION: &str = "type of the expression";

/// The tokens with STORED for the VIRTUAL of generated columns, as they are computed when rows are written, and with `GENERATED ALWAYS`
/// in front of the `AS (...)` of DuckDB's.
pub(super) fn stored(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let token = |at: usize| visible.get(at).map(|&i| &tokens[i].token);
    let is = |at: usize, wanted: Keyword| token(at).and_then(keyword) == Some(wanted);
    if !is(0, Keyword::CREATE) && !is(0, Keyword::ALTER) {
        return tokens;
    }
    let ends =
        |at: usize| matches!(token(at), None | Some(Token::Comma | Token::RParen | Token::SemiColon | Token::EOF));
    let mut changes: Vec<(usize, usize, Vec<Token>)> = Vec::new();
    let made = |name: &str, keyword: Keyword| word(name, keyword);
    // The list of columns, which stands before any query.
    let open = (0..visible.len()).find(|&at| token(at) == Some(&Token::LParen) || is(at, Keyword::AS));
    let has_list = open.is_some_and(|at| token(at) == Some(&Token::LParen))
        && (1..open.unwrap_or(0)).any(|at| is(at, Keyword::TABLE));
    let mut depth = 0;
    for at in 0..visible.len() {
        match token(at) {
            Some(Token::LParen) => depth += 1,
            Some(Token::RParen) => {
                depth -= 1;
                if is(at + 1, Keyword::VIRTUAL) && ends(at + 2) {
                    changes.push((at + 1, at + 2, vec![made("STORED", Keyword::STORED)]));
                }
                if depth == 0 && has_list {
                    break;
                }
            }
            Some(Token::Word(_)) if has_list && depth == 1 && is(at, Keyword::AS) => {
                let is_open = token(at + 1) == Some(&Token::LParen);
                let Some(close) = closing(&token, at + 1).filter(|_| is_open) else { continue };
                // `name AS (...)`, or `name GENERATED ALWAYS AS (...)`.
                let behind_name = if is(at - 1, Keyword::ALWAYS) { at.saturating_sub(2) } else { at };
                let has_type = behind_name > 2 && !matches!(token(behind_name - 2), Some(Token::Comma | Token::LParen));
                if !has_type {
                    changes.push((behind_name, behind_name, vec![Token::make_word(OF_EXPRESSION, Some('"'))]));
                }
                if is(at - 1, Keyword::ALWAYS) {
                    // As they are computed when rows are written, both are the same.
                    if ends(close + 1) {
                        changes.push((close + 1, close + 1, vec![made("STORED", Keyword::STORED)]));
                    }
                    continue;
                }
                let words = [made("GENERATED", Keyword::GENERATED), made("ALWAYS", Keyword::ALWAYS)];
                changes.push((at, at, words.to_vec()));
                if ends(close + 1) {
                    changes.push((close + 1, close + 1, vec![made("STORED", Keyword::STORED)]));
                }
            }
            _ => {}
        }
    }
    changes.sort_by_key(|(first, ..)| *first);
    for (first, end, made) in changes.into_iter().rev() {
        let begin = visible.get(first).copied().unwrap_or(tokens.len());
        let span = tokens[visible[first.min(visible.len() - 1)]].span;
        let last = if end > first { visible[end - 1] + 1 } else { begin };
        tokens.splice(begin..last, made.into_iter().map(|token| TokenWithSpan { token, span }));
    }
    tokens
}

/// Where the parenthesis that opens at a place is closed; none if there is none.
fn closing<'t>(token: &impl Fn(usize) -> Option<&'t Token>, open: usize) -> Option<usize> {
    let mut depth = 0;
    for at in open.. {
        match token(at)? {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ if depth == 0 => return None,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The tokens of `CREATE TABLE t (a, b) AS ...` with a type behind each name, which the parser asks for and nobody looks at.
pub(super) fn named_columns(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let token = |at: usize| visible.get(at).map(|&i| &tokens[i].token);
    let is = |at: usize, wanted: Keyword| token(at).and_then(keyword) == Some(wanted);
    let Some(open) = (0..visible.len()).find(|&at| token(at) == Some(&Token::LParen)) else { return tokens };
    let says = |word: Keyword| (1..open).any(|at| is(at, word));
    if !is(0, Keyword::CREATE) || !says(Keyword::TABLE) || says(Keyword::AS) {
        return tokens;
    }
    let mut names = Vec::new();
    let mut at = open + 1;
    while let (Some(Token::Word(_)), Some(Token::Comma | Token::RParen)) = (token(at), token(at + 1)) {
        names.push(visible[at]);
        at += 2;
    }
    if names.is_empty() || token(at - 1) != Some(&Token::RParen) || !is(at, Keyword::AS) {
        return tokens;
    }
    for name in names.into_iter().rev() {
        let span = tokens[name].span;
        tokens.insert(name + 1, TokenWithSpan::new(word("TEXT", Keyword::TEXT), span));
    }
    tokens
}

/// CREATE TABLE AS, if the statement is a query that says INTO.
pub(super) fn of_into(statement: &mut Statement) {
    let Statement::Query(query) = statement else { return };
    let mut body = &mut *query.body;
    while let SetExpr::SetOperation { left, .. } = body {
        body = left;
    }
    let SetExpr::Select(select) = body else { return };
    let Some(SelectInto { temporary, targets, .. }) = &select.into else { return };
    let name = match targets.as_slice() {
        [Expr::Identifier(name)] => vec![name.clone()],
        [Expr::CompoundIdentifier(names)] => names.clone(),
        _ => return,
    };
    let name = ObjectName(name.into_iter().map(ObjectNamePart::Identifier).collect());
    let create = CreateTableBuilder::new(name).temporary(*temporary);
    select.into = None;
    let query = std::mem::replace(query, Box::new(nothing()));
    *statement = Statement::CreateTable(create.query(Some(query)).build());
}

/// A query in the place of one that is taken away.
fn nothing() -> Query {
    Query {
        with: None,
        body: Box::new(SetExpr::Values(Values { explicit_row: false, value_keyword: false, rows: Vec::new() })),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
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
