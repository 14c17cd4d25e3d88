//! The query's constants as generated code and the functions that it calls read them.

use std::sync::Arc;

use base::ids::Id;
use base::{IdMap, Result};
use pipeline::ir::{Param, ParamId};
use types::ops::hash;
use types::ops::like::LikePattern;
use types::{Physical, SqlType, Str, Value};

use crate::slot::{Slot, mismatch, slot_of};

/// What a run of a program brings if it is not the one that the program was made for.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// The values of [`Param::Argument`] by `ArgumentId`, each of the type there.
    pub values: Vec<Value>,
    /// [`Program::positions`](pipeline::ir::Program::positions) in this run's text.
    pub positions: Vec<u32>,
}

/// The value of a parameter in this run.
pub(crate) fn value_of_param(param: &Param, arguments: &[Value]) -> Value {
    match param {
        Param::Value(value, _) => value.clone(),
        Param::Argument(id, value, _) => arguments.get(id.index()).unwrap_or(value).clone(),
        Param::Like { .. } | Param::Set(..) => Value::Null,
    }
}

/// All constants of a query.
#[derive(Debug)]
pub struct Params {
    slots: Box<[Slot]>,
    compiled: Box<[Compiled]>,
    /// The payload of the slots' strings.
    _text: Vec<Arc<str>>,
}

#[derive(Debug)]
enum Compiled {
    Value,
    Like(LikePattern),
    Set(Set),
}

impl Params {
    /// Materialises the constants; a bad pattern is an error. `arguments` are the statement's for this run; none:
    /// those that the program was made for.
    pub fn new(params: &IdMap<ParamId, Param>, arguments: &[Value]) -> Result<Self> {
        let mut text = Vec::new();
        let mut keep = |s: &Arc<str>| {
            text.push(s.clone());
            // The text lives in the Arc, which does not move it.
            Ok(Str::new(s.as_bytes()))
        };
        let mut slots = Vec::with_capacity(params.len());
        let mut compiled = Vec::with_capacity(params.len());
        for (_, param) in params.iter() {
            let (slot, data) = match param {
                Param::Value(value, sql_type) => (slot_of(value, *sql_type, &mut keep)?, Compiled::Value),
                Param::Argument(id, value, sql_type) => {
                    let value = arguments.get(id.index()).unwrap_or(value);
                    (slot_of(value, *sql_type, &mut keep)?, Compiled::Value)
                }
                Param::Like { pattern, syntax } => {
                    (Slot::default(), Compiled::Like(LikePattern::of(pattern, *syntax)?))
                }
                Param::Set(values, sql_type) => {
                    let slots = values.iter().filter(|v| !v.is_null());
                    let slots: Vec<_> = slots.map(|v| slot_of(v, *sql_type, &mut keep)).collect::<Result<_>>()?;
                    // SAFETY: slots of this type, whose strings are kept in `text`.
                    (Slot::default(), Compiled::Set(unsafe { Set::new(*sql_type, slots) }))
                }
            };
            slots.push(slot);
            compiled.push(data);
        }
        Ok(Self { slots: slots.into(), compiled: compiled.into(), _text: text })
    }

    /// The values, by `ParamId`; patterns and sets have an empty slot.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// A compiled pattern.
    pub fn like(&self, param: ParamId) -> Option<&LikePattern> {
        match &self.compiled[param.index()] {
            Compiled::Like(pattern) => Some(pattern),
            _ => None,
        }
    }

    /// A set.
    pub fn set(&self, param: ParamId) -> Option<&Set> {
        match &self.compiled[param.index()] {
            Compiled::Set(set) => Some(set),
            _ => None,
        }
    }
}

/// The values of an IN list: a table with linear probing, at most half full.
#[derive(Debug)]
pub struct Set {
    physical: Physical,
    slots: Vec<Slot>,
    /// Index in `slots` plus one; 0: empty.
    table: Vec<u32>,
}

impl Set {
    /// # Safety
    /// The slots must be of the type, and strings alive as long as the set.
    unsafe fn new(sql_type: SqlType, slots: Vec<Slot>) -> Self {
        let physical = sql_type.physical();
        let mut set = Self { physical, table: vec![0; (slots.len() * 2 + 1).next_power_of_two()], slots: Vec::new() };
        for slot in slots {
            // SAFETY: as the caller promises.
            let at = unsafe { set.find(slot) };
            if set.table[at] == 0 {
                set.slots.push(slot);
                set.table[at] = set.slots.len() as u32;
            }
        }
        set
    }

    /// Whether the value is in the set.
    ///
    /// # Safety
    /// It must be of the set's type; a string must be alive.
    pub unsafe fn contains(&self, value: Slot) -> bool {
        // SAFETY: as the caller promises.
        self.table[unsafe { self.find(value) }] != 0
    }

    /// Where the value is in the table, or would be.
    unsafe fn find(&self, value: Slot) -> usize {
        let mask = self.table.len() - 1;
        // SAFETY: as the caller promises.
        let mut at = unsafe { self.hash(value) } as usize & mask;
        loop {
            match self.table[at] {
                0 => return at,
                // SAFETY: as the caller promises, and all slots of the set are alive.
                i if unsafe { self.equal(self.slots[i as usize - 1], value) } => return at,
                _ => at = (at + 1) & mask,
            }
        }
    }

    unsafe fn hash(&self, value: Slot) -> u64 {
        match self.physical {
            Physical::Str => {
                let text = value.as_str();
                // SAFETY: as the caller of `find` promises.
                hash::hash_bytes(unsafe { text.bytes() })
            }
            Physical::Interval => hash::hash_interval(value.as_interval()),
            Physical::F64 => hash::hash_f64(value.as_f64()),
            Physical::F32 => hash::hash_f64(f32::from_bits(value.0[0] as u32).into()),
            Physical::I128 => hash::hash_i128(value.as_i128()),
            Physical::Bool => hash::hash_i64(value.as_i64() & 1),
            Physical::I16 => hash::hash_i64((value.0[0] as i16).into()),
            Physical::I32 => hash::hash_i64((value.0[0] as i32).into()),
            Physical::I64 => hash::hash_i64(value.as_i64()),
        }
    }

    unsafe fn equal(&self, a: Slot, b: Slot) -> bool {
        use types::value::compare_floats;
        match self.physical {
            // SAFETY: as the caller of `find` promises.
            Physical::Str => unsafe { a.as_str().equals(&b.as_str()) },
            Physical::Interval => a.as_interval().approximate_micros() == b.as_interval().approximate_micros(),
            Physical::F64 => compare_floats(a.as_f64(), b.as_f64()).is_eq(),
            Physical::F32 => {
                let single = |s: Slot| f64::from(f32::from_bits(s.0[0] as u32));
                compare_floats(single(a), single(b)).is_eq()
            }
            Physical::I128 => a.0 == b.0,
            Physical::Bool => (a.0[0] ^ b.0[0]) & 1 == 0,
            Physical::I16 => a.0[0] as i16 == b.0[0] as i16,
            Physical::I32 => a.0[0] as i32 == b.0[0] as i32,
            Physical::I64 => a.0[0] == b.0[0],
        }
    }
}

/// A slot for a value of another type than said cannot be made: checked where values enter.
pub(crate) fn check_type(value: &Value, sql_type: SqlType) -> Result<()> {
    let fits = match value {
        Value::Null => true,
        Value::Bool(_) => matches!(sql_type, SqlType::Bool | SqlType::Null),
        Value::Int(_) => sql_type.is_integer(),
        Value::Decimal(_) => sql_type.is_decimal(),
        Value::Float(_) => sql_type.is_float(),
        Value::Str(_) => sql_type.physical() == Physical::Str,
        Value::Date(_) => sql_type == SqlType::Date,
        Value::Time(_) => sql_type == SqlType::Time,
        Value::Timetz(_) => sql_type == SqlType::Timetz,
        Value::Timestamp(_) => matches!(sql_type, SqlType::Timestamp | SqlType::Timestamptz),
        Value::Interval(_) => sql_type == SqlType::Interval,
        Value::Uuid(_) => sql_type == SqlType::Uuid,
        Value::Enum(_) => matches!(sql_type, SqlType::Enum(_)),
    };
    if fits { Ok(()) } else { Err(mismatch(value, sql_type)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(sql_type: SqlType, values: Vec<Value>) -> Params {
        let mut params = IdMap::new();
        params.push(Param::Set(values, sql_type));
        Params::new(&params, &[]).unwrap()
    }

    #[test]
    fn sets_hold_what_they_were_given() {
        let texts = ["", "abc", "a long text that is not inline", "a long text that is not inlinf"];
        let values = texts.iter().map(|t| Value::str(*t)).chain([Value::Null, Value::str("abc")]).collect();
        let params = set(SqlType::Text, values);
        let set_of = params.set(ParamId(0)).unwrap();
        let copies = texts.map(str::to_string);
        // SAFETY: the copies and the literal live longer than their slots.
        unsafe {
            assert!(copies.iter().all(|t| set_of.contains(Slot::str(Str::new(t.as_bytes())))));
            assert!(!set_of.contains(Slot::str(Str::new(b"abd"))));
        }
        let params = set(SqlType::Integer, (0..1000).map(|i| Value::Int(i * 3)).collect());
        let set_of = params.set(ParamId(0)).unwrap();
        for i in -10..4000i64 {
            // The upper half of a 32-bit value's slot does not count.
            // SAFETY: an integer.
            assert_eq!(unsafe { set_of.contains(Slot([i as u32 as u64, 7])) }, (0..3000).contains(&i) && i % 3 == 0);
        }
        let params = set(SqlType::Double, vec![Value::Float(0.0), Value::Float(f64::NAN)]);
        let set_of = params.set(ParamId(0)).unwrap();
        // SAFETY: doubles.
        unsafe {
            assert!(set_of.contains(Slot::f64(-0.0)) && set_of.contains(Slot::f64(-f64::NAN)));
            assert!(!set_of.contains(Slot::f64(1.0)));
        }
    }
}
