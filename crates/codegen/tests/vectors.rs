//! Loops over many rows beside the definition of each operation, over values at which arithmetic goes wrong: what a loop is
//! not in doubt about is right, and what fails is in doubt.

use base::{Budget, IdMap, Random};
use codegen::compute_row;
use functions::ScalarFunction;
use pipeline::ir::{
    Arithmetic, Compare, Conversion, FloatFunction, FloatOp, Logic, Operation, Pipeline, PipelineId, Program, Source,
    State, StateId, Step, Ty, Var, Vectors,
};
use runtime::QueryContext;
use runtime::abi::{BATCH, Batch, ColumnRef, Slot};
use runtime::vectors::{VectorPlan, VectorValues, count_set, positions_of, retain};

const SIMPLE: [Ty; 6] = [Ty::Bool, Ty::I16, Ty::I32, Ty::I64, Ty::F32, Ty::F64];

/// All operations that vectors know, for operands %0 and %1 of a type: (operation, type of the result).
fn operations(ty: Ty) -> Vec<(Operation, Ty)> {
    let (a, b, flag) = (Var(0), Var(1), Var(2));
    let mut all = Vec::new();
    for how in [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge] {
        all.push((Operation::Compare(how, a, b), Ty::Bool));
    }
    all.push((Operation::Select(flag, a, b), ty));
    if ty == Ty::Bool {
        all.extend([Logic::And, Logic::Or, Logic::Xor].map(|logic| (Operation::Logic(logic, a, b), Ty::Bool)));
        all.push((Operation::Not(a), Ty::Bool));
        all.extend([Ty::I16, Ty::I32, Ty::I64].map(|to| (Operation::Convert(Conversion::BoolToInt, a, to, None), to)));
    } else if ty.is_integer() {
        for kind in [Arithmetic::Add, Arithmetic::Sub, Arithmetic::Mul] {
            all.push((Operation::Checked(kind, a, b, None), ty));
            all.push((Operation::Wrapping(kind, a, b), ty));
        }
        all.extend([Logic::And, Logic::Or, Logic::Xor].map(|logic| (Operation::Logic(logic, a, b), ty)));
        all.extend([Operation::Divide(a, b, None), Operation::Remainder(a, b, None)].map(|op| (op, ty)));
        for to in [Ty::I16, Ty::I32, Ty::I64] {
            if to.size() >= ty.size() {
                all.push((Operation::Convert(Conversion::Widen, a, to, None), to));
            }
            if to.size() <= ty.size() {
                all.push((Operation::Convert(Conversion::Narrow, a, to, None), to));
                all.push((Operation::Convert(Conversion::Cut, a, to, None), to));
            }
        }
        all.extend([Ty::F32, Ty::F64].map(|to| (Operation::Convert(Conversion::IntToFloat, a, to, None), to)));
    } else {
        for kind in [FloatOp::Add, FloatOp::Sub, FloatOp::Mul, FloatOp::Div] {
            all.push((Operation::Float(kind, a, b, None), ty));
        }
        let functions = [
            FloatFunction::Sqrt,
            FloatFunction::Abs,
            FloatFunction::Floor,
            FloatFunction::Ceil,
            FloatFunction::Trunc,
            FloatFunction::Nearest,
        ];
        all.extend(functions.map(|function| (Operation::FloatFunction(function, a), ty)));
        let integers = [Ty::I16, Ty::I32, Ty::I64];
        all.extend(integers.map(|to| (Operation::Convert(Conversion::FloatToInt, a, to, None), to)));
        all.extend([Ty::F32, Ty::F64].map(|to| (Operation::Convert(Conversion::FloatToFloat, a, to, None), to)));
        if ty == Ty::F64 {
            let named = |name| ScalarFunction::named(name).unwrap();
            let of_one = ["sqrt", "exp", "ln", "log10", "log2", "sin", "tan", "acosh", "degrees", "sign"];
            all.extend(of_one.map(|name| (Operation::OfDoubles(named(name), a, None, None), ty)));
            let decimals =
                [((4, 2), Ty::I16), ((9, 0), Ty::I32), ((9, 5), Ty::I32), ((18, 3), Ty::I64), ((12, 11), Ty::I64)];
            all.extend(decimals.map(|(digits, to)| (Operation::ToDecimal(a, digits, to, None), to)));
            all.extend(["power", "atan2"].map(|name| (Operation::OfDoubles(named(name), a, Some(b), None), ty)));
        }
    }
    all
}

/// A program whose only pipeline computes an operation of three columns: two of the type, and a boolean.
fn program(ty: Ty, (op, result): (Operation, Ty), guarded: bool) -> Program {
    let vars: IdMap<Var, Ty> = [ty, ty, Ty::Bool, result].into_iter().collect();
    let column = |number: u32, ty| Step { var: Var(number), op: Operation::Column(number, ty), only_if: None };
    let only_if = (guarded && !op.never_fails()).then_some(Var(2));
    let steps = vec![column(0, ty), column(1, ty), column(2, Ty::Bool), Step { var: Var(3), op, only_if }];
    let vectors = Vectors { vars, steps, filter: Some(Var(2)), columns: vec![(Var(3), Some(Var(2)))] };
    let source = Source::Table {
        table: base::ids::Id::from_index(0),
        columns: vec![],
        predicates: vec![],
        filters: vec![],
        lookups: vec![],
        codes: vec![],
    };
    let pipeline = Pipeline {
        name: "computes".into(),
        source,
        vectors: Some(vectors),
        body: vec![],
        vars: IdMap::new(),
        after: vec![],
        fills: vec![],
        rounds: None,
        operator: None,
    };
    Program {
        params: IdMap::new(),
        sites: IdMap::new(),
        states: [State::Result(vec![])].into_iter().collect(),
        pipelines: [pipeline].into_iter().collect(),
        result: StateId(0),
        ordered: false,
        counters: vec![],
        positions: vec![],
    }
}

/// Values of a type as bytes; `wild`: at which something goes wrong.
fn values(random: &mut Random, ty: Ty, count: usize, wild: bool) -> Vec<u64> {
    let value = |random: &mut Random| {
        let small = random.index(2000) as i64 - 1000;
        let float = match random.index(8) {
            _ if !wild => small as f64 / 8.0,
            0 => random.pick(&[0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
            1 => random.pick(&[1e300, -1e300, 1e-300, 5e-324, 1e38, -3.5e38, 1e-40, 9.3e18, -9.3e18]),
            2 => random.pick(&[0.5, 1.5, -0.5, -2.5, 32767.5, -32768.5, 2147483647.5, -2147483648.5]),
            _ => small as f64 / 8.0,
        };
        match ty {
            Ty::Bool => random.index(2) as u64,
            Ty::F32 => u64::from((float as f32).to_bits()),
            Ty::F64 => float.to_bits(),
            _ if !wild => (small % 100) as u64,
            _ => random.pick(&[0, 1, -1, i64::MIN, i64::MAX, i64::from(i32::MIN), 32767, -32768, small]) as u64,
        }
    };
    (0..count).map(|_| value(random)).collect()
}

/// The low bytes of each.
fn packed(values: &[u64], ty: Ty) -> Vec<u64> {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()[..ty.size() as usize].to_vec()).collect();
    bytes.chunks(8).map(|c| u64::from_le_bytes(std::array::from_fn(|i| c.get(i).copied().unwrap_or(0)))).collect()
}

fn is_same(ty: Ty, a: u64, b: u64) -> bool {
    match ty {
        Ty::F32 => a as u32 == b as u32 || f32::from_bits(a as u32).is_nan() && f32::from_bits(b as u32).is_nan(),
        Ty::F64 => a == b || f64::from_bits(a).is_nan() && f64::from_bits(b).is_nan(),
        _ => a << (64 - ty.size() * 8) == b << (64 - ty.size() * 8),
    }
}

/// The value of a row of a computed column.
fn read(column: &ColumnRef, ty: Ty, row: usize) -> u64 {
    let mut bytes = [0; 8];
    let size = ty.size() as usize;
    // SAFETY: the column has the row.
    unsafe { std::ptr::copy_nonoverlapping(column.data.add(row * size), bytes.as_mut_ptr(), size) };
    u64::from_le_bytes(bytes)
}

#[test]
fn loops_do_what_operations_say() {
    let (mut random, mut certain) = (Random(35), 0);
    for ty in SIMPLE {
        for (op, result) in operations(ty) {
            assert!(op.is_vectorised(|_| ty), "{op:?} of {ty:?}");
            for round in 0..12 {
                let what = format!("{op:?} of {ty:?}");
                let program = program(ty, (op.clone(), result), round % 3 == 0);
                let count = [1, 7, 511, 513, BATCH][round % 5];
                let wild = round % 2 == 0;
                let columns = [ty, ty, Ty::Bool].map(|ty| packed(&values(&mut random, ty, BATCH, wild), ty));
                let nulls = [0u8; BATCH];
                let columns = columns.each_ref().map(|c| ColumnRef { data: c.as_ptr().cast(), nulls: nulls.as_ptr() });
                let all: Vec<u32> = (0..BATCH as u32).collect();
                let some: Vec<u32> = (0..count).map(|_| random.index(BATCH) as u32).collect();
                let positions = if round % 4 < 2 { &all[..count] } else { &some };
                let batch = Batch {
                    columns: columns.as_ptr(),
                    selection: positions.as_ptr(),
                    rows: std::ptr::null(),
                    count: count as u64,
                };
                let context = QueryContext::new(&program, Budget::new(usize::MAX), |_| None).unwrap();
                let mut worker = context.worker(0);
                let plan = VectorPlan::new(program.pipelines[PipelineId(0)].vectors.as_ref().unwrap());
                // SAFETY: there are no parameters, and the columns have the rows.
                let (mut computed, is_sure) = unsafe {
                    let mut computed = VectorValues::new(&plan, worker.params, &Budget::new(usize::MAX)).unwrap();
                    let given = (round % 4 >= 2).then_some(positions);
                    let is_sure = computed.compute(&plan, &columns, given, count);
                    (computed, is_sure)
                };
                certain += usize::from(is_sure);
                let mut expected = Vec::new();
                for row in 0..count {
                    // SAFETY: worker and batch are the program's.
                    match unsafe { compute_row(&program, PipelineId(0), &mut worker, &batch, row) } {
                        Ok((passes, values)) => expected.push((passes, values[0])),
                        Err(error) => {
                            assert!(!is_sure, "{what}: {error} in row {row}, and no doubt");
                            break;
                        }
                    }
                }
                if !is_sure {
                    for (row, (passes, value)) in expected.iter().enumerate() {
                        computed.set(&plan, row, *passes, &[*value]);
                    }
                }
                let flags = computed.filter(&plan, expected.len()).unwrap().to_vec();
                let column = computed.columns(&plan).next().unwrap();
                let guarded = program.pipelines[PipelineId(0)].vectors.as_ref().unwrap().steps[3].only_if.is_some();
                for (row, &(passes, (Slot(value), null))) in expected.iter().enumerate() {
                    assert_eq!(flags[row] == 1, passes, "{what}: filter of row {row}");
                    assert_eq!(null, passes);
                    let found = read(&column, result, row);
                    assert!(
                        guarded && !passes || is_same(result, found, value[0]),
                        "{what}: {found:x}, not {value:x?} in row {row}"
                    );
                }
                if round % 4 >= 2 && expected.len() == count {
                    let expected: Vec<u64> = (0..count).map(|row| read(&column, result, row)).collect();
                    let spread = computed.spread(&plan, positions).next().unwrap();
                    // Of rows that are given twice, both have the same value.
                    for (row, &position) in positions.iter().enumerate() {
                        let found = read(&spread, result, position as usize);
                        assert!(guarded || is_same(result, found, expected[row]), "{what}: spread to {position}");
                    }
                }
            }
        }
    }
    assert!(certain > 300, "{certain} batches were without doubt");
}

#[test]
fn flags_are_counted_and_become_positions() {
    let mut random = Random(3);
    for count in [0, 1, 254, 255, 256, 1000, BATCH] {
        for share in [1, 2, 100] {
            let flags: Vec<u8> = (0..count).map(|_| random.one_in(share).into()).collect();
            let expected: Vec<u32> = (0..count as u32).filter(|&i| flags[i as usize] == 1).collect();
            assert_eq!(count_set(&flags), expected.len());
            let mut positions = [0; BATCH];
            let found = positions_of(&flags, &mut positions);
            assert_eq!(&positions[..found], expected);
            let mut some: Vec<u32> = (0..count as u32).map(|i| i * 3).collect();
            let found = retain(&flags, &mut some);
            assert!(some[..found].iter().eq(expected.iter().map(|i| i * 3).collect::<Vec<_>>().iter()));
        }
    }
}
