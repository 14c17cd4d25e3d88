//! Random queries: joins of all kinds, groups, subqueries, set operations, order and limit.

use super::Random;
use super::data::{KINDS, Kind, Table};
use super::expression::{Visible, predicate, scalar};

/// A random query over the tables.
pub fn query(random: &mut Random, tables: &[Table]) -> String {
    if random.one_in(8) {
        let kinds: Vec<Kind> = (0..1 + random.below(2)).map(|_| *random.pick(KINDS)).collect();
        let operator = random.pick(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"]);
        let (a, b) = (plain(random, tables, &kinds), plain(random, tables, &kinds));
        return ordered(random, format!("{a} {operator} {b}"), kinds.len());
    }
    if random.one_in(2) {
        let (text, columns) = grouped(random, tables);
        return ordered(random, text, columns);
    }
    let kinds: Vec<Kind> = (0..1 + random.below(4)).map(|_| *random.pick(KINDS)).collect();
    let mut text = plain(random, tables, &kinds);
    if random.one_in(5) {
        text = text.replacen("SELECT", "SELECT DISTINCT", 1);
    }
    ordered(random, text, kinds.len())
}

/// A total order of the output, and perhaps a limit: which of equal rows comes first does not show.
fn ordered(random: &mut Random, text: String, columns: usize) -> String {
    if random.one_in(2) {
        return text;
    }
    let direction = |random: &mut Random| random.pick(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]).to_string();
    let keys = (1..=columns).map(|c| format!("{c}{}", direction(random))).collect::<Vec<_>>().join(", ");
    let limit = match random.below(3) {
        0 => format!(" LIMIT {}", random.below(12)),
        1 => format!(" LIMIT {} OFFSET {}", random.below(12), random.below(6)),
        _ => String::new(),
    };
    format!("{text} ORDER BY {keys}{limit}")
}

fn plain(random: &mut Random, tables: &[Table], kinds: &[Kind]) -> String {
    let (from, scope) = source(random, tables, "");
    let list = kinds.iter().map(|k| output(random, tables, &scope, *k)).collect::<Vec<_>>().join(", ");
    format!("SELECT {list} FROM {from}{}", filter(random, tables, &scope))
}

/// An item of a select list: sometimes a scalar subquery, correlated or not.
fn output(random: &mut Random, tables: &[Table], scope: &[Visible], kind: Kind) -> String {
    if kind == Kind::Integer && random.one_in(8) {
        let (from, inner) = alias(random, tables, "s");
        let condition = correlation(random, &inner, scope);
        let value = random.pick(&["count(*)", "max(s.k)", "min(s.k)"]).replace("s.k", &inner[0].name);
        return format!("(SELECT {value} FROM {from} WHERE {condition})");
    }
    scalar(random, scope, kind, 2)
}

fn filter(random: &mut Random, tables: &[Table], scope: &[Visible]) -> String {
    if random.one_in(2) {
        return String::new();
    }
    let mut text = format!(" WHERE {}", predicate(random, scope, 2));
    if random.one_in(4) {
        let (from, inner) = alias(random, tables, "e");
        let condition = correlation(random, &inner, scope);
        let not = if random.one_in(3) { "NOT " } else { "" };
        let integers: Vec<&Visible> = scope.iter().filter(|v| v.kind == Kind::Integer).collect();
        let operator = random.pick(&["AND", "AND", "OR"]);
        text += &match random.below(3) {
            0 => format!(" {operator} {not}EXISTS (SELECT 1 FROM {from} WHERE {condition})"),
            1 => {
                let column = &random.pick(&integers).name;
                format!(" {operator} {column} {not}IN (SELECT {} FROM {from} WHERE {condition})", inner[0].name)
            }
            _ => {
                let column = &random.pick(&integers).name;
                format!(" {operator} {column} >= (SELECT min({}) FROM {from} WHERE {condition})", inner[0].name)
            }
        };
    }
    text
}

/// A condition that ties a subquery to its surroundings, or one that does not.
fn correlation(random: &mut Random, inner: &[Visible], outer: &[Visible]) -> String {
    let integers: Vec<&Visible> = outer.iter().filter(|v| v.kind == Kind::Integer).collect();
    let local = predicate(random, inner, 1);
    match random.below(3) {
        0 => local,
        1 => format!("{} = {}", inner[0].name, random.pick(&integers).name),
        _ => format!("{} = {} AND {local}", inner[0].name, random.pick(&integers).name),
    }
}

fn grouped(random: &mut Random, tables: &[Table]) -> (String, usize) {
    let (from, scope) = source(random, tables, "");
    let mut keys: Vec<Visible> = (0..random.below(3)).map(|_| random.pick(&scope).clone()).collect();
    keys.dedup_by(|a, b| a.name == b.name);
    let mut list: Vec<String> = keys.iter().map(|k| k.name.clone()).collect();
    for _ in 0..1 + random.below(3) {
        list.push(aggregate(random, &scope));
    }
    let columns = list.len();
    let mut text = format!("SELECT {} FROM {from}{}", list.join(", "), filter(random, tables, &scope));
    if !keys.is_empty() {
        text += &format!(" GROUP BY {}", list[..keys.len()].join(", "));
    }
    if random.one_in(3) {
        text += &format!(" HAVING count(*) {} {}", random.pick(&[">", "<", "="]), random.below(6));
    }
    (text, columns)
}

fn aggregate(random: &mut Random, scope: &[Visible]) -> String {
    let kind = *random.pick(&[Kind::Integer, Kind::Decimal, Kind::Text, Kind::Date]);
    let argument = scalar(random, scope, kind, 1);
    let distinct = if random.one_in(4) { "DISTINCT " } else { "" };
    let call = match random.below(5) {
        0 => "count(*)".to_string(),
        1 => format!("count({distinct}{argument})"),
        2 => format!("min({argument})"),
        3 => format!("max({argument})"),
        _ => format!("sum({distinct}{})", scalar(random, scope, Kind::Integer, 1)),
    };
    if random.one_in(6) { format!("{call} FILTER (WHERE {})", predicate(random, scope, 1)) } else { call }
}

/// A FROM clause of one to three tables, and the columns that it makes visible.
fn source(random: &mut Random, tables: &[Table], prefix: &str) -> (String, Vec<Visible>) {
    let (mut text, mut scope) = alias(random, tables, &format!("{prefix}a"));
    for step in 0..random.below(3) {
        let (right, added) = alias(random, tables, &format!("{prefix}{}", ["b", "c"][step]));
        let kind = random.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "JOIN", "LEFT JOIN"]);
        let integers: Vec<Visible> = scope.iter().filter(|v| v.kind == Kind::Integer).cloned().collect();
        let mut condition = format!("{} = {}", random.pick(&integers).name, added[0].name);
        scope.extend(added);
        // PostgreSQL wants hash-joinable conditions of full joins; so do we not, but peers do.
        if !kind.starts_with("FULL") && random.one_in(4) {
            condition += &format!(" AND {}", predicate(random, &scope, 1));
        }
        text += &format!(" {kind} {right} ON {condition}");
    }
    (text, scope)
}

/// A table, or a subquery of one, under an alias; its first column is an integer.
fn alias(random: &mut Random, tables: &[Table], alias: &str) -> (String, Vec<Visible>) {
    let table = random.pick(tables);
    let visible = |name: &str, kind| Visible { name: format!("{alias}.{name}"), kind };
    if random.one_in(8) {
        let key = &table.columns[0].name;
        let text = format!("(SELECT {key}, count(*) AS n{key} FROM {} GROUP BY {key}) AS {alias}", table.name);
        return (text, vec![visible(key, Kind::Integer), visible(&format!("n{key}"), Kind::Big)]);
    }
    (format!("{} AS {alias}", table.name), table.columns.iter().map(|c| visible(&c.name, c.kind)).collect())
}
