//! The plans that are kept, and what each of them rests on.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use base::IdMap;
use catalog::{CatalogSnapshot, Field};
use plan::{Plan, TableId, TableInfo};
use runtime::query::Arguments;
use sql::{ArgumentSource, ArgumentUse, ArgumentValue, Template};
use storage::{Relation, Snapshot};
use types::{SqlType, Value};

use super::change::ShortChange;
use super::read::Read;
use super::short::{Short, has_operands};
use crate::prepared::Prepared;
use crate::source::Source;

/// Most templates that are remembered.
const MOST_TEMPLATES: usize = 1024;
/// Most plans of one template: they differ in what is no argument.
const MOST_PLANS: usize = 4;

/// A short plan takes about as much as so many instructions.
const SHORT: usize = 16;
/// About what an instruction of a program takes.
const INSTRUCTION: usize = 64;

/// A parameter's value and type.
type Parameter = (Value, SqlType);

/// The database's kept plans.
#[derive(Default)]
pub(crate) struct KeptPlans {
    pub by_template: Mutex<HashMap<String, Vec<Arc<Kept>>>>,
    /// Statements that ran by one.
    runs: AtomicU64,
}

/// A plan that is ready to run, and what it rests on.
pub(crate) struct Kept {
    pub way: Way,
    pub columns: Arc<[Field]>,
    /// The table that each source reads, if it is compiled.
    tables: IdMap<TableId, Read>,
    pub catalog: Weak<CatalogSnapshot>,
    uses: Vec<ArgumentUse>,
    /// The text that the plan was made for, its literals and its parameters.
    sql: String,
    template: Template,
    parameters: Vec<Parameter>,
    /// By literal and by parameter, whether it is an argument.
    open_literals: Vec<bool>,
    open_parameters: Vec<bool>,
    /// By argument, its value if that is one of the text's own literals.
    own: Vec<Option<Value>>,
}

/// How a plan is run.
pub(crate) enum Way {
    /// A query: short, as long as its rows are few, or by its pipelines.
    Query {
        prepared: Option<Prepared>,
        short: Option<Short>,
    },
    Change(ShortChange),
}

/// A statement as it comes.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    pub sql: &'a str,
    pub template: &'a Template,
    pub parameters: &'a [Parameter],
}

impl Text<'_> {
    /// Whether the plan depends on the value of some parameter.
    pub fn is_half_open(&self, uses: &[ArgumentUse]) -> bool {
        let is_open = |number| uses.iter().any(|u| u.source == ArgumentSource::Parameter(number));
        (0..self.parameters.len()).any(|number| !is_open(number))
    }

    /// The text of a literal.
    fn literal(&self, number: usize) -> Cow<'_, str> {
        self.template.literals[number].text(self.sql)
    }
}

impl KeptPlans {
    /// So many statements more ran by a plan that was kept.
    pub fn has_run(&self, statements: u64) {
        self.runs.fetch_add(statements, Ordering::Relaxed);
    }

    /// How many statements ran by a plan that was kept.
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    pub fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<Arc<Kept>>>> {
        self.by_template.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// About how many bytes the plans take.
    pub fn bytes(&self) -> usize {
        self.lock().values().flatten().map(|kept| kept.bytes()).sum()
    }

    /// Keeps a plan.
    pub fn keep(&self, kept: Arc<Kept>) {
        let mut all = self.lock();
        if all.len() >= MOST_TEMPLATES && !all.contains_key(&kept.template.key) {
            // Seldom: whoever makes so many kinds of statement gains little from any of them.
            all.clear();
        }
        let plans = all.entry(kept.template.key.clone()).or_default();
        plans.retain(|old| old.holds_as(&kept));
        plans.truncate(MOST_PLANS - 1);
        plans.insert(0, kept);
    }
}

impl Kept {
    /// A query's plan as it was bound for a statement, optimised: short, or prepared, or both. None if it is not to be kept: it
    /// reads files, or all that is open in it would have to be closed, or an argument has become something else.
    pub fn of_query(
        text: Text<'_>,
        plan: &Plan,
        (short, prepared): (Option<Short>, Option<Prepared>),
        columns: Vec<Field>,
        uses: Vec<ArgumentUse>,
        catalog: &Arc<CatalogSnapshot>,
    ) -> Option<Self> {
        if !has_operands(plan, &uses) {
            return None;
        }
        let tables = match &prepared {
            Some(prepared) => {
                let read = |(id, table): (TableId, &TableInfo)| Read::new(table, prepared.columns_of(id));
                plan.tables.iter().map(read).collect::<Option<IdMap<_, _>>>()?
            }
            None => IdMap::default(),
        };
        Self::new(text, Way::Query { prepared, short }, (columns.into(), tables), uses, catalog)
    }

    /// A change of a few rows, which come of this plan; none likewise.
    pub fn of_change(
        text: Text<'_>,
        (plan, change): (&Plan, ShortChange),
        uses: Vec<ArgumentUse>,
        catalog: &Arc<CatalogSnapshot>,
    ) -> Option<Self> {
        if !has_operands(plan, &uses) {
            return None;
        }
        Self::new(text, Way::Change(change), (Arc::new([]), IdMap::default()), uses, catalog)
    }

    fn new(
        text: Text<'_>,
        way: Way,
        (columns, tables): (Arc<[Field]>, IdMap<TableId, Read>),
        uses: Vec<ArgumentUse>,
        catalog: &Arc<CatalogSnapshot>,
    ) -> Option<Self> {
        let mut open_literals = vec![false; text.template.literals.len()];
        let mut open_parameters = vec![false; text.parameters.len()];
        for source in uses.iter().map(|u| u.source) {
            match source {
                ArgumentSource::Literal(at) => *open_literals.get_mut(literal_at(text.template, at)?)? = true,
                ArgumentSource::Parameter(number) => *open_parameters.get_mut(number)? = true,
            }
        }
        let own = uses.iter().map(|usage| literal_value(usage, text)).collect();
        Some(Self {
            way,
            columns,
            tables,
            catalog: Arc::downgrade(catalog),
            own,
            uses,
            sql: text.sql.to_owned(),
            template: text.template.clone(),
            parameters: text.parameters.to_vec(),
            open_literals,
            open_parameters,
        })
    }

    /// The tables that its compiled query reads, as far as they are there.
    pub fn relations(&self) -> impl Iterator<Item = Option<Arc<Relation>>> + '_ {
        self.tables.values().map(Read::relation)
    }

    /// About how many bytes it takes: by the instructions of its program, which are most of it.
    fn bytes(&self) -> usize {
        let instructions = match &self.way {
            Way::Query { prepared: Some(prepared), .. } => prepared.program.size(),
            Way::Query { .. } | Way::Change(_) => SHORT,
        };
        instructions * INSTRUCTION + 2 * self.sql.len() + size_of::<Self>()
    }

    /// Where its arguments come from.
    pub fn uses(&self) -> &[ArgumentUse] {
        &self.uses
    }

    /// The parameters that are no arguments, and their values.
    pub fn closed_parameters(&self) -> impl Iterator<Item = (usize, &Value)> {
        let closed = |(number, is_open): (usize, &bool)| (!is_open).then(|| (number, &self.parameters[number].0));
        self.open_parameters.iter().enumerate().filter_map(closed)
    }

    fn text(&self) -> Text<'_> {
        Text { sql: &self.sql, template: &self.template, parameters: &self.parameters }
    }

    /// Whether this plan can be of use beside another one of its template.
    fn holds_as(&self, other: &Self) -> bool {
        self.catalog.ptr_eq(&other.catalog) && self.holds_now() && self.arguments(other.text()).is_none()
    }

    /// The tables as they are now; none if the plan does not hold for them.
    pub fn sources(&self, snapshot: &dyn Fn(&Arc<Relation>) -> Snapshot) -> Option<IdMap<TableId, Source>> {
        self.tables.values().map(|read| read.now(snapshot)).collect()
    }

    /// Whether it holds for the tables as they are now.
    fn holds_now(&self) -> bool {
        self.tables.values().all(|read| read.now(&|relation| relation.snapshot()).is_some())
    }

    /// The arguments of a statement of the same template; none if the plan does not hold for it.
    pub fn arguments(&self, text: Text<'_>) -> Option<Arguments> {
        let own = self.text();
        // A prepared statement has the same literals each time.
        let is_same = self.sql == text.sql;
        let same_literal = |(number, open): (usize, &bool)| *open || own.literal(number) == text.literal(number);
        let same_parameter =
            |((own, now), open): ((&Parameter, &Parameter), &bool)| own.1 == now.1 && (*open || own.0 == now.0);
        let same = (is_same || self.open_literals.iter().enumerate().all(same_literal))
            && own.parameters.len() == text.parameters.len()
            && own.parameters.iter().zip(text.parameters).zip(&self.open_parameters).all(same_parameter);
        if !same {
            return None;
        }
        let mut values = Vec::with_capacity(self.uses.len());
        for (usage, own) in self.uses.iter().zip(&self.own) {
            let value = match usage.source {
                ArgumentSource::Literal(_) if is_same => own.clone(),
                // Both texts have the same literals, at other places.
                ArgumentSource::Literal(at) => literal_of(usage, text, literal_at(&self.template, at)?),
                ArgumentSource::Parameter(number) => {
                    let (value, sql_type) = &text.parameters[number];
                    usage.value(ArgumentValue::Parameter(value, *sql_type))
                }
            };
            values.push(value?);
        }
        let positions = match &self.way {
            Way::Query { prepared: Some(prepared), .. } => {
                prepared.positions().iter().map(|&at| self.moved(at, text)).collect()
            }
            Way::Query { .. } | Way::Change(_) => Default::default(),
        };
        Some(Arguments { values, positions })
    }

    /// Where a place of the plan's text is in another text of its template.
    fn moved(&self, at: u32, text: Text<'_>) -> u32 {
        let pairs = self.template.literals.iter().zip(&text.template.literals);
        match pairs.take_while(|(own, _)| own.range.start <= at as usize).last() {
            None => at,
            Some((own, now)) if at as usize >= own.range.end => (now.range.end + (at as usize - own.range.end)) as u32,
            Some((_, now)) => now.range.start as u32,
        }
    }
}

/// The value of an argument that is a literal of this text; none of parameters.
fn literal_value(usage: &ArgumentUse, text: Text<'_>) -> Option<Value> {
    match usage.source {
        ArgumentSource::Literal(at) => literal_of(usage, text, literal_at(text.template, at)?),
        ArgumentSource::Parameter(_) => None,
    }
}

fn literal_of(usage: &ArgumentUse, text: Text<'_>, number: usize) -> Option<Value> {
    let literal = text.literal(number);
    usage.value(match text.template.literals[number].is_number {
        true => ArgumentValue::Number(&literal),
        false => ArgumentValue::Text(&literal),
    })
}

/// The number of the literal that begins at a byte offset.
fn literal_at(template: &Template, at: u32) -> Option<usize> {
    template.literals.binary_search_by_key(&(at as usize), |l| l.range.start).ok()
}
