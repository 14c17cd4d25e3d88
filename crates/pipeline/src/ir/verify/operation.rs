//! Types of operations.

use super::Verifier;
use functions::Typed;
use types::{Physical, SqlType};

use crate::ir::{Compare, Conversion, Literal, Operation, Param, RowLayout, Source, State, Ty, Var};

impl<'p> Verifier<'p> {
    /// The type of an operation's result, `declared` being that of the variable (which conversions ask for).
    pub(super) fn operation(&self, op: &Operation, declared: Ty) -> Result<Ty, String> {
        match op {
            Operation::Const(literal) => literal_type(literal),
            Operation::Param(id, ty) => match self.program.params.get(*id) {
                Some(Param::Value(_, sql_type) | Param::Argument(_, _, sql_type))
                    if Ty::from(sql_type.physical()) == *ty =>
                {
                    Ok(*ty)
                }
                Some(_) => Err(format!("{id} is not a value of this type")),
                None => Err(format!("{id} does not exist")),
            },
            Operation::Column(i, ty) => self.column(*i, *ty),
            Operation::ColumnNull(i) => {
                self.column_type(*i)?;
                Ok(Ty::Bool)
            }
            Operation::Row => match self.source {
                Some(Source::Rows { .. }) => Ok(Ty::Ptr),
                _ => Err("the source has no rows".into()),
            },
            Operation::LocalRow(id) | Operation::OnlyRow(id) => match self.state(*id)? {
                State::Group(g) if !g.has_keys => Ok(Ty::Ptr),
                _ => Err(format!("{id} is not a group state without keys")),
            },
            Operation::Load { base, offset, ty, .. } => {
                self.expect(*base, Ty::Ptr)?;
                self.in_row(*base, *offset, *ty)?;
                Ok(*ty)
            }
            Operation::FieldAddress(base, offset) => {
                self.expect(*base, Ty::Ptr)?;
                self.in_row(*base, *offset, Ty::Bool)?;
                Ok(Ty::Ptr)
            }
            Operation::FloatFunction(_, x) => self.one_of(*x, Ty::is_float, "a float"),
            Operation::OfDoubles(function, x, y, _) => {
                let known = match function.definition().typed {
                    Some(Typed::Double(..)) => y.is_none(),
                    Some(Typed::DoubleOfTwo(..)) => y.is_some(),
                    _ => false,
                };
                if !known {
                    return Err(format!("{} is not a function of so many doubles", function.name()));
                }
                self.expect(*x, Ty::F64)?;
                y.map_or(Ok(()), |y| self.expect(y, Ty::F64))?;
                Ok(Ty::F64)
            }
            Operation::ToDecimal(x, (precision, scale), to, _) => {
                self.expect(*x, Ty::F64)?;
                if *to != declared || Ty::from(SqlType::decimal(*precision, *scale).physical()) != *to {
                    return Err(format!("decimals of {precision} digits are not {to:?}"));
                }
                Ok(*to)
            }
            Operation::IsNullPtr(p) => self.expect(*p, Ty::Ptr).map(|()| Ty::Bool),
            Operation::Checked(_, x, y, _) | Operation::Wrapping(_, x, y) => {
                self.pair(*x, *y, Ty::is_integer, "integers")
            }
            Operation::Divide(x, y, _) | Operation::Remainder(x, y, _) => {
                self.pair(*x, *y, |t| t.is_integer() && t != Ty::I128, "integers of at most 64 bits")
            }
            Operation::Float(_, x, y, _) => self.pair(*x, *y, Ty::is_float, "floats"),
            Operation::Compare(how, x, y) => {
                let equality = matches!(how, Compare::Eq | Compare::Ne);
                self.pair(*x, *y, |t| t != Ty::Ptr || equality, "of an ordered type")?;
                Ok(Ty::Bool)
            }
            Operation::Logic(_, x, y) => self.pair(*x, *y, |t| t == Ty::Bool || t.is_integer(), "booleans or integers"),
            Operation::Not(x) => self.expect(*x, Ty::Bool).map(|()| Ty::Bool),
            Operation::Select(c, x, y) => {
                self.expect(*c, Ty::Bool)?;
                self.pair(*x, *y, |_| true, "")
            }
            Operation::Convert(kind, x, to, _) => {
                let from = self.used(*x)?;
                if *to != declared || !converts(*kind, from, *to) {
                    return Err(format!("no such conversion from {from:?} to {to:?}"));
                }
                Ok(*to)
            }
            Operation::Hash(values) => {
                if values.is_empty() {
                    return Err("a hash of nothing".into());
                }
                for &(v, null) in values {
                    self.used(v)?;
                    null.map_or(Ok(()), |n| self.expect(n, Ty::Bool))?;
                }
                Ok(Ty::I64)
            }
        }
    }

    /// Whose row an operation's result points to, if that is known.
    pub(super) fn whose_row(&self, op: &Operation) -> Result<Option<&'p RowLayout>, String> {
        Ok(match (op, self.source) {
            (Operation::Row, Some(Source::Rows { state, .. })) => Some(self.row_layout(*state)?),
            (Operation::LocalRow(state) | Operation::OnlyRow(state), _) => Some(self.row_layout(*state)?),
            _ => None,
        })
    }

    pub(super) fn column(&self, i: u32, ty: Ty) -> Result<Ty, String> {
        let found = self.column_type(i)?;
        if found == ty { Ok(ty) } else { Err(format!("column {i} is {found:?}")) }
    }

    fn column_type(&self, i: u32) -> Result<Ty, String> {
        let computed = self.source.zip(self.vectors).and_then(|(source, vectors)| {
            let (value, _) = vectors.columns.get((i as usize).checked_sub(source.column_count())?)?;
            Some(vectors.vars[*value])
        });
        if let Some(ty) = computed {
            return Ok(ty);
        }
        let physical = match self.source {
            Some(Source::Table { columns, codes, .. }) if i as usize == columns.len() && !codes.is_empty() => {
                Some(Physical::I32)
            }
            Some(Source::Table { columns, .. }) => columns.get(i as usize).map(|c| c.sql_type.physical()),
            Some(Source::Values(chunk)) => chunk.columns().get(i as usize).map(|c| c.physical()),
            _ => None,
        };
        physical.map(Ty::from).ok_or_else(|| format!("the source has no column {i}"))
    }

    fn one_of(&self, x: Var, allowed: impl Fn(Ty) -> bool, what: &str) -> Result<Ty, String> {
        let ty = self.used(x)?;
        if allowed(ty) { Ok(ty) } else { Err(format!("{x} is {ty:?}, not {what}")) }
    }

    fn pair(&self, x: Var, y: Var, allowed: impl Fn(Ty) -> bool, what: &str) -> Result<Ty, String> {
        let ty = self.one_of(x, allowed, what)?;
        self.expect(y, ty)?;
        Ok(ty)
    }
}

fn literal_type(literal: &Literal) -> Result<Ty, String> {
    let fits = |x: i128, bits: u32| x >= -(1 << (bits - 1)) && x < 1 << (bits - 1);
    match *literal {
        Literal::Bool(_) => Ok(Ty::Bool),
        Literal::Int(x, ty) if ty.is_integer() && (ty == Ty::I128 || fits(x, ty.size() * 8)) => Ok(ty),
        Literal::Float(_, ty) if ty.is_float() => Ok(ty),
        Literal::Int(..) | Literal::Float(..) => Err("the constant is not of its type".into()),
        Literal::EmptyStr => Ok(Ty::Str),
        Literal::ZeroInterval => Ok(Ty::Interval),
        Literal::NullPtr => Ok(Ty::Ptr),
    }
}

fn converts(kind: Conversion, from: Ty, to: Ty) -> bool {
    match kind {
        Conversion::Widen => from.is_integer() && to.is_integer() && from.size() <= to.size(),
        Conversion::Narrow | Conversion::Cut => from.is_integer() && to.is_integer() && from.size() >= to.size(),
        Conversion::IntToFloat => from.is_integer() && to.is_float(),
        Conversion::FloatToInt => from.is_float() && to.is_integer(),
        Conversion::FloatToFloat => from.is_float() && to.is_float(),
        Conversion::BoolToInt => from == Ty::Bool && to.is_integer(),
    }
}
