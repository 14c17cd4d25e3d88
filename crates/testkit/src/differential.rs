//! The same random queries through every way of running them: compiled and interpreted, one worker and many, in one go and with
//! batches that pause, optimised and not. All must give the same rows, or errors of the same kind.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use base::{Error, Result, SqlState};
use engine::{Config, Database, Session};

use crate::random;
use base::Random;
use engine::rows::text_rows;

/// Queries on one random schema.
pub const QUERIES_PER_SCHEMA: usize = 50;

/// How long a query may take in one way of running it.
pub const LONGEST: Duration = Duration::from_secs(10);

/// The side that may compute more than is needed.
const NOT_OPTIMISED: &str = "compiled, not optimised";

/// Rows as text, or an error.
type Outcome = Result<Vec<Vec<String>>>;

/// A statement of a random script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Makes or fills a table.
    Setup(String),
    /// A query.
    Query(String),
    /// Drops all tables of the script so far.
    Drop(String),
}

/// A random script with that many queries, over a new schema every [`QUERIES_PER_SCHEMA`].
pub fn script(seed: u64, queries: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    for batch in 0..queries.div_ceil(QUERIES_PER_SCHEMA) {
        let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(batch as u64));
        let (tables, setup) = random::schema(&mut random);
        steps.extend(setup.into_iter().map(Step::Setup));
        let count = QUERIES_PER_SCHEMA.min(queries - batch * QUERIES_PER_SCHEMA);
        steps.extend((0..count).map(|_| Step::Query(random::query(&mut random, &tables))));
        steps.extend(tables.iter().map(|t| Step::Drop(format!("DROP TABLE {}", t.name))));
    }
    steps
}

/// What came of a script.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Queries that ran.
    pub queries: usize,
    /// Queries that failed alike everywhere.
    pub failed: usize,
    /// Queries that took longer than [`LONGEST`] somewhere: chance makes cross products of cross products.
    pub too_long: usize,
    /// Differences: the query, and what differed.
    pub differences: Vec<String>,
}

/// Runs a random script in all ways. Databases with one and with several threads get the same tables.
pub fn run(seed: u64, queries: usize, mut progress: impl FnMut(usize)) -> Result<Report> {
    let mut sides: Vec<(&str, Session)> = Vec::new();
    let with = |threads| Config { threads: Some(threads), ..Config::default() };
    let pausing = |threads| Config { slice: Some(Duration::ZERO), steps: Some(7), ..with(threads) };
    for (name, config, settings) in [
        ("compiled, one thread", with(1), &[][..]),
        ("interpreted", with(1), &["SET compile = off"][..]),
        ("compiled, two threads, pausing", pausing(2), &[][..]),
        ("interpreted, two threads, pausing", pausing(2), &["SET compile = off"][..]),
        ("compiled, more threads than cores", with(7), &[][..]),
        ("groups before joins", with(2), &["SET eager_groups = always"][..]),
        ("without tags, divided beforehand", with(2), &["SET join_tags = off", "SET work_division = static"][..]),
        (NOT_OPTIMISED, with(1), &["SET optimize = off"][..]),
    ] {
        let mut session = Database::new(config)?.connect();
        settings.iter().try_for_each(|s| session.execute(s, &[])?.collect().map(drop))?;
        sides.push((name, session));
    }
    let mut report = Report::default();
    let mut setup = Vec::new();
    for step in script(seed, queries) {
        match step {
            Step::Setup(sql) | Step::Drop(sql) => {
                setup.push(sql.clone());
                sides.iter_mut().try_for_each(|(_, s)| s.execute(&sql, &[])?.collect().map(drop))?;
            }
            Step::Query(sql) => {
                report.queries += 1;
                progress(report.queries);
                let mut outcomes: Vec<(&str, Outcome)> = Vec::new();
                for (name, session) in &mut sides {
                    outcomes.push((*name, outcome(session, &sql)));
                    if outcomes.last().is_some_and(|(_, o)| is_too_long(o)) {
                        break;
                    }
                }
                if outcomes.last().is_some_and(|(_, o)| is_too_long(o)) {
                    report.too_long += 1;
                    continue;
                }
                report.failed += usize::from(outcomes[0].1.is_err());
                report.differences.extend(difference(&sql, &outcomes));
            }
        }
    }
    Ok(report)
}

/// Sorted rows: a total order of the output is as good as sorting, and other orders are not promised.
fn outcome(session: &mut Session, sql: &str) -> Outcome {
    let interrupt = session.interrupt_handle();
    let (over, waiting) = channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if waiting.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
            interrupt.interrupt();
        }
    });
    let rows = session.execute(sql, &[]).and_then(text_rows);
    drop(over);
    watchdog.join().expect("it does not panic");
    let mut rows = rows?;
    rows.sort();
    Ok(rows)
}

fn is_too_long(outcome: &Outcome) -> bool {
    outcome.as_ref().is_err_and(|e| e.state() == SqlState::QUERY_CANCELED)
}

fn difference(sql: &str, outcomes: &[(&str, Outcome)]) -> Option<String> {
    let (first, expected) = &outcomes[0];
    // A bug that was noticed is a difference even if all sides have it.
    let internal = |e: &Error| e.state().0 == "XX000";
    if let Some((name, Err(error))) = outcomes.iter().find(|(_, o)| o.as_ref().is_err_and(internal)) {
        return Some(format!("{sql}\n  {name}: {error}"));
    }
    for (name, actual) in &outcomes[1..] {
        let same = match (expected, actual) {
            (Ok(a), Ok(b)) => a == b,
            // Which of several errors is met first depends on the plan.
            (Err(_), Err(_)) => true,
            // The optimizer may spare an expression that would fail on its data (class 22): below LIMIT 0, say.
            (Ok(_), Err(e)) if *name == NOT_OPTIMISED => e.state().0.starts_with("22"),
            _ => false,
        };
        if !same {
            return Some(format!("{sql}\n  {first}: {}\n  {name}: {}", brief(expected), brief(actual)));
        }
    }
    None
}

fn brief(outcome: &Outcome) -> String {
    match outcome {
        Ok(rows) => {
            let some: Vec<String> = rows.iter().take(5).map(|r| r.join(",")).collect();
            format!("{} rows [{}{}]", rows.len(), some.join("; "), if rows.len() > 5 { "; ..." } else { "" })
        }
        Err(error) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_repeat_themselves() {
        assert_eq!(script(7, 120), script(7, 120));
        assert_ne!(script(7, 120), script(8, 120));
        assert_eq!(script(7, 120).iter().filter(|s| matches!(s, Step::Query(_))).count(), 120);
    }
}
