//! Short forms of DuckDB that the parser does not know, written as what it does: `a ** b`, `* LIKE 'x%'`, `name: expression` in
//! select lists, `LIMIT 50%`, `USING SAMPLE`, `FILTER (condition)`, and the standard's `JSON_OBJECT('a': 1)` and `ROWS FROM (...)`.

use sqlparser::ast::{Expr, Ident, ObjectNamePart};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

use super::samples::{PERCENT, carried, sampled, sampled_table};
use super::window::as_word;

/// What the patterns of names travel behind.
const NAMES: &str = "names ";
/// The name of ROWS FROM, in quotes that are none of SQL's.
const ROWS_FROM: &str = "rows from";
const QUOTE: char = '[';
/// What makes an object of keys and values one after the other.
const OBJECT: &str = "json_build_object";

/// The percentage that LIMIT says, if it says one.
pub(crate) fn percentage(expr: &Expr) -> Option<f64> {
    carried(expr)?.strip_suffix(PERCENT)?.parse().ok()
}

/// How a pattern behind `*` is written, in lower case: `like`, `not like`, ...
pub(crate) fn pattern_of_names(expr: &Expr) -> Option<&str> {
    carried(expr)?.strip_prefix(NAMES)
}

/// Whether a name is that of ROWS FROM.
pub(crate) fn is_rows_from(name: &sqlparser::ast::ObjectName) -> bool {
    let is = |ident: &Ident| ident.quote_style == Some(QUOTE) && ident.value == ROWS_FROM;
    matches!(name.0.as_slice(), [ObjectNamePart::Identifier(ident)] if is(ident))
}

/// The tokens as the parser takes them. Their positions stay.
pub(super) fn carry(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut words: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut tokens = tokens.into_iter().peekable();
    // Two signs that touch each other.
    while let Some(mut token) = tokens.next() {
        let doubled = match token.token {
            Token::Mul => Some(Token::Caret),
            Token::Div => Some(Token::DuckIntDiv),
            _ => None,
        };
        if let Some(doubled) = doubled
            && tokens.next_if(|next| next.token == token.token).is_some()
        {
            token.token = doubled;
        }
        words.push(token);
        join_signs(&mut words);
    }
    rewritten(words)
}

/// Makes one token of the last ones, if they are an operator of ranges that the parser knows as signs on their own.
fn join_signs(tokens: &mut Vec<TokenWithSpan>) {
    let (sign, count) = match tokens.as_slice() {
        [.., a, b] if a.token == Token::Ampersand && b.token == Token::Lt => ("&<", 2),
        [.., a, b] if a.token == Token::Ampersand && b.token == Token::Gt => ("&>", 2),
        [.., a, b, c] if a.token == Token::Minus && b.token == Token::Pipe && c.token == Token::Minus => ("-|-", 3),
        _ => return,
    };
    tokens.truncate(tokens.len() + 1 - count);
    if let Some(first) = tokens.last_mut() {
        first.token = Token::CustomBinaryOperator(sign.to_owned());
    }
}

/// What stands instead of tokens, by the numbers of the first and the one behind the last.
type Change = (usize, usize, Vec<TokenWithSpan>);

/// What is around a place.
enum Around {
    /// A select list, at the level of its items.
    List,
    /// The arguments of JSON_OBJECT, by the place of its name.
    Object(usize),
    Other,
}

fn rewritten(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let token = |at: usize| visible.get(at).map(|&i| &tokens[i].token);
    let is = |at: usize, wanted: &str| {
        token(at).and_then(as_word).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted))
    };
    let span = |at: usize| visible.get(at).map_or(Span::empty(), |&i| tokens[i].span);
    let mut changes: Vec<Change> = Vec::new();
    let made = |at: usize, tokens: Vec<Token>| -> Vec<TokenWithSpan> {
        tokens.into_iter().map(|token| TokenWithSpan { token, span: span(at) }).collect()
    };
    let placeholder = |text: String| Token::Placeholder(text);
    let mut around = vec![Around::Other];
    // The alias of the current item of each select list around.
    let mut alias: Vec<Option<TokenWithSpan>> = vec![None];
    // Whether QUALIFY has been there, at each level.
    let mut qualified = vec![false];
    let mut at = 0;
    while let Some(current) = token(at) {
        let begins_item = at > 0
            && (is(at - 1, "select")
                || is(at - 1, "distinct")
                || is(at - 1, "all")
                || token(at - 1) == Some(&Token::Comma));
        let in_list = matches!(around.last(), Some(Around::List));
        // IS DISTINCT FROM is an operator.
        let ends_list = |token: &Token| ends_list(token) && !(at > 0 && is(at, "from") && is(at - 1, "distinct"));
        let ends_item =
            in_list && (matches!(current, Token::Comma | Token::RParen | Token::SemiColon) || ends_list(current));
        if ends_item && let Some(name) = alias.last_mut().and_then(Option::take) {
            let word = Token::make_keyword("AS");
            changes.push((at, at, vec![TokenWithSpan { token: word, span: name.span }, name]));
        }
        match current {
            Token::LParen | Token::LBracket | Token::LBrace => {
                let is_object = *current == Token::LParen && at > 0 && is(at - 1, "json_object");
                let is_filter = *current == Token::LParen && at > 1 && is(at - 1, "filter") && !is(at + 1, "where");
                if is_filter && is_call(&token, at - 2) {
                    changes.push((at + 1, at + 1, made(at, vec![Token::make_keyword("WHERE")])));
                }
                around.push(if is_object { Around::Object(at - 1) } else { Around::Other });
                alias.push(None);
                qualified.push(false);
            }
            Token::RParen | Token::RBracket | Token::RBrace if around.len() > 1 => {
                around.pop();
                alias.pop();
                qualified.pop();
            }
            Token::Word(word) if word.quote_style.is_none() && word.keyword == Keyword::SELECT => {
                *around.last_mut().expect("never empty") = Around::List;
                *qualified.last_mut().expect("never empty") = false;
            }
            _ if in_list && ends_list(current) => *around.last_mut().expect("never empty") = Around::Other,
            Token::Colon | Token::Word(_)
                if (*current == Token::Colon || is(at, "value") && at > 0 && token(at - 1) != Some(&Token::Comma))
                    && let Some(Around::Object(name)) = around.last() =>
            {
                let name = *name;
                if !changes.iter().any(|(first, ..)| *first == name) {
                    let function = Word { value: OBJECT.to_owned(), quote_style: None, keyword: Keyword::NoKeyword };
                    changes.push((name, name + 1, made(name, vec![Token::Word(function)])));
                }
                changes.push((at, at + 1, made(at, vec![Token::Comma])));
            }
            Token::Word(_) if in_list && begins_item && token(at + 1) == Some(&Token::Colon) && !is(at, "lambda") => {
                *alias.last_mut().expect("never empty") = Some(tokens[visible[at]].clone());
                changes.push((at, at + 2, Vec::new()));
                at += 2;
                continue;
            }
            Token::Mul if in_list && begins_item => {
                let negated = is(at + 1, "not");
                let first = at + 1 + usize::from(negated);
                let (name, length) = match () {
                    () if is(first, "similar") && is(first + 1, "to") => ("similar to", 2),
                    () if is(first, "like") => ("like", 1),
                    () if is(first, "ilike") => ("ilike", 1),
                    () if is(first, "glob") => ("glob", 1),
                    () => ("", 0),
                };
                if let (true, Some(pattern @ Token::SingleQuotedString(_))) = (length > 0, token(first + length)) {
                    let how = format!("{NAMES}{}{name}", if negated { "not " } else { "" });
                    let columns = Word { value: "columns".to_owned(), quote_style: None, keyword: Keyword::NoKeyword };
                    let call = [
                        Token::Word(columns),
                        Token::LParen,
                        placeholder(how),
                        Token::Comma,
                        pattern.clone(),
                        Token::RParen,
                    ];
                    changes.push((at, first + length + 1, made(at, call.to_vec())));
                }
            }
            Token::Word(_) if is(at, "rows") && is(at + 1, "from") && token(at + 2) == Some(&Token::LParen) => {
                let name = Word { value: ROWS_FROM.to_owned(), quote_style: Some(QUOTE), keyword: Keyword::NoKeyword };
                changes.push((at, at + 2, made(at, vec![Token::Word(name)])));
            }
            Token::Word(_) if is(at, "limit") => {
                if let (Some(Token::Number(number, _)), Some(Token::Mod)) = (token(at + 1), token(at + 2)) {
                    let ends = !matches!(token(at + 3), Some(Token::Number(..) | Token::LParen));
                    if ends {
                        changes.push((at + 1, at + 3, made(at + 1, vec![placeholder(format!("{number}{PERCENT}"))])));
                    }
                }
            }
            Token::Word(word) if word.keyword == Keyword::QUALIFY && word.quote_style.is_none() => {
                *qualified.last_mut().expect("never empty") = true;
            }
            Token::Word(_) if is(at, "tablesample") => {
                if let Some((said, end)) = sampled_table(&token, &is, at + 1) {
                    changes.push((at + 1, end, made(at + 1, said)));
                }
            }
            Token::Word(_) if is(at, "using") && is(at + 1, "sample") => {
                if let Some((said, end)) = sampled(&token, &is, at + 2) {
                    let word = if qualified.last() == Some(&true) { "AND" } else { "QUALIFY" };
                    changes.push((at, end, made(at, vec![Token::make_keyword(word), placeholder(said)])));
                }
            }
            _ => {}
        }
        at += 1;
    }
    if changes.is_empty() && alias.iter().all(Option::is_none) {
        return tokens;
    }
    let last = alias.pop().flatten();
    applied(&tokens, &visible, changes, last)
}

/// Whether a bracket closes the arguments of a call, not a query or a list.
fn is_call<'t>(token: &impl Fn(usize) -> Option<&'t Token>, close: usize) -> bool {
    let mut depth = 0;
    for at in (0..=close).rev() {
        match token(at) {
            Some(Token::RParen) => depth += 1,
            Some(Token::LParen) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let name = at.checked_sub(1).and_then(token).and_then(as_word);
            return at < close
                && name.is_some_and(|word| {
                    !matches!(word.keyword, Keyword::FROM | Keyword::JOIN | Keyword::LATERAL | Keyword::AS)
                });
        }
    }
    false
}

/// The tokens with what stands instead of some of them, and an alias behind all.
fn applied(
    tokens: &[TokenWithSpan],
    visible: &[usize],
    mut changes: Vec<Change>,
    alias: Option<TokenWithSpan>,
) -> Vec<TokenWithSpan> {
    let token = |at: usize| visible.get(at).map(|&i| &tokens[i].token);
    changes.sort_by_key(|(first, ..)| *first);
    let mut out = Vec::with_capacity(tokens.len() + changes.len());
    let mut changes = changes.into_iter().peekable();
    let mut at = 0;
    while at < visible.len() || changes.peek().is_some() {
        let ends_text = token(at).is_none() || token(at) == Some(&Token::EOF);
        if let Some((_, end, tokens)) = changes.next_if(|(first, ..)| *first == at) {
            out.extend(tokens);
            at = end.max(at);
            continue;
        }
        if ends_text {
            break;
        }
        out.push(tokens[visible[at]].clone());
        at += 1;
    }
    if let Some(name) = alias {
        out.extend([TokenWithSpan { token: Token::make_keyword("AS"), span: name.span }, name]);
    }
    out.extend(visible.get(at..).unwrap_or_default().iter().map(|&i| tokens[i].clone()));
    out
}

/// Whether a word ends a select list.
fn ends_list(token: &Token) -> bool {
    const WORDS: [&str; 16] = [
        "from",
        "where",
        "group",
        "having",
        "window",
        "qualify",
        "order",
        "limit",
        "offset",
        "fetch",
        "union",
        "except",
        "intersect",
        "into",
        "for",
        "using",
    ];
    as_word(token).is_some_and(|word| WORDS.iter().any(|wanted| word.value.eq_ignore_ascii_case(wanted)))
}
