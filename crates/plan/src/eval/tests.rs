use types::Value;

use super::constant;
use crate::text::{parse, stub_table};
use crate::{Op, Plan};

fn value(expr: &str) -> base::Result<Value> {
    let plan: Plan = parse(&format!("output []\n  filter [{expr}]\n    values [] [[]]"), &mut stub_table).unwrap();
    let Op::Filter { predicates, .. } = plan.root.op else { unreachable!("a filter") };
    constant(&predicates[0])
}

#[test]
fn logic_is_three_valued_and_lazy() {
    for (expr, expected) in [
        ("null::boolean and false", Value::Bool(false)),
        ("null::boolean and true", Value::Null),
        ("null::boolean or true", Value::Bool(true)),
        ("false and 1 / 0 = 1", Value::Bool(false)),
        ("true or 1 / 0 = 1", Value::Bool(true)),
        ("not null::boolean", Value::Null),
        ("null::integer = 1", Value::Null),
        ("null::integer is not distinct from null::integer", Value::Bool(true)),
        ("case when null::boolean then 1 / 0 else 7 end", Value::Int(7)),
        ("coalesce(null::integer, 3, 1 / 0)", Value::Int(3)),
        ("3 in (1, 3)", Value::Bool(true)),
        ("null::integer in (1, 3)", Value::Null),
        ("'forest green' like '%green%'", Value::Bool(true)),
        ("try_cast('x' as integer)", Value::Null),
    ] {
        assert_eq!(value(expr), Ok(expected), "{expr}");
    }
}

#[test]
fn functions_follow_their_types() {
    for (expr, expected) in [
        ("7 / 2", Value::Int(3)),
        ("(1.50::decimal(15,2) * 2.00::decimal(15,2))::decimal(30,4)", Value::Decimal(30000)),
        ("(1::decimal(1,0) / 3::decimal(1,0))::decimal(38,6)", Value::Decimal(333_333)),
        ("'1995-01-31'::date + 1", Value::Date(9162)),
        ("extract('year', '1995-06-17'::date)::bigint", Value::Int(1995)),
        ("cast('1995-06-17' as date) - '1995-06-16'::date", Value::Int(1)),
        ("substring('MorselDB', 1, 6)", Value::str("Morsel")),
        ("greatest(1, null::integer, 3)", Value::Int(3)),
        ("sqrt(4.0)", Value::Float(2.0)),
    ] {
        let found = value(expr);
        assert_eq!(found.as_ref().map(|v| format!("{v:?}")).ok(), Some(format!("{expected:?}")), "{expr}: {found:?}");
    }
    assert_eq!(value("1 / 0").unwrap_err().state().0, "22012");
    assert_eq!(value("2147483647 + 1").unwrap_err().state().0, "22003");
}
