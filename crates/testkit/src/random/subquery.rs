//! Random subqueries in expressions, nested and correlated.

use super::data::Visible;
use super::data::{KINDS, Kind};
use super::query::Generator;

impl Generator<'_> {
    /// A subquery of one row and one column.
    pub(super) fn scalar_subquery(&mut self, scope: &[Visible], kind: Kind) -> String {
        self.subqueries -= 1;
        let (from, inner) = self.source(scope);
        let condition = self.correlation(&inner, scope);
        if self.random.one_in(4) {
            let value = self.scalar(&inner, kind, 1);
            let order = self.random.pick(&["1", "1 DESC", "1 NULLS FIRST"]);
            let offset = if self.random.one_in(3) { " OFFSET 1" } else { "" };
            return format!("(SELECT {value} FROM {from} WHERE {condition} ORDER BY {order} LIMIT 1{offset})");
        }
        let value = match kind {
            Kind::Big if self.random.one_in(2) => "count(*)".to_string(),
            _ => self.aggregate_of(&inner, kind),
        };
        format!("(SELECT {value} FROM {from} WHERE {condition})")
    }

    /// EXISTS, IN, quantified and scalar comparisons with a subquery.
    pub(super) fn subquery_predicate(&mut self, scope: &[Visible]) -> String {
        self.subqueries -= 1;
        let (from, inner) = self.source(scope);
        let condition = self.correlation(&inner, scope);
        let shared: Vec<Kind> = KINDS.iter().copied().filter(|k| scope.iter().any(|v| v.kind == *k)).collect();
        let kind = if shared.is_empty() { Kind::Integer } else { self.random.pick(&shared) };
        let depth = self.random.index(2);
        let subject = self.scalar(scope, kind, depth);
        let value = self.scalar(&inner, kind, 1);
        let not = self.negation(3);
        let body = format!("FROM {from} WHERE {condition}");
        if self.random.one_in(5) {
            let operator = self.set_operator();
            let (other, columns) = self.relation();
            let (tie, again) = (self.correlation(&columns, scope), self.scalar(&columns, kind, 1));
            let union = format!("SELECT {value} {body} {operator} SELECT {again} FROM {other} WHERE {tie}");
            return match self.random.one_in(2) {
                true => format!("{not}EXISTS ({union})"),
                false => format!("{subject} {not}IN ({union})"),
            };
        }
        if self.random.one_in(5) {
            return format!("{subject} {not}IN (SELECT {value} {body}{})", self.first_rows("1"));
        }
        match self.random.index(6) {
            0 => format!("{not}EXISTS (SELECT 1 {body})"),
            1 | 2 => format!("{subject} {not}IN (SELECT {value} {body})"),
            3 if kind != Kind::Bool => {
                let operator = self.random.pick(&["=", "<>", "<", ">="]);
                let quantifier = self.random.pick(&["ANY", "ALL"]);
                format!("{subject} {operator} {quantifier} (SELECT {value} {body})")
            }
            4 => {
                let keys = format!("GROUP BY {} HAVING count(*) > 1", inner[0].name);
                let key = self.scalar(scope, Kind::Integer, 1);
                format!("{key} {not}IN (SELECT {} {body} {keys})", inner[0].name)
            }
            _ => {
                let operator = self.random.pick(&["=", "<>", ">="]);
                format!("{subject} {operator} (SELECT {} {body})", self.aggregate_of(&inner, kind))
            }
        }
    }

    /// A condition that ties a subquery to its surroundings, or one that does not.
    pub(super) fn correlation(&mut self, inner: &[Visible], outer: &[Visible]) -> String {
        let local = self.predicate(inner, 1);
        let partner = self.random.pick(inner);
        let same: Vec<&Visible> = outer.iter().filter(|v| v.kind == partner.kind).collect();
        if same.is_empty() {
            return local;
        }
        let operator = match self.random.index(8) {
            0 => "<>",
            1 if partner.kind != Kind::Bool => "<",
            _ => "=",
        };
        let tie = format!("{} {operator} {}", partner.name, self.random.pick(&same).name);
        match self.random.index(5) {
            0 => local,
            1 | 2 => tie,
            3 => {
                let all = [inner, outer].concat();
                format!("{tie} AND {}", self.predicate(&all, 1))
            }
            _ => format!("{tie} AND {local}"),
        }
    }
}
