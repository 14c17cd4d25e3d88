//! CH-benCHmark (Cole, Funke, Giakoumakis, Guy, Kemper, Krompass, Kuno, Nambiar, Neumann, Poess, Sattler, Seibold, Simon and Waas,
//! *The mixed workload CH-benCHmark*, DBTest 2011): the 22 queries of TPC-H over the tables of TPC-C, whose transactions go on
//! beside them.
//!
//! Suppliers, nations and regions come to TPC-C's tables: an item of a warehouse comes from the supplier whose number is
//! `s_w_id * s_i_id` modulo 10,000, and a nation's number is the code of the letter that its customers' states begin with.

use base::Result;
use engine::Session;

const TABLES: &str = "
CREATE TABLE region (r_regionkey integer PRIMARY KEY, r_name varchar(25), r_comment varchar(152));
CREATE TABLE nation (n_nationkey integer PRIMARY KEY, n_name varchar(25), n_regionkey integer, n_comment varchar(152));
CREATE TABLE supplier (
    su_suppkey integer PRIMARY KEY, su_name varchar(25), su_address varchar(40), su_nationkey integer, su_phone char(15),
    su_acctbal numeric(12,2), su_comment varchar(101));
INSERT INTO region SELECT r - 1, (ARRAY['Africa','America','Asia','Europe','Middle East'])[r], 'a region'
    FROM generate_series(1, 5) AS g(r);
INSERT INTO nation SELECT n, CASE n WHEN 67 THEN 'Cambodia' WHEN 71 THEN 'Germany' ELSE 'nation ' || chr(n) END,
    CASE n WHEN 71 THEN 3 ELSE n % 5 END, 'a nation' FROM generate_series(48, 122) AS g(n)
    WHERE n <= 57 OR n BETWEEN 65 AND 90 OR n >= 97;
INSERT INTO supplier SELECT s, 'Supplier#' || lpad(s :: text, 9, '0'), 'street ' || s * 7919 % 1000, 65 + s * 31 % 26,
    lpad((s * 104729) :: text, 15, '0'), (s * 7919 % 1000000) / 100.0,
    CASE s % 50 WHEN 7 THEN 'some bad comment' ELSE 'some comment' END FROM generate_series(0, 9999) AS g(s);
";

/// Makes the tables that TPC-C does not have.
pub fn load(session: &mut Session) -> Result<()> {
    session.run_script(TABLES, |_, result| result.collect().map(drop))
}

/// The queries, from the first on.
pub const QUERIES: [&str; 22] = [
    "SELECT ol_number, sum(ol_quantity) AS sum_qty, sum(ol_amount) AS sum_amount, avg(ol_quantity) AS avg_qty,
        avg(ol_amount) AS avg_amount, count(*) AS count_order
    FROM order_line WHERE ol_delivery_d > '1990-01-02' GROUP BY ol_number ORDER BY ol_number",
    "SELECT su_suppkey, su_name, n_name, i_id, i_name, su_address, su_phone, su_comment
    FROM item, supplier, stock, nation, region,
        (SELECT s_i_id AS m_i_id, min(s_quantity) AS m_s_quantity FROM stock, supplier, nation, region
        WHERE s_w_id * s_i_id % 10000 = su_suppkey AND su_nationkey = n_nationkey AND n_regionkey = r_regionkey
            AND r_name LIKE 'Europ%' GROUP BY s_i_id) AS m
    WHERE i_id = s_i_id AND s_w_id * s_i_id % 10000 = su_suppkey AND su_nationkey = n_nationkey AND n_regionkey = r_regionkey
        AND i_data LIKE '%b' AND r_name LIKE 'Europ%' AND i_id = m_i_id AND s_quantity = m_s_quantity
    ORDER BY n_name, su_name, i_id",
    "SELECT ol_o_id, ol_w_id, ol_d_id, sum(ol_amount) AS revenue, o_entry_d FROM customer, new_order, orders, order_line
    WHERE c_state LIKE 'A%' AND c_id = o_c_id AND c_w_id = o_w_id AND c_d_id = o_d_id AND no_w_id = o_w_id AND no_d_id = o_d_id
        AND no_o_id = o_id AND ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id AND o_entry_d > '1990-01-02'
    GROUP BY ol_o_id, ol_w_id, ol_d_id, o_entry_d ORDER BY revenue DESC, o_entry_d, ol_w_id, ol_d_id, ol_o_id",
    "SELECT o_ol_cnt, count(*) AS order_count FROM orders
    WHERE o_entry_d >= '1990-01-02' AND o_entry_d < '2030-01-02' AND EXISTS (SELECT * FROM order_line
        WHERE o_id = ol_o_id AND o_w_id = ol_w_id AND o_d_id = ol_d_id AND ol_delivery_d >= o_entry_d)
    GROUP BY o_ol_cnt ORDER BY o_ol_cnt",
    "SELECT n_name, sum(ol_amount) AS revenue FROM customer, orders, order_line, stock, supplier, nation, region
    WHERE c_id = o_c_id AND c_w_id = o_w_id AND c_d_id = o_d_id AND ol_o_id = o_id AND ol_w_id = o_w_id AND ol_d_id = o_d_id
        AND ol_w_id = s_w_id AND ol_i_id = s_i_id AND s_w_id * s_i_id % 10000 = su_suppkey AND ascii(c_state) = su_nationkey
        AND su_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'Europe' AND o_entry_d >= '1990-01-02'
    GROUP BY n_name ORDER BY revenue DESC, n_name",
    "SELECT sum(ol_amount) AS revenue FROM order_line
    WHERE ol_delivery_d >= '1990-01-01' AND ol_delivery_d < '2030-01-01' AND ol_quantity BETWEEN 1 AND 100000",
    "SELECT su_nationkey AS supp_nation, left(c_state, 1) AS cust_nation, extract(year FROM o_entry_d) AS l_year,
        sum(ol_amount) AS revenue
    FROM supplier, stock, order_line, orders, customer, nation AS n1, nation AS n2
    WHERE ol_supply_w_id = s_w_id AND ol_i_id = s_i_id AND s_w_id * s_i_id % 10000 = su_suppkey AND ol_w_id = o_w_id
        AND ol_d_id = o_d_id AND ol_o_id = o_id AND c_id = o_c_id AND c_w_id = o_w_id AND c_d_id = o_d_id
        AND su_nationkey = n1.n_nationkey AND ascii(c_state) = n2.n_nationkey
        AND (n1.n_name = 'Germany' AND n2.n_name = 'Cambodia' OR n1.n_name = 'Cambodia' AND n2.n_name = 'Germany')
        AND ol_delivery_d BETWEEN '1990-01-02' AND '2030-01-02'
    GROUP BY su_nationkey, left(c_state, 1), extract(year FROM o_entry_d) ORDER BY supp_nation, cust_nation, l_year",
    "SELECT extract(year FROM o_entry_d) AS l_year,
        sum(CASE WHEN n2.n_name = 'Germany' THEN ol_amount ELSE 0 END) / sum(ol_amount) AS mkt_share
    FROM item, supplier, stock, order_line, orders, customer, nation AS n1, nation AS n2, region
    WHERE i_id = s_i_id AND ol_i_id = s_i_id AND ol_supply_w_id = s_w_id AND s_w_id * s_i_id % 10000 = su_suppkey
        AND ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id AND c_id = o_c_id AND c_w_id = o_w_id AND c_d_id = o_d_id
        AND n1.n_nationkey = ascii(c_state) AND n1.n_regionkey = r_regionkey AND ol_i_id < 1000 AND r_name = 'Europe'
        AND su_nationkey = n2.n_nationkey AND o_entry_d BETWEEN '1990-01-02' AND '2030-01-02' AND i_data LIKE '%b'
    GROUP BY extract(year FROM o_entry_d) ORDER BY l_year",
    "SELECT n_name, extract(year FROM o_entry_d) AS l_year, sum(ol_amount) AS sum_profit
    FROM item, stock, supplier, order_line, orders, nation
    WHERE ol_i_id = s_i_id AND ol_supply_w_id = s_w_id AND s_w_id * s_i_id % 10000 = su_suppkey AND ol_w_id = o_w_id
        AND ol_d_id = o_d_id AND ol_o_id = o_id AND ol_i_id = i_id AND su_nationkey = n_nationkey AND i_data LIKE '%BB'
    GROUP BY n_name, extract(year FROM o_entry_d) ORDER BY n_name, l_year DESC",
    "SELECT c_id, c_last, sum(ol_amount) AS revenue, c_city, c_phone, n_name FROM customer, orders, order_line, nation
    WHERE c_id = o_c_id AND c_w_id = o_w_id AND c_d_id = o_d_id AND ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
        AND o_entry_d >= '1990-01-02' AND o_entry_d <= ol_delivery_d AND n_nationkey = ascii(c_state)
    GROUP BY c_id, c_last, c_city, c_phone, n_name ORDER BY revenue DESC, c_id, c_last, c_phone, n_name",
    "SELECT s_i_id, sum(s_order_cnt) AS ordercount FROM stock, supplier, nation
    WHERE s_w_id * s_i_id % 10000 = su_suppkey AND su_nationkey = n_nationkey AND n_name = 'Germany'
    GROUP BY s_i_id HAVING sum(s_order_cnt) > (SELECT sum(s_order_cnt) * 0.005 FROM stock, supplier, nation
        WHERE s_w_id * s_i_id % 10000 = su_suppkey AND su_nationkey = n_nationkey AND n_name = 'Germany')
    ORDER BY ordercount DESC, s_i_id",
    "SELECT o_ol_cnt, sum(CASE WHEN o_carrier_id = 1 OR o_carrier_id = 2 THEN 1 ELSE 0 END) AS high_line_count,
        sum(CASE WHEN o_carrier_id <> 1 AND o_carrier_id <> 2 THEN 1 ELSE 0 END) AS low_line_count
    FROM orders, order_line
    WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id AND o_entry_d <= ol_delivery_d AND ol_delivery_d < '2030-01-01'
    GROUP BY o_ol_cnt ORDER BY o_ol_cnt",
    "SELECT c_count, count(*) AS custdist FROM (SELECT c_id, count(o_id) AS c_count FROM customer
        LEFT JOIN orders ON c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id AND o_carrier_id > 8 GROUP BY c_id) AS c_orders
    GROUP BY c_count ORDER BY custdist DESC, c_count DESC",
    "SELECT 100.00 * sum(CASE WHEN i_data LIKE 'PR%' THEN ol_amount ELSE 0 END) / (1 + sum(ol_amount)) AS promo_revenue
    FROM order_line, item WHERE ol_i_id = i_id AND ol_delivery_d >= '1990-01-02' AND ol_delivery_d < '2030-01-02'",
    "WITH revenue AS (SELECT s_w_id * s_i_id % 10000 AS supplier_no, sum(ol_amount) AS total_revenue FROM order_line, stock
        WHERE ol_i_id = s_i_id AND ol_supply_w_id = s_w_id AND ol_delivery_d >= '1990-01-02' GROUP BY s_w_id * s_i_id % 10000)
    SELECT su_suppkey, su_name, su_address, su_phone, total_revenue FROM supplier, revenue
    WHERE su_suppkey = supplier_no AND total_revenue = (SELECT max(total_revenue) FROM revenue) ORDER BY su_suppkey",
    "SELECT i_name, substr(i_data, 1, 3) AS brand, i_price, count(DISTINCT s_w_id * s_i_id % 10000) AS supplier_cnt
    FROM stock, item
    WHERE i_id = s_i_id AND i_data NOT LIKE 'zz%'
        AND s_w_id * s_i_id % 10000 NOT IN (SELECT su_suppkey FROM supplier WHERE su_comment LIKE '%bad%')
    GROUP BY i_name, substr(i_data, 1, 3), i_price ORDER BY supplier_cnt DESC, i_name",
    "SELECT sum(ol_amount) / 2.0 AS avg_yearly FROM order_line, (SELECT i_id, avg(ol_quantity) AS a FROM item, order_line
        WHERE i_data LIKE '%b' AND ol_i_id = i_id GROUP BY i_id) AS t
    WHERE ol_i_id = t.i_id AND ol_quantity < t.a",
    "SELECT c_last, c_id, o_id, o_entry_d, o_ol_cnt, sum(ol_amount) AS amount_sum FROM customer, orders, order_line
    WHERE c_id = o_c_id AND c_w_id = o_w_id AND c_d_id = o_d_id AND ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
    GROUP BY o_id, o_w_id, o_d_id, c_id, c_last, o_entry_d, o_ol_cnt HAVING sum(ol_amount) > 200
    ORDER BY amount_sum DESC, o_entry_d, o_id, c_id",
    "SELECT sum(ol_amount) AS revenue FROM order_line, item
    WHERE ol_i_id = i_id AND i_data LIKE '%a' AND ol_quantity BETWEEN 1 AND 10 AND i_price BETWEEN 1 AND 400000 AND ol_w_id IN (1, 2, 3)
        OR ol_i_id = i_id AND i_data LIKE '%b' AND ol_quantity BETWEEN 1 AND 10 AND i_price BETWEEN 1 AND 400000 AND ol_w_id IN (1, 2, 4)
        OR ol_i_id = i_id AND i_data LIKE '%c' AND ol_quantity BETWEEN 1 AND 10 AND i_price BETWEEN 1 AND 400000 AND ol_w_id IN (1, 5, 3)",
    "SELECT su_name, su_address FROM supplier, nation
    WHERE su_suppkey IN (SELECT s_i_id * s_w_id % 10000 FROM stock, order_line
        WHERE s_i_id IN (SELECT i_id FROM item WHERE i_data LIKE 'co%') AND ol_i_id = s_i_id AND ol_delivery_d > '1990-05-23'
        GROUP BY s_i_id, s_w_id, s_quantity HAVING 2 * s_quantity > sum(ol_quantity))
        AND su_nationkey = n_nationkey AND n_name = 'Germany'
    ORDER BY su_name",
    "SELECT su_name, count(*) AS numwait FROM supplier, order_line AS l1, orders, stock, nation
    WHERE ol_o_id = o_id AND ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_w_id = s_w_id AND ol_i_id = s_i_id
        AND s_w_id * s_i_id % 10000 = su_suppkey AND l1.ol_delivery_d >= o_entry_d AND NOT EXISTS (SELECT * FROM order_line AS l2
            WHERE l2.ol_o_id = l1.ol_o_id AND l2.ol_w_id = l1.ol_w_id AND l2.ol_d_id = l1.ol_d_id
                AND l2.ol_delivery_d > l1.ol_delivery_d)
        AND su_nationkey = n_nationkey AND n_name = 'Germany'
    GROUP BY su_name ORDER BY numwait DESC, su_name",
    "SELECT left(c_state, 1) AS country, count(*) AS numcust, sum(c_balance) AS totacctbal FROM customer
    WHERE left(c_phone, 1) IN ('1', '2', '3', '4', '5', '6', '7')
        AND c_balance > (SELECT avg(c_balance) FROM customer
            WHERE c_balance > 0 AND left(c_phone, 1) IN ('1', '2', '3', '4', '5', '6', '7'))
        AND NOT EXISTS (SELECT * FROM orders WHERE o_c_id = c_id AND o_w_id = c_w_id AND o_d_id = c_d_id)
    GROUP BY left(c_state, 1) ORDER BY country",
];
