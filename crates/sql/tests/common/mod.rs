//! A resolver over tables without rows: the TPC-H schema and a few small ones.
#![allow(dead_code)]

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::{ColumnStatistics, Field, Filling, Statistics};
use plan::TableSource;
use sql::{ObjectName, Resolved, Resolver, Statement, Table, bind, parse};
use types::{Chunk, SqlType, Value};

#[derive(Debug)]
struct NoRows;

impl Statistics for NoRows {
    fn rows(&self) -> u64 {
        0
    }
    fn sample(&self, _: &[usize]) -> Option<Arc<Chunk>> {
        None
    }
    fn column(&self, _: usize) -> ColumnStatistics {
        ColumnStatistics::default()
    }
}

/// Column lists as `name type`, a `?` before the type for columns that can be NULL.
const TABLES: &[(&str, &str)] = &[
    (
        "lineitem",
        "l_orderkey bigint; l_partkey bigint; l_suppkey bigint; l_linenumber integer; l_quantity decimal(15,2); \
         l_extendedprice decimal(15,2); l_discount decimal(15,2); l_tax decimal(15,2); l_returnflag char(1); \
         l_linestatus char(1); l_shipdate date; l_commitdate date; l_receiptdate date; l_shipinstruct char(25); \
         l_shipmode char(10); l_comment varchar(44)",
    ),
    (
        "orders",
        "o_orderkey bigint; o_custkey bigint; o_orderstatus char(1); o_totalprice decimal(15,2); o_orderdate date; \
         o_orderpriority char(15); o_clerk char(15); o_shippriority integer; o_comment varchar(79)",
    ),
    (
        "customer",
        "c_custkey bigint; c_name varchar(25); c_address varchar(40); c_nationkey integer; c_phone char(15); \
         c_acctbal decimal(15,2); c_mktsegment char(10); c_comment varchar(117)",
    ),
    (
        "part",
        "p_partkey bigint; p_name varchar(55); p_mfgr char(25); p_brand char(10); p_type varchar(25); p_size integer; \
         p_container char(10); p_retailprice decimal(15,2); p_comment varchar(23)",
    ),
    (
        "supplier",
        "s_suppkey bigint; s_name char(25); s_address varchar(40); s_nationkey integer; s_phone char(15); \
         s_acctbal decimal(15,2); s_comment varchar(101)",
    ),
    (
        "partsupp",
        "ps_partkey bigint; ps_suppkey bigint; ps_availqty integer; ps_supplycost decimal(15,2); ps_comment varchar(199)",
    ),
    ("nation", "n_nationkey integer; n_name char(25); n_regionkey integer; n_comment varchar(152)"),
    ("region", "r_regionkey integer; r_name char(25); r_comment varchar(152)"),
    ("t", "a integer; b ?bigint; s ?text; d ?date; x ?decimal(10,2); f ?double; ok ?boolean"),
    ("u", "a ?integer; c ?integer; v ?varchar(5); ts ?timestamp; i ?interval; k ?smallint; r ?real"),
    ("Mixed", "Id integer; \"no\" ?text; UserName ?text"),
];

pub struct Schema;

fn fields(columns: &str) -> Vec<Field> {
    columns
        .split("; ")
        .map(|column| {
            let (name, sql_type) = column.split_once(' ').unwrap();
            let (nullable, sql_type) = match sql_type.strip_prefix('?') {
                Some(sql_type) => (true, sql_type),
                None => (false, sql_type),
            };
            Field { name: name.to_owned(), sql_type: sql_type.parse().unwrap(), nullable }
        })
        .collect()
}

fn table(name: &str, columns: &str) -> Table {
    let fields = fields(columns);
    let mut fillings = vec![Filling::NULL; fields.len()];
    if name == "u" {
        fillings[1] = Filling::Value(Value::Int(7));
    }
    let (statistics, source) = (Arc::new(NoRows), TableSource(Arc::new(())));
    Table {
        name: name.to_owned(),
        fields,
        fillings,
        computed: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        domains: Vec::new(),
        collations: Vec::new(),
        triggers: Vec::new(),
        view: None,
        kin: None,
        definition: None,
        statistics,
        source,
    }
}

impl Resolver for Schema {
    fn table(&self, name: &ObjectName) -> Result<Resolved> {
        let view = |sql: &str, columns: &[&str]| {
            let columns = columns.iter().map(|c| (*c).to_owned()).collect();
            Ok(Resolved::View { sql: sql.to_owned(), columns, path: None, triggers: Vec::new(), check_option: None })
        };
        match name.name.as_str() {
            "big" => return view("select a, b + 1 as more from t where b > 10", &["id", "more"]),
            "nested" => return view("select * from big join big b2 using (id)", &[]),
            "endless" => return view("select * from endless", &[]),
            "broken" => return view("select nope from t", &[]),
            _ => {}
        }
        match TABLES.iter().find(|(n, _)| *n == name.name) {
            Some((name, columns)) => Ok(Resolved::Table(table(name, columns))),
            None => Err(Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))),
        }
    }

    fn file_functions(&self) -> &'static [&'static str] {
        &["read_csv", "read_parquet"]
    }

    fn file(&self, function: &str, paths: &[String], options: &[(String, Value)]) -> Result<Table> {
        if paths.iter().any(|p| p.contains("missing")) {
            return Err(Error::new(SqlState::UNDEFINED_FILE, format!("no file {}", paths[0])));
        }
        let name = format!("{function}{}", options.len());
        Ok(Table { name, ..table("file", "one integer; two ?text") })
    }

    fn view_function(&self, function: &str) -> Option<Table> {
        (function == "running_queries").then(|| table(function, "query_id bigint; query text"))
    }

    fn storage_info(&self, name: &ObjectName) -> Result<Table> {
        self.table(name)?;
        Ok(table("storage_info", "form text; rows bigint"))
    }

    fn series(&self, series: sql::Series) -> Result<Table> {
        Ok(table(&series.function, "n bigint"))
    }

    fn now(&self) -> i64 {
        868_000_000_000_000
    }

    fn table_names(&self) -> Vec<String> {
        TABLES.iter().map(|(n, _)| (*n).to_owned()).collect()
    }
}

/// As sessions do it: with the room on the stack that a text of that length may need.
pub fn bind_with(sql: &str, parameters: &[(Value, SqlType)]) -> Result<Statement> {
    base::stack::with_room(sql::parse_depth(sql), || {
        let statement = bind(&parse(sql)?, &Schema, parameters)?;
        check(&statement);
        Ok(statement)
    })?
}

pub fn bind_sql(sql: &str) -> Result<Statement> {
    bind_with(sql, &[])
}

/// Every plan that leaves the binder is valid.
fn check(statement: &Statement) {
    use sql::Copy;
    let plan = match statement {
        Statement::Query(plan) | Statement::CreateTableAs { plan, .. } => plan,
        Statement::Explain { statement, .. } => return check(statement),
        Statement::Insert(insert) => &insert.source,
        Statement::Copy(Copy::To { plan, .. }) => plan,
        _ => return,
    };
    if let Err(error) = plan::verify(plan, false) {
        panic!("{error:?}\n{plan}");
    }
}

/// The plan of a query that must bind.
pub fn plan(sql: &str) -> plan::Plan {
    match bind_sql(sql) {
        Ok(Statement::Query(plan)) => plan,
        Ok(other) => panic!("{sql}: {other:?}"),
        Err(error) => panic!("{}", error.render(sql)),
    }
}

/// Names and types of a query's result, `?` for those that can be NULL.
pub fn output(sql: &str) -> String {
    let plan = plan(sql);
    let padded = plan.root.nullable_columns();
    let columns = plan.output.iter().map(|(name, c)| {
        let info = &plan.columns[*c];
        let null = if info.nullable || padded.contains(c) { "?" } else { "" };
        format!("{name} {null}{}", info.sql_type)
    });
    columns.collect::<Vec<_>>().join("; ")
}
