//! All TPC-H queries bind, to valid plans of the right output types.

mod common;

use common::{bind_sql, output, plan};

fn query(number: usize) -> String {
    let path = format!("{}/../tpch/queries/q{number:02}.sql", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn all_queries_bind() {
    for number in 1..=22 {
        let plan = plan(&query(number));
        assert!(!plan.output.is_empty(), "{number}");
        assert_eq!(plan.ctes.len(), usize::from(number == 15), "{number}");
    }
}

#[test]
fn types_of_results() {
    assert_eq!(
        output(&query(1)),
        "l_returnflag char(1); l_linestatus char(1); sum_qty decimal(38,2); sum_base_price decimal(38,2); \
         sum_disc_price decimal(38,4); sum_charge decimal(38,6); avg_qty decimal(38,16); avg_price decimal(38,16); \
         avg_disc decimal(38,16); count_order bigint"
    );
    assert_eq!(output(&query(8)), "o_year bigint; mkt_share decimal(38,16)");
    assert_eq!(output(&query(14)), "promo_revenue ?decimal(38,16)");
    assert_eq!(output(&query(13)), "c_count bigint; custdist bigint");
    assert_eq!(output(&query(22)), "cntrycode text; numcust bigint; totacctbal decimal(38,2)");
}

/// Random damage to real queries gives plans or errors, never a panic. Deterministic.
#[test]
fn damaged_queries_do_not_panic() {
    let texts: Vec<String> = (1..=22).map(query).collect();
    let words: Vec<&str> = texts.iter().flat_map(|t| t.split_whitespace()).collect();
    let extra = [
        "(",
        ")",
        ",",
        "''",
        "'",
        "\"",
        "null",
        "*",
        "-",
        "::",
        "int",
        "order by 1",
        "group by all",
        "1e999",
        "9999999999999999999999999999999999999999",
        "union all",
        "select",
        "lateral",
        "ä",
        "$1",
        "?",
        "[",
        ";",
        "--",
        "/*",
        "any",
        "case",
        "end",
        "not",
        "in",
        "between",
        "interval '1' day",
        "a.b.c",
        "using (",
        "distinct",
        "limit",
        "count(*)",
    ];
    let mut generator = base::Random(1);
    let mut random = |bound: usize| generator.index(bound);
    let (mut bound, mut refused) = (0, 0);
    for round in 0..6000 {
        let text = &texts[round % texts.len()];
        let mut tokens: Vec<&str> = text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for _ in 0..1 + random(3) {
            let at = random(tokens.len());
            match random(5) {
                0 => {
                    tokens.remove(at);
                }
                1 => tokens.insert(at, words[random(words.len())]),
                2 => tokens.insert(at, extra[random(extra.len())]),
                3 => tokens.swap(at, (at + 1) % text.len().min(2)),
                _ => {
                    let other = random(tokens.len());
                    tokens.swap(at, other);
                }
            }
        }
        let damaged = tokens.concat();
        match bind_sql(&damaged) {
            Ok(_) => bound += 1,
            Err(error) => {
                assert_ne!(error.state().0, "XX000", "{}", error.render(&damaged));
                let _ = error.render(&damaged);
                refused += 1;
            }
        }
    }
    assert!(bound > 100 && refused > 1000, "{bound} bound, {refused} refused");
}
