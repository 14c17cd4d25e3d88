//! Tables whose rows are in all states: bulk loads of whole chunks, which are frozen, with columns that are NULL or constant throughout;
//! changes of them, some rolled back or of statements that failed; rows appended since; primary keys and indexes of columns, expressions and
//! some rows.

use base::Random;

use super::{Reader, World};
use crate::random::{Column, ENUM, KINDS, Kind, MORE_KINDS, Table, Visible};

/// Rows of a chunk.
const CHUNK: usize = 1 << 16;
/// Rows of which the rows of a table are made.
const SAMPLES: usize = 80;

/// A table, and what conditions on it should be about.
pub(super) struct Site {
    /// The table; its first column is its key.
    pub table: Table,
    /// Whether its key is a primary key.
    has_primary_key: bool,
    /// Whether it has more than a chunk.
    pub is_large: bool,
    /// Expressions that an index has.
    pub computed: Vec<Visible>,
    /// Conditions of indexes of some rows.
    pub some_rows: Vec<String>,
    /// For each column values that some rows have.
    values: Vec<Vec<String>>,
    /// The key of the next row.
    next: usize,
    indexes: usize,
}

impl Site {
    /// All columns.
    pub fn scope(&self) -> Vec<Visible> {
        self.table.columns.iter().map(|c| Visible { name: c.name.clone(), kind: c.kind }).collect()
    }

    /// The column that is the key.
    pub fn key(&self) -> &str {
        &self.table.columns[0].name
    }

    /// Some key; not each has a row.
    pub fn some_key(&self, random: &mut Random) -> usize {
        random.index(self.next + 1)
    }

    /// Some rows behind one another.
    pub fn range(&self, random: &mut Random) -> String {
        let first = self.some_key(random);
        format!("({} BETWEEN {first} AND {})", self.key(), first + random.pick(&[0, 5, 100, 3000]))
    }

    /// A comparison of a column or an index's expression with constants.
    pub fn simple_condition(&self, random: &mut Random) -> String {
        if random.one_in(5) {
            return self.range(random);
        }
        let place = random.index(self.table.columns.len() + self.computed.len());
        let known = self.values.get(place);
        let subject = match self.table.columns.get(place) {
            Some(column) => Visible { name: column.name.clone(), kind: column.kind },
            None => self.computed[place - self.table.columns.len()].clone(),
        };
        let mut value = || match known {
            Some(known) if !known.is_empty() && !random.one_in(4) => random.pick(known),
            _ => subject.kind.constant(random),
        };
        let (a, b, c) = (value(), value(), value());
        let name = &subject.name;
        match random.below(9) {
            0 => format!("({name} IS {}NULL)", random.pick(&["", "NOT "])),
            1 => format!("({name} BETWEEN {a} AND {b})"),
            2 => format!("({name} IN ({a}, {b}, {c}))"),
            3 => format!("({name} NOT IN ({a}, {b}))"),
            4 => format!("({name} IS NOT DISTINCT FROM {a})"),
            5 | 6 if subject.kind != Kind::Bool => format!("({name} {} {a})", random.pick(&["<", "<=", ">", ">="])),
            _ => format!("({name} {} {a})", random.pick(&["=", "=", "<>"])),
        }
    }
}

impl World<'_> {
    /// Makes a table of some size, and a small one.
    pub(super) fn make_tables(&mut self, is_large: bool) {
        self.answer(Reader::Now, ENUM);
        for reader in [Reader::Now, Reader::Before, Reader::Within] {
            self.answer(reader, "SET statement_timeout = '20s'");
        }
        for number in 0..2 {
            self.make_table(number, is_large && number == 0);
        }
        for reader in [Reader::Before, Reader::Within] {
            self.begin_again(reader);
        }
    }

    fn make_table(&mut self, number: usize, is_large: bool) {
        let all = [KINDS, MORE_KINDS].concat();
        let mut columns = vec![Column { name: format!("k{number}"), kind: Kind::Integer }];
        for c in 0..5 + self.random.index(6) {
            columns.push(Column { name: format!("c{number}{c}"), kind: self.random.pick(&all) });
        }
        let list: Vec<String> = columns.iter().skip(1).map(|c| format!("{} {}", c.name, c.kind.sql())).collect();
        let list = list.join(", ");
        let name = format!("t{number}");
        self.answer(Reader::Now, &format!("CREATE TABLE s{number} (i integer, {list})"));
        let has_primary_key = !self.random.one_in(5);
        let key = if has_primary_key { " PRIMARY KEY" } else { "" };
        self.answer(Reader::Now, &format!("CREATE TABLE {name} (k{number} integer{key}, {list})"));
        let nulls: Vec<u64> = columns.iter().map(|_| self.random.pick(&[2, 6, 6, 1000])).collect();
        for i in 0..SAMPLES {
            let mut row = vec![i.to_string()];
            for (column, nulls) in columns.iter().zip(&nulls).skip(1) {
                let is_null = self.random.one_in(*nulls);
                row.push(if is_null { "NULL".to_owned() } else { column.kind.constant(&mut self.random) });
            }
            self.answer(Reader::Now, &format!("INSERT INTO s{number} VALUES ({})", row.join(", ")));
        }
        let table = Table { name, columns };
        let (computed, some_rows, values) = Default::default();
        self.sites.push(Site { table, has_primary_key, is_large, computed, some_rows, values, next: 0, indexes: 0 });
        let loads = if is_large { 1 + self.random.index(2) } else { 0 };
        for _ in 0..loads {
            self.load(number, CHUNK);
        }
        let rest = if number == 1 { 30 } else { self.random.pick(&[70, 400, 1500]) };
        self.load(number, rest);
        self.answer(Reader::Now, &format!("SELECT count(*) FROM storage_info('t{number}')"));
        for _ in 0..self.random.index(4) {
            self.make_index(number);
        }
    }

    /// Appends so many rows, made of the samples; some columns are the same for all of them, some have many values.
    fn load(&mut self, number: usize, rows: usize) {
        let site = &mut self.sites[number];
        let first = site.next;
        site.next += rows;
        let mut list = vec![format!("{first} + (g - 1) * {SAMPLES} + i")];
        for column in &site.table.columns[1..] {
            let name = &column.name;
            list.push(match (self.random.below(8), column.kind) {
                (0, _) => format!("CAST(NULL AS {})", column.kind.sql()),
                (1, kind) => kind.constant(&mut self.random),
                (2..4, Kind::Integer) => format!("{name} % 1000000 + g"),
                (2..4, Kind::Big) => format!("{name} + g * 100000"),
                (2..4, Kind::Text) => format!("{name} || ' ' || g"),
                (2..4, Kind::Date) => format!("{name} + g % 1000"),
                (2..4, Kind::Decimal) => format!("{name} + g % 1000"),
                (2..4, Kind::Double) => format!("{name} + g"),
                (2..4, Kind::Timestamp | Kind::Moment) => format!("{name} + g * INTERVAL '1 minute'"),
                (2, Kind::Integers) => format!("{name} || g"),
                (2, Kind::Json) => "jsonb_build_object('a', g)".to_owned(),
                _ => name.clone(),
            });
        }
        let rounds = rows.div_ceil(SAMPLES);
        let sql = format!(
            "INSERT INTO t{number} SELECT {} FROM s{number}, generate_series(1, {rounds}) AS r(g) WHERE (g - 1) * {SAMPLES} + i < {rows}",
            list.join(", ")
        );
        self.answer(Reader::Now, &sql);
    }

    fn make_index(&mut self, number: usize) {
        let scope = self.sites[number].scope();
        let mut keys = Vec::new();
        for _ in 0..1 + self.random.index(2) {
            let column = self.random.pick(&scope);
            if self.random.one_in(3) {
                let text = self.of_constants(|g| g.scalar(&scope, column.kind, 1));
                // A constant or a bare column is no expression.
                if text.starts_with('(') && text.contains(&format!("c{number}")) {
                    keys.push(format!("({text})"));
                    self.sites[number].computed.push(Visible { name: text, kind: column.kind });
                    continue;
                }
            }
            keys.push(format!("{}{}", column.name, self.random.pick(&["", "", " DESC", " NULLS FIRST"])));
        }
        let some = match self.random.one_in(3) {
            true => {
                let condition = match self.random.one_in(2) {
                    true => self.of_constants(|g| g.predicate(&scope, 1)),
                    false => self.sites[number].simple_condition(&mut self.random),
                };
                self.sites[number].some_rows.push(condition.clone());
                format!(" WHERE {condition}")
            }
            false => String::new(),
        };
        let site = &mut self.sites[number];
        site.indexes += 1;
        let sql = format!("CREATE INDEX i{number}_{} ON t{number} ({}){some}", site.indexes, keys.join(", "));
        self.answer(Reader::Now, &sql);
    }

    /// An expression without subqueries.
    fn of_constants(&mut self, make: impl FnOnce(&mut crate::random::Generator<'_>) -> String) -> String {
        make(&mut crate::random::Generator::new(&mut self.random, &[], 0))
    }

    /// Changes the tables; afterwards readers look at another moment, perhaps.
    pub(super) fn change_tables(&mut self) {
        let end = self.random.pick(&["COMMIT", "ROLLBACK"]);
        self.answer(Reader::Within, end);
        for number in 0..self.sites.len() {
            let rolls_back = self.random.one_in(4);
            if rolls_back {
                self.answer(Reader::Now, "BEGIN");
            }
            for _ in 0..self.random.index(4) {
                let done = self.change(Reader::Now, number);
                if rolls_back && !done {
                    break;
                }
            }
            if rolls_back {
                self.answer(Reader::Now, "ROLLBACK");
            } else if self.random.one_in(6) {
                self.make_index(number);
            } else if self.random.one_in(6) {
                let which = self.random.index(self.sites[number].indexes + 1);
                self.answer(Reader::Now, &format!("DROP INDEX IF EXISTS i{number}_{which}"));
            } else if self.random.one_in(8) {
                let care = self.random.pick(&["VACUUM", "ANALYZE", "VACUUM FULL"]);
                self.answer(Reader::Now, &format!("{care} t{number}"));
            }
            self.look_at_values(number);
        }
        self.compare();
        if self.random.one_in(2) {
            self.begin_again(Reader::Before);
        }
        self.begin_again(Reader::Within);
        for _ in 0..self.random.index(3) {
            let number = self.random.index(2);
            self.change(Reader::Within, number);
        }
    }

    /// Notes values of some rows.
    fn look_at_values(&mut self, number: usize) {
        let site = &self.sites[number];
        let text = |c: &Column| format!("quote_nullable(CAST({} AS text))", c.name);
        let list: Vec<String> = site.table.columns.iter().map(text).collect();
        let (key, from) = (site.key(), site.some_key(&mut self.random));
        let sql = format!("SELECT {} FROM t{number} WHERE {key} >= {from} ORDER BY {key} LIMIT 6", list.join(", "));
        let rows = self.answer(Reader::Now, &sql).unwrap_or_default();
        let columns = self.sites[number].table.columns.clone();
        let values = columns.iter().enumerate().map(|(place, column)| {
            let texts = rows.iter().map(|row| &row[place]).filter(|text| *text != "NULL");
            texts.map(|text| format!("CAST({text} AS {})", column.kind.sql())).collect()
        });
        self.sites[number].values = values.collect();
    }

    /// A random change; false if it fails.
    fn change(&mut self, reader: Reader, number: usize) -> bool {
        let scope = self.sites[number].scope();
        let (column, other) = (1 + self.random.index(scope.len() - 1), 1 + self.random.index(scope.len() - 1));
        let (column, other) = (scope[column].clone(), scope[other].clone());
        let which = self.which(number);
        let key = &scope[0].name;
        let sql = match self.random.below(12) {
            0..3 => {
                let value = self.of_constants(|g| g.scalar(&scope, column.kind, 1));
                format!("UPDATE t{number} SET {} = {value} WHERE {which}", column.name)
            }
            3 if column.name != other.name => {
                let (a, b) = (column.kind.constant(&mut self.random), other.kind.constant(&mut self.random));
                format!("UPDATE t{number} SET {} = {a}, {} = {b} WHERE {which}", column.name, other.name)
            }
            4 => format!("UPDATE t{number} SET {} = NULL WHERE {which}", column.name),
            5 | 6 => format!("DELETE FROM t{number} WHERE {which} AND {key} % 5 = {}", self.random.index(5)),
            7 => format!("UPDATE t{number} SET {key} = - {key} WHERE {which}"),
            8 if self.sites[number].has_primary_key => {
                let site = &self.sites[number];
                let first = site.some_key(&mut self.random);
                let columns: Vec<String> = scope[1..].iter().map(|c| c.name.clone()).collect();
                let names = columns.join(", ");
                format!(
                    "INSERT INTO t{number} SELECT {first} + i, {names} FROM s{number} ON CONFLICT ({key}) DO UPDATE SET {0} = excluded.{0}",
                    column.name
                )
            }
            _ => {
                let site = &mut self.sites[number];
                let rows = 1 + self.random.index(3);
                let mut list = Vec::new();
                for _ in 0..rows {
                    let mut row = vec![site.next.to_string()];
                    site.next += 1;
                    row.extend(scope[1..].iter().map(|c| match self.random.one_in(5) {
                        true => "NULL".to_owned(),
                        false => c.kind.constant(&mut self.random),
                    }));
                    list.push(format!("({})", row.join(", ")));
                }
                format!("INSERT INTO t{number} VALUES {}", list.join(", "))
            }
        };
        self.answer(reader, &sql).is_some()
    }

    /// Which rows a change is of: mostly few.
    fn which(&mut self, number: usize) -> String {
        let site = &self.sites[number];
        match self.random.below(6) {
            0 => format!("{} % 97 = {}", site.key(), self.random.index(97)),
            1 | 2 => site.simple_condition(&mut self.random),
            3 => {
                let scope = site.scope();
                self.of_constants(|g| g.predicate(&scope, 1))
            }
            _ => site.range(&mut self.random),
        }
    }
}
