//! Ways to keep transactions apart that are not the usual one: serial, by parts, by locks, by stamps.

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use base::SqlState;
use engine::rows::text_rows;
use engine::{Config, Database, Session};

/// How long somebody who waits is watched.
const WHILE: Duration = Duration::from_millis(150);

fn database(control: &str) -> Database {
    let database = Database::new(Config { threads: Some(2), ..Config::default() }).unwrap();
    let mut session = database.connect();
    run(&mut session, &format!("SET concurrency_control = {control}"));
    run(&mut session, "CREATE TABLE t (k integer PRIMARY KEY, v integer)");
    run(&mut session, "INSERT INTO t SELECT i, 0 FROM generate_series(1, 100) g(i)");
    // Plans that are kept lock rows.
    for _ in 0..2 {
        run(&mut session, "BEGIN");
        run(&mut session, "UPDATE t SET v = v + 0 WHERE k = 1");
        run(&mut session, "SELECT v FROM t WHERE k = 1");
        run(&mut session, "INSERT INTO t VALUES (1000, 1)");
        run(&mut session, "ROLLBACK");
    }
    database
}

fn run(session: &mut Session, sql: &str) -> Vec<String> {
    let rows = session.execute(sql, &[]).and_then(text_rows);
    rows.unwrap_or_else(|e| panic!("{}", e.render(sql))).into_iter().map(|row| row.join("|")).collect()
}

/// Runs a statement in another thread; it must not end before `then` is done, unless it is `free`.
#[track_caller]
fn beside(session: &mut Session, sql: &str, free: bool, then: impl FnOnce()) -> Result<Vec<Vec<String>>, base::Error> {
    thread::scope(|scope| {
        let (sender, receiver) = channel();
        let other = scope.spawn(move || {
            let result = session.execute(sql, &[]).and_then(text_rows);
            let _ = sender.send(());
            result
        });
        let patience = if free { Duration::from_secs(20) } else { WHILE };
        assert_eq!(receiver.recv_timeout(patience).is_ok(), free, "{sql}");
        then();
        other.join().unwrap()
    })
}

#[test]
fn serial_transactions_come_one_after_the_other() {
    let database = database("serial");
    let (mut a, mut b, mut c) = (database.connect(), database.connect(), database.connect());
    run(&mut a, "BEGIN");
    run(&mut a, "UPDATE t SET v = 1 WHERE k = 1");
    // Who only reads does not wait.
    assert_eq!(run(&mut c, "SELECT v FROM t WHERE k = 1"), ["0"]);
    run(&mut c, "BEGIN READ ONLY");
    assert_eq!(run(&mut c, "SELECT sum(v) FROM t"), ["0"]);
    beside(&mut b, "UPDATE t SET v = v + 10 WHERE k = 1", false, || {
        assert_eq!(run(&mut a, "SELECT v FROM t WHERE k = 1"), ["1"]);
        run(&mut a, "COMMIT");
    })
    .unwrap();
    assert_eq!(run(&mut c, "SELECT sum(v) FROM t"), ["0"]);
    run(&mut c, "COMMIT");
    assert_eq!(run(&mut b, "SELECT v FROM t WHERE k = 1"), ["11"]);
    // BEGIN alone is nobody's turn; what a transaction sees is what there is when it comes.
    run(&mut a, "BEGIN");
    run(&mut b, "UPDATE t SET v = 20 WHERE k = 1");
    assert_eq!(run(&mut a, "SELECT v FROM t WHERE k = 1"), ["20"]);
    // Who waits can be interrupted, and a session that is gone holds up nobody.
    let interrupt = b.interrupt_handle();
    let error = beside(&mut b, "DELETE FROM t", false, || interrupt.interrupt()).unwrap_err();
    assert_eq!(error.state(), SqlState::QUERY_CANCELED);
    drop(a);
    run(&mut b, "SET statement_timeout = '10s'");
    assert_eq!(run(&mut b, "UPDATE t SET v = v + 1 WHERE k = 1 RETURNING v"), ["21"]);
    // An error gives the turn back, at the end of the transaction.
    run(&mut b, "BEGIN");
    run(&mut b, "SELECT count(*) FROM t");
    assert_eq!(b.execute("SELECT 1 / 0", &[]).and_then(text_rows).unwrap_err().state(), SqlState::DIVISION_BY_ZERO);
    run(&mut b, "ROLLBACK");
    run(&mut c, "UPDATE t SET v = 0");
}

#[test]
fn locks_are_of_rows_where_keys_are_told() {
    let database = database("two_phase_locking");
    let (mut a, mut b) = (database.connect(), database.connect());
    run(&mut a, "BEGIN");
    run(&mut a, "UPDATE t SET v = v + 1 WHERE k = 1");
    run(&mut a, "SELECT v FROM t WHERE k = 2");
    // Other rows are free, and so is what is read only.
    beside(&mut b, "UPDATE t SET v = v + 1 WHERE k = 3", true, || {}).unwrap();
    assert_eq!(run(&mut b, "SELECT v FROM t WHERE k = 1"), ["0"]);
    // A row that is read is not changed, and one that is changed not read.
    beside(&mut b, "UPDATE t SET v = v + 1 WHERE k = 2", false, || {
        assert_eq!(run(&mut a, "SELECT v FROM t WHERE k = 2"), ["0"]);
        run(&mut a, "COMMIT");
    })
    .unwrap();
    run(&mut a, "BEGIN");
    run(&mut a, "UPDATE t SET v = v + 1 WHERE k = 1");
    run(&mut b, "BEGIN");
    beside(&mut b, "SELECT v FROM t WHERE k = 1", false, || {
        run(&mut a, "COMMIT");
    })
    .map(|rows| assert_eq!(rows, [["2"]]))
    .unwrap();
    run(&mut b, "COMMIT");
    // Nobody inserts what was looked for, by its key or in another way.
    run(&mut a, "BEGIN");
    assert!(run(&mut a, "SELECT v FROM t WHERE k = 1000").is_empty());
    beside(&mut b, "INSERT INTO t VALUES (1000, 1)", false, || {
        assert!(run(&mut a, "SELECT v FROM t WHERE k = 1000").is_empty());
        run(&mut a, "COMMIT");
    })
    .unwrap();
    run(&mut a, "BEGIN");
    assert_eq!(run(&mut a, "SELECT count(*) FROM t WHERE v > 100"), ["0"]);
    beside(&mut b, "INSERT INTO t VALUES (1001, 101)", false, || {
        assert_eq!(run(&mut a, "SELECT count(*) FROM t WHERE v > 100"), ["0"]);
        run(&mut a, "ROLLBACK");
    })
    .unwrap();
    assert_eq!(run(&mut a, "SELECT count(*) FROM t WHERE v > 100"), ["1"]);
}

#[test]
fn who_waits_for_each_other_is_told() {
    let database = database("two_phase_locking");
    let (mut a, mut b) = (database.connect(), database.connect());
    // Write skew: each reads what the other changes.
    run(&mut a, "BEGIN");
    run(&mut b, "BEGIN");
    assert_eq!(run(&mut a, "SELECT v FROM t WHERE k = 1"), ["0"]);
    assert_eq!(run(&mut b, "SELECT v FROM t WHERE k = 2"), ["0"]);
    let mut told = None;
    let first = beside(&mut a, "UPDATE t SET v = 1 WHERE k = 2", false, || {
        told = b.execute("UPDATE t SET v = 1 WHERE k = 1", &[]).and_then(text_rows).err();
        run(&mut b, "ROLLBACK");
    });
    assert!(first.is_ok());
    assert_eq!(told.unwrap().state(), SqlState::DEADLOCK);
    run(&mut a, "COMMIT");
    assert_eq!(run(&mut a, "SELECT k FROM t WHERE v = 1"), ["2"]);
}

#[test]
fn parts_of_the_database_are_transactions_own() {
    let database = Database::new(Config { threads: Some(2), ..Config::default() }).unwrap();
    let (mut a, mut b, mut c) = (database.connect(), database.connect(), database.connect());
    run(&mut a, "SET concurrency_control = partitioned");
    run(&mut a, "CREATE TABLE shops (s integer PRIMARY KEY, v integer) WITH (partition_key = s)");
    run(&mut a, "CREATE TABLE stock (s integer, item integer, v integer, PRIMARY KEY (s, item))");
    run(&mut a, "ALTER TABLE stock SET (partition_key = 's')");
    run(&mut a, "CREATE TABLE items (item integer PRIMARY KEY, v integer)");
    run(&mut a, "INSERT INTO shops SELECT i, 0 FROM generate_series(1, 10) g(i)");
    run(&mut a, "INSERT INTO stock SELECT s, i, 0 FROM generate_series(1, 10) a(s), generate_series(1, 10) b(i)");
    run(&mut a, "INSERT INTO items SELECT i, 0 FROM generate_series(1, 10) g(i)");
    let sell = "UPDATE stock SET v = v + 1 WHERE s = 1 AND item = 3";
    // Plans that are kept say which part they are of.
    for shop in [7, 8] {
        run(&mut a, "BEGIN");
        run(&mut a, &sell.replace("s = 1", &format!("s = {shop}")));
        run(&mut a, &format!("INSERT INTO stock VALUES ({shop}, 11, 0)"));
        run(&mut a, &format!("SELECT v FROM shops WHERE s = {shop}"));
        run(&mut a, &format!("SELECT v FROM items WHERE item = {shop}"));
        run(&mut a, "ROLLBACK");
    }
    run(&mut a, "BEGIN");
    run(&mut a, sell);
    run(&mut a, "INSERT INTO stock VALUES (1, 11, 0)");
    assert_eq!(run(&mut a, "SELECT v FROM items WHERE item = 1"), ["0"]);
    // Another part is free, in whichever table, and so is who only reads.
    let in_second = "UPDATE stock SET v = v + 1 WHERE s = 2 AND item = 3";
    beside(&mut b, in_second, true, || {}).unwrap();
    assert_eq!(run(&mut c, "SELECT sum(v) FROM stock"), ["1"]);
    // The same part is not, in another table either, nor what belongs to all parts, if it is changed.
    run(&mut b, "BEGIN");
    beside(&mut b, "SELECT v FROM shops WHERE s = 1", false, || {
        run(&mut a, "COMMIT");
    })
    .unwrap();
    beside(&mut a, "UPDATE items SET v = 1 WHERE item = 1", false, || {
        run(&mut b, "COMMIT");
    })
    .unwrap();
    // Who reaches a second part waits for all, and has all.
    run(&mut a, "BEGIN");
    run(&mut a, sell);
    run(&mut b, "BEGIN");
    run(&mut b, in_second);
    beside(&mut a, "UPDATE stock SET v = v - 1 WHERE s = 3 AND item = 3", false, || {
        run(&mut b, "COMMIT");
    })
    .unwrap();
    beside(&mut b, "UPDATE stock SET v = v + 1 WHERE s = 5 AND item = 3", false, || {
        run(&mut a, "COMMIT");
    })
    .unwrap();
    // Two of them: one is told.
    run(&mut a, "BEGIN");
    run(&mut a, sell);
    run(&mut b, "BEGIN");
    run(&mut b, in_second);
    let mut told = None;
    let first = beside(&mut a, "SELECT sum(v) FROM stock", false, || {
        told = b.execute("SELECT sum(v) FROM stock", &[]).and_then(text_rows).err();
        run(&mut b, "ROLLBACK");
    });
    assert_eq!((first.unwrap(), told.unwrap().state()), (vec![vec!["5".to_owned()]], SqlState::DEADLOCK));
    run(&mut a, "ROLLBACK");
    // A row that goes to another part reaches both; a table keeps its key when it is written anew.
    run(&mut a, "ALTER TABLE stock ADD COLUMN first integer DEFAULT 1, ALTER COLUMN v TYPE bigint");
    run(&mut a, "BEGIN");
    run(&mut a, &sell.replace("s = 1", "s = 7"));
    run(&mut a, "ROLLBACK");
    run(&mut a, "BEGIN");
    run(&mut a, sell);
    beside(&mut b, in_second, true, || {}).unwrap();
    run(&mut a, "UPDATE stock SET s = 30 WHERE s = 1 AND item = 4");
    beside(&mut b, in_second, false, || {
        run(&mut a, "COMMIT");
    })
    .unwrap();
    // Without one, a change of it is everybody's.
    run(&mut a, "ALTER TABLE stock RESET (partition_key)");
    run(&mut a, "BEGIN");
    run(&mut a, sell);
    beside(&mut b, "SELECT v FROM shops WHERE s = 2", true, || {}).unwrap();
    beside(&mut b, in_second, false, || {
        run(&mut a, "COMMIT");
    })
    .unwrap();
    for wrong in
        ["ALTER TABLE stock SET (partition_key = nothing)", "CREATE TABLE wrong (a integer) WITH (partition_key = b)"]
    {
        let error = a.execute(wrong, &[]).and_then(text_rows).unwrap_err();
        assert_eq!(error.state(), SqlState::UNDEFINED_COLUMN, "{wrong}");
    }
}

#[test]
fn controls_wait_for_each_other() {
    let database = database("mvcc");
    let (mut a, mut b) = (database.connect(), database.connect());
    run(&mut a, "BEGIN");
    run(&mut a, "UPDATE t SET v = 5 WHERE k = 5");
    run(&mut b, "SET concurrency_control = serial");
    assert_eq!(run(&mut b, "SHOW concurrency_control"), ["serial"]);
    let begin = Instant::now();
    beside(&mut b, "UPDATE t SET v = v + 1 WHERE k = 5", false, || {
        run(&mut a, "COMMIT");
    })
    .unwrap();
    assert!(begin.elapsed() >= WHILE);
    assert_eq!(run(&mut a, "SELECT v FROM t WHERE k = 5"), ["6"]);
    run(&mut b, "RESET concurrency_control");
    assert_eq!(run(&mut a, "SHOW concurrency_control"), ["mvcc"]);
    let wrong = b.execute("SET concurrency_control = optimism", &[]).unwrap_err();
    assert_eq!(wrong.state(), SqlState::INVALID_PARAMETER_VALUE);
}

#[test]
fn stamps_say_in_which_order_transactions_come() {
    let database = database("timestamp_ordering");
    let (mut a, mut b, mut c) = (database.connect(), database.connect(), database.connect());
    // The older one has not ended, so what it has changed is waited for.
    run(&mut a, "BEGIN");
    run(&mut b, "BEGIN");
    run(&mut a, "UPDATE t SET v = v + 1 WHERE k = 1");
    assert_eq!(run(&mut b, "SELECT v FROM t WHERE k = 2"), ["0"]);
    beside(&mut b, "SELECT v FROM t WHERE k = 1", false, || {
        run(&mut a, "COMMIT");
    })
    .map(|rows| assert_eq!(rows, [["1"]]))
    .unwrap();
    run(&mut b, "COMMIT");
    // A younger one has read what an older one wants to change.
    run(&mut a, "BEGIN");
    run(&mut a, "SELECT v FROM t WHERE k = 3");
    assert_eq!(run(&mut b, "SELECT v FROM t WHERE k = 4"), ["0"]);
    let late = a.execute("UPDATE t SET v = v + 1 WHERE k = 4", &[]).and_then(text_rows).unwrap_err();
    assert_eq!(late.state(), SqlState::SERIALIZATION_FAILURE);
    run(&mut a, "ROLLBACK");
    // The anomaly of a reader: a has read what b, which is younger, has changed, and changes what c has not seen.
    run(&mut a, "BEGIN");
    assert_eq!(run(&mut a, "SELECT v FROM t WHERE k = 5"), ["0"]);
    run(&mut b, "UPDATE t SET v = v + 1 WHERE k = 5");
    assert_eq!(run(&mut c, "SELECT k, v FROM t WHERE k IN (5, 6) ORDER BY k"), ["5|1", "6|0"]);
    let late = a.execute("UPDATE t SET v = v + 1 WHERE k = 6", &[]).and_then(text_rows).unwrap_err();
    assert_eq!(late.state(), SqlState::SERIALIZATION_FAILURE);
    run(&mut a, "ROLLBACK");
}
