//! Loops and branches.

use base::Result;

use super::parser::Parser;
use super::tree::{Action, Query, Range, Step};

impl Parser<'_> {
    pub(super) fn plain_loop(&mut self, label: Option<String>) -> Result<Action> {
        let condition = if self.eat("while") { Some(self.sql_until(&["loop"])?) } else { None };
        let body = self.loop_body(label.as_deref())?;
        Ok(Action::Loop(label, condition, body))
    }

    pub(super) fn loop_body(&mut self, label: Option<&str>) -> Result<Vec<Step>> {
        self.expect("loop")?;
        let body = self.steps(&["end"])?;
        self.expect("end")?;
        self.expect("loop")?;
        self.closing_label(label)?;
        Ok(body)
    }

    pub(super) fn for_loop(&mut self, label: Option<String>) -> Result<Action> {
        let of_array = self.is("foreach");
        self.next();
        let mut targets = vec![self.target()?];
        while self.eat(",") {
            targets.push(self.target()?);
        }
        let slice = if of_array && self.eat("slice") { self.whole_number()? } else { 0 };
        self.expect("in")?;
        let range = if of_array {
            self.expect("array")?;
            Range::Elements(self.sql_until(&["loop"])?, slice)
        } else {
            self.range()?
        };
        let body = self.loop_body(label.as_deref())?;
        Ok(Action::For(label, targets, range, body))
    }

    pub(super) fn range(&mut self) -> Result<Range> {
        if self.eat("execute") {
            return Ok(Range::Rows(self.made_query(&["loop"])?));
        }
        let reverse = self.eat("reverse");
        let first = self.sql_until(&["..", "loop"])?;
        if !self.eat("..") {
            return Ok(Range::Rows(Query::Written(first)));
        }
        let to = self.sql_until(&["by", "loop"])?;
        let step = if self.eat("by") { Some(self.sql_until(&["loop"])?) } else { None };
        Ok(Range::Integers { reverse, from: first, to, step })
    }

    /// `text [USING ...]` behind EXECUTE.
    pub(super) fn made_query(&mut self, ends: &[&str]) -> Result<Query> {
        let text: Vec<&str> = ends.iter().copied().chain(["using"]).collect();
        let text = self.sql_until(&text)?;
        let using = if self.eat("using") { self.list_until(ends)? } else { Vec::new() };
        Ok(Query::Made(text, using))
    }

    pub(super) fn branches(&mut self) -> Result<Action> {
        let (mut branches, mut otherwise) = (Vec::new(), Vec::new());
        self.next();
        loop {
            let condition = self.sql_until(&["then"])?;
            self.next();
            branches.push((condition, self.steps(&["elsif", "elseif", "else", "end"])?));
            if !self.eat("elsif") && !self.eat("elseif") {
                break;
            }
        }
        if self.eat("else") {
            otherwise = self.steps(&["end"])?;
        }
        self.expect("end")?;
        self.expect("if")?;
        Ok(Action::If(branches, otherwise))
    }

    pub(super) fn cases(&mut self) -> Result<Action> {
        self.next();
        let operand = if self.is("when") { None } else { Some(self.sql_until(&["when"])?) };
        let mut branches = Vec::new();
        while self.eat("when") {
            let values = self.list_until(&["then"])?;
            self.next();
            branches.push((values, self.steps(&["when", "else", "end"])?));
        }
        if branches.is_empty() {
            return Err(self.unexpected("expected \"WHEN\""));
        }
        let otherwise = if self.eat("else") { Some(self.steps(&["end"])?) } else { None };
        self.expect("end")?;
        self.expect("case")?;
        Ok(Action::Case(operand, branches, otherwise))
    }
}
