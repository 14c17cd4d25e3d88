//! CREATE RULE and DROP RULE: what is done instead of a change of rows, or also. Its condition and actions stay texts.

use base::{Error, Result, SqlState};
use catalog::Event;
use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::window::as_word;
use crate::position::Positions;

/// One of them.
#[derive(Debug)]
pub(crate) enum RuleAst {
    Create(Box<CreateRuleAst>),
    Drop { name: Ident, table: ObjectName, if_exists: bool },
}

/// CREATE RULE.
#[derive(Debug)]
pub(crate) struct CreateRuleAst {
    pub name: Ident,
    pub table: ObjectName,
    /// None: SELECT.
    pub event: Option<Event>,
    pub condition: Option<String>,
    pub is_instead: bool,
    pub actions: Vec<String>,
    pub or_replace: bool,
}

/// The tokens that are left to read, without white space, and the text that they are of.
struct Reader<'a> {
    tokens: Vec<&'a TokenWithSpan>,
    at: usize,
    text: &'a str,
    positions: &'a Positions,
}

/// The statement, if it is one of these.
pub(super) fn rule(tokens: &[TokenWithSpan], text: &str, positions: &Positions) -> Result<Option<RuleAst>> {
    let is_rule = |t: &TokenWithSpan| as_word(&t.token).is_some_and(|word| word.value.eq_ignore_ascii_case("rule"));
    if !tokens.iter().any(is_rule) {
        return Ok(None);
    }
    let visible = tokens.iter().filter(|t| !matches!(t.token, Token::Whitespace(_) | Token::EOF));
    let mut reader = Reader { tokens: visible.collect(), at: 0, text, positions };
    if reader.word("create") {
        let or_replace = reader.word("or") && reader.word("replace");
        if reader.word("rule") {
            return reader.create(or_replace).map(|rule| Some(RuleAst::Create(Box::new(rule))));
        }
    } else if reader.word("drop") && reader.word("rule") {
        let if_exists = reader.word("if") && reader.word("exists");
        let name = reader.ident()?;
        reader.expect("on")?;
        let table = reader.name()?;
        let _ = reader.word("cascade") || reader.word("restrict");
        reader.end()?;
        return Ok(Some(RuleAst::Drop { name, table, if_exists }));
    }
    Ok(None)
}

impl Reader<'_> {
    fn is(&self, at: usize, wanted: &str) -> bool {
        let token = self.tokens.get(at).map(|t| &t.token);
        token.and_then(as_word).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted))
    }

    fn word(&mut self, wanted: &str) -> bool {
        let found = self.is(self.at, wanted);
        self.at += usize::from(found);
        found
    }

    #[cold]
    fn wrong(&self, expected: &str) -> Error {
        let found = self.tokens.get(self.at);
        let near = found.map_or_else(|| "end of input".to_owned(), |token| format!("\"{}\"", token.token));
        let position = found.map_or(Some(self.positions.end()), |token| self.positions.start(token.span));
        let message = format!("syntax error at or near {near}");
        Error::new(SqlState::SYNTAX_ERROR, message).detail(format!("expected {expected}")).at(position)
    }

    fn expect(&mut self, wanted: &str) -> Result<()> {
        if self.word(wanted) { Ok(()) } else { Err(self.wrong(&wanted.to_uppercase())) }
    }

    fn end(&self) -> Result<()> {
        match self.tokens.get(self.at).map(|t| &t.token) {
            None | Some(Token::SemiColon) => Ok(()),
            Some(_) => Err(self.wrong("end of statement")),
        }
    }

    fn ident(&mut self) -> Result<Ident> {
        match self.tokens.get(self.at) {
            Some(TokenWithSpan { token: Token::Word(word), span }) => {
                self.at += 1;
                Ok(Ident { value: word.value.clone(), quote_style: word.quote_style, span: *span })
            }
            _ => Err(self.wrong("a name")),
        }
    }

    fn name(&mut self) -> Result<ObjectName> {
        let mut parts = vec![ObjectNamePart::Identifier(self.ident()?)];
        while self.tokens.get(self.at).is_some_and(|t| t.token == Token::Period) {
            self.at += 1;
            parts.push(ObjectNamePart::Identifier(self.ident()?));
        }
        Ok(ObjectName(parts))
    }

    /// What the tokens of a range are written as.
    fn slice(&self, first: usize, end: usize) -> String {
        let base = self.positions.begin();
        let start = self.tokens.get(first).and_then(|t| self.positions.offset(t.span.start));
        let last = self.tokens[..end].last().and_then(|t| self.positions.offset(t.span.end));
        match (start, last) {
            (Some(start), Some(last)) if first < end => {
                self.text[(start - base) as usize..(last - base) as usize].to_owned()
            }
            _ => String::new(),
        }
    }

    fn create(&mut self, or_replace: bool) -> Result<CreateRuleAst> {
        let name = self.ident()?;
        self.expect("as")?;
        self.expect("on")?;
        let event = match () {
            () if self.word("insert") => Some(Event::Insert),
            () if self.word("update") => Some(Event::Update),
            () if self.word("delete") => Some(Event::Delete),
            () if self.word("select") => None,
            () => return Err(self.wrong("SELECT, INSERT, UPDATE or DELETE")),
        };
        self.expect("to")?;
        let table = self.name()?;
        let mut condition = None;
        if self.word("where") {
            let first = self.at;
            let mut depth = 0usize;
            while self.at < self.tokens.len() && !(depth == 0 && self.is(self.at, "do")) {
                match self.tokens[self.at].token {
                    Token::LParen => depth += 1,
                    Token::RParen => depth = depth.saturating_sub(1),
                    _ => {}
                }
                self.at += 1;
            }
            condition = Some(self.slice(first, self.at));
        }
        self.expect("do")?;
        let is_instead = self.word("instead");
        let _ = !is_instead && self.word("also");
        let actions = self.actions()?;
        Ok(CreateRuleAst { name, table, event, condition, is_instead, actions, or_replace })
    }

    /// NOTHING, a statement, or several in parentheses.
    fn actions(&mut self) -> Result<Vec<String>> {
        if self.word("nothing") {
            return self.end().map(|()| Vec::new());
        }
        let several = self.tokens.get(self.at).is_some_and(|t| t.token == Token::LParen)
            && !self.is(self.at + 1, "select")
            && !self.is(self.at + 1, "with");
        self.at += usize::from(several);
        let (mut actions, mut first, mut depth) = (Vec::new(), self.at, 0usize);
        while let Some(token) = self.tokens.get(self.at) {
            match token.token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 0 => break,
                Token::RParen => depth -= 1,
                Token::SemiColon if depth == 0 => {
                    actions.push(self.slice(first, self.at));
                    first = self.at + 1;
                }
                _ => {}
            }
            self.at += 1;
        }
        actions.push(self.slice(first, self.at));
        if several {
            if self.tokens.get(self.at).is_none_or(|t| t.token != Token::RParen) {
                return Err(self.wrong(")"));
            }
            self.at += 1;
        }
        self.end()?;
        actions.retain(|action| !action.trim().is_empty());
        if actions.is_empty() { Err(self.wrong("a statement")) } else { Ok(actions) }
    }
}
