//! Safe mode: no SQL text reads or writes a file, and none opens the door again.

use base::{Error, SqlState};
use engine::{Config, Database, Session};

fn safe() -> Session {
    let mut config = Config { threads: Some(1), ..Config::default() };
    config.settings.set("enable_external_access", "off").unwrap();
    config.settings.set("query_memory_limit", "64MB").unwrap();
    Database::new(config).unwrap().connect()
}

#[track_caller]
fn refused(session: &mut Session, sql: &str) -> Error {
    match session.execute(sql, &[]).and_then(|r| r.rows()) {
        Err(error) => error,
        Ok(rows) => panic!("{sql}: {rows:?}"),
    }
}

#[test]
fn no_statement_reaches_a_file() {
    let folder = std::env::temp_dir().join(format!("engine-safe-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.csv"), "a\n1\n").unwrap();
    let mut open = Database::new(Config { threads: Some(1), ..Config::default() }).unwrap().connect();
    let view = format!("create view v as select * from '{}/a.csv'", folder.display());
    open.execute(&view, &[]).unwrap();
    open.execute("create table t as select 1 as a", &[]).unwrap();
    open.execute("set enable_external_access = off", &[]).unwrap();
    let statements = [
        "select * from '@/a.csv'",
        "select * from '@/*.csv'",
        // What is not there looks like what is.
        "select * from '@/missing.csv'",
        "select * from read_csv('@/a.csv', rejects_table := 'r')",
        "select * from read_parquet('@/a.csv')",
        "select * from read_json(['@/a.csv'])",
        "select * from '@/a.arrow'",
        "select * from read_text('@/a.csv')",
        "select * from glob('@/*')",
        "select * from parquet_schema('@/a.csv')",
        "select * from sniff_csv('@/a.csv')",
        "explain select * from '@/a.csv'",
        "describe select * from '@/a.csv'",
        "create table u as select * from '@/a.csv'",
        "create view w as select * from '@/a.csv'",
        "insert into t select a from '@/a.csv'",
        "select (select max(a) from '@/a.csv')",
        "copy t from '@/a.csv'",
        "copy t from '@/a.csv' (format csv, header, rejects_table 'r')",
        "copy t to '@/out.csv'",
        "copy (select 1) to '@/out.parquet'",
        "copy (select 1 as a, 2 as b) to '@/out' (format json, partition_by (a))",
        "copy t to '/dev/stdout'",
        "set trace = '@/out.json'",
        "select * from v",
    ];
    for sql in statements {
        let error = refused(&mut open, &sql.replace('@', folder.to_str().unwrap()));
        assert_eq!(error.state(), SqlState::INSUFFICIENT_PRIVILEGE, "{sql}: {error}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    assert_eq!(open.execute("select a from t", &[]).unwrap().rows().unwrap().len(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn files_stay_closed_and_locked_settings_stay() {
    let mut session = safe();
    let show = |session: &mut Session, name: &str| {
        session.execute(&format!("show {name}"), &[]).unwrap().rows().unwrap()[0][0].clone()
    };
    for sql in
        ["set enable_external_access = on", "set enable_external_access = default", "reset enable_external_access"]
    {
        assert_eq!(refused(&mut session, sql).state(), SqlState::CANNOT_CHANGE_PARAMETER, "{sql}");
    }
    session.execute("reset all", &[]).unwrap();
    session.execute("set enable_external_access = off", &[]).unwrap();
    let mut other = session.database().connect();
    assert_eq!(show(&mut other, "enable_external_access"), types::Value::str("off"));
    assert_eq!(show(&mut other, "query_memory_limit"), types::Value::str("64mb"));
    other.execute("set lock_configuration = on", &[]).unwrap();
    for sql in [
        "set threads = 2",
        "set memory_limit = none",
        "set query_memory_limit = none",
        "set compile = off",
        "reset compile",
        "reset all",
        "set lock_configuration = off",
        "reset lock_configuration",
        "set lock_configuration = default",
    ] {
        assert_eq!(refused(&mut session, sql).state(), SqlState::CANNOT_CHANGE_PARAMETER, "{sql}");
    }
    assert_eq!(show(&mut session, "lock_configuration"), types::Value::str("on"));
}

#[test]
fn a_database_can_begin_locked() {
    let mut config = Config::default();
    for (name, value) in [("lock_configuration", "on"), ("threads", "1"), ("memory_limit", "64MiB"), ("compile", "off")]
    {
        config.settings.set(name, value).unwrap();
    }
    assert!(config.settings.set("threads", "0").is_err() && config.settings.set("thread", "1").is_err());
    let database = Database::new(config).unwrap();
    assert_eq!(database.threads(), 1);
    let mut session = database.connect();
    let all = session.execute("show all", &[]).unwrap().rows().unwrap();
    let value = |name: &str| all.iter().find(|r| r[0] == types::Value::str(name)).unwrap()[1].clone();
    assert_eq!(value("memory_limit"), types::Value::str("64MiB"));
    assert_eq!((value("compile"), value("lock_configuration")), (types::Value::str("off"), types::Value::str("on")));
    assert_eq!(refused(&mut session, "set compile = on").state(), SqlState::CANNOT_CHANGE_PARAMETER);
}
