//! Histories of random transactions, and whether their isolation level allows what they saw: after Kingsbury and Alvaro, *Elle:
//! Inferring Isolation Anomalies from Experimental Observations* (VLDB 2020).
//!
//! Transactions append unique numbers to lists, whose order tells in which order writers came, and insert rows that others look for by
//! a predicate. [`run`] lets sessions do so at once and notes what each has seen; [`check`](check::check) draws who must have come
//! before whom, and looks for circles.

pub mod check;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use base::{Error, Random, Result, SqlState};
use engine::{Config, Database, Session};
use types::{SqlType, Value};

/// Lists and groups that are in use at a time.
const IN_USE: usize = 6;
/// Transactions after which others are in use: lists stay short.
const TURN: u64 = 40;

/// What a transaction did, with what it saw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Appended a number to a list. All such numbers are different.
    Append(i64, i64),
    /// Read a list.
    Read(i64, Vec<i64>),
    /// Inserted a row of that group. All rows have different numbers.
    Insert(i64, i64),
    /// Found rows by a predicate: those of groups from the first to the second, which may be the same.
    Find(i64, i64, Vec<i64>),
}

/// A transaction as its session saw it.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// What came before and after it, in ticks of a clock of the whole run: before it began, and when it had ended.
    pub time: (u64, u64),
    /// Whether it is committed; otherwise it is rolled back.
    pub committed: bool,
    /// What it did, in order.
    pub operations: Vec<Operation>,
}

/// An isolation level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// `READ COMMITTED`
    ReadCommitted,
    /// `REPEATABLE READ`, which is snapshot isolation.
    Snapshot,
    /// `SERIALIZABLE`, in an order that real time agrees with.
    Serializable,
}

impl Level {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::ReadCommitted, Self::Snapshot, Self::Serializable];

    fn sql(self) -> &'static str {
        match self {
            Self::ReadCommitted => "READ COMMITTED",
            Self::Snapshot => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
        }
    }
}

/// What is run.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Of the random numbers.
    pub seed: u64,
    /// Transactions in all.
    pub transactions: u64,
    /// Sessions that run them at once.
    pub sessions: usize,
    /// Their level.
    pub level: Level,
    /// How transactions are kept apart: a value of `concurrency_control`. Those that are not `mvcc` are serializable at any level.
    pub control: &'static str,
}

/// Runs transactions and returns what they did, in no order. An error is one that no transaction should have.
pub fn run(workload: &Workload) -> Result<Vec<Transaction>> {
    let mut random = Random(workload.seed);
    let config = Config { threads: Some(2), ..Config::default() };
    // Queries that stop at every step interleave more.
    let steps = Config { slice: Some(Duration::ZERO), steps: Some(3), ..config.clone() };
    let database = Database::new(if random.one_in(2) { steps } else { config })?;
    let mut session = database.connect();
    session.execute(&format!("SET concurrency_control = {}", workload.control), &[])?.collect()?;
    session
        .execute("CREATE TABLE lists (k bigint PRIMARY KEY, v bigint[]) WITH (partition_key = k)", &[])?
        .collect()?;
    session.execute("CREATE TABLE items (g bigint, x bigint) WITH (partition_key = g)", &[])?.collect()?;
    if random.one_in(2) {
        session.execute("CREATE INDEX ON items (g)", &[])?.collect()?;
    }
    let (clock, begun) = (AtomicU64::new(0), AtomicU64::new(0));
    let all = Mutex::new(Vec::new());
    let seeds: Vec<u64> = (0..workload.sessions).map(|_| random.bits()).collect();
    thread::scope(|scope| {
        let sessions: Vec<_> = seeds
            .into_iter()
            .map(|seed| {
                let (clock, begun, all, database) = (&clock, &begun, &all, &database);
                scope.spawn(move || {
                    let mut client = Client { session: database.connect(), random: Random(seed), clock };
                    loop {
                        let number = begun.fetch_add(1, Ordering::Relaxed);
                        if number >= workload.transactions {
                            return Ok::<_, Error>(());
                        }
                        let transaction = client.transaction(number, workload.level)?;
                        all.lock().expect("nobody panics with it").push(transaction);
                    }
                })
            })
            .collect();
        sessions.into_iter().try_for_each(|session| session.join().expect("sessions do not panic"))
    })?;
    Ok(all.into_inner().expect("nobody panics with it"))
}

struct Client<'a> {
    session: Session,
    random: Random,
    clock: &'a AtomicU64,
}

impl Client<'_> {
    /// Runs the transaction of that number, whose own numbers begin with it.
    fn transaction(&mut self, number: u64, level: Level) -> Result<Transaction> {
        let mut operations = Vec::new();
        let from = self.clock.fetch_add(1, Ordering::SeqCst);
        let done = self.operations(number, level, &mut operations);
        let committed = match done {
            Ok(()) => true,
            // A MERGE may find that another one has inserted the row in between.
            Err(error)
                if [SqlState::SERIALIZATION_FAILURE, SqlState("40P01"), SqlState::UNIQUE_VIOLATION]
                    .contains(&error.state()) =>
            {
                self.execute("ROLLBACK", &[])?;
                false
            }
            Err(error) => return Err(error),
        };
        Ok(Transaction { time: (from, self.clock.fetch_add(1, Ordering::SeqCst)), committed, operations })
    }

    fn operations(&mut self, number: u64, level: Level, done: &mut Vec<Operation>) -> Result<()> {
        let first = (number / TURN * 2) as i64;
        self.execute(&format!("BEGIN ISOLATION LEVEL {}", level.sql()), &[])?;
        for place in 0..1 + self.random.index(5) {
            self.pause();
            let key = first + self.random.index(IN_USE) as i64;
            let own = (number * 8) as i64 + place as i64;
            match self.random.index(6) {
                0 | 1 => {
                    done.push(Operation::Append(key, own));
                    let sql = match self.random.one_in(2) {
                        true => {
                            "INSERT INTO lists VALUES ($1, array[$2::bigint]) ON CONFLICT (k) DO UPDATE SET v = lists.v || excluded.v"
                        }
                        false => {
                            "MERGE INTO lists USING (VALUES ($1::bigint, $2::bigint)) AS n(k, x) ON lists.k = n.k \
                             WHEN MATCHED THEN UPDATE SET v = v || x WHEN NOT MATCHED THEN INSERT VALUES (n.k, array[n.x])"
                        }
                    };
                    self.execute(sql, &[key, own])?;
                }
                2 | 3 => {
                    let rows = self.execute("SELECT v FROM lists WHERE k = $1", &[key])?;
                    done.push(Operation::Read(key, rows.first().map_or_else(Vec::new, |row| list(&row[0]))));
                }
                4 => {
                    done.push(Operation::Insert(key, own));
                    self.execute("INSERT INTO items VALUES ($1, $2)", &[key, own])?;
                }
                _ => {
                    let last = key + self.random.index(3) as i64;
                    let rows = match last == key {
                        true => self.execute("SELECT x FROM items WHERE g = $1", &[key])?,
                        false => self.execute("SELECT x FROM items WHERE g BETWEEN $1 AND $2", &[key, last])?,
                    };
                    let numbers = rows.iter().filter_map(|row| row[0].parse().ok());
                    done.push(Operation::Find(key, last, numbers.collect()));
                }
            }
        }
        self.pause();
        if self.random.one_in(12) {
            self.execute("ROLLBACK", &[])?;
            return Err(Error::new(SqlState::SERIALIZATION_FAILURE, "it changed its mind"));
        }
        self.execute("COMMIT", &[]).map(|_| ())
    }

    /// Two cores hardly interleave what takes microseconds.
    fn pause(&mut self) {
        match self.random.index(4) {
            0 => thread::sleep(Duration::from_micros(self.random.below(60))),
            1 => thread::yield_now(),
            _ => {}
        }
    }

    fn execute(&mut self, sql: &str, numbers: &[i64]) -> Result<Vec<Vec<String>>> {
        let parameters: Vec<_> = numbers.iter().map(|n| (Value::Int(*n), SqlType::BigInt)).collect();
        self.session.execute(sql, &parameters).and_then(engine::rows::text_rows)
    }
}

/// The numbers of a list's text.
fn list(text: &str) -> Vec<i64> {
    text.trim_matches(['{', '}']).split(',').filter_map(|number| number.parse().ok()).collect()
}
