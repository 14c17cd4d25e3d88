//! What queries read and write is counted by where it lies: in the history, and by operator.

use std::time::Duration;

use base::traffic::{Access, Traffic};
use engine::rows::text_rows;
use engine::{Config, Database, Session};
use scheduler::{Progress, Run, Seats, Topology};

const TABLES: &[&str] = &[
    "create table tens (i integer)",
    "insert into tens select 10 * a.x + b.x from (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) a(x), \
     (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) b(x)",
    "create table t as select a.i * 10000 + b.i * 100 + c.i as n, c.i % 13 as g, 'text of row ' || (a.i + b.i) as s \
     from tens a, tens b, tens c where a.i < 40",
];

fn session(threads: usize, topology: &str) -> Session {
    with(Config { threads: Some(threads), ..Config::default() }, topology)
}

fn with(config: Config, topology: &str) -> Session {
    let topology = Some(Topology::parse(topology).unwrap());
    let mut session = Database::new(Config { topology, ..config }).unwrap().connect();
    TABLES.iter().for_each(|sql| run(&mut session, sql));
    session
}

fn run(session: &mut Session, sql: &str) {
    session.execute(sql, &[]).and_then(|result| result.rows()).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
}

/// Local and remote bytes of a query with this placement.
fn traffic(session: &mut Session, placement: &str, sql: &str) -> (i64, i64) {
    run(session, &format!("set memory_placement = {placement}"));
    run(session, sql);
    let last = "select local_bytes, remote_bytes from query_history() where query not like 'set %' order by query_id desc limit 1";
    let rows = text_rows(session.execute(last, &[]).unwrap()).unwrap();
    let numbers: Vec<i64> = rows[0].iter().map(|value| value.parse().unwrap()).collect();
    (numbers[0], numbers[1])
}

const QUERIES: &[&str] = &[
    "select sum(n * g) from t",
    "select g, sum(n) from t group by g",
    "select n % 100000 as k, count(*) from t group by k",
    "select count(*), sum(a.g + b.g) from t a join t b on a.n = b.n * 3",
    "select s, n from t where g > 3 order by s, n desc offset 100000",
];

#[test]
fn the_bytes_of_a_scan_are_those_of_its_columns() {
    let mut session = session(1, "4x2:ring");
    let bytes = "select sum(bytes)::bigint from storage_info('t') where column_name in ('n', 'g')";
    let bytes: i64 = text_rows(session.execute(bytes, &[]).unwrap()).unwrap()[0][0].parse().unwrap();
    let (local, remote) = traffic(&mut session, "first_touch", QUERIES[0]);
    // The only worker has loaded all of it. Groups are a few bytes.
    assert_eq!(remote, 0);
    assert!(local >= bytes - 100 && local < bytes + 10_000, "{local} of {bytes}");
}

#[test]
fn placements_move_bytes_and_lose_none() {
    let mut session = session(1, "4x2:ring");
    // Where a morsel stops is the clock's matter, and each note is rounded.
    let same = |a: i64, b: i64| a.abs_diff(b) < 200;
    for sql in QUERIES {
        let (local, remote) = traffic(&mut session, "first_touch", sql);
        let (own, one) = traffic(&mut session, "one_node", sql);
        // The only worker sits on the first node: only what all workers share lies elsewhere.
        assert!(same(own, local) && same(one, remote), "{sql}: {own}, {one} and {local}, {remote}");
        let (near, far) = traffic(&mut session, "interleaved", sql);
        assert!(same(near + far, local + remote), "{sql}: {near}, {far} and {local}, {remote}");
        assert!((3 * near).abs_diff(far) < 2000, "{sql}: {near} near and {far} far");
    }
    assert!(traffic(&mut session, "first_touch", QUERIES[3]).1 > 0);
}

/// Rows with equal keys of tables that are hashed lie on the same node, whoever loads them; such tables stay so.
#[test]
fn rows_with_equal_keys_lie_on_one_node() {
    // However busy the machine is, morsels end where they should, and nobody finds rests of other nodes' ones.
    let slice = Some(Duration::from_secs(60));
    let mut session = with(Config { threads: Some(1), slice, ..Config::default() }, "4x1");
    let tables = [
        "create table heads (h integer primary key, s text) with (distribution = hashed)",
        "create table parts (h integer, p integer, s text, primary key (h, p)) with (distribution = 'hashed')",
        "insert into heads select n, s from t where n < 100000",
        "insert into parts select n, g, s from t where n < 100000",
    ];
    tables.iter().for_each(|sql| run(&mut session, sql));
    let rows = |session: &mut Session, sql: &str| text_rows(session.execute(sql, &[]).unwrap()).unwrap();
    // As many as on one node, of each.
    let nodes = "select node, sum(rows) from storage_info('heads') where column_name = 'h' group by node order by node";
    let of_heads = rows(&mut session, nodes);
    assert_eq!(of_heads.len(), 4, "{of_heads:?}");
    assert_eq!(of_heads, rows(&mut session, &nodes.replace("heads", "parts")));
    let joined = "select count(*), sum(a.h) from heads a join parts b on a.h = b.h and a.s = b.s";
    for placement in ["interleaved", "partitioned", "first_touch"] {
        run(&mut session, &format!("set directory_placement = {placement}"));
        assert_eq!(rows(&mut session, joined), [["100000", "4999950000"]], "{placement}");
    }
    // Played workers that sit on all nodes look at their own one's slots and rows if both lie by the hash of the key.
    let mut shared = |placement: &str| {
        run(&mut session, &format!("set directory_placement = {placement}"));
        let by_one = "select count(*), sum(a.h) from heads a join parts b on a.h = b.h";
        let recording = session.record(by_one, 8, Seats::Played).unwrap();
        let traffic = recording.runs.iter().fold(Traffic::default(), |sum, run| sum + run.traffic);
        traffic.of(Access::Shared)
    };
    let (apart, together) = (shared("interleaved"), shared("partitioned"));
    assert!(apart[1] > apart[0] / 3 && together[0] > 0 && together[1] < together[0] / 20, "{apart:?} {together:?}");
    // Its rewriting keeps it, and what is written of it says so.
    run(&mut session, "alter table heads alter h type bigint");
    assert_eq!(rows(&mut session, nodes), of_heads);
    run(&mut session, "set directory_placement = partitioned");
    assert_eq!(rows(&mut session, joined), [["100000", "4999950000"]]);
    let refused = |session: &mut Session, sql: &str| session.execute(sql, &[]).map(drop).unwrap_err();
    let error = refused(&mut session, "create table u (a integer) with (distribution = hashed)");
    assert_eq!((error.state().0, error.position().is_some()), ("42P16", true));
    let error = refused(&mut session, "create table u (a integer primary key) with (distribution = round_robin)");
    assert_eq!((error.state().0, error.get_hint().is_some()), ("22023", true));
    // Nothing is taken and then forgotten.
    for sql in [
        "alter table heads set (distribution = local)",
        "alter table heads set (fillfactor = 70, distribution = local)",
        "alter table heads reset (distribution)",
        "create table u with (distribution = hashed) as select 1 as a",
        "create table u with (partition_key = a) as select 1 as a",
    ] {
        let error = refused(&mut session, sql);
        let found = (error.state().0, error.position().is_some(), error.get_hint().is_some());
        assert_eq!(found, ("0A000", true, true), "{sql}");
    }
}

#[test]
fn on_one_node_nothing_is_remote() {
    let mut session = session(2, "1x2");
    for sql in QUERIES {
        for placement in ["first_touch", "interleaved", "one_node"] {
            let (local, remote) = traffic(&mut session, placement, sql);
            assert!(local > 0 && remote == 0, "{sql}, {placement}: {local}, {remote}");
        }
    }
}

#[test]
fn operators_have_what_the_query_has() {
    let mut session = session(1, "4x2");
    for sql in QUERIES {
        let rows = text_rows(session.execute(&format!("explain analyze {sql}"), &[]).unwrap()).unwrap();
        let lines: Vec<String> = rows.into_iter().flatten().collect();
        assert!(lines[0].trim_end().ends_with("local MiB  remote MiB"), "{}", lines[0]);
        let operators = lines[1..].iter().take_while(|line| !line.is_empty());
        let last = |line: &String| -> Vec<f64> {
            line.split_whitespace().rev().take(2).map(|number| number.parse().unwrap()).collect()
        };
        let (far, near) = operators.map(last).fold((0.0, 0.0), |(far, near), line| (far + line[0], near + line[1]));
        let (local, remote) = traffic(&mut session, "first_touch", sql);
        let is = |mib: f64, bytes: i64| (mib - bytes as f64 / f64::from(1 << 20)).abs() < 0.1;
        assert!(is(near, local) && is(far, remote), "{sql}: {near}, {far} MiB; {local}, {remote} bytes\n{lines:#?}");
    }
}

#[test]
fn a_static_division_gives_the_same_rows() {
    let mut session = session(3, "1x3");
    for sql in QUERIES {
        let mut answers = Vec::new();
        for division in ["morsels", "static"] {
            run(&mut session, &format!("set work_division = {division}"));
            let mut rows = text_rows(session.execute(sql, &[]).unwrap()).unwrap();
            rows.sort();
            let morsels =
                "select morsels from query_history() where query not like 'set %' order by query_id desc limit 1";
            let morsels = &text_rows(session.execute(morsels, &[]).unwrap()).unwrap()[0][0];
            answers.push((rows, morsels.parse::<u64>().unwrap()));
        }
        assert_eq!(answers[0].0, answers[1].0, "{sql}");
        assert!(answers[1].1 < answers[0].1, "{sql}: {} and {} morsels", answers[0].1, answers[1].1);
    }
}

#[test]
fn a_recording_has_every_row_once_whatever_is_played() {
    let done = |run: &Run| run.morsel.len() - run.progress.and_then(Progress::rest).map_or(0, |rest| rest.len());
    let mut session = session(1, "4x2");
    for sql in QUERIES {
        run(&mut session, sql);
        let last = "select rows_read from query_history() where query not like 'set %' order by query_id desc limit 1";
        let rows = |session: &mut Session| {
            text_rows(session.execute(last, &[]).unwrap()).unwrap()[0][0].parse::<u64>().unwrap()
        };
        let read = rows(&mut session);
        let one = session.record(sql, 1, Seats::Own).unwrap();
        assert_eq!(one.runs.iter().map(done).sum::<u64>(), read, "{sql}");
        assert!(
            one.runs.is_sorted_by_key(|run| run.begin) && one.runs.iter().all(|run| run.begin >= one.begin),
            "{sql}"
        );
        assert_eq!(one.nodes, 4);
        let many = session.record(sql, 7, Seats::Own).unwrap();
        let scan = |recording: &engine::Recording| -> u64 {
            recording.runs.iter().filter(|run| run.stage == 0 && run.phase == 0).map(done).sum()
        };
        assert_eq!(scan(&one), scan(&many), "{sql}");
        assert!(many.runs.iter().any(|run| run.worker.0 == 6), "{sql}");
    }
    assert!(session.record("create table u (a int)", 1, Seats::Own).is_err());
    assert!(session.record("select 1 / (n - n) from t", 1, Seats::Own).is_err());
}
