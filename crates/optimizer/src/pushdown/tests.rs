use super::*;

#[track_caller]
fn check(before: &str, after: &str) {
    crate::testing::check(&[&crate::fold::Fold, &Pushdown], before, after);
}

#[test]
fn cross_products_become_joins_and_predicates_reach_scans() {
    check(
        "\
output [a = a#0]
  filter [a#0 = b#2, c#3 = d#4, a#0 = 5, a#1 < d#5, 1 = 1]
    join inner []
      join inner []
        scan r t0 [a#0:integer = 0, a#1:integer = 1]
        scan u t1 [d#4:integer = 0, d#5:integer = 1]
      scan s t2 [b#2:integer = 0, c#3:integer = 1]
",
        "\
output [a = a#0]
  join inner [c#3 = d#4, a#1 < d#5]
    join inner [a#0 = b#2]
      scan r t0 [a#0:integer = 0, a#1:integer = 1] where [a#0 = 5]
      scan s t2 [b#2:integer = 0, c#3:integer = 1] where [b#2 = 5]
    scan u t1 [d#4:integer = 0, d#5:integer = 1]
",
    );
}

#[test]
fn each_input_learns_what_an_or_says_about_it() {
    check(
        "\
output [a = a#0]
  filter [(n#2 = 'F' and m#3 = 'G') or (n#2 = 'G' and m#3 = 'F'), a#0 = b#1]
    join inner []
      scan r t0 [a#0:integer = 0, n#2:text = 1]
      scan s t1 [b#1:integer = 0, m#3:text = 1]
",
        "\
output [a = a#0]
  join inner [n#2 = 'F' and m#3 = 'G' or n#2 = 'G' and m#3 = 'F', a#0 = b#1]
    scan r t0 [a#0:integer = 0, n#2:text = 1] where [n#2 in ('F', 'G')]
    scan s t1 [b#1:integer = 0, m#3:text = 1] where [m#3 in ('G', 'F')]
",
    );
}

#[test]
fn outer_joins_lose_padding_that_is_rejected() {
    check(
        "\
output [a = a#0]
  filter [b#1 > 3, c#2 is null]
    join left [a#0 = c#2, c#2 <> 7, a#0 <> 8]
      join full [a#0 = b#1]
        scan r t0 [a#0:integer = 0]
        scan s t1 [b#1:integer = 0]
      scan u t2 [c#2:integer = 0]
",
        "\
output [a = a#0]
  filter [c#2 is null]
    join left [a#0 = c#2, a#0 <> 8]
      join left [a#0 = b#1]
        scan s t1 [b#1:integer = 0] where [b#1 > 3]
        scan r t0 [a#0:integer = 0] where [a#0 > 3]
      scan u t2 [c#2:integer = 0] where [c#2 <> 7, c#2 <> 8]
",
    );
}

#[test]
fn predicates_pass_through_operators() {
    check(
        "\
output [g = g#3, n = n#4]
  filter [g#3 = 7, n#4 > 1::bigint]
    aggregate [g#3:integer = x#2] [n#4:bigint = count(*)]
      distinct [x#2, u#5]
        map [x#2:integer = u#5 + 1]
          union all [u#5:integer] from [[a#0], [b#1]]
            scan r t0 [a#0:integer = 0]
            limit 3
              scan s t1 [b#1:integer = 0]
",
        "\
output [g = g#3, n = n#4]
  filter [n#4 > 1::bigint]
    aggregate [g#3:integer = x#2] [n#4:bigint = count(*)]
      distinct [x#2, u#5]
        map [x#2:integer = u#5 + 1]
          union all [u#5:integer] from [[a#0], [b#1]]
            scan r t0 [a#0:integer = 0] where [a#0 + 1 = 7]
            filter [b#1 + 1 = 7]
              limit 3
                scan s t1 [b#1:integer = 0]
",
    );
}

#[test]
fn semi_and_anti_joins_pass_on_what_they_know() {
    check(
        "\
output [a = a#0]
  filter [a#0 < 5]
    join anti [a#0 = c#2, c#2 > 1]
      join semi [a#0 = b#1, a#0 <> 3]
        scan r t0 [a#0:integer = 0]
        scan s t1 [b#1:integer = 0]
      scan u t2 [c#2:integer = 0]
",
        "\
output [a = a#0]
  join anti [a#0 = c#2]
    join semi [a#0 = b#1]
      scan r t0 [a#0:integer = 0] where [a#0 < 5, a#0 <> 3]
      scan s t1 [b#1:integer = 0] where [b#1 < 5, b#1 <> 3]
    scan u t2 [c#2:integer = 0] where [c#2 > 1, c#2 < 5]
",
    );
}
