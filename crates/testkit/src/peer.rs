//! Random expressions and queries in MorselDB and in PostgreSQL: the same values, or errors with the same SQLSTATE.

use base::Random;
use engine::rows::text_rows;
use engine::{Config, Database, Session};

use crate::postgres::{Answer, Connection, Postgres};
use crate::random::{forms, windows};

/// Rows of the table of edges, over each of which an expression is evaluated.
const ROWS: usize = 12;
/// Statements between new tables.
const STATEMENTS_PER_TABLE: usize = 100;

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Statements that both ran.
    pub statements: usize,
    /// Those of them that failed alike.
    pub failed: usize,
    /// The statement, and what differed.
    pub differences: Vec<String>,
}

/// Rows as text, or an SQLSTATE and the message.
type Outcome = Result<Vec<Vec<String>>, (String, String)>;

struct Sides {
    session: Session,
    peer: Connection,
    report: Report,
}

/// Runs so many statements, of which three in five are expressions over edges, the others queries, half of them with windows.
pub fn run(server: &Postgres, seed: u64, statements: usize) -> std::io::Result<Report> {
    let database = Database::new(Config { threads: Some(2), ..Config::default() }).map_err(std::io::Error::other)?;
    let mut sides = Sides { session: database.connect(), peer: server.new_database()?, report: Report::default() };
    let mut random = Random(seed);
    for number in 0..statements {
        if number % STATEMENTS_PER_TABLE == 0 {
            sides.make_tables(&mut random, number > 0)?;
        }
        let kind = random.below(5);
        if kind == 0 {
            sides.query(&forms::query(&mut random))?;
        } else if kind == 1 {
            sides.query(&windows::query(&mut random))?;
        } else {
            let depth = 1 + random.index(3);
            sides.expression(&forms::expression(&mut random, &['a'], depth))?;
        }
    }
    Ok(sides.report)
}

impl Sides {
    fn make_tables(&mut self, random: &mut Random, again: bool) -> std::io::Result<()> {
        let mut statements = Vec::new();
        for (name, edges) in [("edges", true), ("tame", false)] {
            if again {
                statements.push(format!("DROP TABLE {name}"));
            }
            statements.extend(forms::table(random, name, ROWS, edges));
        }
        for sql in statements {
            let (ours, theirs) = self.run(&sql)?;
            assert!(ours.is_ok() && theirs.is_ok(), "{sql}: {ours:?}, {theirs:?}");
        }
        Ok(())
    }

    /// An expression over all rows, and over each by itself where one fails.
    fn expression(&mut self, expression: &str) -> std::io::Result<()> {
        self.report.statements += 1;
        let all = format!("SELECT {expression} FROM edges a ORDER BY id");
        let (ours, theirs) = self.run(&all)?;
        if ours.is_ok() && theirs.is_ok() {
            self.compare(&all, &ours, &theirs);
            return Ok(());
        }
        self.report.failed += usize::from(ours.is_err() && theirs.is_err());
        for id in 1..=ROWS {
            let one = format!("SELECT {expression} FROM edges a WHERE id = {id}");
            let (ours, theirs) = self.run(&one)?;
            if !self.compare(&one, &ours, &theirs) {
                break;
            }
        }
        Ok(())
    }

    /// A query whose order does not count, and of whose errors it is open which rows meet them.
    fn query(&mut self, sql: &str) -> std::io::Result<()> {
        self.report.statements += 1;
        let (ours, theirs) = self.run(sql)?;
        let of_data = |outcome: &Outcome| outcome.as_ref().is_err_and(|(state, _)| state.starts_with("22"));
        if of_data(&ours) || of_data(&theirs) {
            self.report.failed += usize::from(ours.is_err() && theirs.is_err());
            return Ok(());
        }
        let sorted = |outcome: Outcome| {
            outcome.map(|mut rows| {
                rows.sort_by_cached_key(|row| row.iter().map(|v| rounded(v)).collect::<Vec<_>>());
                rows
            })
        };
        self.compare(sql, &sorted(ours), &sorted(theirs));
        Ok(())
    }

    /// PostgreSQL computes with constants beforehand: which of several errors it finds, and whether it finds one next to
    /// a NULL, may depend on that. So it gets a second chance without.
    fn run(&mut self, sql: &str) -> std::io::Result<(Outcome, Outcome)> {
        let ours = self.session.execute(&forms::plain(sql), &[]).and_then(text_rows);
        let ours = ours.map_err(|e| (e.state().0.to_owned(), e.to_string()));
        let mut ask = |sql: &str| -> std::io::Result<Outcome> {
            Ok(self.peer.query(sql)?.map(Answer::text_rows).map_err(|e| (e.state, e.message)))
        };
        let mut theirs = ask(&forms::plain(sql))?;
        if (ours.is_err() || theirs.is_err()) && !same(&ours, &theirs) {
            theirs = ask(&forms::unfolded(sql))?;
        }
        Ok((ours, theirs))
    }

    fn compare(&mut self, sql: &str, ours: &Outcome, theirs: &Outcome) -> bool {
        let same = same(ours, theirs);
        if !same {
            let difference = match (ours, theirs) {
                (Ok(a), Ok(b)) if a.len() == b.len() => {
                    let other = a.iter().zip(b).find(|(a, b)| !a.iter().zip(*b).all(|(a, b)| equal(a, b)));
                    format!("{other:?}")
                }
                _ => format!("{}\n  PostgreSQL: {}", brief(ours), brief(theirs)),
            };
            self.report.differences.push(format!("{}\n  {difference}", forms::plain(sql)));
        }
        same
    }
}

fn same(ours: &Outcome, theirs: &Outcome) -> bool {
    match (ours, theirs) {
        (Ok(a), Ok(b)) => a.len() == b.len() && a.iter().flatten().zip(b.iter().flatten()).all(|(a, b)| equal(a, b)),
        (Err((a, _)), Err((b, _))) => kind(a) == kind(b),
        // FULL JOIN, that is, on any condition.
        (Ok(_), Err((state, _))) => state == "0A000",
        (Err(_), Ok(_)) => false,
    }
}

/// An SQLSTATE, but one for all texts that are no date or interval: which of their parts is wrong is open.
fn kind(state: &str) -> &str {
    if matches!(state, "22008" | "22009" | "22015") { "22007" } else { state }
}

fn brief(outcome: &Outcome) -> String {
    match outcome {
        Ok(rows) if rows.len() == 1 => rows[0].join(", "),
        Ok(rows) => format!("{} rows", rows.len()),
        Err((state, message)) => format!("{state} {message}"),
    }
}

/// Whether two texts are of the same value: decimals have more digits in PostgreSQL, and functions like `exp` other last
/// ones; and of a real's two shortest texts it may choose another.
fn equal(a: &str, b: &str) -> bool {
    let is_real = |text: &str| text.contains(['.', 'e']) && text.bytes().filter(u8::is_ascii_digit).count() <= 11;
    let reals = || is_real(a) && is_real(b) && a.parse::<f32>().is_ok_and(|x| b.parse() == Ok(x));
    a == b || (a.starts_with('-') == b.starts_with('-') && (rounded(a) == rounded(b) || reals()))
}

/// A number with 12 digits; any other text as it is.
fn rounded(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => format!("{number:.11e}"),
        _ => text.to_owned(),
    }
}
