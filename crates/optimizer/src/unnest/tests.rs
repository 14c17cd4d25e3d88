use super::*;

#[track_caller]
fn check(before: &str, after: &str) {
    crate::testing::check(&[&Unnest], before, after);
}

#[test]
fn a_correlated_aggregate_becomes_a_grouped_one_and_a_left_join() {
    check(
        "\
output [a = a#0]
  filter [a#1 < scalar($1, m#4)]
    scan r t0 [a#0:integer = 0, a#1:double = 1]
    subquery $1
      map [m#4:double? = 0.2 * v#3]
        aggregate [] [v#3:double? = avg(x#5)]
          filter [k#2 = a#0]
            scan s t1 [k#2:integer = 0, x#5:double = 1]
",
        "\
output [a = a#0]
  filter [a#1 < m#4]
    map [m#4:double? = 0.2 * v#3]
      join left [a#0 = k#6]
        scan r t0 [a#0:integer = 0, a#1:double = 1]
        aggregate [k#6:integer = k#2] [v#3:double? = avg(x#5)]
          scan s t1 [k#2:integer = 0, x#5:double = 1]
",
    );
}

#[test]
fn exists_and_not_exists_keep_any_condition() {
    check(
        "\
output [a = a#0]
  filter [exists($1), not exists($2), a#0 > 5]
    scan r t0 [a#0:integer = 0, b#1:integer = 1]
    subquery $1
      filter [k#2 = a#0, l#3 <> b#1]
        scan s t1 [k#2:integer = 0, l#3:integer = 1]
    subquery $2
      filter [k#4 = a#0, l#5 <> b#1, l#5 > 7]
        scan s t2 [k#4:integer = 0, l#5:integer = 1]
",
        "\
output [a = a#0]
  join anti [k#4 = a#0, l#5 <> b#1]
    join semi [k#2 = a#0, l#3 <> b#1]
      filter [a#0 > 5]
        scan r t0 [a#0:integer = 0, b#1:integer = 1]
      scan s t1 [k#2:integer = 0, l#3:integer = 1]
    filter [l#5 > 7]
      scan s t2 [k#4:integer = 0, l#5:integer = 1]
",
    );
}

#[test]
fn counts_over_nothing_are_zero() {
    check(
        "\
output [n = m#4]
  map [m#4:bigint? = scalar($1, n#3)]
    scan r t0 [a#0:integer = 0]
    subquery $1
      aggregate [] [n#3:bigint = count(*)]
        filter [k#2 > a#0]
          scan s t1 [k#2:integer = 0]
",
        "\
output [n = m#4]
  map [m#4:bigint? = n#3]
    map [n#3:bigint = coalesce(n#6, 0::bigint)]
      join left [a#0 = a#7]
        scan r t0 [a#0:integer = 0]
        aggregate [a#7:integer = a#5] [n#6:bigint = count(*)]
          join inner [k#2 > a#5]
            distinct [a#5]
              scan r t2 [a#5:integer = 0]
            scan s t1 [k#2:integer = 0]
",
    );
}

#[test]
fn not_in_needs_a_mark_where_nulls_are_possible() {
    check(
        "\
output [a = a#0]
  filter [not any($1, a#0 = k#2), not any($2, a#0 = k#3)]
    scan r t0 [a#0:integer = 0]
    subquery $1
      scan s t1 [k#2:integer = 0]
    subquery $2
      filter [l#4 = a#0]
        scan s t2 [k#3:integer? = 0, l#4:integer? = 1]
",
        "\
output [a = a#0]
  filter [not mark#5]
    join mark mark#5:boolean? [a#0 = k#3, a#0 is not distinct from l#4]
      join anti [a#0 = k#2]
        scan r t0 [a#0:integer = 0]
        scan s t1 [k#2:integer = 0]
      filter [l#4 is not null]
        scan s t2 [k#3:integer? = 0, l#4:integer? = 1]
",
    );
}

#[test]
fn nested_subqueries_skip_levels() {
    check(
        "\
output [a = a#0]
  filter [exists($1)]
    scan r t0 [a#0:integer = 0, b#1:integer = 1]
    subquery $1
      filter [k#2 = a#0, exists($1)]
        scan s t1 [k#2:integer = 0, l#3:integer = 1]
        subquery $1
          filter [m#4 = l#3, n#5 <> b#1]
            scan u t2 [m#4:integer = 0, n#5:integer = 1]
",
        "\
output [a = a#0]
  join semi [k#2 = a#0, n#5 <> b#1]
    scan r t0 [a#0:integer = 0, b#1:integer = 1]
    join inner [m#4 = l#3]
      scan s t1 [k#2:integer = 0, l#3:integer = 1]
      scan u t2 [m#4:integer = 0, n#5:integer = 1]
",
    );
}

#[test]
fn having_set_operations_and_outer_joins_are_pushed_through() {
    check(
        "\
output [a = a#0]
  filter [exists($1) or a#0 = 3]
    scan r t0 [a#0:integer = 0, b#1:integer? = 1]
    subquery $1
      filter [n#6 > 2::bigint]
        aggregate [] [n#6:bigint = count(k#2)]
          union all [k#2:integer?] from [[k#3], [k#4]]
            filter [k#3 = b#1]
              scan s t1 [k#3:integer = 0]
            join left [k#4 = m#5, m#5 < b#1]
              scan s t2 [k#4:integer = 0]
              scan u t3 [m#5:integer = 0]
",
        "\
output [a = a#0]
  filter [coalesce(mark#7, false) or a#0 = 3]
    join mark mark#7:boolean? [b#1 is not distinct from b#15]
      scan r t0 [a#0:integer = 0, b#1:integer? = 1]
      filter [n#6 > 2::bigint]
        map [n#6:bigint = coalesce(n#13, 0::bigint)]
          join left [b#15 is not distinct from b#12]
            distinct [b#15]
              scan r t5 [a#14:integer = 0, b#15:integer? = 1]
            aggregate [b#12:integer? = b#11] [n#13:bigint = count(k#2)]
              union all [k#2:integer?, b#11:integer?] from [[k#3, b#10], [k#4, b#9]]
                map [b#10:integer? = k#3]
                  scan s t1 [k#3:integer = 0]
                join left [k#4 = m#5, m#5 < b#9]
                  join inner []
                    distinct [b#9]
                      scan r t4 [a#8:integer = 0, b#9:integer? = 1]
                    scan s t2 [k#4:integer = 0]
                  scan u t3 [m#5:integer = 0]
",
    );
}

#[test]
fn lateral_joins_are_dependent_joins() {
    check(
        "\
output [a = a#0, s = s#3]
  join left []
    scan r t0 [a#0:integer = 0]
    map [s#3:integer = k#2 + a#0]
      filter [k#2 < a#0]
        scan s t1 [k#2:integer = 0]
",
        "\
output [a = a#0, s = s#3]
  join left [a#0 = a#4]
    scan r t0 [a#0:integer = 0]
    map [s#3:integer = k#2 + a#4]
      join inner [k#2 < a#4]
        distinct [a#4]
          scan r t2 [a#4:integer = 0]
        scan s t1 [k#2:integer = 0]
",
    );
}

/// Checks that all passes together, and the required ones alone, keep the result.
#[track_caller]
fn keeps_its_result(text: &str) {
    for optimize in [false, true] {
        let settings = crate::Settings { optimize, ..crate::Settings::default() };
        let after = crate::optimize(crate::testing::plan_of(text), &settings, &|| Ok(()), &mut |_, _| {}).unwrap();
        crate::testing::compare_results(&crate::testing::plan_of(text), &after);
    }
}

#[test]
fn the_condition_of_a_lateral_join_reads_computed_columns() {
    keeps_its_result(
        "\
output [a = a#0, z = z#2]
  join inner [z#2 > 1]
    scan r t0 [a#0:integer = 0, b#1:integer = 1]
    map [z#2:integer = b#1 + 1]
      values [] [[]]
",
    );
}

#[test]
fn equal_values_of_outer_rows_are_told_apart() {
    for sql_type in ["double", "interval"] {
        keeps_its_result(&format!(
            "\
output [t = t#4, m = m#3]
  map [t#4:text? = cast(a#0 as text), m#3:text? = scalar($1, x#2)]
    scan r t0 [a#0:{sql_type}? = 0]
    subquery $1
      aggregate [] [x#2:text? = max(cast(a#0 as text))]
        filter [b#1 = a#0]
          scan s t1 [b#1:{sql_type}? = 0]
"
        ));
    }
}

#[test]
fn nested_not_in_is_unnested_once_a_level() {
    let plan_of_depth = |depth: usize| {
        let mut text = String::from("output [a = a#0]\n");
        for level in 0..=depth {
            let indent = "  ".repeat(2 * level + 1);
            let scan = format!("{indent}  scan r t{level} [a#{level}:integer? = 0]\n");
            if level == depth {
                text += &scan[2..];
            } else {
                text += &format!(
                    "{indent}filter [not any($1, a#{level} = a#{})]\n{scan}{indent}  subquery $1\n",
                    level + 1
                );
            }
        }
        crate::testing::plan_of(&text)
    };
    let steps = |depth| {
        let steps = std::cell::Cell::new(0);
        let count = || {
            steps.set(steps.get() + 1);
            Ok(())
        };
        Unnest.run(&mut plan_of_depth(depth), &count).unwrap();
        steps.get()
    };
    assert!(steps(20) <= 2 * steps(10) + 4, "{} and {} steps", steps(10), steps(20));
}
