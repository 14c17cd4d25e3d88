//! Random tables: few distinct values, NULLs, duplicates, extremes.

use base::Random;

/// The kinds of column that queries tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `integer`
    Integer,
    /// `bigint`
    Big,
    /// `decimal(9, 2)`
    Decimal,
    /// `text`
    Text,
    /// `date`
    Date,
    /// `boolean`
    Bool,
    /// `smallint`
    Small,
    /// `double precision`
    Double,
    /// `decimal(30, 5)`
    Wide,
    /// `timestamp`
    Timestamp,
    /// `real`
    Real,
    /// `interval`
    Interval,
}

/// All kinds.
pub const KINDS: &[Kind] = &[
    Kind::Integer,
    Kind::Big,
    Kind::Decimal,
    Kind::Text,
    Kind::Date,
    Kind::Bool,
    Kind::Small,
    Kind::Double,
    Kind::Wide,
    Kind::Timestamp,
    Kind::Real,
    Kind::Interval,
];

/// A column of a random table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name, unique among all tables.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
}

/// A random table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
}

impl Kind {
    /// The type in SQL.
    pub fn sql(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Big => "bigint",
            Self::Decimal => "decimal(9, 2)",
            Self::Text => "text",
            Self::Date => "date",
            Self::Bool => "boolean",
            Self::Small => "smallint",
            Self::Double => "double precision",
            Self::Wide => "decimal(30, 5)",
            Self::Timestamp => "timestamp",
            Self::Real => "real",
            Self::Interval => "interval",
        }
    }

    /// A random constant, as SQL.
    pub fn constant(self, random: &mut Random) -> String {
        match self {
            Self::Integer => match random.index(20) {
                0 => "2147483647".into(),
                1 => "(-2147483647)".into(),
                n => format!("({})", n as i64 - 5),
            },
            Self::Big => match random.index(20) {
                0 => "4000000000000".into(),
                n => format!("({})", n as i64 - 5),
            },
            Self::Decimal => format!("({}.{:02})", random.index(30) as i64 - 10, random.index(4) * 25),
            Self::Text => {
                const WORDS: &[&str] = &[
                    "",
                    "a",
                    "b",
                    "ab",
                    "abc",
                    "ba",
                    "foo",
                    "foobar",
                    "a longer text than twelve",
                    "a longer text",
                    "é",
                    "%_",
                ];
                format!("'{}'", random.pick(WORDS))
            }
            Self::Date => {
                format!("DATE '{}-{:02}-{:02}'", 1995 + random.index(4), 1 + random.index(12), 1 + random.index(28))
            }
            Self::Bool => ["true", "false"][random.index(2)].into(),
            Self::Small => format!("CAST({} AS smallint)", random.index(12) as i64 - 4),
            Self::Double if random.one_in(4) => {
                const EDGES: &[&str] =
                    &["-0", "NaN", "Infinity", "-Infinity", "5e-324", "1e300", "-1e300", "1e-300", "0.1"];
                format!("CAST('{}' AS double precision)", random.pick(EDGES))
            }
            Self::Real => {
                const VALUES: &[&str] = &["-0", "0", "NaN", "Infinity", "1e-45", "3e38", "0.1", "-2.5", "1", "7"];
                format!("CAST('{}' AS real)", random.pick(VALUES))
            }
            Self::Interval => {
                const VALUES: &[&str] =
                    &["1 month", "30 days", "720 hours", "0", "-1 day", "1 year 2 days", "12:30:00.5", "13 months"];
                format!("INTERVAL '{}'", random.pick(VALUES))
            }
            Self::Double => {
                format!("CAST({}.{} AS double precision)", random.index(20) as i64 - 8, random.index(4) * 25)
            }
            Self::Wide => match random.index(12) {
                0 => "1234567890123456789012345.12345".into(),
                1 => "(-98765432109876543210.5)".into(),
                n => format!("({}.{:05})", n as i64 - 5, random.index(3) * 12345),
            },
            Self::Timestamp => {
                let time = ["00:00:00", "12:30:00", "23:59:59.5"][random.index(3)];
                format!(
                    "TIMESTAMP '{}-{:02}-{:02} {time}'",
                    1996 + random.index(2),
                    1 + random.index(3),
                    27 + random.index(2)
                )
            }
        }
    }
}

/// Random tables, and the statements that make and fill them.
pub fn schema(random: &mut Random) -> (Vec<Table>, Vec<String>) {
    let mut statements = Vec::new();
    let mut tables = Vec::new();
    for t in 0..2 + random.index(3) {
        let name = format!("t{t}");
        let mut columns = vec![Column { name: format!("k{t}"), kind: Kind::Integer }];
        for c in 0..2 + random.index(4) {
            columns.push(Column { name: format!("c{t}{c}"), kind: random.pick(KINDS) });
        }
        let list = columns.iter().map(|c| format!("{} {}", c.name, c.kind.sql())).collect::<Vec<_>>().join(", ");
        statements.push(format!("CREATE TABLE {name} ({list})"));
        let rows = if random.one_in(10) { 0 } else { [1, 7, 25, 60, 120][random.index(5)] };
        // Some columns are NULL almost everywhere, some never.
        let nulls: Vec<u64> = columns.iter().map(|_| [2, 6, 6, 1000][random.index(4)]).collect();
        if rows > 0 {
            let row = |random: &mut Random| {
                let field = |(c, nulls): (&Column, &u64), random: &mut Random| {
                    if random.one_in(*nulls) { "NULL".to_string() } else { c.kind.constant(random) }
                };
                format!("({})", columns.iter().zip(&nulls).map(|c| field(c, random)).collect::<Vec<_>>().join(", "))
            };
            let values = (0..rows).map(|_| row(random)).collect::<Vec<_>>().join(", ");
            statements.push(format!("INSERT INTO {name} VALUES {values}"));
        }
        tables.push(Table { name, columns });
    }
    (tables, statements)
}

/// A column that an expression may name: as `alias.column`.
#[derive(Clone, Debug)]
pub(super) struct Visible {
    pub name: String,
    pub kind: Kind,
}
