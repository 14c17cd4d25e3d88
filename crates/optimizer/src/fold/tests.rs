use plan::Op;
use plan::text::expr_to_string;

use super::*;
use crate::testing::plan_of;

/// The folded conjuncts of a filter.
#[track_caller]
fn folded(expr: &str) -> String {
    let text = format!(
        "\
output []
  filter [{expr}]
    scan r t0 [a#0:integer = 0, b#1:integer? = 1, d#2:date = 2, n#3:decimal(15,2) = 3, s#4:varchar(9) = 4, p#5:boolean? = 5]
"
    );
    let mut plan = plan_of(&text);
    Fold.run(&mut plan, &|| Ok(())).unwrap();
    plan::verify(&plan, true).unwrap();
    let predicates = match &plan.root.op {
        Op::Filter { predicates, .. } => predicates.as_slice(),
        _ => &[],
    };
    predicates.iter().map(|e| expr_to_string(e, &plan.columns)).collect::<Vec<_>>().join(" | ")
}

#[test]
fn expressions_are_simplified() {
    for (before, after) in [
        ("1 + 1 = 2", ""),
        ("a#0 = 1 + 2", "a#0 = 3"),
        ("3 < a#0", "a#0 > 3"),
        ("a#0 = 1 / 0", "a#0 = 1 / 0"),
        ("a#0 = 1 and false", "false"),
        ("a#0 = null::integer", "false"),
        ("a#0 is not distinct from null::integer", "a#0 is null"),
        ("not (a#0 = 1 and b#1 < 2)", "a#0 <> 1 or b#1 >= 2"),
        ("not not a#0 = 1", "a#0 = 1"),
        ("a#0 = 1 or a#0 = 2 or a#0 in (2, 3)", "a#0 in (1, 2, 3)"),
        ("(a#0 = b#1 and a#0 < 3) or (a#0 < 5 and a#0 = b#1)", "a#0 = b#1 | a#0 < 3 or a#0 < 5"),
        ("(a#0 = b#1 and a#0 < 3) or a#0 = b#1", "a#0 = b#1"),
        ("cast(d#2 as timestamp) < '1995-01-01 00:00:00'::timestamp", "d#2 < '1995-01-01'::date"),
        ("cast(d#2 as timestamp) < '1995-01-01 10:00:00'::timestamp", "d#2 <= '1995-01-01'::date"),
        (
            "cast(d#2 as timestamp) = '1995-01-01 10:00:00'::timestamp",
            "cast(d#2 as timestamp) = '1995-01-01 10:00:00'::timestamp",
        ),
        ("cast(a#0 as bigint) = 5::bigint", "a#0 = 5"),
        ("cast(a#0 as decimal(12,2)) > 2.50::decimal(12,2)", "a#0 > 2"),
        ("cast(n#3 as decimal(38,4)) >= 0.0500::decimal(38,4)", "n#3 >= 0.05::decimal(15,2)"),
        ("cast(s#4 as text) = 'x'", "s#4 = 'x'"),
        ("cast(s#4 as text) in ('x', 'y')", "s#4 in ('x', 'y')"),
        ("case when 1 = 2 then 7 else a#0 end = 7", "a#0 = 7"),
        ("case when a#0 = 1 then 2 when true then 3 else 1 / 0 end = 3", "case when a#0 = 1 then 2 else 3 end = 3"),
        ("coalesce(null::integer, a#0, 1 / 0) = 1", "coalesce(a#0, 1 / 0) = 1"),
        ("coalesce(p#5, false)", "p#5"),
        ("not coalesce(p#5, false)", "not coalesce(p#5, false)"),
        ("cast('1998-12-01' as date) - 90 > d#2", "d#2 < '1998-09-02'::date"),
        ("a#0 / 10 = 5", "a#0 >= 50 | a#0 < 60"),
        ("a#0 / 10 = 0", "a#0 >= -9 | a#0 < 10"),
        ("a#0 / 10 < -5", "a#0 < -59"),
        ("a#0 / 10 <= -5", "a#0 < -49"),
        ("a#0 / 10 > 214748364", "a#0 / 10 > 214748364"),
        ("a#0 / 10 <> 5", "a#0 / 10 <> 5"),
        ("a#0 / -10 = 5", "a#0 / -10 = 5"),
        ("(a#0 + 1) / 10 = 5", "(a#0 + 1) / 10 = 5"),
        ("(a#0 + 1) / 10 >= 5", "a#0 + 1 >= 50"),
        ("extract('year', d#2)::bigint = 1995::bigint", "d#2 >= '1995-01-01'::date | d#2 < '1996-01-01'::date"),
        ("extract('month', d#2)::bigint = 5::bigint", "extract('month', d#2)::bigint = 5::bigint"),
        (
            "date_trunc('month', d#2)::timestamp = '1995-02-01 00:00:00'::timestamp",
            "d#2 >= '1995-02-01'::date | d#2 < '1995-03-01'::date",
        ),
        ("date_trunc('month', d#2)::timestamp <= '1995-02-10 00:00:00'::timestamp", "d#2 < '1995-03-01'::date"),
        ("date_trunc('month', d#2)::timestamp < '1995-02-10 00:00:00'::timestamp", "d#2 < '1995-03-01'::date"),
        (
            "date_trunc('month', d#2)::timestamp = '1995-02-10 00:00:00'::timestamp",
            "date_trunc('month', d#2)::timestamp = '1995-02-10 00:00:00'::timestamp",
        ),
    ] {
        assert_eq!(folded(before), after, "{before}");
    }
}
