//! Texts and lists of groups: the rows of a group in the order of the numbers that they come with.

use std::cmp::Ordering;

use base::{Error, Result};
use types::ops::array;
use types::{SqlType, Value};

use super::Input;

/// The rows in the order of those columns, the first one first, then as `then` says.
fn ordered(input: Input<'_>, columns: &[Vec<Value>], then: impl Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..input.values.len()).collect();
    let by_columns = |a: usize, b: usize| {
        let each = columns.iter().map(|column| column[a].total_cmp(&column[b]));
        each.fold(Ordering::Equal, Ordering::then)
    };
    rows.sort_by(|&a, &b| by_columns(a, b).then_with(|| then(a, b)));
    rows
}

/// Texts one behind the other.
pub(super) fn texts(input: Input<'_>, backwards: bool) -> Result<Value> {
    let [separators, keys @ ..] = input.others else { return Err(Error::internal("texts without a separator")) };
    let mut out = String::new();
    let rows = ordered(input, keys, |a, b| text_order(input, a, b, backwards));
    for (at, row) in rows.into_iter().enumerate() {
        let (Value::Str(text), Value::Str(separator)) = (&input.values[row], &separators[row]) else {
            return Err(Error::internal("a text that is none"));
        };
        out.push_str(if at == 0 { "" } else { separator });
        out.push_str(text);
    }
    Ok(Value::str(out))
}

/// The first texts, one behind the other.
pub(super) fn first_texts(input: Input<'_>, backwards: bool) -> Result<Value> {
    let [most, keys @ ..] = input.others else { return Err(Error::internal("texts of an unknown number")) };
    let Some(Value::Int(most)) = most.first() else { return Err(Error::internal("texts of an unknown number")) };
    let rows = ordered(input, keys, |a, b| text_order(input, a, b, backwards));
    let mut out = String::new();
    for row in rows.into_iter().take(usize::try_from(*most).unwrap_or(0)) {
        let Value::Str(text) = &input.values[row] else { return Err(Error::internal("a text that is none")) };
        out.push_str(text);
    }
    Ok(Value::str(out))
}

fn text_order(input: Input<'_>, a: usize, b: usize, backwards: bool) -> Ordering {
    let order = input.values[a].total_cmp(&input.values[b]);
    if backwards { order.reverse() } else { order }
}

/// The first elements of a list of words.
pub(super) fn first_of_list(input: Input<'_>) -> Result<Value> {
    let [most, others @ ..] = input.others else { return Err(Error::internal("a list of unknown length")) };
    match most.first() {
        Some(Value::Int(most)) => of_words(Input { others, ..input }, usize::try_from(*most).unwrap_or(0)),
        _ => Err(Error::internal("a list of unknown length")),
    }
}

/// A list of words.
pub(super) fn list(input: Input<'_>) -> Result<Value> {
    of_words(input, usize::MAX)
}

fn of_words(input: Input<'_>, most: usize) -> Result<Value> {
    let [words, keys @ ..] = input.others else { return Err(Error::internal("a list without words")) };
    let element = input.result.element().unwrap_or(SqlType::Null);
    let stride = array::stride(element).ok_or_else(|| Error::internal("a list of what has no words"))?;
    let by_word =
        |a: usize, b: usize| input.values[a].total_cmp(&input.values[b]).then_with(|| words[a].total_cmp(&words[b]));
    let mut rows = ordered(input, keys, by_word);
    rows.truncate(most);
    let mut out = vec![0; stride * rows.len()];
    for (to, row) in out.chunks_exact_mut(stride).zip(rows) {
        let word = match (&input.values[row], &words[row]) {
            (Value::Int(0), Value::Int(word)) => Some(*word),
            _ => None,
        };
        array::write_word(to, word, element.physical());
    }
    array::finish(out)
}
