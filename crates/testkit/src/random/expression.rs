//! Random scalar expressions over the columns in scope, with subqueries.

use super::data::{Kind, Visible};
use super::query::Generator;
use base::Random;

impl Generator<'_> {
    /// A random expression of a kind.
    pub(crate) fn scalar(&mut self, scope: &[Visible], kind: Kind, depth: usize) -> String {
        let columns: Vec<&Visible> = scope.iter().filter(|v| v.kind == kind).collect();
        if depth == 0 || self.random.one_in(3) {
            return match columns.is_empty() || self.random.one_in(4) {
                true if self.random.one_in(10) => format!("CAST(NULL AS {})", kind.sql()),
                true => kind.constant(self.random),
                false => self.random.pick(&columns).name.clone(),
            };
        }
        let next = depth - 1;
        if let Some(other) = self.of_rarer_kinds(scope, kind, next) {
            return other;
        }
        match self.random.index(9) {
            0 => {
                let condition = self.predicate(scope, next);
                let (a, b) = (self.scalar(scope, kind, next), self.scalar(scope, kind, next));
                format!("CASE WHEN {condition} THEN {a} ELSE {b} END")
            }
            1 => format!("coalesce({}, {})", self.scalar(scope, kind, next), self.scalar(scope, kind, next)),
            2 => format!("nullif({}, {})", self.scalar(scope, kind, next), self.scalar(scope, kind, next)),
            3 => {
                let of = self.any_kind(scope);
                let subject = self.scalar(scope, of, next);
                let (x, y) = (of.constant(self.random), of.constant(self.random));
                let (a, b) = (self.scalar(scope, kind, next), self.scalar(scope, kind, next));
                format!("CASE {subject} WHEN {x} THEN {a} WHEN {y} THEN {b} END")
            }
            4 if kind != Kind::Bool => {
                let function = self.random.pick(&["greatest", "least"]);
                format!("{function}({}, {})", self.scalar(scope, kind, next), self.scalar(scope, kind, next))
            }
            _ => self.of_kind(scope, kind, next),
        }
    }

    fn of_kind(&mut self, scope: &[Visible], kind: Kind, next: usize) -> String {
        let a = self.scalar(scope, kind, next);
        match kind {
            // Small enough that sums and products of a few do not overflow, most of the time.
            Kind::Integer => {
                let b = self.scalar(scope, Kind::Integer, next);
                match self.random.index(9) {
                    0 => format!("({a} % 7 + {b} % 5)"),
                    1 => format!("(({a} % 100) * ({b} % 100))"),
                    2 => format!("CAST(length({}) AS integer)", self.scalar(scope, Kind::Text, next)),
                    3 => format!("({a} % 1000 - {b} % 1000)"),
                    // What must not fail, as the branch is not taken.
                    4 => format!("CASE WHEN {b} <> 0 THEN {a} / {b} ELSE {a} END"),
                    5 => format!("CASE WHEN {a} > 100000 OR {a} < -100000 THEN 0 ELSE {a} * {a} % 1000 END"),
                    6 => {
                        let field = self.random.pick(&["year", "month", "day", "quarter", "dow"]).to_string();
                        let date = self.scalar(scope, Kind::Date, next);
                        format!("CAST(extract({field} FROM {date}) AS integer)")
                    }
                    7 => format!("CAST({} AS integer)", self.scalar(scope, Kind::Small, next)),
                    _ => format!("abs({a} % 10000)"),
                }
            }
            Kind::Big => {
                let b = self.scalar(scope, Kind::Integer, next);
                // A constant alone would be an integer, and the sum overflow for rows that only some plans look at.
                let b = format!("CAST({b} AS bigint)");
                let forms = [format!("({a} + {b})"), format!("({a} - {b})"), b];
                self.random.pick(&forms)
            }
            Kind::Small => format!("CAST({a} % 3 + 1 AS smallint)"),
            Kind::Decimal | Kind::Wide => {
                let b = self.scalar(scope, kind, next);
                let form = match self.random.index(5) {
                    0 => format!("({a} + {b})"),
                    1 => format!("({a} - {b})"),
                    2 => format!("({a} * {})", self.scalar(scope, Kind::Small, next)),
                    3 if kind == Kind::Decimal => format!("round({a}, 1)"),
                    _ => format!("(- {a})"),
                };
                format!("CAST({form} AS {})", kind.sql())
            }
            Kind::Double => {
                let b = self.scalar(scope, Kind::Integer, next);
                let forms = [format!("({a} + {b})"), format!("({a} * 0.5)"), format!("CAST({b} AS double precision)")];
                self.random.pick(&forms)
            }
            Kind::Real => match self.random.index(3) {
                0 => format!("CAST({} AS real)", self.scalar(scope, Kind::Integer, next)),
                1 => format!("(- {a})"),
                _ => format!("CAST({a} / 2 AS real)"),
            },
            Kind::Interval => match self.random.index(3) {
                0 => format!("({a} + INTERVAL '1 day')"),
                1 => format!("(- {a})"),
                _ => format!("({a} + {})", self.scalar(scope, Kind::Interval, next)),
            },
            Kind::Text => self.text(scope, &a, next),
            Kind::Date => match self.random.index(5) {
                0 => format!("CAST({a} + INTERVAL '1 month' AS date)"),
                1 => format!("CAST({a} - INTERVAL '1 year' AS date)"),
                2 => format!("({a} + 31)"),
                3 => format!("CAST(date_trunc('month', {a}) AS date)"),
                _ => format!("CAST({} AS date)", self.scalar(scope, Kind::Timestamp, next)),
            },
            Kind::Timestamp => match self.random.index(4) {
                0 => format!("({a} + INTERVAL '36 hours')"),
                1 => format!("({} + INTERVAL '3 months')", self.scalar(scope, Kind::Date, next)),
                2 => format!("date_trunc('day', {a})"),
                _ => format!("CAST({} AS timestamp)", self.scalar(scope, Kind::Date, next)),
            },
            Kind::Bool => self.predicate(scope, next),
            _ => self.rarer(scope, kind, next),
        }
    }

    fn text(&mut self, scope: &[Visible], a: &str, next: usize) -> String {
        let b = self.scalar(scope, Kind::Text, next);
        match self.random.index(10) {
            0 => format!("({a} || {b})"),
            1 => format!("upper({a})"),
            2 => format!("substring({a} FROM {} FOR {})", 1 + self.random.index(4), self.random.index(6)),
            3 => format!("trim({a})"),
            4 => format!("replace({a}, 'a', {b})"),
            5 => format!("left({a}, {})", self.random.index(14)),
            6 => format!("lpad({a}, {}, '*')", self.random.index(16)),
            7 => format!("reverse({a})"),
            8 => format!("CAST({} AS text)", self.scalar(scope, Kind::Integer, next)),
            _ => format!("right({a}, {})", self.random.index(14)),
        }
    }

    /// The kind of a column in scope.
    fn any_kind(&mut self, scope: &[Visible]) -> Kind {
        if scope.is_empty() { Kind::Integer } else { self.random.pick(scope).kind }
    }

    /// A random condition.
    pub(crate) fn predicate(&mut self, scope: &[Visible], depth: usize) -> String {
        let next = depth.saturating_sub(1);
        if depth > 0 && self.random.one_in(3) {
            let (a, b) = (self.predicate(scope, next), self.predicate(scope, next));
            return match self.random.index(5) {
                0 => format!("(NOT {a})"),
                1 | 2 => format!("({a} AND {b})"),
                3 => format!("({a} IS {}{})", self.negation(2), self.random.pick(&["TRUE", "FALSE"])),
                _ => format!("({a} OR {b})"),
            };
        }
        if depth > 0 && self.random.one_in(10) && self.subqueries > 0 {
            return format!("({})", self.subquery_predicate(scope));
        }
        if let Some(text) = self.rarer_predicate(scope, next) {
            return text;
        }
        let kind = self.any_kind(scope);
        let a = self.scalar(scope, kind, next);
        let text = match self.random.index(8) {
            0 => format!("{a} IS {}NULL", self.negation(2)),
            1 => {
                let item = |random: &mut Random| {
                    if random.one_in(12) { "NULL".to_string() } else { kind.constant(random) }
                };
                let list = (0..1 + self.random.index(4)).map(|_| item(self.random)).collect::<Vec<_>>().join(", ");
                format!("{a} {}IN ({list})", self.negation(3))
            }
            2 if kind != Kind::Bool => {
                let not = self.negation(4);
                format!("{a} {not}BETWEEN {} AND {}", kind.constant(self.random), kind.constant(self.random))
            }
            3 if kind == Kind::Text => {
                const PATTERNS: &[&str] =
                    &["a%", "%b", "%a%", "_b%", "foo%", "%", "", "%longer%text%", "_", "%_", "a_onger%", "é"];
                let pattern = match self.random.one_in(5) {
                    true => self.scalar(scope, Kind::Text, 0),
                    false => format!("'{}'", self.random.pick(PATTERNS)),
                };
                format!("{a} {}LIKE {pattern}", self.negation(4))
            }
            4 => format!("{a} IS {}DISTINCT FROM {}", self.negation(2), self.scalar(scope, kind, next)),
            _ => {
                let operators: &[&str] =
                    if kind == Kind::Bool { &["=", "<>"] } else { &["=", "<>", "<", "<=", ">", ">="] };
                let operator = self.random.pick(operators);
                format!("{a} {operator} {}", self.scalar(scope, kind, next))
            }
        };
        format!("({text})")
    }

    /// `NOT `, once in `n` times.
    pub(super) fn negation(&mut self, n: u64) -> &'static str {
        if self.random.one_in(n) { "NOT " } else { "" }
    }
}
