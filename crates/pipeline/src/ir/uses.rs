//! Which variables instructions use.

use super::{Block, FoldElement, Inst, Operation, Var};

/// For shared and exclusive references.
macro_rules! each_operand {
    ($op:expr, $f:ident) => {
        match $op {
            Self::Const(_)
            | Self::Param(..)
            | Self::Column(..)
            | Self::ColumnNull(_)
            | Self::Row
            | Self::LocalRow(_)
            | Self::OnlyRow(_) => {}
            Self::Load { base, .. } | Self::FieldAddress(base, _) => $f(base),
            Self::FloatFunction(_, x) | Self::IsNullPtr(x) | Self::Not(x) | Self::Convert(_, x, ..) => $f(x),
            Self::ToDecimal(x, ..) => $f(x),
            Self::Checked(_, x, y, _)
            | Self::Wrapping(_, x, y)
            | Self::Divide(x, y, _)
            | Self::Remainder(x, y, _)
            | Self::Float(_, x, y, _)
            | Self::Compare(_, x, y)
            | Self::Logic(_, x, y) => [x, y].into_iter().for_each($f),
            Self::OfDoubles(_, x, y, _) => {
                $f(x);
                y.into_iter().for_each(&mut $f);
            }
            Self::Select(c, x, y) => [c, x, y].into_iter().for_each($f),
            Self::Hash(values) => {
                for (v, null) in values {
                    $f(v);
                    null.into_iter().for_each(&mut $f);
                }
            }
        }
    };
}

impl Operation {
    /// Calls `f` with each operand.
    pub fn each_operand(&self, mut f: impl FnMut(&Var)) {
        each_operand!(self, f);
    }

    /// The same, to change them.
    pub fn each_operand_mut(&mut self, mut f: impl FnMut(&mut Var)) {
        each_operand!(self, f);
    }
}

impl Inst {
    /// Calls `f` with each variable that the instruction uses itself; not those of its blocks.
    pub fn each_use(&self, mut f: impl FnMut(Var)) {
        match self {
            Self::Let { op, .. } => op.each_operand(|&v| f(v)),
            Self::Call { args, .. } => args.iter().for_each(|&v| f(v)),
            Self::If { condition, results, .. } => {
                f(*condition);
                for &(_, a, b) in results {
                    f(a);
                    f(b);
                }
            }
            Self::Loop { times, carried, .. } => {
                f(*times);
                for &(_, first, next) in carried {
                    f(first);
                    f(next);
                }
            }
            Self::Store { base, value, .. } | Self::AddToSum { base, value, .. } => {
                f(*base);
                f(*value);
            }
            Self::Filter(v) | Self::Prefetch { hash: v, .. } => f(*v),
            Self::Repeat { times, elements, .. } => {
                f(*times);
                elements.iter().for_each(|element| {
                    f(element.list);
                    element.missing.into_iter().for_each(&mut f);
                });
            }
            Self::Match(m) => {
                f(m.hash);
                m.until.into_iter().chain(m.active).for_each(&mut f);
                if let Some(c) = &m.condition {
                    f(c.is_true);
                    c.is_null.into_iter().for_each(f);
                }
            }
            Self::Group { hash, is_equal, known, .. } => {
                known.iter().for_each(|known| f(known.place));
                f(*hash);
                f(*is_equal);
            }
            Self::AllocRow { hash, .. } => hash.iter().for_each(|&v| f(v)),
            Self::Output { values, .. } => {
                for &(v, null) in values {
                    f(v);
                    null.into_iter().for_each(&mut f);
                }
            }
            Self::Fold(fold) => {
                if let Some(FoldElement { value, null }) = fold.element {
                    f(value);
                    f(null);
                }
            }
            Self::Raise { .. } | Self::Count(_) => {}
        }
    }

    /// Calls `f` with each block of the instruction.
    pub fn each_block(&self, mut f: impl FnMut(&Block)) {
        match self {
            Self::If { then, otherwise, .. } => [then, otherwise].into_iter().for_each(f),
            Self::Loop { body, .. } => f(body),
            Self::Match(found) => found.condition.iter().for_each(|condition| f(&condition.block)),
            Self::Group { equal, init, known, .. } => {
                known.iter().for_each(|known| f(&known.keys));
                [equal, init].into_iter().for_each(f);
            }
            _ => {}
        }
    }
}

/// Calls `f` with each variable that the block's instructions use, those inside of them, too.
pub fn each_use_within(block: &[Inst], f: &mut impl FnMut(Var)) {
    for inst in block {
        inst.each_use(&mut *f);
        inst.each_block(|block| each_use_within(block, f));
    }
}
