//! Types of values from a sample: what each member of all objects at one place could be.

use std::collections::HashMap;

use base::Result;
use types::ops::cast::parse;
use types::ops::json::scan::{Kind, content, items, kind, members};
use types::ops::json::unescaped;
use types::{SqlType, StructField};

use crate::csv::sniff::Candidates;

const BOOL: u8 = 1;
const INTEGER: u8 = 2;
const WIDE: u8 = 4;
const DOUBLE: u8 = 8;
const STRING: u8 = 16;
const OBJECT: u8 = 32;
const ARRAY: u8 = 64;

/// How types are found out.
#[derive(Clone, Copy, Debug)]
pub struct Guess {
    /// An object within a record that has more members than these has names for values, not columns: it is a map.
    pub members: usize,
    /// Texts that are whole numbers are such.
    pub integers_in_texts: bool,
}

impl Default for Guess {
    fn default() -> Self {
        Self { members: 200, integers_in_texts: false }
    }
}

/// What the values at one place were so far; null is any.
#[derive(Clone)]
pub struct Shape {
    kinds: u8,
    texts: Candidates,
    fields: Vec<(String, Shape)>,
    by_name: HashMap<String, usize>,
    /// Of an array's elements, or of a map's values.
    items: Option<Box<Shape>>,
    is_map: bool,
    guess: Guess,
}

impl Shape {
    /// Before the first value.
    pub fn new(guess: Guess) -> Self {
        let texts = if guess.integers_in_texts { Candidates::MOMENTS_AND_INTEGERS } else { Candidates::MOMENTS };
        Self { kinds: 0, texts, fields: Vec::new(), by_name: HashMap::new(), items: None, is_map: false, guess }
    }

    fn items(&mut self) -> &mut Self {
        let guess = self.guess;
        self.items.get_or_insert_with(|| Box::new(Self::new(guess)))
    }

    /// Notes a value, which is JSON without blanks around it. What lies more than `depth` levels below is not looked at.
    pub fn see(&mut self, value: &str, depth: usize) -> Result<()> {
        self.note(value, depth, usize::MAX)
    }

    fn note(&mut self, value: &str, depth: usize, most: usize) -> Result<()> {
        self.kinds |= match kind(value) {
            Kind::Null => 0,
            Kind::Bool => BOOL,
            Kind::Number => number(value),
            Kind::String => {
                self.texts.see(content(value).as_bytes());
                STRING
            }
            // Deeper values have no types of their own.
            Kind::Object | Kind::Array if depth == 0 => OBJECT | ARRAY,
            Kind::Object => {
                for (at, (key, value)) in members(value).enumerate() {
                    let key = unescaped(key)?;
                    let members = self.guess.members;
                    self.member(at, &key, most).note(value, depth - 1, members)?;
                }
                OBJECT
            }
            Kind::Array => {
                let members = self.guess.members;
                let of = self.items();
                items(value).try_for_each(|item| of.note(item, depth - 1, members))?;
                ARRAY
            }
        };
        Ok(())
    }

    /// The shape of the member of that name, which is the one of that number in its object.
    fn member(&mut self, at: usize, key: &str, most: usize) -> &mut Self {
        if self.is_map {
            return self.items();
        }
        // Objects have their members in one order most of the time.
        if self.fields.get(at).is_some_and(|(name, _)| name == key) {
            return &mut self.fields[at].1;
        }
        if let Some(&known) = self.by_name.get(key) {
            return &mut self.fields[known].1;
        }
        if self.fields.len() == most {
            let mut all = self.items.take().unwrap_or_else(|| Box::new(Self::new(self.guess)));
            self.by_name.clear();
            std::mem::take(&mut self.fields).into_iter().for_each(|(_, field)| all.merge(field));
            self.is_map = true;
            return self.items.insert(all);
        }
        self.by_name.insert(key.to_owned(), self.fields.len());
        self.fields.push((key.to_owned(), Self::new(self.guess)));
        let last = self.fields.len() - 1;
        &mut self.fields[last].1
    }

    fn merge(&mut self, other: Self) {
        self.kinds |= other.kinds;
        self.texts.merge(other.texts);
        self.is_map |= other.is_map;
        if let Some(of) = other.items {
            self.items().merge(*of);
        }
        for (at, (name, field)) in other.fields.into_iter().enumerate() {
            self.member(at, &name, self.guess.members).merge(field);
        }
    }

    /// Whether all values were objects, and there was one.
    pub fn is_objects(&self) -> bool {
        self.kinds == OBJECT
    }

    /// The members of all objects, in the order in which they were seen.
    pub fn columns(&self) -> Vec<(String, SqlType)> {
        self.fields.iter().map(|(name, shape)| (name.clone(), shape.sql_type())).collect()
    }

    /// The type that all values have; `json` if they have no other in common.
    pub fn sql_type(&self) -> SqlType {
        let any = SqlType::Json;
        match self.kinds {
            BOOL => SqlType::Bool,
            INTEGER => SqlType::BigInt,
            // All digits of whole numbers count.
            kinds if kinds & !(INTEGER | WIDE) == 0 && kinds & WIDE != 0 => SqlType::decimal(SqlType::MAX_PRECISION, 0),
            kinds if kinds & !(INTEGER | WIDE | DOUBLE) == 0 && kinds & DOUBLE != 0 => SqlType::Double,
            STRING => self.texts.sql_type(),
            ARRAY => {
                let of = self.items.as_ref().map_or(any, |of| of.sql_type());
                if of.dimensions() < SqlType::MAX_DIMENSIONS { SqlType::array_of(of) } else { any }
            }
            OBJECT if self.is_map || self.fields.is_empty() => {
                SqlType::map_of(SqlType::Text, self.items.as_ref().map_or(any, |of| of.sql_type()))
            }
            OBJECT => {
                let mut names: Vec<String> = self.fields.iter().map(|(name, _)| name.to_lowercase()).collect();
                names.sort_unstable();
                // Names of a struct's fields differ by more than their case.
                if names.windows(2).any(|pair| pair[0] == pair[1]) {
                    return any;
                }
                let field = |(name, sql_type)| StructField { name, sql_type };
                SqlType::struct_of(self.columns().into_iter().map(field).collect())
            }
            _ => any,
        }
    }
}

fn number(text: &str) -> u8 {
    if text.contains(['.', 'e', 'E']) {
        return DOUBLE;
    }
    let digits = text.trim_start_matches('-').len();
    match parse::i64(text.as_bytes()) {
        Ok(_) => INTEGER,
        Err(_) if digits <= usize::from(SqlType::MAX_PRECISION) => WIDE,
        Err(_) => DOUBLE,
    }
}
