//! Random programs parse back whole: parameters, sites, sources and constants of all types. Bodies of all instructions are
//! those of `codegen/tests/random.rs`, where programs also run.

use std::sync::Arc;

use base::ids::Id;
use base::{IdMap, Random};
use functions::ScalarFunction;
use plan::{ArgumentId, TableId};
use types::ops::like::Syntax;
use types::{Chunk, ColumnBuilder, Interval, SqlType, Value};

use crate::ir::{
    Callee, Distinct, FloatOp, Function, Inst, JoinState, JoinWord, KeyFilter, KeyLookup, KeyPlace, Literal,
    LookupPart, Operation, Param, Pipeline, PipelineId, Program, RecursionState, RowField, RowLayout, RowSet, ScanOp,
    ScanPredicate, Site, SiteId, SiteKind, Source, SourceColumn, State, StateId, Step, Ty, Var, Vectors, parse,
};

/// Makes random parts of programs.
struct Generator(Random);

const TYPES: [SqlType; 19] = [
    SqlType::Bool,
    SqlType::SmallInt,
    SqlType::Integer,
    SqlType::BigInt,
    SqlType::decimal(15, 2),
    SqlType::decimal(38, 10),
    SqlType::Real,
    SqlType::Double,
    SqlType::Text,
    SqlType::Varchar(7),
    SqlType::Char(3),
    SqlType::Date,
    SqlType::Timestamp,
    SqlType::Timestamptz,
    SqlType::Time,
    SqlType::Uuid,
    SqlType::Interval,
    SqlType::Array(&SqlType::Integer),
    SqlType::Array(&SqlType::Text),
];

const TEXTS: [&str; 8] = ["", "plain", "two\nlines", "tab\tand \"quotes\"", "back\\slash", "\r\n", "ünı", "\\n @14 {"];

impl Generator {
    fn coin(&mut self) -> bool {
        self.0.one_in(2)
    }
    fn some<T>(&mut self, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.0.index(4)).map(|_| item(self)).collect()
    }

    fn float(&mut self) -> f64 {
        let any = f64::from_bits(self.0.bits());
        self.0.pick(&[any, -0.0, 1e300, 5e-324, f64::INFINITY, f64::NEG_INFINITY, f64::NAN])
    }

    fn value(&mut self, sql_type: SqlType) -> Value {
        let wide = self.0.wide();
        match sql_type {
            _ if self.0.one_in(8) => Value::Null,
            SqlType::Null => Value::Null,
            SqlType::Bool => Value::Bool(self.coin()),
            SqlType::SmallInt => Value::Int((wide as i16).into()),
            SqlType::Integer => Value::Int((wide as i32).into()),
            SqlType::BigInt => Value::Int(wide as i64),
            SqlType::Decimal { precision, .. } => Value::Decimal(wide % 10i128.pow(precision.into())),
            SqlType::Real => Value::Float((self.float() as f32).into()),
            SqlType::Double => Value::Float(self.float()),
            SqlType::Numeric { .. } => {
                Value::str(types::ops::numeric::encode(&types::ops::numeric::of_decimal(self.0.bits().into(), 4)))
            }
            SqlType::Bytea => Value::str(types::ops::bytes::form(&self.0.bits().to_le_bytes())),
            SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Json | SqlType::Jsonb => {
                Value::str(self.0.pick(&TEXTS))
            }
            SqlType::Timetz => Value::Timetz(wide as i64),
            SqlType::Map(of) => types::ops::map::encode(&[], of).unwrap(),
            SqlType::Range(&element) => {
                let lower = self.value(element);
                types::ops::range::make(&lower, &Value::Null, "[)", element).unwrap()
            }
            SqlType::Struct(of) => {
                let values: Vec<Value> = of.fields.iter().map(|field| self.value(field.sql_type)).collect();
                types::ops::structure::encode(&values, of).unwrap()
            }
            SqlType::Array(&element) => {
                let values = self.values(element);
                types::ops::array::encode(&values, element).unwrap()
            }
            SqlType::Date => Value::Date(wide as i32),
            SqlType::Enum(_) => Value::Enum(wide as i32),
            SqlType::Uuid => Value::Uuid(wide as u128),
            SqlType::Time => Value::Time(wide as i64),
            SqlType::Timestamp | SqlType::Timestamptz => Value::Timestamp(wide as i64),
            SqlType::Interval => Value::Interval(Interval {
                months: wide as i32,
                days: self.0.bits() as i32,
                micros: self.0.bits() as i64,
            }),
        }
    }

    fn values(&mut self, sql_type: SqlType) -> Vec<Value> {
        self.some(|r| r.value(sql_type))
    }

    fn param(&mut self) -> Param {
        let sql_type = self.0.pick(&TYPES);
        match self.0.index(4) {
            0 => Param::Value(self.value(sql_type), sql_type),
            3 => Param::Argument(ArgumentId::from_index(self.0.index(5)), self.value(sql_type), sql_type),
            1 => Param::Set(self.values(sql_type), sql_type),
            _ => {
                let syntax = self.syntax();
                Param::Like { pattern: self.0.pick(&TEXTS).into(), syntax }
            }
        }
    }

    fn syntax(&mut self) -> Syntax {
        let escape = self.0.pick(&[None, Some('\\'), Some('"'), Some('\n'), Some('!')]);
        let fold = self.coin();
        if self.coin() { Syntax::Regex { fold } } else { Syntax::Like { escape, fold } }
    }

    fn site(&mut self) -> Site {
        let all: Vec<_> = ScalarFunction::all().collect();
        let kind = match self.0.index(4) {
            3 => SiteKind::Elements,
            0 => SiteKind::Scalar(self.0.pick(&all)),
            1 => SiteKind::Cast(self.coin()),
            _ => SiteKind::Like { syntax: self.syntax() },
        };
        Site { kind, arguments: self.some(|r| r.0.pick(&TYPES)), result: self.0.pick(&TYPES) }
    }

    fn predicate(&mut self) -> ScanPredicate {
        let sql_type = self.0.pick(&TYPES);
        let constant = [ScanOp::Eq, ScanOp::Ne, ScanOp::Lt, ScanOp::Le, ScanOp::Gt, ScanOp::Ge];
        let op = match self.0.index(10) {
            i if i < constant.len() => constant[i](self.value(sql_type)),
            6 => ScanOp::In(self.values(sql_type)),
            7 => ScanOp::Prefix(self.0.pick(&TEXTS).into()),
            8 => {
                let (syntax, negated) = (self.syntax(), self.coin());
                ScanOp::Like { pattern: self.0.pick(&TEXTS).into(), syntax, negated }
            }
            _ => self.0.pick(&[ScanOp::IsNull, ScanOp::IsNotNull]),
        };
        let arguments = if self.coin() { self.some(|r| ArgumentId::from_index(r.0.index(5))) } else { Vec::new() };
        ScanPredicate { attribute: self.0.index(20), op, arguments }
    }

    fn source(&mut self) -> Source {
        match self.0.index(3) {
            0 => {
                let column = |r: &mut Self| SourceColumn {
                    attribute: r.0.index(9),
                    sql_type: r.0.pick(&TYPES),
                    nullable: r.coin(),
                    is_length: r.coin(),
                    bounds: r.coin().then(|| (-(r.0.index(9) as i128), i128::MAX >> r.0.index(99))),
                };
                let (columns, predicates) = (self.some(column), self.some(Self::predicate));
                let filters = self.some(|r| KeyFilter { attribute: r.0.index(9), state: StateId(r.0.index(4) as u32) });
                let lookup = |r: &mut Self| {
                    let part = |r: &mut Self| {
                        let null = r.coin().then(|| r.0.index(9) as u32);
                        let field =
                            KeyPlace::Field { offset: r.0.index(99) as u32, ty: r.0.pick(&[Ty::I64, Ty::Str]), null };
                        LookupPart { attribute: r.0.index(9), place: if r.coin() { KeyPlace::Word } else { field } }
                    };
                    KeyLookup { state: StateId(r.0.index(4) as u32), parts: r.some(part) }
                };
                let lookups = self.some(lookup);
                let (table, codes) = (TableId(self.0.index(3) as u32), self.some(|r| r.0.index(9)));
                Source::Table { table, columns, predicates, filters, lookups, codes }
            }
            1 => {
                let (rows, types) = (self.0.index(4), self.some(|r| r.0.pick(&TYPES)));
                let columns = types.into_iter().map(|t| {
                    let mut column = ColumnBuilder::new(t, rows);
                    (0..rows).for_each(|_| column.push_value(&self.value(t)));
                    column.finish()
                });
                Source::Values(Arc::new(Chunk::new(rows, columns.collect())))
            }
            _ => {
                let rows = self.0.pick(&[RowSet::All, RowSet::Marked(17), RowSet::Unmarked(3), RowSet::Round]);
                Source::Rows { state: StateId::from_index(self.0.index(3)), rows }
            }
        }
    }

    fn vectors(&mut self) -> Vectors {
        let mut vars = IdMap::new();
        let (x, y, z) = (vars.push(Ty::F64), vars.push(Ty::Bool), vars.push(Ty::F64));
        let position = self.coin().then(|| self.0.bits() as u32);
        let steps = vec![
            Step { var: x, op: Operation::Column(self.0.index(9) as u32, Ty::F64), only_if: None },
            Step { var: y, op: Operation::ColumnNull(self.0.index(9) as u32), only_if: None },
            Step { var: z, op: Operation::Float(FloatOp::Div, x, x, position), only_if: self.coin().then_some(y) },
        ];
        let columns = self.some(|r| (r.0.pick(&[x, z]), r.coin().then_some(y)));
        Vectors { vars, steps, filter: self.coin().then_some(y), columns }
    }

    fn pipeline(&mut self) -> Pipeline {
        let (mut body, mut vars) = (Vec::new(), IdMap::new());
        for _ in 0..self.0.index(6) {
            let ty = self.0.pick(&[Ty::Bool, Ty::I16, Ty::I32, Ty::I64, Ty::I128, Ty::F32, Ty::F64, Ty::Str]);
            let literal = match ty {
                Ty::Bool => Literal::Bool(self.coin()),
                Ty::F32 | Ty::F64 => Literal::Float(self.float(), ty),
                Ty::Str => Literal::EmptyStr,
                _ => Literal::Int(self.0.wide(), ty),
            };
            let var = vars.push(ty);
            body.push(Inst::Let { var, op: Operation::Const(literal) });
            let position = self.coin().then(|| self.0.bits() as u32);
            let (results, args) = (vec![vars.push(ty), vars.push(Ty::Bool)], self.some(|_| var));
            let callee = Callee::Site(SiteId::from_index(self.0.index(5)));
            body.push(Inst::Call { results, callee, args, position });
        }
        Pipeline {
            name: self.0.pick(&TEXTS).to_owned(),
            source: self.source(),
            vectors: self.coin().then(|| self.vectors()),
            body,
            vars,
            after: self.some(|r| PipelineId::from_index(r.0.index(9))),
            fills: self.some(|r| StateId::from_index(r.0.index(9))),
            rounds: self.coin().then(|| StateId::from_index(self.0.index(9))),
            operator: self.coin().then(|| self.0.index(9) as u32),
        }
    }

    fn program(&mut self) -> Program {
        let field = |r: &mut Self| RowField {
            offset: r.0.index(99) as u32,
            ty: r.0.pick(&[Ty::Ptr, Ty::I128, Ty::Interval]),
            null: r.coin().then(|| r.0.index(9) as u32),
            kept: r.coin(),
        };
        let mut states = IdMap::new();
        states.push(State::Rows(RowLayout { fields: self.some(field), size: 104 }));
        states.push(State::Limit { offset: self.0.bits(), limit: self.0.bits() });
        states.push(State::Result(self.some(|r| r.0.pick(&TYPES))));
        let (null, until) = (self.coin().then_some(9), self.coin().then_some(16));
        let word = self.0.pick(&[JoinWord::Hash, JoinWord::Key { null }, JoinWord::Range { null, until }]);
        let layout = RowLayout { fields: self.some(field), size: 24 };
        states.push(State::Join(JoinState { layout, unique: self.coin(), word, filters: self.coin() }));
        let vars = || [Ty::Ptr, Ty::Ptr].into_iter().collect();
        let function = || Function { rows: [Var(0), Var(1)], body: Vec::new(), result: None, vars: vars() };
        let distinct = self.coin().then(|| Distinct { equal: None, combine: function() });
        let renewed = self.some(|r| StateId::from_index(r.0.index(9)));
        let layout = RowLayout { fields: self.some(field), size: 24 };
        let domains = self.some(|r| (-(r.0.index(9) as i64), r.0.index(9) as i64));
        states.push(State::Recursion(RecursionState { layout, distinct, domains, kept: self.coin(), renewed }));
        Program {
            params: self.some(Self::param).into_iter().collect(),
            sites: self.some(Self::site).into_iter().collect(),
            states,
            pipelines: self.some(Self::pipeline).into_iter().collect(),
            result: StateId::from_index(2),
            ordered: self.coin(),
            counters: self.some(|r| r.0.pick(&TEXTS).to_owned()),
            positions: self.some(|r| r.0.bits() as u32),
        }
    }
}

/// What Debug shows, rows of VALUES as values. NaN is not equal to itself, but looks alike.
fn shown(program: &Program) -> Vec<String> {
    let Program { params, sites, states, pipelines, result, ordered, counters, positions } = program;
    let mut all = vec![format!("{params:?} {sites:?} {states:?} {result:?} {ordered} {counters:?} {positions:?}")];
    for Pipeline { name, source, body, vars, after, fills, rounds, operator, vectors } in pipelines.values() {
        all.push(format!("{name:?} {body:?} {vars:?} {after:?} {fills:?} {rounds:?} {operator:?} {vectors:?}"));
        all.push(match source {
            Source::Values(chunk) => {
                let types: Vec<_> = chunk.columns().iter().map(|c| c.sql_type()).collect();
                let rows: Vec<_> = (0..chunk.rows()).map(|row| chunk.row(row)).collect();
                format!("{types:?} {rows:?}")
            }
            source => format!("{source:?}"),
        });
    }
    all
}

#[test]
fn random_programs_parse_back() {
    for seed in 0..1000 {
        let program = Generator(Random(seed)).program();
        let text = program.to_string();
        let parsed = parse(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        assert_eq!(parsed.to_string(), text, "seed {seed}");
        assert_eq!(shown(&parsed), shown(&program), "seed {seed}\n{text}");
    }
}

#[test]
fn errors_say_where() {
    let error = parse("program result s0\nparam $0 value \"integer\" nonsense 1").unwrap_err();
    assert!(error.to_string().contains("line 2"), "{error}");
    assert!(parse("").is_err());
}
