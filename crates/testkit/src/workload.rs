//! Workloads of transactions: clients that run one after the other, without a pause, and what became of these.

pub mod chbenchmark;
pub mod smallbank;
pub mod tpcc;
pub mod ycsb;

use std::time::{Duration, Instant};

use base::{Error, Random, Result, SqlState};
use types::{SqlType, Value};

/// A parameter's value and type.
type Parameter = (Value, SqlType);

/// A kind of transaction, and how many of a hundred are of it.
pub type Kind = (&'static str, u64);

/// Somebody who runs one transaction after the other.
pub trait Client: Send {
    /// Thinks of the next one, of that kind.
    fn draw(&mut self, kind: usize);

    /// Runs it. Error 40001: it has to be given up, as others were faster.
    fn run(&mut self) -> Result<()>;

    /// Where it draws from.
    fn random(&mut self) -> &mut Random;
}

/// What became of the transactions of a kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// How many have ended as they should.
    pub done: u64,
    /// How many had to be given up as others were faster.
    pub given_up: u64,
    /// The time of all.
    pub time: Duration,
}

/// What became of all, in the order of their kinds.
pub type Tally = Vec<Count>;

/// Runs transactions of a mix, each client by a thread, until a time is over or each has run `most`.
pub fn drive(clients: &mut [impl Client], mix: &[Kind], time: Duration, most: u64) -> Result<Tally> {
    let end = Instant::now() + time;
    let tallies = std::thread::scope(|scope| {
        let running: Vec<_> =
            clients.iter_mut().map(|client| scope.spawn(move || until(client, mix, end, most))).collect();
        let ended = running.into_iter().map(|thread| thread.join());
        ended
            .map(|tally| tally.unwrap_or_else(|_| Err(Error::internal("a client has panicked"))))
            .collect::<Result<Vec<_>>>()
    })?;
    let mut all = vec![Count::default(); mix.len()];
    for tally in tallies {
        for (sum, count) in all.iter_mut().zip(tally) {
            sum.done += count.done;
            sum.given_up += count.given_up;
            sum.time += count.time;
        }
    }
    Ok(all)
}

fn until(client: &mut impl Client, mix: &[Kind], end: Instant, most: u64) -> Result<Tally> {
    let mut tally = vec![Count::default(); mix.len()];
    for _ in 0..most {
        let begin = Instant::now();
        if begin >= end {
            break;
        }
        let kind = drawn(mix, client.random().below(100));
        client.draw(kind);
        let begin = Instant::now();
        let result = client.run();
        let count = &mut tally[kind];
        count.time += begin.elapsed();
        match result {
            Ok(()) => count.done += 1,
            Err(error) if error.state() == SqlState::SERIALIZATION_FAILURE => count.given_up += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(tally)
}

/// Which kind a number below 100 stands for.
fn drawn(mix: &[Kind], mut number: u64) -> usize {
    let is_it = |(_, share): &Kind| {
        let is_it = number < *share;
        number = number.wrapping_sub(*share);
        is_it
    };
    mix.iter().position(is_it).unwrap_or(0)
}

fn integer(value: i64) -> Parameter {
    (Value::Int(value), SqlType::Integer)
}

fn text(value: impl AsRef<str>) -> Parameter {
    (Value::str(value.as_ref()), SqlType::Text)
}
