//! Random expressions of the kinds that only MorselDB's own tables have. Where no such column is in scope, nothing is drawn:
//! other scripts stay as they are.

use super::data::{Kind, MORE_KINDS, Visible};
use super::query::Generator;

impl Generator<'_> {
    /// A column of those kinds, sometimes.
    fn rarer_column(&mut self, scope: &[Visible], n: u64) -> Option<Visible> {
        let columns: Vec<&Visible> = scope.iter().filter(|v| MORE_KINDS.contains(&v.kind)).collect();
        if columns.is_empty() || !self.random.one_in(n) { None } else { Some(self.random.pick(&columns).clone()) }
    }

    /// An expression of one of those kinds, from others.
    pub(super) fn rarer(&mut self, scope: &[Visible], kind: Kind, depth: usize) -> String {
        let a = self.scalar(scope, kind, depth);
        match kind {
            Kind::Numeric => match self.random.index(6) {
                0 => format!("({a} + {})", self.scalar(scope, Kind::Decimal, depth)),
                1 => format!("({a} * {})", self.scalar(scope, kind, depth)),
                2 => format!("({a} - {})", self.scalar(scope, kind, depth)),
                3 => format!("round({a}, {})", self.random.index(4) as i64 - 1),
                4 => format!("(- {a})"),
                _ => format!("CAST({} AS numeric(1000))", self.scalar(scope, Kind::Integer, depth)),
            },
            Kind::Bytes => match self.random.index(2) {
                0 => format!("({a} || {})", self.scalar(scope, kind, depth)),
                _ => format!("substring({a} FROM {} FOR {})", 1 + self.random.index(3), self.random.index(6)),
            },
            Kind::Time => match self.random.index(3) {
                0 => format!("({a} + INTERVAL '90 minutes')"),
                1 => format!("({a} - INTERVAL '1 day 1 second')"),
                _ => format!("CAST({} AS time)", self.scalar(scope, Kind::Timestamp, depth)),
            },
            Kind::Moment => match self.random.index(3) {
                0 => format!("({a} + INTERVAL '36 hours')"),
                1 => format!("date_trunc('day', {a})"),
                _ => format!("CAST({} AS timestamptz)", self.scalar(scope, Kind::Timestamp, depth)),
            },
            Kind::Json => match self.random.index(4) {
                0 => format!("({a} || {})", self.scalar(scope, kind, depth)),
                1 => format!("({a} -> 'a')"),
                2 => format!("to_jsonb({})", self.scalar(scope, Kind::Integer, depth)),
                _ => format!("({a} -> 0)"),
            },
            Kind::Integers => match self.random.index(4) {
                0 => format!("({a} || {})", self.scalar(scope, kind, depth)),
                1 => format!("array_append({a}, {})", self.scalar(scope, Kind::Integer, depth)),
                2 => format!("({a})[1:2]"),
                _ => format!("array_remove({a}, 1)"),
            },
            Kind::Texts => match self.random.index(3) {
                0 => format!("({a} || {})", self.scalar(scope, kind, depth)),
                1 => format!("string_to_array({}, 'a')", self.scalar(scope, Kind::Text, depth)),
                _ => format!("({a})[2:]"),
            },
            Kind::Struct => {
                let (a, b) = (self.scalar(scope, Kind::Integer, depth), self.scalar(scope, Kind::Text, depth));
                format!("CAST({{'a': {a}, 'b': {b}}} AS {})", kind.sql())
            }
            _ => a,
        }
    }

    /// An expression of a kind from a column of those, sometimes.
    pub(super) fn of_rarer_kinds(&mut self, scope: &[Visible], kind: Kind, depth: usize) -> Option<String> {
        let Visible { name, kind: from } = self.rarer_column(scope, 5)?;
        Some(match (kind, from) {
            (Kind::Double, Kind::Numeric) => format!("CAST({name} AS double precision)"),
            (Kind::Integer, Kind::Bytes) => format!("length({name})"),
            (Kind::Integer, Kind::Integers | Kind::Texts) if self.random.one_in(2) => format!("cardinality({name})"),
            (Kind::Integer, Kind::Integers) => format!("({name})[{}]", 1 + self.random.index(3)),
            (Kind::Integer, Kind::Time | Kind::Moment) => format!("CAST(extract(hour FROM {name}) AS integer)"),
            (Kind::Integer, Kind::Struct) => format!("({name}).a"),
            (Kind::Text, Kind::Struct) => format!("({name}).b"),
            (Kind::Text, Kind::Texts) if self.random.one_in(2) => format!("({name})[1]"),
            (Kind::Text, Kind::Texts) => format!("array_to_string({name}, ',', '*')"),
            (Kind::Text, Kind::Json) if self.random.one_in(2) => format!("({name} ->> 'a')"),
            (Kind::Text, Kind::Json) => format!("jsonb_typeof({name})"),
            (Kind::Text, Kind::Bytes) => format!("encode({name}, 'hex')"),
            (Kind::Text, Kind::Uuid | Kind::Label | Kind::Time | Kind::Integers) => format!("CAST({name} AS text)"),
            (Kind::Bool, _) => self.predicate(scope, depth),
            _ => return None,
        })
    }

    /// A condition on a column of those kinds, sometimes.
    pub(super) fn rarer_predicate(&mut self, scope: &[Visible], depth: usize) -> Option<String> {
        let Visible { name, kind } = self.rarer_column(scope, 8)?;
        Some(match kind {
            Kind::Json if self.random.one_in(2) => format!("({name} ? 'a')"),
            Kind::Json => format!("({name} @> {})", kind.constant(self.random)),
            Kind::Integers if self.random.one_in(2) => {
                format!("({} = ANY ({name}))", self.scalar(scope, Kind::Integer, depth))
            }
            Kind::Texts if self.random.one_in(2) => {
                format!("({} <> ALL ({name}))", self.scalar(scope, Kind::Text, depth))
            }
            Kind::Integers | Kind::Texts => {
                let operator = self.random.pick(&["@>", "<@", "&&"]);
                format!("({name} {operator} {})", self.scalar(scope, kind, depth))
            }
            _ => return None,
        })
    }
}
