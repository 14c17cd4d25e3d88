//! Orders of queries in the manner of TPC-H, and how long planning takes.

use plan::text::print;
use plan::{JoinKind, Node, Op, Plan};

use super::cost::{Cmm, CostModel, Hashing};
use super::search::{Enumerator, Exhaustive, Greedy};
use super::{JoinOrder, KnownRows};
use crate::Pass;
use crate::build_side::BuildSides;
use crate::cardinality::synthetic::plan_over;
use crate::testing::{compare_results, plan_of};

/// The joins as nested pairs of tables: probe side, kind, build side.
fn shape(plan: &Plan, node: &Node) -> String {
    match &node.op {
        Op::Scan { table, .. } => plan.tables[*table].name.clone(),
        Op::Join { kind, left, right, build, .. } => {
            let mark = match (kind, build) {
                (JoinKind::Inner, _) => "*",
                (JoinKind::Semi, plan::BuildSide::Right) => "semi",
                (JoinKind::Semi, plan::BuildSide::Left) => "semi<",
                (JoinKind::Anti, plan::BuildSide::Right) => "anti",
                (JoinKind::Anti, plan::BuildSide::Left) => "anti<",
                (JoinKind::Left, plan::BuildSide::Right) => "left",
                (JoinKind::Left, plan::BuildSide::Left) => "left<",
                _ => "?",
            };
            format!("({} {mark} {})", shape(plan, left), shape(plan, right))
        }
        _ => node.inputs().map(|n| shape(plan, n)).collect(),
    }
}

fn ordered(text: &str) -> Plan {
    let mut plan = plan_over(text, true);
    JoinOrder::default().run(&mut plan, &|| Ok(())).unwrap();
    BuildSides { costs: &Hashing }.run(&mut plan, &|| Ok(())).unwrap();
    plan::verify(&plan, true).unwrap_or_else(|e| panic!("{e}\n{}", print(&plan)));
    plan
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let plan = ordered(text);
    assert!(shape(&plan, &plan.root) == expected, "{}\n{plan}", shape(&plan, &plan.root));
    let searches: [(Box<dyn Enumerator>, &'static dyn CostModel); 2] =
        [(Box::new(Greedy), &Hashing), (Box::new(Exhaustive::default()), &Cmm)];
    for (search, costs) in searches {
        let mut plan = plan_over(text, true);
        JoinOrder { search, costs, ..JoinOrder::default() }.run(&mut plan, &|| Ok(())).unwrap();
        compare_results(&plan_of(text), &plan);
    }
}

const Q5: &str = "output [n = n#8]
  join inner [rn#9 = r#10]
    join inner [sn#7 = n#8]
      join inner [ls#5 = s#6, cn#1 = sn#7]
        join inner [lo#4 = o#2]
          join inner [c#0 = oc#3]
            scan customer t0 [c#0:bigint = 0, cn#1:bigint = 1]
            scan orders t1 [o#2:bigint = 0, oc#3:bigint = 1, od#11:bigint = 2] where [od#11 < 365::bigint]
          scan lineitem t2 [lo#4:bigint = 0, ls#5:bigint = 2]
        scan supplier t3 [s#6:bigint = 0, sn#7:bigint = 1]
      scan nation t4 [n#8:bigint = 0, rn#9:bigint = 1]
    scan region t5 [r#10:bigint = 0] where [r#10 = 2::bigint]
";

const Q21: &str = "output [s = s#0]
  join anti [lo#3 = x#10, ls#4 <> y#11]
    join semi [lo#3 = a#8, ls#4 <> b#9]
      join inner [sn#1 = n#2]
        join inner [o#6 = lo#3]
          join inner [s#0 = ls#4]
            scan supplier t0 [s#0:bigint = 0, sn#1:bigint = 1]
            scan lineitem t1 [lo#3:bigint = 0, ls#4:bigint = 2, ss#12:bigint = 3, sr#13:bigint = 4] where [ss#12 + 15::bigint < sr#13]
          scan orders t2 [o#6:bigint = 0, p#7:bigint = 3] where [p#7 = 1::bigint]
        scan nation t3 [n#2:bigint = 0, nr#14:bigint = 1] where [n#2 = 7::bigint]
      scan lineitem t4 [a#8:bigint = 0, b#9:bigint = 2]
    scan lineitem t5 [x#10:bigint = 0, y#11:bigint = 2, xs#15:bigint = 3, xr#16:bigint = 4] where [xs#15 + 15::bigint < xr#16]
";

#[test]
fn q5_probes_with_the_largest_table() {
    check(Q5, "((lineitem * (orders * (customer * (nation * region)))) * supplier)");
}

#[test]
fn q21_tests_existence_late_and_marks() {
    check(Q21, "((orders * ((lineitem * (supplier * nation)) anti< lineitem)) semi< lineitem)");
}

#[test]
fn q4_builds_on_the_left_side() {
    check(
        "output [p = p#3]
  aggregate [p#3:bigint = p#1] [n#4:bigint = count(*)]
    join semi [o#0 = l#2]
      scan orders t0 [o#0:bigint = 0, p#1:bigint = 3, d#5:bigint = 2] where [d#5 < 90::bigint]
      scan lineitem t1 [l#2:bigint = 0]
",
        "(orders semi< lineitem)",
    );
}

#[test]
fn selective_semi_joins_move_down() {
    check(
        "output [c = c#0]
  join semi [o#1 = x#5]
    join inner [o#1 = l#3]
      join inner [c#0 = oc#2]
        scan customer t0 [c#0:bigint = 0]
        scan orders t1 [o#1:bigint = 0, oc#2:bigint = 1]
      scan lineitem t2 [l#3:bigint = 0, lp#4:bigint = 1]
    aggregate [x#5:bigint = y#6] []
      scan lineitem t3 [y#6:bigint = 0, z#7:bigint = 1] where [z#7 = 7::bigint]
",
        "(lineitem * (customer * (orders semi lineitem)))",
    );
}

#[test]
fn outer_joins_extend_what_they_need() {
    check(
        "output [c = c#0, d = d#4]
  filter [d#4 is null or d#4 < n#7]
    join inner [cn#1 = n#7]
      join left [oc#3 = c#0, d#4 < 2::bigint]
        scan customer t0 [c#0:bigint = 0, cn#1:bigint = 1]
        scan orders t1 [o#2:bigint = 0, oc#3:bigint = 1, d#4:bigint = 2]
      scan nation t2 [n#7:bigint = 0]
",
        "((customer left< orders) * nation)",
    );
}

#[test]
fn derived_equalities_count_once() {
    // a = b and b = c: any two may be joined first, and the third equality is implied.
    let plan = ordered(
        "output [p = p#0]
  join inner [ps#2 = l#1]
    join inner [p#0 = l#1]
      scan part t0 [p#0:bigint = 0, k#3:bigint = 1] where [k#3 = 5::bigint]
      scan lineitem t1 [l#1:bigint = 1]
    scan partsupp t2 [ps#2:bigint = 0]
",
    );
    assert_eq!(shape(&plan, &plan.root), "(lineitem * (partsupp * part))");
    assert!((1e5..2e6).contains(&plan.root.rows), "{plan}");
}

#[test]
fn known_sizes_have_the_last_word() {
    // Said to be huge, the join that came first is avoided.
    let mut known = KnownRows::default();
    known.insert(["region", "nation"], 1e12);
    let mut plan = plan_over(Q5, true);
    JoinOrder { known, ..JoinOrder::default() }.run(&mut plan, &|| Ok(())).unwrap();
    let shape = shape(&plan, &plan.root);
    assert!(!shape.contains("(nation * region)"), "{shape}");
    compare_results(&plan_of(Q5), &plan);
}

#[test]
fn c_mm_counts_the_rows_of_joins_only() {
    let mut plan = plan_over(Q5, true);
    JoinOrder { costs: &Cmm, ..JoinOrder::default() }.run(&mut plan, &|| Ok(())).unwrap();
    assert!(shape(&plan, &plan.root).contains("(nation * region)"), "{}", shape(&plan, &plan.root));
}

#[test]
fn planning_looks_at_each_operator_a_few_times() {
    for text in [Q5, Q21] {
        let looked = std::cell::Cell::new(0);
        let count = || {
            looked.set(looked.get() + 1);
            Ok(())
        };
        let mut plan = plan_over(text, true);
        let mut operators = 0;
        plan.root.walk(&mut |_| operators += 1);
        JoinOrder::default().run(&mut plan, &count).unwrap();
        assert!(looked.get() <= operators, "{} times for {operators} operators", looked.get());
    }
}
