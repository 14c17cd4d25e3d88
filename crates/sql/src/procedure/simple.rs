//! Steps without steps inside: those of one line, and statements of SQL with their INTO.

use base::{Error, Result};

use super::lexer::{Kind, wrong};
use super::parser::Parser;
use super::tree::{Action, Into, Query, Sql};

impl Parser<'_> {
    /// A step that begins with that word.
    pub fn simple(&mut self, word: &str) -> Result<Action> {
        let (at, line) = (self.tokens[self.at].range.start, self.line());
        let action = match word {
            "null" => {
                self.next();
                Action::Nothing
            }
            "exit" | "continue" => {
                self.next();
                let goes_on = word == "continue";
                let mut label = None;
                if !self.is("when") && !self.is(";") {
                    label = Some(self.name()?);
                }
                let when = if self.eat("when") { Some(self.sql_until(&[";"])?) } else { None };
                Action::Leave { goes_on, label, when }
            }
            "return" => self.returned()?,
            "raise" => Action::Raise(self.raise()?),
            "perform" => {
                self.next();
                let query = self.sql_until(&[";"])?;
                Action::Perform(Sql { text: format!("SELECT {}", query.text), line })
            }
            "execute" => self.execute()?,
            "assert" => {
                self.next();
                let condition = self.sql_until(&[",", ";"])?;
                let message = if self.eat(",") { Some(self.sql_until(&[";"])?) } else { None };
                Action::Assert(condition, message)
            }
            "get" => self.diagnostics()?,
            "commit" | "rollback" => {
                self.next();
                if self.eat("and") {
                    if !self.eat("no") {
                        return Err(Error::unsupported("AND CHAIN").at(u32::try_from(at).ok()));
                    }
                    self.expect("chain")?;
                }
                Action::End { commits: word == "commit" }
            }
            "call" => self.call(line)?,
            "open" => self.open()?,
            "fetch" | "move" => self.fetch(word == "move")?,
            "close" => {
                self.next();
                Action::Close(self.target()?)
            }
            "elsif" | "else" | "end" | "exception" | "when" | "then" | "" => return Err(self.unexpected("")),
            _ => self.statement(line)?,
        };
        self.expect(";")?;
        Ok(action)
    }

    fn returned(&mut self) -> Result<Action> {
        self.next();
        if self.eat(";") {
            self.at -= 1;
            return Ok(Action::Return(None));
        }
        if self.eat("next") {
            let value = if self.is(";") { None } else { Some(self.sql_until(&[";"])?) };
            return Ok(Action::ReturnNext(value));
        }
        if self.eat("query") {
            let query = match self.eat("execute") {
                true => self.made_query(&[";"])?,
                false => Query::Written(self.sql_until(&[";"])?),
            };
            return Ok(Action::ReturnQuery(query));
        }
        Ok(Action::Return(Some(self.sql_until(&[";"])?)))
    }

    /// EXECUTE, whose INTO and USING stand in any order.
    fn execute(&mut self) -> Result<Action> {
        self.next();
        let text = self.sql_until(&["into", "using", ";"])?;
        let (mut into, mut using) = (None, Vec::new());
        loop {
            if into.is_none() && self.eat("into") {
                into = Some(self.into()?);
            } else if using.is_empty() && self.eat("using") {
                using = self.list_until(&["into", ";"])?;
            } else {
                return Ok(Action::Execute(text, into, using));
            }
        }
    }

    fn diagnostics(&mut self) -> Result<Action> {
        self.next();
        let is_stacked = self.eat("stacked");
        if !is_stacked {
            self.eat("current");
        }
        self.expect("diagnostics")?;
        let mut items = Vec::new();
        loop {
            let target = self.target()?;
            if !self.eat("=") {
                self.expect(":=")?;
            }
            let at = self.tokens[self.at].range.start;
            let item = self.name()?;
            const STACKED: [&str; 10] = [
                "constraint_name",
                "table_name",
                "schema_name",
                "column_name",
                "pg_datatype_name",
                "returned_sqlstate",
                "message_text",
                "pg_exception_detail",
                "pg_exception_hint",
                "pg_exception_context",
            ];
            const CURRENT: [&str; 2] = ["row_count", "pg_context"];
            let known = if is_stacked { STACKED.contains(&item.as_str()) } else { CURRENT.contains(&item.as_str()) };
            if !known {
                let message = format!("diagnostics item {} is not allowed here", item.to_uppercase());
                return Err(wrong(message, at));
            }
            items.push((target, item));
            if !self.eat(",") {
                return Ok(Action::Diagnostics(is_stacked, items));
            }
        }
    }

    /// CALL, whose arguments are variables where the procedure gives values back.
    fn call(&mut self, line: u32) -> Result<Action> {
        let begin = self.at;
        self.next();
        self.names()?;
        let mut arguments = Vec::new();
        self.expect("(")?;
        if !self.is(")") {
            arguments = self.list_until(&[")"])?;
        }
        self.expect(")")?;
        Ok(Action::Call(self.text_of(begin, self.at, line), arguments))
    }

    /// A statement of SQL; INTO is the language's, unless it is that of INSERT or MERGE.
    fn statement(&mut self, line: u32) -> Result<Action> {
        let begin = self.at;
        let (mut depth, mut into, mut before) = (0usize, None::<Into>, String::new());
        let mut cut = None;
        while !(depth == 0 && self.is(";")) {
            match self.kind() {
                Kind::End => return Err(self.unexpected("missing \";\"")),
                Kind::Sign("(") => depth += 1,
                Kind::Sign(")") => depth = depth.saturating_sub(1),
                Kind::Word(word) if word == "into" && depth == 0 && before != "insert" && before != "merge" => {
                    if into.is_some() {
                        return Err(wrong("INTO specified more than once", self.tokens[self.at].range.start));
                    }
                    let from = self.tokens[self.at].range.start;
                    self.next();
                    into = Some(self.into()?);
                    cut = Some((from, self.tokens[self.at].range.start));
                    before.clear();
                    continue;
                }
                _ => {}
            }
            before = if let Kind::Word(word) = self.kind() { word.clone() } else { String::new() };
            self.next();
        }
        let start = self.tokens[begin].range.start;
        let mut text = self.body[start..self.tokens[self.at - 1].range.end].to_owned();
        if let Some((from, to)) = cut {
            let (from, to) = (from - start, (to - start).min(text.len()));
            text.replace_range(from..to, " ");
        }
        Ok(Action::Sql(Sql { text: text.trim_end().to_owned(), line }, into))
    }
}
