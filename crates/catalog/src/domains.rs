//! Domains: types with conditions. A column of a domain has the type that is below it; the table knows which domain it is of
//! (`Table::domains`), and whoever writes rows asks for the conditions that the domain has then.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Error, Result, SqlState};
use types::SqlType;

use crate::rounded::rounded;
use crate::tables::{Name, canonical, no_schema};
use crate::unsigned::{PG_CATALOG, unsigned};
use crate::{Catalog, CatalogSnapshot, Check, Commented, Filling, TEMPORARY_SCHEMA, TableEntry};

/// A domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// The type of its values.
    pub sql_type: SqlType,
    /// Whether NULL is none of them.
    pub not_null: bool,
    /// What a column of it holds that has no default of its own.
    pub filling: Filling,
    /// What must hold of each value, which the conditions call `value`; in the order of the names.
    pub checks: Vec<Check>,
    /// So many digits of a second its values are rounded to.
    pub digits: Option<u8>,
}

/// What ALTER DOMAIN changes.
#[derive(Clone, PartialEq, Debug)]
pub enum DomainChange {
    /// ADD CHECK.
    AddCheck(Check),
    /// DROP CONSTRAINT; whether it is no error if there is none.
    DropCheck(String, bool),
    /// RENAME CONSTRAINT.
    RenameCheck(String, String),
    /// SET or DROP NOT NULL.
    NotNull(bool),
    /// SET or DROP DEFAULT.
    Filling(Filling),
    /// RENAME TO.
    Name(String),
}

impl CatalogSnapshot {
    /// The domain of that name, with its schema and name; where there is none, the unsigned or rounded type that is called so.
    pub fn domain(&self, schema: Option<&str>, name: &str) -> Option<(&Name, &Arc<Domain>)> {
        let is_plain = schema.is_none_or(|schema| schema == PG_CATALOG || schema == canonical(None));
        let built_in = || unsigned(name).or_else(|| rounded(name));
        self.own_domain(schema, name).or_else(|| if is_plain { built_in() } else { None })
    }

    /// A domain that was created.
    fn own_domain(&self, schema: Option<&str>, name: &str) -> Option<(&Name, &Arc<Domain>)> {
        let schemas = match schema {
            Some(_) => vec![canonical(schema)],
            None => vec![TEMPORARY_SCHEMA, canonical(None)],
        };
        let mut keys = schemas.into_iter().map(|schema| (schema.to_owned(), name.to_owned()));
        keys.find_map(|key| self.domains.get_key_value(&key))
    }

    /// All domains as (schema, name, domain), in the order of their names.
    pub fn domains(&self) -> impl Iterator<Item = (&str, &str, &Arc<Domain>)> {
        self.domains.iter().map(|((schema, name), domain)| (schema.as_str(), name.as_str(), domain))
    }

    /// The columns of a domain: schema, table, column.
    pub fn columns_of_domain(&self, domain: &Name) -> Vec<(String, String, String)> {
        let mut all = Vec::new();
        for (schema, table, entry) in self.entries() {
            let TableEntry::Table(of) = entry else { continue };
            for (attribute, own) in of.relation.schema().attributes().iter().zip(&of.domains) {
                if own.as_ref() == Some(domain) {
                    all.push((schema.to_owned(), table.to_owned(), attribute.name.clone()));
                }
            }
        }
        all
    }

    fn no_domain(&self, schema: Option<&str>, name: &str) -> Error {
        if self.user_type(schema, name).is_some() {
            return Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a domain"));
        }
        Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
    }

    fn domain_name(&self, schema: Option<&str>, name: &str) -> Result<Name> {
        self.own_domain(schema, name).map(|(key, _)| key.clone()).ok_or_else(|| self.no_domain(schema, name))
    }

    /// Whether there is a type or domain of that name.
    pub(crate) fn has_type(&self, key: &Name) -> bool {
        self.types.contains_key(key) || self.domains.contains_key(key)
    }

    /// The place of a type that is made; 42710 if there is one of that name.
    pub(crate) fn new_type(&self, schema: Option<&str>, name: &str) -> Result<Name> {
        let key = (canonical(schema).to_owned(), name.to_owned());
        if !self.has_schema(&key.0) {
            return Err(no_schema(&key.0));
        }
        if self.has_type(&key) { Err(taken(name)) } else { Ok(key) }
    }
}

impl Catalog {
    /// Enters a domain; 42710 if there is a type of that name.
    pub fn create_domain(&self, (schema, name): (Option<&str>, &str), domain: Domain) -> Result<()> {
        self.change(|catalog| {
            let key = catalog.new_type(schema, name)?;
            catalog.domains.insert(key, Arc::new(domain));
            Ok(())
        })
    }

    /// Changes a domain, whose values fulfil what is new.
    pub fn alter_domain(&self, (schema, name): (Option<&str>, &str), change: &DomainChange) -> Result<()> {
        self.change(|catalog| {
            let key = catalog.domain_name(schema, name)?;
            if let DomainChange::Name(to) = change {
                return catalog.rename_domain(key, to);
            }
            let Some(domain) = catalog.domains.get_mut(&key).map(Arc::make_mut) else { return Ok(()) };
            domain.change(change, &key.1)
        })
    }

    /// Removes domains of which nothing is: else 2BP01. Missing ones are errors unless `if_exists`.
    pub fn drop_domains(&self, names: &[(Option<&str>, &str)], if_exists: bool) -> Result<()> {
        self.change(|catalog| {
            for &(schema, name) in names {
                let key = match catalog.domain_name(schema, name) {
                    Err(error) if if_exists && error.state() == SqlState::UNDEFINED_OBJECT => continue,
                    key => key?,
                };
                if let Some((_, table, column)) = catalog.columns_of_domain(&key).first() {
                    let message = format!("cannot drop type {name} because other objects depend on it");
                    return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                        .detail(format!("column {column} of table {table} depends on type {name}"))
                        .hint("DROP ... CASCADE drops the dependent objects too"));
                }
                catalog.domains.remove(&key);
            }
            Ok(())
        })
    }
}

impl CatalogSnapshot {
    /// Domains go with their schema, unless columns are of them: 2BP01.
    pub(crate) fn drop_domains_of(&mut self, schema: &str) -> Result<()> {
        for name in self.domains.keys().filter(|(of, _)| of == schema) {
            if let Some((_, table, column)) = self.columns_of_domain(name).first() {
                let message = format!("cannot drop schema {schema} because other objects depend on it");
                return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                    .detail(format!("column {column} of table {table} depends on type {schema}.{}", name.1)));
            }
        }
        self.domains.retain(|(of, _), _| of != schema);
        Ok(())
    }

    fn rename_domain(&mut self, key: Name, to: &str) -> Result<()> {
        let new = (key.0.clone(), to.to_owned());
        if self.has_type(&new) {
            return Err(taken(to));
        }
        let Some(domain) = self.domains.remove(&key) else { return Ok(()) };
        self.domains.insert(new.clone(), domain);
        for entry in self.schemas.values_mut().flat_map(BTreeMap::values_mut) {
            let TableEntry::Table(table) = entry else { continue };
            if table.domains.contains(&Some(key.clone())) {
                let own = Arc::make_mut(table).domains.iter_mut().filter(|own| own.as_ref() == Some(&key));
                own.for_each(|own| *own = Some(new.clone()));
            }
        }
        self.move_comments(|on| {
            if *on == Commented::Type(key.0.clone(), key.1.clone()) {
                *on = Commented::Type(new.0.clone(), new.1.clone());
            }
        });
        Ok(())
    }
}

impl Domain {
    fn change(&mut self, change: &DomainChange, name: &str) -> Result<()> {
        let place = |checks: &[Check], constraint: &str| {
            checks.iter().position(|check| check.name == constraint).ok_or_else(|| {
                let message = format!("constraint \"{constraint}\" of domain \"{name}\" does not exist");
                Error::new(SqlState::UNDEFINED_OBJECT, message)
            })
        };
        let is_taken = |checks: &[Check], constraint: &str| match place(checks, constraint) {
            Err(_) => Ok(()),
            Ok(_) => {
                let message = format!("constraint \"{constraint}\" for domain \"{name}\" already exists");
                Err(Error::new(SqlState::DUPLICATE_OBJECT, message))
            }
        };
        match change {
            DomainChange::AddCheck(check) => {
                is_taken(&self.checks, &check.name)?;
                self.checks.push(check.clone());
            }
            DomainChange::DropCheck(constraint, if_exists) => match place(&self.checks, constraint) {
                Err(_) if *if_exists => {}
                at => drop(self.checks.remove(at?)),
            },
            DomainChange::RenameCheck(from, to) => {
                let at = place(&self.checks, from)?;
                is_taken(&self.checks, to)?;
                self.checks[at].name.clone_from(to);
            }
            DomainChange::NotNull(not_null) => self.not_null = *not_null,
            DomainChange::Filling(filling) => self.filling = filling.clone(),
            DomainChange::Name(_) => {}
        }
        self.checks.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    }
}

#[cold]
pub(crate) fn taken(name: &str) -> Error {
    Error::new(SqlState::DUPLICATE_OBJECT, format!("type \"{name}\" already exists"))
}
