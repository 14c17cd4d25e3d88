//! Build sides of joins.

use std::sync::Arc;

use base::{IdMap, Random};
use pipeline::ir::{Block, Inst, JoinState, JoinWord, Operation, Pipeline, RowLayout, Source, State, StateId, Ty, Var};
use types::{Chunk, ColumnBuilder, SqlType, Value};

use super::{TYPES, chunk, pipeline};

/// A join table, and the pipeline that builds it.
pub fn join(r: &mut Random, state: StateId, wild: bool) -> (State, Pipeline) {
    let mut layout = RowLayout::with_header(16);
    layout.add(Ty::I64);
    let types: Vec<SqlType> = (0..1 + r.index(3)).map(|_| r.pick(&TYPES)).collect();
    for t in &types {
        layout.add(Ty::from(t.physical()));
    }
    // The marker.
    layout.add(Ty::Bool);
    let unique = r.chance(50);
    let rows = if r.chance(10) { 0 } else { r.index(30) };
    // Unique keys: each value once.
    let mut keys = ColumnBuilder::new(SqlType::BigInt, rows);
    for i in 0..rows {
        keys.push_value(&Value::Int(if unique { i as i64 - 5 } else { r.index(12) as i64 - 5 }));
    }
    let mut columns = vec![keys.finish()];
    let given = chunk(r, &types, rows, wild);
    columns.extend(given.into_columns());
    let mut vars = IdMap::new();
    let mut body = Block::new();
    let mut read = |op: Operation, ty: Ty, body: &mut Block| {
        let var = vars.push(ty);
        body.push(Inst::Let { var, op });
        var
    };
    let values: Vec<Var> = (0..columns.len())
        .map(|i| {
            let ty = columns[i].physical().into();
            read(Operation::Column(i as u32, ty), ty, &mut body)
        })
        .collect();
    let hash = read(Operation::Hash(vec![(values[0], None)]), Ty::I64, &mut body);
    let row = vars.push(Ty::Ptr);
    body.push(Inst::AllocRow { state, row, hash: Some(hash) });
    for (field, value) in layout.fields.iter().zip(values) {
        body.push(Inst::Store { base: row, offset: field.offset, value });
    }
    let source = Source::Values(Arc::new(Chunk::new(rows, columns)));
    // Hashes of keys are words like any others.
    let word = if r.chance(50) { JoinWord::Key { null: None } } else { JoinWord::Hash };
    (State::Join(JoinState { layout, unique, word, filters: false }), pipeline(body, vars, source, vec![state]))
}
