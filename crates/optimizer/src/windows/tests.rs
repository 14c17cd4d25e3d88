use super::*;
use crate::prune::Prune;
use crate::pushdown::Pushdown;

#[track_caller]
fn check(before: &str, after: &str) {
    crate::testing::check(&[&Windows], before, after);
}

#[test]
fn functions_share_orders_that_begin_alike() {
    check(
        "\
output [r = r#3, s = s#4, t = t#5, u = u#6]
  window [b#1, c#2 desc] [u#6:bigint = rank() partition 1 peers 2 range first to current]
    window [c#2] [t#5:bigint = dense_rank() partition 0 peers 1 rows first to last]
      window [a#0] [s#4:bigint = count(a#0) partition 1 peers 1 range first to current]
        window [b#1, a#0, c#2 desc] [r#3:bigint = rank() partition 2 peers 3 range first to current]
          scan t t0 [a#0:integer = 0, b#1:integer = 1, c#2:integer = 2]
",
        "\
output [r = r#3, s = s#4, t = t#5, u = u#6]
  window [c#2] [t#5:bigint = dense_rank() partition 0 peers 1 rows first to last]
    window [b#1, c#2 desc] [u#6:bigint = rank() partition 1 peers 2 range first to current]
      window [a#0, b#1, c#2 desc] [r#3:bigint = rank() partition 2 peers 3 range first to current, s#4:bigint = count(a#0) partition 1 peers 1 rows first to last]
        scan t t0 [a#0:integer = 0, b#1:integer = 1, c#2:integer = 2]
",
    );
}

#[test]
fn keys_that_decide_nothing_go() {
    check(
        "\
output [r = r#3, s = s#4]
  window [a#0, 3, a#0 desc, b#1] [r#3:bigint = rank() partition 2 peers 4 range first to current, s#4:bigint = count(b#1) partition 1 peers 4 rows first to last]
    scan t t0 [a#0:integer = 0, b#1:integer = 1]
",
        "\
output [r = r#3, s = s#4]
  window [a#0, b#1] [r#3:bigint = rank() partition 1 peers 2 range first to current, s#4:bigint = count(b#1) partition 1 peers 1 rows first to last]
    scan t t0 [a#0:integer = 0, b#1:integer = 1]
",
    );
}

#[test]
fn what_reads_a_window_stays_above_it() {
    check(
        "\
output [r = r#2, s = s#3]
  window [a#0] [s#3:bigint = max(r#2) partition 1 peers 1 rows first to current]
    window [a#0] [r#2:bigint = rank() partition 0 peers 1 range first to current]
      scan t t0 [a#0:integer = 0]
",
        "\
output [r = r#2, s = s#3]
  window [a#0] [s#3:bigint = max(r#2) partition 1 peers 1 rows first to current]
    window [a#0] [r#2:bigint = rank() partition 0 peers 1 range first to current]
      scan t t0 [a#0:integer = 0]
",
    );
}

/// What stands above the scan of a plan with this condition on these functions.
fn limited(condition: &str, functions: &str) -> String {
    let scan = "scan t t0 [a#0:integer = 0, b#1:integer = 1]\n";
    let before = format!(
        "output [a = a#0, n = n#2]\n  filter [{condition}]\n    window [a#0, b#1 desc] [{functions}]\n      {scan}"
    );
    let mut plan = crate::testing::plan_of(&before);
    Windows.run(&mut plan, &|| Ok(())).unwrap();
    plan::verify(&plan, true).unwrap();
    crate::testing::compare_results(&crate::testing::plan_of(&before), &plan);
    let text = plan::text::print(&plan);
    let lines: Vec<&str> = text.lines().skip(1).map(|l| l.split(" [").next().unwrap_or(l).trim()).collect();
    let limit = text.lines().find(|l| l.contains("limit")).unwrap_or("").trim();
    format!("{}; {limit}", lines.join(" < "))
}

#[test]
fn first_rows_become_a_limit() {
    const NUMBER: &str = "n#2:bigint = row_number() partition 1 peers 2 rows first to last";
    let with_rank = format!("{NUMBER}, r#3:bigint = rank() partition 1 peers 2 rows first to last");
    let with_count = format!("{NUMBER}, r#3:bigint = count(b#1) partition 1 peers 2 rows first to last");
    for (condition, functions, expected) in [
        ("n#2 <= 3::bigint", NUMBER, "window < group limit < scan t t0; group limit [a#0] by [b#1 desc] limit 3"),
        ("2::bigint > n#2", &with_rank, "window < group limit < scan t t0; group limit [a#0] by [b#1 desc] limit 1"),
        ("n#2 < -7::bigint", NUMBER, "window < group limit < scan t t0; group limit [a#0] by [b#1 desc] limit 0"),
        ("n#2 = 2::bigint", NUMBER, "map < group limit < scan t t0; group limit [a#0] by [b#1 desc] limit 1 offset 1"),
        ("n#2 = 0::bigint", NUMBER, "map < group limit < scan t t0; group limit [a#0] by [b#1 desc] limit 0"),
        (
            "n#2 = 2::bigint",
            &with_rank,
            "filter < window < group limit < scan t t0; group limit [a#0] by [b#1 desc] limit 2",
        ),
        ("n#2 <= 3::bigint", &with_count, "filter < window < scan t t0; "),
        ("r#3 <= 2::bigint", &with_rank, "filter < window < scan t t0; "),
        ("n#2 >= 2::bigint", NUMBER, "filter < window < scan t t0; "),
    ] {
        assert_eq!(limited(condition, functions), expected, "{condition} of {functions}");
    }
}

#[test]
fn conditions_on_partitions_go_below() {
    crate::testing::check(
        &[&Pushdown, &Windows, &Prune],
        "\
output [b = b#1]
  filter [a#0 = 3, n#2 = 1::bigint, b#1 > 2]
    window [a#0, b#1] [n#2:bigint = row_number() partition 1 peers 2 rows first to last]
      scan t t0 [a#0:integer = 0, b#1:integer = 1]
",
        "\
output [b = b#1]
  filter [b#1 > 2]
    group limit [a#0] by [b#1] limit 1
      scan t t0 [a#0:integer = 0, b#1:integer = 1] where [a#0 = 3]
",
    );
}

#[test]
fn whole_partitions_are_aggregated() {
    check(
        "\
output [b = b#1, s = s#2, n = n#3]
  window [a#0] [s#2:bigint = count(b#1) partition 1 peers 1 rows first to last, n#3:bigint = count_star() partition 1 peers 1 range first to current]
    scan t t0 [a#0:integer? = 0, b#1:integer = 1]
",
        "\
output [b = b#1, s = s#2, n = n#3]
  join inner [a#0 is not distinct from partition#6]
    scan t t0 [a#0:integer? = 0, b#1:integer = 1]
    aggregate [partition#6:integer? = a#4] [s#2:bigint = count(b#5), n#3:bigint = count_star(*)]
      scan t t1 [a#4:integer? = 0, b#5:integer = 1]
",
    );
    check(
        "\
output [s = s#3, n = n#4]
  window [a#0] [s#3:bigint = count(a#0) partition 1 peers 1 rows first to last]
    window [a#0] [n#4:bigint = count(c#2) partition 1 peers 1 rows first to last]
      join inner [a#0 = c#2]
        scan t t0 [a#0:integer = 0]
        scan u t1 [c#2:integer = 0]
",
        "\
cte cte0 partitions [a#5, c#6]
  join inner [a#5 = c#6]
    scan t t2 [a#5:integer = 0]
    scan u t3 [c#6:integer = 0]
output [s = s#3, n = n#4]
  join inner [a#0 = partition#9]
    ctescan cte0 [a#0:integer = a#5, c#2:integer = c#6]
    aggregate [partition#9:integer = a#7] [n#4:bigint = count(c#8), s#3:bigint = count(a#7)]
      ctescan cte0 [a#7:integer = a#5, c#8:integer = c#6]
",
    );
}

#[test]
fn the_least_key_of_a_partition_is_the_key() {
    check(
        "\
output [x = x#3, y = y#4, z = z#5]
  window [a#0, b#1] [x#3:integer = min(a#0) partition 1 peers 2 range first to current, y#4:integer = max(b#1) partition 1 peers 2 range first to current, z#5:integer = first_value(a#0) partition 1 peers 2 rows current to last]
    scan t t0 [a#0:integer = 0, b#1:integer = 1]
",
        "\
output [x = x#3, y = y#4, z = z#5]
  map [x#3:integer = a#0, z#5:integer = a#0]
    window [a#0, b#1] [y#4:integer = max(b#1) partition 1 peers 2 range first to current]
      scan t t0 [a#0:integer = 0, b#1:integer = 1]
",
    );
    // The frame may be empty; -0 and 0 are one key.
    let kept = "\
output [x = x#3, y = y#4]
  window [a#0, d#1, b#2] [x#3:integer = min(a#0) partition 2 peers 3 rows first to preceding (1::bigint), y#4:double = min(d#1) partition 2 peers 3 range first to current]
    scan t t0 [a#0:integer = 0, d#1:double = 1, b#2:integer = 2]
";
    check(kept, kept);
}

#[test]
fn modes_of_groups_are_counted() {
    check(
        "\
output [b = b#1, m = m#3]
  aggregate [b#1:integer = b#4] [m#3:text? = any_value(m#5)]
    window [b#4] [m#5:text? = mode() order [a#0] partition 1 peers 1 rows first to last]
      scan t t0 [a#0:text = 0, b#4:integer = 1]
",
        "\
output [b = b#1, m = m#3]
  aggregate [b#1:integer = b#6] [m#3:text? = arg_max(value#7, number#8)]
    aggregate [b#6:integer = b#4, value#7:text? = a#0] [number#8:bigint = count_star(*)]
      scan t t0 [a#0:text = 0, b#4:integer = 1]
",
    );
    // The greatest of several is wanted, another one beside it, or that of a part of the group.
    for plan in [
        "\
output [m = m#3]
  aggregate [] [m#3:text? = any_value(m#5)]
    window [] [m#5:text? = mode() order [a#0 desc] partition 0 peers 0 rows first to last]
      scan t t0 [a#0:text = 0, b#4:integer = 1]
",
        "\
output [m = m#3, n = n#6]
  aggregate [] [m#3:text? = any_value(m#5), n#6:bigint = count_star(*)]
    window [] [m#5:text? = mode() order [a#0] partition 0 peers 0 rows first to last]
      scan t t0 [a#0:text = 0, b#4:integer = 1]
",
        "\
output [m = m#3]
  aggregate [] [m#3:text? = any_value(m#5)]
    window [b#4] [m#5:text? = mode() order [a#0] partition 1 peers 1 rows first to last]
      scan t t0 [a#0:text = 0, b#4:integer = 1]
",
    ] {
        check(plan, plan);
    }
}
