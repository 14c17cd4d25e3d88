//! Random programs.

mod build;
mod folds;

use std::sync::Arc;

use base::{IdMap, Random, SqlState};
use pipeline::ir::{
    Arithmetic, Block, Callee, Compare, Conversion, FloatFunction, FloatOp, Function, GroupState, Inst, JoinState,
    Literal, Logic, Match, MatchCondition, MatchKind, Operation, Param, ParamId, Pipeline, Program, RowLayout, RowSet,
    Source, State, StateId, Ty, Var,
};
use types::ops::date::Field;
use types::{Chunk, ColumnBuilder, Interval, SqlType, Value};

const TYPES: [SqlType; 10] = [
    SqlType::Bool,
    SqlType::SmallInt,
    SqlType::Integer,
    SqlType::BigInt,
    SqlType::Decimal { precision: 30, scale: 2 },
    SqlType::Real,
    SqlType::Double,
    SqlType::Text,
    SqlType::Interval,
    SqlType::BigInt,
];
const ALL: [Ty; 9] = [Ty::Bool, Ty::I16, Ty::I32, Ty::I64, Ty::I128, Ty::F32, Ty::F64, Ty::Str, Ty::Interval];
const INTEGERS: [Ty; 4] = [Ty::I16, Ty::I32, Ty::I64, Ty::I128];

fn sql_type(ty: Ty) -> SqlType {
    *TYPES.iter().find(|t| Ty::from(t.physical()) == ty).expect("every type that values have")
}

/// A value of a type; `wild`: at the edges, too.
pub fn value(r: &mut Random, sql_type: SqlType, wild: bool) -> Value {
    let small = r.index(12) as i64 - 5;
    let edge = wild && r.chance(20);
    match sql_type {
        SqlType::Bool => Value::Bool(small & 1 == 0),
        SqlType::SmallInt => Value::Int(if edge { r.pick(&[i16::MIN, i16::MAX]).into() } else { small }),
        SqlType::Integer => Value::Int(if edge { r.pick(&[i32::MIN, i32::MAX]).into() } else { small }),
        SqlType::BigInt => Value::Int(if edge { r.pick(&[i64::MIN, i64::MAX]) } else { small }),
        SqlType::Decimal { .. } => {
            Value::Decimal(if edge { r.pick(&[i128::MIN, i128::MAX, 1 << 64]) } else { small.into() })
        }
        SqlType::Real => Value::Float(if edge {
            f64::from(r.pick(&[f32::NAN, -0.0, f32::MAX, f32::INFINITY]))
        } else {
            small as f64 / 2.0
        }),
        SqlType::Double => Value::Float(if edge {
            r.pick(&[f64::NAN, -0.0, f64::MAX, f64::INFINITY, 1e300])
        } else {
            small as f64 / 2.0
        }),
        SqlType::Interval => Value::Interval(Interval {
            months: small as i32,
            days: if edge { 30 } else { r.index(3) as i32 * 30 },
            micros: if edge { i64::MIN } else { 0 },
        }),
        _ => Value::str(
            [
                "",
                "a",
                "b",
                "abcd",
                "abce",
                "abcdefghijkl",
                "abcdefghijklm",
                "abcdefghijklmnop",
                "abcdefghijklmnoq",
                "ab",
            ][r.index(10)],
        ),
    }
}

pub fn chunk(r: &mut Random, types: &[SqlType], rows: usize, wild: bool) -> Chunk {
    let column = |&t: &SqlType| {
        let mut b = ColumnBuilder::new(t, rows);
        let nullable = r.chance(40);
        for _ in 0..rows {
            b.push_value(&if nullable && r.chance(15) { Value::Null } else { value(r, t, wild) });
        }
        b.finish()
    };
    Chunk::new(rows, types.iter().map(column).collect())
}

/// What a body under construction may refer to.
struct Body<'r> {
    r: &'r mut Random,
    vars: IdMap<Var, Ty>,
    visible: Vec<Var>,
    columns: Vec<SqlType>,
    params: Vec<(ParamId, Ty)>,
    /// (pointer, fields that may be loaded, whether stable)
    rows: Vec<(Var, RowLayout, bool)>,
}

impl<'r> Body<'r> {
    fn fresh(&mut self, ty: Ty) -> Var {
        self.vars.push(ty)
    }
    fn let_(&mut self, out: &mut Block, ty: Ty, op: Operation) -> Var {
        let var = self.fresh(ty);
        out.push(Inst::Let { var, op });
        self.visible.push(var);
        var
    }
    fn of_type(&mut self, out: &mut Block, ty: Ty) -> Var {
        let known: Vec<Var> = self.visible.iter().copied().filter(|&v| self.vars[v] == ty).collect();
        if !known.is_empty() && self.r.chance(90) {
            return self.r.pick(&known);
        }
        let literal = match ty {
            Ty::Bool => Literal::Bool(self.r.chance(50)),
            Ty::Str => Literal::EmptyStr,
            Ty::Interval => Literal::ZeroInterval,
            Ty::Ptr => Literal::NullPtr,
            Ty::F32 | Ty::F64 => Literal::Float(self.r.index(5) as f64 - 2.0, ty),
            _ => Literal::Int(self.r.index(5) as i128 - 2, ty),
        };
        self.let_(out, ty, Operation::Const(literal))
    }

    /// Adds an operation on bits, and one on Bools, which it gives.
    fn logic(&mut self, out: &mut Block) -> Var {
        let kind = self.r.pick(&[Logic::And, Logic::Or, Logic::Xor]);
        let bits = self.r.pick(&[Ty::I16, Ty::I32, Ty::I64, Ty::I128]);
        let mut both = |ty| {
            let (x, y) = (self.of_type(out, ty), self.of_type(out, ty));
            self.let_(out, ty, Operation::Logic(kind, x, y))
        };
        both(bits);
        both(Ty::Bool)
    }

    /// Adds something random.
    fn step(&mut self, out: &mut Block, depth: usize) {
        let position = self.r.chance(50).then(|| self.r.index(50) as u32);
        let ty = self.r.pick(&ALL);
        match self.r.index(20) {
            0..=2 if !self.columns.is_empty() => {
                let i = self.r.index(self.columns.len());
                let ty = self.columns[i].physical().into();
                self.let_(out, ty, Operation::Column(i as u32, ty));
                self.let_(out, Ty::Bool, Operation::ColumnNull(i as u32));
            }
            0..=3 if !self.rows.is_empty() => {
                let i = self.r.index(self.rows.len());
                let (base, layout, stable) = self.rows[i].clone();
                if !self.visible.contains(&base) {
                    return;
                }
                let f = self.r.index(layout.fields.len());
                let field = &layout.fields[f];
                self.let_(out, field.ty, Operation::Load { base, offset: field.offset, ty: field.ty, stable });
            }
            4 if !self.params.is_empty() => {
                let i = self.r.index(self.params.len());
                let (id, ty) = self.params[i];
                self.let_(out, ty, Operation::Param(id, ty));
            }
            5 => {
                let ty = self.r.pick(&INTEGERS);
                let (x, y) = (self.of_type(out, ty), self.of_type(out, ty));
                let kind = self.r.pick(&[Arithmetic::Add, Arithmetic::Sub, Arithmetic::Mul]);
                self.let_(out, ty, Operation::Checked(kind, x, y, position));
            }
            6 => {
                let ty = self.r.pick(&INTEGERS);
                let (x, y) = (self.of_type(out, ty), self.of_type(out, ty));
                let kind = self.r.pick(&[Arithmetic::Add, Arithmetic::Sub, Arithmetic::Mul]);
                self.let_(out, ty, Operation::Wrapping(kind, x, y));
            }
            7 => {
                let ty = self.r.pick(&INTEGERS[..3]);
                let (x, y) = (self.of_type(out, ty), self.of_type(out, ty));
                let zero = self.let_(out, ty, Operation::Const(Literal::Int(0, ty)));
                let is_zero = self.let_(out, Ty::Bool, Operation::Compare(Compare::Eq, y, zero));
                let one = self.let_(out, ty, Operation::Const(Literal::Int(1, ty)));
                let y = self.let_(out, ty, Operation::Select(is_zero, one, y));
                let op = if self.r.chance(50) {
                    Operation::Divide(x, y, position)
                } else {
                    Operation::Remainder(x, y, position)
                };
                self.let_(out, ty, op);
            }
            8 => {
                let ty = self.r.pick(&[Ty::F32, Ty::F64]);
                let (x, y) = (self.of_type(out, ty), self.of_type(out, ty));
                let kind = self.r.pick(&[FloatOp::Add, FloatOp::Sub, FloatOp::Mul, FloatOp::Div]);
                self.let_(out, ty, Operation::Float(kind, x, y, position));
                let function = self.r.pick(&FloatFunction::ALL);
                self.let_(out, ty, Operation::FloatFunction(function, x));
            }
            9..=11 => {
                let (x, y) = (self.of_type(out, ty), self.of_type(out, ty));
                let how = self.r.pick(&[
                    Compare::Eq,
                    Compare::Ne,
                    Compare::Lt,
                    Compare::Le,
                    Compare::Gt,
                    Compare::Ge,
                    Compare::Before,
                ]);
                self.let_(out, Ty::Bool, Operation::Compare(how, x, y));
            }
            12 => {
                let not = self.logic(out);
                self.let_(out, Ty::Bool, Operation::Not(not));
            }
            13 => {
                let c = self.of_type(out, Ty::Bool);
                let (x, y) = (self.of_type(out, ty), self.of_type(out, ty));
                self.let_(out, ty, Operation::Select(c, x, y));
            }
            14 => self.convert(out, position),
            15 => {
                let n = 1 + self.r.index(3);
                let mut values = Vec::new();
                for _ in 0..n {
                    let ty = self.r.pick(&ALL);
                    let v = self.of_type(out, ty);
                    values.push((v, self.r.chance(40).then(|| self.of_type(out, Ty::Bool))));
                }
                self.let_(out, Ty::I64, Operation::Hash(values));
            }
            16 => {
                let (day, year) = (self.of_type(out, Ty::I32), self.fresh(Ty::I64));
                let callee = Callee::ExtractDate(Field::Year);
                out.push(Inst::Call { results: vec![year], callee, args: vec![day], position });
                self.visible.push(year);
                let (x, y) = (self.of_type(out, Ty::Str), self.of_type(out, Ty::Str));
                let both = self.fresh(Ty::Str);
                out.push(Inst::Call { results: vec![both], callee: Callee::Concat(2), args: vec![x, y], position });
                self.visible.push(both);
            }
            17..=18 if depth < 3 => {
                let condition = self.of_type(out, Ty::Bool);
                let results: Vec<Ty> = (0..self.r.index(3)).map(|_| self.r.pick(&ALL)).collect();
                let branch = |this: &mut Self| {
                    let mark = this.visible.len();
                    let mut block = Block::new();
                    for _ in 0..this.r.index(5) {
                        this.step(&mut block, depth + 1);
                    }
                    let values: Vec<Var> = results.iter().map(|&t| this.of_type(&mut block, t)).collect();
                    if this.r.chance(3) {
                        block.push(Inst::Raise { state: SqlState::INVALID_ARGUMENT, message: "raised", position });
                    }
                    this.visible.truncate(mark);
                    (block, values)
                };
                let (then, a) = branch(self);
                let (otherwise, b) = branch(self);
                let outs: Vec<Var> = results.iter().map(|&t| self.fresh(t)).collect();
                let results = outs.iter().zip(a).zip(b).map(|((&r, a), b)| (r, a, b)).collect();
                out.push(Inst::If { condition, then, otherwise, results });
                self.visible.extend(outs);
            }
            _ => {
                let p = self.of_type(out, Ty::Ptr);
                self.let_(out, Ty::Bool, Operation::IsNullPtr(p));
            }
        }
    }

    fn convert(&mut self, out: &mut Block, position: Option<u32>) {
        let (i, j) = (self.r.index(4), self.r.index(4));
        let (narrow, wide) = (INTEGERS[i.min(j)], INTEGERS[i.max(j)]);
        let float = self.r.pick(&[Ty::F32, Ty::F64]);
        let (kind, from, to) = match self.r.index(7) {
            0 => (Conversion::Widen, narrow, wide),
            1 => (Conversion::Narrow, wide, narrow),
            2 => (Conversion::Cut, wide, narrow),
            3 => (Conversion::IntToFloat, narrow, float),
            4 => (Conversion::FloatToInt, float, wide),
            5 => (Conversion::FloatToFloat, float, self.r.pick(&[Ty::F32, Ty::F64])),
            _ => (Conversion::BoolToInt, Ty::Bool, wide),
        };
        let x = self.of_type(out, from);
        self.let_(out, to, Operation::Convert(kind, x, to, position));
    }

    fn steps(&mut self, out: &mut Block, n: usize) {
        for _ in 0..n {
            self.step(out, 0);
        }
    }

    fn maybe_filter(&mut self, out: &mut Block) {
        if self.r.chance(40) {
            let (a, b) = (self.of_type(out, Ty::Bool), self.of_type(out, Ty::Bool));
            let some = self.let_(out, Ty::Bool, Operation::Logic(Logic::Or, a, b));
            out.push(Inst::Filter(some));
        }
    }

    /// A hash of small integers, so that there are matches.
    fn key(&mut self, out: &mut Block) -> (Var, Var) {
        let x = self.of_type(out, Ty::I64);
        (x, self.let_(out, Ty::I64, Operation::Hash(vec![(x, None)])))
    }

    fn a_match(&mut self, out: &mut Block, state: StateId, join: &JoinState, with_conditions: bool) {
        let (key, hash) = self.key(out);
        let active = self.r.chance(30).then(|| self.of_type(out, Ty::Bool));
        let entry = self.fresh(Ty::Ptr);
        let kind = match self.r.index(6) {
            0 => MatchKind::Inner,
            1 => MatchKind::Left,
            2 => MatchKind::Semi,
            3 => MatchKind::Anti,
            4 => MatchKind::Mark { is_true: self.fresh(Ty::Bool), is_null: self.fresh(Ty::Bool) },
            _ if join.unique => MatchKind::Single { position: Some(3) },
            _ => MatchKind::Inner,
        };
        let mark = self.visible.len();
        let rows = self.rows.len();
        let condition = with_conditions.then(|| {
            let mut block = Block::new();
            self.visible.push(entry);
            self.rows.push((entry, join.layout.clone(), true));
            let field = &join.layout.fields[0];
            let load = Operation::Load { base: entry, offset: field.offset, ty: field.ty, stable: true };
            let theirs = self.let_(&mut block, field.ty, load);
            let mut is_true = self.let_(&mut block, Ty::Bool, Operation::Compare(Compare::Eq, key, theirs));
            if self.r.chance(60) {
                for _ in 0..self.r.index(4) {
                    self.step(&mut block, 1);
                }
                let more = self.of_type(&mut block, Ty::Bool);
                is_true = self.let_(&mut block, Ty::Bool, Operation::Logic(Logic::And, is_true, more));
            }
            let is_null = matches!(kind, MatchKind::Mark { .. }).then(|| self.of_type(&mut block, Ty::Bool));
            self.visible.truncate(mark);
            self.rows.truncate(rows);
            MatchCondition { block, is_true, is_null }
        });
        let marker = self.r.chance(40).then_some(join.layout.fields.last().expect("fields").offset);
        out.push(Inst::Match(Box::new(Match {
            state,
            kind: kind.clone(),
            hash,
            until: None,
            active,
            entry,
            condition,
            marker,
        })));
        match kind {
            MatchKind::Inner => {
                self.visible.push(entry);
                self.rows.push((entry, join.layout.clone(), true));
            }
            MatchKind::Left | MatchKind::Single { .. } => {
                self.visible.push(entry);
                // Its fields only where it is not null.
                let is_null = self.let_(out, Ty::Bool, Operation::IsNullPtr(entry));
                let fields: Vec<_> = join.layout.fields.iter().filter(|f| f.ty != Ty::Bool).cloned().collect();
                let f = self.r.index(fields.len());
                let field = &fields[f];
                let mut then = Block::new();
                let mark = self.visible.len();
                let none = self.of_type(&mut then, field.ty);
                self.visible.truncate(mark);
                let loaded = self.fresh(field.ty);
                let result = self.fresh(field.ty);
                let op = Operation::Load { base: entry, offset: field.offset, ty: field.ty, stable: true };
                let otherwise = vec![Inst::Let { var: loaded, op }];
                out.push(Inst::If { condition: is_null, then, otherwise, results: vec![(result, none, loaded)] });
                self.visible.push(result);
            }
            MatchKind::Mark { is_true, is_null } => self.visible.extend([is_true, is_null]),
            _ => {}
        }
    }

    fn repeat(&mut self, out: &mut Block) {
        let n = self.of_type(out, Ty::I64);
        let three = self.let_(out, Ty::I64, Operation::Const(Literal::Int(3, Ty::I64)));
        let n = self.let_(out, Ty::I64, Operation::Remainder(n, three, None));
        let index = self.fresh(Ty::I64);
        out.push(Inst::Repeat { times: n, index, elements: Vec::new() });
        self.visible.push(index);
    }

    fn output(&mut self, out: &mut Block, state: StateId) -> State {
        let n = 1 + self.r.index(5);
        let mut values = Vec::new();
        let mut types = Vec::new();
        for _ in 0..n {
            let ty = self.r.pick(&ALL);
            values.push((self.of_type(out, ty), self.r.chance(30).then(|| self.of_type(out, Ty::Bool))));
            types.push(sql_type(ty));
        }
        out.push(Inst::Output { state, values });
        State::Result(types)
    }
}

fn pipeline(body: Block, vars: IdMap<Var, Ty>, source: Source, fills: Vec<StateId>) -> Pipeline {
    let (name, after) = ("random".into(), Vec::new());
    Pipeline { name, source, vectors: None, body, vars, after, fills, rounds: None, operator: None }
}

/// A random program: perhaps join tables are built; then a pipeline matches, filters, repeats, groups and outputs.
pub fn program(seed: u64) -> Program {
    let mut r = Random(seed.wrapping_mul(1_000_003));
    let r = &mut r;
    let wild = r.chance(25);
    let mut params = IdMap::new();
    let mut param_list = Vec::new();
    for _ in 0..r.index(3) {
        let t = r.pick(&TYPES);
        let v = value(r, t, wild);
        param_list.push((params.push(Param::Value(v, t)), Ty::from(t.physical())));
    }
    let joins = r.index(4);
    let grouped = r.chance(30);
    let scalar = !grouped && r.chance(30);
    let mut states: Vec<State> = Vec::new();
    let mut pipelines: IdMap<_, Pipeline> = IdMap::new();
    for j in 0..joins {
        let (state, pipeline) = build::join(r, StateId(j as u32), wild);
        states.push(state);
        pipelines.push(pipeline);
    }
    let types: Vec<SqlType> = (0..1 + r.index(4)).map(|_| r.pick(&TYPES)).chain([SqlType::BigInt]).collect();
    let rows = if r.chance(20) { 1500 } else { r.index(40) };
    let source = Source::Values(Arc::new(chunk(r, &types, rows, wild)));
    let mut b = Body {
        r,
        vars: IdMap::new(),
        visible: Vec::new(),
        columns: types,
        params: param_list.clone(),
        rows: Vec::new(),
    };
    let mut body = Block::new();
    for i in 0..b.columns.len() {
        let ty = b.columns[i].physical().into();
        b.let_(&mut body, ty, Operation::Column(i as u32, ty));
    }
    for (j, state) in states.iter().enumerate() {
        let n = b.r.index(6);
        b.steps(&mut body, n);
        b.maybe_filter(&mut body);
        let State::Join(join) = state.clone() else { unreachable!("joins come first") };
        let with_conditions = b.r.chance(50);
        b.a_match(&mut body, StateId(j as u32), &join, with_conditions);
        if b.r.chance(10) {
            b.repeat(&mut body);
        }
    }
    let n = b.r.index(10);
    b.steps(&mut body, n);
    b.maybe_filter(&mut body);
    let state = StateId(states.len() as u32);
    if !grouped && !scalar && joins > 0 && b.r.chance(40) {
        // Nothing but markers: then the build rows with or without one.
        let vars = b.vars;
        pipelines.push(pipeline(body, vars, source, Vec::new()));
        let join = StateId(b.r.index(joins) as u32);
        let layout = states[join.0 as usize].layout().expect("a join").clone();
        let marker = layout.fields.last().expect("fields").offset;
        let (body, vars, types) = read_rows(&layout, state);
        states.push(State::Result(types));
        let rows = b.r.pick(&[RowSet::Marked(marker), RowSet::Unmarked(marker), RowSet::All]);
        pipelines.push(pipeline(body, vars, Source::Rows { state: join, rows }, vec![state]));
    } else if !grouped && !scalar {
        let result = b.output(&mut body, state);
        states.push(result);
        let vars = b.vars;
        pipelines.push(pipeline(body, vars, source, vec![state]));
    } else if scalar && b.r.chance(70) {
        let (group, folds) = folds::group(&mut b, &mut body, state);
        let vars = b.vars;
        states.push(State::Group(group));
        pipelines.push(pipeline(body, vars, source, vec![state]));
        let result = StateId(states.len() as u32);
        let (body, vars, types) = folds::read(&folds, result);
        states.push(State::Result(types));
        pipelines.push(pipeline(body, vars, Source::Rows { state, rows: RowSet::All }, vec![result]));
    } else {
        let group = if grouped { group(&mut b, &mut body, state) } else { folds::one_by_one(&mut b, &mut body, state) };
        let layout = group.layout.clone();
        states.push(State::Group(group));
        let vars = b.vars;
        pipelines.push(pipeline(body, vars, source, vec![state]));
        let result = StateId(states.len() as u32);
        let (body, vars, types) = read_rows(&layout, result);
        states.push(State::Result(types));
        let source = Source::Rows { state, rows: RowSet::All };
        pipelines.push(pipeline(body, vars, source, vec![result]));
    }
    let result = StateId(states.len() as u32 - 1);
    Program {
        params,
        sites: IdMap::new(),
        states: states.into_iter().collect(),
        pipelines,
        result,
        ordered: false,
        counters: Vec::new(),
        positions: (0..50).collect(),
    }
}

/// Grouping by two keys, with a count and a sum.
fn group(b: &mut Body<'_>, body: &mut Block, state: StateId) -> GroupState {
    let keys: Vec<Ty> =
        (0..1 + b.r.index(2)).map(|_| b.r.pick(&[Ty::I64, Ty::Str, Ty::I32, Ty::I128, Ty::Bool])).collect();
    let mut layout = RowLayout::with_header(8);
    let offsets: Vec<u32> = keys.iter().map(|&t| layout.add(t)).collect();
    let (count, sum) = (layout.add(Ty::I64), layout.add(Ty::I64));
    let values: Vec<Var> = keys.iter().map(|&t| b.of_type(body, t)).collect();
    // Of a truth value, groups have numbers.
    let slots = (keys == [Ty::Bool]).then_some(2);
    let hash = match slots {
        Some(_) => Operation::Convert(Conversion::BoolToInt, values[0], Ty::I64, None),
        None => Operation::Hash(values.iter().map(|&v| (v, None)).collect()),
    };
    let hash = b.let_(body, Ty::I64, hash);
    let row = b.fresh(Ty::Ptr);
    let mut equal = Block::new();
    let mut is_equal = b.let_(&mut equal, Ty::Bool, Operation::Const(Literal::Bool(true)));
    b.visible.pop();
    for ((&offset, &ty), &v) in offsets.iter().zip(&keys).zip(&values) {
        let load = Operation::Load { base: row, offset, ty, stable: false };
        let theirs = b.let_(&mut equal, ty, load);
        let same = b.let_(&mut equal, Ty::Bool, Operation::Compare(Compare::Eq, v, theirs));
        let all = b.let_(&mut equal, Ty::Bool, Operation::Logic(Logic::And, is_equal, same));
        b.visible.truncate(b.visible.len() - 3);
        is_equal = all;
    }
    let init = offsets.iter().zip(&values).map(|(&offset, &value)| Inst::Store { base: row, offset, value }).collect();
    if b.r.index(2) == 0 {
        body.push(Inst::Prefetch { state, hash });
    }
    body.push(Inst::Group { state, hash, row, equal, is_equal, init, known: None });
    accumulate(b, body, row, count, sum);
    let mut vars = IdMap::new();
    let rows = [vars.push(Ty::Ptr), vars.push(Ty::Ptr)];
    let mut block = Block::new();
    let mut is_equal = vars.push(Ty::Bool);
    block.push(Inst::Let { var: is_equal, op: Operation::Const(Literal::Bool(true)) });
    for (&offset, &ty) in offsets.iter().zip(&keys) {
        let [x, y] = rows.map(|base| {
            let var = vars.push(ty);
            block.push(Inst::Let { var, op: Operation::Load { base, offset, ty, stable: true } });
            var
        });
        let same = vars.push(Ty::Bool);
        block.push(Inst::Let { var: same, op: Operation::Compare(Compare::Eq, x, y) });
        let all = vars.push(Ty::Bool);
        block.push(Inst::Let { var: all, op: Operation::Logic(Logic::And, is_equal, same) });
        is_equal = all;
    }
    let equal = Function { rows, body: block, result: Some(is_equal), vars };
    GroupState { layout, has_keys: true, slots, enough: None, equal: Some(equal), combine: combine(&[count, sum]) }
}

fn accumulate(b: &mut Body<'_>, body: &mut Block, row: Var, count: u32, sum: u32) {
    let x = b.of_type(body, Ty::I64);
    let one = b.let_(body, Ty::I64, Operation::Const(Literal::Int(1, Ty::I64)));
    for (offset, term) in [(count, one), (sum, x)] {
        let old = b.let_(body, Ty::I64, Operation::Load { base: row, offset, ty: Ty::I64, stable: false });
        let new = b.let_(body, Ty::I64, Operation::Wrapping(Arithmetic::Add, old, term));
        body.push(Inst::Store { base: row, offset, value: new });
    }
}

fn combine(sums: &[u32]) -> Function {
    let mut vars = IdMap::new();
    let rows = [vars.push(Ty::Ptr), vars.push(Ty::Ptr)];
    let mut body = Block::new();
    for &offset in sums {
        let [x, y] = rows.map(|base| {
            let var = vars.push(Ty::I64);
            body.push(Inst::Let { var, op: Operation::Load { base, offset, ty: Ty::I64, stable: false } });
            var
        });
        let sum = vars.push(Ty::I64);
        body.push(Inst::Let { var: sum, op: Operation::Wrapping(Arithmetic::Add, x, y) });
        body.push(Inst::Store { base: rows[0], offset, value: sum });
    }
    Function { rows, body, result: None, vars }
}

fn read_rows(layout: &RowLayout, result: StateId) -> (Block, IdMap<Var, Ty>, Vec<SqlType>) {
    let mut vars = IdMap::new();
    let base = vars.push(Ty::Ptr);
    let mut body = vec![Inst::Let { var: base, op: Operation::Row }];
    let mut values = Vec::new();
    for f in &layout.fields {
        let var = vars.push(f.ty);
        body.push(Inst::Let { var, op: Operation::Load { base, offset: f.offset, ty: f.ty, stable: true } });
        values.push((var, None));
    }
    body.push(Inst::Output { state: result, values });
    (body, vars, layout.fields.iter().map(|f| sql_type(f.ty)).collect())
}
