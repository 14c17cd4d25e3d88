//! Every type through everything that a value can go through: tables, freezing, grouping, joining, sorting, windows, statistics,
//! and files. A type that is added joins the list.

mod bench;
mod cases;

use bench::{Bench, bench};
use cases::{LABELS, cases, has_case};

#[test]
fn every_type_goes_through_everything() {
    let mut bench = bench();
    bench.run(&format!("create type mood as enum ('{}')", LABELS.join("', '")));
    for case in cases() {
        assert!(has_case(case.sql_type));
        let name = case.sql_type.to_string();
        bench.run(&format!("create table few (k integer primary key, v {name})"));
        let rows = case.values.iter().enumerate().map(|(i, v)| format!("({i}, '{}')", v.replace('\'', "''")));
        bench.run(&format!("insert into few values {}, (100, null)", rows.collect::<Vec<_>>().join(", ")));
        let all: Vec<String> = case.values.iter().map(|v| v.to_string()).collect();

        // Sorted, both ways; as constants; compared with each other.
        assert_eq!(bench.run("select v from few where v is not null order by v"), all, "{name}");
        let backwards: Vec<String> = all.iter().rev().cloned().collect();
        assert_eq!(bench.run("select v from few where k < 100 order by v desc"), backwards, "{name}");
        let (least, most) = (&all[0], &all[all.len() - 1]);
        // As in PostgreSQL, booleans and JSON have no least one.
        let ends = match name.as_str() {
            "boolean" => "'false', 'true'".to_owned(),
            "json" | "jsonb" => format!("'{least}', '{most}'"),
            _ => "min(v), max(v)".to_owned(),
        };
        assert_eq!(
            bench.run(&format!("select {ends}, count(distinct v) from few")),
            [format!("{least}|{most}|{}", all.len())]
        );
        for (i, v) in all.iter().enumerate() {
            let (printed, v) = (v, v.replace('\'', "''"));
            assert_eq!(bench.run(&format!("select k from few where v = '{v}'")), [i.to_string()], "{name} {v}");
            assert_eq!(bench.run(&format!("select count(*) from few where v < '{v}'")), [i.to_string()], "{name} {v}");
            assert_eq!(bench.run(&format!("select cast('{v}' as {name})")), std::slice::from_ref(printed), "{name}");
        }
        everywhere(&mut bench, &name, all.len());
        files(&mut bench, &name);
        bench.run("drop table few");
        bench.run("drop table many");
        bench.run("drop table again");
    }
}

/// Many rows, frozen: groups, joins, windows, tables made of queries; in machine code and in the interpreter.
fn everywhere(bench: &mut Bench, name: &str, values: usize) {
    let rows = 70_000;
    let keys = values + 1;
    bench.run(&format!(
        "create table many as select i, (select v from few where k = i % {keys}) as v from generate_series(1, {rows}) s(i)"
    ));
    bench.frozen("many");
    let each = |k: usize| (1..=rows).filter(|i| i % keys == k).count();
    let expected: Vec<String> = (0..values).map(|k| format!("{k}|{}", each(k))).collect();
    for compile in ["on", "off"] {
        bench.run(&format!("set compile = {compile}"));
        let groups =
            "select f.k, g.n from few f join (select v, count(*) as n from many group by v) g on f.v = g.v order by 1";
        assert_eq!(bench.run(groups), expected, "groups of {name}");
        let nulls = "select count(*) from many where v is null or v is not distinct from null";
        assert_eq!(bench.run(nulls), [each(values).to_string()], "{name}");
        let joined = "select f.k, count(*) from few f, many m where f.v = m.v group by f.k order by 1";
        assert_eq!(bench.run(joined), expected, "join of {name}");
        let distinct = "select count(*) from (select distinct v from many)";
        assert_eq!(bench.run(distinct), [(values + 1).to_string()], "{name}");
        let window = "select count(*) from (select i, v, first_value(v) over w as f, lag(v) over w as l, dense_rank() \
                      over (order by v) as r from many window w as (partition by v order by i)) x \
                      where f is not distinct from v and (l is null or l = v)";
        assert_eq!(bench.run(window), [rows.to_string()], "window of {name}");
        let ranks = "select max(r) from (select dense_rank() over (order by v) as r from many) x";
        assert_eq!(bench.run(ranks), [(values + 1).to_string()], "ranks of {name}");
        let sets = "select count(*) from (select v from many intersect select v from few) x";
        assert_eq!(bench.run(sets), [(values + 1).to_string()], "{name}");
        let case = "select count(*) from many where coalesce(case when i % 2 = 0 then v end, v) is not distinct from v";
        assert_eq!(bench.run(case), [rows.to_string()], "{name}");
    }
    bench.run("set compile = on");
    bench.run("create table again as select * from many order by v, i");
    assert_eq!(
        bench.run("select v from again order by v, i limit 1"),
        bench.run("select v from few order by v limit 1"),
        "{name}"
    );
}

/// To files and back: the same type from Parquet, the same values from CSV.
fn files(bench: &mut Bench, name: &str) {
    let all = bench.run("select * from few order by k");
    // Files have no lengths of texts, no types by name, no numbers of any length, no ranges and no times with offsets.
    let is_text = name.contains("char(")
        || name.starts_with("numeric")
        || name.ends_with("range")
        || name == "timetz"
        || name == "mood";
    let back = if is_text { "text".to_owned() } else { name.to_owned() };
    // Parquet's intervals have no microseconds.
    let parquet = name != "interval";
    if parquet {
        bench.run("copy few to '@/few.parquet'");
        let described = bench.run("describe '@/few.parquet'");
        assert!(described[1].starts_with(&format!("v|{back}|")), "{described:?} of {name}");
    }
    if parquet && !name.starts_with("char(") {
        assert_eq!(bench.run("select * from '@/few.parquet' order by k"), all, "Parquet of {name}");
    }
    for (file, options) in [("few.parquet", ""), ("few.csv", "(format csv, header)"), ("few.txt", "(format text)")] {
        if file == "few.parquet" && !parquet {
            continue;
        }
        bench.run(&format!("copy few to '@/{file}' {options}"));
        bench.run(&format!("create table back (k integer, v {name})"));
        bench.run(&format!("copy back from '@/{file}' {options}"));
        assert_eq!(bench.run("select * from back order by k"), all, "{file} of {name}");
        bench.run("drop table back");
    }
}
