//! YCSB (Cooper, Silberstein, Tam, Ramakrishnan and Sears, *Benchmarking Cloud Serving Systems with YCSB*, SoCC 2010): records of
//! ten texts under a key, and six mixes of what is done with them.
//!
//! Keys are hashed numbers, so that records that came one after the other do not lie side by side in the order of keys. Which
//! records are asked for is Zipf distributed (0.99), scattered over all keys; in workload D it is the newest ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Error, Random, Result, SqlState};
use engine::{Database, PreparedStatement, Session};
use types::{SqlType, Value};

use super::{Client, Kind, Parameter, text};

/// What is done; the mixes say how often.
const READ: &str = "read";
const UPDATE: &str = "update";
const INSERT: &str = "insert";
const SCAN: &str = "scan";
const MODIFY: &str = "read, modify, write";

/// A workload (section 4): its letter, what it is, and its mix.
pub const WORKLOADS: [(char, &str, [Kind; 2]); 6] = [
    ('A', "update heavy", [(READ, 50), (UPDATE, 50)]),
    ('B', "read mostly", [(READ, 95), (UPDATE, 5)]),
    ('C', "read only", [(READ, 100), (UPDATE, 0)]),
    ('D', "read latest", [(READ, 95), (INSERT, 5)]),
    ('E', "short ranges", [(SCAN, 95), (INSERT, 5)]),
    ('F', "read, modify, write", [(READ, 50), (MODIFY, 50)]),
];

/// Texts of a record, and their bytes.
const FIELDS: usize = 10;
const FIELD_BYTES: usize = 100;
/// Most records of a range.
const LONGEST_SCAN: u64 = 100;
/// Zipf's constant.
const THETA: f64 = 0.99;

/// The key of the record with that number.
fn key(number: u64) -> Parameter {
    text(format!("user{:010}", number.wrapping_mul(2_654_435_761) % (1 << 32)))
}

/// Makes the table and fills it: `records` below 2 to the 31.
pub fn load(session: &mut Session, records: u64) -> Result<()> {
    let fields: Vec<String> = (0..FIELDS).map(|n| format!("field{n} text")).collect();
    let values: Vec<String> =
        (0..FIELDS).map(|n| format!("left(repeat(md5((k * {FIELDS} + {n})::text), 4), {FIELD_BYTES})")).collect();
    let script = format!(
        "CREATE TABLE usertable (ycsb_key text PRIMARY KEY, {});
        INSERT INTO usertable SELECT 'user' || lpad((k * 2654435761 % 4294967296)::text, 10, '0'), {}
            FROM generate_series(0::bigint, {records} - 1) AS g(k);
        CREATE INDEX usertable_in_order ON usertable (ycsb_key);",
        fields.join(", "),
        values.join(", "),
    );
    session.run_script(&script, |_, result| result.collect().map(drop))
}

/// A client's view of the records: how many there are is known to all.
pub struct Reader {
    session: Session,
    random: Random,
    kinds: [&'static str; 2],
    latest: bool,
    zipf: Zipf,
    records: Arc<AtomicU64>,
    read: PreparedStatement,
    updates: Vec<PreparedStatement>,
    insert: PreparedStatement,
    scan: PreparedStatement,
    drawn: Drawn,
}

/// What is to be done.
enum Drawn {
    Read(Parameter),
    Update(usize, [Parameter; 2]),
    Insert(Vec<Parameter>),
    Scan([Parameter; 2]),
    Modify(usize, [Parameter; 2]),
}

impl Reader {
    /// Clients for a workload, of which each has a number. `records` are loaded.
    pub fn clients(database: &Database, workload: char, clients: usize, records: &Arc<AtomicU64>) -> Result<Vec<Self>> {
        let Some((_, _, mix)) = WORKLOADS.iter().find(|(letter, ..)| *letter == workload) else {
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("YCSB has no workload {workload}")));
        };
        let zipf = Zipf::new(records.load(Ordering::Relaxed));
        (0..clients)
            .map(|number| {
                let mut session = database.connect();
                let mut prepare = |sql: &str| session.prepare(sql, &[]);
                let update = |n| format!("UPDATE usertable SET field{n} = $1 WHERE ycsb_key = $2");
                let places: Vec<String> = (0..=FIELDS).map(|n| format!("${}", n + 1)).collect();
                Ok(Self {
                    read: prepare("SELECT * FROM usertable WHERE ycsb_key = $1")?,
                    updates: (0..FIELDS).map(|n| prepare(&update(n))).collect::<Result<_>>()?,
                    insert: prepare(&format!("INSERT INTO usertable VALUES ({})", places.join(", ")))?,
                    scan: prepare("SELECT * FROM usertable WHERE ycsb_key >= $1 ORDER BY ycsb_key LIMIT $2")?,
                    session,
                    random: Random(number as u64 * 7919 + u64::from(u32::from(workload))),
                    kinds: [mix[0].0, mix[1].0],
                    latest: workload == 'D',
                    zipf: zipf.clone(),
                    records: records.clone(),
                    drawn: Drawn::Read(key(0)),
                })
            })
            .collect()
    }

    /// A record that is there.
    fn record(&mut self) -> Parameter {
        let rank = self.zipf.rank(self.random.fraction());
        let records = self.records.load(Ordering::Relaxed);
        key(match self.latest {
            true => records - 1 - rank % records,
            false => scattered(rank) % records,
        })
    }

    fn value(&mut self) -> Parameter {
        let letter = |random: &mut Random| char::from(b' ' + random.below(95) as u8);
        text((0..FIELD_BYTES).map(|_| letter(&mut self.random)).collect::<String>())
    }
}

fn ended(session: &mut Session, statement: &PreparedStatement, given: &[Parameter]) -> Result<()> {
    session.run(statement, given)?.collect().map(drop)
}

impl Client for Reader {
    fn draw(&mut self, kind: usize) {
        self.drawn = match self.kinds[kind] {
            UPDATE => Drawn::Update(self.random.index(FIELDS), [self.value(), self.record()]),
            INSERT => {
                // Whoever reads the newest may ask for it before it is there: it finds nothing, as in the original.
                let number = self.records.fetch_add(1, Ordering::Relaxed);
                Drawn::Insert(std::iter::once(key(number)).chain((0..FIELDS).map(|_| self.value())).collect())
            }
            SCAN => {
                let length = 1 + self.random.below(LONGEST_SCAN);
                Drawn::Scan([self.record(), (Value::Int(length as i64), SqlType::BigInt)])
            }
            MODIFY => Drawn::Modify(self.random.index(FIELDS), [self.value(), self.record()]),
            _ => Drawn::Read(self.record()),
        };
    }

    fn run(&mut self) -> Result<()> {
        let Self { session, read, updates, insert, scan, drawn, .. } = self;
        match drawn {
            Drawn::Read(key) => ended(session, read, std::slice::from_ref(key)),
            Drawn::Update(field, given) => ended(session, &updates[*field], given),
            Drawn::Insert(given) => ended(session, insert, given),
            Drawn::Scan(given) => ended(session, scan, given),
            Drawn::Modify(field, given) => {
                session.execute("BEGIN", &[])?;
                let mut statements = || {
                    ended(session, read, &given[1..])?;
                    ended(session, &updates[*field], given)?;
                    session.execute("COMMIT", &[]).map(drop)
                };
                let done = statements();
                if done.is_err() {
                    // Of a COMMIT that has failed there is nothing to take back, which is no error.
                    session.execute("ROLLBACK", &[])?;
                }
                done
            }
        }
    }

    fn random(&mut self) -> &mut Random {
        &mut self.random
    }
}

/// Zipf's distribution (Gray, Sundaresan, Englert, Baclawski and Weinberger, *Quickly Generating Billion-Record Synthetic
/// Databases*, SIGMOD 1994, figure 4).
#[derive(Clone)]
struct Zipf {
    items: f64,
    zeta: f64,
    eta: f64,
}

impl Zipf {
    fn new(items: u64) -> Self {
        let zeta = |n: u64| (1..=n).map(|i| (i as f64).powf(-THETA)).sum::<f64>();
        let (all, n) = (zeta(items), items as f64);
        let eta = (1.0 - (2.0 / n).powf(1.0 - THETA)) / (1.0 - zeta(2) / all);
        Self { items: n, zeta: all, eta }
    }

    /// The rank, from 0 on, that a number from 0 to 1 stands for.
    fn rank(&self, at: f64) -> u64 {
        let z = at * self.zeta;
        if z < 1.0 {
            return 0;
        }
        if z < 1.0 + 0.5f64.powf(THETA) {
            return 1;
        }
        let rank = self.items * (self.eta * at - self.eta + 1.0).powf(1.0 / (1.0 - THETA));
        (rank as u64).min(self.items as u64 - 1)
    }
}

/// Ranks that follow one another are not of records that do (FNV-1a).
fn scattered(rank: u64) -> u64 {
    rank.to_le_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_skewed() {
        let (zipf, mut random) = (Zipf::new(1000), Random(1));
        let mut counts = vec![0; 1000];
        (0..100_000).for_each(|_| counts[zipf.rank(random.fraction()) as usize] += 1);
        // 1 / zeta(1000, 0.99) is 0.129; the second has half of it.
        assert!((12_000..14_000).contains(&counts[0]), "{}", counts[0]);
        assert!((5_900..7_100).contains(&counts[1]), "{}", counts[1]);
        assert!(counts[500..].iter().sum::<i32>() < 12_000 && counts[999] < 100);
    }
}
