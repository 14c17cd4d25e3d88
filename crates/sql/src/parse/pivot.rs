//! DuckDB's PIVOT and UNPIVOT that are queries, written as those that stand in FROM:
//!
//! ```sql
//! PIVOT t ON c IN (1, 2) USING sum(x)  -- SELECT * FROM t PIVOT (sum(x) FOR c IN (1, 2))
//! PIVOT t ON c USING sum(x) GROUP BY a -- SELECT * FROM (SELECT a, c, x FROM t) PIVOT (sum(x) FOR c IN (ANY))
//! UNPIVOT t ON a, b INTO NAME n VALUE v -- SELECT * FROM t UNPIVOT (v FOR n IN (a, b))
//! ```

use std::ops::Range;

use sqlparser::ast::{Expr, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};

use super::table::may_precede_query;
use super::window::as_word;
use crate::dialect::MorselDialect;
use crate::walk;

/// What ends such a query's own words.
const ENDS: [&str; 7] = ["order", "limit", "offset", "fetch", "union", "except", "intersect"];
/// What a query begins with.
const QUERIES: [&str; 8] = ["select", "from", "values", "table", "with", "pivot", "unpivot", "summarize"];

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
        if !may_precede_query(before) && before != Some(&Token::SemiColon) {
            return None;
        }
        let table = at + 1..self.table_end(at + 1)?;
        let ends = |at: usize| {
            matches!(self.token(at), Some(Token::RParen | Token::SemiColon))
                || ENDS.iter().any(|word| self.is(at, word))
        };
        let end = self.find(table.end + 1..self.visible.len(), ends);
        let pieces = if is_pivot { self.pivot(table, end)? } else { self.unpivot(table, end)? };
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
        let listed = self.find(on.clone(), |at| self.is(at, "in"));
        let column = on.start..listed;
        if column.is_empty() || self.find(column.clone(), |at| self.token(at) == Some(&Token::Comma)) < column.end {
            return None;
        }
        let aggregates = match using < group {
            true => vec![Piece::Kept(using + 1..group)],
            false => vec![Piece::Made(tokens_of("count(*)"))],
        };
        let mut pieces = vec![Piece::Made(tokens_of("SELECT * FROM"))];
        if group < end {
            // Only what is asked for makes groups.
            let keys = group + 2..end;
            let of_keys = self.names(keys.clone());
            let mut named = self.names(column.clone());
            named.extend(self.names(using + 1..group));
            pieces.push(Piece::Made(tokens_of("(SELECT")));
            pieces.push(Piece::Kept(keys));
            for (at, ident) in named.iter().enumerate() {
                if !of_keys.contains(ident) && !named[..at].contains(ident) {
                    let word = Word {
                        value: ident.value.clone(),
                        quote_style: ident.quote_style,
                        keyword: Keyword::NoKeyword,
                    };
                    pieces.push(Piece::Made(vec![Token::Comma, Token::Word(word)]));
                }
            }
            pieces.push(Piece::Made(tokens_of("FROM")));
            pieces.push(Piece::Kept(table));
            pieces.push(Piece::Made(tokens_of(")")));
        } else {
            pieces.push(Piece::Kept(table));
        }
        pieces.push(Piece::Made(tokens_of("PIVOT (")));
        pieces.extend(aggregates);
        pieces.push(Piece::Made(tokens_of("FOR")));
        pieces.push(Piece::Kept(column));
        match listed < on.end {
            true => pieces.push(Piece::Kept(listed..on.end)),
            false => pieces.push(Piece::Made(tokens_of("IN (ANY)"))),
        }
        pieces.push(Piece::Made(tokens_of(")")));
        Some(pieces)
    }

    fn unpivot(&self, table: Range<usize>, end: usize) -> Option<Vec<Piece>> {
        let into = self.find(table.end + 1..end, |at| self.is(at, "into"));
        let columns = table.end + 1..into;
        let (mut name, mut value) = (Piece::Made(tokens_of("name")), Piece::Made(tokens_of("value")));
        if into < end {
            let value_at = self.find(into..end, |at| self.is(at, "value"));
            if !self.is(into + 1, "name") || value_at + 2 != end || value_at != into + 3 {
                return None;
            }
            (name, value) = (Piece::Kept(into + 2..into + 3), Piece::Kept(value_at + 1..value_at + 2));
        }
        if columns.is_empty() {
            return None;
        }
        let chosen = self.token(columns.start) == Some(&Token::Mul);
        let (before, behind) = if chosen { ("IN (COLUMNS (", ")))") } else { ("IN (", "))") };
        Some(vec![
            Piece::Made(tokens_of("SELECT * FROM")),
            Piece::Kept(table),
            Piece::Made(tokens_of("UNPIVOT (")),
            value,
            Piece::Made(tokens_of("FOR")),
            name,
            Piece::Made(tokens_of(before)),
            Piece::Kept(columns),
            Piece::Made(tokens_of(behind)),
        ])
    }

    /// The names of columns that expressions have; none of what is none, which is told later.
    fn names(&self, range: Range<usize>) -> Vec<Ident> {
        let tokens = range.filter_map(|at| self.token(at).cloned()).collect();
        let mut parser = Parser::new(&MorselDialect).with_tokens(tokens);
        let mut named = Named::default();
        let exprs: Result<Vec<Expr>, ParserError> = parser.parse_comma_separated(|parser| {
            let expr = parser.parse_expr()?;
            if parser.parse_keyword(Keyword::AS) {
                parser.parse_identifier()?;
            }
            Ok(expr)
        });
        exprs.into_iter().flatten().for_each(|expr| named.add(&expr));
        named.0
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

/// Tokens of a text of ours.
fn tokens_of(text: &str) -> Vec<Token> {
    Tokenizer::new(&MorselDialect, text).tokenize().expect("a text of ours")
}
