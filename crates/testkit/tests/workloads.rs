//! Workloads of transactions on little data, by several sessions at once: what holds before holds after.

use std::sync::Arc;
use std::time::Duration;

use engine::{Config, Database};
use testkit::workload::tpcc::{PROCEDURES, Scale, Terminal, violations};
use testkit::workload::{Kind, Tally, chbenchmark, drive, smallbank, tpcc, ycsb};

const LONG: Duration = Duration::from_secs(60);
const SMALL: Scale = Scale { warehouses: 1, districts: 10, customers: 30, items: 100 };

fn database() -> Database {
    Database::new(Config { threads: Some(2), ..Config::default() }).unwrap()
}

/// How many have ended, and how many were given up.
fn ends(tally: &Tally) -> (u64, u64) {
    tally.iter().fold((0, 0), |(done, given_up), count| (done + count.done, given_up + count.given_up))
}

#[test]
fn the_conditions_of_tpcc_hold_beside_the_queries_of_chbenchmark() {
    let database = database();
    let mut session = database.connect();
    tpcc::load(&mut session, &SMALL).unwrap();
    session.run_script(PROCEDURES, |_, result| result.collect().map(drop)).unwrap();
    chbenchmark::load(&mut session).unwrap();
    assert_eq!(violations(&mut session, &SMALL).unwrap(), []);
    let mut terminals: Vec<_> = (0..2).map(|number| Terminal::new(&database, SMALL, number)).collect();
    let running = std::thread::spawn(move || drive(&mut terminals, &tpcc::MIX, LONG, 150));
    for query in chbenchmark::QUERIES {
        session.execute(query, &[]).and_then(|result| result.collect()).unwrap();
    }
    let tally = running.join().unwrap().unwrap();
    assert_eq!(violations(&mut session, &SMALL).unwrap(), []);
    let (done, given_up) = ends(&tally);
    assert_eq!((done + given_up, given_up < 20), (300, true), "{tally:?}");
}

/// Two warehouses and two terminals, so that payments and orders of the other warehouse reach both.
#[test]
fn the_conditions_of_tpcc_hold_however_transactions_are_kept_apart() {
    const TWO: Scale = Scale { warehouses: 2, ..SMALL };
    for control in ["serial", "partitioned", "two_phase_locking", "timestamp_ordering"] {
        let database = database();
        let mut session = database.connect();
        tpcc::load(&mut session, &TWO).unwrap();
        session.run_script(PROCEDURES, |_, result| result.collect().map(drop)).unwrap();
        session.execute(&format!("SET concurrency_control = {control}"), &[]).unwrap().collect().unwrap();
        let mut terminals: Vec<_> = (0..2).map(|number| Terminal::new(&database, TWO, number)).collect();
        let tally = drive(&mut terminals, &tpcc::MIX, LONG, 100).unwrap();
        assert_eq!(violations(&mut session, &TWO).unwrap(), [], "{control}");
        let (done, given_up) = ends(&tally);
        assert_eq!((done + given_up, given_up < 20), (200, true), "{control}: {tally:?}");
    }
}

#[test]
fn smallbank_keeps_its_money() {
    const CUSTOMERS: i64 = 50;
    let database = database();
    let mut session = database.connect();
    smallbank::load(&mut session, CUSTOMERS).unwrap();
    let before = smallbank::money(&mut session).unwrap();
    let mut tellers: Vec<_> = (0..3).map(|n| smallbank::Teller::new(&database, CUSTOMERS, n)).collect();
    let tally = drive(&mut tellers, &smallbank::MIX, LONG, 200).unwrap();
    let changed: i128 = tellers.iter().map(|teller| teller.changed).sum();
    assert_eq!(smallbank::money(&mut session).unwrap(), before + changed);
    let (done, given_up) = ends(&tally);
    assert_eq!((done + given_up, given_up < 60), (600, true), "{tally:?}");
}

#[test]
fn each_workload_of_ycsb_runs() {
    let database = database();
    let mut session = database.connect();
    ycsb::load(&mut session, 500).unwrap();
    let records = Arc::new(500.into());
    for (letter, _, mix) in ycsb::WORKLOADS {
        let mix: [Kind; 2] = mix;
        let mut clients = ycsb::Reader::clients(&database, letter, 2, &records).unwrap();
        let tally = drive(&mut clients, &mix, LONG, 60).unwrap();
        let (done, given_up) = ends(&tally);
        assert_eq!((done + given_up, given_up < 20), (120, true), "{letter}: {tally:?}");
    }
    let rows = session.execute("SELECT count(*) FROM usertable", &[]).unwrap().rows().unwrap();
    let all = records.load(std::sync::atomic::Ordering::Relaxed) as i64;
    assert!(all > 500);
    assert_eq!(rows, [[types::Value::Int(all)]]);
}
