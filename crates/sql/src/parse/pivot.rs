//! DuckDB's PIVOT and UNPIVOT that are queries, written as those that stand in FROM:
//!
//! ```sql
//! PIVOT t ON c IN (1, 2) USING sum(x)  -- SELECT * FROM t PIVOT (sum(x) FOR (#on(c, 1, 2)) IN (ANY))
//! PIVOT t ON c, d USING sum(x) GROUP BY a -- SELECT * FROM t PIVOT (sum(x) FOR (#on(c), #on(d), #by(a)) IN (ANY))
//! UNPIVOT t ON a, b INTO NAME n VALUE v -- SELECT * FROM t UNPIVOT (v FOR n IN (a, b))
//! ```

use std::ops::Range;

use sqlparser::ast::{Expr, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};

use super::table::may_precede_query;
use super::window::as_word;
use crate::dialect::MorselDialect;
use crate::walk;

/// What ends such a query's own words.
const ENDS: [&str; 7] = ["order", "limit", "offset", "fetch", "union", "except", "intersect"];
/// What a query begins with.
const QUERIES: [&str; 8] = ["select", "from", "values", "table", "with", "pivot", "unpivot", "summarize"];

/// What the parts of a PIVOT travel as: calls of what nobody can name.
pub(crate) const AGGREGATE: &str = "#value";
pub(crate) const COLUMN: &str = "#on";
pub(crate) const NAMED: &str = "#as";
pub(crate) const GROUP: &str = "#by";

/// The tokens with those queries as the parser knows them. Positions are those of their words.
pub(super) fn carry(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    // The last one first: what is within another has been written by then.
    let mut before = usize::MAX;
    loop {
        let visible: Vec<usize> =
            (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
        let shown = Shown { tokens: &tokens, visible: &visible };
        let last = visible.len().min(before);
        let Some((at, end, instead)) = (0..last).rev().find_map(|at| shown.written(at)) else { return tokens };
        before = at;
        let span = tokens[visible[at]].span;
        let (first, behind) = (visible[at], visible.get(end).copied().unwrap_or(tokens.len()));
        // What is not made anew keeps its place.
        let instead = instead.into_iter().flat_map(|piece| match piece {
            Piece::Made(made) => made.into_iter().map(|token| TokenWithSpan { token, span }).collect::<Vec<_>>(),
            Piece::Kept(range) => tokens[visible[range.start]..=visible[range.end - 1]].to_vec(),
        });
        let instead: Vec<_> = instead.collect();
        tokens.splice(first..behind, instead);
    }
}

/// A piece of what stands instead.
enum Piece {
    Made(Vec<Token>),
    /// Tokens that were there.
    Kept(Range<usize>),
}

/// Tokens without blanks, by their numbers.
struct Shown<'t> {
    tokens: &'t [TokenWithSpan],
    visible: &'t [usize],
}

impl Shown<'_> {
    fn token(&self, at: usize) -> Option<&Token> {
        self.visible.get(at).map(|&i| &self.tokens[i].token)
    }

    fn is(&self, at: usize, wanted: &str) -> bool {
        self.token(at).and_then(as_word).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted))
    }

    /// What is behind the bracket that closes one.
    fn behind(&self, open: usize) -> usize {
        let mut depth = 0;
        for at in open..self.visible.len() {
            match self.token(at) {
                Some(Token::LParen | Token::LBracket | Token::LBrace) => depth += 1,
                Some(Token::RParen | Token::RBracket | Token::RBrace) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return at + 1;
            }
        }
        self.visible.len()
    }

    /// The first place in a range, outside of brackets, for which this holds; its end if there is none.
    fn find(&self, range: Range<usize>, is_it: impl Fn(usize) -> bool) -> usize {
        let mut at = range.start;
        while at < range.end {
            match self.token(at) {
                _ if is_it(at) => return at,
                Some(Token::LParen | Token::LBracket | Token::LBrace) => at = self.behind(at),
                _ => at += 1,
            }
        }
        range.end
    }

    /// What stands for the query that begins here, and what is behind it; none if none of the two does.
    fn written(&self, at: usize) -> Option<(usize, usize, Vec<Piece>)> {
        let is_pivot = self.is(at, "pivot");
        if !is_pivot && !self.is(at, "unpivot") {
            return None;
        }
        let before = at.checked_sub(1).and_then(|before| self.token(before));
        let may_be_query = may_precede_query(before) || before == Some(&Token::SemiColon);
        let in_brackets = is_pivot && self.token(at + 1) == Some(&Token::LParen);
        // Behind a table in brackets, too, unless it is itself what is pivoted.
        if in_brackets && (!may_be_query || self.table_end(at + 1).is_none()) {
            return self.pivot_of_table(at);
        }
        if !may_be_query {
            return None;
        }
        let nulls = !is_pivot && self.is(at + 1, "include") && self.is(at + 2, "nulls");
        let at_table = if nulls { at + 3 } else { at + 1 };
        let table = at_table..self.table_end(at_table)?;
        let ends = |at: usize| {
            matches!(self.token(at), Some(Token::RParen | Token::SemiColon))
                || ENDS.iter().any(|word| self.is(at, word))
        };
        let end = self.find(table.end + 1..self.visible.len(), ends);
        let pieces = if is_pivot { self.pivot(table, end)? } else { self.unpivot(table, end, nulls)? };
        Some((at, end, pieces))
    }

    /// What is behind the table, where ON has to be.
    fn table_end(&self, begin: usize) -> Option<usize> {
        let mut end = match self.token(begin)? {
            Token::LParen
                if QUERIES.iter().any(|word| self.is(begin + 1, word))
                    || self.token(begin + 1) == Some(&Token::LParen) =>
            {
                self.behind(begin)
            }
            Token::Word(_) | Token::SingleQuotedString(_) => {
                let mut end = begin + 1;
                while let (Some(Token::Period), Some(Token::Word(_))) = (self.token(end), self.token(end + 1)) {
                    end += 2;
                }
                if self.token(end) == Some(&Token::LParen) { self.behind(end) } else { end }
            }
            _ => return None,
        };
        if !self.is(end, "on") {
            end += usize::from(self.is(end, "as")) + 1;
        }
        self.is(end, "on").then_some(end)
    }

    fn pivot(&self, table: Range<usize>, end: usize) -> Option<Vec<Piece>> {
        let using = self.find(table.end + 1..end, |at| self.is(at, "using") || self.is(at, "group"));
        let group = self.find(using..end, |at| self.is(at, "group") && self.is(at + 1, "by"));
        let on = table.end + 1..using;
        if on.is_empty() {
            return None;
        }
        let mut pieces = vec![Piece::Made(tokens_of("SELECT * FROM")), Piece::Kept(table)];
        pieces.push(Piece::Made(tokens_of("PIVOT (")));
        match using < group {
            true => pieces.extend(self.aggregates(using + 1..group)),
            false => pieces.push(Piece::Made(tokens_of("count(*)"))),
        }
        let keys = (group < end).then(|| group + 2..end);
        pieces.extend(self.columns(self.parts(on), keys)?);
        pieces.push(Piece::Made(tokens_of(")")));
        Some(pieces)
    }

    /// What stands behind a table as `PIVOT (sum(x) FOR a IN (1, 2) b IN (3, 4) GROUP BY c)`, if the parser does not know it.
    fn pivot_of_table(&self, at: usize) -> Option<(usize, usize, Vec<Piece>)> {
        let end = self.behind(at + 1).checked_sub(1)?;
        let is_for = |at: usize| self.is(at, "for");
        let columns = self.find(at + 2..end, is_for) + 1;
        let group = self.find(columns..end, |at| self.is(at, "group") && self.is(at + 1, "by"));
        let mut parts = Vec::new();
        let mut begin = columns;
        while begin < group {
            let listed = self.find(begin..group, |at| self.is(at, "in"));
            let next = if self.token(listed + 1) == Some(&Token::LParen) { self.behind(listed + 1) } else { group };
            parts.push(begin..next.min(group));
            begin = next;
        }
        if parts.len() < 2 && group == end {
            return None;
        }
        let mut pieces = vec![Piece::Made(tokens_of("PIVOT ("))];
        pieces.extend(self.aggregates(at + 2..columns - 1));
        pieces.extend(self.columns(parts, (group < end).then(|| group + 2..end))?);
        Some((at, end, pieces))
    }

    /// The parts between commas.
    fn parts(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut begin = range.start;
        while begin < range.end {
            let end = self.find(begin..range.end, |at| self.token(at) == Some(&Token::Comma));
            if begin < end {
                parts.push(begin..end);
            }
            begin = end + 1;
        }
        parts
    }

    /// The aggregates, each an argument of a function that the parser knows nothing of, with its name.
    fn aggregates(&self, range: Range<usize>) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for part in self.parts(range) {
            let named = self.find(part.clone(), |at| self.is(at, "as"));
            let is_word = matches!(self.token(part.end - 1), Some(Token::Word(_)));
            let called = match named < part.end {
                true => named,
                false if is_word && part.len() > 1 && self.token(part.end - 2) == Some(&Token::RParen) => part.end - 1,
                false => part.end,
            };
            if !pieces.is_empty() {
                pieces.push(Piece::Made(vec![Token::Comma]));
            }
            pieces.extend(call_of(AGGREGATE, vec![Piece::Kept(part.start..called)]));
            if called < part.end {
                pieces.push(Piece::Kept(called..part.end));
            }
        }
        pieces
    }

    /// The columns whose values make columns, with these if they are listed, and what makes groups.
    fn columns(&self, parts: Vec<Range<usize>>, keys: Option<Range<usize>>) -> Option<Vec<Piece>> {
        let mut pieces = vec![Piece::Made(tokens_of("FOR ("))];
        for (number, part) in parts.into_iter().enumerate() {
            if number > 0 {
                pieces.push(Piece::Made(vec![Token::Comma]));
            }
            let listed = self.find(part.clone(), |at| self.is(at, "in"));
            let mut arguments = vec![Piece::Kept(part.start..listed)];
            if listed < part.end {
                let is_list = self.token(listed + 1) == Some(&Token::LParen) && self.behind(listed + 1) == part.end;
                let is_query = QUERIES.iter().any(|word| self.is(listed + 2, word));
                if !is_list || is_query || part.start == listed {
                    return None;
                }
                for value in self.parts(listed + 2..part.end - 1) {
                    let named = self.find(value.clone(), |at| self.is(at, "as"));
                    arguments.push(Piece::Made(vec![Token::Comma]));
                    match named < value.end {
                        true => {
                            let mut both = vec![Piece::Kept(value.start..named), Piece::Made(vec![Token::Comma])];
                            both.push(Piece::Kept(named + 1..value.end));
                            arguments.extend(call_of(NAMED, both));
                        }
                        false => arguments.push(Piece::Kept(value)),
                    }
                }
            }
            pieces.extend(call_of(COLUMN, arguments));
        }
        for key in keys.map(|keys| self.parts(keys)).unwrap_or_default() {
            pieces.push(Piece::Made(vec![Token::Comma]));
            pieces.extend(call_of(GROUP, vec![Piece::Kept(key)]));
        }
        pieces.push(Piece::Made(tokens_of(") IN (ANY)")));
        Some(pieces)
    }

    fn unpivot(&self, table: Range<usize>, end: usize, nulls: bool) -> Option<Vec<Piece>> {
        let into = self.find(table.end + 1..end, |at| self.is(at, "into"));
        let columns = table.end + 1..into;
        let mut values = ["(", ""];
        let (mut name, mut value) = (Piece::Made(tokens_of("name")), Piece::Made(tokens_of("value")));
        if into < end {
            let value_at = self.find(into..end, |at| self.is(at, "value"));
            if !self.is(into + 1, "name") || value_at + 1 >= end || value_at != into + 3 {
                return None;
            }
            (name, value) = (Piece::Kept(into + 2..into + 3), Piece::Kept(value_at + 1..end));
            if value_at + 2 < end {
                values = ["((", ")"];
            }
        }
        if columns.is_empty() {
            return None;
        }
        let chosen = self.token(columns.start) == Some(&Token::Mul);
        let (before, behind) = if chosen { ("IN (COLUMNS (", ")))") } else { ("IN (", "))") };
        Some(vec![
            Piece::Made(tokens_of("SELECT * FROM")),
            Piece::Kept(table),
            Piece::Made(tokens_of(if nulls { "UNPIVOT INCLUDE NULLS" } else { "UNPIVOT" })),
            Piece::Made(tokens_of(values[0])),
            value,
            Piece::Made(tokens_of(values[1])),
            Piece::Made(tokens_of("FOR")),
            name,
            Piece::Made(tokens_of(before)),
            Piece::Kept(columns),
            Piece::Made(tokens_of(behind)),
        ])
    }
}

/// Names of columns that expressions have, each once as it is written.
#[derive(Default)]
pub(crate) struct Named(pub Vec<Ident>);

impl Named {
    pub(crate) fn add(&mut self, expr: &Expr) {
        walk::each_expr(expr, |expr| {
            let ident = match expr {
                Expr::Identifier(ident) => Some(ident),
                Expr::CompoundIdentifier(parts) => parts.last(),
                _ => None,
            };
            if let Some(ident) = ident
                && !self.0.contains(ident)
            {
                self.0.push(ident.clone());
            }
        });
    }
}

/// A call of what nobody can name.
fn call_of(name: &str, arguments: Vec<Piece>) -> Vec<Piece> {
    let word = Word { value: name.to_owned(), quote_style: Some('"'), keyword: Keyword::NoKeyword };
    let mut pieces = vec![Piece::Made(vec![Token::Word(word), Token::LParen])];
    pieces.extend(arguments);
    pieces.push(Piece::Made(vec![Token::RParen]));
    pieces
}

/// Tokens of a text of ours.
fn tokens_of(text: &str) -> Vec<Token> {
    Tokenizer::new(&MorselDialect, text).tokenize().expect("a text of ours")
}
