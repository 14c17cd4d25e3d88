//! `FOR UPDATE`, `FOR NO KEY UPDATE`, `FOR SHARE`, `FOR KEY SHARE`: the parser knows two of them. Behind a query that is a statement all are
//! taken out before it runs. Within parentheses each is written as the one that it knows best, with what it was as the first part of the
//! table's name: `FOR UPDATE OF "FOR KEY SHARE".t`.

use sqlparser::ast::{Ident, LockClause, NonBlock, ObjectNamePart};
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::window::as_word;
use crate::{LockStrength, LockWait};

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct LockAst {
    pub strength: LockStrength,
    /// The tables; none: all.
    pub of: Vec<Ident>,
    pub wait: LockWait,
}

/// The tokens without what locks rows, and that. What does not read as such stays as it is.
pub(super) fn take(mut tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, Vec<LockAst>) {
    let mut taken = Vec::new();
    let is_query = |word: &Word| {
        ["select", "with", "explain", "prepare", "from"].iter().any(|w| word.value.eq_ignore_ascii_case(w))
    };
    let first = visible(&tokens, 0).next().map(|at| &tokens[at].token);
    if !first.and_then(as_word).is_some_and(is_query) {
        return (tokens, taken);
    }
    let mut from = 0;
    while let Some(begin) = next_for(&tokens, from) {
        match clause(&tokens, begin) {
            Some((end, lock)) => {
                tokens.drain(begin..end);
                taken.push(lock);
                from = begin;
            }
            None => from = begin + 1,
        }
    }
    (tokens, taken)
}

/// The tokens with what locks the rows of queries in parentheses as the parser reads it, and whether there is such.
pub(super) fn within(tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, bool) {
    let is = |token: &Token, wanted: &[&str]| {
        as_word(token).is_some_and(|word| wanted.iter().any(|w| word.value.eq_ignore_ascii_case(w)))
    };
    // Whether what stands in each of the parentheses around is a query.
    let mut around = Vec::new();
    let mut found = Vec::new();
    for (at, TokenWithSpan { token, .. }) in tokens.iter().enumerate() {
        match token {
            Token::LParen => {
                let first = visible(&tokens, at + 1).next().map(|first| &tokens[first].token);
                around.push(first.is_some_and(|first| is(first, &["select", "with", "from"])));
            }
            Token::RParen => drop(around.pop()),
            token if around.last() == Some(&true) && is(token, &["for"]) => {
                found.extend(clause(&tokens, at).map(|(end, lock)| (at, end, lock)));
            }
            _ => {}
        }
    }
    let has_some = !found.is_empty();
    let mut tokens = tokens;
    for (begin, end, lock) in found.into_iter().rev() {
        let span = tokens[begin].span;
        let written = written(&lock).into_iter().map(|token| TokenWithSpan { token, span });
        tokens.splice(begin..end, written);
    }
    (tokens, has_some)
}

fn written(LockAst { strength, of, wait }: &LockAst) -> Vec<Token> {
    let mut written = Vec::new();
    let tables = if of.is_empty() { vec![None] } else { of.iter().map(Some).collect() };
    for table in tables {
        written.extend(["for", "update", "of"].map(Token::make_keyword));
        written.push(Token::make_word(strength.clause(), Some('"')));
        if let Some(table) = table {
            written.extend([Token::Period, Token::make_word(&table.value, table.quote_style)]);
        }
        match wait {
            LockWait::Wait => {}
            LockWait::Skip => written.extend(["skip", "locked"].map(Token::make_keyword)),
            LockWait::Fail => written.push(Token::make_keyword("nowait")),
        }
    }
    written
}

/// What [`within`] has written.
pub(crate) fn read(clauses: &[LockClause]) -> Vec<LockAst> {
    let read = |clause: &LockClause| {
        let parts: Vec<&Ident> =
            clause.of.iter().flat_map(|name| &name.0).filter_map(ObjectNamePart::as_ident).collect();
        let (first, of) = parts.split_first()?;
        let strength = LockStrength::ALL.into_iter().find(|strength| strength.clause() == first.value)?;
        let wait = match clause.nonblock {
            None => LockWait::Wait,
            Some(NonBlock::SkipLocked) => LockWait::Skip,
            Some(NonBlock::Nowait) => LockWait::Fail,
        };
        Some(LockAst { strength, of: of.iter().map(|&part| part.clone()).collect(), wait })
    };
    clauses.iter().filter_map(read).collect()
}

/// The next FOR outside of all parentheses.
fn next_for(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    tokens.iter().enumerate().find_map(|(at, token)| {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            token if at >= from && depth == 0 => {
                return as_word(token).filter(|word| word.value.eq_ignore_ascii_case("for")).map(|_| at);
            }
            _ => {}
        }
        None
    })
}

fn visible(tokens: &[TokenWithSpan], from: usize) -> impl Iterator<Item = usize> {
    (from..tokens.len()).filter(|&at| !matches!(tokens[at].token, Token::Whitespace(_)))
}

/// What begins with this FOR, and where it ends.
fn clause(tokens: &[TokenWithSpan], begin: usize) -> Option<(usize, LockAst)> {
    let places: Vec<usize> = visible(tokens, begin + 1).collect();
    let token = |at: usize| places.get(at).map(|&i| &tokens[i].token);
    let is = |at: usize, words: &[&str]| {
        words.iter().enumerate().all(|(i, wanted)| {
            token(at + i).and_then(as_word).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted))
        })
    };
    let strengths: [(&[&str], LockStrength); 4] = [
        (&["no", "key", "update"], LockStrength::NoKeyUpdate),
        (&["key", "share"], LockStrength::KeyShare),
        (&["update"], LockStrength::Update),
        (&["share"], LockStrength::Share),
    ];
    let (words, strength) = strengths.into_iter().find(|(words, _)| is(0, words))?;
    let mut at = words.len();
    let mut of = Vec::new();
    if is(at, &["of"]) {
        loop {
            let Some(Token::Word(word)) = token(at + 1) else { return None };
            let span = tokens[places[at + 1]].span;
            of.push(Ident { value: word.value.clone(), quote_style: word.quote_style, span });
            at += 2;
            if token(at) != Some(&Token::Comma) {
                break;
            }
        }
    }
    let mut wait = LockWait::Wait;
    if is(at, &["nowait"]) {
        (wait, at) = (LockWait::Fail, at + 1);
    } else if is(at, &["skip", "locked"]) {
        (wait, at) = (LockWait::Skip, at + 2);
    }
    let end = places.get(at - 1).map(|last| last + 1)?;
    Some((end, LockAst { strength, of, wait }))
}
