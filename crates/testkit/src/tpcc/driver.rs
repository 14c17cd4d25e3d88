//! Terminals: sessions that run one transaction after the other, in the mix of the specification (clause 5.2.3).

use std::time::{Duration, Instant};

use base::{Error, Random, Result, SqlState};
use engine::{Database, Session};
use types::{SqlType, Value};

use super::Scale;

/// The transactions, and how many of a hundred are each.
pub const KINDS: [(&str, u64); 5] =
    [("new order", 45), ("payment", 43), ("order status", 4), ("delivery", 4), ("stock level", 4)];

/// What an order names that is none.
const NO_DATA_FOUND: SqlState = SqlState("P0002");

/// What became of the transactions of a kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// How many have ended as they should; of new orders, one in a hundred is taken back.
    pub done: u64,
    /// How many had to be given up as others were faster.
    pub given_up: u64,
    /// The time of all.
    pub time: Duration,
}

/// What became of all, in the order of [`KINDS`].
pub type Tally = [Count; 5];

/// Runs transactions in so many sessions until a time is over, or each has run `most`.
pub fn drive(database: &Database, scale: &Scale, workers: usize, time: Duration, most: u64) -> Result<Tally> {
    let end = Instant::now() + time;
    let tallies = std::thread::scope(|scope| {
        let worker = |number: usize| {
            let mut terminal = Terminal::new(database, *scale, number);
            scope.spawn(move || terminal.run(end, most))
        };
        let running: Vec<_> = (0..workers).map(worker).collect();
        let ended = running.into_iter().map(|thread| thread.join());
        ended
            .map(|tally| tally.unwrap_or_else(|_| Err(Error::internal("a terminal has panicked"))))
            .collect::<Result<Vec<_>>>()
    })?;
    let mut all = Tally::default();
    for tally in tallies {
        for (sum, count) in all.iter_mut().zip(tally) {
            sum.done += count.done;
            sum.given_up += count.given_up;
            sum.time += count.time;
        }
    }
    Ok(all)
}

/// A session with its home warehouse.
struct Terminal {
    session: Session,
    scale: Scale,
    random: Random,
    warehouse: i64,
}

impl Terminal {
    fn new(database: &Database, scale: Scale, number: usize) -> Self {
        let warehouse = number as i64 % scale.warehouses + 1;
        Self { session: database.connect(), scale, random: Random(number as u64 * 7919 + 1), warehouse }
    }

    fn run(&mut self, end: Instant, most: u64) -> Result<Tally> {
        let mut tally = Tally::default();
        for _ in 0..most {
            if Instant::now() >= end {
                break;
            }
            let mut drawn = self.random.below(100);
            let of = |(_, share): &(&str, u64)| {
                let is_it = drawn < *share;
                drawn = drawn.wrapping_sub(*share);
                is_it
            };
            let kind = KINDS.iter().position(of).unwrap_or(0);
            let (call, given) = self.call(kind);
            let begin = Instant::now();
            let result = self.session.execute(call, &given).and_then(|result| result.collect());
            let count = &mut tally[kind];
            count.time += begin.elapsed();
            match result {
                Ok(_) => count.done += 1,
                Err(error) if error.state() == NO_DATA_FOUND => count.done += 1,
                Err(error) if error.state() == SqlState::SERIALIZATION_FAILURE => count.given_up += 1,
                Err(error) => return Err(error.detail(format!("{call}: {given:?}"))),
            }
        }
        Ok(tally)
    }

    /// A number from `least` to `most`.
    fn between(&mut self, least: i64, most: i64) -> i64 {
        least + self.random.below((most - least + 1) as u64) as i64
    }

    /// A number from 1 to `most`, of which some are drawn more often (clause 2.1.6).
    fn skewed(&mut self, most: i64) -> i64 {
        let mask = (most as u64).next_power_of_two() as i64 / 4;
        (self.between(0, mask.max(1) - 1) | self.between(0, most - 1)) % most + 1
    }

    /// Another warehouse than the own, if there is one.
    fn other_warehouse(&mut self) -> i64 {
        match self.scale.warehouses {
            1 => 1,
            all => (self.warehouse - 1 + self.between(1, all - 1)) % all + 1,
        }
    }

    /// The customer of a transaction: a number, or the name that some customer of the district has.
    fn customer(&mut self) -> [Parameter; 2] {
        const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
        if self.between(1, 100) > 60 {
            return [integer(self.skewed(self.scale.customers)), (Value::Null, SqlType::Text)];
        }
        let number = self.between(0, self.scale.customers.min(1000) - 1) as usize;
        let name = [number / 100, number / 10 % 10, number % 10].map(|at| SYLLABLES[at]).concat();
        [(Value::Null, SqlType::Integer), (Value::str(name), SqlType::Text)]
    }

    /// The statement that calls a transaction of that kind, and what it is given.
    fn call(&mut self, kind: usize) -> (&'static str, Vec<Parameter>) {
        let (w, d) = (self.warehouse, self.between(1, self.scale.districts));
        match kind {
            0 => ("CALL new_order($1, $2, $3, $4, $5, $6, $7, NULL, NULL)", self.order(w, d)),
            1 => {
                let is_remote = self.between(1, 100) > 85;
                let (c_w, c_d) =
                    if is_remote { (self.other_warehouse(), self.between(1, self.scale.districts)) } else { (w, d) };
                let mut given = [w, d, c_w, c_d].map(integer).to_vec();
                given.extend(self.customer());
                given.push((Value::Decimal(self.between(100, 500_000).into()), SqlType::decimal(6, 2)));
                given.push(NOW);
                ("CALL payment($1, $2, $3, $4, $5, $6, $7, $8, NULL)", given)
            }
            2 => {
                let mut given = [w, d].map(integer).to_vec();
                given.extend(self.customer());
                ("CALL order_status($1, $2, $3, $4, NULL, NULL, NULL)", given)
            }
            3 => ("CALL delivery($1, $2, $3, NULL)", vec![integer(w), integer(self.between(1, 10)), NOW]),
            _ => ("CALL stock_level($1, $2, $3, NULL)", [w, d, self.between(10, 20)].map(integer).to_vec()),
        }
    }

    /// What a new order is given: five to fifteen lines, of which one in a hundred is delivered by another warehouse; one order in
    /// a hundred names an item that is none.
    fn order(&mut self, w: i64, d: i64) -> Vec<Parameter> {
        let c = self.skewed(self.scale.customers);
        let (is_wrong, lines) = (self.between(1, 100) == 1, self.between(5, 15));
        let mut lists = [Vec::new(), Vec::new(), Vec::new()];
        for line in 1..=lines {
            let is_none = is_wrong && line == lines;
            lists[0].push(if is_none { self.scale.items + 1 } else { self.skewed(self.scale.items) });
            lists[1].push(if self.between(1, 100) == 1 { self.other_warehouse() } else { w });
            lists[2].push(self.between(1, 10));
        }
        let mut given = [w, d, c].map(integer).to_vec();
        given.extend(lists.map(|list| {
            let list: Vec<String> = list.iter().map(i64::to_string).collect();
            (Value::str(format!("{{{}}}", list.join(","))), SqlType::Text)
        }));
        given.push(NOW);
        given
    }
}

/// A parameter's value and type.
type Parameter = (Value, SqlType);

/// When everything happens.
const NOW: Parameter = (Value::Timestamp(770_558_400_000_000), SqlType::Timestamp);

fn integer(value: i64) -> Parameter {
    (Value::Int(value), SqlType::Integer)
}
