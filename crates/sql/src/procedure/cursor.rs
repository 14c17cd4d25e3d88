//! Cursors: their declarations, OPEN, FETCH, MOVE, CLOSE, and what FOR goes through.

use base::Result;

use super::lexer::{Kind, tokens};
use super::parser::Parser;
use super::tree::{Action, Argument, BoundCursor, Motion, Opening, Query, Sql};

/// The cursor that the text of a query names, and what it is given, if it looks like one.
pub fn cursor_call(text: &str) -> Option<(String, Vec<Argument>)> {
    let mut parser = Parser::new(text, tokens(text).ok()?);
    let name = parser.name().ok()?;
    let arguments = parser.arguments().ok()?;
    (*parser.kind() == Kind::End).then_some((name, arguments))
}

impl Parser<'_> {
    /// `[[NO] SCROLL] CURSOR [(name type, ...)] {FOR | IS} query` behind a name, if it is that.
    pub(super) fn bound_cursor(&mut self) -> Result<Option<BoundCursor>> {
        let is_one = self.is("cursor")
            || self.is("scroll") && self.is_ahead(1, "cursor")
            || self.is("no") && self.is_ahead(1, "scroll");
        if !is_one {
            return Ok(None);
        }
        let scrolls = self.scrolls()?;
        self.expect("cursor")?;
        let mut parameters = Vec::new();
        if self.eat("(") {
            loop {
                let name = self.name()?;
                parameters.push((name, self.sql_until(&[",", ")"])?.text));
                if !self.eat(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        if !self.eat("is") {
            self.expect("for")?;
        }
        let query = self.sql_until(&[";"])?;
        Ok(Some(BoundCursor { scrolls, parameters, query }))
    }

    /// `[NO] SCROLL`
    fn scrolls(&mut self) -> Result<Option<bool>> {
        let no = self.eat("no");
        if no {
            self.expect("scroll")?;
            return Ok(Some(false));
        }
        Ok(self.eat("scroll").then_some(true))
    }

    /// What a cursor is given, in parentheses, if it is given anything.
    fn arguments(&mut self) -> Result<Vec<Argument>> {
        let mut arguments = Vec::new();
        if !self.eat("(") {
            return Ok(arguments);
        }
        loop {
            let is_named = self.is_ahead(1, ":=") || self.is_ahead(1, "=") && self.is_ahead(2, ">");
            let mut name = None;
            if is_named {
                name = Some(self.name()?);
                if !self.eat(":=") {
                    self.next();
                    self.next();
                }
            }
            arguments.push(Argument { name, value: self.sql_until(&[",", ")"])? });
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(arguments)
    }

    /// OPEN.
    pub(super) fn open(&mut self) -> Result<Action> {
        self.next();
        let cursor = self.target()?;
        let scrolls = self.scrolls()?;
        if !self.eat("for") {
            return Ok(Action::Open(cursor, Opening::Bound(self.arguments()?)));
        }
        let query = match self.eat("execute") {
            true => self.made_query(&[";"])?,
            false => Query::Written(self.sql_until(&[";"])?),
        };
        Ok(Action::Open(cursor, Opening::Query(scrolls, query)))
    }

    /// FETCH, or MOVE.
    pub(super) fn fetch(&mut self, moves: bool) -> Result<Action> {
        self.next();
        let motion = self.motion(moves)?;
        if !self.eat("from") {
            self.eat("in");
        }
        let cursor = self.target()?;
        let into = match moves {
            true => None,
            false => {
                self.expect("into")?;
                Some(self.into()?)
            }
        };
        Ok(Action::Fetch(cursor, motion, into))
    }

    /// Where FETCH or MOVE goes; FETCH goes to one row.
    fn motion(&mut self, moves: bool) -> Result<Motion> {
        let (line, begin) = (self.line(), self.at);
        let number = |text: &str| Sql { text: text.to_owned(), line };
        // A cursor may have the name of a word.
        let is_name = self.is_ahead(1, "into") || self.is_ahead(1, ";");
        let word = match self.kind() {
            Kind::Word(word) if !is_name => word.clone(),
            Kind::Number | Kind::Sign(_) if moves => return Ok(Motion::Forward(self.sql_until(&["from", "in"])?)),
            _ => return Ok(Motion::Forward(number("1"))),
        };
        self.next();
        let is_alone = self.is("from") || self.is("in") || self.is_ahead(1, "into") || self.is_ahead(1, ";");
        Ok(match word.as_str() {
            "next" => Motion::Forward(number("1")),
            "prior" => Motion::Backward(number("1")),
            "first" => Motion::Absolute(number("1")),
            "last" => Motion::Absolute(number("-1")),
            "absolute" => Motion::Absolute(self.sql_until(&["from", "in"])?),
            "relative" => Motion::Relative(self.sql_until(&["from", "in"])?),
            "all" if moves => Motion::All { backward: false },
            "forward" | "backward" if moves && self.eat("all") => Motion::All { backward: word == "backward" },
            "forward" if !moves || is_alone => Motion::Forward(number("1")),
            "backward" if !moves || is_alone => Motion::Backward(number("1")),
            "forward" => Motion::Forward(self.sql_until(&["from", "in"])?),
            "backward" => Motion::Backward(self.sql_until(&["from", "in"])?),
            _ => {
                self.at = begin;
                Motion::Forward(number("1"))
            }
        })
    }
}
