//! `string_agg` and `array_agg` as aggregates that collect what a group has, where what orders them are words: numbers in whose order the
//! keys' values are. Texts are collected as they are, and what has a word itself as that; other elements of lists as lists of
//! one. All else are window functions over the groups (see [`string_agg`](super::string_agg)).

use functions::{AggregateFunction, ScalarFunction};
use plan::{AggregateCall, Expr, ExprKind, SortKey};
use types::ops::array::has_words;
use types::{SqlType, Value};

use super::string_agg::Joined;
use crate::bind::Binder;

/// Words that keys may take, so that with what is collected an entry is one of few words.
const MOST_WORDS: usize = 4;

impl Binder<'_> {
    /// The aggregate of a call whose texts or elements come in the order of these keys, then in their own, if there is one.
    pub(super) fn as_collected(&self, joined: &Joined, keys: &[SortKey]) -> Option<AggregateCall> {
        let Joined { call, value, .. } = joined;
        let words = Words { binder: self, words: Vec::new() };
        let element = value.sql_type;
        let is_list = call.sql_type.is_array() && joined.is_list;
        let (function, mut arguments, words) = match is_list && has_words(element) && can_be_repeated(value) {
            true => {
                // What is ordered by itself needs no key for it.
                let own = keys.iter().position(|k| k.expr.same(value) && !k.descending && !k.nulls_first);
                let words = words.of(&keys[..own.unwrap_or(keys.len())])?;
                (AggregateFunction::collecting(true, false), self.words_of(value, false)?.into(), words)
            }
            // Texts come in the order of their bytes.
            false if self.has_collations() => return None,
            false => {
                let [text, separator] = call.arguments.as_slice() else { return None };
                let is_fixed = separator.columns().is_empty() && can_be_repeated(separator);
                let nothing = Expr::constant(Value::str(""), SqlType::Text);
                let separator = Expr::new(ExprKind::Coalesce(vec![separator.clone(), nothing]), SqlType::Text);
                let nulls_in_place =
                    |key: &SortKey| !is_list || key.nulls_first == key.descending || !self.plan.is_nullable(value);
                let own = keys.iter().position(|k| (k.expr.same(value) || k.expr.same(text)) && nulls_in_place(k));
                let backwards = own.is_some_and(|at| keys[at].descending);
                let words = words.of(&keys[..own.unwrap_or(keys.len())]).filter(|_| is_fixed)?;
                let function = AggregateFunction::collecting(false, backwards);
                (function, vec![text.clone(), separator], words)
            }
        };
        arguments.extend(words);
        let (filter, sql_type) = (call.filter.clone(), call.sql_type);
        Some(AggregateCall { function, arguments, distinct: call.distinct, filter, sql_type, position: call.position })
    }

    /// Whether texts of the statement may come in another order than that of their bytes.
    pub(super) fn has_collations(&self) -> bool {
        self.plan.says_collate || !self.plan.collations.is_empty()
    }

    /// Whether a value is NULL, as 0 or a number beyond it, and its word; none if it has none.
    fn words_of(&self, value: &Expr, nulls_first: bool) -> Option<[Expr; 2]> {
        if !has_words(value.sql_type) || !can_be_repeated(value) {
            return None;
        }
        let word = match value.sql_type {
            SqlType::BigInt => value.clone(),
            _ => Expr::new(ExprKind::Call(ScalarFunction::SORT_WORD, vec![value.clone()]), SqlType::BigInt),
        };
        if !self.plan.is_nullable(value) {
            return Some([number(0), word]);
        }
        let is_null = Expr::new(ExprKind::IsNull(Box::new(value.clone())), SqlType::Bool);
        let branches = vec![(is_null, number(if nulls_first { -1 } else { 1 }))];
        let flag = Expr::new(ExprKind::Case { branches, otherwise: Box::new(number(0)) }, SqlType::BigInt);
        let word = Expr::new(ExprKind::Coalesce(vec![word, number(0)]), SqlType::BigInt);
        Some([flag, word])
    }
}

/// The words of keys, which are never NULL.
struct Words<'b, 'a> {
    binder: &'b Binder<'a>,
    words: Vec<Expr>,
}

impl Words<'_, '_> {
    /// Those of all keys; none if one has none, or there are too many.
    fn of(mut self, keys: &[SortKey]) -> Option<Vec<Expr>> {
        for key in keys {
            let [flag, mut word] = self.binder.words_of(&key.expr, key.nulls_first)?;
            if key.descending {
                let turned = vec![word, number(-1)];
                word = Expr::new(ExprKind::Call(ScalarFunction::BIT_XOR, turned), SqlType::BigInt);
            }
            self.words.extend(Some(flag).filter(|flag| !matches!(flag.kind, ExprKind::Const(_))));
            self.words.push(word);
        }
        (self.words.len() <= MOST_WORDS).then_some(self.words)
    }
}

fn can_be_repeated(expr: &Expr) -> bool {
    !expr.is_volatile() && !expr.has_subquery()
}

fn number(value: i64) -> Expr {
    Expr::constant(Value::Int(value), SqlType::BigInt)
}
