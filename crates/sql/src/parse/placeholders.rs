//! Placeholders have numbers: `?` in their order, and names, `$name`, in the order in which these come first.

use base::{Error, Result, SqlState};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::dialect::MorselDialect;
use crate::position::Positions;

/// What stands for parameters.
#[derive(Clone, Default, Debug)]
pub(crate) struct Placeholders {
    /// The highest number.
    pub count: usize,
    /// What those are called that have names: all of them or none.
    pub names: Vec<String>,
}

/// The names of the parameters of a text that parses, in the order of their numbers.
///
/// ```
/// assert_eq!(sql::parameter_names("select $b + $a + $b"), ["b", "a"]);
/// assert!(sql::parameter_names("select $1").is_empty());
/// ```
pub fn parameter_names(text: &str) -> Vec<String> {
    let mut tokens = Tokenizer::new(&MorselDialect, text).tokenize_with_location().unwrap_or_default();
    number(&mut tokens, &Positions::new(text, 0)).map(|placeholders| placeholders.names).unwrap_or_default()
}

/// Numbers them all.
pub(super) fn number(tokens: &mut [TokenWithSpan], positions: &Positions) -> Result<Placeholders> {
    let mut found = Placeholders::default();
    let mut marks = 0;
    let mut numbered = false;
    for token in tokens {
        let Token::Placeholder(name) = &mut token.token else { continue };
        let number = match name.strip_prefix('$') {
            None if name == "?" => {
                marks += 1;
                *name = format!("${marks}");
                Some(marks)
            }
            None => continue,
            Some(number) => number.parse().ok(),
        };
        match number {
            Some(number) => {
                numbered = true;
                found.count = found.count.max(number);
            }
            None => {
                let called = name[1..].to_lowercase();
                let at = found.names.iter().position(|known| *known == called).unwrap_or_else(|| {
                    found.names.push(called);
                    found.names.len() - 1
                });
                *name = format!("${}", at + 1);
                found.count = found.names.len();
            }
        }
        if numbered && !found.names.is_empty() {
            let message = "parameters with names and others without cannot be mixed";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(positions.start(token.span)));
        }
    }
    Ok(found)
}
