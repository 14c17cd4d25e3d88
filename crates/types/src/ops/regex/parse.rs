//! PostgreSQL's advanced regular expressions, read: `a{2,3}?`, `\m`, `[[:alpha:]]`, `(?<!x)`, `(?i)`, `***=`, ... Errors have
//! its words.

use base::Result;
use regex_syntax::hir::{ClassUnicode, Look};

use super::class;
use super::node::{Around, MOST, Node, Prefers, Repeat};
use super::options::{Options, bad};

/// Parentheses in parentheses.
const DEPTH: usize = 200;

/// A pattern as a tree.
#[derive(Debug)]
pub(super) struct Parsed {
    pub node: Node,
    /// Groups that capture.
    pub groups: usize,
    pub options: Options,
}

pub(super) fn parse(pattern: &str, mut options: Options) -> Result<Parsed> {
    let rest = options.directors(pattern)?;
    let mut parser = Parser { rest: rest.chars().collect(), at: 0, options, groups: Vec::new(), depth: 0 };
    let node = if options.literal {
        let run = rest.chars().map(|c| parser.folded(class::one(c))).collect();
        Node::Run(run)
    } else {
        let node = parser.alternatives(false)?;
        if parser.at < parser.rest.len() {
            return Err(bad("parentheses () not balanced"));
        }
        node
    };
    Ok(Parsed { node, groups: parser.groups.len(), options })
}

struct Parser {
    rest: Vec<char>,
    at: usize,
    options: Options,
    /// Whether the group of that number, less one, has been closed.
    groups: Vec<bool>,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn looking_at(&self, text: &str) -> bool {
        self.rest[self.at..].iter().copied().take(text.chars().count()).eq(text.chars())
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.looking_at(text);
        if found {
            self.at += text.chars().count();
        }
        found
    }

    fn folded(&self, class: ClassUnicode) -> ClassUnicode {
        if self.options.fold { class::folded(class) } else { class }
    }

    /// What expanded syntax does not count, and comments.
    fn skip(&mut self) {
        loop {
            if self.options.advanced && self.looking_at("(?#") {
                let end = self.rest[self.at..].iter().position(|&c| c == ')');
                // One without an end takes the rest.
                self.at = end.map_or(self.rest.len(), |n| self.at + n + 1);
            } else if self.options.expanded && self.peek().is_some_and(char::is_whitespace) {
                self.at += 1;
            } else if self.options.expanded && self.peek() == Some('#') {
                let end = self.rest[self.at..].iter().position(|&c| c == '\n');
                self.at = end.map_or(self.rest.len(), |n| self.at + n);
            } else {
                return;
            }
        }
    }

    /// `a|b|c`; within lookaround nothing captures.
    fn alternatives(&mut self, around: bool) -> Result<Node> {
        if self.depth == DEPTH {
            return Err(bad("regular expression is too complex"));
        }
        self.depth += 1;
        let mut branches = vec![self.branch(around)?];
        while self.take("|") {
            branches.push(self.branch(around)?);
        }
        self.depth -= 1;
        Ok(if branches.len() == 1 { branches.remove(0) } else { Node::Alternate(branches) })
    }

    fn branch(&mut self, around: bool) -> Result<Node> {
        let mut parts: Vec<Node> = Vec::new();
        loop {
            self.skip();
            if matches!(self.peek(), None | Some('|' | ')')) {
                break;
            }
            let atom = self.atom(around)?;
            self.skip();
            // Constraints take no quantifier: what follows them is no atom.
            let part = if matches!(atom, Node::Look(_) | Node::Around(_)) { atom } else { self.quantified(atom)? };
            match (parts.last_mut(), part) {
                // A quantifier has had its turn: characters behind one another are one run.
                (Some(Node::Run(run)), Node::Run(more)) => run.extend(more),
                (_, part) => parts.push(part),
            }
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Node::Concat(parts) })
    }

    fn quantified(&mut self, atom: Node) -> Result<Node> {
        let Some((min, max, passes)) = self.quantifier()? else { return Ok(atom) };
        let shortest = self.options.advanced && self.take("?");
        self.skip();
        if self.quantifier()?.is_some() {
            return Err(bad("quantifier operand invalid"));
        }
        if max == Some(0) && !atom.has_groups() {
            return Ok(Node::empty());
        }
        let prefers = match (passes, shortest) {
            (true, _) => None,
            (_, true) => Some(Prefers::Shortest),
            _ => Some(Prefers::Longest),
        };
        Ok(Node::Repeat(Repeat { node: Box::new(atom), min, max, prefers }))
    }

    /// Bounds, and whether they leave the preference to what they repeat.
    fn quantifier(&mut self) -> Result<Option<(u32, Option<u32>, bool)>> {
        let bounds = match self.peek() {
            Some('*') => (0, None, false),
            Some('+') => (1, None, false),
            Some('?') => (0, Some(1), false),
            Some('{') if self.is_bound() => {
                self.at += 1;
                return self.bounds().map(Some);
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(bounds))
    }

    /// A brace that no digit follows is a character.
    fn is_bound(&self) -> bool {
        self.rest.get(self.at + 1).is_some_and(char::is_ascii_digit)
    }

    /// `{m}`, `{m,}` or `{m,n}`, behind the brace.
    fn bounds(&mut self) -> Result<(u32, Option<u32>, bool)> {
        let min = self.count()?;
        let (max, passes) = if self.take(",") {
            let open = self.peek() == Some('}');
            (if open { None } else { Some(self.count()?) }, false)
        } else {
            (Some(min), true)
        };
        match self.peek() {
            Some('}') => self.at += 1,
            None => return Err(bad("braces {} not balanced")),
            Some(_) => return Err(bad("invalid repetition count(s)")),
        }
        if max.is_some_and(|max| max < min) {
            return Err(bad("invalid repetition count(s)"));
        }
        Ok((min, max, passes))
    }

    fn count(&mut self) -> Result<u32> {
        let mut n = 0;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            n = n * 10 + digit;
            if n > MOST {
                return Err(bad("invalid repetition count(s)"));
            }
            self.at += 1;
        }
        Ok(n)
    }

    fn atom(&mut self, around: bool) -> Result<Node> {
        let c = self.rest[self.at];
        match c {
            '*' | '+' | '?' => return Err(bad("quantifier operand invalid")),
            '{' if self.is_bound() => return Err(bad("quantifier operand invalid")),
            _ => self.at += 1,
        }
        Ok(match c {
            '(' => self.parentheses(around)?,
            '^' => Node::Look(if self.options.lines_anchor { Look::StartLF } else { Look::Start }),
            '$' => Node::Look(if self.options.lines_anchor { Look::EndLF } else { Look::End }),
            '.' => Node::Run(vec![class::any(self.options.lines_stop)]),
            '[' => self.bracket()?,
            '\\' if self.options.advanced => self.escape(around)?,
            '\\' => {
                let c = self.peek().ok_or_else(|| bad("invalid escape \\ sequence"))?;
                self.at += 1;
                Node::Run(vec![self.folded(class::one(c))])
            }
            _ => Node::Run(vec![self.folded(class::one(c))]),
        })
    }

    /// Behind `(`.
    fn parentheses(&mut self, around: bool) -> Result<Node> {
        let constraint = if self.options.advanced {
            [("?=", false, false), ("?!", false, true), ("?<=", true, false), ("?<!", true, true)]
                .into_iter()
                .find(|(sign, ..)| self.looking_at(sign))
        } else {
            None
        };
        if let Some((sign, behind, negated)) = constraint {
            self.take(sign);
            let node = Box::new(self.closed(true)?);
            return Ok(Node::Around(Around { node, behind, negated }));
        }
        if self.options.advanced && self.take("?:") {
            return self.closed(around).map(unfused);
        }
        if self.options.advanced && self.peek() == Some('?') {
            return Err(bad("quantifier operand invalid"));
        }
        if around {
            return self.closed(true).map(unfused);
        }
        self.groups.push(false);
        let number = self.groups.len();
        let node = self.closed(false)?;
        self.groups[number - 1] = true;
        Ok(Node::Group(number, Box::new(node)))
    }

    fn closed(&mut self, around: bool) -> Result<Node> {
        let node = self.alternatives(around)?;
        if self.take(")") { Ok(node) } else { Err(bad("parentheses () not balanced")) }
    }

    /// Behind a backslash.
    fn escape(&mut self, around: bool) -> Result<Node> {
        let Some(c) = self.peek() else { return Err(bad("invalid escape \\ sequence")) };
        let look = match c {
            'A' => Some(Look::Start),
            'Z' => Some(Look::End),
            'm' => Some(Look::WordStartUnicode),
            'M' => Some(Look::WordEndUnicode),
            'y' => Some(Look::WordUnicode),
            'Y' => Some(Look::WordUnicodeNegate),
            _ => None,
        };
        if let Some(look) = look {
            self.at += 1;
            return Ok(Node::Look(look));
        }
        if let Some(class) = self.shorthand() {
            return Ok(Node::Run(vec![self.folded(class)]));
        }
        if matches!(c, '1'..='9')
            && let Some(number) = self.back_reference()?
        {
            if around || !self.groups.get(number - 1).is_some_and(|&closed| closed) {
                return Err(bad("invalid backreference number"));
            }
            return Ok(Node::Back(number));
        }
        let c = self.character_escape()?;
        Ok(Node::Run(vec![self.folded(class::one(c))]))
    }

    /// `\d` and the like, behind the backslash.
    fn shorthand(&mut self) -> Option<ClassUnicode> {
        let c = self.peek()?;
        let name = match c.to_ascii_lowercase() {
            'd' => "digit",
            's' => "space",
            'w' => "word",
            _ => return None,
        };
        self.at += 1;
        let mut class = class::named(name)?;
        if c.is_ascii_uppercase() {
            class.negate();
        }
        Some(class)
    }

    /// The number of a group, unless the digits are an octal number: one digit, or no more than there are groups.
    fn back_reference(&mut self) -> Result<Option<usize>> {
        let digits: String = self.rest[self.at..].iter().take_while(|c| c.is_ascii_digit()).take(5).collect();
        let number: usize = digits.parse().map_err(|_| bad("invalid backreference number"))?;
        if digits.len() > 1 && number > self.groups.len() {
            return Ok(None);
        }
        self.at += digits.len();
        Ok(Some(number))
    }

    /// An escape that stands for a character, behind the backslash.
    fn character_escape(&mut self) -> Result<char> {
        let Some(c) = self.peek() else { return Err(bad("invalid escape \\ sequence")) };
        self.at += 1;
        let code = match c {
            'a' => 7,
            'b' => 8,
            'B' => u32::from('\\'),
            'c' => {
                let Some(c) = self.peek() else { return Err(bad("invalid escape \\ sequence")) };
                self.at += 1;
                u32::from(c) & 31
            }
            'e' => 27,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            'u' => self.digits(16, 4, 4)?,
            'U' => self.digits(16, 8, 8)?,
            'x' => self.digits(16, 1, 255)?,
            '0'..='7' => {
                self.at -= 1;
                let start = self.at;
                let code = self.digits(8, 1, 3)?;
                if code > 0o377 {
                    self.at = start + 2;
                    code >> 3
                } else {
                    code
                }
            }
            c if c.is_ascii_alphanumeric() => return Err(bad("invalid escape \\ sequence")),
            c => return Ok(c),
        };
        char::from_u32(code).ok_or_else(|| bad("invalid escape \\ sequence"))
    }

    fn digits(&mut self, radix: u32, least: usize, most: usize) -> Result<u32> {
        let (mut n, mut count) = (0u32, 0);
        while count < most
            && let Some(digit) = self.peek().and_then(|c| c.to_digit(radix))
        {
            n = n.saturating_mul(radix).saturating_add(digit);
            (count, self.at) = (count + 1, self.at + 1);
        }
        if count < least { Err(bad("invalid escape \\ sequence")) } else { Ok(n) }
    }

    /// Behind `[`.
    fn bracket(&mut self) -> Result<Node> {
        if self.options.advanced {
            for (text, look) in [("[:<:]]", Look::WordStartUnicode), ("[:>:]]", Look::WordEndUnicode)] {
                if self.take(text) {
                    return Ok(Node::Look(look));
                }
            }
        }
        let negated = self.take("^");
        let mut class = ClassUnicode::empty();
        let first = self.at;
        while self.at == first || self.peek() != Some(']') {
            let Item { mut entry, first } = self.item()?;
            // A hyphen makes a range, unless it is the last.
            if self.peek() == Some('-') && self.rest.get(self.at + 1).is_some_and(|&c| c != ']') {
                self.at += 1;
                let (Some(from), Some(to)) = (first, self.item()?.first) else {
                    return Err(bad("invalid character range"));
                };
                let again = self.peek() == Some('-') && self.rest.get(self.at + 1).is_some_and(|&c| c != ']');
                if from > to || again {
                    return Err(bad("invalid character range"));
                }
                entry = class::range(from, to);
            }
            class.union(&entry);
        }
        self.at += 1;
        class = self.folded(class);
        if negated {
            class.negate();
            if self.options.lines_stop {
                class.difference(&class::one('\n'));
            }
        }
        Ok(Node::Run(vec![class]))
    }

    /// An entry of a bracket expression.
    fn item(&mut self) -> Result<Item> {
        let balanced = || bad("brackets [] not balanced");
        let c = self.peek().ok_or_else(balanced)?;
        let kind = self.rest.get(self.at + 1).copied();
        if c == '['
            && let Some(kind @ (':' | '.' | '=')) = kind
        {
            let start = self.at + 2;
            let end = (start..self.rest.len().saturating_sub(1))
                .find(|&i| self.rest[i] == kind && self.rest[i + 1] == ']')
                .ok_or_else(balanced)?;
            let name: String = self.rest[start..end].iter().collect();
            self.at = end + 2;
            return if kind == ':' { self.class_of_name(&name) } else { element(&name).map(Item::one) };
        }
        self.at += 1;
        if c != '\\' || !self.options.advanced {
            return Ok(Item::one(c));
        }
        match self.shorthand() {
            Some(entry) => Ok(Item { entry, first: None }),
            None if self.peek().is_some_and(|c| matches!(c, 'A' | 'Z' | 'm' | 'M' | 'y' | 'Y' | '1'..='9')) => {
                Err(bad("invalid escape \\ sequence"))
            }
            None => self.character_escape().map(Item::one),
        }
    }

    fn class_of_name(&self, name: &str) -> Result<Item> {
        let name = if self.options.fold && matches!(name, "lower" | "upper") { "alpha" } else { name };
        let entry = class::named(name).ok_or_else(|| bad("invalid character class"))?;
        Ok(Item { entry, first: None })
    }
}

/// An entry of a bracket expression; of a single character, which may begin a range.
struct Item {
    entry: ClassUnicode,
    first: Option<char>,
}

impl Item {
    fn one(c: char) -> Self {
        Self { entry: class::one(c), first: Some(c) }
    }
}

/// A collating element: one character, or a few names of some.
fn element(name: &str) -> Result<char> {
    let mut chars = name.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        return Ok(c);
    }
    Ok(match name {
        "NUL" => '\0',
        "tab" => '\t',
        "newline" => '\n',
        "carriage-return" => '\r',
        "space" => ' ',
        "hyphen" | "hyphen-minus" => '-',
        "period" | "full-stop" => '.',
        "comma" => ',',
        "colon" => ':',
        "semicolon" => ';',
        "slash" | "solidus" => '/',
        "backslash" | "reverse-solidus" => '\\',
        "left-square-bracket" => '[',
        "right-square-bracket" => ']',
        "circumflex" | "circumflex-accent" => '^',
        "underscore" | "low-line" => '_',
        _ => return Err(bad("invalid collating element")),
    })
}

/// A run in parentheses takes a quantifier as a whole: it must not become part of its neighbours before.
fn unfused(node: Node) -> Node {
    match node {
        Node::Run(_) => Node::Concat(vec![node]),
        node => node,
    }
}
