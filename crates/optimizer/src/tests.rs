//! The subqueries of TPC-H through all passes.

mod random;

use plan::text::print;

use crate::testing::{compare_results, plan_of};
use crate::{Settings, optimize, passes};

#[track_caller]
fn check(before: &str, after: &str) {
    // Build sides and join order depend on statistics, of which there are none.
    let disabled = ["build_sides", "join_order"].map(str::to_owned).into();
    let plan =
        optimize(plan_of(before), &Settings { disabled, ..Settings::default() }, &|| Ok(()), &mut |_, _| {}).unwrap();
    let text = print(&plan);
    assert!(text == after, "{text}");
    compare_results(&plan_of(before), &plan);
    // Without optimisation the plan is still unnested.
    let off = Settings { optimize: false, ..Settings::default() };
    let plan = optimize(plan_of(before), &off, &|| Ok(()), &mut |_, _| {}).unwrap();
    plan::verify(&plan, true).unwrap();
    compare_results(&plan_of(before), &plan);
}

/// Each pass asks while it works, not only before: it is told to stop at each of its questions.
#[test]
fn passes_stop_in_the_middle() {
    const MANY: usize = 200;
    let filters: String = (0..MANY).map(|n| format!("b#{} <> a#{n}", MANY + n)).collect::<Vec<_>>().join(", ");
    let scan = |table: usize, column: usize| format!("scan t t{table} [a#{column}:integer = 0]\n");
    let mut text = format!("output [a = a#0]\n  filter [{}]\n", filters.replace("b#", "a#"));
    for n in 0..2 * MANY - 1 {
        text += &format!("{}join inner []\n", " ".repeat(4 + 2 * n));
    }
    let deepest = 4 + 2 * (2 * MANY - 1);
    text += &format!("{}{}", " ".repeat(deepest), scan(0, 0));
    for n in 1..2 * MANY {
        text += &format!("{}{}", " ".repeat(deepest - 2 * (n - 1)), scan(n, n));
    }
    let mut asked = Vec::new();
    for pass in passes(&Settings::default()) {
        let count = std::cell::Cell::new(0);
        let mut plan = plan_of(&text);
        // These have nothing to unnest or to replace and no statistics, or look at each operator once.
        if ["unnest", "computed", "join_order", "estimates", "first_groups", "eager_groups", "build_sides"]
            .contains(&pass.name())
        {
            continue;
        }
        let ask = || {
            count.set(count.get() + 1);
            Ok(())
        };
        pass.run(&mut plan, &ask).unwrap();
        assert!(count.get() >= MANY, "{}: {} questions", pass.name(), count.get());
        for last in [1, MANY / 2, count.get()] {
            let left = std::cell::Cell::new(last);
            let stop = || {
                left.set(left.get() - 1);
                if left.get() == 0 { Err(base::cancel::canceled()) } else { Ok(()) }
            };
            let error = pass.run(&mut plan_of(&text), &stop).unwrap_err();
            assert_eq!((error.state(), left.get()), (base::SqlState::QUERY_CANCELED, 0), "{}", pass.name());
        }
        asked.push(pass.name());
    }
    assert!(["fold", "pushdown", "prune", "windows", "reduce"].iter().all(|name| asked.contains(name)), "{asked:?}");
}

#[test]
fn q2_minimum_cost() {
    check(
        "\
output [p = p#0]
  filter [p#0 = psp#1, s#4 = pss#2, psc#3 = scalar($1, m#13), psize#5 = 15]
    join inner []
      join inner []
        scan part t0 [p#0:integer = 0, psize#5:integer = 1]
        scan supplier t1 [s#4:integer = 0]
      scan partsupp t2 [psp#1:integer = 0, pss#2:integer = 1, psc#3:decimal(15,2) = 2]
    subquery $1
      aggregate [] [m#13:decimal(15,2)? = min(c#12)]
        filter [p#0 = k#10, s#14 = l#11]
          join inner []
            scan partsupp t3 [k#10:integer = 0, l#11:integer = 1, c#12:decimal(15,2) = 2]
            scan supplier t4 [s#14:integer = 0]
",
        "\
output [p = p#0]
  join inner [p#0 = k#15, psc#3 = m#13]
    join inner [s#4 = pss#2]
      join inner [p#0 = psp#1]
        scan part t0 [p#0:integer = 0, psize#5:integer = 1] where [psize#5 = 15]
        scan partsupp t2 [psp#1:integer = 0, pss#2:integer = 1, psc#3:decimal(15,2) = 2]
      scan supplier t1 [s#4:integer = 0]
    aggregate [k#15:integer = k#10] [m#13:decimal(15,2)? = min(c#12)]
      join inner [s#14 = l#11]
        join semi [k#10 = p#16]
          scan partsupp t3 [k#10:integer = 0, l#11:integer = 1, c#12:decimal(15,2) = 2]
          scan part t5 [p#16:integer = 0, psize#17:integer = 1] where [psize#17 = 15]
        scan supplier t4 [s#14:integer = 0]
",
    );
}

#[test]
fn q17_average_quantity() {
    check(
        "\
output [s = s#9]
  aggregate [] [s#9:decimal(38,2)? = sum(price#2)]
    filter [p#3 = lp#0, brand#4 = 'Brand#23', cast(q#1 as decimal(38,17)) < scalar($1, f#7)]
      join inner []
        scan lineitem t0 [lp#0:integer = 0, q#1:decimal(15,2) = 1, price#2:decimal(15,2) = 2]
        scan part t1 [p#3:integer = 0, brand#4:char(10) = 1]
      subquery $1
        map [f#7:decimal(38,17)? = (0.2::decimal(2,1) * a#6)::decimal(38,17)]
          aggregate [] [a#6:decimal(38,16)? = avg(q#8)]
            filter [lp#5 = p#3]
              scan lineitem t2 [lp#5:integer = 0, q#8:decimal(15,2) = 1]
",
        "\
output [s = s#9]
  aggregate [] [s#9:decimal(38,2)? = sum(price#2)]
    join inner [p#3 = lp#10, cast(q#1 as decimal(38,17)) < (0.2::decimal(2,1) * a#6)::decimal(38,17)]
      join inner [p#3 = lp#0]
        scan lineitem t0 [lp#0:integer = 0, q#1:decimal(15,2) = 1, price#2:decimal(15,2) = 2]
        scan part t1 [p#3:integer = 0, brand#4:char(10) = 1] where [brand#4 = 'Brand#23']
      aggregate [lp#10:integer = lp#5] [a#6:decimal(38,16)? = avg(q#8)]
        join semi [lp#5 = p#11]
          scan lineitem t2 [lp#5:integer = 0, q#8:decimal(15,2) = 1]
          scan part t3 [p#11:integer = 0, brand#12:char(10) = 1] where [brand#12 = 'Brand#23']
",
    );
}

#[test]
fn q20_nested_in() {
    check(
        "\
output [n = n#1]
  sort [n#1]
    filter [any($1, s#0 = ps#3)]
      scan supplier t0 [s#0:integer = 0, n#1:char(25) = 1]
      subquery $1
        filter [any($1, pp#2 = p#5), cast(av#4 as decimal(38,3)) > scalar($2, h#11)]
          scan partsupp t1 [pp#2:integer = 0, ps#3:integer = 1, av#4:integer = 2]
          subquery $1
            filter [pn#6 like 'forest%']
              scan part t2 [p#5:integer = 0, pn#6:varchar(55) = 1]
          subquery $2
            map [h#11:decimal(38,3)? = (0.5::decimal(2,1) * t#10)::decimal(38,3)]
              aggregate [] [t#10:decimal(38,2)? = sum(q#9)]
                filter [lp#7 = pp#2, ls#8 = ps#3]
                  scan lineitem t3 [lp#7:integer = 0, ls#8:integer = 1, q#9:decimal(15,2) = 2]
",
        "\
output [n = n#1]
  sort [n#1]
    join semi [s#0 = ps#3]
      scan supplier t0 [s#0:integer = 0, n#1:char(25) = 1]
      join inner [pp#2 = lp#12, ps#3 = ls#13, cast(av#4 as decimal(38,3)) > (0.5::decimal(2,1) * t#10)::decimal(38,3)]
        join semi [pp#2 = p#5]
          scan partsupp t1 [pp#2:integer = 0, ps#3:integer = 1, av#4:integer = 2]
          scan part t2 [p#5:integer = 0, pn#6:varchar(55) = 1] where [pn#6 like 'forest%']
        aggregate [lp#12:integer = lp#7, ls#13:integer = ls#8] [t#10:decimal(38,2)? = sum(q#9)]
          join semi [lp#7 = p#14]
            scan lineitem t3 [lp#7:integer = 0, ls#8:integer = 1, q#9:decimal(15,2) = 2]
            scan part t4 [p#14:integer = 0, pn#15:varchar(55) = 1] where [pn#15 like 'forest%']
",
    );
}

#[test]
fn q21_exists_and_not_exists() {
    check(
        "\
output [n = n#9]
  aggregate [] [n#9:bigint = count(*)]
    filter [s#0 = ls#2, exists($1), not exists($2)]
      join inner []
        scan supplier t0 [s#0:integer = 0]
        scan lineitem t1 [lo#1:integer = 0, ls#2:integer = 1]
      subquery $1
        filter [o2#3 = lo#1, s2#4 <> ls#2]
          scan lineitem t2 [o2#3:integer = 0, s2#4:integer = 1]
      subquery $2
        filter [o3#5 = lo#1, s3#6 <> ls#2, r3#7 > c3#8]
          scan lineitem t3 [o3#5:integer = 0, s3#6:integer = 1, r3#7:date = 2, c3#8:date = 3]
",
        "\
output [n = n#9]
  aggregate [] [n#9:bigint = count(*)]
    join anti [o3#5 = lo#1, s3#6 <> ls#2]
      join semi [o2#3 = lo#1, s2#4 <> ls#2]
        join inner [s#0 = ls#2]
          scan supplier t0 [s#0:integer = 0]
          scan lineitem t1 [lo#1:integer = 0, ls#2:integer = 1]
        scan lineitem t2 [o2#3:integer = 0, s2#4:integer = 1]
      scan lineitem t3 [o3#5:integer = 0, s3#6:integer = 1, r3#7:date = 2, c3#8:date = 3] where [r3#7 > c3#8]
",
    );
}

#[test]
fn q22_uncorrelated_average() {
    check(
        "\
output [n = n#6]
  aggregate [] [n#6:bigint = count(*)]
    filter [substring(ph#1, 1, 2) in ('13', '31'), b#2 > scalar($1, a#4), not exists($2)]
      scan customer t0 [c#0:integer = 0, ph#1:text = 1, b#2:double = 2]
      subquery $1
        aggregate [] [a#4:double? = avg(b#3)]
          filter [b#3 > 0.0]
            scan customer t1 [b#3:double = 2]
      subquery $2
        filter [oc#5 = c#0]
          scan orders t2 [oc#5:integer = 1]
",
        "\
output [n = n#6]
  aggregate [] [n#6:bigint = count(*)]
    join inner [b#2 > a#4]
      join anti [oc#5 = c#0]
        scan customer t0 [c#0:integer = 0, ph#1:text = 1, b#2:double = 2] where [substring(ph#1, 1, 2) in ('13', '31')]
        scan orders t2 [oc#5:integer = 1]
      aggregate [] [a#4:double? = avg(b#3)]
        scan customer t1 [b#3:double = 2] where [b#3 > 0.0]
",
    );
}

#[test]
fn distinct_aggregates_group_twice_and_join() {
    check(
        "\
output [g = g#3, a = a#4, b = b#5, c = c#6, d = d#7]
  aggregate [g#3:integer? = x#0] [a#4:bigint = count(distinct y#1), b#5:bigint? = sum(y#1), c#6:bigint? = sum(distinct y#1), d#7:bigint = count(distinct z#2) filter (y#1 > 0)]
    scan r t0 [x#0:integer? = 0, y#1:integer = 1, z#2:integer = 2]
",
        "\
output [g = g#3, a = a#4, b = b#5, c = c#6, d = d#7]
  join inner [g#3 is not distinct from g#17]
    join inner [g#3 is not distinct from g#13]
      aggregate [g#3:integer? = g#9] [a#4:bigint = count(distinct#8), c#6:bigint? = sum(distinct#8)]
        aggregate [g#9:integer? = x#0, distinct#8:integer? = y#1] []
          scan r t0 [x#0:integer? = 0, y#1:integer = 1]
      aggregate [g#13:integer? = x#10] [b#5:bigint? = sum(y#11)]
        scan r t1 [x#10:integer? = 0, y#11:integer = 1]
    aggregate [g#17:integer? = g#19] [d#7:bigint = count(distinct#18)]
      aggregate [g#19:integer? = x#14, distinct#18:integer? = case when y#15 > 0 then z#16 else null::integer end] []
        scan r t2 [x#14:integer? = 0, y#15:integer = 1, z#16:integer = 2]
",
    );
    check(
        "\
output [a = a#4, m = m#5]
  aggregate [] [a#4:bigint = count(distinct y#1), m#5:integer? = max(distinct z#2)]
    join inner [y#1 = z#2]
      scan r t0 [y#1:integer = 0]
      scan s t1 [z#2:integer = 0]
",
        "\
cte cte0 aggregated [y#1, z#2]
  join inner [y#1 = z#2]
    scan r t0 [y#1:integer = 0]
    scan s t1 [z#2:integer = 0]
output [a = a#4, m = m#5]
  join inner []
    aggregate [] [a#4:bigint = count(distinct#8)]
      aggregate [distinct#8:integer? = y#6] []
        ctescan cte0 [y#6:integer = y#1]
    aggregate [] [m#5:integer? = max(z#10)]
      ctescan cte0 [z#10:integer = z#2]
",
    );
}
