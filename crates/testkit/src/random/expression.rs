//! Random scalar expressions over the columns in scope.

use super::Random;
use super::data::Kind;

/// A column that an expression may name: as `alias.column`.
#[derive(Clone, Debug)]
pub(super) struct Visible {
    pub name: String,
    pub kind: Kind,
}

/// A random expression of a kind.
pub(super) fn scalar(random: &mut Random, scope: &[Visible], kind: Kind, depth: usize) -> String {
    let columns: Vec<&Visible> = scope.iter().filter(|v| v.kind == kind).collect();
    if depth == 0 || random.one_in(3) {
        return match columns.is_empty() || random.one_in(4) {
            true if random.one_in(12) => format!("CAST(NULL AS {})", kind.sql()),
            true => kind.constant(random),
            false => random.pick(&columns).name.clone(),
        };
    }
    let next = depth - 1;
    match random.below(6) {
        0 => {
            let condition = predicate(random, scope, next);
            let (a, b) = (scalar(random, scope, kind, next), scalar(random, scope, kind, next));
            format!("CASE WHEN {condition} THEN {a} ELSE {b} END")
        }
        1 => format!("coalesce({}, {})", scalar(random, scope, kind, next), scalar(random, scope, kind, next)),
        2 => format!("nullif({}, {})", scalar(random, scope, kind, next), scalar(random, scope, kind, next)),
        _ => of_kind(random, scope, kind, next),
    }
}

fn of_kind(random: &mut Random, scope: &[Visible], kind: Kind, next: usize) -> String {
    let mut sub = |kind| scalar(random, scope, kind, next);
    match kind {
        // Small enough that sums and products of a few do not overflow, most of the time.
        Kind::Integer => {
            let (a, b) = (sub(Kind::Integer), sub(Kind::Integer));
            match random.below(5) {
                0 => format!("({a} % 7 + {b} % 5)"),
                1 => format!("(({a} % 100) * ({b} % 100))"),
                2 => format!("length({})", scalar(random, scope, Kind::Text, next)),
                3 => format!("({a} % 1000 - {b} % 1000)"),
                _ => format!("abs({a} % 10000)"),
            }
        }
        Kind::Big => {
            let (a, b) = (sub(Kind::Big), sub(Kind::Integer));
            [format!("({a} + {b})"), format!("({a} - {b})"), format!("CAST({b} AS bigint)")][random.below(3)].clone()
        }
        Kind::Decimal => {
            let (a, b) = (sub(Kind::Decimal), sub(Kind::Decimal));
            let form = [format!("({a} + {b})"), format!("({a} - {b})"), format!("(- {a})")][random.below(3)].clone();
            format!("CAST({form} AS decimal(9, 2))")
        }
        Kind::Text => {
            let (a, b) = (sub(Kind::Text), sub(Kind::Text));
            match random.below(4) {
                0 => format!("({a} || {b})"),
                1 => format!("upper({a})"),
                2 => format!("substring({a} FROM {} FOR {})", 1 + random.below(4), random.below(6)),
                _ => format!("trim({a})"),
            }
        }
        Kind::Date => sub(Kind::Date),
        Kind::Bool => predicate(random, scope, next),
    }
}

/// A random condition.
pub(super) fn predicate(random: &mut Random, scope: &[Visible], depth: usize) -> String {
    let next = depth.saturating_sub(1);
    if depth > 0 && random.one_in(3) {
        let (a, b) = (predicate(random, scope, next), predicate(random, scope, next));
        return match random.below(4) {
            0 => format!("(NOT {a})"),
            1 | 2 => format!("({a} AND {b})"),
            _ => format!("({a} OR {b})"),
        };
    }
    let kind = match scope.is_empty() {
        true => Kind::Integer,
        false => random.pick(scope).kind,
    };
    let a = scalar(random, scope, kind, next);
    let text = match random.below(7) {
        0 => format!("{a} IS {}NULL", if random.one_in(2) { "NOT " } else { "" }),
        1 => {
            let list = (0..1 + random.below(4)).map(|_| kind.constant(random)).collect::<Vec<_>>().join(", ");
            format!("{a} {}IN ({list})", if random.one_in(3) { "NOT " } else { "" })
        }
        2 if kind != Kind::Bool => format!("{a} BETWEEN {} AND {}", kind.constant(random), kind.constant(random)),
        3 if kind == Kind::Text => {
            let pattern = random.pick(&["a%", "%b", "%a%", "_b%", "foo%", "%", "", "%longer%text%"]);
            format!("{a} {}LIKE '{pattern}'", if random.one_in(4) { "NOT " } else { "" })
        }
        _ => {
            let operators: &[&str] = if kind == Kind::Bool { &["=", "<>"] } else { &["=", "<>", "<", "<=", ">", ">="] };
            let operator = random.pick(operators);
            format!("{a} {operator} {}", scalar(random, scope, kind, next))
        }
    };
    format!("({text})")
}
