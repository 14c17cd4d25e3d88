//! Error sites: where in the SQL text an instruction comes from, kept beside the program so that its code does not
//! depend on it. The same statement with one blank more has the same code.

use std::collections::HashMap;

use super::{Block, Inst, MatchKind, Operation, Program, State};

impl Program {
    /// Numbers the positions in the SQL text that instructions carry in the order in which they appear, keeps them in
    /// [`Program::positions`], and leaves the numbers in their place. Called once, when the program is complete.
    pub(crate) fn number_positions(&mut self) {
        let mut numbers: HashMap<u32, u32> = HashMap::new();
        let positions = &mut self.positions;
        let mut number = |position: &mut Option<u32>| {
            if let Some(text) = position {
                *text = *numbers.entry(*text).or_insert_with(|| {
                    positions.push(*text);
                    positions.len() as u32 - 1
                });
            }
        };
        for (_, state) in self.states.iter_mut() {
            match state {
                State::Group(group) => {
                    let functions = group.equal.iter_mut().chain([&mut group.combine]);
                    functions.for_each(|f| each_position(&mut f.body, &mut number));
                }
                State::Recursion(recursion) => {
                    let functions =
                        recursion.distinct.iter_mut().flat_map(|d| d.equal.iter_mut().chain([&mut d.combine]));
                    functions.for_each(|f| each_position(&mut f.body, &mut number));
                }
                State::Window(window) => window.functions.iter_mut().for_each(|f| number(&mut f.position)),
                _ => {}
            }
        }
        for (_, pipeline) in self.pipelines.iter_mut() {
            let steps = pipeline.vectors.iter_mut().flat_map(|vectors| &mut vectors.steps);
            steps.filter_map(|step| step.op.position_mut()).for_each(&mut number);
            each_position(&mut pipeline.body, &mut number);
        }
    }
}

impl Operation {
    /// Where in the SQL text it is, if it can fail.
    fn position_mut(&mut self) -> Option<&mut Option<u32>> {
        match self {
            Self::Checked(_, _, _, position)
            | Self::Divide(_, _, position)
            | Self::Remainder(_, _, position)
            | Self::Float(_, _, _, position)
            | Self::OfDoubles(_, _, _, position)
            | Self::ToDecimal(_, _, _, position)
            | Self::Convert(_, _, _, position) => Some(position),
            _ => None,
        }
    }
}

/// Visits the position of every instruction that can fail.
fn each_position(block: &mut Block, visit: &mut impl FnMut(&mut Option<u32>)) {
    for inst in block {
        match inst {
            Inst::Let { op, .. } => op.position_mut().into_iter().for_each(&mut *visit),
            Inst::Call { position, .. } | Inst::Raise { position, .. } => visit(position),
            Inst::If { then, otherwise, .. } => {
                each_position(then, visit);
                each_position(otherwise, visit);
            }
            Inst::Loop { body, .. } => each_position(body, visit),
            Inst::Match(found) => {
                if let MatchKind::Single { position } = &mut found.kind {
                    visit(position);
                }
                if let Some(condition) = &mut found.condition {
                    each_position(&mut condition.block, visit);
                }
            }
            Inst::Group { equal, init, known, .. } => {
                known.iter_mut().for_each(|known| each_position(&mut known.keys, visit));
                each_position(equal, visit);
                each_position(init, visit);
            }
            Inst::Store { .. }
            | Inst::AddToSum { .. }
            | Inst::Fold(_)
            | Inst::Filter(_)
            | Inst::Repeat { .. }
            | Inst::Prefetch { .. }
            | Inst::AllocRow { .. }
            | Inst::Output { .. }
            | Inst::Count(_) => {}
        }
    }
}
