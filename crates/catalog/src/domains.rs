//! Domains: types with conditions. A column of a domain has the type that is below it; the table knows which domain it is of
//! (`Table::domains`), and whoever writes rows asks for the conditions that the domain has then.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Error, Result, SqlState};
use types::SqlType;

use crate::rounded::rounded;
use crate::tables::{Name, canonical, no_schema};
use crate::unsigned::{PG_CATALOG, unsigned};
use crate::{Catalog, CatalogSnapshot, Check, Commented, Filling, Routine, TEMPORARY_SCHEMA, TableEntry};

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
    /// Of rows, the domain of each field, or of the elements of its arrays, if it is one; empty if no field is.
    pub fields: Vec<Option<Name>>,
}

impl Domain {
    /// A domain without conditions.
    pub fn of(sql_type: SqlType) -> Self {
        let (checks, fields) = (Vec::new(), Vec::new());
        Self { sql_type, not_null: false, filling: Filling::NULL, checks, digits: None, fields }
    }

    /// Whether any value of the type below is one of the domain.
    pub fn is_open(&self) -> bool {
        !self.not_null && self.checks.is_empty() && self.fields.is_empty()
    }

    /// Whether some field is of a domain.
    pub fn has_field_of(&self, domain: &Name) -> bool {
        self.fields.iter().flatten().any(|of| of == domain)
    }
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
    /// The attributes of a composite type: the rows' type, and the domains of the attributes.
    Attributes(SqlType, Vec<Option<Name>>),
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

    /// The composite types that have a field of a domain, with the names of the fields.
    pub fn types_with_fields_of(&self, domain: &Name) -> Vec<(&Name, String)> {
        let with_field = self.domains.iter().filter(|(_, of)| of.has_field_of(domain));
        let fields = with_field.flat_map(|(name, of)| {
            let structure = of.sql_type.structure().into_iter().flat_map(|structure| structure.fields.iter());
            let named = structure.zip(&of.fields).filter(|(_, of)| of.as_ref() == Some(domain));
            named.map(move |(field, _)| (name, field.name.clone()))
        });
        fields.collect()
    }

    /// The columns whose values have fields of a domain, at any depth.
    pub fn columns_within_domain(&self, domain: &Name) -> Vec<(String, String, String)> {
        let above = self.domains.iter().filter(|(_, of)| of.has_field_of(domain));
        let columns = |(name, _): (&Name, &Arc<Domain>)| {
            let within = self.columns_within_domain(name);
            self.columns_of_domain(name).into_iter().chain(within).collect::<Vec<_>>()
        };
        above.flat_map(columns).collect()
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
            if matches!(change, DomainChange::Attributes(..)) {
                catalog.check_unused(&key)?;
            }
            let Some(domain) = catalog.domains.get_mut(&key).map(Arc::make_mut) else { return Ok(()) };
            let before = domain.filling.clone();
            domain.change(change, &key.1)?;
            if let DomainChange::Filling(now) = change {
                catalog.fill_columns_of(&key, &before, now);
            }
            Ok(())
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
                if let Some((of, field)) = catalog.types_with_fields_of(&key).first() {
                    let message = format!("cannot drop type {name} because other objects depend on it");
                    return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                        .detail(format!("column {field} of composite type {} depends on type {name}", of.1))
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
            let outside = |(of, _): &(&Name, String)| of.0 != schema;
            if let Some((of, field)) = self.types_with_fields_of(name).into_iter().find(outside) {
                let message = format!("cannot drop schema {schema} because other objects depend on it");
                return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                    .detail(format!("column {field} of composite type {} depends on type {schema}.{}", of.1, name.1)));
            }
            if let Some((_, table, column)) = self.columns_of_domain(name).first() {
                let message = format!("cannot drop schema {schema} because other objects depend on it");
                return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                    .detail(format!("column {column} of table {table} depends on type {schema}.{}", name.1)));
            }
        }
        self.domains.retain(|(of, _), _| of != schema);
        Ok(())
    }

    /// 0A000 if columns, other types or functions are of a composite type, whose attributes are to change.
    fn check_unused(&self, key: &Name) -> Result<()> {
        let of_column = self.columns_of_domain(key).into_iter().chain(self.columns_within_domain(key)).next();
        let of_column = of_column.map(|(_, table, column)| format!("column \"{table}.{column}\""));
        let of_type = || self.types_with_fields_of(key).first().map(|(name, _)| format!("type \"{}\"", name.1));
        let of_routine = || {
            let is_of = |routine: &&Arc<Routine>| {
                let of_parameter = routine.parameters.iter().any(|p| p.domain.as_ref() == Some(key));
                of_parameter || routine.domain.as_ref() == Some(key)
            };
            self.routines().find(is_of).map(|routine| format!("function \"{}\"", routine.name))
        };
        match of_column.or_else(of_type).or_else(of_routine) {
            None => Ok(()),
            Some(user) => {
                let message = format!("cannot alter type \"{}\" because {user} uses it", key.1);
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
            }
        }
    }

    fn rename_domain(&mut self, key: Name, to: &str) -> Result<()> {
        let new = (key.0.clone(), to.to_owned());
        if self.has_type(&new) {
            return Err(taken(to));
        }
        let Some(domain) = self.domains.remove(&key) else { return Ok(()) };
        self.domains.insert(new.clone(), domain);
        for of in self.domains.values_mut().filter(|of| of.has_field_of(&key)) {
            let fields = Arc::make_mut(of).fields.iter_mut().flatten();
            fields.filter(|field| **field == key).for_each(|field| *field = new.clone());
        }
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
            DomainChange::Attributes(sql_type, fields) => {
                self.sql_type = *sql_type;
                self.fields.clone_from(fields);
            }
        }
        self.checks.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    }
}

#[cold]
pub(crate) fn taken(name: &str) -> Error {
    Error::new(SqlState::DUPLICATE_OBJECT, format!("type \"{name}\" already exists"))
}
