//! What a relation's rows look like and which constraints they obey.

use std::sync::Arc;

use types::{Collation, SqlType};

/// One attribute of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// The name, as the catalog folds it.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// Whether NULL is refused. Attributes of the primary key always are.
    pub not_null: bool,
    /// How its texts are ordered where that is asked of it, if it has a collation: here they lie, and are compared, by their bytes.
    pub collation: Option<Arc<Collation>>,
}

impl Attribute {
    /// One whose texts are in the order of their bytes.
    pub fn new(name: impl Into<String>, sql_type: SqlType, not_null: bool) -> Self {
        Self { name: name.into(), sql_type, not_null, collation: None }
    }
}

/// The attributes and the primary key of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    attributes: Vec<Attribute>,
    columns: usize,
    primary_key: Vec<usize>,
}

impl Schema {
    /// A schema. `primary_key` lists attributes by number, and is empty if there is no key.
    pub fn new(mut attributes: Vec<Attribute>, primary_key: Vec<usize>) -> Self {
        for (i, &a) in primary_key.iter().enumerate() {
            assert!(!primary_key[..i].contains(&a), "an attribute is in the key once");
            attributes[a].not_null = true;
        }
        Self { columns: attributes.len(), attributes, primary_key }
    }
    /// The same of which only so many attributes, the first ones, are shown to people.
    pub fn with_columns(self, columns: usize) -> Self {
        Self { columns, ..self }
    }
    /// The attributes that people know.
    pub fn columns(&self) -> &[Attribute] {
        &self.attributes[..self.columns]
    }
    /// The attributes in order.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }
    /// The attributes of the primary key in its order; empty if there is none.
    pub fn primary_key(&self) -> &[usize] {
        &self.primary_key
    }
    /// The number of the attribute with this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.attributes.iter().position(|a| a.name == name)
    }
}
