//! SmallBank (Alomari, Cahill, Fekete and Röhm, *The Cost of Serializability on Platforms That Use Snapshot Isolation*, ICDE 2008):
//! customers with a savings and a checking account, and short transactions of which some pairs are not serializable by their
//! snapshots: a check is written against both balances while the other one of them is taken from.
//!
//! The mix, the transfer between customers and the hot accounts are those of H-Store's version. Each procedure says by how much it
//! has changed what all accounts have together, so that money is neither made nor lost.

use base::{Random, Result, SqlState};
use engine::{Database, Session};
use types::{SqlType, Value};

use super::{Client, Kind, Parameter, integer};

/// The transactions.
pub const MIX: [Kind; 6] = [
    ("amalgamate", 15),
    ("balance", 15),
    ("deposit checking", 15),
    ("send payment", 25),
    ("transact savings", 15),
    ("write check", 15),
];

const CALLS: [&str; 6] = [
    "CALL amalgamate($1, $2, NULL)",
    "CALL balance($1, NULL, NULL)",
    "CALL deposit_checking($1, $2, NULL)",
    "CALL send_payment($1, $2, $3, NULL)",
    "CALL transact_savings($1, $2, NULL)",
    "CALL write_check($1, $2, NULL)",
];

/// So many of a hundred transactions are of the hot customers.
const HOT_SHARE: u64 = 90;
/// How many of these there are, at most.
const HOT: i64 = 100;

const TABLES: &str = "
CREATE TABLE accounts (custid integer PRIMARY KEY, name varchar(64) NOT NULL);
CREATE TABLE savings (custid integer PRIMARY KEY REFERENCES accounts, bal numeric(12,2) NOT NULL);
CREATE TABLE checking (custid integer PRIMARY KEY REFERENCES accounts, bal numeric(12,2) NOT NULL);
INSERT INTO accounts SELECT c, 'customer ' || c FROM generate_series(0, {customers} - 1) AS g(c);
INSERT INTO savings SELECT c, 10000 + c % 40000 FROM generate_series(0, {customers} - 1) AS g(c);
INSERT INTO checking SELECT c, 10000 + c * 7 % 40000 FROM generate_series(0, {customers} - 1) AS g(c);

CREATE PROCEDURE amalgamate(a integer, b integer, OUT changed numeric(12,2)) LANGUAGE plpgsql AS $$
DECLARE saved numeric(12,2); at_hand numeric(12,2);
BEGIN
    SELECT bal INTO saved FROM savings WHERE custid = a;
    SELECT bal INTO at_hand FROM checking WHERE custid = a;
    UPDATE savings SET bal = 0 WHERE custid = a;
    UPDATE checking SET bal = 0 WHERE custid = a;
    UPDATE checking SET bal = bal + saved + at_hand WHERE custid = b;
    changed := 0;
END $$;
CREATE PROCEDURE balance(c integer, OUT total numeric(12,2), OUT changed numeric(12,2)) LANGUAGE plpgsql AS $$
DECLARE saved numeric(12,2); at_hand numeric(12,2);
BEGIN
    SELECT bal INTO saved FROM savings WHERE custid = c;
    SELECT bal INTO at_hand FROM checking WHERE custid = c;
    total := saved + at_hand;
    changed := 0;
END $$;
CREATE PROCEDURE deposit_checking(c integer, amount numeric(12,2), OUT changed numeric(12,2)) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE checking SET bal = bal + amount WHERE custid = c;
    changed := amount;
END $$;
CREATE PROCEDURE send_payment(a integer, b integer, amount numeric(12,2), OUT changed numeric(12,2)) LANGUAGE plpgsql AS $$
DECLARE at_hand numeric(12,2);
BEGIN
    SELECT bal INTO at_hand FROM checking WHERE custid = a;
    IF at_hand < amount THEN
        RAISE EXCEPTION 'insufficient funds' USING ERRCODE = '22003';
    END IF;
    UPDATE checking SET bal = bal - amount WHERE custid = a;
    UPDATE checking SET bal = bal + amount WHERE custid = b;
    changed := 0;
END $$;
CREATE PROCEDURE transact_savings(c integer, amount numeric(12,2), OUT changed numeric(12,2)) LANGUAGE plpgsql AS $$
DECLARE saved numeric(12,2);
BEGIN
    SELECT bal INTO saved FROM savings WHERE custid = c;
    IF saved < amount THEN
        RAISE EXCEPTION 'insufficient funds' USING ERRCODE = '22003';
    END IF;
    UPDATE savings SET bal = saved - amount WHERE custid = c;
    changed := -amount;
END $$;
CREATE PROCEDURE write_check(c integer, amount numeric(12,2), OUT changed numeric(12,2)) LANGUAGE plpgsql AS $$
DECLARE saved numeric(12,2); at_hand numeric(12,2); taken numeric(12,2) := amount;
BEGIN
    SELECT bal INTO saved FROM savings WHERE custid = c;
    SELECT bal INTO at_hand FROM checking WHERE custid = c;
    IF saved + at_hand < amount THEN
        taken := amount + 1;
    END IF;
    UPDATE checking SET bal = at_hand - taken WHERE custid = c;
    changed := -taken;
END $$;
";

/// Who has no such money: the transaction has ended as it should.
const INSUFFICIENT_FUNDS: SqlState = SqlState("22003");

/// Makes tables, rows and procedures.
pub fn load(session: &mut Session, customers: i64) -> Result<()> {
    let script = TABLES.replace("{customers}", &customers.to_string());
    session.run_script(&script, |_, result| result.collect().map(drop))
}

/// What all accounts have together, in cents.
pub fn money(session: &mut Session) -> Result<i128> {
    let sql = "SELECT (((SELECT sum(bal) FROM savings) + (SELECT sum(bal) FROM checking)) * 100) :: numeric(30,0)";
    let rows = session.execute(sql, &[])?.rows()?;
    match rows.first().and_then(|row| row.first()) {
        Some(Value::Decimal(cents)) => Ok(*cents),
        _ => Err(base::Error::internal("money is a number")),
    }
}

/// A teller.
pub struct Teller {
    session: Session,
    random: Random,
    customers: i64,
    drawn: (usize, Vec<Parameter>),
    /// By how much its transactions have changed what all accounts have together, in cents.
    pub changed: i128,
}

impl Teller {
    /// One of several.
    pub fn new(database: &Database, customers: i64, number: usize) -> Self {
        let (session, random) = (database.connect(), Random(number as u64 * 7919 + 3));
        Self { session, random, customers, drawn: (0, Vec::new()), changed: 0 }
    }

    fn customer(&mut self) -> i64 {
        let most = if self.random.chance(HOT_SHARE) { self.customers.min(HOT) } else { self.customers };
        self.random.below(most as u64) as i64
    }

    /// Two of them.
    fn pair(&mut self) -> [i64; 2] {
        let (one, other) = (self.customer(), self.customer());
        [one, if one == other { (other + 1) % self.customers } else { other }]
    }
}

fn money_of(cents: i64) -> Parameter {
    (Value::Decimal(cents.into()), SqlType::decimal(12, 2))
}

impl Client for Teller {
    fn draw(&mut self, kind: usize) {
        let given = match kind {
            0 => self.pair().map(integer).to_vec(),
            1 => vec![integer(self.customer())],
            2 => vec![integer(self.customer()), money_of(130)],
            3 => {
                let mut given = self.pair().map(integer).to_vec();
                given.push(money_of(500));
                given
            }
            4 => vec![integer(self.customer()), money_of(2020)],
            _ => vec![integer(self.customer()), money_of(500)],
        };
        self.drawn = (kind, given);
    }

    fn run(&mut self) -> Result<()> {
        let (kind, given) = &self.drawn;
        let rows = match self.session.execute(CALLS[*kind], given).and_then(|result| result.rows()) {
            Err(error) if error.state() == INSUFFICIENT_FUNDS => return Ok(()),
            other => other?,
        };
        match rows.first().and_then(|row| row.last()) {
            Some(Value::Decimal(cents)) => self.changed += *cents,
            _ => return Err(base::Error::internal("a transaction says what it has changed")),
        }
        Ok(())
    }

    fn random(&mut self) -> &mut Random {
        &mut self.random
    }
}
