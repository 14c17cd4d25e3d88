//! What CREATE TABLE (LIKE t ...) copies of a table besides its columns: the parser knows one option of these.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What is copied.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct LikeForm {
    pub defaults: bool,
    /// CHECK.
    pub constraints: bool,
    pub generated: bool,
    pub identity: bool,
    /// The primary key, UNIQUE, and indexes.
    pub indexes: bool,
}

impl LikeForm {
    /// Switches what an option names; false if there is no such option.
    fn switch(&mut self, option: &str, on: bool) -> bool {
        match option {
            "defaults" => self.defaults = on,
            "constraints" => self.constraints = on,
            "generated" => self.generated = on,
            "identity" => self.identity = on,
            "indexes" => self.indexes = on,
            // There is nothing of the kind.
            "comments" | "compression" | "statistics" | "storage" => {}
            "all" => *self = Self { defaults: on, constraints: on, generated: on, identity: on, indexes: on },
            _ => return false,
        }
        true
    }
}

/// The tokens without the options, and what these say.
pub(super) fn form(mut tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, LikeForm) {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let token = |at: usize| visible.get(at).map(|&i| &tokens[i].token);
    let word = |at: usize| match token(at) {
        Some(Token::Word(word)) if word.quote_style.is_none() => word.value.to_ascii_lowercase(),
        _ => String::new(),
    };
    let mut form = LikeForm::default();
    let open = (0..visible.len()).find(|&at| token(at) == Some(&Token::LParen));
    let Some(open) = open.filter(|open| word(0) == "create" && word(open + 1) == "like") else {
        return (tokens, form);
    };
    let mut last = open + 2;
    while token(last + 1) == Some(&Token::Period) {
        last += 2;
    }
    let (begin, mut end) = (last + 1, last + 1);
    while token(end).is_some_and(|token| *token != Token::RParen) {
        let on = word(end) == "including";
        if !on && word(end) != "excluding" || !form.switch(&word(end + 1), on) {
            return (tokens, LikeForm::default());
        }
        end += 2;
    }
    if begin < end && end < visible.len() {
        tokens.drain(visible[begin]..visible[end]);
    }
    (tokens, form)
}
