//! Random queries: joins of all kinds, groups, set operations, CTEs, order and limit.

use super::data::{KINDS, Kind, Table, Visible};
use base::Random;

/// A random query over the tables.
pub fn query(random: &mut Random, tables: &[Table]) -> String {
    let mut generator = Generator::new(random, tables, 3);
    let with = generator.random.one_in(10).then(|| generator.common_table());
    let text = generator.statement();
    format!("{}{text}", with.unwrap_or_default())
}

/// What a query is made with.
pub(crate) struct Generator<'a> {
    pub random: &'a mut Random,
    pub tables: &'a [Table],
    /// Aliases given so far: all differ, so that any scope may name any of them.
    aliases: usize,
    /// How many subqueries may still be made.
    pub subqueries: usize,
    /// The columns of the CTE `w`, if there is one.
    common: Option<Vec<Visible>>,
}

impl<'a> Generator<'a> {
    /// One that makes at most so many subqueries, of these tables.
    pub(crate) fn new(random: &'a mut Random, tables: &'a [Table], subqueries: usize) -> Self {
        Self { random, tables, aliases: 0, subqueries, common: None }
    }
}

impl Generator<'_> {
    fn statement(&mut self) -> String {
        if self.random.one_in(8) {
            let kinds: Vec<Kind> = (0..1 + self.random.index(2)).map(|_| self.random.pick(KINDS)).collect();
            let operator = self.set_operator();
            let (a, b) = (self.plain(&kinds), self.plain(&kinds));
            return self.ordered(format!("{a} {operator} {b}"), kinds.len());
        }
        if self.random.one_in(2) {
            let (text, columns) = self.grouped();
            return self.ordered(text, columns);
        }
        let kinds: Vec<Kind> = (0..1 + self.random.index(4)).map(|_| self.random.pick(KINDS)).collect();
        let mut text = self.plain(&kinds);
        if self.random.one_in(5) {
            text = text.replacen("SELECT", "SELECT DISTINCT", 1);
        }
        self.ordered(text, kinds.len())
    }

    pub(super) fn set_operator(&mut self) -> &'static str {
        const OPERATORS: &[&str] = &["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"];
        OPERATORS[self.random.index(OPERATORS.len())]
    }

    fn common_table(&mut self) -> String {
        let kinds = [Kind::Integer, self.random.pick(KINDS)];
        let mut text = self.plain(&kinds);
        // Of the first column few values come to be, so that the rounds end.
        let recursive = self.random.one_in(3);
        if recursive {
            text = format!("{text} UNION SELECT w0 % 5 + 1, w1 FROM w WHERE w0 IS NOT NULL");
        }
        let column = |(place, kind): (usize, &Kind)| Visible { name: format!("w{place}"), kind: *kind };
        self.common = Some(kinds.iter().enumerate().map(column).collect());
        format!("WITH {}w(w0, w1) AS ({text}) ", if recursive { "RECURSIVE " } else { "" })
    }

    /// A total order of the output, and perhaps a limit: which of equal rows comes first does not show.
    fn ordered(&mut self, text: String, columns: usize) -> String {
        if self.random.one_in(2) {
            return text;
        }
        let directions = ["", " DESC", " NULLS FIRST", " DESC NULLS LAST"];
        let keys =
            (1..=columns).map(|c| format!("{c}{}", self.random.pick(&directions))).collect::<Vec<_>>().join(", ");
        let limit = match self.random.index(3) {
            0 => format!(" LIMIT {}", self.random.index(12)),
            1 => format!(" LIMIT {} OFFSET {}", self.random.index(12), self.random.index(6)),
            _ => String::new(),
        };
        format!("{text} ORDER BY {keys}{limit}")
    }

    fn plain(&mut self, kinds: &[Kind]) -> String {
        let (from, scope) = self.source(&[]);
        let list = kinds.iter().map(|k| self.output(&scope, *k)).collect::<Vec<_>>().join(", ");
        format!("SELECT {list} FROM {from}{}", self.filter(&scope))
    }

    /// An item of a select list: sometimes a scalar subquery, correlated or not.
    fn output(&mut self, scope: &[Visible], kind: Kind) -> String {
        if self.random.one_in(8) && self.subqueries > 0 {
            return self.scalar_subquery(scope, kind);
        }
        self.scalar(scope, kind, 2)
    }

    pub(super) fn filter(&mut self, scope: &[Visible]) -> String {
        if self.random.one_in(2) {
            return String::new();
        }
        let mut text = format!(" WHERE {}", self.predicate(scope, 2));
        if self.random.one_in(4) && self.subqueries > 0 {
            let operator = self.random.pick(&["AND", "AND", "OR"]);
            text += &format!(" {operator} {}", self.subquery_predicate(scope));
        }
        text
    }

    fn grouped(&mut self) -> (String, usize) {
        let (from, scope) = self.source(&[]);
        let mut keys = Vec::new();
        for _ in 0..self.random.index(4) {
            let column = self.random.pick(&scope);
            let key =
                if self.random.one_in(5) { self.scalar_without_queries(&scope, column.kind) } else { column.name };
            if !keys.contains(&key) && key.contains('.') {
                keys.push(key);
            }
        }
        let mut list = keys.clone();
        for _ in 0..1 + self.random.index(3) {
            list.push(self.aggregate(&scope));
        }
        let columns = list.len();
        let mut text = format!("SELECT {} FROM {from}{}", list.join(", "), self.filter(&scope));
        if !keys.is_empty() {
            let places: Vec<String> = (1..=keys.len()).map(|p| p.to_string()).collect();
            text += &format!(" GROUP BY {}", places.join(", "));
        }
        if self.random.one_in(3) {
            let operator = self.random.pick(&[">", "<", "="]);
            text += &match self.random.one_in(3) {
                true => format!(" HAVING {} IS NOT NULL", self.aggregate(&scope)),
                false => format!(" HAVING count(*) {operator} {}", self.random.index(6)),
            };
        }
        (text, columns)
    }

    fn scalar_without_queries(&mut self, scope: &[Visible], kind: Kind) -> String {
        let allowed = std::mem::take(&mut self.subqueries);
        let text = self.scalar(scope, kind, 1);
        self.subqueries = allowed;
        text
    }

    pub(super) fn aggregate(&mut self, scope: &[Visible]) -> String {
        let kind = self.random.pick(KINDS);
        let argument = self.scalar_without_queries(scope, kind);
        let distinct = if self.random.one_in(4) { "DISTINCT " } else { "" };
        let ordered = kind != Kind::Bool;
        let call = match self.random.index(8) {
            0 => "count(*)".to_string(),
            1 => format!("count({distinct}{argument})"),
            2 if ordered => format!("min({argument})"),
            3 if ordered => format!("max({argument})"),
            4 => {
                let kind = self.random.pick(&[Kind::Integer, Kind::Small, Kind::Decimal, Kind::Double, Kind::Real]);
                format!("avg({distinct}{})", self.scalar_without_queries(scope, kind))
            }
            5 if self.random.one_in(2) => {
                let (text, separator) = (Kind::Text, Kind::Text.constant(self.random));
                format!("string_agg({distinct}{}, {separator})", self.scalar_without_queries(scope, text))
            }
            5 => {
                let function = self.random.pick(&["bool_and", "bool_or"]);
                format!("{function}({})", self.scalar_without_queries(scope, Kind::Bool))
            }
            _ => {
                let kind =
                    self.random.pick(&[Kind::Integer, Kind::Big, Kind::Small, Kind::Decimal, Kind::Wide, Kind::Double]);
                format!("sum({distinct}{})", self.scalar_without_queries(scope, kind))
            }
        };
        let allowed = std::mem::take(&mut self.subqueries);
        let text = match self.random.index(8) {
            0 => format!("{call} FILTER (WHERE {})", self.predicate(scope, 1)),
            1 if call.starts_with("count") => format!("({call} + 1)"),
            2 => format!("coalesce({call}, NULL)"),
            _ => call,
        };
        self.subqueries = allowed;
        text
    }

    /// A FROM clause of one to four tables, and the columns that it makes visible; a lateral subquery may name `outer`.
    pub(super) fn source(&mut self, outer: &[Visible]) -> (String, Vec<Visible>) {
        let (mut text, mut scope) = self.relation();
        for _ in 0..[0, 0, 1, 1, 2, 3][self.random.index(6)] {
            if self.random.one_in(12) && self.subqueries > 0 {
                let (lateral, added) = self.lateral(&[&scope, outer].concat());
                let kind = self.random.pick(&["CROSS JOIN LATERAL", "LEFT JOIN LATERAL"]);
                text += &format!(" {kind} {lateral}{}", if kind.starts_with("LEFT") { " ON true" } else { "" });
                scope.extend(added);
                continue;
            }
            let (right, added) = self.relation();
            let kind = self.random.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "JOIN", "LEFT JOIN"]);
            let mut condition = self.join_condition(&scope, &added);
            scope.extend(added);
            if self.random.one_in(4) {
                let allowed = std::mem::take(&mut self.subqueries);
                condition += &format!(" AND {}", self.predicate(&scope, 1));
                self.subqueries = allowed;
            }
            text += &format!(" {kind} {right} ON {condition}");
        }
        (text, scope)
    }

    /// Mostly an equality of two columns of a kind; sometimes another comparison.
    fn join_condition(&mut self, left: &[Visible], right: &[Visible]) -> String {
        let partner = self.random.pick(right);
        let same: Vec<&Visible> = left.iter().filter(|v| v.kind == partner.kind).collect();
        let partner = if same.is_empty() || self.random.one_in(2) { right[0].clone() } else { partner };
        let same: Vec<&Visible> = left.iter().filter(|v| v.kind == partner.kind).collect();
        let operator = match self.random.index(12) {
            0 if partner.kind != Kind::Bool => "<",
            1 => "IS NOT DISTINCT FROM",
            _ => "=",
        };
        format!("{} {operator} {}", self.random.pick(&same).name, partner.name)
    }

    fn lateral(&mut self, scope: &[Visible]) -> (String, Vec<Visible>) {
        self.subqueries -= 1;
        let alias = self.alias();
        let (from, inner) = self.relation();
        let condition = self.correlation(&inner, scope);
        let kind = self.random.pick(KINDS);
        let all: Vec<Visible> = [&inner, scope].concat();
        let list = match self.random.one_in(2) {
            true => format!("count(*) AS x, {} AS y", self.aggregate_of(&inner, kind)),
            false => format!("{} AS x, {} AS y", self.scalar(&inner, Kind::Big, 1), self.scalar(&all, kind, 1)),
        };
        let visible = |name: &str, kind| Visible { name: format!("{alias}.{name}"), kind };
        let columns = vec![visible("x", Kind::Big), visible("y", kind)];
        let first = if self.random.one_in(3) { self.first_rows("1, 2") } else { String::new() };
        (format!("(SELECT {list} FROM {from} WHERE {condition}{first}) AS {alias}"), columns)
    }

    /// A limit over an order that leaves no choice.
    pub(super) fn first_rows(&mut self, keys: &str) -> String {
        let descending = self.random.pick(&["", " DESC", " NULLS FIRST"]);
        let offset = if self.random.one_in(3) { " OFFSET 1" } else { "" };
        format!(" ORDER BY {keys}{descending} LIMIT {}{offset}", self.random.index(4))
    }

    /// An aggregate that gives the kind of its argument.
    pub(super) fn aggregate_of(&mut self, scope: &[Visible], kind: Kind) -> String {
        let argument = self.scalar_without_queries(scope, kind);
        match kind {
            Kind::Bool => format!("bool_or({argument})"),
            _ => format!("{}({argument})", self.random.pick(&["min", "max"])),
        }
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("a{}", self.aliases)
    }

    /// A table, or a subquery of one, under an alias; its first column is an integer.
    pub(super) fn relation(&mut self) -> (String, Vec<Visible>) {
        let alias = self.alias();
        let table = self.random.pick(self.tables);
        let visible = |name: &str, kind| Visible { name: format!("{alias}.{name}"), kind };
        let key = &table.columns[0].name;
        if let Some(common) = self.common.as_ref().filter(|_| self.random.one_in(2)) {
            return (format!("w AS {alias}"), common.iter().map(|v| visible(&v.name, v.kind)).collect());
        }
        let last = table.columns.last().expect("at least three columns");
        let pair = vec![visible("x", Kind::Integer), visible("y", last.kind)];
        match self.random.index(30) {
            0 | 1 => {
                let text = format!("(SELECT {key}, count(*) AS n{key} FROM {} GROUP BY {key}) AS {alias}", table.name);
                (text, vec![visible(key, Kind::Integer), visible(&format!("n{key}"), Kind::Big)])
            }
            2 => (format!("(SELECT DISTINCT {key}, {} FROM {}) AS {alias}(x, y)", last.name, table.name), pair),
            3 if self.random.one_in(2) => {
                let body = format!("SELECT DISTINCT ON ({key}) {key}, {} FROM {} ORDER BY 1, 2", last.name, table.name);
                (format!("({body}) AS {alias}(x, y)"), pair)
            }
            3 => {
                let limit = self.random.index(8);
                let body = format!("SELECT {key}, {} FROM {} ORDER BY 1, 2 LIMIT {limit}", last.name, table.name);
                (format!("({body}) AS {alias}(x, y)"), pair)
            }
            4 => {
                let (a, b) = (last.kind.constant(self.random), self.set_operator());
                let body = format!("SELECT {key}, {} FROM {} {b} SELECT 3, {a}", last.name, table.name);
                (format!("({body}) AS {alias}(x, y)"), pair)
            }
            5 => {
                let row = |random: &mut Random| {
                    format!("({}, {})", Kind::Integer.constant(random), last.kind.constant(random))
                };
                let rows = (0..1 + self.random.index(4)).map(|_| row(self.random)).collect::<Vec<_>>().join(", ");
                (format!("(VALUES {rows}) AS {alias}(x, y)"), pair)
            }
            _ => {
                let columns = table.columns.iter().map(|c| visible(&c.name, c.kind)).collect();
                (format!("{} AS {alias}", table.name), columns)
            }
        }
    }
}
