//! Options of a pattern: those of a function's flags, and those that the pattern begins with.

use base::{Error, Result, SqlState};

/// How a pattern is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Options {
    /// Upper and lower case match.
    pub fold: bool,
    /// `^` and `$` match at lines.
    pub lines_anchor: bool,
    /// `.` and negated brackets match no new line.
    pub lines_stop: bool,
    /// Blanks and comments do not count.
    pub expanded: bool,
    /// A text, not a pattern.
    pub literal: bool,
    /// Advanced, not extended: with escapes and constraints.
    pub advanced: bool,
    /// Of functions: all matches.
    pub global: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fold: false,
            lines_anchor: false,
            lines_stop: false,
            expanded: false,
            literal: false,
            advanced: true,
            global: false,
        }
    }
}

impl Options {
    /// The options of a function's flags.
    pub fn of(flags: &str) -> Result<Self> {
        let mut options = Self::default();
        for (at, flag) in flags.char_indices() {
            if flag == 'g' {
                options.global = true;
            } else if !options.set(flag)? {
                return Err(Error::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("invalid regular expression option: \"{}\"", &flags[at..at + flag.len_utf8()]),
                ));
            }
        }
        Ok(options)
    }

    /// Those of a function that does not take `g`.
    pub fn of_function(flags: &str, function: &str) -> Result<Self> {
        let options = Self::of(flags)?;
        if options.global {
            return Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("{function}() does not support the \"global\" option"),
            ));
        }
        Ok(options)
    }

    /// Sets one option; false if there is none of that letter.
    fn set(&mut self, flag: char) -> Result<bool> {
        match flag {
            'i' => self.fold = true,
            'c' => self.fold = false,
            'm' | 'n' => (self.lines_anchor, self.lines_stop) = (true, true),
            'p' => (self.lines_anchor, self.lines_stop) = (false, true),
            'w' => (self.lines_anchor, self.lines_stop) = (true, false),
            's' => (self.lines_anchor, self.lines_stop) = (false, false),
            'x' => self.expanded = true,
            't' => self.expanded = false,
            'q' => (self.literal, self.advanced) = (true, true),
            'e' => (self.literal, self.advanced) = (false, false),
            'b' => return Err(Error::unsupported("basic regular expressions")),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads what stands before the pattern: `***=`, `***:`, `(?xyz)`; the rest is the pattern.
    pub(super) fn directors<'p>(&mut self, pattern: &'p str) -> Result<&'p str> {
        if self.literal {
            return Ok(pattern);
        }
        let mut rest = pattern;
        if let Some(text) = rest.strip_prefix("***=") {
            self.literal = true;
            return Ok(text);
        } else if let Some(advanced) = rest.strip_prefix("***:") {
            self.advanced = true;
            rest = advanced;
        } else if rest.starts_with("***") {
            return Err(bad("quantifier operand invalid"));
        }
        let Some(letters) = rest.strip_prefix("(?").filter(|r| self.advanced && r.starts_with(char::is_alphabetic))
        else {
            return Ok(rest);
        };
        let Some((letters, rest)) = letters.split_once(')') else { return Err(bad("invalid embedded option")) };
        for letter in letters.chars() {
            if !self.set(letter)? {
                return Err(bad("invalid embedded option"));
            }
        }
        Ok(rest)
    }
}

/// 2201B.
#[cold]
pub(super) fn bad(what: &str) -> Error {
    Error::new(SqlState::INVALID_REGEX, format!("invalid regular expression: {what}"))
}
