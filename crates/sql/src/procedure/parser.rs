//! From tokens to the tree. Expressions and statements of SQL are what stands between the words of the language, outside of
//! parentheses and CASE.

use std::borrow::Cow;

use base::Result;

use super::lexer::{Kind, Token, tokens, wrong};
use super::tree::{Action, Block, Into, Sql, Step, Target};

/// Deepest nesting of blocks, loops and branches.
const MAX_NESTING: usize = 200;

/// Parses a body: one block, which a semicolon may end. Positions of errors are bytes of the body.
pub fn parse_body(body: &str) -> Result<Block> {
    let blank = without_options(body);
    let mut parser = Parser::new(body, tokens(&blank)?);
    let label = parser.label()?;
    let block = parser.block(label)?;
    parser.eat(";");
    match parser.kind() {
        Kind::End => Ok(block),
        _ => Err(parser.unexpected("")),
    }
}

/// The lines before the first block that say how the body is meant: `#variable_conflict use_column`.
fn options(body: &str) -> impl Iterator<Item = &str> {
    body.split_inclusive('\n').take_while(|line| line.trim_start().starts_with('#') || line.trim().is_empty())
}

/// The body with blanks in their place.
fn without_options(body: &str) -> Cow<'_, str> {
    let length: usize = options(body).map(str::len).sum();
    match body[..length].contains('#') {
        true => Cow::Owned(" ".repeat(length) + &body[length..]),
        false => Cow::Borrowed(body),
    }
}

/// What `#variable_conflict` says of names that are both columns and variables.
pub fn variable_conflict(body: &str) -> Option<&str> {
    options(body).find_map(|line| line.trim().strip_prefix("#variable_conflict")).map(str::trim)
}

/// What is left of a body.
pub(super) struct Parser<'a> {
    pub body: &'a str,
    pub tokens: Vec<Token>,
    pub at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub fn new(body: &'a str, tokens: Vec<Token>) -> Self {
        Self { body, tokens, at: 0, depth: 0 }
    }

    pub fn kind(&self) -> &Kind {
        &self.tokens[self.at].kind
    }

    fn ahead(&self, by: usize) -> &Kind {
        &self.tokens[(self.at + by).min(self.tokens.len() - 1)].kind
    }

    pub fn next(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    /// The line of the token ahead.
    pub fn line(&self) -> u32 {
        let before = &self.body.as_bytes()[..self.tokens[self.at].range.start];
        before.iter().filter(|&&b| b == b'\n').count() as u32 + 1
    }

    pub fn is(&self, wanted: &str) -> bool {
        match self.kind() {
            Kind::Word(word) => word == wanted,
            Kind::Sign(sign) => *sign == wanted,
            _ => false,
        }
    }

    pub fn is_ahead(&self, by: usize, wanted: &str) -> bool {
        matches!(self.ahead(by), Kind::Word(word) if word == wanted)
            || matches!(self.ahead(by), Kind::Sign(sign) if *sign == wanted)
    }

    pub fn eat(&mut self, wanted: &str) -> bool {
        let found = self.is(wanted);
        if found {
            self.next();
        }
        found
    }

    pub fn expect(&mut self, wanted: &str) -> Result<()> {
        if self.eat(wanted) { Ok(()) } else { Err(self.unexpected(&format!("expected \"{}\"", wanted.to_uppercase()))) }
    }

    /// 42601 at the token ahead, with a hint.
    #[cold]
    pub fn unexpected(&self, hint: &str) -> base::Error {
        let token = &self.tokens[self.at];
        let error = match token.kind {
            Kind::End => wrong("syntax error at end of input", token.range.start),
            _ => wrong(format!("syntax error at or near \"{}\"", &self.body[token.range.clone()]), token.range.start),
        };
        if hint.is_empty() { error } else { error.hint(hint) }
    }

    /// A name.
    pub fn name(&mut self) -> Result<String> {
        let name = match self.kind() {
            Kind::Word(name) | Kind::Quoted(name) => name.clone(),
            _ => return Err(self.unexpected("expected a name")),
        };
        self.next();
        Ok(name)
    }

    /// A number without a point.
    pub fn whole_number(&mut self) -> Result<usize> {
        let number = match self.kind() {
            Kind::Number => self.body[self.tokens[self.at].range.clone()].parse().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| self.unexpected("expected a whole number"))?;
        self.next();
        Ok(number)
    }

    /// A name of one or more parts.
    pub fn names(&mut self) -> Result<Vec<String>> {
        let mut parts = vec![if *self.kind() == Kind::Parameter { self.parameter() } else { self.name()? }];
        while self.is(".") {
            self.next();
            parts.push(self.name()?);
        }
        Ok(parts)
    }

    fn parameter(&mut self) -> String {
        let name = self.body[self.tokens[self.at].range.clone()].to_owned();
        self.next();
        name
    }

    /// `<<label>>`
    fn label(&mut self) -> Result<Option<String>> {
        if !self.eat("<<") {
            return Ok(None);
        }
        let label = self.name()?;
        self.expect(">>")?;
        Ok(Some(label))
    }

    /// The text up to one of these words or signs outside of parentheses, which stays ahead.
    pub fn sql_until(&mut self, ends: &[&str]) -> Result<Sql> {
        let (line, begin) = (self.line(), self.at);
        let (mut depth, mut cases) = (0usize, 0usize);
        loop {
            let outside = depth == 0 && cases == 0;
            match self.kind() {
                Kind::End => return Err(self.unexpected(&format!("missing \"{}\"", ends[0].to_uppercase()))),
                _ if outside && self.at > begin && ends.iter().any(|end| self.is(end)) => break,
                _ if outside && ends.iter().any(|end| self.is(end)) => {
                    return Err(self.unexpected("missing expression"));
                }
                Kind::Sign(";") if depth == 0 => {
                    return Err(self.unexpected(&format!("missing \"{}\"", ends[0].to_uppercase())));
                }
                Kind::Sign("(" | "[") => depth += 1,
                Kind::Sign(")" | "]") => {
                    depth = depth.checked_sub(1).ok_or_else(|| self.unexpected("mismatched parentheses"))?;
                }
                Kind::Word(word) if word == "case" => cases += 1,
                Kind::Word(word) if word == "end" && cases > 0 => cases -= 1,
                _ => {}
            }
            self.next();
        }
        Ok(self.text_of(begin, self.at, line))
    }

    /// The text of tokens.
    pub fn text_of(&self, begin: usize, end: usize, line: u32) -> Sql {
        let range = self.tokens[begin].range.start..self.tokens[end - 1].range.end;
        Sql { text: self.body[range].to_owned(), line }
    }

    /// Expressions with commas between them, up to a sign or word.
    pub fn list_until(&mut self, ends: &[&str]) -> Result<Vec<Sql>> {
        let with_comma: Vec<&str> = ends.iter().copied().chain([","]).collect();
        let mut list = vec![self.sql_until(&with_comma)?];
        while self.eat(",") {
            list.push(self.sql_until(&with_comma)?);
        }
        Ok(list)
    }

    /// Steps up to one of these words.
    pub fn steps(&mut self, ends: &[&str]) -> Result<Vec<Step>> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(crate::parse::too_deep().at(u32::try_from(self.tokens[self.at].range.start).ok()));
        }
        let mut steps = Vec::new();
        while !ends.iter().any(|end| self.is(end)) {
            let line = self.line();
            let action = self.step()?;
            steps.push(Step { line, action });
        }
        self.depth -= 1;
        Ok(steps)
    }

    fn step(&mut self) -> Result<Action> {
        let label = self.label()?;
        let word = match self.kind() {
            Kind::Word(word) => word.clone(),
            Kind::Quoted(_) | Kind::Parameter => String::new(),
            _ => return Err(self.unexpected("")),
        };
        // A variable may have the name of a word.
        if self.is_assignment() {
            return self.assignment();
        }
        let action = match word.as_str() {
            "declare" | "begin" => {
                let block = self.block(label)?;
                self.expect(";")?;
                return Ok(Action::Block(Box::new(block)));
            }
            "loop" | "while" => self.plain_loop(label)?,
            "for" | "foreach" => self.for_loop(label)?,
            _ if label.is_some() => return Err(self.unexpected("a label stands before a block or a loop")),
            "if" => self.branches()?,
            "case" => self.cases()?,
            _ => return self.simple(&word),
        };
        self.expect(";")?;
        Ok(action)
    }

    /// Whether the tokens ahead are `name :=`, `name.field =` or `name[...] :=`.
    fn is_assignment(&self) -> bool {
        let mut by = 1;
        while self.is_ahead(by, ".") {
            by += 2;
        }
        if self.is_ahead(by, "[") {
            let mut depth = 0usize;
            loop {
                match self.ahead(by) {
                    Kind::Sign("[") => depth += 1,
                    Kind::Sign("]") => depth -= 1,
                    Kind::End | Kind::Sign(";") => return false,
                    _ => {}
                }
                by += 1;
                if depth == 0 {
                    break;
                }
            }
        }
        self.is_ahead(by, ":=") || self.is_ahead(by, "=")
    }

    fn assignment(&mut self) -> Result<Action> {
        let name = self.names()?;
        let (mut subscript, mut end) = (None, None);
        if self.eat("[") {
            subscript = Some(self.sql_until(&["]", ":"])?);
            if self.eat(":") {
                end = Some(self.sql_until(&["]"])?);
            }
            self.expect("]")?;
        }
        self.next();
        let value = self.sql_until(&[";"])?;
        self.next();
        Ok(match (subscript, end) {
            (Some(first), Some(last)) => {
                Action::Assign(Target { name: name.clone(), subscript: None }, sliced(&name, [first, last, value]))
            }
            (subscript, _) => Action::Assign(Target { name, subscript }, value),
        })
    }

    /// Where a value goes.
    pub fn target(&mut self) -> Result<Target> {
        let name = self.names()?;
        let mut subscript = None;
        if self.eat("[") {
            subscript = Some(self.sql_until(&["]"])?);
            self.expect("]")?;
        }
        Ok(Target { name, subscript })
    }

    /// `[STRICT] target, ...` behind INTO.
    pub fn into(&mut self) -> Result<Into> {
        let strict = self.eat("strict");
        let mut targets = vec![self.target()?];
        while self.eat(",") {
            targets.push(self.target()?);
        }
        Ok(Into { strict, targets })
    }
}

/// The array with other elements between two numbers, for `name[first:last] := value`.
fn sliced(name: &[String], [first, last, value]: [Sql; 3]) -> Sql {
    let names: Vec<String> = name.iter().map(|part| format!("\"{}\"", part.replace('"', "\"\""))).collect();
    let array = names.join(".");
    let text = format!("array_set_slice(coalesce({array}, '{{}}'), {}, {}, {})", first.text, last.text, value.text);
    Sql { text, line: value.line }
}
