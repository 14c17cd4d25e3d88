//! Reads a path, by precedence: `||`, `&&`, comparisons, `+ -`, `* / %`, signs, accessors.

use base::{Error, Result, SqlState};

use super::{Arithmetic, Comparison, Method, Node, Path, Sign};
use crate::ops::json::tree::Tree;
use crate::ops::regex::Options;

/// How deep expressions nest.
const MAX_DEPTH: usize = 200;
/// How many steps and operators a path has: each stands above the one before.
const MAX_STEPS: usize = 500;

#[derive(Clone, PartialEq, Debug)]
enum Token {
    Word(String),
    Quoted(String),
    Number(String),
    Variable(String),
    Sign(&'static str),
    End,
}

/// Longer ones first.
const SIGNS: [&str; 28] = [
    "**", "&&", "||", "==", "!=", "<>", "<=", ">=", "<", ">", "=", "!", "$", "@", ".", "[", "]", "(", ")", "{", "}",
    "?", ",", "*", "+", "-", "/", "%",
];

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    token: Token,
    depth: usize,
    steps: usize,
    /// How many filters and subscripts are around.
    filters: usize,
    subscripts: usize,
}

pub fn parse(text: &str) -> Result<Path> {
    let mut parser = Parser { text, rest: text, token: Token::End, depth: 0, steps: 0, filters: 0, subscripts: 0 };
    parser.next()?;
    if parser.token == Token::End {
        return Err(Error::new(SqlState::INVALID_TEXT, format!("invalid input syntax for type jsonpath: \"{text}\"")));
    }
    let strict = match &parser.token {
        Token::Word(word) if word == "strict" || word == "lax" => {
            let strict = word == "strict";
            parser.next()?;
            strict
        }
        _ => false,
    };
    let root = parser.or()?;
    if parser.token != Token::End {
        return parser.wrong();
    }
    Ok(Path { strict, root })
}

fn is_of_word(c: char) -> bool {
    !c.is_whitespace() && !"?%$.[]{}()|&!=<>@#,*:-+/\\\"".contains(c)
}

impl Parser<'_> {
    #[cold]
    fn wrong<T>(&self) -> Result<T> {
        let what = match &self.token {
            Token::End => "at end of jsonpath input".to_owned(),
            Token::Word(text) | Token::Quoted(text) | Token::Number(text) => {
                format!("at or near \"{text}\" of jsonpath input")
            }
            Token::Variable(text) => format!("at or near \"${text}\" of jsonpath input"),
            Token::Sign(sign) => format!("at or near \"{sign}\" of jsonpath input"),
        };
        Err(Error::new(SqlState::SYNTAX_ERROR, format!("syntax error {what}")))
    }

    fn next(&mut self) -> Result<()> {
        loop {
            self.rest = self.rest.trim_start();
            match self.rest.strip_prefix("/*") {
                Some(comment) => match comment.split_once("*/") {
                    Some((_, behind)) => self.rest = behind,
                    None => {
                        return Err(Error::new(
                            SqlState::SYNTAX_ERROR,
                            "unexpected end of comment at end of jsonpath input",
                        ));
                    }
                },
                None => break,
            }
        }
        let Some(first) = self.rest.chars().next() else {
            self.token = Token::End;
            return Ok(());
        };
        if first == '"' {
            self.token = Token::Quoted(self.quoted()?);
            return Ok(());
        }
        if first.is_ascii_digit() || first == '.' && self.rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
            return self.number();
        }
        if let Some(behind) = self.rest.strip_prefix('$') {
            if behind.starts_with('"') {
                self.rest = behind;
                self.token = Token::Variable(self.quoted()?);
                return Ok(());
            }
            if behind.starts_with(is_of_word) {
                let end = behind.find(|c| !is_of_word(c)).unwrap_or(behind.len());
                self.token = Token::Variable(behind[..end].to_owned());
                self.rest = &behind[end..];
                return Ok(());
            }
        }
        if let Some(sign) = SIGNS.iter().find(|sign| self.rest.starts_with(**sign)) {
            self.rest = &self.rest[sign.len()..];
            self.token = Token::Sign(sign);
            return Ok(());
        }
        let end = self.rest.find(|c| !is_of_word(c)).unwrap_or(self.rest.len());
        if end == 0 {
            self.token = Token::Word(first.to_string());
            return self.wrong();
        }
        self.token = Token::Word(self.rest[..end].to_owned());
        self.rest = &self.rest[end..];
        Ok(())
    }

    fn number(&mut self) -> Result<()> {
        let bytes = self.rest.as_bytes();
        let digits = |from: usize| bytes[from.min(bytes.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
        let mut end = digits(0);
        if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
            let exponent = digits(end + 1 + sign);
            end += if exponent > 0 { 1 + sign + exponent } else { 0 };
        }
        self.token = Token::Number(self.rest[..end].to_owned());
        self.rest = &self.rest[end..];
        if self.rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "trailing junk after numeric literal at or near jsonpath input",
            ));
        }
        Ok(())
    }

    /// What is between marks, with JSON's escapes.
    fn quoted(&mut self) -> Result<String> {
        let bytes = self.rest.as_bytes();
        let mut end = 1;
        while bytes.get(end).is_some_and(|b| *b != b'"') {
            end += 1 + usize::from(bytes[end] == b'\\');
        }
        if end >= bytes.len() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "unterminated quoted string at end of jsonpath input"));
        }
        let text = super::super::text::unescaped(&self.rest[1..end])?.into_owned();
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.token, Token::Sign(found) if found == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Word(found) if found == word)
    }

    fn take(&mut self, sign: &str) -> Result<bool> {
        let found = self.is(sign);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.take(sign)? { Ok(()) } else { self.wrong() }
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if !self.is_word(word) {
            return self.wrong();
        }
        self.next()
    }

    /// Something that nests in itself.
    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("the jsonpath of {} bytes nests more than {MAX_DEPTH} deep", self.text.len());
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message));
        }
        let made = parse(self);
        self.depth -= 1;
        made
    }

    /// One more step or operator.
    fn step(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            let message = format!("the jsonpath has more than {MAX_STEPS} steps and operators");
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message));
        }
        Ok(())
    }

    fn predicate(&self, node: Node) -> Result<Box<Node>> {
        if node.is_predicate() { Ok(Box::new(node)) } else { self.wrong() }
    }

    fn value(&self, node: Node) -> Result<Box<Node>> {
        if node.is_predicate() { self.wrong() } else { Ok(Box::new(node)) }
    }

    fn or(&mut self) -> Result<Node> {
        let mut left = self.and()?;
        while self.take("||")? {
            self.step()?;
            let right = self.and()?;
            left = Node::Or(self.predicate(left)?, self.predicate(right)?);
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Node> {
        let mut left = self.comparison()?;
        while self.take("&&")? {
            self.step()?;
            let right = self.comparison()?;
            left = Node::And(self.predicate(left)?, self.predicate(right)?);
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Node> {
        let left = self.sum()?;
        let op = match self.token {
            Token::Sign("==" | "=") => Comparison::Equal,
            Token::Sign("!=" | "<>") => Comparison::NotEqual,
            Token::Sign("<") => Comparison::Less,
            Token::Sign("<=") => Comparison::LessOrEqual,
            Token::Sign(">") => Comparison::Greater,
            Token::Sign(">=") => Comparison::GreaterOrEqual,
            Token::Word(_) => return self.word_behind(left),
            _ => return Ok(left),
        };
        self.next()?;
        let right = self.sum()?;
        Ok(Node::Compare(op, self.value(left)?, self.value(right)?))
    }

    /// `starts with`, or `like_regex`.
    fn word_behind(&mut self, left: Node) -> Result<Node> {
        if self.is_word("starts") {
            self.next()?;
            self.expect_word("with")?;
            let right = match self.token.clone() {
                Token::Quoted(text) => Node::Literal(Tree::String(text.into())),
                Token::Variable(name) => Node::Variable(name),
                _ => return self.wrong(),
            };
            self.next()?;
            return Ok(Node::StartsWith(self.value(left)?, Box::new(right)));
        }
        if self.is_word("like_regex") {
            self.next()?;
            let Token::Quoted(pattern) = self.token.clone() else { return self.wrong() };
            self.next()?;
            let mut flags = String::new();
            if self.is_word("flag") {
                self.next()?;
                let Token::Quoted(written) = self.token.clone() else { return self.wrong() };
                self.next()?;
                flags = written;
            }
            let (pattern, flags) = regular_expression(pattern, &flags)?;
            return Ok(Node::LikeRegex(self.value(left)?, pattern, flags));
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Node> {
        let mut left = self.product()?;
        loop {
            let op = match self.token {
                Token::Sign("+") => Arithmetic::Add,
                Token::Sign("-") => Arithmetic::Subtract,
                _ => return Ok(left),
            };
            self.next()?;
            self.step()?;
            let right = self.product()?;
            left = Node::Arithmetic(op, self.value(left)?, self.value(right)?);
        }
    }

    fn product(&mut self) -> Result<Node> {
        let mut left = self.signed()?;
        loop {
            let op = match self.token {
                Token::Sign("*") => Arithmetic::Multiply,
                Token::Sign("/") => Arithmetic::Divide,
                Token::Sign("%") => Arithmetic::Modulo,
                _ => return Ok(left),
            };
            self.next()?;
            self.step()?;
            let right = self.signed()?;
            left = Node::Arithmetic(op, self.value(left)?, self.value(right)?);
        }
    }

    fn signed(&mut self) -> Result<Node> {
        for (sign, is) in [("+", Sign::Plus), ("-", Sign::Minus)] {
            if self.take(sign)? {
                let operand = self.deeper(Self::signed)?;
                return Ok(Node::Sign(is, self.value(operand)?));
            }
        }
        if self.take("!")? {
            // Of what is in parentheses, and of `exists`.
            if !self.is("(") && !self.is_word("exists") {
                return self.wrong();
            }
            let operand = self.deeper(Self::signed)?;
            return Ok(Node::Not(self.predicate(operand)?));
        }
        let primary = self.deeper(Self::primary)?;
        self.accessors(primary)
    }

    fn primary(&mut self) -> Result<Node> {
        let token = self.token.clone();
        let node = match token {
            Token::Sign("$") => Node::Root,
            Token::Sign("@") if self.filters > 0 => Node::Current,
            Token::Sign("@") => return Err(Error::new(SqlState::SYNTAX_ERROR, "@ is not allowed in root expressions")),
            Token::Variable(name) => Node::Variable(name),
            Token::Quoted(text) => Node::Literal(Tree::String(text.into())),
            Token::Number(text) => {
                let mut printed = String::new();
                super::super::number::write(&mut printed, &text)?;
                Node::Literal(Tree::Number(printed.into()))
            }
            Token::Word(word) => match word.as_str() {
                "true" => Node::Literal(Tree::Bool(true)),
                "false" => Node::Literal(Tree::Bool(false)),
                "null" => Node::Literal(Tree::Null),
                "last" if self.subscripts > 0 => Node::Last,
                "last" => return Err(Error::new(SqlState::SYNTAX_ERROR, "LAST is allowed only in array subscripts")),
                "exists" => {
                    self.next()?;
                    self.expect("(")?;
                    let inside = self.or()?;
                    self.expect(")")?;
                    return Ok(Node::Exists(self.value(inside)?));
                }
                _ => return self.wrong(),
            },
            Token::Sign("(") => {
                self.next()?;
                let inside = self.or()?;
                self.expect(")")?;
                if inside.is_predicate() && self.is_word("is") {
                    self.next()?;
                    self.expect_word("unknown")?;
                    return Ok(Node::IsUnknown(Box::new(inside)));
                }
                return Ok(inside);
            }
            _ => return self.wrong(),
        };
        self.next()?;
        Ok(node)
    }

    fn accessors(&mut self, mut of: Node) -> Result<Node> {
        loop {
            self.step()?;
            if self.take(".")? {
                of = self.member(of)?;
            } else if self.take("[")? {
                of = self.subscript(of)?;
            } else if self.take("?")? {
                self.expect("(")?;
                self.filters += 1;
                let condition = self.deeper(Self::or)?;
                self.filters -= 1;
                let condition = self.predicate(condition)?;
                self.expect(")")?;
                of = Node::Filter(Box::new(of), condition);
            } else {
                return Ok(of);
            }
        }
    }

    /// Behind a point.
    fn member(&mut self, of: Node) -> Result<Node> {
        let of = Box::new(of);
        let key = match self.token.clone() {
            Token::Sign("*") => {
                self.next()?;
                return Ok(Node::AnyMember(of));
            }
            Token::Sign("**") => {
                self.next()?;
                let (first, last) = self.levels()?;
                return Ok(Node::Descend(of, first, last));
            }
            Token::Quoted(key) => {
                self.next()?;
                return Ok(Node::Member(of, key));
            }
            Token::Word(word) => word,
            _ => return self.wrong(),
        };
        self.next()?;
        if !self.is("(") {
            return Ok(Node::Member(of, key));
        }
        let method = match key.as_str() {
            "type" => Method::Type,
            "size" => Method::Size,
            "abs" => Method::Abs,
            "floor" => Method::Floor,
            "ceiling" => Method::Ceiling,
            "double" => Method::Double,
            "keyvalue" => Method::KeyValue,
            "datetime" => return Err(Error::unsupported("datetime() in a jsonpath")),
            _ => return self.wrong(),
        };
        self.next()?;
        self.expect(")")?;
        Ok(Node::Method(of, method))
    }

    /// The depths of `**`.
    fn levels(&mut self) -> Result<(Option<u32>, Option<u32>)> {
        if !self.take("{")? {
            return Ok((Some(0), None));
        }
        let first = self.level()?;
        let last = if self.is_word("to") {
            self.next()?;
            self.level()?
        } else {
            first
        };
        self.expect("}")?;
        Ok((first, last))
    }

    fn level(&mut self) -> Result<Option<u32>> {
        let level = match &self.token {
            Token::Number(number) => match number.parse() {
                Ok(level) => Some(level),
                Err(_) => return self.wrong(),
            },
            Token::Word(word) if word == "last" => None,
            _ => return self.wrong(),
        };
        self.next()?;
        Ok(level)
    }

    fn subscript(&mut self, of: Node) -> Result<Node> {
        if self.take("*")? {
            self.expect("]")?;
            return Ok(Node::AnyItem(Box::new(of)));
        }
        self.subscripts += 1;
        let mut places = Vec::new();
        loop {
            let from = self.deeper(Self::sum)?;
            let from = *self.value(from)?;
            let to = if self.is_word("to") {
                self.next()?;
                let to = self.deeper(Self::sum)?;
                Some(*self.value(to)?)
            } else {
                None
            };
            places.push((from, to));
            if !self.take(",")? {
                break;
            }
        }
        self.subscripts -= 1;
        self.expect("]")?;
        Ok(Node::Items(Box::new(of), places))
    }
}

/// The pattern and the options of a regular expression with XQuery's flags.
fn regular_expression(pattern: String, flags: &str) -> Result<(String, String)> {
    if let Some(flag) = flags.chars().find(|flag| !"ismxq".contains(*flag)) {
        let message = format!("unrecognized flag character \"{flag}\" in LIKE_REGEX predicate");
        return Err(Error::new(SqlState::SYNTAX_ERROR, message));
    }
    let has = |flag| flags.contains(flag);
    if has('x') && !has('q') {
        return Err(Error::unsupported("XQuery \"x\" flag (expanded regular expressions)"));
    }
    let pattern = if has('q') { crate::ops::string::regexp_escape(&pattern) } else { pattern };
    let mut options = String::new();
    options.push_str(if has('i') { "i" } else { "" });
    options.push_str(match (has('s'), has('m')) {
        (true, true) => "w",
        (true, false) => "",
        (false, true) => "n",
        (false, false) => "p",
    });
    // A pattern that is none is an error of the path.
    crate::ops::regex::is_match("", &pattern, Options::of(&options)?)?;
    Ok((pattern, options))
}
