//! Window functions over 10 million rows of two numbers, as in the thesis (5.6): `a` with 100 values, `b` unique; with how
//! long each phase takes.

use std::time::{Duration, Instant};

use base::Result;
use engine::Session;

use crate::numbers;

/// What is measured: windows whose results are summed, so that each row's is used and nothing is fetched.
const STATEMENTS: [(&str, &str, &str); 14] = [
    ("rank, 100 partitions", "rank()", "partition by a order by b"),
    ("rank, 1 partition", "rank()", "order by b"),
    ("rank, 10M partitions", "rank()", "partition by b order by a"),
    ("dense_rank", "dense_rank()", "partition by a order by b"),
    ("lag", "lag(b)", "partition by a order by b"),
    ("sum, fixed frame", "sum(a)", "order by b rows between 1000 preceding and current row"),
    ("sum, variable frame", "sum(a)", "order by b rows between (b % 10000) preceding and current row"),
    ("sum, cumulative", "sum(a)", "partition by a order by b"),
    ("sum, whole partition", "sum(b)", "partition by a"),
    ("min, fixed frame", "min(a)", "order by b rows between 1000 preceding and current row"),
    ("max, variable frame", "max(b)", "order by b rows between (b % 10000) preceding and current row"),
    ("sum of doubles", "sum(b::double)", "order by b rows between 1000 preceding and current row"),
    ("range frame", "count(*)", "order by b range between 1000 preceding and 1000 following"),
    (
        "median, 1000 rows",
        "percentile_disc(0.5) within group (order by a)",
        "order by b rows between 1000 preceding and current row",
    ),
];

pub(crate) fn run(threads: Option<usize>, only: Option<&str>) -> Result<bool> {
    // A factor without a common divisor permutes the ids.
    let columns = "id * 2654435761::bigint % 4294967291::bigint % 100 a, id * 7368787 % 10000000 b";
    let mut session = numbers::session(threads, columns)?;
    let wanted = STATEMENTS.into_iter().filter(|(what, ..)| only.is_none_or(|o| what.contains(o)));
    let statements = wanted.map(|(what, function, over)| {
        (what, format!("select sum(w) from (select {function} over ({over}) w from numbers)"))
    });
    numbers::table(&mut session, "window", statements, measure)?;
    Ok(true)
}

/// Time, and the most memory that was in use meanwhile.
fn measure(session: &mut Session, sql: &str) -> Result<(Duration, usize)> {
    let before = session.database().memory_used();
    let start = Instant::now();
    let mut result = session.execute(sql, &[])?;
    let mut memory = before;
    while result.next_chunk()?.is_some() {
        memory = memory.max(session.database().memory_used());
    }
    Ok((start.elapsed(), memory.saturating_sub(before)))
}
