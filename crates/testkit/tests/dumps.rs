//! Dumps as `pg_dump` writes them, loaded by one call and statement by statement.

use std::path::PathBuf;

use engine::rows::text_rows;
use engine::{Config, Database, Session, next_piece};

fn session() -> Session {
    Database::new(Config { threads: Some(2), ..Config::default() }).unwrap().connect()
}

fn dump(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("dumps").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn rows(session: &mut Session, query: &str) -> Vec<String> {
    let rows = session.execute(query, &[]).and_then(text_rows);
    rows.unwrap_or_else(|e| panic!("{}", e.render(query))).into_iter().map(|row| row.join("|")).collect()
}

/// What must be there when the dump is loaded.
fn check(session: &mut Session) {
    for (query, expected) in [
        ("SELECT count(*), max(length(description)) FROM public.film", &["3|40"][..]),
        ("SELECT title FROM public.film WHERE rating > 'PG' ORDER BY rating", &["ADAPTATION HOLES"]),
        ("SELECT special_features[1] FROM public.film ORDER BY film_id", &["Deleted Scenes", "Trailers", "NULL"]),
        (
            "SELECT fid, language, audience FROM public.film_list ORDER BY 1",
            &["1|English|all", "2|English|all", "3|Français|adults"],
        ),
        ("SELECT payload, about FROM stock.item WHERE about IS NOT NULL", &["\\x00ff|{\"a\": [1, 2]}"]),
        ("SELECT nextval('public.film_film_id_seq')", &["4"]),
        ("SELECT obj_description('public.film'::regclass, 'pg_class')", &["What can be rented; it's all here"]),
        ("SELECT col_description('public.film'::regclass, 4)", &["When it came out"]),
        ("SELECT count(*) FROM pg_indexes WHERE schemaname = 'stock'", &["2"]),
    ] {
        assert_eq!(rows(session, query), expected, "{query}");
    }
    let refused = |session: &mut Session, sql: &str| session.execute(sql, &[]).unwrap_err().state().0;
    let film = "INSERT INTO public.film (title, language_id, release_year)";
    assert_eq!(refused(session, &format!("{film} VALUES ('x', 1, 1900)")), "23514");
    assert_eq!(refused(session, &format!("{film} VALUES ('x', 7, 2000)")), "23503");
    assert_eq!(
        refused(session, "INSERT INTO stock.item VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a13', 1, '1980-01-01')"),
        "23514"
    );
    assert_eq!(refused(session, "SELECT * FROM film"), "42P01");
    rows(session, "RESET search_path");
    rows(session, "INSERT INTO language (name) VALUES ('Deutsch')");
    assert_eq!(rows(session, "SELECT language_id FROM language WHERE name = 'Deutsch'"), ["3"]);
    assert_eq!(rows(session, "SELECT count(*) FROM film"), ["3"]);
}

#[test]
fn by_one_call() {
    let mut session = session();
    let script = dump("rental.sql");
    session.run_script(&script, |_, _| Ok(())).unwrap_or_else(|e| panic!("{}", e.render(&script)));
    check(&mut session);
}

#[test]
fn by_statements() {
    let mut session = session();
    let script = dump("rental.sql");
    let mut from = 0;
    while let Some(piece) = next_piece(&script, from) {
        from = piece.next;
        let text = &script[piece.range];
        session.execute(text, &[]).unwrap_or_else(|e| panic!("{}", e.render(text)));
    }
    check(&mut session);
}

#[test]
fn data_that_are_wrong_say_where() {
    let mut session = session();
    rows(&mut session, "CREATE TABLE t (a integer)");
    let error = session.execute("COPY t FROM stdin;\n1\nx\n\\.\n", &[]).unwrap_err();
    assert_eq!(error.state().0, "22P02");
    assert_eq!(rows(&mut session, "SELECT count(*) FROM t"), ["0"]);
    rows(&mut session, "COPY t FROM STDIN WITH (FORMAT csv, HEADER);\na\n7\n");
    assert_eq!(rows(&mut session, "SELECT a FROM t"), ["7"]);
    assert_eq!(session.execute("COPY t FROM STDIN", &[]).unwrap_err().state().0, "0A000");
}
