//! Logic oracles: what must hold between the answers to several queries of one system, so that no other system is needed.
//!
//! - [`partition`]: ternary logic partitioning. A condition is true, false or NULL for a row, so the answers to a query for these
//!   three kinds of rows are together the query's answer (Rigger and Su, *Finding Bugs in Database Systems via Query
//!   Partitioning*, OOPSLA 2020);
//! - [`filter`]: a filter keeps as many rows as its condition is true for where it is computed as a value, which nothing optimises
//!   (*Detecting Optimization Bugs in Database Engines via Non-Optimizing Reference Engine Construction*, ESEC/FSE 2020);
//! - [`pivot`]: a condition that is true for one row, whose values are written as constants, finds that row (*Testing Database
//!   Engines via Pivoted Query Synthesis*, OSDI 2020).
//!
//! They run over [`tables`] whose rows are in all states that storage knows: frozen, changed, deleted, rolled back and just appended,
//! with indexes of all kinds, and are after each change what they are in a database without indexes, vectors and compiled code that
//! changes along; as somebody sees them who reads now, who began before the last changes, and who has changed something that
//! is not committed.

mod filter;
mod partition;
mod pivot;
mod tables;

use base::{Random, Result, SqlState};
use engine::rows::text_rows;
use engine::{Config, Database, Session};

use crate::random::{Generator, Kind, Table, Visible};
use tables::Site;

/// Checks on the tables of one round.
pub const CHECKS_PER_ROUND: usize = 100;
/// Checks between changes of the tables.
const CHECKS_PER_CHANGE: usize = 8;
/// One round in so many has a table of several chunks.
const LARGE: usize = 4;

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Checks that were made.
    pub checks: usize,
    /// Statements that ran.
    pub statements: usize,
    /// Checks in which a statement failed on its data, as some plans of it may.
    pub failed: usize,
    /// Checks in which a statement took too long.
    pub too_long: usize,
    /// What does not hold: the round, and the statements with their answers.
    pub differences: Vec<String>,
}

/// Errors that a statement may well have: of its data, of a table that is another since its transaction began, or of names that two
/// tables of a subquery and the query around it share.
const MAY_BE: [SqlState; 3] = [SqlState::UNIQUE_VIOLATION, SqlState::SERIALIZATION_FAILURE, SqlState::AMBIGUOUS_COLUMN];

/// Queries that are asked again.
const MOST_ASKED: usize = 12;

/// Takes a transaction's snapshot.
const SNAPSHOT: &str = "SELECT 1";

/// Rows as text.
type Rows = Vec<Vec<String>>;

/// Who looks at the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    /// Each statement by itself.
    Now,
    /// In a transaction that began before the last changes.
    Before,
    /// In a transaction that has changed something.
    Within,
}

/// A database with its tables and readers.
struct World<'a> {
    sessions: [Session; 3],
    /// The same sessions of another database, which has no indexes and compiles nothing; none once it cannot follow.
    plain: Option<[Session; 3]>,
    sites: Vec<Site>,
    /// Queries that were asked, which are asked again when the tables have changed: by the plans that were kept.
    asked: Vec<String>,
    random: Random,
    round: u64,
    report: Report,
    /// Gets each statement that runs.
    watch: &'a mut dyn FnMut(&str),
}

/// Makes so many checks. `watch` gets each statement, and afterwards, as a comment, what is wrong.
pub fn run(seed: u64, checks: usize, watch: &mut dyn FnMut(&str)) -> Result<Report> {
    let mut report = Report::default();
    for round in 0..checks.div_ceil(CHECKS_PER_ROUND) {
        let count = CHECKS_PER_ROUND.min(checks - round * CHECKS_PER_ROUND);
        report = run_round(seed, round as u64, count, report, watch)?;
    }
    Ok(report)
}

/// Makes the checks of one round.
pub fn run_round(seed: u64, round: u64, checks: usize, report: Report, watch: &mut dyn FnMut(&str)) -> Result<Report> {
    let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(round));
    let is_large = random.one_in(LARGE as u64);
    watch(&format!("-- seed {seed}, round {round}"));
    let config = Config { threads: Some(random.pick(&[1, 2, 5])), ..Config::default() };
    let steps = Config { slice: Some(std::time::Duration::ZERO), steps: Some(7), ..config.clone() };
    let config = if !is_large && random.one_in(4) { steps } else { config };
    watch(&format!(
        "-- {} threads{}",
        config.threads.unwrap_or(0),
        if config.steps.is_some() { ", with pauses" } else { "" }
    ));
    let database = Database::new(config)?;
    let other = Database::new(Config { threads: Some(1), ..Config::default() })?;
    let mut world = World {
        sessions: [database.connect(), database.connect(), database.connect()],
        plain: Some([other.connect(), other.connect(), other.connect()]),
        sites: Vec::new(),
        asked: Vec::new(),
        random,
        round,
        report,
        watch,
    };
    if let Some(plain) = &mut world.plain {
        for session in plain {
            session.execute("SET compile = off", &[])?.collect()?;
            session.execute("SET plan_cache_mode = force_custom_plan", &[])?.collect()?;
        }
    }
    world.make_tables(is_large);
    if !is_large && world.random.one_in(3) {
        let setting =
            world.random.pick(&["SET compile = off", "SET optimize = off", "SET plan_cache_mode = force_custom_plan"]);
        for reader in [Reader::Now, Reader::Before, Reader::Within] {
            world.answer(reader, setting);
        }
    }
    for check in 0..checks {
        if check % CHECKS_PER_CHANGE == 0 {
            world.change_tables();
        }
        world.report.checks += 1;
        let reader = world.random.pick(&[Reader::Now, Reader::Now, Reader::Before, Reader::Within]);
        match world.random.below(5) {
            0 => world.check_filter(reader),
            1 => world.check_pivot(reader),
            _ => world.check_partition(reader),
        };
    }
    Ok(world.report)
}

impl World<'_> {
    /// The rows of a query. None if it fails; that is noted as wrong where no data can be the reason.
    fn answer(&mut self, reader: Reader, sql: &str) -> Option<Rows> {
        (self.watch)(&format!("{sql}; -- {reader:?}"));
        self.report.statements += 1;
        let session = &mut self.sessions[reader as usize];
        let answer = session.execute(sql, &[]).and_then(text_rows);
        self.follow(reader, sql, answer.as_ref().err());
        let error = match answer {
            Ok(rows) => return Some(rows),
            Err(error) => error,
        };
        if error.state() == SqlState::QUERY_CANCELED {
            self.report.too_long += 1;
        } else if error.state().0.starts_with("22") || MAY_BE.contains(&error.state()) {
            self.report.failed += 1;
        } else {
            self.wrong(reader, &format!("{sql}\n  {}: {error}", error.state().0));
        }
        // A transaction that has failed is over.
        if reader != Reader::Now {
            self.begin_again(reader);
        }
        None
    }

    /// Changes the other database, too: with the same outcome, as long as that does not depend on the order in which rows are
    /// computed.
    fn follow(&mut self, reader: Reader, sql: &str, error: Option<&base::Error>) {
        const OWN: [&str; 7] = ["SELECT", "(SELECT", "CREATE INDEX", "DROP INDEX", "VACUUM", "ANALYZE", "SET "];
        if OWN.iter().any(|own| sql.starts_with(own)) && sql != SNAPSHOT {
            return;
        }
        let Some(plain) = &mut self.plain else { return };
        let other = plain[reader as usize].execute(sql, &[]).and_then(text_rows).err();
        if error.is_none() && other.is_none() {
            return;
        }
        let state = |error: Option<&base::Error>| error.map(base::Error::state);
        let (a, b) = (state(error), state(other.as_ref()));
        self.plain = self.plain.take().filter(|_| a == b);
        // What an index computes for rows that a statement changes may fail, and so may what a plan computes for others.
        let is_of_data = |state: Option<SqlState>| state.is_none_or(|s| s.0.starts_with("22"));
        if a != b && !(is_of_data(a) && is_of_data(b)) {
            self.wrong(reader, &format!("{sql}\n  {a:?}, without indexes {b:?}"));
        }
    }

    /// Whether both databases have the same rows, and answer what was asked before alike.
    fn compare(&mut self) {
        self.compare_tables();
        for _ in 0..self.asked.len().min(4) {
            let sql = self.random.pick(&self.asked);
            let Some(plain) = &mut self.plain else { return };
            let Ok(expected) = plain[Reader::Now as usize].execute(&sql, &[]).and_then(text_rows) else { continue };
            let Some(rows) = self.answer(Reader::Now, &sql) else { continue };
            self.same(Reader::Now, [&sql, "without indexes and kept plans"], rows, expected);
        }
        self.asked.drain(..self.asked.len().saturating_sub(MOST_ASKED));
    }

    /// Whether both databases have the same rows; of large tables, what is counted of them.
    fn compare_tables(&mut self) {
        for number in 0..self.sites.len() {
            let site = &self.sites[number];
            let list: Vec<String> = match site.is_large {
                false => site.table.columns.iter().map(|c| c.name.clone()).collect(),
                true => {
                    let ordered = site.table.columns.iter().filter(|c| c.kind.is_exact() && c.kind != Kind::Bool);
                    let parts = ordered.map(|c| format!("count({0}), min({0}), max({0}), count(DISTINCT {0})", c.name));
                    [format!("count(*), sum({})", site.key())].into_iter().chain(parts).collect()
                }
            };
            let sql = format!("SELECT {} FROM t{number}", list.join(", "));
            let Some(plain) = &mut self.plain else { return };
            let Ok(expected) = plain[Reader::Now as usize].execute(&sql, &[]).and_then(text_rows) else { return };
            let Some(rows) = self.answer(Reader::Now, &sql) else { return };
            self.same(Reader::Now, [&sql, "without indexes"], rows, expected);
        }
    }

    fn begin_again(&mut self, reader: Reader) {
        for sql in ["ROLLBACK", "BEGIN ISOLATION LEVEL REPEATABLE READ", SNAPSHOT] {
            self.follow(reader, sql, None);
            (self.watch)(&format!("{sql}; -- {reader:?}"));
            if let Err(error) = self.sessions[reader as usize].execute(sql, &[]).and_then(text_rows) {
                self.wrong(reader, &format!("{sql}: {error}"));
            }
        }
    }

    fn wrong(&mut self, reader: Reader, text: &str) {
        let text = format!("round {}, {reader:?}: {text}", self.round);
        (self.watch)(&format!("-- WRONG: {}", text.replace('\n', "\n-- ")));
        self.report.differences.push(text);
    }

    /// Notes a difference if two multisets of rows are not the same.
    fn same(&mut self, reader: Reader, texts: [&str; 2], mut a: Rows, mut b: Rows) {
        a.sort();
        b.sort();
        if a != b {
            let other = a.iter().zip(&b).find(|(a, b)| a != b);
            let text = format!("{}\n  {} rows\n{}\n  {} rows, {other:?}", texts[0], a.len(), texts[1], b.len());
            self.wrong(reader, &text);
        }
    }

    /// What makes expressions, with a subquery sometimes: of the small table, as it may run for each row.
    fn expression(&mut self, make: impl FnOnce(&mut Generator<'_>) -> String) -> String {
        let small: Vec<Table> = self.sites.iter().filter(|s| !s.is_large).map(|s| s.table.clone()).collect();
        let subqueries = usize::from(self.random.one_in(4));
        make(&mut Generator::new(&mut self.random, &small, subqueries))
    }

    /// A condition: a random one, or one that an index or bounds of blocks may serve.
    fn condition(&mut self, sites: &[usize], scope: &[Visible]) -> String {
        let depth = self.random.index(4);
        let site = self.random.pick(sites);
        match self.random.below(6) {
            0..3 => self.expression(|g| g.predicate(scope, depth)),
            3 => self.sites[site].simple_condition(&mut self.random),
            4 => {
                let (simple, operator) =
                    (self.sites[site].simple_condition(&mut self.random), self.random.pick(&["AND", "AND", "OR"]));
                let other = match self.random.one_in(2) {
                    true => self.expression(|g| g.predicate(scope, depth)),
                    false => self.sites[site].simple_condition(&mut self.random),
                };
                format!("({simple} {operator} {other})")
            }
            _ => {
                let simple = self.sites[site].simple_condition(&mut self.random);
                match self.sites[site].some_rows.is_empty() {
                    true => simple,
                    false => format!("({} AND {simple})", self.random.pick(&self.sites[site].some_rows)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_repeat_themselves() {
        let text = |seed| {
            let mut all = String::new();
            run(seed, 20, &mut |sql| all += sql).unwrap();
            all
        };
        assert_eq!(text(3), text(3));
    }
}
