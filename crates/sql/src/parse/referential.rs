//! `ON DELETE SET NULL (a, b)` and `SET DEFAULT (a)`, which the parser library knows without columns: these travel among the columns that
//! are referenced, with a mark that nobody can write.

use sqlparser::ast::Ident;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::window::as_word;

/// What the names of such columns begin with.
const MARK: &str = "#set ";

/// The tokens as the parser takes them. Their positions stay.
pub(super) fn carry(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let token = |place: usize| visible.get(place).map(|&i| &tokens[i].token);
    let is = |place: usize, wanted: &str| {
        token(place).and_then(as_word).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted))
    };
    if !is(0, "create") && !is(0, "alter") {
        return tokens;
    }
    // Where the columns are put, where they stand, and what they are.
    let mut moved = Vec::new();
    let mut references = None;
    for begin in 0..visible.len() {
        if is(begin, "references") {
            references = Some(begin);
        }
        let sets = is(begin, "on") && is(begin + 1, "delete") && is(begin + 2, "set");
        let is_list =
            sets && (is(begin + 3, "null") || is(begin + 3, "default")) && token(begin + 4) == Some(&Token::LParen);
        let Some(references) = references.filter(|_| is_list) else { continue };
        let Some(end) = (begin + 5..visible.len()).find(|&place| token(place) == Some(&Token::RParen)) else {
            continue;
        };
        let mut behind = references + 2;
        while token(behind) == Some(&Token::Period) {
            behind += 2;
        }
        let has_list = token(behind) == Some(&Token::LParen);
        let place = match has_list {
            true => (behind..begin).find(|&place| token(place) == Some(&Token::RParen)).unwrap_or(behind),
            false => behind,
        };
        // Names with commas between them; of anything else the parser says what is wrong.
        let is_comma = |place: usize| token(place) == Some(&Token::Comma);
        let commas = (begin + 6..end).step_by(2).all(is_comma) && (end - begin) % 2 == 0;
        let column = |place: usize| Some(marked(&tokens[visible[place]], as_column(token(place)?)?));
        let columns = (begin + 5..end).step_by(2).map(column).collect::<Option<Vec<_>>>();
        let Some(columns) = columns.filter(|_| commas) else { continue };
        moved.push((visible[place], has_list, (visible[begin + 4], visible[end]), columns));
    }
    for (place, has_list, (first, last), columns) in moved.into_iter().rev() {
        tokens.drain(first..=last);
        let span = tokens[place].span;
        let with = |token: Token| TokenWithSpan { token, span };
        let comma = || with(Token::Comma);
        let mut list: Vec<TokenWithSpan> = Vec::new();
        for column in columns {
            list.extend((has_list || !list.is_empty()).then(comma));
            list.push(column);
        }
        if !has_list {
            list.insert(0, with(Token::LParen));
            list.push(with(Token::RParen));
        }
        tokens.splice(place..place, list);
    }
    tokens
}

/// The name of a column, as it is folded.
fn as_column(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) if word.quote_style.is_some() => Some(word.value.clone()),
        Token::Word(word) => Some(word.value.to_lowercase()),
        _ => None,
    }
}

fn marked(token: &TokenWithSpan, column: String) -> TokenWithSpan {
    TokenWithSpan { token: Token::make_word(&format!("{MARK}{column}"), Some('"')), span: token.span }
}

/// The columns that are referenced, and those that are set.
pub(crate) fn parted(columns: &[Ident]) -> (Vec<Ident>, Vec<Ident>) {
    let set = |ident: &Ident| {
        let name = ident.value.strip_prefix(MARK)?;
        Some(Ident { value: name.to_owned(), quote_style: Some('"'), span: ident.span })
    };
    let referenced = columns.iter().filter(|ident| set(ident).is_none()).cloned().collect();
    (referenced, columns.iter().filter_map(set).collect())
}
