use std::sync::LazyLock;

use base::Random;
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

/// A random expression of a type over the columns of [`words_are_as_the_reference`], so deep at most.
fn random_expr(random: &mut Random, sql_type: SqlType, depth: usize) -> Expr {
    use functions::ScalarFunction as F;
    let columns: Vec<usize> = (0..COLUMNS.len()).filter(|at| COLUMNS[*at] == sql_type).collect();
    let column = |at: usize| Expr::column(ColumnId::from_index(at), sql_type);
    if depth == 0 || random.index(5) == 0 {
        return match columns.as_slice() {
            [] => Expr::constant(Value::Bool(random.index(2) == 0), SqlType::Bool),
            some => column(some[random.index(some.len())]),
        };
    }
    let typed = |kind, random: &mut Random| Expr { kind, sql_type, position: Some(random.index(9) as u32) };
    if random.index(6) == 0 {
        let when = random_expr(random, SqlType::Bool, depth - 1);
        let branches = vec![(when, random_expr(random, sql_type, depth - 1))];
        let otherwise = Box::new(random_expr(random, sql_type, depth - 1));
        return typed(ExprKind::Case { branches, otherwise }, random);
    }
    match sql_type {
        SqlType::Bool => {
            let pair = |random: &mut Random| {
                vec![random_expr(random, SqlType::Bool, depth - 1), random_expr(random, SqlType::Bool, depth - 1)]
            };
            let kind = match random.index(5) {
                0 => ExprKind::And(pair(random)),
                1 => ExprKind::Or(pair(random)),
                2 => ExprKind::Not(Box::new(random_expr(random, SqlType::Bool, depth - 1))),
                3 => ExprKind::IsNull(Box::new(column_of(random))),
                _ => {
                    let of = COLUMNS[random.index(7)];
                    let op =
                        random.pick(&[Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge]);
                    let (a, b) = (random_expr(random, of, depth - 1), random_expr(random, of, depth - 1));
                    ExprKind::Compare(op, Box::new(a), Box::new(b))
                }
            };
            typed(kind, random)
        }
        SqlType::Date => column(columns[random.index(columns.len())]),
        SqlType::Integer if random.index(4) == 0 => {
            let list = Expr::column(ColumnId::from_index(LIST), COLUMNS[LIST]);
            let number = random_expr(random, SqlType::Integer, depth - 1);
            typed(ExprKind::Call(F::ARRAY_SUBSCRIPT, vec![list, number]), random)
        }
        _ if random.index(4) == 0 => {
            let from = COLUMNS[random.index(6)];
            typed(ExprKind::Cast(Box::new(random_expr(random, from, depth - 1))), random)
        }
        _ => {
            let function = random.pick(&[F::ADD, F::SUBTRACT, F::MULTIPLY]);
            let of = |random: &mut Random| match sql_type.is_decimal() {
                true => COLUMNS[random.index(6)],
                false => sql_type,
            };
            let (a, b) = (of(random), of(random));
            let operands = vec![random_expr(random, a, depth - 1), random_expr(random, b, depth - 1)];
            typed(ExprKind::Call(function, operands), random)
        }
    }
}

fn column_of(random: &mut Random) -> Expr {
    let at = random.index(COLUMNS.len());
    Expr::column(ColumnId::from_index(at), COLUMNS[at])
}

const LIST: usize = 7;

/// Of a row.
static COLUMNS: LazyLock<[SqlType; 8]> = LazyLock::new(|| {
    let decimal = SqlType::decimal;
    [
        SqlType::SmallInt,
        SqlType::Integer,
        SqlType::BigInt,
        decimal(5, 2),
        decimal(18, 4),
        decimal(30, 2),
        SqlType::Date,
        SqlType::array_of(SqlType::Integer),
    ]
});

/// What is computed in words has the values and errors of the reference: whatever fits none is computed by it.
#[test]
fn words_are_as_the_reference() {
    let mut random = Random(51);
    let mut known = 0;
    for _ in 0..4000 {
        let of = if random.index(2) == 0 { SqlType::Bool } else { COLUMNS[random.index(6)] };
        let expr = random_expr(&mut random, of, 4);
        let ready = RowExpr::new(&expr, &|column: ColumnId| Some(column.index()));
        for _ in 0..8 {
            let row = Numbers(COLUMNS.iter().map(|of| random_value(&mut random, *of)).collect());
            let expected = eval_in(&expr, &row);
            known += usize::from(expected.as_ref().is_ok_and(|value| !value.is_null()));
            assert_eq!(format!("{:?}", ready.value(&row)), format!("{expected:?}"), "{expr:?} of {:?}", row.0);
            if of == SqlType::Bool
                && let Ok(expected) = expected
            {
                assert_eq!(ready.truth(&row), Ok(super::as_bool(&expected)), "{expr:?} of {:?}", row.0);
            }
        }
    }
    assert!(known > 8000, "{known} have values");
}

fn random_value(random: &mut Random, of: SqlType) -> Value {
    if random.index(12) == 0 {
        return Value::Null;
    }
    let most = match of {
        SqlType::SmallInt => i16::MAX.into(),
        SqlType::Integer => i128::from(i32::MAX),
        SqlType::BigInt => i64::MAX.into(),
        SqlType::Decimal { precision, .. } => 10i128.pow(precision.into()) - 1,
        _ => 100,
    };
    let number = match random.index(4) {
        0 => random.pick(&[most, -most, most - 1]),
        _ => i128::from(random.below(2000)) - 1000,
    };
    let number = number.clamp(-most, most);
    match of {
        SqlType::Date => Value::Date(number as i32),
        of if of.is_integer() => Value::Int(number as i64),
        of if of.is_decimal() => Value::Decimal(number),
        _ => {
            let elements: Vec<Value> = (0..random.index(5)).map(|_| random_value(random, SqlType::Integer)).collect();
            types::ops::array::encode(&elements, SqlType::Integer).unwrap()
        }
    }
}
