//! Tables that are part of other tables (decision 64): children, whose rows are those of their parents too, and partitions,
//! children by whose bounds is known which rows are theirs.

use std::sync::Arc;

use base::{Error, Result, SqlState};

use crate::tables::{Name, canonical};
use crate::{Catalog, CatalogSnapshot, TableEntry, Trigger};

/// How a table stands to others. A table that stands alone has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinship {
    /// The tables whose rows are its rows too; a partition has one.
    pub parents: Vec<Name>,
    /// If it is a partition: which rows are its.
    pub bound: Option<Bound>,
    /// If it is partitioned, so that all its rows are those of its partitions: by what.
    pub partitioned: Option<Partitioning>,
}

/// By what a table is partitioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitioning {
    /// How keys are told apart.
    pub strategy: Strategy,
    /// The keys as SQL: quoted names of columns, or expressions.
    pub keys: Vec<String>,
    /// The types of the keys, as SQL.
    pub types: Vec<String>,
}

/// How keys of partitions are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// By intervals.
    Range,
    /// By their values.
    List,
    /// By what is left of their hash.
    Hash,
}

impl Strategy {
    /// As SQL has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Range => "RANGE",
            Self::List => "LIST",
            Self::Hash => "HASH",
        }
    }
}

/// Which rows are a partition's. Values are SQL literals without their types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Those of no other partition.
    Default,
    /// Those whose keys are at least `from` and less than `to`.
    Range {
        /// A limit for each key.
        from: Vec<Limit>,
        /// A limit for each key.
        to: Vec<Limit>,
    },
    /// Those whose key is one of these values; none: NULL.
    List(Vec<Option<String>>),
    /// Those whose hash leaves this remainder.
    Hash {
        /// Divided by this.
        modulus: u64,
        /// What is left.
        remainder: u64,
    },
}

/// Where a range begins or ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Before all values.
    Min,
    /// At a value.
    Value(String),
    /// Behind all values.
    Max,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Min => f.write_str("MINVALUE"),
            Self::Value(value) => f.write_str(value),
            Self::Max => f.write_str("MAXVALUE"),
        }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all = |limits: &[Limit]| limits.iter().map(Limit::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Self::Default => f.write_str("DEFAULT"),
            Self::Range { from, to } => write!(f, "FOR VALUES FROM ({}) TO ({})", all(from), all(to)),
            Self::List(values) => {
                let values: Vec<&str> = values.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect();
                write!(f, "FOR VALUES IN ({})", values.join(", "))
            }
            Self::Hash { modulus, remainder } => {
                write!(f, "FOR VALUES WITH (modulus {modulus}, remainder {remainder})")
            }
        }
    }
}

impl Partitioning {
    /// As PARTITION BY has it.
    pub fn shown(&self) -> String {
        let plain = |key: &String| match key.strip_prefix('"').and_then(|key| key.strip_suffix('"')) {
            Some(name) => types::ops::string::quote_ident(name).map_or_else(|_| key.clone(), |name| name.into_owned()),
            None => format!("({key})"),
        };
        format!("{} ({})", self.strategy.name(), self.keys.iter().map(plain).collect::<Vec<_>>().join(", "))
    }

    /// The condition that rows of a partition satisfy, for which it is never NULL. `others` are the bounds of the table's other
    /// partitions.
    pub fn condition(&self, bound: &Bound, others: &[&Bound]) -> String {
        let typed = |value: &str, at: usize| format!("CAST({value} AS {})", self.types[at]);
        match bound {
            Bound::Default => {
                let taken: Vec<String> = others.iter().map(|other| self.condition(other, &[])).collect();
                if taken.is_empty() { "true".to_owned() } else { format!("NOT ({})", taken.join(" OR ")) }
            }
            Bound::Hash { modulus, remainder } => {
                format!("{} % {modulus} = {remainder}", hash_of(&self.keys))
            }
            Bound::List(values) => {
                let key = &self.keys[0];
                let some: Vec<String> = values.iter().flatten().map(|value| typed(value, 0)).collect();
                let has_null = values.contains(&None);
                match (some.is_empty(), has_null) {
                    (true, _) => format!("{key} IS NULL"),
                    (false, true) => format!("({key} IS NULL OR {key} IN ({}))", some.join(", ")),
                    (false, false) => format!("({key} IS NOT NULL AND {key} IN ({}))", some.join(", ")),
                }
            }
            Bound::Range { from, to } => {
                let mut all: Vec<String> = self.keys.iter().map(|key| format!("{key} IS NOT NULL")).collect();
                all.extend(self.beside(from, ">", true, &typed));
                all.extend(self.beside(to, "<", false, &typed));
                format!("({})", all.join(" AND "))
            }
        }
    }

    /// That the keys are on one side of a limit, in the order of their keys; nothing if all are.
    fn beside(
        &self,
        limits: &[Limit],
        side: &str,
        at_it: bool,
        typed: &dyn Fn(&str, usize) -> String,
    ) -> Option<String> {
        let mut before: Vec<String> = Vec::new();
        let mut cases: Vec<String> = Vec::new();
        let case = |before: &[String], last: String| [before, &[last]].concat().join(" AND ");
        for (at, (key, limit)) in self.keys.iter().zip(limits).enumerate() {
            let last = at + 1 == self.keys.len();
            match limit {
                // Everything is beside it, or nothing.
                Limit::Min | Limit::Max => {
                    if (*limit == Limit::Min) == at_it {
                        if before.is_empty() {
                            return None;
                        }
                        cases.push(before.join(" AND "));
                    }
                    before.clear();
                    break;
                }
                Limit::Value(value) => {
                    let value = typed(value, at);
                    let side = if last && at_it { format!("{side}=") } else { side.to_owned() };
                    cases.push(case(&before, format!("{key} {side} {value}")));
                    before.push(format!("{key} = {value}"));
                }
            }
        }
        match cases.len() {
            0 => Some("false".to_owned()),
            1 => cases.pop(),
            _ => Some(format!("({})", cases.iter().map(|c| format!("({c})")).collect::<Vec<_>>().join(" OR "))),
        }
    }
}

/// Something that says of keys which partition they go to, the same for equal keys, and not negative.
fn hash_of(keys: &[String]) -> String {
    let texts: Vec<String> = keys.iter().map(|key| format!("coalesce(CAST({key} AS text), '')")).collect();
    format!("(CAST(hashtext({}) AS bigint) & 2147483647)", texts.join(" || '/' || "))
}

impl CatalogSnapshot {
    /// Whether a table has children or partitions.
    pub fn has_kin(&self) -> bool {
        !self.kinships.is_empty()
    }

    /// How a table stands to others.
    pub fn kinship(&self, schema: Option<&str>, name: &str) -> Option<&Kinship> {
        if self.kinships.is_empty() {
            return None;
        }
        self.kinships.get(&(canonical(schema).to_owned(), name.to_owned()))
    }

    /// The tables that have a table as a parent, in the order of their names.
    pub fn children(&self, schema: Option<&str>, name: &str) -> Vec<Name> {
        if self.kinships.is_empty() {
            return Vec::new();
        }
        let parent = (canonical(schema).to_owned(), name.to_owned());
        let is_child = |(_, kinship): &(&Name, &Kinship)| kinship.parents.contains(&parent);
        self.kinships.iter().filter(is_child).map(|(name, _)| name.clone()).collect()
    }

    /// If a table is a partition: the condition that all its rows satisfy, for which it is never NULL.
    pub fn partition_condition(&self, schema: Option<&str>, name: &str) -> Option<String> {
        let kinship = self.kinship(schema, name)?;
        let (bound, parent) = (kinship.bound.as_ref()?, kinship.parents.first()?);
        let of = self.kinships.get(parent)?.partitioned.as_ref()?;
        let own = (canonical(schema).to_owned(), name.to_owned());
        let others: Vec<&Bound> = self
            .kinships
            .iter()
            .filter(|(name, other)| **name != own && other.parents.first() == Some(parent))
            .filter_map(|(_, other)| other.bound.as_ref())
            .filter(|other| **other != Bound::Default)
            .collect();
        let condition = of.condition(bound, &others);
        match self.partition_condition(Some(&parent.0), &parent.1) {
            Some(above) => Some(format!("{above} AND {condition}")),
            None => Some(condition),
        }
    }

    /// The triggers of a table or view; of a partition also those for each row of what it is part of. In the order of their names.
    pub fn triggers_of(&self, schema: Option<&str>, name: &str) -> Vec<Arc<Trigger>> {
        let mut all: Vec<Arc<Trigger>> =
            self.find(schema, name).map_or_else(Vec::new, |entry| entry.triggers().to_vec());
        let mut kinship = self.kinship(schema, name);
        while let Some((schema, parent)) = kinship.filter(|k| k.bound.is_some()).and_then(|k| k.parents.first()) {
            if let Some(parent) = self.find(Some(schema), parent) {
                all.extend(parent.triggers().iter().filter(|trigger| trigger.for_each_row).cloned());
            }
            kinship = self.kinship(Some(schema), parent);
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// All tables below a table, nearer ones first.
    pub fn below(&self, schema: Option<&str>, name: &str) -> Vec<Name> {
        let mut all = self.children(schema, name);
        let mut next = 0;
        while let Some((schema, name)) = all.get(next).cloned() {
            let more = self.children(Some(&schema), &name).into_iter().filter(|child| !all.contains(child));
            all.extend(more.collect::<Vec<_>>());
            next += 1;
        }
        all
    }

    /// All tables that go when one goes: its partitions, theirs, and with `cascade` its children. 2BP01 if it has children.
    pub(crate) fn with_children(&self, gone: Vec<Name>, cascade: bool) -> Result<Vec<Name>> {
        let mut all = gone;
        let mut next = 0;
        while next < all.len() {
            for child in self.children(Some(&all[next].0), &all[next].1) {
                if all.contains(&child) {
                    continue;
                }
                let is_partition = self.kinships.get(&child).is_some_and(|kinship| kinship.bound.is_some());
                if !is_partition && !cascade {
                    let (name, child) = (&all[next].1, &child.1);
                    let message = format!("cannot drop table {name} because other objects depend on it");
                    return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                        .detail(format!("table {child} depends on table {name}"))
                        .hint("DROP ... CASCADE drops the dependent objects too"));
                }
                all.push(child);
            }
            next += 1;
        }
        Ok(all)
    }

    /// A table is replaced by another one: 2BP01 if it has children, which have its columns.
    pub(crate) fn replace_kin(&mut self, of: &Name) -> Result<()> {
        if let Some((_, child)) = self.children(Some(&of.0), &of.1).first() {
            let name = &of.1;
            let message = format!("cannot replace table {name} because other objects depend on it");
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                .detail(format!("table {child} depends on table {name}")));
        }
        self.kinships.remove(of);
        Ok(())
    }

    /// Tables are no more.
    pub(crate) fn forget_kin(&mut self, gone: &[Name]) {
        if self.kinships.is_empty() {
            return;
        }
        self.kinships.retain(|name, _| !gone.contains(name));
        self.kinships.values_mut().for_each(|kinship| kinship.parents.retain(|parent| !gone.contains(parent)));
        self.kinships.retain(|_, kinship| *kinship != Kinship::default());
    }

    /// A table has another name.
    pub(crate) fn move_kin(&mut self, of: &Name, to: &Name) {
        if let Some(kinship) = self.kinships.remove(of) {
            self.kinships.insert(to.clone(), kinship);
        }
        let parents = self.kinships.values_mut().flat_map(|kinship| &mut kinship.parents);
        parents.filter(|parent| *parent == of).for_each(|parent| parent.clone_from(to));
    }

    /// Columns of a table have other names: so have its keys.
    pub(crate) fn rename_keys(&mut self, of: &Name, renamed: &[(String, String)]) {
        let Some(partitioned) = self.kinships.get_mut(of).and_then(|kinship| kinship.partitioned.as_mut()) else {
            return;
        };
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        for (old, new) in renamed {
            for key in partitioned.keys.iter_mut().filter(|key| **key == quoted(old)) {
                *key = quoted(new);
            }
        }
    }
}

impl Catalog {
    /// Says how a table stands to others from now on.
    pub fn set_kinship(&self, (schema, name): (Option<&str>, &str), kinship: Kinship) -> Result<()> {
        self.change(|catalog| {
            let Some(TableEntry::Table(_)) = catalog.find(schema, name) else {
                return Err(Error::internal("a table that is related is none"));
            };
            let key = (canonical(schema).to_owned(), name.to_owned());
            match kinship == Kinship::default() {
                true => drop(catalog.kinships.remove(&key)),
                false => drop(catalog.kinships.insert(key, kinship)),
            }
            Ok(())
        })
    }
}
