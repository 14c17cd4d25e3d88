//! Forms of DuckDB that have another spelling which the parser knows: `* EXCEPT (a)`, `FROM VALUES (1), (2)`,
//! `INSERT INTO t (VALUES (1))`, `LIMIT 10 PERCENT`, `GROUP BY *`, a comma behind the last row.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::window::as_word;

/// Tokens without white space, by number.
struct Visible<'t> {
    tokens: &'t [TokenWithSpan],
    places: Vec<usize>,
}

impl Visible<'_> {
    fn token(&self, at: usize) -> Option<&Token> {
        self.places.get(at).map(|&i| &self.tokens[i].token)
    }

    fn is(&self, at: usize, wanted: &str) -> bool {
        self.token(at).and_then(as_word).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted))
    }

    fn is_any(&self, at: usize, wanted: &[&str]) -> bool {
        wanted.iter().any(|wanted| self.is(at, wanted))
    }

    fn ends(&self, at: usize) -> bool {
        matches!(self.token(at), None | Some(Token::EOF | Token::SemiColon))
    }

    /// The bracket that closes the one at a place.
    fn close(&self, open: usize) -> Option<usize> {
        let mut depth = 0;
        for at in open.. {
            match self.token(at)? {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }

    /// The last of the rows of values that begin at a bracket.
    fn last_row(&self, first: usize) -> Option<usize> {
        let mut end = self.close(first)?;
        while self.token(end + 1) == Some(&Token::Comma) && self.token(end + 2) == Some(&Token::LParen) {
            end = self.close(end + 2)?;
        }
        Some(end)
    }
}

/// What begins a query.
const QUERY: [&str; 5] = ["select", "values", "with", "from", "table"];

/// What becomes of the tokens from one place to before another: others.
type Change = (usize, usize, Vec<Token>);

/// The tokens as the parser takes them. Their positions stay.
pub(super) fn carry(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let places = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let visible = Visible { tokens: &tokens, places };
    let mut changes: Vec<Change> = Vec::new();
    for at in 0..visible.places.len() {
        change(&visible, at, &mut changes);
    }
    if changes.is_empty() { tokens } else { applied(&visible, changes) }
}

fn change(visible: &Visible<'_>, at: usize, changes: &mut Vec<Change>) {
    let keyword = Token::make_keyword;
    let token = |at| visible.token(at);
    match token(at) {
        Some(Token::Mul) if visible.is(at + 1, "except") && is_excluding(visible, at + 2) => {
            changes.push((at + 1, at + 2, vec![keyword("EXCLUDE")]));
        }
        Some(Token::Mul) if at > 1 && visible.is(at - 1, "by") && visible.is_any(at - 2, &["group", "order"]) => {
            let behind = ["having", "window", "qualify", "order", "limit", "offset", "fetch", "asc", "desc", "nulls"];
            let sets = ["union", "except", "intersect"];
            let ends = visible.ends(at + 1) || token(at + 1) == Some(&Token::RParen);
            if ends || visible.is_any(at + 1, &behind) || visible.is_any(at + 1, &sets) {
                changes.push((at, at + 1, vec![keyword("ALL")]));
            }
        }
        Some(Token::Word(_)) if visible.is(at, "values") && token(at + 1) == Some(&Token::LParen) => {
            if let Some(end) = visible.last_row(at + 1)
                && token(end + 1) == Some(&Token::Comma)
                && visible.ends(end + 2)
            {
                changes.push((end + 1, end + 2, Vec::new()));
            }
        }
        Some(Token::Word(_)) if visible.is_any(at, &["from", "join"]) && visible.is(at + 1, "values") => {
            if token(at + 2) == Some(&Token::LParen)
                && let Some(end) = visible.last_row(at + 2)
            {
                changes.push((at + 1, at + 1, vec![Token::LParen]));
                changes.push((end + 1, end + 1, vec![Token::RParen]));
            }
        }
        Some(Token::Word(_)) if visible.is(at, "insert") && visible.is(at + 1, "into") => {
            let mut open = at + 3;
            while token(open) == Some(&Token::Period) {
                open += 2;
            }
            if token(open) == Some(&Token::LParen) && !visible.is_any(open + 1, &QUERY) {
                open = visible.close(open).map_or(open, |close| close + 1);
            }
            if token(open) == Some(&Token::LParen)
                && visible.is(open + 1, "values")
                && let Some(close) = visible.close(open)
                && (visible.ends(close + 1) || visible.is_any(close + 1, &["on", "returning"]))
            {
                changes.push((open, open + 1, Vec::new()));
                let has_comma = token(close - 1) == Some(&Token::Comma);
                changes.push((close - usize::from(has_comma), close + 1, Vec::new()));
            }
        }
        Some(Token::Word(_))
            if visible.is(at, "limit")
                && matches!(token(at + 1), Some(Token::Number(..)))
                && visible.is(at + 2, "percent") =>
        {
            changes.push((at + 2, at + 3, vec![Token::Mod]));
        }
        _ => {}
    }
}

/// Whether what stands behind `* EXCEPT` are columns, not a query.
fn is_excluding(visible: &Visible<'_>, at: usize) -> bool {
    match visible.token(at) {
        Some(Token::LParen) => !visible.is_any(at + 1, &QUERY) && visible.token(at + 1) != Some(&Token::LParen),
        Some(Token::Word(word)) => {
            word.quote_style.is_some() || !visible.is_any(at, &QUERY) && word.keyword != Keyword::ALL
        }
        _ => false,
    }
}

fn applied(visible: &Visible<'_>, mut changes: Vec<Change>) -> Vec<TokenWithSpan> {
    changes.sort_by_key(|(first, ..)| *first);
    let mut changes = changes.into_iter().peekable();
    let mut out = Vec::with_capacity(visible.tokens.len());
    let mut at = 0;
    loop {
        let span = visible.places.get(at).or(visible.places.last()).map(|&i| visible.tokens[i].span);
        if let Some((_, end, tokens)) = changes.next_if(|(first, ..)| *first <= at) {
            let span = span.unwrap_or(sqlparser::tokenizer::Span::empty());
            out.extend(tokens.into_iter().map(|token| TokenWithSpan { token, span }));
            at = end.max(at);
            continue;
        }
        let Some(&i) = visible.places.get(at) else { return out };
        out.push(visible.tokens[i].clone());
        at += 1;
    }
}
