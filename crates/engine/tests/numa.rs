//! Tables and what joins share lie on the nodes of the machine that they are said to lie on. On a machine of one node there is
//! but one place; `make test-numa` runs this on four, which an emulator has.

use engine::rows::text_rows;
use engine::{Config, Database, Session};
use scheduler::Topology;

fn rows(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    session.execute(sql, &[]).and_then(text_rows).unwrap_or_else(|e| panic!("{sql}: {e:?}"))
}

fn number(session: &mut Session, sql: &str) -> i64 {
    rows(session, sql)[0][0].parse().unwrap()
}

/// A session on all nodes of this machine, and how many there are.
fn session() -> (Session, i64) {
    let topology = Topology::detect();
    let (nodes, threads) = (topology.node_count() as i64, topology.cpu_count().max(2));
    let mut session = Database::new(Config { threads: Some(threads), ..Config::default() }).unwrap().connect();
    rows(&mut session, "create table source (n bigint, g integer, s text)");
    rows(
        &mut session,
        "insert into source select x, x % 13, 'text of row ' || x % 5000 from generate_series(1, 600000) g(x)",
    );
    (session, nodes)
}

#[test]
fn tables_are_on_the_nodes_of_their_writers_and_read_there() {
    let (mut session, nodes) = session();
    rows(&mut session, "create table t as select n, g, s from source where n % 1000 <> 7");
    let on = "select count(distinct node) from storage_info('t') where bytes > 100000";
    assert_eq!(number(&mut session, on), nodes, "{:?}", rows(&mut session, "from storage_info('t')"));
    // All columns of a chunk are on its node.
    let evenly = "select count(distinct rows) from (select node, column_name, sum(rows) as rows from storage_info('t') \
         where form <> 'open' group by node, column_name) group by node having count(distinct rows) > 1";
    assert!(rows(&mut session, evenly).is_empty(), "{:?}", rows(&mut session, "from storage_info('t')"));
    // What is scanned is handed out on its node first: stealing takes some elsewhere, as these processors are no real ones.
    rows(&mut session, "select sum(n * g) from t");
    let last = "select local_bytes, remote_bytes from query_history() order by query_id desc limit 1";
    let counted = rows(&mut session, last);
    let (local, remote): (i64, i64) = (counted[0][0].parse().unwrap(), counted[0][1].parse().unwrap());
    assert!(local > 0 && (nodes > 1 || remote == 0), "{local} and {remote}");
}

/// Whoever loads it, and frozen or not: as many rows of two tables with the same keys on each node.
#[test]
fn hashed_tables_lie_where_their_keys_belong() {
    let (mut session, nodes) = session();
    rows(&mut session, "create table heads (n bigint primary key, g integer) with (distribution = hashed)");
    rows(&mut session, "create table parts (n bigint, g integer, primary key (n, g)) with (distribution = hashed)");
    rows(&mut session, "insert into heads select n, g from source");
    rows(&mut session, "insert into parts select n, g from source order by g");
    let on = "select node, sum(rows) from storage_info('heads') where column_name = 'n' group by node order by node";
    let of_heads = rows(&mut session, on);
    assert_eq!(of_heads.len() as i64, nodes, "{of_heads:?}");
    assert_eq!(of_heads, rows(&mut session, &on.replace("heads", "parts")));
    rows(&mut session, "set directory_placement = partitioned");
    let joined = "select count(*), sum(a.g * b.g) from heads a join parts b on a.n = b.n";
    assert_eq!(rows(&mut session, joined), rows(&mut session, "select count(*), sum(g * g) from source"));
}

#[test]
fn joins_give_the_same_rows_wherever_their_tables_are() {
    let (mut session, _) = session();
    for placement in ["interleaved", "partitioned", "first_touch"] {
        rows(&mut session, &format!("set directory_placement = {placement}"));
        let sql = "select count(*), sum(a.g * b.g) from source a join source b on a.n * 3 = b.n * 2 \
             where b.s is not null and a.s is not null";
        assert_eq!(rows(&mut session, sql), [["200000", "7799989"]], "{placement}");
        let sql = "select count(*) from source a join source b on a.n between b.n and b.n + 1 where b.n % 100 = 0";
        assert_eq!(rows(&mut session, sql), [["11999"]], "{placement}");
    }
}

#[test]
fn a_machine_is_described_by_a_setting_and_stays() {
    let mut settings = engine::Settings::default();
    assert!(settings.set("topology", "4 by 8").unwrap_err().get_hint().is_some());
    settings.set("topology", "2x2:ring").unwrap();
    let database = Database::new(Config { threads: Some(4), settings, ..Config::default() }).unwrap();
    let mut session = database.connect();
    let mut rows = |sql: &str| session.execute(sql, &[]).and_then(|r| r.rows());
    assert_eq!(rows("select count(distinct node) from workers()").unwrap()[0][0], types::Value::Int(2));
    assert_eq!(rows("set topology = '4x8'").unwrap_err().state(), base::SqlState::CANNOT_CHANGE_PARAMETER);
    rows("reset all").unwrap();
    assert_eq!(rows("show topology").unwrap()[0][0], types::Value::str("2x2:ring"));
}
