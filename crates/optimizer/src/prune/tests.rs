use super::*;

#[track_caller]
fn check(before: &str, after: &str) {
    crate::testing::check(&[&Prune], before, after);
}

#[test]
fn unread_columns_joins_and_sorts_go() {
    check(
        "\
output [a = z#9]
  map [z#9:integer = a#0, y#8:integer = b#1 + 1]
    join left [a#0 = g#4]
      sort [b#1]
        scan r t0 [a#0:integer = 0, b#1:integer = 1, c#2:integer = 2]
      aggregate [g#4:integer = k#3] [n#5:bigint = count(*)]
        scan s t1 [k#3:integer = 0]
",
        "\
output [a = a#0]
  scan r t0 [a#0:integer = 0]
",
    );
}

#[test]
fn limits_move_into_sorts_and_unions() {
    check(
        "\
output [z = z#3]
  limit 3 offset 1
    map [z#3:integer = a#0 + 1]
      sort [a#0 desc] limit 10
        union all [a#0:integer] from [[b#1], [c#2]]
          scan r t0 [b#1:integer = 0]
          limit 5
            union all [c#2:integer] from [[d#4], [e#5]]
              scan s t1 [d#4:integer = 0]
              scan u t2 [e#5:integer = 0]
",
        "\
output [z = z#3]
  map [z#3:integer = a#0 + 1]
    sort [a#0 desc] limit 3 offset 1
      union all [a#0:integer] from [[b#1], [c#2]]
        scan r t0 [b#1:integer = 0]
        limit 5
          union all [c#2:integer] from [[d#4], [e#5]]
            limit 5
              scan s t1 [d#4:integer = 0]
            limit 5
              scan u t2 [e#5:integer = 0]
",
    );
}

#[test]
fn empty_inputs_empty_what_is_above() {
    check(
        "\
output [a = a#0, b = b#1, n = n#3, u = u#6]
  union all [a#0:integer, b#1:integer?, n#3:bigint, u#6:boolean?] from [[c#4, d#5, n#7, m#8], [e#9, f#10, n#11, m#12]]
    join mark m#8:boolean? [c#4 = k#13]
      join left [c#4 = d#5]
        aggregate [c#4:integer = k#14] [n#7:bigint = count(*)]
          scan s t2 [k#14:integer = 0]
        filter [false]
          scan r t0 [d#5:integer = 0]
      values [k#13:integer] []
    join inner [false]
      scan r t1 [e#9:integer = 0, f#10:integer = 1]
      map [n#11:bigint = 1::bigint, m#12:boolean = true]
        values [] [[]]
",
        "\
output [a = c#4, b = d#5, n = n#7, u = m#8]
  map [d#5:integer? = null::integer, m#8:boolean? = false]
    aggregate [c#4:integer = k#14] [n#7:bigint = count(*)]
      scan s t2 [k#14:integer = 0]
",
    );
}
