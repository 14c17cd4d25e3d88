//! The texts of the queries and the answers, as the specification words them.

/// A query of the benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// 1 to 22.
    pub number: usize,
    /// The text with the validation parameters.
    pub sql: &'static str,
    /// The specification's answer at scale factor 1: fields separated by bars, the first line has the names.
    pub answer: &'static str,
    /// PostgreSQL's answer at scale factor 0.01, over the data of [`generate`](crate::generate), written in the same way.
    pub small_answer: &'static str,
}

/// The tables with the types of the specification, keys included.
pub const SCHEMA: &str = include_str!("../schema.sql");

macro_rules! queries {
    ($($number:literal $file:literal),* $(,)?) => {
        /// All 22.
        pub const QUERIES: &[Query] = &[$(Query {
            number: $number,
            sql: include_str!(concat!("../queries/q", $file, ".sql")),
            answer: include_str!(concat!("../answers_sf1/q", $file, ".csv")),
            small_answer: include_str!(concat!("../answers_sf001/q", $file, ".csv")),
        }),*];
    };
}

queries!(
    1 "01", 2 "02", 3 "03", 4 "04", 5 "05", 6 "06",
    7 "07", 8 "08", 9 "09", 10 "10", 11 "11", 12 "12",
    13 "13", 14 "14", 15 "15", 16 "16", 17 "17", 18 "18",
    19 "19", 20 "20", 21 "21", 22 "22",
);
