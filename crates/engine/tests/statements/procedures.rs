//! Procedures as clients see them: what they tell, how they are stopped, and what becomes of them beside others.

use std::time::Duration;

use base::SqlState;
use engine::{Config, Database, QueryResult, Session};
use types::{SqlType, Value};

fn run(session: &mut Session, sql: &str) -> base::Result<Vec<Vec<Value>>> {
    session.execute(sql, &[]).and_then(QueryResult::rows)
}

#[test]
fn notices_wait_for_the_client() {
    let mut session = Database::new(Config::default()).unwrap().connect();
    let block = "do $$ begin raise notice 'a %', 1 using hint = 'h'; raise debug 'no'; raise warning 'b'; end $$";
    run(&mut session, block).unwrap();
    let told = session.take_notices();
    assert_eq!(
        told.iter().map(|n| (n.level, n.message.as_str())).collect::<Vec<_>>(),
        [("NOTICE", "a 1"), ("WARNING", "b")]
    );
    assert_eq!((told[0].hint.as_deref(), session.take_notices().len()), (Some("h"), 0));
}

#[test]
fn errors_say_where_they_happened() {
    let mut session = Database::new(Config::default()).unwrap().connect();
    let script = "create function inner_f(x int) returns int language plpgsql as $$ begin\n return 1 / x; end $$;\n\
        create procedure outer_p() language plpgsql as $$ declare y int; begin\n\n y := inner_f(0); end $$;";
    session.run_script(script, |_, _| Ok(())).unwrap();
    let error = run(&mut session, "call outer_p()").unwrap_err();
    let context =
        "PL/pgSQL function inner_f(integer) line 2 at RETURN\nPL/pgSQL function outer_p() line 3 at assignment";
    assert_eq!((error.state(), error.get_context()), (SqlState::DIVISION_BY_ZERO, Some(context)));
}

#[test]
fn endless_loops_are_stopped() {
    let mut session = Database::new(Config::default()).unwrap().connect();
    let handle = session.interrupt_handle();
    let stopper = std::thread::spawn(move || {
        // Until the loop runs, nothing is there to be stopped.
        for _ in 0..200 {
            std::thread::sleep(Duration::from_millis(5));
            handle.interrupt();
        }
    });
    let endless = "do $$ begin begin loop null; end loop; exception when others then null; end; end $$";
    assert_eq!(run(&mut session, endless).unwrap_err().state(), SqlState::QUERY_CANCELED);
    stopper.join().unwrap();
}

#[test]
fn rows_of_functions_count_as_memory() {
    let mut session = Database::new(Config::default()).unwrap().connect();
    let script = "create function much() returns setof text language plpgsql as $$ begin\n\
        loop return next repeat('x', 10000); end loop; end $$; set query_memory_limit = '20MB'";
    session.run_script(script, |_, _| Ok(())).unwrap();
    assert_eq!(run(&mut session, "select count(*) from much()").unwrap_err().state(), SqlState::OUT_OF_MEMORY);
}

#[test]
fn calls_that_collide_are_run_again() {
    let database = Database::new(Config { threads: Some(2), ..Config::default() }).unwrap();
    let mut session = database.connect();
    let script = "create table t (k int primary key, n int); insert into t values (1, 0);\n\
        create procedure add_one(key int) language plpgsql as $$ declare m int; begin\n\
        select n into m from t where k = key; m := m + 1; update t set n = m where k = key; end $$";
    session.run_script(script, |_, _| Ok(())).unwrap();
    let worker = |_| {
        let mut session = database.connect();
        std::thread::spawn(move || {
            for _ in 0..50 {
                let key = (Value::Int(1), SqlType::Integer);
                session.execute("call add_one($1)", &[key]).and_then(QueryResult::collect).unwrap();
            }
        })
    };
    let workers: Vec<_> = (0..3).map(worker).collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    assert_eq!(run(&mut session, "select n from t").unwrap(), [[Value::Int(150)]]);
}

#[test]
fn a_call_that_comes_again_is_bound_for_what_it_is_given() {
    let mut session = Database::new(Config::default()).unwrap().connect();
    run(&mut session, "create procedure named(x integer, y text, out z text) language plpgsql as $$ begin z := coalesce(x::text, '-') || coalesce(y, '-'); end $$").unwrap();
    const CALL: &str = "call named($1, $2, null)";
    let named = |session: &mut Session, x: (Value, SqlType), y: (Value, SqlType)| {
        let mut rows = session.execute(CALL, &[x, y])?.rows()?;
        Ok::<Value, base::Error>(rows.remove(0).remove(0))
    };
    let integer = |x: i64| (Value::Int(x), SqlType::Integer);
    let text = |x: &str| (Value::str(x), SqlType::Text);
    for round in 0..3 {
        let cases = [
            ((integer(round), text("a")), format!("{round}a")),
            (((Value::Null, SqlType::Integer), text("b")), "-b".to_owned()),
            ((integer(7), (Value::Null, SqlType::Text)), "7-".to_owned()),
            (((Value::Null, SqlType::Null), (Value::Null, SqlType::Null)), "--".to_owned()),
            // A text is what its place wants it to be.
            ((text("12"), text("c")), "12c".to_owned()),
            (((Value::Int(3), SqlType::SmallInt), (Value::str("d"), SqlType::Varchar(5))), "3d".to_owned()),
        ];
        for ((x, y), expected) in cases {
            assert_eq!(named(&mut session, x, y).unwrap(), Value::str(expected));
        }
        let error = named(&mut session, text("twelve"), text("e")).unwrap_err();
        assert_eq!(error.state().0, "22P02");
        assert!(named(&mut session, (Value::Bool(true), SqlType::Bool), text("f")).is_err());
    }
    run(&mut session, "create procedure named(x integer, y integer, out z text) language plpgsql as $$ begin z := 'two integers'; end $$").unwrap();
    assert_eq!(named(&mut session, integer(1), integer(2)).unwrap(), Value::str("two integers"));
    // A text is one where it may be.
    assert_eq!(named(&mut session, integer(1), text("a")).unwrap(), Value::str("1a"));
    run(&mut session, "drop procedure named(integer, text)").unwrap();
    let error = named(&mut session, integer(1), text("a")).unwrap_err();
    assert!(["22P02", "42883"].contains(&error.state().0), "{error}");
    run(&mut session, "drop procedure named(integer, integer)").unwrap();
    assert_eq!(named(&mut session, integer(1), text("a")).unwrap_err().state().0, "42883");
}

#[test]
fn messages_are_for_those_who_want_them() {
    let mut session = Database::new(Config::default()).unwrap().connect();
    let told = |session: &mut Session, level: &str| {
        run(session, &format!("set client_min_messages = {level}")).unwrap();
        let all =
            "do $$ begin raise debug 'd'; raise log 'l'; raise info 'i'; raise notice 'n'; raise warning 'w'; end $$";
        run(session, all).unwrap();
        session.take_notices().iter().map(|notice| notice.message.clone()).collect::<String>()
    };
    for (level, expected) in
        [("debug1", "dlinw"), ("log", "linw"), ("notice", "inw"), ("warning", "iw"), ("error", "i")]
    {
        assert_eq!(told(&mut session, level), expected, "{level}");
    }
}
