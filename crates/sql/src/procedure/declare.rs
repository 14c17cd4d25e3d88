//! DECLARE.

use base::{Error, Result};

use super::lexer::{Kind, wrong};
use super::parser::Parser;
use super::tree::{Declaration, Shape};

impl Parser<'_> {
    /// Declarations up to BEGIN.
    pub fn declarations(&mut self) -> Result<Vec<Declaration>> {
        let mut all: Vec<Declaration> = Vec::new();
        while !self.is("begin") {
            // The word may stand again before each of them.
            if self.eat("declare") {
                continue;
            }
            let at = self.tokens[self.at].range.start;
            let declaration = self.declaration()?;
            if all.iter().any(|known| known.name == declaration.name) {
                return Err(wrong(format!("duplicate declaration at or near \"{}\"", declaration.name), at));
            }
            all.push(declaration);
        }
        Ok(all)
    }

    fn declaration(&mut self) -> Result<Declaration> {
        let (line, at) = (self.line(), self.tokens[self.at].range.start);
        let name = self.name()?;
        if self.eat("alias") {
            self.expect("for")?;
            let of = self.names()?.join(".");
            self.expect(";")?;
            let shape = Shape::Alias(of);
            return Ok(Declaration { name, shape, is_constant: false, not_null: false, default: None, line });
        }
        let is_constant = self.eat("constant");
        if let Some(cursor) = self.bound_cursor()? {
            self.expect(";")?;
            let shape = Shape::Cursor(Box::new(cursor));
            return Ok(Declaration { name, shape, is_constant, not_null: false, default: None, line });
        }
        let shape = self.shape()?;
        let mut not_null = false;
        if self.eat("not") {
            self.expect("null")?;
            not_null = true;
        }
        let mut default = None;
        if self.eat(":=") || self.eat("=") || self.eat("default") {
            default = Some(self.sql_until(&[";"])?);
        }
        self.expect(";")?;
        if not_null && default.is_none() {
            let message = format!("variable \"{name}\" must have a default value, since it's declared NOT NULL");
            return Err(Error::new(base::SqlState("22004"), message).at(u32::try_from(at).ok()));
        }
        Ok(Declaration { name, shape, is_constant, not_null, default, line })
    }

    fn shape(&mut self) -> Result<Shape> {
        const ENDS: [&str; 5] = ["not", ":=", "=", "default", ";"];
        let (begin, line) = (self.at, self.line());
        if matches!(self.kind(), Kind::Word(_) | Kind::Quoted(_)) {
            let name = self.names()?;
            if self.eat("%") {
                let what = self.name()?;
                return match what.as_str() {
                    "type" => Ok(Shape::Like(name)),
                    "rowtype" => Ok(Shape::RowOf(name)),
                    _ => Err(self.unexpected("expected %TYPE or %ROWTYPE")),
                };
            }
            if name == ["record"] {
                return Ok(Shape::Record);
            }
        }
        while !ENDS.iter().any(|end| self.is(end)) {
            if *self.kind() == Kind::End {
                return Err(self.unexpected("missing data type declaration"));
            }
            self.next();
        }
        if self.at == begin {
            return Err(self.unexpected("missing data type declaration"));
        }
        Ok(Shape::Type(self.text_of(begin, self.at, line).text))
    }
}
