//! Tables and their rows (clauses 1.3 and 4.3).

use base::Result;
use engine::Session;

/// How much there is.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Warehouses.
    pub warehouses: i64,
    /// Districts of each: 10 in the specification.
    pub districts: i64,
    /// Customers of a district, and its first orders: 3,000.
    pub customers: i64,
    /// Items, of each of which a warehouse has a stock: 100,000.
    pub items: i64,
}

impl Scale {
    /// As the specification has it.
    pub fn of(warehouses: i64) -> Self {
        Self { warehouses, districts: 10, customers: 3000, items: 100_000 }
    }

    /// Orders of a district that are delivered at first: 7 of 10.
    pub fn delivered(&self) -> i64 {
        self.customers * 7 / 10
    }
}

/// All but the items are a warehouse's.
const TABLES: &str = "
CREATE TABLE warehouse (
    w_id integer PRIMARY KEY, w_name varchar(10), w_street_1 varchar(20), w_street_2 varchar(20), w_city varchar(20),
    w_state char(2), w_zip char(9), w_tax numeric(4,4), w_ytd numeric(12,2))
    WITH (partition_key = w_id);
CREATE TABLE district (
    d_id integer, d_w_id integer, d_name varchar(10), d_street_1 varchar(20), d_street_2 varchar(20), d_city varchar(20),
    d_state char(2), d_zip char(9), d_tax numeric(4,4), d_ytd numeric(12,2), d_next_o_id integer, PRIMARY KEY (d_w_id, d_id))
    WITH (partition_key = d_w_id);
CREATE TABLE customer (
    c_id integer, c_d_id integer, c_w_id integer, c_first varchar(16), c_middle char(2), c_last varchar(16),
    c_street_1 varchar(20), c_street_2 varchar(20), c_city varchar(20), c_state char(2), c_zip char(9), c_phone char(16),
    c_since timestamp, c_credit char(2), c_credit_lim numeric(12,2), c_discount numeric(4,4), c_balance numeric(12,2),
    c_ytd_payment numeric(12,2), c_payment_cnt integer, c_delivery_cnt integer, c_data varchar(500),
    PRIMARY KEY (c_w_id, c_d_id, c_id))
    WITH (partition_key = c_w_id);
CREATE TABLE history (
    h_c_id integer, h_c_d_id integer, h_c_w_id integer, h_d_id integer, h_w_id integer, h_date timestamp,
    h_amount numeric(6,2), h_data varchar(24))
    WITH (partition_key = h_w_id);
CREATE TABLE new_order (no_o_id integer, no_d_id integer, no_w_id integer, PRIMARY KEY (no_w_id, no_d_id, no_o_id))
    WITH (partition_key = no_w_id);
CREATE TABLE orders (
    o_id integer, o_d_id integer, o_w_id integer, o_c_id integer, o_entry_d timestamp, o_carrier_id integer,
    o_ol_cnt integer, o_all_local integer, PRIMARY KEY (o_w_id, o_d_id, o_id))
    WITH (partition_key = o_w_id);
CREATE TABLE order_line (
    ol_o_id integer, ol_d_id integer, ol_w_id integer, ol_number integer, ol_i_id integer, ol_supply_w_id integer,
    ol_delivery_d timestamp, ol_quantity integer, ol_amount numeric(6,2), ol_dist_info char(24),
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))
    WITH (partition_key = ol_w_id);
CREATE TABLE item (i_id integer PRIMARY KEY, i_im_id integer, i_name varchar(24), i_price numeric(5,2), i_data varchar(50));
CREATE TABLE stock (
    s_i_id integer, s_w_id integer, s_quantity integer, s_dist_01 char(24), s_dist_02 char(24), s_dist_03 char(24),
    s_dist_04 char(24), s_dist_05 char(24), s_dist_06 char(24), s_dist_07 char(24), s_dist_08 char(24), s_dist_09 char(24),
    s_dist_10 char(24), s_ytd integer, s_order_cnt integer, s_remote_cnt integer, s_data varchar(50),
    PRIMARY KEY (s_w_id, s_i_id))
    WITH (partition_key = s_w_id);
";

/// The last name of the customer with a number: three syllables (clause 4.3.2.3).
const LAST_NAME: &str = "(ARRAY['BAR','OUGHT','ABLE','PRI','PRES','ESE','ANTI','CALLY','ATION','EING'])";

const ROWS: &str = "
INSERT INTO item SELECT i, i * 7 % 10000 + 1, 'item ' || i, (i * 7919 % 9900 + 100) / 100.0,
    (ARRAY['PR','co','zz','some'])[i % 4 + 1] || ' data of an item ' || CASE WHEN i % 10 = 3 THEN 'ORIGINAL ' ELSE '' END
        || (ARRAY['a','b','BB','c','plain'])[i % 5 + 1] FROM generate_series(1, {items}) AS g(i);
INSERT INTO warehouse SELECT w, 'w' || w, 'street', 'street', 'city', 'ST', '123411111', (w * 37 % 2000) / 10000.0,
    {districts} * {customers} * 10 FROM generate_series(1, {warehouses}) AS g(w);
INSERT INTO stock SELECT i, w, i * 31 % 91 + 10, 'd01-' || i, 'd02-' || i, 'd03-' || i, 'd04-' || i, 'd05-' || i, 'd06-' || i,
    'd07-' || i, 'd08-' || i, 'd09-' || i, 'd10-' || i, 0, 0, 0,
    'some data of a stock ' || CASE WHEN i % 10 = 7 THEN 'ORIGINAL' ELSE 'plain' END
    FROM generate_series(1, {warehouses}) AS a(w), generate_series(1, {items}) AS b(i);
INSERT INTO district SELECT d, w, 'd' || d, 'street', 'street', 'city', 'ST', '123411111', (d * 53 % 2000) / 10000.0,
    {customers} * 10, {customers} + 1 FROM generate_series(1, {warehouses}) AS a(w), generate_series(1, {districts}) AS b(d);
INSERT INTO customer SELECT c, d, w, 'first ' || c * 7919 % 9973, 'OE',
    {name}[n / 100 + 1] || {name}[n / 10 % 10 + 1] || {name}[n % 10 + 1], 'street', 'street', 'city',
    chr(65 + c % 26) || chr(65 + c * 7 % 26), '123411111', lpad((c * 104729) :: text, 16, '1'), timestamp '2024-01-01',
    CASE WHEN c % 10 = 5 THEN 'BC' ELSE 'GC' END, 50000, (c * 11 % 5000) / 10000.0,
    -10, 10, 1, 0, repeat('customer data ', 25)
    FROM (SELECT w, d, c, CASE WHEN c <= 1000 THEN c - 1 ELSE c * 7919 % 1000 END AS n
        FROM generate_series(1, {warehouses}) AS e(w), generate_series(1, {districts}) AS f(d),
            generate_series(1, {customers}) AS g(c)) AS people;
INSERT INTO history SELECT c_id, c_d_id, c_w_id, c_d_id, c_w_id, timestamp '2024-01-01', 10, 'first payment' FROM customer;
INSERT INTO orders SELECT o, d, w, (o * 7 + d) % {customers} + 1, timestamp '2024-01-01',
    CASE WHEN o <= {delivered} THEN o % 10 + 1 END, (o * 13 + d * 7) % 11 + 5, 1
    FROM generate_series(1, {warehouses}) AS a(w), generate_series(1, {districts}) AS b(d), generate_series(1, {customers}) AS c(o);
INSERT INTO new_order SELECT o_id, o_d_id, o_w_id FROM orders WHERE o_id > {delivered};
INSERT INTO order_line SELECT o_id, o_d_id, o_w_id, n, (o_id * 31 + n * 977) % {items} + 1, o_w_id,
    CASE WHEN o_id <= {delivered} THEN o_entry_d END, 5,
    CASE WHEN o_id <= {delivered} THEN 0 ELSE ((o_id * 7919 + n * 104729) % 999999 + 1) / 100.0 END, 'info of a line'
    FROM orders, generate_series(1, 15) AS g(n) WHERE n <= o_ol_cnt;
";

/// Besides the primary keys: what the transactions look for.
const INDEXES: &str = "
CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first);
CREATE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
CREATE INDEX new_order_in_order ON new_order (no_w_id, no_d_id, no_o_id);
CREATE INDEX order_line_of_order ON order_line (ol_w_id, ol_d_id, ol_o_id);
";

/// Makes the tables and fills them.
pub fn load(session: &mut Session, scale: &Scale) -> Result<()> {
    let rows = ROWS
        .replace("{name}", LAST_NAME)
        .replace("{items}", &scale.items.to_string())
        .replace("{districts}", &scale.districts.to_string())
        .replace("{customers}", &scale.customers.to_string())
        .replace("{warehouses}", &scale.warehouses.to_string())
        .replace("{delivered}", &scale.delivered().to_string());
    for script in [TABLES, &rows, INDEXES] {
        session.run_script(script, |_, result| result.collect().map(drop))?;
    }
    Ok(())
}
