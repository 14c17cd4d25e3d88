//! USING SAMPLE, which travels in QUALIFY, and TABLESAMPLE in DuckDB's forms.

use sqlparser::ast::{Expr, Value};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

/// What a percentage of LIMIT travels behind.
pub(super) const PERCENT: &str = " percent";
/// What a sample travels as, in front of what it says.
const SAMPLE: &str = "sample ";
/// What the seed of a sample travels behind.
const SEED: &str = " seed ";
/// How samples are taken.
const METHODS: [&str; 3] = ["reservoir", "bernoulli", "system"];

/// What a placeholder of ours carries.
pub(super) fn carried(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Placeholder(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// What USING SAMPLE says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Sample {
    /// How many rows, or which percentage.
    pub quantity: f64,
    pub is_percent: bool,
    /// What makes it the same each time.
    pub seed: Option<f64>,
}

/// See [`Sample`].
pub(crate) fn sample(expr: &Expr) -> Option<Sample> {
    let said = carried(expr)?.strip_prefix(SAMPLE)?;
    let (said, seed) = match said.split_once(SEED) {
        Some((said, seed)) => (said, Some(seed.parse().ok()?)),
        None => (said, None),
    };
    let (quantity, is_percent) = said.strip_suffix(PERCENT).map_or((said, false), |percent| (percent, true));
    Some(Sample { quantity: quantity.parse().ok()?, is_percent, seed })
}

/// What stands behind USING SAMPLE, and where it ends: a number of rows or a percentage, with a method and a seed, both in one of two
/// places.
pub(super) fn sampled<'t>(
    token: &impl Fn(usize) -> Option<&'t Token>,
    is: &impl Fn(usize, &str) -> bool,
    begin: usize,
) -> Option<(String, usize)> {
    let mut at = begin;
    let number = |at: usize| if let Some(Token::Number(number, _)) = token(at) { Some(number) } else { None };
    let named = METHODS.iter().any(|name| is(at, name));
    let enclosed = named && token(at + 1) == Some(&Token::LParen);
    at += if enclosed { 2 } else { 0 };
    let quantity = number(at)?;
    at += 1;
    let is_percent = token(at) == Some(&Token::Mod) || is(at, "percent");
    if is_percent || is(at, "rows") {
        at += 1;
    }
    let mut seed = None;
    if enclosed {
        (token(at) == Some(&Token::RParen)).then_some(())?;
        at += 1;
    } else if token(at) == Some(&Token::LParen) {
        // The method, which makes no difference, and a seed.
        METHODS.iter().any(|name| is(at + 1, name)).then_some(())?;
        at += 2;
        if token(at) == Some(&Token::Comma) {
            seed = Some(number(at + 1)?);
            at += 2;
        }
        (token(at) == Some(&Token::RParen)).then_some(())?;
        at += 1;
    }
    if (is(at, "repeatable") || is(at, "seed")) && token(at + 1) == Some(&Token::LParen) {
        seed = Some(number(at + 2)?);
        (token(at + 3) == Some(&Token::RParen)).then_some(())?;
        at += 4;
    }
    let seed = seed.map_or_else(String::new, |seed| format!("{SEED}{seed}"));
    Some((format!("{SAMPLE}{quantity}{}{seed}", if is_percent { PERCENT } else { "" }), at))
}

/// What stands behind TABLESAMPLE in DuckDB's forms as the parser knows it, in so many tokens; none if it knows it already.
pub(super) fn sampled_table<'t>(
    token: &impl Fn(usize) -> Option<&'t Token>,
    is: &impl Fn(usize, &str) -> bool,
    begin: usize,
) -> Option<(Vec<Token>, usize)> {
    let named = METHODS.iter().find(|name| is(begin, name));
    let enclosed = token(begin + usize::from(named.is_some())) == Some(&Token::LParen);
    let at = begin + usize::from(named.is_some()) + usize::from(enclosed);
    let quantity = token(at).filter(|token| matches!(token, Token::Number(..)))?;
    let is_percent = token(at + 1) == Some(&Token::Mod) || is(at + 1, "percent");
    let says_unit = is_percent || is(at + 1, "rows");
    let end = at + 1 + usize::from(says_unit) + usize::from(enclosed);
    if enclosed && token(end - 1) != Some(&Token::RParen) {
        return None;
    }
    let is_reservoir = named.is_some_and(|name| *name == "reservoir");
    // Of BERNOULLI and SYSTEM, a number is a percentage.
    let rows = is(at + 1, "rows") || !is_percent && (is_reservoir || named.is_none());
    let unit = if rows { Keyword::ROWS } else { Keyword::PERCENT };
    let method = named.filter(|_| !is_reservoir).map(|name| Token::make_word(name, None));
    let word = Token::make_word(&format!("{unit:?}"), None);
    let rest = [Token::LParen, quantity.clone(), word, Token::RParen];
    Some((method.into_iter().chain(rest).collect(), end))
}
