//! RAISE.

use base::Result;

use super::lexer::{Kind, wrong};
use super::parser::Parser;
use super::tree::{Condition, Level, Raise};

/// What USING may say.
const OPTIONS: [&str; 9] =
    ["message", "detail", "hint", "errcode", "column", "constraint", "datatype", "table", "schema"];

impl Parser<'_> {
    /// RAISE up to its semicolon.
    pub fn raise(&mut self) -> Result<Raise> {
        self.next();
        let mut raise = Raise {
            level: Level::Exception,
            condition: None,
            format: None,
            arguments: Vec::new(),
            options: Vec::new(),
            again: false,
        };
        if self.is(";") {
            raise.again = true;
            return Ok(raise);
        }
        let levels = [
            ("debug", Level::Debug),
            ("log", Level::Log),
            ("info", Level::Info),
            ("notice", Level::Notice),
            ("warning", Level::Warning),
            ("exception", Level::Exception),
        ];
        if let Some((_, level)) = levels.into_iter().find(|(word, _)| self.eat(word)) {
            raise.level = level;
        }
        let at = self.tokens[self.at].range.start;
        match self.kind().clone() {
            Kind::Text(format) => {
                self.next();
                while self.eat(",") {
                    raise.arguments.push(self.sql_until(&[",", "using", ";"])?);
                }
                check_arguments(&format, raise.arguments.len(), at)?;
                raise.format = Some(format);
            }
            Kind::Word(word) if word == "using" => {}
            Kind::Sign(";") => return Err(self.unexpected("expected a message")),
            _ => match self.condition()? {
                Condition::Others => return Err(wrong("OTHERS cannot be raised", at)),
                condition => raise.condition = Some(condition),
            },
        }
        if self.eat("using") {
            loop {
                let at = self.tokens[self.at].range.start;
                let option = self.name()?;
                if !OPTIONS.contains(&option.as_str()) {
                    return Err(wrong(format!("unrecognized RAISE statement option \"{option}\""), at));
                }
                if !self.eat("=") {
                    self.expect(":=")?;
                }
                if raise.options.iter().any(|(known, _)| *known == option) {
                    return Err(wrong(format!("RAISE option already specified: {}", option.to_uppercase()), at));
                }
                raise.options.push((option, self.sql_until(&[",", ";"])?));
                if !self.eat(",") {
                    break;
                }
            }
        }
        Ok(raise)
    }
}

/// A `%` for each argument; `%%` is one for itself.
fn check_arguments(format: &str, arguments: usize, at: usize) -> Result<()> {
    let places = format.replace("%%", "").matches('%').count();
    match places.cmp(&arguments) {
        std::cmp::Ordering::Less => Err(wrong("too many parameters specified for RAISE", at)),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(wrong("too few parameters specified for RAISE", at)),
    }
}
