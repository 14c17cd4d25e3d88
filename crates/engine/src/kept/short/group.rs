//! Grouping of a few rows: the values of each group are collected, and aggregated by the formula that says what an aggregate is.

use std::collections::{HashMap, HashSet};

use functions::AggregateFunction;
use functions::aggregate::Input;
use types::{SqlType, Value};

use super::frame::Formula;
use super::{On, Out, Place, Row, Run, Step};

/// An operator that groups.
pub(super) struct Group {
    pub input: Step,
    pub keys: Vec<(Place, Formula)>,
    pub aggregates: Vec<(Place, Aggregate)>,
}

/// What is computed of a group.
pub(super) struct Aggregate {
    pub function: AggregateFunction,
    pub arguments: Vec<Formula>,
    pub distinct: bool,
    pub filter: Option<Formula>,
    /// Of its first argument, and of the result.
    pub types: (SqlType, SqlType),
}

/// The arguments of an aggregate in the rows of a group.
#[derive(Default)]
struct Values {
    first: Vec<Value>,
    /// The further ones, a column each.
    others: Vec<Vec<Value>>,
    seen: HashSet<Row>,
}

impl Aggregate {
    fn add(&self, run: &Run<'_>, to: &mut Values) -> Option<()> {
        if let Some(filter) = &self.filter
            && run.value(filter)? != Value::Bool(true)
        {
            return Some(());
        }
        let values = self.arguments.iter().map(|argument| run.value(argument)).collect::<Option<Row>>()?;
        if values.iter().any(Value::is_null) || self.distinct && !to.seen.insert(values.clone()) {
            return Some(());
        }
        let mut values = values.into_iter();
        to.first.push(values.next().unwrap_or(Value::Bool(true)));
        to.others.resize(self.arguments.len().saturating_sub(1), Vec::new());
        to.others.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        Some(())
    }

    fn result(&self, values: &Values) -> Option<Value> {
        let (argument, result) = self.types;
        self.function.evaluate(Input { values: &values.first, others: &values.others, argument, result }).ok()
    }
}

impl Group {
    pub fn each<'r>(&self, run: &mut Run<'r>, out: Out<'_, 'r>) -> On {
        let new = || self.aggregates.iter().map(|_| Values::default()).collect::<Vec<_>>();
        let mut numbers: HashMap<Row, usize> = HashMap::new();
        let mut groups: Vec<(Row, Vec<Values>)> = Vec::new();
        if self.keys.is_empty() {
            groups.push((Vec::new(), new()));
        }
        self.input.each(run, &mut |run| {
            let mut number = 0;
            if !self.keys.is_empty() {
                let key = self.keys.iter().map(|(_, expr)| run.value(expr)).collect::<Option<Row>>()?;
                number = *numbers.entry(key.clone()).or_insert(groups.len());
                if number == groups.len() {
                    groups.push((key, new()));
                }
            }
            let of_group = self.aggregates.iter().zip(&mut groups[number].1);
            for ((_, aggregate), values) in of_group {
                aggregate.add(run, values)?;
            }
            Some(true)
        })?;
        for (key, values) in groups {
            for ((place, _), value) in self.keys.iter().zip(key) {
                run.frame[*place] = value;
            }
            for ((place, aggregate), values) in self.aggregates.iter().zip(values) {
                run.frame[*place] = aggregate.result(&values)?;
            }
            if !out(run)? {
                return Some(false);
            }
        }
        Some(true)
    }
}
