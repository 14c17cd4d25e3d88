//! A condition that is true for one row finds it (PQS). What it is for the row is computed from constants: no table, no index, no
//! loop over many rows.

use super::{Reader, World};
use crate::random::{Column, Kind};

impl World<'_> {
    /// Takes a row, a condition that is made true for it, and looks for the row.
    pub(super) fn check_pivot(&mut self, reader: Reader) -> Option<()> {
        let number = usize::from(self.random.one_in(4));
        let site = &self.sites[number];
        let (columns, scope) = (site.table.columns.clone(), site.scope());
        let (key, from) = (site.key().to_owned(), site.some_key(&mut self.random));
        let text = |c: &Column| format!("quote_nullable(CAST({} AS text))", c.name);
        let list: Vec<String> = columns.iter().map(text).collect();
        let pick = format!("SELECT {} FROM t{number} WHERE {key} >= {from} ORDER BY {key} LIMIT 1", list.join(", "));
        let rows = self.answer(reader, &pick)?;
        let row = rows.first()?;
        // A literal of a few digits would be a decimal, which prints other zeros.
        let value = |(c, text): (&Column, &String)| match c.kind {
            Kind::Numeric => format!("CAST(CAST({text} AS text) AS numeric)"),
            kind => format!("CAST({text} AS {})", kind.sql()),
        };
        let values: Vec<String> = columns.iter().zip(row).map(value).collect();
        let named = |(c, value): (&Column, &String)| format!("{value} AS {}", c.name);
        let constants = columns.iter().zip(&values).map(named).collect::<Vec<_>>().join(", ");
        let id = &values[0];
        if self.random.one_in(4) {
            return self.check_value(reader, &format!("t{number} WHERE {key} = {id}"), &constants, &scope);
        }
        let condition = self.condition(&[number], &scope);
        let truth = self.answer(reader, &format!("SELECT {condition} FROM (SELECT {constants}) AS p"))?;
        let truth = truth.first()?.first()?.clone();
        let condition = match truth.as_str() {
            "true" => condition,
            "false" => format!("(NOT {condition})"),
            _ => format!("({condition} IS NULL)"),
        };
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        let (found, expected) = match self.random.below(4) {
            0 => (format!("SELECT {id} IN (SELECT {key} FROM t{number} WHERE {condition})"), "true"),
            1 => (format!("SELECT count(*) > 0 FROM t{number} WHERE {condition} AND {key} = {id}"), "true"),
            2 => (format!("SELECT EXISTS (SELECT 1 FROM t{number} WHERE {key} = {id} AND {condition})"), "true"),
            _ => {
                let body = format!("SELECT {} FROM t{number} WHERE {condition}", names.join(", "));
                (format!("SELECT count(*) FROM ({body} INTERSECT SELECT {}) AS q", values.join(", ")), "1")
            }
        };
        let rows = self.answer(reader, &found)?;
        self.same(reader, [&found, &constants], rows, vec![vec![expected.to_owned()]]);
        Some(())
    }

    /// An expression has one value, whether it is computed over a table's row or over constants.
    fn check_value(
        &mut self,
        reader: Reader,
        from: &str,
        constants: &str,
        scope: &[crate::random::Visible],
    ) -> Option<()> {
        let kind = if self.random.one_in(4) { Kind::Integer } else { self.random.pick(scope).kind };
        let depth = 1 + self.random.index(3);
        let expression = self.expression(|g| g.scalar(scope, kind, depth));
        let of_row = format!("SELECT {expression} FROM {from}");
        let of_constants = format!("SELECT {expression} FROM (SELECT {constants}) AS p");
        let (a, b) = (self.answer(reader, &of_row)?, self.answer(reader, &of_constants)?);
        self.same(reader, [&of_row, &of_constants], a.into_iter().take(1).collect(), b);
        Some(())
    }
}
