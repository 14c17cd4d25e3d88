//! `SEARCH DEPTH FIRST BY a SET o` and `CYCLE a SET c USING p` behind a recursive query of WITH, which the parser does not know: they
//! become columns of the recursion, as PostgreSQL's manual describes it. The rows that are compared and kept are structs.

use base::{Error, Result, SqlState};
use sqlparser::ast::{
    BinaryOperator, Expr, Ident, ObjectNamePart, Query, SelectItem, SetExpr, SetOperator, Statement, TableAlias,
    TableAliasColumnDef, TableFactor,
};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

use super::window::as_word;
use crate::dialect::MorselDialect;
use crate::position::Positions;
use crate::walk::{self, NodeMut};

/// What the two terms are called around their own queries.
const FIRST: &str = "#first";
const NEXT: &str = "#next";

/// What stands behind a query of WITH.
#[derive(Debug)]
pub(super) struct Traversal {
    /// Where the name of the query stands.
    name: Span,
    search: Option<Search>,
    cycle: Option<Cycle>,
}

#[derive(Debug)]
struct Search {
    is_depth: bool,
    by: Vec<Ident>,
    column: Ident,
}

#[derive(Debug)]
struct Cycle {
    of: Vec<Ident>,
    mark: Ident,
    /// What the mark is in a cycle, and elsewhere, as SQL.
    values: (String, String),
    path: Ident,
}

/// The tokens without these clauses, and the clauses.
pub(super) fn take(mut tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, Vec<Traversal>) {
    let is = |token: &Token, wanted: &str| as_word(token).is_some_and(|w| w.value.eq_ignore_ascii_case(wanted));
    let mut found = Vec::new();
    if !tokens.iter().any(|t| is(&t.token, "search") || is(&t.token, "cycle")) {
        return (tokens, found);
    }
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let words: Vec<TokenWithSpan> = visible.iter().map(|&i| tokens[i].clone()).collect();
    let mut gone = Vec::new();
    for at in 1..words.len() {
        if words[at - 1].token != Token::RParen || !is(&words[at].token, "search") && !is(&words[at].token, "cycle") {
            continue;
        }
        let mut reader = Reader { words: &words, at };
        let (search, cycle) = (reader.search(), reader.cycle());
        if let (Some(name), true) = (query_name(&words, at - 1), search.is_some() || cycle.is_some()) {
            gone.push((visible[at], visible[reader.at - 1]));
            found.push(Traversal { name, search, cycle });
        }
    }
    for (first, last) in gone.into_iter().rev() {
        tokens.drain(first..=last);
    }
    (tokens, found)
}

/// Where the name of the query of WITH stands whose last parenthesis is at `close`.
fn query_name(words: &[TokenWithSpan], close: usize) -> Option<Span> {
    let opening = |close: usize| {
        let mut depth = 0;
        (0..=close).rev().find(|&at| {
            match words[at].token {
                Token::RParen => depth += 1,
                Token::LParen => depth -= 1,
                _ => {}
            }
            depth == 0
        })
    };
    let mut at = opening(close)?.checked_sub(1)?;
    while as_word(&words[at].token).is_some_and(|w| !w.value.eq_ignore_ascii_case("as")) {
        at = at.checked_sub(1)?;
    }
    at = at.checked_sub(1)?;
    if words[at].token == Token::RParen {
        at = opening(at)?.checked_sub(1)?;
    }
    matches!(words[at].token, Token::Word(_)).then_some(words[at].span)
}

/// Reads the clauses; where one does not read as such, it stays before it.
struct Reader<'a> {
    words: &'a [TokenWithSpan],
    at: usize,
}

impl Reader<'_> {
    fn word(&mut self, wanted: &str) -> Option<()> {
        let word = as_word(&self.words.get(self.at)?.token)?;
        word.value.eq_ignore_ascii_case(wanted).then(|| self.at += 1)
    }

    fn name(&mut self) -> Option<Ident> {
        let TokenWithSpan { token: Token::Word(word), span } = self.words.get(self.at)? else { return None };
        self.at += 1;
        Some(Ident { value: word.value.clone(), quote_style: word.quote_style, span: *span })
    }

    fn names(&mut self) -> Option<Vec<Ident>> {
        let mut all = vec![self.name()?];
        while self.words.get(self.at).is_some_and(|word| word.token == Token::Comma) {
            self.at += 1;
            all.push(self.name()?);
        }
        Some(all)
    }

    /// What stands before a word, as text.
    fn until(&mut self, wanted: &str) -> Option<String> {
        let begin = self.at;
        while self.word(wanted).is_none() {
            self.at += 1;
            self.words.get(self.at)?;
        }
        Some(self.words[begin..self.at - 1].iter().map(|word| word.token.to_string()).collect::<Vec<_>>().join(" "))
    }

    fn whole<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let begin = self.at;
        let found = read(self);
        if found.is_none() {
            self.at = begin;
        }
        found
    }

    fn search(&mut self) -> Option<Search> {
        self.whole(|r| {
            r.word("search")?;
            let is_depth = r.word("depth").is_some();
            if !is_depth {
                r.word("breadth")?;
            }
            r.word("first")?;
            r.word("by")?;
            let by = r.names()?;
            r.word("set")?;
            Some(Search { is_depth, by, column: r.name()? })
        })
    }

    fn cycle(&mut self) -> Option<Cycle> {
        self.whole(|r| {
            r.word("cycle")?;
            let of = r.names()?;
            r.word("set")?;
            let mark = r.name()?;
            let mut values = ("true".to_owned(), "false".to_owned());
            if r.word("to").is_some() {
                values.0 = r.until("default")?;
                values.1 = r.until("using")?;
            } else {
                r.word("using")?;
            }
            Some(Cycle { of, mark, values, path: r.name()? })
        })
    }
}

/// Writes what was taken as columns of the queries.
pub(super) fn put(statement: &mut Statement, traversals: Vec<Traversal>, positions: &Positions) -> Result<()> {
    let (mut left, mut result) = (traversals, Ok(()));
    walk::change_each_node(statement, |node| {
        if let NodeMut::Query(query) = node
            && result.is_ok()
        {
            result = put_into(query, &mut left);
        }
    });
    let done = result.and_then(|()| match left.first() {
        Some(left) => Err(Error::unsupported("SEARCH or CYCLE in this place").at(positions.start(left.name))),
        None => Ok(()),
    });
    done.map_err(|error| match error.position() {
        Some(_) => error,
        None => error.at(Some(positions.begin())),
    })
}

/// Writes those that are of the queries of a WITH, and takes them away.
fn put_into(query: &mut Query, traversals: &mut Vec<Traversal>) -> Result<()> {
    for cte in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
        let own = traversals.iter().position(|t| t.name == cte.alias.name.span);
        if let Some(own) = own {
            traversed(&mut cte.alias, &mut cte.query, &traversals.swap_remove(own))?;
        }
    }
    Ok(())
}

fn traversed(alias: &mut TableAlias, query: &mut Query, traversal: &Traversal) -> Result<()> {
    let wrong = |message: &str| Err(Error::new(SqlState::SYNTAX_ERROR, message));
    let SetExpr::SetOperation { op: SetOperator::Union, left, right, .. } = query.body.as_mut() else {
        return wrong("with a SEARCH or CYCLE clause, the recursive query must be a UNION");
    };
    let SetExpr::Select(step) = right.as_mut() else {
        return wrong("with a SEARCH or CYCLE clause, the right side of the UNION must be a SELECT");
    };
    let names = match alias.columns.as_slice() {
        [] => output_names(left)?,
        columns => columns.iter().map(|c| c.name.clone()).collect(),
    };
    let Traversal { search, cycle, .. } = traversal;
    let listed = search.iter().flat_map(|s| &s.by).chain(cycle.iter().flat_map(|c| &c.of));
    for ident in listed {
        if !names.iter().any(|name| folded(name) == folded(ident)) {
            let name = folded(ident);
            let clause = if search.iter().any(|s| s.by.contains(ident)) { "search" } else { "cycle" };
            return wrong(&format!("{clause} column \"{name}\" not in WITH query column list"));
        }
    }
    let made: Vec<&Ident> =
        search.iter().map(|s| &s.column).chain(cycle.iter().flat_map(|c| [&c.mark, &c.path])).collect();
    for (at, ident) in made.iter().enumerate() {
        if names.iter().chain(made[..at].iter().copied()).any(|name| folded(name) == folded(ident)) {
            return wrong(&format!("column name \"{}\" is already used in the WITH query", folded(ident)));
        }
    }
    // What the recursive term reads of itself besides.
    let own = folded(&alias.name);
    let from = step.from.iter().flat_map(|t| [&t.relation].into_iter().chain(t.joins.iter().map(|j| &j.relation)));
    let reference = from.filter_map(|factor| reference(factor, &own)).next();
    let Some(reference) = reference else {
        return Err(Error::unsupported("SEARCH or CYCLE of a query that reads itself in no FROM of its own"));
    };
    let read = |column: &Ident| Expr::CompoundIdentifier(vec![reference.clone(), column.clone()]);
    for &column in &made {
        step.projection.push(SelectItem::ExprWithAlias { expr: read(column), alias: column.clone() });
    }
    if let Some(Cycle { mark, values, .. }) = cycle {
        let (left, right) = (Box::new(read(mark)), Box::new(expr(&values.0)?));
        let goes_on = Expr::BinaryOp { left, op: BinaryOperator::NotEq, right };
        step.selection = Some(match step.selection.take() {
            None => goes_on,
            Some(before) => {
                let (left, right) = (Box::new(Expr::Nested(Box::new(before))), Box::new(goes_on));
                Expr::BinaryOp { left, op: BinaryOperator::And, right }
            }
        });
    }
    let wrapped = |term: &str, is_first: bool| -> Vec<String> {
        let of = |ident: &Ident| format!("\"{term}\".{}", quoted(ident));
        let fields = |idents: &[Ident]| idents.iter().map(of).collect::<Vec<_>>().join(", ");
        let list = |column: &Ident, idents: &[Ident]| match is_first {
            true => format!("ARRAY[ROW({})]", fields(idents)),
            false => format!("{} || ROW({})", of(column), fields(idents)),
        };
        let mut items: Vec<String> = names.iter().map(of).collect();
        if let Some(Search { is_depth, by, column }) = search {
            let depth = match is_first {
                true => "0::bigint".to_owned(),
                false => format!("({}).f1 + 1", of(column)),
            };
            let made = match is_depth {
                true => list(column, by),
                false => format!("ROW({depth}, {})", fields(by)),
            };
            items.push(format!("{made} AS {}", quoted(column)));
        }
        if let Some(Cycle { of: columns, mark, values: (yes, no), path }) = cycle {
            let made = match is_first {
                true => no.clone(),
                false => format!("CASE WHEN ROW({}) = ANY ({}) THEN {yes} ELSE {no} END", fields(columns), of(path)),
            };
            items.push(format!("{made} AS {}", quoted(mark)));
            items.push(format!("{} AS {}", list(path, columns), quoted(path)));
        }
        items
    };
    let next_names: Vec<Ident> = names.iter().chain(made.iter().copied()).cloned().collect();
    **left = around(left, FIRST, &names, &wrapped(FIRST, true))?;
    **right = around(right, NEXT, &next_names, &wrapped(NEXT, false))?;
    if !alias.columns.is_empty() {
        let column = |name: &&Ident| TableAliasColumnDef { name: (*name).clone(), data_type: None };
        alias.columns.extend(made.iter().map(column));
    }
    Ok(())
}

/// `SELECT items FROM (term) AS name (columns)`
fn around(term: &mut SetExpr, name: &str, columns: &[Ident], items: &[String]) -> Result<SetExpr> {
    let columns: Vec<String> = columns.iter().map(quoted).collect();
    let sql = format!("SELECT {} FROM (SELECT 1) AS \"{name}\" ({})", items.join(", "), columns.join(", "));
    let mut query = parsed(&sql, |parser| parser.parse_query())?;
    let SetExpr::Select(select) = query.body.as_mut() else { return Err(Error::internal("a SELECT that is none")) };
    if let Some(TableFactor::Derived { subquery, .. }) = select.from.first_mut().map(|from| &mut from.relation) {
        std::mem::swap(subquery.body.as_mut(), term);
    }
    Ok(*query.body)
}

/// What the columns of the first term are called.
fn output_names(term: &SetExpr) -> Result<Vec<Ident>> {
    let unnamed = || {
        Error::unsupported("SEARCH or CYCLE of a query whose columns have no names")
            .hint("list them behind the name: WITH RECURSIVE t (a, b) AS ...")
    };
    let SetExpr::Select(select) = term else { return Err(unnamed()) };
    let name = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => Ok(alias.clone()),
        SelectItem::UnnamedExpr(Expr::Identifier(ident)) => Ok(ident.clone()),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => parts.last().cloned().ok_or_else(unnamed),
        _ => Err(unnamed()),
    };
    select.projection.iter().map(name).collect()
}

/// By what name an item of FROM is called, if it is the query's own working table.
fn reference(factor: &TableFactor, own: &str) -> Option<Ident> {
    let TableFactor::Table { name, alias, args: None, .. } = factor else { return None };
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] if folded(ident) == own => {
            Some(alias.as_ref().map_or_else(|| ident.clone(), |alias| alias.name.clone()))
        }
        _ => None,
    }
}

fn expr(sql: &str) -> Result<Expr> {
    parsed(sql, |parser| parser.parse_expr())
}

/// What a text says of which nothing has a place in the statement.
fn parsed<T>(
    sql: &str,
    read: impl FnOnce(&mut Parser<'_>) -> std::result::Result<T, sqlparser::parser::ParserError>,
) -> Result<T> {
    let wrong = |error: &dyn std::fmt::Display| {
        Error::new(SqlState::SYNTAX_ERROR, "syntax error in a SEARCH or CYCLE clause").detail(format!("{sql}: {error}"))
    };
    let tokens = sqlparser::tokenizer::Tokenizer::new(&MorselDialect, sql).tokenize().map_err(|e| wrong(&e))?;
    read(&mut Parser::new(&MorselDialect).with_tokens(tokens)).map_err(|e| wrong(&e))
}

fn folded(ident: &Ident) -> String {
    crate::bind::fold(ident)
}

fn quoted(ident: &Ident) -> String {
    Ident::with_quote('"', folded(ident)).to_string()
}
