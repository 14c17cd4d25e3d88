//! Blocks and their handlers.

use base::Result;

use super::conditions::state_of;
use super::lexer::{Kind, wrong};
use super::parser::Parser;
use super::tree::{Block, Condition, Handler};

impl Parser<'_> {
    /// A block behind its label.
    pub(super) fn block(&mut self, label: Option<String>) -> Result<Block> {
        let mut block = Block { label, ..Block::default() };
        if self.eat("declare") {
            block.declarations = self.declarations()?;
        }
        self.expect("begin")?;
        block.body = self.steps(&["end", "exception"])?;
        if self.eat("exception") {
            block.is_guarded = true;
            while self.eat("when") {
                block.handlers.push(self.handler()?);
            }
        }
        self.expect("end")?;
        self.closing_label(block.label.as_deref())?;
        Ok(block)
    }

    pub(super) fn handler(&mut self) -> Result<Handler> {
        let mut conditions = vec![self.condition()?];
        while self.eat("or") {
            conditions.push(self.condition()?);
        }
        self.expect("then")?;
        Ok(Handler { conditions, body: self.steps(&["when", "end"])? })
    }

    /// The name of a condition, or `SQLSTATE 'xxxxx'`.
    pub(super) fn condition(&mut self) -> Result<Condition> {
        if self.eat("sqlstate") {
            let Kind::Text(state) = self.kind().clone() else { return Err(self.unexpected("expected an SQLSTATE")) };
            let is_state = state.len() == 5 && state.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
            if !is_state {
                return Err(wrong("invalid SQLSTATE code", self.tokens[self.at].range.start));
            }
            self.next();
            return Ok(Condition::State(state, None));
        }
        let at = self.tokens[self.at].range.start;
        let name = self.name()?;
        if name == "others" {
            return Ok(Condition::Others);
        }
        match state_of(&name) {
            Some(state) => Ok(Condition::State(state.to_owned(), Some(name))),
            None => {
                let message = format!("unrecognized exception condition \"{name}\"");
                Err(base::Error::new(base::SqlState::UNDEFINED_OBJECT, message).at(u32::try_from(at).ok()))
            }
        }
    }

    /// The label behind an END is that of the beginning.
    pub(super) fn closing_label(&mut self, label: Option<&str>) -> Result<()> {
        if !matches!(self.kind(), Kind::Word(_) | Kind::Quoted(_)) {
            return Ok(());
        }
        let at = self.tokens[self.at].range.start;
        let end = self.name()?;
        match label {
            Some(label) if label == end => Ok(()),
            Some(label) => Err(wrong(format!("end label \"{end}\" differs from block's label \"{label}\""), at)),
            None => Err(wrong(format!("end label \"{end}\" specified for unlabeled block"), at)),
        }
    }
}
