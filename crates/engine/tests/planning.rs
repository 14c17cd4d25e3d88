//! Planning takes time in proportion to the statement, however deep or wide: counted are allocations, which do not depend on
//! the machine.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use engine::{Config, Database, Session};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has no counter any more.
        let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises; `alloc` gave it out.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations of this thread while the statement is planned: binding and all passes, but no code.
fn allocations(session: &mut Session, sql: &str) -> u64 {
    let before = ALLOCATIONS.get();
    session.execute(&format!("explain (pipelines) {sql}"), &[]).unwrap_or_else(|e| panic!("{e:?}"));
    ALLOCATIONS.get() - before
}

/// `n` times `item`, with its number for `@`.
fn repeated(n: usize, item: &str, between: &str) -> String {
    (0..n).map(|i| item.replace('@', &i.to_string())).collect::<Vec<_>>().join(between)
}

/// `inner`, `n` times inside of `before` and `after`.
fn nested(n: usize, before: &str, inner: &str, after: &str) -> String {
    (0..n).fold(inner.to_owned(), |text, i| format!("{}{text}{after}", before.replace('@', &i.to_string())))
}

type Statement = (&'static str, fn(usize) -> String);

const STATEMENTS: &[Statement] = &[
    ("select items", |n| format!("select {} from t", repeated(n, "a + @", ", "))),
    ("aggregates", |n| format!("select {} from t group by b", repeated(n, "sum(a + @)", ", "))),
    ("conjuncts", |n| format!("select a from t where {}", repeated(n, "a <> @ + b", " and "))),
    ("a list of IN", |n| format!("select a from t where a in ({})", repeated(n, "@", ", "))),
    ("rows of VALUES", |n| format!("select * from (values {}) v", repeated(n, "(@, 'x')", ", "))),
    ("branches of CASE", |n| format!("select case {} end from t", repeated(n, "when a = @ then b", " "))),
    ("a chain of operators", |n| format!("select {} from t", repeated(n, "a", " + "))),
    ("UNION ALL", |n| repeated(n, "select a + @ from t", " union all ")),
    ("queries in FROM", |n| nested(n, "select a, b + @ as b from (", "select a, b from t", ") v where a > 0")),
    ("aggregates of aggregates", |n| nested(n, "select sum(a) a, b from (", "select a, b from t", ") v group by b")),
    ("left joins", |n| format!("select t.a from t {}", repeated(n, "left join t t@ on t.a = t@.a", " "))),
    ("EXISTS in EXISTS", |n| {
        format!("select a from t where {}", nested(n, "exists (select 1 from t t@ where t@.a = t.a and ", "true", ")"))
    }),
    ("scalar subqueries", |n| {
        format!("select {} from t", repeated(n, "(select max(t@.b) from t t@ where t@.a = t.a)", ", "))
    }),
];

#[test]
fn planning_is_nearly_linear() {
    let mut session = Database::new(Config { threads: Some(1), ..Config::default() }).unwrap().connect();
    session.execute("create table t (a integer, b integer)", &[]).unwrap();
    session.execute("insert into t values (1, 2), (3, 4)", &[]).unwrap();
    let mut wrong = Vec::new();
    for (what, statement) in STATEMENTS {
        // Twice the size; four times the work would be quadratic. (Filters on what queries in FROM compute are that: each
        // is pushed down with all of the computation below it.)
        let [small, large] = [30, 60].map(|n| allocations(&mut session, &statement(n)));
        println!("{what}: {small}, {large}, {:.2} times", large as f64 / small as f64);
        if large > small * 3 {
            wrong.push(format!("{what}: {small} to {large}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
