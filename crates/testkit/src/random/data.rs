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
    /// `numeric`
    Numeric,
    /// `bytea`
    Bytes,
    /// `time`
    Time,
    /// `timestamp with time zone`
    Moment,
    /// `uuid`
    Uuid,
    /// `jsonb`
    Json,
    /// `integer[]`
    Integers,
    /// `text[]`
    Texts,
    /// [`ENUM`]
    Label,
    /// A struct of an integer and a text.
    Struct,
}

/// Makes the enum of columns of [`Kind::Label`].
pub const ENUM: &str = "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'a', 'overjoyed')";

/// The kinds that all systems share with which random queries are compared.
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

/// The others, of which only MorselDB's own tables are made.
pub const MORE_KINDS: &[Kind] = &[
    Kind::Numeric,
    Kind::Bytes,
    Kind::Time,
    Kind::Moment,
    Kind::Uuid,
    Kind::Json,
    Kind::Integers,
    Kind::Texts,
    Kind::Label,
    Kind::Struct,
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
            Self::Numeric => "numeric",
            Self::Bytes => "bytea",
            Self::Time => "time",
            Self::Moment => "timestamptz",
            Self::Uuid => "uuid",
            Self::Json => "jsonb",
            Self::Integers => "integer[]",
            Self::Texts => "text[]",
            Self::Label => "mood",
            Self::Struct => "struct(a integer, b text)",
        }
    }

    /// Whether equal values have the same text: not those of which one is `-0`, `1 mon` or `1.0`.
    pub fn is_exact(self) -> bool {
        !matches!(self, Self::Double | Self::Real | Self::Interval | Self::Json)
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
            Self::Numeric
            | Self::Bytes
            | Self::Time
            | Self::Moment
            | Self::Uuid
            | Self::Json
            | Self::Integers
            | Self::Texts
            | Self::Label
            | Self::Struct => self.rarer_constant(random),
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

    /// A random constant of [`MORE_KINDS`].
    fn rarer_constant(self, random: &mut Random) -> String {
        let texts: &[&str] = match self {
            Self::Numeric => &[
                "0",
                "1.50",
                "-7",
                "100",
                "-0.00000000000000000001",
                "1e40",
                "-12345678901234567890123456789012345678901234567890.5",
                "NaN",
                "Infinity",
                "-Infinity",
            ],
            Self::Bytes => {
                &["\\x", "\\x00", "\\x01", "\\xff", "\\x616263", "\\x00000000000000000000000000000000ff", "\\x61"]
            }
            Self::Time => &["00:00:00", "23:59:59.999999", "12:30:00", "12:30:00.5", "01:02:03", "24:00:00"],
            Self::Moment => &[
                "1996-02-28 00:00:00+00",
                "1996-02-28 02:00:00+02",
                "1997-03-30 01:30:00+00",
                "1970-01-01 00:00:00+00",
                "2038-01-19 03:14:08+00",
                "1900-12-31 23:59:59.999999+00",
                "1996-02-29 12:00:00+00",
            ],
            Self::Uuid => &[
                "00000000-0000-0000-0000-000000000000",
                "00000000-0000-0000-0000-000000000001",
                "7fffffff-ffff-ffff-ffff-ffffffffffff",
                "80000000-0000-0000-0000-000000000000",
                "ffffffff-ffff-ffff-ffff-ffffffffffff",
                "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            ],
            Self::Json => &[
                "null",
                "1",
                "1.0",
                "-0.5",
                "\"a\"",
                "\"\"",
                "[]",
                "{}",
                "[1, 2]",
                "[1, [2, \"b\"]]",
                "{\"a\": 1}",
                "{\"a\": null, \"bb\": [true]}",
                "true",
            ],
            Self::Integers => &["{}", "{1}", "{1,2}", "{NULL}", "{2,1,NULL}", "{-5,2147483647}", "{1,2,3,4,5,6,7,8,9}"],
            Self::Texts => &["{}", "{a}", "{a,b}", "{NULL}", "{\"\"}", "{a,NULL}", "{\"a longer text than twelve\",é}"],
            Self::Label => &["sad", "ok", "happy", "a", "overjoyed"],
            _ => {
                let (a, b) = (Self::Integer.constant(random), Self::Text.constant(random));
                return match random.index(6) {
                    0 => format!("CAST({{'a': NULL, 'b': {b}}} AS {})", self.sql()),
                    1 => format!("CAST({{'a': {a}, 'b': NULL}} AS {})", self.sql()),
                    _ => format!("CAST({{'a': {a}, 'b': {b}}} AS {})", self.sql()),
                };
            }
        };
        format!("CAST('{}' AS {})", random.pick(texts), self.sql())
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

/// What an expression may name: a column, mostly as `alias.column`, or any other expression of the kind.
#[derive(Clone, Debug)]
pub(crate) struct Visible {
    pub name: String,
    pub kind: Kind,
}
