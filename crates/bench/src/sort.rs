//! How long ORDER BY takes for each row, and how much memory: one key, two keys, text, and a top-10.

use std::time::{Duration, Instant};

use base::Result;
use engine::Session;

use crate::numbers;

const STATEMENTS: [(&str, &str); 6] = [
    ("one key", "select * from numbers order by random"),
    ("one key of few values", "select * from numbers order by few"),
    ("two keys", "select * from numbers order by few desc, random"),
    ("text", "select label from numbers order by label"),
    ("top 10", "select * from numbers order by random limit 10"),
    ("top 10 of text", "select * from numbers order by label limit 10"),
];

pub(crate) fn run(threads: Option<usize>) -> Result<bool> {
    // Multiplying by a large odd number spreads the ids over 32 bits.
    let random = "id * 2654435761::bigint % 4294967296::bigint";
    let columns =
        format!("id, {random} random, {random} / 65536 % 1000 few, 'a label of number ' || ({random})::text as label");
    let mut session = numbers::session(threads, &columns)?;
    let statements = STATEMENTS.map(|(what, sql)| (what, sql.to_owned()));
    numbers::table(&mut session, "order by", statements, measure)?;
    Ok(true)
}

/// Time, and memory in use when the first rows arrive, when all of them are sorted.
fn measure(session: &mut Session, sql: &str) -> Result<(Duration, usize)> {
    let before = session.database().memory_used();
    let start = Instant::now();
    let mut result = session.execute(sql, &[])?;
    let mut memory = None;
    while result.next_chunk()?.is_some() {
        memory.get_or_insert_with(|| session.database().memory_used());
    }
    Ok((start.elapsed(), memory.unwrap_or(before).saturating_sub(before)))
}
