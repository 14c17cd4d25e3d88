//! Of which types a value is, in DuckDB's names, and what types all parts of it are.

use base::Result;

use super::scan::{Kind, kind, trimmed};
use super::text::write_quoted;
use super::tree::Tree;

/// What a value is.
pub fn type_name(json: &str) -> &'static str {
    let json = trimmed(json);
    match kind(json) {
        Kind::Object => "OBJECT",
        Kind::Array => "ARRAY",
        Kind::String => "VARCHAR",
        Kind::Bool => "BOOLEAN",
        Kind::Null => "NULL",
        Kind::Number => number_type(json),
    }
}

fn number_type(number: &str) -> &'static str {
    if number.parse::<u64>().is_ok() {
        "UBIGINT"
    } else if number.parse::<i64>().is_ok() {
        "BIGINT"
    } else {
        "DOUBLE"
    }
}

/// The types of a value and of its parts.
#[derive(Clone, PartialEq)]
enum Shape {
    Null,
    Named(&'static str),
    Array(Box<Shape>),
    Object(Vec<(String, Shape)>),
}

impl Shape {
    fn of(tree: &Tree<'_>) -> Self {
        match tree {
            Tree::Null => Self::Null,
            Tree::Bool(_) => Self::Named("BOOLEAN"),
            Tree::String(_) => Self::Named("VARCHAR"),
            Tree::Number(number) => Self::Named(number_type(number)),
            Tree::Array(items) => {
                Self::Array(Box::new(items.iter().fold(Self::Null, |all, item| all.with(Self::of(item)))))
            }
            Tree::Object(members) => {
                let mut shapes: Vec<(String, Self)> = Vec::with_capacity(members.len());
                for (key, value) in members {
                    add(&mut shapes, key, Self::of(value));
                }
                Self::Object(shapes)
            }
        }
    }

    /// The shape of values of either.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Null, shape) | (shape, Self::Null) => shape,
            (Self::Array(a), Self::Array(b)) => Self::Array(Box::new(a.with(*b))),
            (Self::Object(mut members), Self::Object(others)) => {
                for (key, shape) in others {
                    add(&mut members, &key, shape);
                }
                Self::Object(members)
            }
            (Self::Named(a), Self::Named(b)) if a == b => Self::Named(a),
            (Self::Named("BIGINT" | "UBIGINT" | "HUGEINT"), Self::Named("BIGINT" | "UBIGINT" | "HUGEINT")) => {
                Self::Named("HUGEINT")
            }
            (Self::Named(a), Self::Named(b)) if is_number(a) && is_number(b) => Self::Named("DOUBLE"),
            _ => Self::Named("JSON"),
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => write_quoted(out, "NULL"),
            Self::Named(name) => write_quoted(out, name),
            Self::Array(element) => {
                out.push('[');
                element.write(out);
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (key, shape)) in members.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    write_quoted(out, key);
                    out.push(':');
                    shape.write(out);
                }
                out.push('}');
            }
        }
    }
}

fn is_number(name: &str) -> bool {
    matches!(name, "BIGINT" | "UBIGINT" | "HUGEINT" | "DOUBLE")
}

fn add(members: &mut Vec<(String, Shape)>, key: &str, shape: Shape) {
    match members.iter_mut().find(|(known, _)| known == key) {
        Some((_, known)) => *known = std::mem::replace(known, Shape::Null).with(shape),
        None => members.push((key.to_owned(), shape)),
    }
}

/// The types of a value and of its parts, as JSON.
pub fn structure(json: &str) -> Result<String> {
    let mut out = String::new();
    Shape::of(&Tree::written(json)?).write(&mut out);
    Ok(out)
}
