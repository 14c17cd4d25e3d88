use super::*;

/// A grouping of sales by what their items are, before and after; `operators` stand between it and the join.
fn plan(groups: &str, aggregates: &str, between: &str, join: &str) -> String {
    let outputs = aggregates.split('#').nth(1).map(|rest| rest.split(':').next().unwrap());
    let output = outputs.map(|id| format!("r = r#{id}")).unwrap_or_default();
    let depth = if between.is_empty() { "" } else { "  " };
    let between = if between.is_empty() { String::new() } else { format!("    {between}\n") };
    format!(
        "\
output [{output}]
  aggregate [{groups}] [{aggregates}]
{between}    {depth}{join}
      {depth}scan sales t0 [i#0:integer = 0, q#1:integer? = 1, x#2:decimal(9,2) = 2]
      {depth}scan item t1 [k#3:integer = 0, b#4:text = 1, d#5:double = 2]
"
    )
}

#[track_caller]
fn check(before: &str, after: &str) {
    crate::testing::check(&[&EagerGroups(When::Always)], before, after);
}

#[track_caller]
fn stays(groups: &str, aggregates: &str, between: &str, join: &str) {
    let plan = plan(groups, aggregates, between, join);
    check(&plan, &plan);
}

const INNER: &str = "join inner [i#0 = k#3]";

#[test]
fn one_side_is_grouped_before_the_join() {
    check(&plan("g#6:text = b#4", "r#7:bigint = count(*), s#8:bigint? = sum(q#1), a#9:decimal(38,16)? = avg(q#1)", "", INNER), "\
output [r = r#7]
  map [r#7:bigint = coalesce(cast(combined#12 as bigint), 0::bigint), s#8:bigint? = cast(combined#14 as bigint), a#9:decimal(38,16)? = (cast(cast(combined#14 as bigint) as decimal(38,0)) / cast(coalesce(cast(combined#16 as bigint), 0::bigint) as decimal(38,0)))::decimal(38,16)]
    aggregate [g#6:text = b#4] [combined#12:decimal(38,0)? = sum(part#11), combined#14:decimal(38,0)? = sum(part#13), combined#16:decimal(38,0)? = sum(part#15)]
      join inner [i#10 = k#3]
        aggregate [i#10:integer = i#0] [part#11:bigint = count(*), part#13:bigint? = sum(q#1), part#15:bigint = count(q#1)]
          scan sales t0 [i#0:integer = 0, q#1:integer? = 1, x#2:decimal(9,2) = 2]
        scan item t1 [k#3:integer = 0, b#4:text = 1, d#5:double = 2]
");
}

#[test]
fn what_is_computed_above_the_join_is_computed_below() {
    let between =
        "map [v#6:decimal(20,2) = (x#2 * cast(q#1 as decimal(10,0)))::decimal(20,2), t#7:boolean = b#4 = 'a']";
    check(&plan("g#8:boolean = t#7, h#9:integer? = q#1", "r#10:decimal(38,2)? = sum(v#6) filter (q#1 > 0)", between, INNER), "\
output [r = r#10]
  map [r#10:decimal(38,2)? = combined#14]
    aggregate [g#8:boolean = t#7, h#9:integer? = q#12] [combined#14:decimal(38,2)? = sum(part#13)]
      map [t#7:boolean = b#4 = 'a']
        join inner [i#11 = k#3]
          aggregate [i#11:integer = i#0, q#12:integer? = q#1] [part#13:decimal(38,2)? = sum((x#2 * cast(q#1 as decimal(10,0)))::decimal(20,2)) filter (q#1 > 0)]
            scan sales t0 [i#0:integer = 0, q#1:integer? = 1, x#2:decimal(9,2) = 2]
          scan item t1 [k#3:integer = 0, b#4:text = 1, d#5:double = 2]
");
}

#[test]
fn rows_without_a_partner_are_grouped_too() {
    check(
        &plan("g#6:text? = b#4", "r#7:decimal(9,2)? = max(x#2)", "", "join left [i#0 = k#3]"),
        "\
output [r = r#7]
  map [r#7:decimal(9,2)? = combined#10]
    aggregate [g#6:text? = b#4] [combined#10:decimal(9,2)? = max(part#9)]
      join left [i#8 = k#3]
        aggregate [i#8:integer = i#0] [part#9:decimal(9,2)? = max(x#2)]
          scan sales t0 [i#0:integer = 0, q#1:integer? = 1, x#2:decimal(9,2) = 2]
        scan item t1 [k#3:integer = 0, b#4:text = 1, d#5:double = 2]
",
    );
}

#[test]
fn what_does_not_add_up_or_can_fail_stays() {
    // Sums of doubles are rounded once; a distinct value may be in several groups.
    stays("g#6:text = b#4", "r#7:double? = sum(d#5)", "", INNER);
    stays("g#6:text = b#4", "r#7:bigint = count(distinct q#1)", "", INNER);
    // Of both sides.
    stays("g#6:text = b#4", "r#7:bigint? = sum(case when k#3 = 1 then q#1 else null end)", "", INNER);
    // The sum of two integers may leave their type, for rows that find no partner.
    stays("g#6:text = b#4", "r#7:bigint? = sum(q#1 + i#0)", "", INNER);
    // Zeros of both signs are equal, and not the same.
    stays("g#6:text = cast(d#5 as text)", "r#7:text? = max(b#4)", "", "join inner [i#0 = k#3]");
    // Without groups there is a row for no rows.
    stays("", "r#7:bigint = count(*)", "", INNER);
    stays("g#6:text? = b#4", "r#7:decimal(9,2)? = max(x#2)", "", "join full [i#0 = k#3]");
}

/// What is aggregated may be a constant of one side, which is no column any more further below: the way down stays that side's.
#[test]
fn the_way_down_is_the_one_that_was_found() {
    let before = "\
output [b = b#6, r = r#7]
  aggregate [b#6:text = b#4] [r#7:bigint? = sum(v#5)]
    join inner [i#0 = k#3]
      map [v#5:integer = 1]
        join inner [s#1 = t#2]
          scan sales t0 [i#0:integer = 0, s#1:integer = 1]
          scan store t1 [t#2:integer = 0]
      scan item t2 [k#3:integer = 0, b#4:text = 1]
";
    let mut plan = crate::testing::plan_of(before);
    EagerGroups(When::Always).run(&mut plan, &|| Ok(())).unwrap();
    plan::verify(&plan, true).unwrap();
    crate::testing::compare_results(&crate::testing::plan_of(before), &plan);
}

#[test]
fn what_functions_make_of_a_column_is_grouped_after_the_column() {
    check(
        "\
output [g = g#2]
  aggregate [g#2:text = cast(a#0 as text)] [n#3:bigint = count(*)]
    scan t t0 [a#0:integer? = 0, b#1:integer = 1]
",
        "\
output [g = g#2]
  map [n#3:bigint = coalesce(cast(combined#6 as bigint), 0::bigint)]
    aggregate [g#2:text = cast(a#4 as text)] [combined#6:decimal(38,0)? = sum(part#5)]
      aggregate [a#4:integer? = a#0] [part#5:bigint = count(*)]
        scan t t0 [a#0:integer? = 0, b#1:integer = 1]
",
    );
    // The least of equal values is their key.
    check(
        "\
output [g = g#2, r = r#3]
  aggregate [g#2:text = cast(a#0 as text)] [r#3:integer? = min(a#0), s#4:bigint? = sum(a#0)]
    scan t t0 [a#0:integer? = 0, b#1:integer = 1]
",
        "\
output [g = g#2, r = r#3]
  map [r#3:integer? = combined#6, s#4:bigint? = cast(combined#8 as bigint)]
    aggregate [g#2:text = cast(a#5 as text)] [combined#6:integer? = min(a#5), combined#8:decimal(38,0)? = sum(part#7)]
      aggregate [a#5:integer? = a#0] [part#7:bigint? = sum(a#0)]
        scan t t0 [a#0:integer? = 0, b#1:integer = 1]
",
    );
    // What may fail stays where it is.
    let plan = "\
output [g = g#2]
  aggregate [g#2:text = cast(a#0 as text)] [n#3:bigint = sum(b#1 + 1)]
    scan t t0 [a#0:integer? = 0, b#1:integer = 1]
";
    check(plan, plan);
}
