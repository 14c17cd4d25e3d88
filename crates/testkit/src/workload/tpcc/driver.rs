//! Terminals: sessions that run one transaction after the other, in the mix of the specification (clause 5.2.3).

use base::{Random, Result, SqlState};
use engine::{Database, Session};
use types::ops::array;
use types::{SqlType, Value};

use super::Scale;
use crate::workload::{Client, Kind, Parameter, integer};

/// The transactions.
pub const MIX: [Kind; 5] =
    [("new order", 45), ("payment", 43), ("order status", 4), ("delivery", 4), ("stock level", 4)];

/// What an order names that is none: one new order in a hundred is taken back so, as it should.
const NO_DATA_FOUND: SqlState = SqlState("P0002");

/// A session with its home warehouse.
pub struct Terminal {
    session: Session,
    scale: Scale,
    random: Random,
    warehouse: i64,
    drawn: (&'static str, Vec<Parameter>),
}

impl Terminal {
    /// One of several.
    pub fn new(database: &Database, scale: Scale, number: usize) -> Self {
        let warehouse = number as i64 % scale.warehouses + 1;
        let random = Random(number as u64 * 7919 + 1);
        Self { session: database.connect(), scale, random, warehouse, drawn: ("", Vec::new()) }
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
            let list: Vec<Value> = list.into_iter().map(Value::Int).collect();
            let list = array::encode(&list, SqlType::Integer).expect("a list of integers");
            (list, SqlType::array_of(SqlType::Integer))
        }));
        given.push(NOW);
        given
    }
}

impl Client for Terminal {
    fn draw(&mut self, kind: usize) {
        self.drawn = self.call(kind);
    }

    fn run(&mut self) -> Result<()> {
        let (call, given) = &self.drawn;
        match self.session.execute(call, given).and_then(|result| result.collect()) {
            Err(error) if error.state() == NO_DATA_FOUND => Ok(()),
            Err(error) if error.state() != SqlState::SERIALIZATION_FAILURE => {
                Err(error.detail(format!("{call}: {given:?}")))
            }
            other => other.map(drop),
        }
    }

    fn random(&mut self) -> &mut Random {
        &mut self.random
    }
}

/// When everything happens.
const NOW: Parameter = (Value::Timestamp(770_558_400_000_000), SqlType::Timestamp);
