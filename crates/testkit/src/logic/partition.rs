//! The answers for the rows for which a condition is true, false and NULL are together the answer for all (TLP).

use super::{Reader, Rows, World};
use crate::random::{Kind, Visible};

/// What stands behind FROM.
pub(super) struct Source {
    pub from: String,
    pub scope: Vec<Visible>,
    /// Its tables.
    pub sites: Vec<usize>,
    /// Whether it may have many rows.
    pub is_large: bool,
}

/// The three kinds of rows, as what is said of a condition `?`.
const PARTS: [&str; 3] = ["?", "NOT ?", "? IS NULL"];

impl World<'_> {
    /// A table, a table's rows of some kind, or a join of two; of large tables by their keys, as others have too many rows.
    pub(super) fn source(&mut self) -> Source {
        let number = usize::from(self.random.one_in(4));
        let mut scope = self.sites[number].scope();
        let is_large = self.sites[number].is_large;
        let name = self.sites[number].table.name.clone();
        match self.random.below(8) {
            0 => {
                let condition = self.sites[number].simple_condition(&mut self.random);
                let from = format!("(SELECT * FROM {name} WHERE {condition}) AS q");
                Source { from, scope, sites: vec![number], is_large }
            }
            1 | 2 => {
                let other = 1 - number;
                let right = self.sites[other].scope();
                let pairs = scope.iter().flat_map(|a| right.iter().map(move |b| (a, b)));
                let fits = |(a, b): &(&Visible, &Visible)| {
                    a.kind == b.kind && (!self.sites.iter().any(|s| s.is_large) || a.name == format!("k{number}"))
                };
                let pairs: Vec<_> = pairs.filter(fits).collect();
                let (a, b) = self.random.pick(&pairs);
                let kind = self.random.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
                let from = format!("{name} {kind} t{other} ON {} = {}", a.name, b.name);
                scope.extend(right);
                Source { from, scope, sites: vec![0, 1], is_large: self.sites.iter().any(|s| s.is_large) }
            }
            _ => Source { from: name, scope, sites: vec![number], is_large },
        }
    }

    /// A query over everything, and over each of three parts.
    pub(super) fn check_partition(&mut self, reader: Reader) -> Option<()> {
        let source = self.source();
        let condition = self.condition(&source.sites, &source.scope);
        let site = self.random.pick(&source.sites);
        let base = match self.random.one_in(if source.is_large { 2 } else { 4 }) {
            true => Some(self.sites[site].range(&mut self.random)),
            false if self.random.one_in(4) => Some(self.condition(&source.sites, &source.scope)),
            false => None,
        };
        let all = base.as_ref().map_or_else(String::new, |base| format!(" WHERE {base}"));
        let parts = PARTS.map(|part| {
            let part = part.replace('?', &condition);
            base.as_ref().map_or_else(|| format!(" WHERE {part}"), |base| format!(" WHERE {base} AND {part}"))
        });
        let may_be_long = base.is_some() || !source.is_large || self.random.one_in(6);
        match self.random.below(6) {
            0 | 1 if may_be_long => self.rows(reader, &source, &all, &parts),
            0..3 => self.distinct(reader, &source, &all, &parts),
            3 => self.aggregates(reader, &source, &all, &parts, false),
            4 => self.aggregates(reader, &source, &all, &parts, true),
            _ => self.having(reader, &source, &all),
        }
    }

    /// Some columns or expressions over them. `exact`: equal values have the same text.
    fn list(&mut self, scope: &[Visible], exact: bool) -> Vec<Visible> {
        let fitting: Vec<Visible> = scope.iter().filter(|v| !exact || v.kind.is_exact()).cloned().collect();
        let mut list = Vec::new();
        for _ in 0..1 + self.random.index(3) {
            let mut item = self.random.pick(&fitting);
            if self.random.one_in(4) {
                item.name = self.expression(|g| g.scalar(scope, item.kind, 1));
            }
            list.push(item);
        }
        list
    }

    /// Rows as they are.
    fn rows(&mut self, reader: Reader, source: &Source, all: &str, parts: &[String; 3]) -> Option<()> {
        let list = names(&self.list(&source.scope, false));
        let select = |which: &str| format!("SELECT {list} FROM {}{which}", source.from);
        let whole = select(all);
        let expected = self.answer(reader, &whole)?;
        self.asked.push(whole.clone());
        let (text, rows) = self.in_parts(reader, parts.each_ref().map(|part| select(part)))?;
        self.same(reader, [&whole, &text], expected, rows);
        Some(())
    }

    /// Three queries, one by one or as one.
    fn in_parts(&mut self, reader: Reader, parts: [String; 3]) -> Option<(String, Rows)> {
        let text = parts.join(" UNION ALL ");
        if self.random.one_in(2) {
            let rows = self.answer(reader, &text)?;
            return Some((text, rows));
        }
        let mut rows = Vec::new();
        for part in &parts {
            rows.extend(self.answer(reader, part)?);
        }
        Some((text, rows))
    }

    /// Distinct rows: a union removes what several parts have. They are counted where their texts may differ.
    fn distinct(&mut self, reader: Reader, source: &Source, all: &str, parts: &[String; 3]) -> Option<()> {
        let exact = !source.is_large && self.random.one_in(2);
        let list = names(&self.list(&source.scope, exact));
        let whole = format!("SELECT DISTINCT {list} FROM {}{all}", source.from);
        let union = parts.each_ref().map(|part| format!("SELECT {list} FROM {}{part}", source.from)).join(" UNION ");
        let queries = match exact {
            true => [whole, union],
            false => [whole, union].map(|query| format!("SELECT count(*) FROM ({query}) AS q")),
        };
        let (expected, rows) = (self.answer(reader, &queries[0])?, self.answer(reader, &queries[1])?);
        self.same(reader, [&queries[0], &queries[1]], expected, rows);
        Some(())
    }

    /// An aggregate of an expression, and how it is put together from its parts.
    fn aggregate(&mut self, scope: &[Visible]) -> (String, &'static str) {
        let column = self.random.pick(scope);
        let argument = match self.random.one_in(4) {
            true => self.expression(|g| g.scalar(scope, column.kind, 1)),
            false => column.name.clone(),
        };
        match (self.random.below(5), column.kind) {
            (0, _) => ("count(*)".to_owned(), "sum"),
            (1, _) => (format!("count({argument})"), "sum"),
            (2, Kind::Integer | Kind::Big | Kind::Small | Kind::Decimal | Kind::Wide | Kind::Numeric) => {
                (format!("sum({argument})"), "sum")
            }
            (_, Kind::Bool) if self.random.one_in(2) => (format!("bool_and({argument})"), "bool_and"),
            (_, Kind::Bool) => (format!("bool_or({argument})"), "bool_or"),
            (3, kind) if kind.is_exact() => (format!("min({argument})"), "min"),
            (4, kind) if kind.is_exact() => (format!("max({argument})"), "max"),
            _ => (format!("count({argument})"), "sum"),
        }
    }

    /// Aggregates of all rows, or of groups.
    fn aggregates(
        &mut self,
        reader: Reader,
        source: &Source,
        all: &str,
        parts: &[String; 3],
        in_groups: bool,
    ) -> Option<()> {
        let keys = if in_groups { self.list(&source.scope, true) } else { Vec::new() };
        let calls: Vec<(String, &str)> = (0..1 + self.random.index(3)).map(|_| self.aggregate(&source.scope)).collect();
        let mut list: Vec<String> = keys.iter().map(|key| key.name.clone()).collect();
        list.extend(calls.iter().map(|(call, _)| call.clone()));
        let places: Vec<String> = (1..=keys.len()).map(|place| place.to_string()).collect();
        let groups = if in_groups { format!(" GROUP BY {}", places.join(", ")) } else { String::new() };
        let select = |which: &str| format!("SELECT {} FROM {}{which}{groups}", list.join(", "), source.from);
        let columns: Vec<String> = (0..list.len()).map(|place| format!("x{place}")).collect();
        let mut combined = columns[..keys.len()].to_vec();
        combined.extend(calls.iter().zip(&columns[keys.len()..]).map(|((_, how), column)| format!("{how}({column})")));
        let whole = select(all);
        let union = parts.each_ref().map(|part| select(part)).join(" UNION ALL ");
        let (combined, columns) = (combined.join(", "), columns.join(", "));
        let together = format!("SELECT {combined} FROM ({union}) AS parts({columns}){groups}");
        let (expected, rows) = (self.answer(reader, &whole)?, self.answer(reader, &together)?);
        self.asked.push(whole.clone());
        self.same(reader, [&whole, &together], expected, rows);
        Some(())
    }

    /// Groups for which a condition on their aggregates is true, false and NULL.
    fn having(&mut self, reader: Reader, source: &Source, all: &str) -> Option<()> {
        let mut keys = self.list(&source.scope, true);
        let column = self.random.pick(&source.scope);
        let call = format!("min({})", column.name);
        let is_ordered = !matches!(column.kind, Kind::Bool | Kind::Json);
        keys.retain(|key| source.scope.iter().any(|column| column.name == key.name));
        let mut scope = keys.clone();
        scope.push(Visible { name: "count(*)".to_owned(), kind: Kind::Big });
        if is_ordered {
            scope.push(Visible { name: call, kind: column.kind });
        }
        let depth = self.random.index(3);
        let condition = crate::random::Generator::new(&mut self.random, &[], 0).predicate(&scope, depth);
        let groups = if keys.is_empty() { String::new() } else { format!(" GROUP BY {}", names(&keys)) };
        keys.push(Visible { name: "count(*)".to_owned(), kind: Kind::Big });
        let whole = format!("SELECT {} FROM {}{all}{groups}", names(&keys), source.from);
        let expected = self.answer(reader, &whole)?;
        self.asked.push(whole.clone());
        let parts = PARTS.map(|part| format!("{whole} HAVING {}", part.replace('?', &condition)));
        let (text, rows) = self.in_parts(reader, parts)?;
        self.same(reader, [&whole, &text], expected, rows);
        Some(())
    }
}

fn names(list: &[Visible]) -> String {
    list.iter().map(|item| item.name.as_str()).collect::<Vec<_>>().join(", ")
}
