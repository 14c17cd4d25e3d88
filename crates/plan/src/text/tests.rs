mod random;

use super::*;

fn round_trip(text: &str) {
    let plan = parse(text, &mut stub_table).unwrap();
    crate::verify(&plan, false).unwrap();
    assert_eq!(print(&plan), text);
}

#[test]
fn every_operator_parses_back_to_what_it_prints() {
    round_trip(
        "\
cte cte0 \"my cte\" [a#0]
  scan r t0 [a#0:integer = 0]
output [x = x#9, \"?column?\" = x#9]
  sort [x#9 desc, x#9 nulls first] limit 3 offset 1
    union all [x#9:integer?] from [[b#2], [v#5], [a#10]]
      limit 5
        distinct [b#2]
          join left [a#1 = b#2, a#1 <= 3]
            ctescan cte0 [a#1:integer = a#0]
            scan s t1 [b#2:integer = 0, c#3:char(3)? = 2] where [c#3 in ('x', 'it''s')]
      limit all offset 2
        values [v#5:integer] [[1], [-2]]
      aggregate [a#10:integer? = a#7] [n#11:bigint = count(*) filter (a#7 > 0), s#12:bigint? = sum(distinct a#7)]
        join mark m#8:boolean? [a#7 = b#13] build left
          filter [a#7 is not null]
            scan r t2 [a#7:integer? = 0]
          map [b#13:integer = b#14 + 1]
            scan s t3 [b#14:integer = 0]
",
    );
}

#[test]
fn every_expression_parses_back_to_what_it_prints() {
    let text = "\
output [x = a#0]
  filter [EXPR]
    scan r t0 [a#0:integer = 0, d#1:decimal(15,2)? = 1, s#2:text = 2, t#3:timestamp = 3]
    subquery $1
      scan q t1 [k#4:integer = 0]
";
    for expr in [
        "a#0 = 1 and (a#0 + 2) * 3 - 4 < 5 or not a#0 <> 7",
        "(d#1 * 1.50::decimal(15,2))::decimal(30,4) > 0.0000::decimal(30,4)",
        "case when a#0 is null then 'x' else s#2 end like '%a_' escape '!'",
        "s#2 ilike 'b' escape ''",
        "coalesce(d#1, null::decimal(15,2)) is distinct from cast(a#0 as decimal(15,2))",
        "extract('year', t#3)::bigint = 7::bigint",
        "t#3 + '1 mon'::interval >= '1995-01-01 00:00:00'::timestamp",
        "exists($1)",
        "not any($1, a#0 + 1 = k#4)",
        "scalar($1, k#4) is not distinct from 3",
        "round(sqrt(1.5)) = '-inf'::double",
        "a#0 - (a#0 - 1) = 0",
        "case when a#0 = 1 then -1 else -2 end - -3 > -4",
        "s#2 <> E'two\\nlines, a \\\\ and a tab\\u0009'",
        "(a#0 + (a#0 / 2)@14)@7 = 1@20",
        "exists($1)@3",
    ] {
        let mut text = text.replace("EXPR", expr);
        if !expr.contains("$1") {
            text = text.split("    subquery").next().unwrap().to_owned();
        }
        round_trip(&text);
    }
}

#[test]
fn bad_text_is_an_error() {
    for text in
        ["", "output [", "output []\n  nothing", "output [a = a#0]\n  values [] [[]] x", "output []\n  filter [true]"]
    {
        assert!(parse(text, &mut stub_table).is_err(), "{text}");
    }
}
