//! Random queries with window functions that MorselDB and PostgreSQL share, over the tables of [`forms`](super::forms). Each
//! has one answer: what depends on the order of peers is ordered by the rows' numbers, too.

use base::Random;

use super::forms::of_kind;

/// Functions of any rows, by the kinds that they take; `{}` is the operand.
const AGGREGATES: &[(&str, &str)] = &[
    ("", "count(*)"),
    ("bsilnrftcdpv", "count({})"),
    ("siln", "sum({})"),
    ("silnf", "avg({})"),
    ("silndpt", "min({})"),
    ("silndpt", "max({})"),
    ("b", "bool_and({})"),
    ("b", "bool_or({})"),
    ("siln", "var_pop({})"),
];

/// Functions of the order, that peers share.
const RANKS: &[&str] = &["rank()", "dense_rank()", "percent_rank()", "cume_dist()"];

/// Functions that tell peers apart; `#` is a number from 1.
const ROWS: &[&str] = &[
    "row_number()",
    "ntile(#)",
    "lag({})",
    "lead({})",
    "lag({}, #)",
    "lead({}, #)",
    "lag({}, -1)",
    "lag({}, a.s % 3)",
    "lead({}, 2, {})",
    "first_value({})",
    "last_value({})",
    "nth_value({}, #)",
];

/// Kinds whose values can be added to, and the distances.
const DISTANCES: &[(char, &[&str])] = &[
    ('s', &["0", "1", "6"]),
    ('i', &["0", "1", "90", "3000000000"]),
    ('l', &["0", "4", "12345678900"]),
    ('n', &["0", "0.5", "1.25", "9.0005"]),
    ('r', &["0", "0.5", "'Infinity'"]),
    ('f', &["0", "0.6", "1e300", "'Infinity'"]),
    ('d', &["'0 days'", "'1 day'", "'2 mons'", "'30 years'"]),
    ('p', &["'01:00:00'", "'1 mon -1 day'", "'25 years'"]),
    ('v', &["'0 days'", "'1 day'", "'1 year'"]),
];

const KINDS: &str = "bsilnrftcdpv";

/// A random query: rows' numbers and the results of some functions over some windows.
pub fn query(random: &mut Random) -> String {
    let table = if random.one_in(4) { "edges" } else { "tame" };
    let pairs = random.one_in(4);
    let (ids, from) = match pairs {
        true => ("a.id, b.id", format!("{table} a, tame b")),
        false => ("a.id", format!("{table} a")),
    };
    let mut items = Vec::new();
    let mut named = Vec::new();
    for _ in 0..1 + random.index(3) {
        let (window, of_peers) = window(random, ids);
        let function = function(random, of_peers);
        let filter = if function.1 && random.one_in(4) {
            format!(" FILTER (WHERE {})", leaf(random, 'b'))
        } else {
            String::new()
        };
        let over = match random.below(3) {
            0 => {
                named.push(format!("w{} AS ({window})", named.len()));
                format!("w{}", named.len() - 1)
            }
            _ => format!("({window})"),
        };
        items.push(format!("{}{filter} OVER {over}", function.0));
    }
    let named = if named.is_empty() { String::new() } else { format!(" WINDOW {}", named.join(", ")) };
    let inner = format!("SELECT {ids}, {} FROM {from}{named}", items.join(", "));
    match (pairs, random.below(6)) {
        // Conditions above windows.
        (false, 0) => format!("SELECT * FROM ({inner}) q WHERE q.id > 3"),
        (false, 1) => {
            let key = key(random, "itb");
            format!(
                "SELECT * FROM (SELECT a.*, row_number() OVER (PARTITION BY {key} ORDER BY a.i, a.id) AS r FROM {from}) q WHERE r <= {}",
                random.index(4)
            )
        }
        _ => inner,
    }
}

fn leaf(random: &mut Random, kind: char) -> String {
    let depth = usize::from(random.one_in(6));
    of_kind(random, &['a'], kind, depth)
}

fn any_kind(random: &mut Random, kinds: &str) -> char {
    let kinds: Vec<char> = kinds.chars().collect();
    random.pick(&kinds)
}

/// A call, and whether it is an aggregate. `of_peers`: it must not tell peers apart.
fn function(random: &mut Random, of_peers: bool) -> (String, bool) {
    if of_peers || random.one_in(2) {
        if random.one_in(3) {
            return (random.pick(RANKS).to_owned(), false);
        }
        let (kinds, form) = random.pick(AGGREGATES);
        let operand = if kinds.is_empty() {
            String::new()
        } else {
            let kind = any_kind(random, kinds);
            leaf(random, kind)
        };
        return (form.replace("{}", &operand), true);
    }
    if random.one_in(10) {
        return (format!("string_agg({}, {})", leaf(random, 't'), leaf(random, 't')), true);
    }
    let kind = any_kind(random, KINDS);
    let mut call = random.pick(ROWS).to_owned();
    while call.contains("{}") {
        call = call.replacen("{}", &leaf(random, kind), 1);
    }
    let number = (1 + random.index(4)).to_string();
    (call.replace('#', &number), false)
}

/// What stands in the parentheses of a window, and whether its peers can be several rows.
fn window(random: &mut Random, ids: &str) -> (String, bool) {
    let mut text = String::new();
    if random.one_in(2) {
        let keys: Vec<String> = (0..1 + random.index(2)).map(|_| key(random, KINDS)).collect();
        text += &format!("PARTITION BY {}", keys.join(", "));
    }
    let direction = random.pick(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
    let exclude =
        random.pick(&["", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES", " EXCLUDE NO OTHERS"]);
    match random.below(4) {
        // Distances of values.
        0 => {
            let (kind, distances) = random.pick(DISTANCES);
            let distances: Vec<String> = distances.iter().map(|&d| d.to_owned()).collect();
            let bounds = bounds(random, &distances);
            let key = leaf(random, kind);
            (format!("{text} ORDER BY {key}{direction} RANGE {bounds}{exclude}"), true)
        }
        1 => {
            let (key, bounds) = (key(random, KINDS), bounds(random, &numbers()));
            (format!("{text} ORDER BY {key}{direction} GROUPS {bounds}{exclude}"), true)
        }
        2 => {
            let key =
                if random.one_in(4) { String::new() } else { format!(" ORDER BY {}{direction}", key(random, KINDS)) };
            let frame = match random.below(4) {
                0 => " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                1 => " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
                _ => "",
            };
            (format!("{text}{key}{frame}"), true)
        }
        _ => {
            let (key, bounds) = (key(random, KINDS), bounds(random, &numbers()));
            (format!("{text} ORDER BY {key}{direction}, {ids} ROWS {bounds}{exclude}"), false)
        }
    }
}

/// A key of a few kinds, most often few values.
fn key(random: &mut Random, kinds: &str) -> String {
    let kind = any_kind(random, kinds);
    leaf(random, kind)
}

fn numbers() -> Vec<String> {
    (0..4).map(|n| n.to_string()).collect()
}

/// The bounds of a frame that begins before it ends, or may be empty.
fn bounds(random: &mut Random, distances: &[String]) -> String {
    let (a, b) = (&distances[random.index(distances.len())], &distances[random.index(distances.len())]);
    match random.below(8) {
        0 => format!("{a} PRECEDING"),
        1 => format!("BETWEEN {a} PRECEDING AND {b} FOLLOWING"),
        2 => format!("BETWEEN {a} PRECEDING AND {b} PRECEDING"),
        3 => format!("BETWEEN {a} FOLLOWING AND {b} FOLLOWING"),
        4 => format!("BETWEEN UNBOUNDED PRECEDING AND {b} FOLLOWING"),
        5 => format!("BETWEEN {a} PRECEDING AND UNBOUNDED FOLLOWING"),
        6 => format!("BETWEEN CURRENT ROW AND {b} FOLLOWING"),
        _ => "BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW".to_owned(),
    }
}
