//! `docs/one-query.md` shows what EXPLAIN says: each ```sql block is run, and the ```text block after it is its result.
//! With `MORSEL_BLESS=1` the page is written anew.

use std::fmt::Write;
use std::path::Path;

use engine::rows::text_rows;
use engine::{Config, Database, Session};

const PAGE: &str = "../../docs/one-query.md";

/// The result as the page shows it; of statements without rows nothing.
fn shown(session: &mut Session, sql: &str) -> String {
    let result = session.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    if !result.has_rows() {
        result.collect().unwrap();
        return String::new();
    }
    let rows = text_rows(result).unwrap_or_else(|e| panic!("{sql}: {e}"));
    rows.iter().fold(String::new(), |mut text, row| {
        writeln!(text, "{}", row.join(" | ").trim_end()).unwrap();
        text
    })
}

#[test]
fn the_page_shows_what_explain_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = std::fs::read_to_string(&path).unwrap();
    let mut session = Database::new(Config { threads: Some(2), ..Config::default() }).unwrap().connect();
    let (mut fresh, mut rest, mut checked) = (String::new(), page.as_str(), 0);
    while let Some(at) = rest.find("```sql\n") {
        let (before, block) = rest.split_at(at + "```sql\n".len());
        let (sql, after) = block.split_once("```\n").expect("the block ends");
        let _ = writeln!(fresh, "{before}{sql}```");
        let result: String =
            sql.split_inclusive(';').filter(|s| !s.trim().is_empty()).map(|s| shown(&mut session, s)).collect();
        rest = after;
        if let Some(old) = after.strip_prefix("```text\n") {
            let (_, after) = old.split_once("```\n").expect("the block ends");
            let _ = writeln!(fresh, "```text\n{result}```");
            (rest, checked) = (after, checked + 1);
        }
    }
    fresh.push_str(rest);
    assert!(checked >= 5, "{checked} results on the page");
    if std::env::var_os("MORSEL_BLESS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    } else {
        assert!(
            page == fresh,
            "docs/one-query.md is not true any more: MORSEL_BLESS=1 cargo test -p engine --test one_query\n{fresh}"
        );
    }
}
