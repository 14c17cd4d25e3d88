//! Random expressions and queries in SQL that MorselDB and PostgreSQL share, made from forms: a form has in braces the
//! kinds of its operands, by a letter each; `x` is any kind, the same in the whole form.

use base::Random;

/// The kinds by letter, and their types.
const TYPES: &[(char, &str)] = &[
    ('b', "boolean"),
    ('s', "smallint"),
    ('i', "integer"),
    ('l', "bigint"),
    ('n', "numeric(12,3)"),
    ('r', "real"),
    ('f', "double precision"),
    ('t', "text"),
    ('c', "char(4)"),
    ('d', "date"),
    ('p', "timestamp"),
    ('v', "interval"),
];

/// Values of a kind: common ones, then the edges. Each is a text that the kind's type reads.
fn values(kind: char) -> (&'static [&'static str], &'static [&'static str]) {
    match kind {
        'b' => (&["true", "false"], &[]),
        's' => (&["0", "1", "-1", "2", "7"], &["32767", "-32768"]),
        'i' => (&["0", "1", "-1", "3", "10", "-5", "100"], &["2147483647", "-2147483648"]),
        'l' => (&["0", "1", "-1", "5", "12345678901"], &["9223372036854775807", "-9223372036854775808"]),
        'n' => (&["0", "1", "-0.5", "1.25", "10.005", "-7.999"], &["999999999.999", "-0.001"]),
        'r' => (&["0", "-0", "1", "0.1", "-2.5", "NaN"], &["Infinity", "-Infinity", "1e-30", "3e38"]),
        'f' => (&["0", "-0", "1", "0.1", "-2.5", "NaN"], &["Infinity", "-Infinity", "1e-200", "1.5e308"]),
        't' => (&["", "a", "Abc", "b%_c", " x ", "12", "aé€😀", "abcabc"], &["true", "1.5", "2024-02-29", "1 day"]),
        'c' => (&["", "a", "ab", "Abcd", " b"], &["12"]),
        'd' => (&["2000-01-01", "2024-02-29", "1999-12-31", "1969-07-20"], &["0044-03-15 BC", "200000-12-31"]),
        'p' => (
            &["2000-01-01 00:00:00", "2024-02-29 12:34:56.789", "1999-12-31 23:59:59.999999"],
            &["0044-03-15 10:00:00 BC", "200000-12-31 23:59:59"],
        ),
        _ => (
            &["1 day", "1 mon", "30 days", "-1 day +02:03:04", "00:00:00", "1 year 2 mons 3 days 04:05:06.7"],
            &["178000000 years", "-100000 days", "24:00:00"],
        ),
    }
}

/// Before and after each constant of a random text.
const CONSTANT: char = '\u{1}';
const END: char = '\u{2}';

/// A random text as it is to be read.
pub fn plain(text: &str) -> String {
    text.replace([CONSTANT, END], "")
}

/// A random text whose constants PostgreSQL does not compute with before the query runs.
pub fn unfolded(text: &str) -> String {
    text.replace(CONSTANT, "(SELECT ").replace(END, ")")
}

/// What gives a value of a kind.
const FORMS: &[(char, &str)] = &[
    ('x', "coalesce({x}, {x})"),
    ('x', "nullif({x}, {x})"),
    ('x', "greatest({x}, {x})"),
    ('x', "least({x}, {x}, {x})"),
    ('x', "CASE WHEN {b} THEN {x} ELSE {x} END"),
    ('x', "CASE {i} WHEN {i} THEN {x} WHEN {i} THEN {x} END"),
    ('b', "({x} = {x})"),
    ('b', "({x} <> {x})"),
    ('b', "({x} < {x})"),
    ('b', "({x} >= {x})"),
    ('b', "({x} IS DISTINCT FROM {x})"),
    ('b', "({x} IS NULL)"),
    ('b', "({x} BETWEEN {x} AND {x})"),
    ('b', "({x} NOT BETWEEN SYMMETRIC {x} AND {x})"),
    ('b', "({x} IN ({x}, {x}))"),
    ('b', "({x} NOT IN ({x}, {x}, {x}))"),
    ('b', "(({x}, {i}) = ({x}, {i}))"),
    ('b', "({b} AND {b})"),
    ('b', "({b} OR {b})"),
    ('b', "(NOT {b})"),
    ('b', "({b} IS NOT TRUE)"),
    ('b', "({b} IS UNKNOWN)"),
    ('b', "({t} LIKE {t})"),
    ('b', "({t} NOT ILIKE {t})"),
    ('b', "starts_with({t}, {t})"),
    ('b', "({i} < {l})"),
    ('b', "({n} > {f})"),
    ('b', "({n} = {i})"),
    ('b', "({r} = {f})"),
    ('b', "({d} <= {p})"),
    ('b', "({c} = {t})"),
    ('b', "(random() < {s})"),
    ('b', "(random() * 2 BETWEEN 0 AND 2)"),
    ('s', "({s} + {s})"),
    ('s', "({s} * {s})"),
    ('s', "({s} % {s})"),
    ('s', "abs({s})"),
    ('s', "(- {s})"),
    ('s', "CAST({i} AS smallint)"),
    ('s', "CAST({f} AS smallint)"),
    ('i', "({i} + {i})"),
    ('i', "({i} - {s})"),
    ('i', "({i} * {i})"),
    ('i', "({i} / {i})"),
    ('i', "({i} % {i})"),
    ('i', "({i} & {i})"),
    ('i', "({i} | {i})"),
    ('i', "({i} # {i})"),
    ('i', "({i} << {i})"),
    ('i', "({i} >> {s})"),
    ('i', "(~ {i})"),
    ('i', "(- {i})"),
    ('i', "abs({i})"),
    ('i', "mod({i}, {i})"),
    ('i', "gcd({i}, {i})"),
    ('i', "lcm({i}, {i})"),
    ('i', "length({t})"),
    ('i', "octet_length({t})"),
    ('i', "ascii({t})"),
    ('i', "strpos({t}, {t})"),
    ('i', "({d} - {d})"),
    ('i', "CAST({n} AS integer)"),
    ('i', "CAST({r} AS integer)"),
    ('i', "CAST({t} AS integer)"),
    ('i', "CAST({b} AS integer)"),
    ('i', "CAST({l} AS integer)"),
    ('l', "({l} + {i})"),
    ('l', "({l} - {l})"),
    ('l', "({l} * {s})"),
    ('l', "({l} / {l})"),
    ('l', "({l} % {i})"),
    ('l', "abs({l})"),
    ('l', "CAST({f} AS bigint)"),
    ('l', "CAST({n} AS bigint)"),
    ('n', "({n} + {n})"),
    ('n', "({n} - {i})"),
    ('n', "({n} * {n})"),
    ('n', "({n} % {n})"),
    ('n', "(- {n})"),
    ('n', "abs({n})"),
    ('n', "round({n})"),
    ('n', "round({n}, 2)"),
    ('n', "trunc({n}, 1)"),
    ('n', "ceil({n})"),
    ('n', "floor({n})"),
    ('n', "sign({n})"),
    ('n', "CAST({n} AS numeric(10,2))"),
    ('n', "CAST(nullif({f}, 'NaN') AS numeric(12,3))"),
    ('n', "CAST({t} AS numeric(12,3))"),
    ('n', "CAST({i} AS numeric(12,3))"),
    ('r', "({r} + {r})"),
    ('r', "({r} * {r})"),
    ('r', "({r} / {r})"),
    ('r', "(- {r})"),
    ('r', "CAST({f} AS real)"),
    ('r', "CAST({n} AS real)"),
    ('f', "({f} + {f})"),
    ('f', "({f} - {i})"),
    ('f', "({f} * {f})"),
    ('f', "({f} / {f})"),
    ('f', "(- {f})"),
    ('f', "abs({f})"),
    ('f', "round({f})"),
    ('f', "trunc({f})"),
    ('f', "ceil({f})"),
    ('f', "floor({f})"),
    ('f', "sign({f})"),
    ('f', "sqrt({f})"),
    ('f', "ln({f})"),
    ('f', "exp({f})"),
    ('f', "power({f}, {f})"),
    ('f', "({f} * {r})"),
    ('f', "CAST({n} AS double precision)"),
    ('f', "CAST({l} AS double precision)"),
    ('f', "CAST({r} AS double precision)"),
    ('f', "CAST({t} AS double precision)"),
    ('t', "({t} || {t})"),
    ('t', "({t} || '-' || {i})"),
    ('t', "lower({t})"),
    ('t', "upper({t})"),
    ('t', "initcap({t})"),
    ('t', "reverse({t})"),
    ('t', "btrim({t})"),
    ('t', "ltrim({t}, {t})"),
    ('t', "rtrim({t}, {t})"),
    ('t', "left({t}, {s})"),
    ('t', "right({t}, {s})"),
    ('t', "substring({t}, {s})"),
    ('t', "substring({t} FROM {s} FOR {s})"),
    ('t', "replace({t}, {t}, {t})"),
    ('t', "translate({t}, {t}, {t})"),
    ('t', "split_part({t}, {t}, {s})"),
    ('t', "lpad({t}, 5, {t})"),
    ('t', "rpad({t}, 3)"),
    ('t', "repeat({t}, 2)"),
    ('t', "to_hex({i})"),
    ('t', "CAST({x} AS text)"),
    ('t', "CAST({t} AS varchar(3))"),
    ('t', "to_char({p}, 'YYYY-MM-DD HH24:MI:SS.US')"),
    ('t', "to_char({d}, 'Day, DDth FMMonth YYYY Q IW')"),
    ('c', "CAST({t} AS char(4))"),
    ('d', "({d} + {i})"),
    ('d', "({d} - {s})"),
    ('d', "CAST({p} AS date)"),
    ('d', "CAST({t} AS date)"),
    ('d', "make_date({s}, {s}, {s})"),
    ('p', "({d} + {v})"),
    ('p', "({p} + {v})"),
    ('p', "({p} - {v})"),
    ('p', "CAST({d} AS timestamp)"),
    ('p', "date_trunc('month', {p})"),
    ('p', "date_trunc('week', {p})"),
    ('p', "date_trunc('hour', {p})"),
    ('v', "({v} + {v})"),
    ('v', "({v} - {v})"),
    ('v', "({v} * {s})"),
    ('v', "({v} * {f})"),
    ('v', "({v} / {f})"),
    ('v', "(- {v})"),
    ('v', "({p} - {p})"),
    ('v', "age({p}, {p})"),
    ('v', "CAST({t} AS interval)"),
    ('f', "CAST(extract(year FROM {p}) AS double precision)"),
    ('f', "CAST(extract(dow FROM {d}) AS double precision)"),
    ('f', "CAST(extract(week FROM {d}) AS double precision)"),
    ('f', "CAST(extract(epoch FROM {p}) AS double precision)"),
    ('f', "CAST(extract(second FROM {p}) AS double precision)"),
    ('f', "CAST(extract(month FROM {v}) AS double precision)"),
    ('f', "CAST(extract(hour FROM {v}) AS double precision)"),
];

/// Queries over the table `tame`: `{a:x}` is an expression over its row a, `{ab:x}` over two rows.
const QUERIES: &[&str] = &[
    "SELECT a.id, {a:x} FROM tame a WHERE {a:b}",
    "SELECT a.id, {a:x} AS x FROM tame a ORDER BY 2, 1 LIMIT 7",
    "SELECT a.id FROM tame a ORDER BY {a:x} DESC, {a:y} NULLS FIRST, 1",
    "SELECT a.id, b.id FROM tame a, tame b WHERE ({a:x}, {a:y}) < ({b:x}, {b:y})",
    "SELECT count(*), count({a:x}), count(DISTINCT {a:x}) FROM tame a WHERE {a:b}",
    "SELECT {a:b}, {a:i}, count(*) FROM tame a GROUP BY 1, 2",
    "SELECT {a:x} IS NULL, min({a:l}), max({a:d}), sum({a:i}), sum({a:n}), bool_or({a:b}) FROM tame a GROUP BY {a:x} IS NULL",
    "SELECT count(*) FROM (SELECT {a:x} FROM tame a GROUP BY 1) q",
    "SELECT max(n), min(n) FROM (SELECT count(*) AS n FROM tame a GROUP BY {a:x}) q",
    "SELECT a.id, b.id FROM tame a JOIN tame b ON {a:x} = {b:x}",
    "SELECT a.id, b.id FROM tame a LEFT JOIN tame b ON {ab:b} AND a.i = b.i",
    "SELECT a.id, b.id FROM tame a FULL JOIN tame b ON {a:x} = {b:x}",
    "SELECT a.id, q.z FROM tame a JOIN LATERAL (SELECT {a:x} AS z) q ON q.z IS NOT NULL",
    "SELECT a.id, q.z FROM tame a JOIN LATERAL (SELECT {ab:i} AS z FROM tame b) q ON q.z > a.i",
    "SELECT a.id, q.z, q.w FROM tame a LEFT JOIN LATERAL (SELECT {ab:x} AS z, b.id AS w FROM tame b WHERE {ab:b}) q ON q.w < 4 OR {a:b}",
    "SELECT a.id FROM tame a WHERE {a:x} IN (SELECT {b:x} FROM tame b WHERE {ab:b})",
    "SELECT a.id FROM tame a WHERE {a:x} NOT IN (SELECT {b:x} FROM tame b WHERE b.id < a.id)",
    "SELECT a.id FROM tame a WHERE {a:x} > ALL (SELECT {b:x} FROM tame b WHERE {b:b})",
    "SELECT a.id FROM tame a WHERE EXISTS (SELECT 1 FROM tame b WHERE {ab:b} AND {a:x} = {b:x})",
    "SELECT a.id, (SELECT count({b:x}) FROM tame b WHERE {ab:b}) FROM tame a",
    "SELECT a.id, (SELECT min({ab:l}) FROM tame b WHERE b.id > a.id) FROM tame a",
    "SELECT {a:l} FROM tame a UNION SELECT {b:l} FROM tame b",
    "SELECT {a:d}, {a:b} FROM tame a EXCEPT ALL SELECT {b:d}, {b:b} FROM tame b",
    "SELECT {a:t} FROM tame a INTERSECT SELECT {b:t} FROM tame b",
    "SELECT count(*), rank() OVER (ORDER BY count(*)), sum(count(*)) OVER (ORDER BY count(*) DESC) FROM tame a GROUP BY {a:x}",
    "SELECT a.id, (SELECT max(r) FROM (SELECT rank() OVER (ORDER BY {b:x}) AS r FROM tame b WHERE {ab:b}) q) FROM tame a",
    "SELECT a.id, q.z FROM tame a, LATERAL (SELECT sum({ab:s}) OVER (ORDER BY b.id ROWS 2 PRECEDING) AS z FROM tame b) q",
    "SELECT a.id, q.z FROM tame a LEFT JOIN (SELECT b.id, lag({b:x}) OVER (PARTITION BY {b:y} ORDER BY b.id) AS z FROM tame b) q ON q.id = a.id",
    "SELECT a.id FROM tame a WHERE {a:b} ORDER BY row_number() OVER (PARTITION BY {a:x} ORDER BY {a:y}, a.id), 1",
    "SELECT DISTINCT {a:l}, count(*) OVER (PARTITION BY {a:x}) FROM tame a",
    "SELECT {a:b}, percentile_disc(0.4) WITHIN GROUP (ORDER BY {a:l}), mode() WITHIN GROUP (ORDER BY {a:t}) FROM tame a GROUP BY 1",
    "SELECT {a:i}, percentile_cont(0.7) WITHIN GROUP (ORDER BY {a:s} DESC) FILTER (WHERE {a:b}) FROM tame a GROUP BY 1",
    "SELECT {a:b}, rank(1) WITHIN GROUP (ORDER BY {a:i}), cume_dist('a', 1.5) WITHIN GROUP (ORDER BY {a:t} DESC, {a:n}) FROM tame a GROUP BY 1",
    "SELECT {a:i}, string_agg({a:t}, {a:t} ORDER BY {a:x} DESC, a.id), string_agg(DISTINCT {a:t}, '; ') FROM tame a GROUP BY 1",
    "SELECT string_agg({a:t}, {a:t} ORDER BY {a:y}, a.id) FILTER (WHERE {a:b}), count(DISTINCT {a:x}) FROM tame a",
    "SELECT a.id, (SELECT string_agg({ab:t}, ',' ORDER BY b.id) FROM tame b WHERE {ab:b}) FROM tame a",
    "SELECT dense_rank(0) WITHIN GROUP (ORDER BY {a:l} DESC), percent_rank(true) WITHIN GROUP (ORDER BY {a:b} NULLS FIRST) FROM tame a",
];

/// Makes a table with a column for each kind, named as it, and rows numbered from 1.
pub fn table(random: &mut Random, name: &str, rows: usize, edges: bool) -> Vec<String> {
    let columns: Vec<String> = TYPES.iter().map(|(kind, sql)| format!("{kind} {sql}")).collect();
    let value = |kind: char, random: &mut Random| {
        let (common, extreme) = values(kind);
        match random.below(8) {
            0 => "NULL".to_owned(),
            1 | 2 if edges && !extreme.is_empty() => format!("'{}'", random.pick(extreme)),
            _ => format!("'{}'", random.pick(common)),
        }
    };
    let row = |id: usize| {
        let fields: Vec<String> = TYPES.iter().map(|(kind, _)| value(*kind, random)).collect();
        format!("({id}, {})", fields.join(", "))
    };
    let rows: Vec<String> = (1..=rows).map(row).collect();
    vec![
        format!("CREATE TABLE {name} (id integer, {})", columns.join(", ")),
        format!("INSERT INTO {name} VALUES {}", rows.join(", ")),
    ]
}

/// A random expression of any kind over one of the rows in scope.
pub fn expression(random: &mut Random, scope: &[char], depth: usize) -> String {
    let kind = random.pick(TYPES).0;
    of_kind(random, scope, kind, depth)
}

/// A random expression of a kind over one of the rows in scope.
pub(super) fn of_kind(random: &mut Random, scope: &[char], kind: char, depth: usize) -> String {
    if depth == 0 || random.one_in(5) {
        return leaf(random, scope, kind);
    }
    let forms: Vec<&str> = FORMS.iter().filter(|(k, _)| *k == kind || *k == 'x').map(|(_, form)| *form).collect();
    // A form for all kinds is as likely as one of the kind's own.
    let form = random.pick(&forms);
    let is_own = FORMS.iter().any(|(k, f)| *f == form && *k == kind);
    let any = if is_own { random.pick(TYPES).0 } else { kind };
    fill(form, |operand, _| {
        let operand = if operand == 'x' { any } else { operand };
        of_kind(random, scope, operand, depth - 1)
    })
}

fn leaf(random: &mut Random, scope: &[char], kind: char) -> String {
    let sql = TYPES.iter().find(|(k, _)| *k == kind).expect("a kind").1;
    match random.below(8) {
        0 => format!("{CONSTANT}CAST(NULL AS {sql}){END}"),
        1 | 2 => format!("{CONSTANT}CAST('{}' AS {sql}){END}", random.pick(values(kind).0)),
        _ => format!("{}.{kind}", random.pick(scope)),
    }
}

/// A random query over the table `tame`.
pub fn query(random: &mut Random) -> String {
    let form = random.pick(QUERIES);
    let (x, y) = (random.pick(TYPES).0, random.pick(TYPES).0);
    fill(form, |kind, scope| {
        let kind = [kind, x, y]["xy".find(kind).map_or(0, |at| at + 1)];
        let scope: Vec<char> = scope.chars().collect();
        let depth = random.index(3);
        of_kind(random, &scope, kind, depth)
    })
}

/// The form with each `{kind}` or `{scope:kind}` replaced.
fn fill(form: &str, mut operand: impl FnMut(char, &str) -> String) -> String {
    let mut text = String::new();
    let mut rest = form;
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, after) = after.split_once('}').expect("a closing brace");
        let (scope, kind) = inside.split_once(':').unwrap_or(("", inside));
        text += before;
        text += &operand(kind.chars().next().expect("a kind"), scope);
        rest = after;
    }
    text + rest
}
