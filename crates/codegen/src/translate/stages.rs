//! Which stage computes a value, and what stages must hand on: the analysis before the translation.
//!
//! A body is cut into *stages* at its generators. Within a stage, each tuple is handled in one iteration of a loop;
//! between stages, tuples rest in batch buffers. So a value that is used in a later stage than it is computed in must be
//! *spilled* into a buffer, or *rematerialised*: computed again from less. Loads of columns and of fields that nobody
//! writes are rematerialised, since the position of a row (4 bytes) or its address stands for any number of them; so are
//! constants, and cheap operations over such values.
//!
//! Operations that cannot fail have no place: they are computed where they are first used (*lazily*), so that a column
//! is not read for tuples that a filter rejects, and nothing is read that nobody uses.
//!
//! Linear in the size of the body but for the number of stages that a value is handed through.

use std::collections::BTreeSet;

use base::IdMap;
use base::ids::Id;
use pipeline::ir::{Block, Conversion, Inst, MatchKind, Operation, Ty, Var};

/// A value as the translator keeps it: an IR variable, or one of the two that tell where the tuple is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Key {
    /// Position of the tuple in the source's columns, I32.
    Position,
    /// The source's row, Ptr.
    Row,
    /// A value of the body.
    Var(Var),
}

impl Key {
    /// A dense number.
    pub fn index(self) -> usize {
        match self {
            Self::Position => 0,
            Self::Row => 1,
            Self::Var(v) => v.index() + 2,
        }
    }
}

/// Where a variable's value comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Definition<'p> {
    /// Computed at its first use.
    Lazy(&'p Operation),
    /// Computed where it stands.
    Placed,
}

/// Instructions between two generators.
#[derive(Debug)]
pub(super) struct Stage<'p> {
    pub insts: &'p [Inst],
    /// Number of the first of them in the body.
    pub start: usize,
    /// The generator that ends the stage.
    pub generator: Option<&'p Inst>,
    /// What the stage hands on to the next one.
    pub spilled: Vec<Key>,
}

/// The stages of a body.
#[derive(Debug)]
pub(super) struct Stages<'p> {
    pub stages: Vec<Stage<'p>>,
    definitions: Vec<Option<(usize, Definition<'p>)>>,
}

impl<'p> Stages<'p> {
    /// Cuts a body.
    pub fn new(body: &'p [Inst], vars: &IdMap<Var, Ty>) -> Self {
        let mut this = Self { stages: Vec::new(), definitions: vec![None; vars.len()] };
        let mut rest = body;
        loop {
            let is_generator = |i: &Inst| matches!(i, Inst::Match(_) | Inst::Repeat { .. } | Inst::Prefetch { .. });
            let end = rest.iter().position(is_generator);
            let stage = this.stages.len();
            let insts = &rest[..end.unwrap_or(rest.len())];
            this.define(insts, stage);
            let generator = end.map(|e| &rest[e]);
            let start = body.len() - rest.len();
            this.stages.push(Stage { insts, start, generator, spilled: Vec::new() });
            let Some(end) = end else { break };
            if let Inst::Match(m) = &rest[end] {
                this.place(m.entry, stage + 1);
                if let Some(c) = &m.condition {
                    this.define(&c.block, stage + 1);
                }
                if let MatchKind::Mark { is_true, is_null } = m.kind {
                    this.place(is_true, stage + 1);
                    this.place(is_null, stage + 1);
                }
            }
            if let Inst::Repeat { index, elements, .. } = &rest[end] {
                let defined = elements.iter().flat_map(|element| [element.value, element.null]);
                defined.chain([*index]).for_each(|v| this.place(v, stage + 1));
            }
            rest = &rest[end + 1..];
        }
        this.find_spilled();
        this
    }

    /// How many instructions of a stage no filter stands before, if they concern each tuple of a batch, or each that a last
    /// repetition delivers at once, and that once.
    pub fn unfiltered(&self, stage: usize) -> usize {
        let filter = |inst: &Inst| matches!(inst, Inst::Filter(_));
        let at_once = match stage.checked_sub(1) {
            None => !self.can_pause(),
            // Nothing behind it pauses.
            Some(before) => {
                stage + 1 == self.stages.len() && matches!(self.stages[before].generator, Some(Inst::Repeat { .. }))
            }
        };
        let insts = self.stages[stage].insts;
        if at_once { insts.iter().position(filter).unwrap_or(insts.len()) } else { 0 }
    }

    /// Whether an instruction that is not filtered is done for all tuples at once, rather than for each.
    pub fn is_done_at_once(&self, stage: usize, inst: &Inst) -> bool {
        match inst {
            // Columns of the source are read by the positions of the tuples that are repeated.
            Inst::Fold(fold) => stage == 0 || fold.column.is_none(),
            Inst::Count(_) => true,
            _ => false,
        }
    }

    /// Whether instructions leave something to be done for each tuple.
    pub fn asks_for_each(&self, stage: usize, insts: &[Inst]) -> bool {
        insts.iter().any(|inst| match inst {
            Inst::Let { var, .. } => matches!(self.definition(*var), (_, Definition::Placed)),
            inst => !self.is_done_at_once(stage, inst),
        })
    }

    /// Whether the body may pause: whether a generator can deliver more than it was given.
    pub fn can_pause(&self) -> bool {
        self.stages.iter().any(|stage| matches!(stage.generator, Some(Inst::Match(_) | Inst::Repeat { .. })))
    }

    /// One stage of a function of two rows.
    pub fn of_function(body: &'p [Inst], rows: [Var; 2], vars: &IdMap<Var, Ty>) -> Self {
        let mut this = Self::new(body, vars);
        rows.iter().for_each(|&r| this.place(r, 0));
        this
    }

    /// Stage and definition of a variable.
    pub fn definition(&self, v: Var) -> (usize, Definition<'p>) {
        self.definitions[v.index()].expect("the verifier has seen every variable's definition")
    }

    /// Whether a later stage computes the value again instead of finding it in a buffer.
    pub fn is_rematerialised(&self, v: Var) -> bool {
        let (_, Definition::Lazy(op)) = self.definition(v) else { return false };
        match op {
            Operation::Const(_)
            | Operation::Param(..)
            | Operation::Column(..)
            | Operation::ColumnNull(_)
            | Operation::Row
            | Operation::LocalRow(_)
            | Operation::OnlyRow(_)
            | Operation::FieldAddress(..)
            | Operation::Load { .. } => true,
            Operation::Not(x)
            | Operation::IsNullPtr(x)
            | Operation::Convert(Conversion::Widen | Conversion::BoolToInt, x, ..) => self.is_rematerialised(*x),
            _ => false,
        }
    }

    fn place(&mut self, v: Var, stage: usize) {
        self.definitions[v.index()] = Some((stage, Definition::Placed));
    }

    fn define(&mut self, block: &'p [Inst], stage: usize) {
        for inst in block {
            match inst {
                Inst::Let { var, op } => {
                    let definition = if is_lazy(op) { Definition::Lazy(op) } else { Definition::Placed };
                    self.definitions[var.index()] = Some((stage, definition));
                }
                Inst::Call { results, .. } => results.iter().for_each(|&r| self.place(r, stage)),
                Inst::If { then, otherwise, results, .. } => {
                    self.define(then, stage);
                    self.define(otherwise, stage);
                    results.iter().for_each(|&(r, ..)| self.place(r, stage));
                }
                Inst::Loop { index, carried, body, .. } => {
                    self.place(*index, stage);
                    carried.iter().for_each(|&(v, ..)| self.place(v, stage));
                    self.define(body, stage);
                }
                Inst::Group { row, equal, init, known, .. } => {
                    self.place(*row, stage);
                    known.iter().for_each(|known| self.define(&known.keys, stage));
                    self.define(equal, stage);
                    self.define(init, stage);
                }
                Inst::AllocRow { row, .. } => self.place(*row, stage),
                _ => {}
            }
        }
    }

    fn find_spilled(&mut self) {
        let mut needed = BTreeSet::new();
        for s in (1..self.stages.len()).rev() {
            let mut walk = Walk { stages: self, stage: s, seen: BTreeSet::new(), out: BTreeSet::new() };
            for key in std::mem::take(&mut needed) {
                walk.key(key);
            }
            if let Some(Inst::Match(m)) = self.stages[s - 1].generator
                && let Some(c) = &m.condition
            {
                walk.block(&c.block);
                walk.var(c.is_true);
                c.is_null.iter().for_each(|&v| walk.var(v));
            }
            walk.insts(self.stages[s].insts);
            match self.stages[s].generator {
                Some(Inst::Match(m)) => {
                    walk.var(m.hash);
                    m.until.iter().chain(&m.active).for_each(|&v| walk.var(v));
                }
                Some(Inst::Repeat { times, elements, .. }) => {
                    walk.var(*times);
                    elements
                        .iter()
                        .flat_map(|element| element.missing.into_iter().chain([element.list]))
                        .for_each(|v| walk.var(v));
                }
                Some(Inst::Prefetch { hash, .. }) => walk.var(*hash),
                _ => {}
            }
            let out = walk.out;
            self.stages[s - 1].spilled = out.iter().copied().collect();
            needed = out;
        }
    }
}

/// Whether the operation can neither fail nor see effects.
fn is_lazy(op: &Operation) -> bool {
    match op {
        Operation::Load { stable, .. } => *stable,
        Operation::Checked(..) | Operation::Divide(..) | Operation::Remainder(..) => false,
        Operation::Float(..) | Operation::OfDoubles(..) | Operation::ToDecimal(..) => false,
        Operation::Convert(kind, ..) => {
            !matches!(kind, Conversion::Narrow | Conversion::FloatToInt | Conversion::FloatToFloat)
        }
        _ => true,
    }
}

/// Collects what a stage needs of earlier ones.
struct Walk<'a, 'p> {
    stages: &'a Stages<'p>,
    stage: usize,
    seen: BTreeSet<Var>,
    out: BTreeSet<Key>,
}

impl Walk<'_, '_> {
    fn key(&mut self, key: Key) {
        match key {
            Key::Var(v) => self.var(v),
            _ => {
                self.out.insert(key);
            }
        }
    }

    fn var(&mut self, v: Var) {
        if !self.seen.insert(v) {
            return;
        }
        let (stage, definition) = self.stages.definition(v);
        match definition {
            Definition::Lazy(op) if stage == self.stage || self.stages.is_rematerialised(v) => {
                match op {
                    Operation::Column(..) | Operation::ColumnNull(_) => {
                        self.out.insert(Key::Position);
                    }
                    Operation::Row => {
                        self.out.insert(Key::Row);
                    }
                    _ => {}
                }
                op.each_operand(|&v| self.var(v));
            }
            _ if stage < self.stage => {
                self.out.insert(Key::Var(v));
            }
            _ => {}
        }
    }

    fn block(&mut self, block: &Block) {
        self.insts(block);
    }

    fn insts(&mut self, insts: &[Inst]) {
        for inst in insts {
            match inst {
                Inst::Let { op, .. } if is_lazy(op) => continue,
                Inst::Fold(fold) if fold.column.is_some() => self.key(Key::Position),
                Inst::If { then, otherwise, .. } => {
                    self.block(then);
                    self.block(otherwise);
                }
                Inst::Loop { body, .. } => self.block(body),
                Inst::Group { equal, init, known, .. } => {
                    known.iter().for_each(|known| self.block(&known.keys));
                    self.block(equal);
                    self.block(init);
                }
                _ => {}
            }
            inst.each_use(|v| self.var(v));
        }
    }
}
