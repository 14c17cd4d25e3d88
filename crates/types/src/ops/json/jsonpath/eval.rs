//! What a path leads to. Values are parts of the document where they can be.

use std::borrow::Cow;
use std::cmp::Ordering;

use base::{Error, Result, SqlState, statement};

use super::{Comparison, Method, Node, Path, Sign, is_of_data, number};
use crate::ops::json::tree::Tree;
use crate::ops::number::format_f64;
use crate::ops::regex::{self, Options};

/// A part of the document, or something computed.
pub type Item<'t> = Cow<'t, Tree<'t>>;

/// What a condition is; none if it is unknown.
type Truth = Option<bool>;

pub struct Evaluation<'t> {
    path: &'t Path,
    document: &'t Tree<'t>,
    variables: &'t Tree<'t>,
}

/// Where an expression is evaluated.
#[derive(Clone, Copy)]
struct Place<'p, 't> {
    /// What `@` means.
    current: &'p Item<'t>,
    /// The length of the array in whose subscript it stands.
    length: Option<usize>,
}

fn failed<T>(state: &'static str, message: impl Into<String>) -> Result<T> {
    Err(Error::new(SqlState(state), message))
}

impl<'t> Evaluation<'t> {
    pub fn new(path: &'t Path, document: &'t Tree<'t>, variables: &'t Tree<'t>) -> Self {
        Self { path, document, variables }
    }

    pub fn run(&self) -> Result<Vec<Item<'t>>> {
        let document = Cow::Borrowed(self.document);
        self.items(&self.path.root, Place { current: &document, length: None })
    }

    fn is_lax(&self) -> bool {
        !self.path.strict
    }

    /// Whether what is not there, behind that, is nothing rather than an error: always behind `**`.
    fn forgives(&self, of: &Node) -> bool {
        self.is_lax()
            || match of {
                Node::Descend(..) => true,
                Node::Member(of, _) | Node::AnyMember(of) | Node::AnyItem(of) | Node::Items(of, _) => self.forgives(of),
                Node::Filter(of, _) | Node::Method(of, _) => self.forgives(of),
                _ => false,
            }
    }

    /// The values, with arrays among them opened where the path is lax.
    fn opened(&self, node: &'t Node, place: Place<'_, 't>) -> Result<Vec<Item<'t>>> {
        let items = self.items(node, place)?;
        if !self.is_lax() || !items.iter().any(|item| matches!(&**item, Tree::Array(_))) {
            return Ok(items);
        }
        Ok(items.into_iter().flat_map(|item| elements(&item).unwrap_or_else(|| vec![item])).collect())
    }

    fn items(&self, node: &'t Node, place: Place<'_, 't>) -> Result<Vec<Item<'t>>> {
        statement::check()?;
        Ok(match node {
            Node::Root => vec![Cow::Borrowed(self.document)],
            Node::Current => vec![place.current.clone()],
            Node::Literal(literal) => vec![Cow::Borrowed(literal)],
            Node::Last => match place.length {
                Some(length) => vec![made_number((length as i64 - 1).to_string())],
                None => return failed("42601", "LAST is allowed only in array subscripts"),
            },
            Node::Variable(name) => vec![self.variable(name)?],
            Node::Member(of, key) => {
                let mut found = Vec::new();
                for item in self.opened(of, place)? {
                    match member(&item, key) {
                        Ok(Some(value)) => found.push(value),
                        Ok(None) if self.forgives(of) => {}
                        Ok(None) => return failed("2203A", format!("JSON object does not contain key \"{key}\"")),
                        Err(()) if self.forgives(of) => {}
                        Err(()) => return failed("2203A", "jsonpath member accessor can only be applied to an object"),
                    }
                }
                found
            }
            Node::AnyMember(of) => {
                let mut found = Vec::new();
                for item in self.opened(of, place)? {
                    match members(&item) {
                        Some(values) => found.extend(values),
                        None if self.forgives(of) => {}
                        None => {
                            return failed(
                                "2203C",
                                "jsonpath wildcard member accessor can only be applied to an object",
                            );
                        }
                    }
                }
                found
            }
            Node::AnyItem(of) => {
                let mut found = Vec::new();
                for item in self.items(of, place)? {
                    match elements(&item) {
                        Some(values) => found.extend(values),
                        None if self.is_lax() => found.push(item),
                        None if self.forgives(of) => {}
                        None => {
                            return failed("22039", "jsonpath wildcard array accessor can only be applied to an array");
                        }
                    }
                }
                found
            }
            Node::Items(of, places) => {
                let mut found = Vec::new();
                for item in self.items(of, place)? {
                    let elements = match elements(&item) {
                        Some(elements) => elements,
                        None if self.is_lax() => vec![item],
                        None if self.forgives(of) => continue,
                        None => return failed("22039", "jsonpath array accessor can only be applied to an array"),
                    };
                    self.at_places(&elements, places, place, &mut found)?;
                }
                found
            }
            Node::Descend(of, first, last) => {
                let mut found = Vec::new();
                for item in self.items(of, place)? {
                    descend(&item, 0, *first, *last, &mut found);
                }
                found
            }
            Node::Filter(of, condition) => {
                let mut found = Vec::new();
                for item in self.opened(of, place)? {
                    if self.truth(condition, Place { current: &item, length: place.length })? == Some(true) {
                        found.push(item);
                    }
                }
                found
            }
            Node::Method(of, method) => self.methods(of, *method, place)?,
            Node::Sign(sign, of) => {
                let mut found = Vec::new();
                for item in self.opened(of, place)? {
                    let Tree::Number(text) = &*item else {
                        let sign = if *sign == Sign::Minus { '-' } else { '+' };
                        return failed(
                            "2203B",
                            format!("operand of unary jsonpath operator {sign} is not a numeric value"),
                        );
                    };
                    found.push(match sign {
                        Sign::Plus => item,
                        Sign::Minus => made_number(negated(text)),
                    });
                }
                found
            }
            Node::Arithmetic(op, a, b) => {
                let side = |node: &'t Node, name: &str| {
                    let items = self.opened(node, place)?;
                    match items.as_slice() {
                        [item] if matches!(&**item, Tree::Number(_)) => Ok(items.into_iter().next()),
                        _ => failed(
                            "22038",
                            format!("{name} operand of jsonpath operator {} is not a single numeric value", op.sign()),
                        ),
                    }
                };
                let (a, b) = (side(a, "left")?, side(b, "right")?);
                match (a.as_deref(), b.as_deref()) {
                    (Some(Tree::Number(a)), Some(Tree::Number(b))) => vec![made_number(number::compute(*op, a, b)?)],
                    _ => Vec::new(),
                }
            }
            condition => {
                let truth = self.truth(condition, place)?;
                vec![Cow::Owned(truth.map_or(Tree::Null, Tree::Bool))]
            }
        })
    }

    fn variable(&self, name: &str) -> Result<Item<'t>> {
        let Tree::Object(members) = self.variables else {
            return failed("22023", "\"vars\" argument is not an object");
        };
        match members.iter().find(|(key, _)| key == name) {
            Some((_, value)) => Ok(Cow::Borrowed(value)),
            None => failed("42704", format!("could not find jsonpath variable \"{name}\"")),
        }
    }

    fn at_places(
        &self,
        elements: &[Item<'t>],
        places: &'t [(Node, Option<Node>)],
        place: Place<'_, 't>,
        found: &mut Vec<Item<'t>>,
    ) -> Result<()> {
        let inside = Place { current: place.current, length: Some(elements.len()) };
        let number = |node: &'t Node| {
            let items = self.items(node, inside)?;
            match items.as_slice() {
                [item] => match &**item {
                    Tree::Number(text) => {
                        let whole = text.split('.').next().unwrap_or_default();
                        whole
                            .parse::<i32>()
                            .map(i64::from)
                            .or_else(|_| failed("22033", "jsonpath array subscript is out of integer range"))
                    }
                    _ => failed("22033", "jsonpath array subscript is not a single numeric value"),
                },
                _ => failed("22033", "jsonpath array subscript is not a single numeric value"),
            }
        };
        for (from, to) in places {
            let from = number(from)?;
            let to = to.as_ref().map_or(Ok(from), number)?;
            if self.path.strict && (from < 0 || from > to || to >= elements.len() as i64) {
                return failed("22033", "jsonpath array subscript is out of bounds");
            }
            for at in from.max(0)..=to.min(elements.len() as i64 - 1) {
                found.extend(elements.get(at as usize).cloned());
            }
        }
        Ok(())
    }

    fn methods(&self, of: &'t Node, method: Method, place: Place<'_, 't>) -> Result<Vec<Item<'t>>> {
        let whole = matches!(method, Method::Type | Method::Size);
        let items = if whole { self.items(of, place)? } else { self.opened(of, place)? };
        let mut found = Vec::with_capacity(items.len());
        for item in items {
            let made = match (method, &*item) {
                (Method::Type, value) => Tree::String(type_name(value).into()),
                (Method::Size, Tree::Array(items)) => Tree::Number(items.len().to_string().into()),
                (Method::Size, _) if self.is_lax() => Tree::Number("1".into()),
                (Method::Size, _) => {
                    return failed("22039", "jsonpath item method .size() can only be applied to an array");
                }
                (Method::Abs, Tree::Number(text)) => Tree::Number(text.trim_start_matches('-').to_owned().into()),
                (Method::Floor, Tree::Number(text)) => Tree::Number(number::rounded(text, false)?.into()),
                (Method::Ceiling, Tree::Number(text)) => Tree::Number(number::rounded(text, true)?.into()),
                (Method::Double, Tree::Number(text) | Tree::String(text)) => Tree::Number(double(text)?.into()),
                (Method::Double, _) => {
                    return failed(
                        "22036",
                        "jsonpath item method .double() can only be applied to a string or numeric value",
                    );
                }
                (Method::KeyValue, Tree::Object(members)) => {
                    for (key, value) in members {
                        let entry = vec![
                            ("id".into(), Tree::Number("0".into())),
                            ("key".into(), Tree::String(Cow::Owned(key.to_string()))),
                            ("value".into(), value.clone()),
                        ];
                        found.push(Cow::Owned(Tree::object(entry)));
                    }
                    continue;
                }
                (Method::KeyValue, _) => {
                    return failed("2203C", "jsonpath item method .keyvalue() can only be applied to an object");
                }
                _ => {
                    let name = match method {
                        Method::Abs => "abs",
                        Method::Floor => "floor",
                        _ => "ceiling",
                    };
                    let message = format!("jsonpath item method .{name}() can only be applied to a numeric value");
                    return failed("22036", message);
                }
            };
            found.push(Cow::Owned(owned(made)));
        }
        Ok(found)
    }

    /// Whether a condition holds. What cannot be computed makes it unknown.
    fn truth(&self, node: &'t Node, place: Place<'_, 't>) -> Result<Truth> {
        Ok(match node {
            Node::And(a, b) => match self.truth(a, place)? {
                Some(false) => Some(false),
                a => match (a, self.truth(b, place)?) {
                    (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                },
            },
            Node::Or(a, b) => match self.truth(a, place)? {
                Some(true) => Some(true),
                a => match (a, self.truth(b, place)?) {
                    (_, Some(true)) => Some(true),
                    (Some(false), Some(false)) => Some(false),
                    _ => None,
                },
            },
            Node::Not(of) => self.truth(of, place)?.map(|holds| !holds),
            Node::IsUnknown(of) => Some(self.truth(of, place)?.is_none()),
            Node::Exists(of) => tried(self.items(of, place))?.map(|items| !items.is_empty()),
            Node::Compare(op, a, b) => self.pairs(a, Some(b), place, |a, b| Ok(compare(*op, a, b)))?,
            Node::StartsWith(a, b) => self.pairs(a, Some(b), place, |a, b| {
                Ok(match (a, b) {
                    (Tree::String(text), Tree::String(start)) => Some(text.starts_with(&**start)),
                    _ => None,
                })
            })?,
            Node::LikeRegex(a, pattern, flags) => self.pairs(a, None, place, |a, _| match a {
                Tree::String(text) => regex::is_match(text, pattern, Options::of(flags)?).map(Some),
                _ => Ok(None),
            })?,
            _ => return Err(Error::internal("a condition that is none")),
        })
    }

    /// Whether something holds of some pair of values.
    fn pairs(
        &self,
        a: &'t Node,
        b: Option<&'t Node>,
        place: Place<'_, 't>,
        holds: impl Fn(&Tree<'_>, &Tree<'_>) -> Result<Truth>,
    ) -> Result<Truth> {
        let Some(left) = tried(self.opened(a, place))? else { return Ok(None) };
        let right = match b {
            Some(b) => tried(self.opened(b, place))?,
            None => Some(vec![Cow::Owned(Tree::Null)]),
        };
        let Some(right) = right else { return Ok(None) };
        let (mut found, mut unknown) = (false, false);
        for a in &left {
            for b in &right {
                match holds(a, b)? {
                    None if self.path.strict => return Ok(None),
                    None => unknown = true,
                    Some(true) if self.is_lax() => return Ok(Some(true)),
                    Some(true) => found = true,
                    Some(false) => {}
                }
            }
        }
        Ok(if found { Some(true) } else { Some(false).filter(|_| !unknown) })
    }
}

/// None of what fails because of the data.
fn tried<T>(made: Result<T>) -> Result<Option<T>> {
    match made {
        Err(error) if is_of_data(&error) => Ok(None),
        made => made.map(Some),
    }
}

fn made_number<'t>(text: String) -> Item<'t> {
    Cow::Owned(Tree::Number(text.into()))
}

fn negated(text: &str) -> String {
    match text.strip_prefix('-') {
        Some(digits) => digits.to_owned(),
        None if text.bytes().all(|b| matches!(b, b'0' | b'.')) => text.to_owned(),
        None => format!("-{text}"),
    }
}

/// With texts of its own.
fn owned<'t>(tree: Tree<'_>) -> Tree<'t> {
    match tree {
        Tree::Null => Tree::Null,
        Tree::Bool(b) => Tree::Bool(b),
        Tree::Number(text) => Tree::Number(Cow::Owned(text.into_owned())),
        Tree::String(text) => Tree::String(Cow::Owned(text.into_owned())),
        Tree::Array(items) => Tree::Array(items.into_iter().map(owned).collect()),
        Tree::Object(members) => {
            Tree::Object(members.into_iter().map(|(key, value)| (Cow::Owned(key.into_owned()), owned(value))).collect())
        }
    }
}

/// The elements of an array.
fn elements<'t>(item: &Item<'t>) -> Option<Vec<Item<'t>>> {
    match item {
        Cow::Borrowed(Tree::Array(items)) => Some(items.iter().map(Cow::Borrowed).collect()),
        Cow::Owned(Tree::Array(items)) => Some(items.iter().cloned().map(Cow::Owned).collect()),
        _ => None,
    }
}

/// The values of an object.
fn members<'t>(item: &Item<'t>) -> Option<Vec<Item<'t>>> {
    match item {
        Cow::Borrowed(Tree::Object(members)) => Some(members.iter().map(|(_, value)| Cow::Borrowed(value)).collect()),
        Cow::Owned(Tree::Object(members)) => Some(members.iter().map(|(_, value)| Cow::Owned(value.clone())).collect()),
        _ => None,
    }
}

/// The value of a key; an error of what is no object.
fn member<'t>(item: &Item<'t>, key: &str) -> std::result::Result<Option<Item<'t>>, ()> {
    match item {
        Cow::Borrowed(Tree::Object(members)) => {
            Ok(members.iter().find(|(name, _)| name == key).map(|(_, value)| Cow::Borrowed(value)))
        }
        Cow::Owned(Tree::Object(members)) => {
            Ok(members.iter().find(|(name, _)| name == key).map(|(_, value)| Cow::Owned(value.clone())))
        }
        _ => Err(()),
    }
}

/// A value and what is in it, from one depth to another; the deepest are those with nothing in them.
fn descend<'t>(item: &Item<'t>, level: u32, first: Option<u32>, last: Option<u32>, found: &mut Vec<Item<'t>>) {
    let inside = elements(item).or_else(|| members(item)).unwrap_or_default();
    let is_deep_enough = match first {
        Some(first) => level >= first,
        None => !item.is_container(),
    };
    if is_deep_enough {
        found.push(item.clone());
    }
    if last.is_none_or(|last| level < last) {
        inside.iter().for_each(|item| descend(item, level + 1, first, last, found));
    }
}

fn type_name(value: &Tree<'_>) -> &'static str {
    match value {
        Tree::Null => "null",
        Tree::Bool(_) => "boolean",
        Tree::Number(_) => "number",
        Tree::String(_) => "string",
        Tree::Array(_) => "array",
        Tree::Object(_) => "object",
    }
}

/// A number that a double has, as it is printed.
fn double(text: &str) -> Result<String> {
    let wrong = || failed("22036", format!("\"{text}\" is not a number that .double() takes"));
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => {
            let mut printed = String::new();
            crate::ops::json::number::write(&mut printed, &format_f64(value))?;
            Ok(printed)
        }
        _ => wrong(),
    }
}

/// Of values of one type, and of null beside others.
fn compare(op: Comparison, a: &Tree<'_>, b: &Tree<'_>) -> Truth {
    let order = match (a, b) {
        (Tree::Null, Tree::Null) => Ordering::Equal,
        (Tree::Null, _) | (_, Tree::Null) => return Some(op == Comparison::NotEqual),
        (Tree::Bool(a), Tree::Bool(b)) => a.cmp(b),
        (Tree::String(a), Tree::String(b)) => a.cmp(b),
        (Tree::Number(a), Tree::Number(b)) => {
            let key = |text: &str| {
                let mut key = String::new();
                crate::ops::json::number::write_key(&mut key, text);
                key
            };
            key(a).cmp(&key(b))
        }
        _ => return None,
    };
    Some(match op {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    })
}
