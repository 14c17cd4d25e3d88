use base::ids::Id;
use types::{SqlType, Value};

use super::{Row, RowExpr, Scope, constant, eval_in};
use crate::text::{parse, stub_table};
use crate::{ColumnId, Compare, Expr, ExprKind, Op, Plan};

/// A row without columns.
struct Nothing;

impl Scope for Nothing {
    fn column(&self, column: ColumnId) -> Value {
        unreachable!("{column} in a constant expression")
    }
}

impl Row for Nothing {
    type Place = usize;

    fn at(&self, place: usize) -> &Value {
        unreachable!("place {place} in a constant expression")
    }
}

/// The value of an expression, which is the same however it is evaluated.
fn value(expr: &str) -> base::Result<Value> {
    let plan: Plan = parse(&format!("output []\n  filter [{expr}]\n    values [] [[]]"), &mut stub_table).unwrap();
    let Op::Filter { predicates, .. } = plan.root.op else { unreachable!("a filter") };
    let value = constant(&predicates[0]);
    let of_row = RowExpr::<usize>::new(&predicates[0], &|_| None).value(&Nothing);
    assert_eq!(format!("{value:?}"), format!("{of_row:?}"), "{expr}");
    value
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

/// Integers at places.
struct Numbers(Vec<Value>);

impl Scope for Numbers {
    fn column(&self, column: ColumnId) -> Value {
        self.0[column.index()].clone()
    }
}

impl Row for Numbers {
    type Place = usize;

    fn at(&self, place: usize) -> &Value {
        &self.0[place]
    }
}

/// Integers at the ends of each type, and NULL, in every operator: a row's expression has the value and the error of the reference,
/// whether columns have places or not.
#[test]
fn expressions_over_rows_are_as_the_reference() {
    use functions::ScalarFunction as F;
    let functions = [F::ADD, F::SUBTRACT, F::MULTIPLY, F::DIVIDE, F::MODULO, F::BIT_AND];
    let compares = [
        Compare::Eq,
        Compare::Ne,
        Compare::Lt,
        Compare::Le,
        Compare::Gt,
        Compare::Ge,
        Compare::Distinct,
        Compare::NotDistinct,
    ];
    for (sql_type, most) in
        [(SqlType::SmallInt, i16::MAX.into()), (SqlType::Integer, i32::MAX.into()), (SqlType::BigInt, i64::MAX)]
    {
        let column = |at: usize| Expr::column(ColumnId::from_index(at), sql_type);
        let mut exprs: Vec<Expr> = Vec::new();
        for function in functions {
            let call = ExprKind::Call(function, vec![column(0), column(1)]);
            exprs.push(Expr { kind: call, sql_type, position: Some(7) });
        }
        let compared: Vec<Expr> = compares.iter().map(|op| Expr::compare(*op, column(0), column(1))).collect();
        exprs.push(Expr::new(ExprKind::And(compared.clone()), SqlType::Bool));
        exprs.push(Expr::new(ExprKind::Or(compared.clone()), SqlType::Bool));
        let branches = vec![(compared[2].clone(), exprs[0].clone()), (compared[4].clone(), exprs[1].clone())];
        exprs.push(Expr::new(ExprKind::Case { branches, otherwise: Box::new(column(1)) }, sql_type));
        exprs.extend(compared);
        let ends = [-most - 1, -most, -1, 0, 1, most - 1, most];
        let ends: Vec<Value> = ends.map(Value::Int).into_iter().chain([Value::Null]).collect();
        for (a, b) in ends.iter().flat_map(|a| ends.iter().map(move |b| (a.clone(), b.clone()))) {
            let row = Numbers(vec![a, b]);
            for expr in &exprs {
                let expected = format!("{:?}", eval_in(expr, &row));
                for places in [|column: ColumnId| Some(column.index()), |_| None] {
                    let ready = RowExpr::new(expr, &places);
                    assert_eq!(format!("{:?}", ready.value(&row)), expected, "{expr:?} of {:?}", row.0);
                }
            }
        }
    }
}
