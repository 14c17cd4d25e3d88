//! What holds between the tables (clause 3.3.2): each condition as a query for what breaks it.

use base::{Error, Result};
use engine::Session;
use types::Value;

use super::Scale;

/// The number of a condition, and a query that counts what breaks it.
const CONDITIONS: [(usize, &str); 12] = [
    (1, "SELECT count(*) FROM warehouse WHERE w_ytd <> (SELECT sum(d_ytd) FROM district WHERE d_w_id = w_id)"),
    (
        2,
        "SELECT count(*) FROM district WHERE d_next_o_id - 1 <> (SELECT max(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id)
         OR d_next_o_id - 1 <> (SELECT max(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)",
    ),
    (
        3,
        "SELECT count(*) FROM (SELECT max(no_o_id) - min(no_o_id) + 1 AS wanted, count(*) AS there FROM new_order
         GROUP BY no_w_id, no_d_id) AS district WHERE wanted <> there",
    ),
    (
        4,
        "SELECT count(*) FROM (SELECT o_w_id AS w, o_d_id AS d, sum(o_ol_cnt) AS lines FROM orders GROUP BY o_w_id, o_d_id) AS o
         WHERE lines <> (SELECT count(*) FROM order_line WHERE ol_w_id = w AND ol_d_id = d)",
    ),
    (
        5,
        "SELECT count(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
         WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    (
        6,
        "SELECT count(*) FROM orders FULL JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS lines FROM order_line
         GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
         WHERE o_ol_cnt IS DISTINCT FROM lines",
    ),
    (
        7,
        "SELECT count(*) FROM order_line JOIN orders ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
         WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    ),
    (8, "SELECT count(*) FROM warehouse WHERE w_ytd <> (SELECT sum(h_amount) FROM history WHERE h_w_id = w_id)"),
    (
        9,
        "SELECT count(*) FROM district WHERE d_ytd <> (SELECT sum(h_amount) FROM history WHERE h_w_id = d_w_id AND h_d_id = d_id)",
    ),
    (
        10,
        "SELECT count(*) FROM customer
         LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS bought FROM orders JOIN order_line
             ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL
             GROUP BY o_w_id, o_d_id, o_c_id) AS o ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
         LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history
             GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
         WHERE c_balance <> coalesce(bought, 0) - coalesce(paid, 0)",
    ),
    (
        11,
        "SELECT count(*) FROM district WHERE (SELECT count(*) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id)
         - (SELECT count(*) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)
         <> {delivered} + (SELECT sum(c_delivery_cnt) FROM customer WHERE c_w_id = d_w_id AND c_d_id = d_id)",
    ),
    (
        12,
        "SELECT count(*) FROM customer LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS bought FROM orders JOIN order_line
             ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL
             GROUP BY o_w_id, o_d_id, o_c_id) AS o ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
         WHERE c_balance + c_ytd_payment <> coalesce(bought, 0)",
    ),
];

/// The conditions that do not hold, and how often. Number 11 speaks of the first load; here the deliveries since are added.
pub fn violations(session: &mut Session, scale: &Scale) -> Result<Vec<(usize, i64)>> {
    let mut broken = Vec::new();
    for (number, query) in CONDITIONS {
        let query = query.replace("{delivered}", &scale.delivered().to_string());
        let rows = session.execute(&query, &[])?.rows()?;
        match rows.first().and_then(|row| row.first()) {
            Some(Value::Int(0)) => {}
            Some(Value::Int(count)) => broken.push((number, *count)),
            _ => return Err(Error::internal("a condition counts nothing")),
        }
    }
    Ok(broken)
}
