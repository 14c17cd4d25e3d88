//! What a statement reaches of a database whose tables are partitioned by their definitions: one part of it as a rule, which is its
//! transaction's alone until that ends (thesis 2.7.1; Stonebraker et al., *The End of an Architectural Era*, VLDB 2007). Whoever reaches a
//! second part has all of the database to himself from then on.
//!
//! A table's parameter `partition_key` names the column whose values are the parts: rows with equal values, of whatever tables, are one.
//! Tables without one belong to all parts: they are read by everybody, and changed by nobody else meanwhile.

use std::sync::Arc;

use plan::Plan;
use sql::{ChangeKind, Statement};
use storage::Relation;

use super::{Item, Mode};
use crate::kept::change::ShortChange;
use crate::kept::plans::{Kept, Way};
use crate::kept::short::{Given, Short};
use crate::source::Source;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reach {
    #[default]
    Nothing,
    /// Tables that belong to all parts, which are read.
    Common,
    /// A part, by the hash of its value.
    Part(u64),
    All,
}

use Reach::{All, Common, Nothing, Part};

impl Reach {
    /// What both reach.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Nothing, other) | (other, Nothing) => other,
            (Common, other) | (other, Common) => other,
            (Part(a), Part(b)) if a == b => self,
            _ => All,
        }
    }

    /// What is locked for it.
    pub fn items(self) -> Vec<(Item, Mode)> {
        match self {
            Nothing => Vec::new(),
            Common => vec![(Item::Database, Mode::IntentShare)],
            Part(part) => vec![(Item::Database, Mode::IntentExclusive), (Item::Part(part), Mode::Exclusive)],
            All => vec![(Item::Database, Mode::Exclusive)],
        }
    }

    fn of_table(relation: &Relation, part: Option<u64>) -> Self {
        match (relation.partition_key(), part) {
            (None, _) => Common,
            (Some(_), Some(part)) => Part(part),
            (Some(_), None) => All,
        }
    }

    /// That of a bound statement, of which it is not known which rows it will find.
    pub fn of_statement(statement: &Statement) -> Self {
        match statement {
            Statement::Query(_) => statement.plan().map_or(Nothing, Self::of_plan),
            _ => All,
        }
    }

    fn of_plan(plan: &Plan) -> Self {
        let of_table = |source: &plan::TableSource| match Source::of(source) {
            Ok(Source::Stored(_, relation)) => Self::of_table(relation, None),
            _ => Nothing,
        };
        plan.tables.values().map(|table| of_table(&table.source)).fold(Nothing, Self::and)
    }

    /// That of a kept plan with these arguments. None if its tables are gone.
    pub fn of_kept(kept: &Kept, arguments: Given<'_>) -> Option<Self> {
        match &kept.way {
            Way::Query { short: Some(short), .. } => Self::of_short(short, arguments),
            Way::Query { short: None, .. } => {
                kept.relations().try_fold(Nothing, |reach, relation| Some(reach.and(Self::of_table(&*relation?, None))))
            }
            Way::Change(change) => Self::of_change(change, arguments),
        }
    }

    fn of_short(short: &Short, arguments: Given<'_>) -> Option<Self> {
        let mut reach = Nothing;
        short.each_read(arguments, &mut |relation, read| {
            let part = relation.partition_key().and_then(|key| read.hash_of(&[key]));
            reach = reach.and(Self::of_table(relation, part));
        })?;
        Some(reach)
    }

    fn of_change(change: &ShortChange, arguments: Given<'_>) -> Option<Self> {
        let relation: Arc<Relation> = change.relation.upgrade()?;
        let read = Self::of_short(&change.source, arguments)?;
        let Some(key) = relation.partition_key() else { return Some(All) };
        let changed = match change.kind {
            ChangeKind::Insert => {
                let given = change.source.keys_given(&relation, &change.attributes, &[key], arguments);
                given.map_or(All, |parts| parts.into_iter().map(Part).fold(Nothing, Self::and))
            }
            // The rows that it changes are among those that it reads.
            ChangeKind::Update { .. } | ChangeKind::Delete { .. } if !change.attributes.contains(&key) => Nothing,
            _ => All,
        };
        Some(read.and(changed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_part_is_all() {
        for reach in [Nothing, Common, Part(1), All] {
            assert_eq!((reach.and(Nothing), Nothing.and(reach), reach.and(reach)), (reach, reach, reach));
            assert_eq!((reach.and(All), All.and(reach)), (All, All));
        }
        assert_eq!((Part(1).and(Part(2)), Common.and(Part(2)), Part(2).and(Common)), (All, Part(2), Part(2)));
    }
}
