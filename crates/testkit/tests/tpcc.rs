//! TPC-C on little data: the transactions run in several sessions at once, and the conditions hold before and after.

use std::time::Duration;

use engine::{Config, Database};
use testkit::tpcc::{PROCEDURES, Scale, drive, load, violations};

#[test]
fn the_conditions_hold() {
    let scale = Scale { warehouses: 1, districts: 10, customers: 30, items: 100 };
    let database = Database::new(Config { threads: Some(2), ..Config::default() }).unwrap();
    let mut session = database.connect();
    load(&mut session, &scale).unwrap();
    session.run_script(PROCEDURES, |_, result| result.collect().map(drop)).unwrap();
    assert_eq!(violations(&mut session, &scale).unwrap(), []);
    let tally = drive(&database, &scale, 2, Duration::from_secs(60), 150).unwrap();
    assert_eq!(violations(&mut session, &scale).unwrap(), []);
    let (done, given_up) = tally.iter().fold((0, 0), |(a, b), count| (a + count.done, b + count.given_up));
    assert_eq!((done + given_up, given_up < 20), (300, true), "{tally:?}");
}
