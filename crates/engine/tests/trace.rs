//! `SET trace`: what a file holds while it is written and afterwards, and which files are none.

use std::path::PathBuf;

use base::SqlState;
use engine::{Config, Database, Session};

/// A path of this process's own.
fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("engine-trace-{name}-{}", std::process::id()))
}

fn database() -> Database {
    Database::new(Config { threads: Some(2), ..Config::default() }).unwrap()
}

fn run(session: &mut Session, sql: &str) {
    session.execute(sql, &[]).and_then(|r| r.rows()).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
}

/// The events of a file, one a line: each is complete at any moment.
#[track_caller]
fn events(path: &PathBuf) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let inside = text.strip_prefix("[").and_then(|t| t.strip_suffix("\n]\n")).unwrap_or_else(|| panic!("{text}"));
    let lines: Vec<&str> = inside.split('\n').skip(1).collect();
    for (number, line) in lines.iter().enumerate() {
        let is_last = number + 1 == lines.len();
        assert!(line.starts_with('{') && line.ends_with(if is_last { "}" } else { "}," }), "{line}");
    }
    lines.into_iter().map(str::to_owned).collect()
}

fn having<'a>(events: &'a [String], words: &[&str]) -> Vec<&'a String> {
    events.iter().filter(|event| words.iter().all(|word| event.contains(word))).collect()
}

/// The sum of the numbers behind a key.
fn sum(events: &[&String], key: &str) -> u64 {
    let number = |event: &&String| {
        let digits = event.split_once(key)?.1;
        digits[..digits.find(|c: char| !c.is_ascii_digit())?].parse::<u64>().ok()
    };
    events.iter().filter_map(number).sum()
}

#[test]
fn morsels_and_phases_are_recorded_until_the_trace_ends() {
    let (database, path) = (database(), path("session"));
    let (mut one, mut two) = (database.connect(), database.connect());
    run(&mut one, "create table d as select * from (values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) v(i)");
    run(&mut one, "create table t as select a.i + 10 * b.i as x from d a, d b, d c, d e, d f");
    run(&mut one, &format!("set trace = '{}'", path.display()));
    assert!(events(&path).is_empty());
    run(&mut one, "select count(*) from t where x > 50");
    let seen = events(&path);
    let morsels = having(&seen, &["\"cat\":\"morsel\"", "\"pipeline\":0"]);
    assert!(morsels.len() > 2 && sum(&morsels, "\"rows\":") == 100_000, "{seen:#?}");
    let statements = having(&seen, &["\"cat\":\"statement\"", "select count(*) from t where x > 50"]);
    assert!(statements.len() == 1 && statements[0].contains("\"state\":\"finished\",\"rows\":1"), "{seen:#?}");
    for phase in ["plan", "compile", "run"] {
        let name = format!("\"name\":\"{phase}\"");
        assert_eq!(having(&seen, &["\"cat\":\"phase\"", &name]).len(), 1, "{seen:#?}");
    }
    assert_eq!(having(&seen, &["\"thread_name\"", "session 1"]).len(), 1);
    // A kept plan, an error, a result beside another one, and another session.
    run(&mut one, "select count(*) from t where x > 60");
    one.execute("select 1 / (x - x) from t", &[]).and_then(|r| r.rows()).unwrap_err();
    let open = one.execute("select x from t", &[]).unwrap();
    run(&mut one, "select max(x) from t");
    drop(open);
    run(&mut two, &format!("set trace = '{}'", path.display()));
    run(&mut two, "select min(x) from t");
    let seen = events(&path);
    assert_eq!(sum(&having(&seen, &["\"cat\":\"statement\"", "x > 60"]), "\"rows\":"), 1);
    assert_eq!(having(&seen, &["\"state\":\"failed\""]).len(), 1);
    assert_eq!(having(&seen, &["\"thread_name\"", "session 1, beside"]).len(), 1);
    assert_eq!(having(&seen, &["\"thread_name\"", "session 2"]).len(), 1);
    // What is loaded is recorded, too.
    let csv = path.with_extension("csv");
    run(&mut one, &format!("copy t to '{}' (header)", csv.display()));
    run(&mut one, &format!("create table u as select * from '{}'", csv.display()));
    assert!(!having(&events(&path), &["\"cat\":\"morsel\"", "\"name\":\"load u\""]).is_empty());
    std::fs::remove_file(csv).unwrap();
    run(&mut one, "set trace = ''");
    run(&mut two, "reset trace");
    let last = events(&path).len();
    run(&mut one, "select max(x) from t");
    assert_eq!(events(&path).len(), last);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_is_no_file_of_ours_is_an_error() {
    let mut session = database().connect();
    let folder = std::env::temp_dir();
    for (path, state) in [
        (folder.display().to_string(), SqlState::WRONG_OBJECT_TYPE),
        ("/dev/null".to_owned(), SqlState::WRONG_OBJECT_TYPE),
        (folder.join("there/is/none").display().to_string(), SqlState::UNDEFINED_FILE),
        ("a\0b".to_owned(), SqlState::IO_ERROR),
    ] {
        let error = session.execute(&format!("set trace = '{path}'"), &[]).unwrap_err();
        assert_eq!(error.state(), state, "{path}: {error}");
    }
    let shown = session.execute("show trace", &[]).and_then(|r| r.rows()).unwrap();
    assert_eq!(shown, [[types::Value::str("")]]);
}

#[test]
fn a_database_can_begin_with_a_trace() {
    let path = path("configured");
    let config = |trace: &str| {
        let mut config = Config { threads: Some(1), ..Config::default() };
        config.settings.set("trace", trace).unwrap();
        config
    };
    let mut session = Database::new(config(path.to_str().unwrap())).unwrap().connect();
    run(&mut session, "select 1");
    assert_eq!(having(&events(&path), &["\"cat\":\"statement\""]).len(), 1);
    std::fs::remove_file(path).unwrap();
    assert_eq!(Database::new(config("/there/is/none")).unwrap_err().state(), SqlState::UNDEFINED_FILE);
    let mut safe = config("/there/is/none");
    safe.settings.set("enable_external_access", "off").unwrap();
    assert_eq!(Database::new(safe).unwrap_err().state(), SqlState::INSUFFICIENT_PRIVILEGE);
}

#[test]
fn explain_draws_what_the_workers_did() {
    let mut session = database().connect();
    run(&mut session, "create table t as select * from (values (1), (2), (3)) v(x)");
    let sql = "explain (analyze, trace) select sum(x) from t where x < 3";
    let lines = session.execute(sql, &[]).and_then(|r| r.rows()).unwrap();
    let page: String = lines.iter().map(|row| format!("{:?}\n", row[0])).collect();
    assert!(page.contains("<svg") && page.contains("<rect") && page.contains("worker "), "{page}");
    assert!(page.contains("x &lt; 3") && page.contains("</html>"), "{page}");
    let error = session.execute("explain (trace) select sum(x) from t", &[]).unwrap_err();
    assert_eq!(error.state(), SqlState::INVALID_PARAMETER_VALUE);
    session.execute("explain (analyze, trace) select 1 / (x - 1) from t", &[]).unwrap_err();
}
