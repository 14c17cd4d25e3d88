//! Paths of SQL/JSON, as PostgreSQL has them (`$.a[*] ? (@.b > 1)`): ISO/IEC 19075-6.
//!
//! [`parse`] reads a path, [`eval`] finds what it leads to. A path is lax unless it says `strict`: then arrays are opened where one of
//! their elements is wanted, and what is not there is nothing rather than an error.

mod eval;
mod number;
mod parse;

use std::cell::RefCell;
use std::rc::Rc;

use base::{Error, Result, SqlState};

use super::error::misused;
use super::tree::Tree;
use crate::ops::array;
use crate::{SqlType, Value};

use eval::Evaluation;

/// An expression of a path.
#[derive(Debug)]
enum Node {
    Root,
    Current,
    Last,
    Variable(String),
    Literal(Tree<'static>),
    Member(Box<Node>, String),
    AnyMember(Box<Node>),
    AnyItem(Box<Node>),
    /// Elements of numbers, or from one to another.
    Items(Box<Node>, Vec<(Node, Option<Node>)>),
    /// Everything from one depth to another; none is the deepest.
    Descend(Box<Node>, Option<u32>, Option<u32>),
    Filter(Box<Node>, Box<Node>),
    Method(Box<Node>, Method),
    Sign(Sign, Box<Node>),
    Arithmetic(Arithmetic, Box<Node>, Box<Node>),
    Compare(Comparison, Box<Node>, Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Not(Box<Node>),
    IsUnknown(Box<Node>),
    Exists(Box<Node>),
    StartsWith(Box<Node>, Box<Node>),
    LikeRegex(Box<Node>, String, String),
}

impl Node {
    /// Whether it says that something holds, rather than to lead to something.
    fn is_predicate(&self) -> bool {
        use Node as N;
        matches!(
            self,
            N::Compare(..)
                | N::And(..)
                | N::Or(..)
                | N::Not(_)
                | N::IsUnknown(_)
                | N::Exists(_)
                | N::StartsWith(..)
                | N::LikeRegex(..)
        )
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    Type,
    Size,
    Abs,
    Floor,
    Ceiling,
    Double,
    KeyValue,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sign {
    Plus,
    Minus,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Arithmetic {
    fn sign(self) -> char {
        match self {
            Self::Add => '+',
            Self::Subtract => '-',
            Self::Multiply => '*',
            Self::Divide => '/',
            Self::Modulo => '%',
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A path that was read.
#[derive(Debug)]
struct Path {
    strict: bool,
    root: Node,
}

thread_local! {
    /// The path that the thread used last: mostly it is the same for many rows.
    static LAST: RefCell<Option<(String, Rc<Path>)>> = const { RefCell::new(None) };
}

fn parsed(text: &str) -> Result<Rc<Path>> {
    LAST.with_borrow_mut(|last| match last {
        Some((known, path)) if known == text => Ok(path.clone()),
        _ => {
            let path = Rc::new(parse::parse(text)?);
            *last = Some((text.to_owned(), path.clone()));
            Ok(path)
        }
    })
}

/// A call of a function of paths.
#[derive(Clone, Copy, Debug)]
pub struct PathCall<'a> {
    /// The `jsonb`.
    pub json: &'a str,
    /// The path.
    pub path: &'a str,
    /// The object of its variables.
    pub variables: &'a str,
    /// Whether what cannot be computed is NULL rather than an error.
    pub silent: bool,
}

impl PathCall<'_> {
    /// What `then` makes of the values that the path leads to; none if that failed silently.
    fn run<T>(&self, then: impl FnOnce(&[&Tree<'_>]) -> Result<T>) -> Result<Option<T>> {
        let path = parsed(self.path)?;
        let (json, variables) = (Tree::normal(self.json)?, Tree::normal(self.variables)?);
        if !matches!(variables, Tree::Object(_)) {
            return Err(misused("\"vars\" argument is not an object"));
        }
        let found = Evaluation::new(&path, &json, &variables).run();
        let made = found.and_then(|found| then(&found.iter().map(|item| &**item).collect::<Vec<_>>()));
        match made {
            Err(error) if self.silent && is_of_data(&error) => Ok(None),
            made => made.map(Some),
        }
    }

    /// The values as an array of `jsonb`.
    pub fn items(&self) -> Result<Value> {
        let all = self.run(|found| {
            let texts = found.iter().map(|item| item.text().map(Value::str)).collect::<Result<Vec<_>>>()?;
            array::encode(&texts, SqlType::Jsonb)
        })?;
        all.map_or_else(|| array::encode(&[], SqlType::Jsonb), Ok)
    }

    /// The values as an array within a `jsonb`.
    pub fn array(&self) -> Result<Value> {
        let made = self.run(|found| Tree::Array(found.iter().map(|item| (*item).clone()).collect()).text())?;
        Ok(Value::str(made.unwrap_or_else(|| "[]".to_owned())))
    }

    /// The first value; NULL if there is none.
    pub fn first(&self) -> Result<Value> {
        let made = self.run(|found| found.first().map(|item| item.text()).transpose())?;
        Ok(made.flatten().map_or(Value::Null, Value::str))
    }

    /// Whether there is a value.
    pub fn exists(&self) -> Result<Value> {
        Ok(self.run(|found| Ok(!found.is_empty()))?.map_or(Value::Null, Value::Bool))
    }

    /// The only value, which says whether something holds.
    pub fn matches(&self) -> Result<Value> {
        let made = self.run(|found| match found {
            [Tree::Bool(holds)] => Ok(Value::Bool(*holds)),
            [Tree::Null] => Ok(Value::Null),
            _ => Err(Error::new(SqlState("22038"), "single boolean result is expected")),
        })?;
        Ok(made.unwrap_or(Value::Null))
    }
}

/// Whether an error says something of the data: only these make conditions unknown.
fn is_of_data(error: &Error) -> bool {
    error.state().0.starts_with("22")
}
