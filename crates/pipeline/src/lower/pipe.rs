//! A pipeline under construction: its body so far, and what each column is bound to at this point of it.

use std::collections::HashMap;

use base::IdMap;
use plan::ColumnId;
use types::SqlType;

use super::computed::Computed;
use super::pure;
use crate::ir::{
    Arithmetic, Block, Callee, Compare, Conversion, FoldColumn, FoldElement, Inst, Literal, Logic, Operation,
    PipelineId, RepeatedElement, SiteId, Source, StateId, Ty, Var,
};

/// An SQL value in the IR: the value and, if it can be NULL, a flag. An integer or decimal may be narrower than its SQL
/// type's layout where its range allows it; [`Pipe::widen`] restores the layout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sql {
    pub value: Var,
    pub null: Option<Var>,
}

/// What a column is bound to. Columns and fields are loaded at their first use.
#[derive(Clone, Copy, Debug)]
pub(super) enum Binding {
    Ready(Sql),
    /// Column of the source.
    Column {
        index: u32,
        ty: Ty,
        nullable: bool,
    },
    /// Field of a row, whose address is defined in block number `depth` of the pipe's stack.
    Field {
        row: Var,
        depth: usize,
        field: Field,
        row_may_be_null: bool,
    },
    /// A bare NULL of the type: the padding of outer joins.
    Null(Ty),
}

/// Where a value and its NULL flag lie in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub offset: u32,
    pub ty: Ty,
    pub null: Option<u32>,
}

/// An open pipeline.
#[derive(Clone, Debug)]
pub(super) struct Pipe {
    pub name: Vec<String>,
    pub source: Source,
    pub vars: IdMap<Var, Ty>,
    pub bindings: HashMap<ColumnId, Binding>,
    /// The attributes of the table that the pipe scans.
    pub attributes: HashMap<ColumnId, usize>,
    pub after: Vec<PipelineId>,
    pub fills: Vec<StateId>,
    /// Join states whose build rows this pipe marks.
    pub marks: Vec<StateId>,
    /// The join state whose marks this pipe reads: it runs after all pipes that mark, which are closed before it.
    pub reads_marks_of: Option<StateId>,
    /// The state whose order the tuples still have, one for one.
    pub ordered_by: Option<StateId>,
    /// The source's columns that are read already: by the value, the column and the NULL flag.
    read: HashMap<Var, (FoldColumn, Option<Var>)>,
    /// The place by the codes of columns, if the pipe asks for it.
    place: Option<Var>,
    /// Numbers of copies, from 1 on, and where in the body their repetition is.
    copies: Vec<(Var, usize)>,
    /// What the source computes.
    pub computed: Computed,
    /// Blocks being written: the body first, then those nested in it.
    blocks: Vec<Block>,
    /// How many of them are trials.
    trials: usize,
}

impl Pipe {
    pub fn new(name: String, source: Source) -> Self {
        Self {
            name: vec![name],
            source,
            vars: IdMap::new(),
            bindings: HashMap::new(),
            attributes: HashMap::new(),
            after: Vec::new(),
            fills: Vec::new(),
            marks: Vec::new(),
            reads_marks_of: None,
            ordered_by: None,
            read: HashMap::new(),
            place: None,
            copies: Vec::new(),
            computed: Computed::default(),
            blocks: vec![Block::new()],
            trials: 0,
        }
    }

    /// A pipe for a function of two rows outside of any pipeline.
    pub fn detached() -> Self {
        Self::new(String::new(), Source::Values(std::sync::Arc::new(types::Chunk::new(0, Vec::new()))))
    }

    /// The finished body.
    pub fn take_body(&mut self) -> Block {
        assert_eq!(self.blocks.len(), 1, "a nested block is still open");
        std::mem::take(&mut self.blocks[0])
    }

    /// How many joins the pipe has probed.
    pub fn matches(&self) -> usize {
        self.blocks[0].iter().filter(|inst| matches!(inst, Inst::Match(_))).count()
    }

    /// Whether nothing shows for which tuples the body has run so far.
    pub fn is_pure(&self) -> bool {
        pure::is_pure(&self.blocks[0]) && self.vectors().never_fail()
    }

    // ---- blocks

    /// The body so far.
    pub fn body(&self) -> &Block {
        &self.blocks[0]
    }

    pub fn depth(&self) -> usize {
        self.blocks.len() - 1
    }
    pub fn open_block(&mut self) {
        self.blocks.push(Block::new());
    }
    pub fn close_block(&mut self) -> Block {
        assert!(self.blocks.len() > 1, "the body itself stays open");
        self.blocks.pop().expect("just checked")
    }
    /// Opens a block for what may stand elsewhere in the end; it happens wherever what is around it does.
    pub fn open_trial(&mut self) {
        self.trials += 1;
        self.open_block();
    }
    pub fn close_trial(&mut self) -> Block {
        self.trials -= 1;
        self.close_block()
    }
    /// Goes on with the instructions of a closed block.
    pub fn append(&mut self, block: Block) {
        self.blocks.last_mut().expect("the body").extend(block);
    }
    pub fn push(&mut self, inst: Inst) {
        self.blocks.last_mut().expect("the body").push(inst);
    }

    pub fn var(&mut self, ty: Ty) -> Var {
        self.vars.push(ty)
    }
    pub fn ty(&self, var: Var) -> Ty {
        self.vars[var]
    }

    fn let_at(&mut self, depth: usize, ty: Ty, op: Operation) -> Var {
        let var = self.var(ty);
        self.blocks[depth].push(Inst::Let { var, op });
        var
    }
    pub fn let_(&mut self, ty: Ty, op: Operation) -> Var {
        self.let_at(self.depth(), ty, op)
    }

    // ---- values

    pub fn bool(&mut self, value: bool) -> Var {
        self.let_(Ty::Bool, Operation::Const(Literal::Bool(value)))
    }
    pub fn int(&mut self, value: i128, ty: Ty) -> Var {
        self.let_(ty, Operation::Const(Literal::Int(value, ty)))
    }
    pub fn float(&mut self, value: f64, ty: Ty) -> Var {
        self.let_(ty, Operation::Const(Literal::Float(value, ty)))
    }
    /// A value to stand beside a true NULL flag.
    pub fn zero(&mut self, ty: Ty) -> Var {
        self.zero_at(self.depth(), ty)
    }
    fn zero_at(&mut self, depth: usize, ty: Ty) -> Var {
        let literal = match ty {
            Ty::Bool => Literal::Bool(false),
            Ty::I16 | Ty::I32 | Ty::I64 | Ty::I128 => Literal::Int(0, ty),
            Ty::F32 | Ty::F64 => Literal::Float(0.0, ty),
            Ty::Str => Literal::EmptyStr,
            Ty::Interval => Literal::ZeroInterval,
            Ty::Ptr => Literal::NullPtr,
        };
        self.let_at(depth, ty, Operation::Const(literal))
    }

    pub fn compare(&mut self, op: Compare, a: Var, b: Var) -> Var {
        debug_assert_eq!(self.ty(a), self.ty(b));
        self.let_(Ty::Bool, Operation::Compare(op, a, b))
    }
    pub fn and(&mut self, a: Var, b: Var) -> Var {
        self.let_(Ty::Bool, Operation::Logic(Logic::And, a, b))
    }
    pub fn or(&mut self, a: Var, b: Var) -> Var {
        self.let_(Ty::Bool, Operation::Logic(Logic::Or, a, b))
    }
    pub fn not(&mut self, a: Var) -> Var {
        self.let_(Ty::Bool, Operation::Not(a))
    }
    pub fn wrapping(&mut self, op: Arithmetic, a: Var, b: Var) -> Var {
        debug_assert_eq!(self.ty(a), self.ty(b));
        self.let_(self.ty(a), Operation::Wrapping(op, a, b))
    }
    pub fn load(&mut self, base: Var, offset: u32, ty: Ty, stable: bool) -> Var {
        self.let_(ty, Operation::Load { base, offset, ty, stable })
    }
    pub fn store(&mut self, base: Var, offset: u32, value: Var) {
        self.push(Inst::Store { base, offset, value });
    }
    pub fn call(&mut self, callee: Callee, args: Vec<Var>, position: Option<u32>) -> Vec<Var> {
        let (_, results) = callee.signature().expect("sites are called by `call_site`");
        let results: Vec<Var> = results.into_iter().map(|ty| self.var(ty)).collect();
        self.push(Inst::Call { results: results.clone(), callee, args, position });
        results
    }
    pub fn call1(&mut self, callee: Callee, args: Vec<Var>, position: Option<u32>) -> Var {
        self.call(callee, args, position)[0]
    }

    /// An integer in a wider (or the same) type.
    pub fn widen(&mut self, value: Var, ty: Ty) -> Var {
        let from = self.ty(value);
        if from == ty {
            return value;
        }
        debug_assert!(from.is_integer() && ty.is_integer() && from.size() < ty.size(), "{from:?} to {ty:?}");
        self.let_(ty, Operation::Convert(Conversion::Widen, value, ty, None))
    }

    /// The value in its SQL type's layout.
    pub fn in_layout(&mut self, sql: Sql, sql_type: SqlType) -> Sql {
        Sql { value: self.widen(sql.value, sql_type.physical().into()), null: sql.null }
    }

    // ---- NULL flags

    /// True if any of the flags is.
    pub fn any_null(&mut self, flags: impl IntoIterator<Item = Option<Var>>) -> Option<Var> {
        flags.into_iter().flatten().fold(None, |all: Option<Var>, flag| {
            Some(match all {
                Some(all) if all == flag => all,
                Some(all) => self.or(all, flag),
                None => flag,
            })
        })
    }

    // ---- columns

    /// The value of a column here.
    pub fn column(&mut self, column: ColumnId) -> Option<Sql> {
        let sql = match *self.bindings.get(&column)? {
            Binding::Ready(sql) => return Some(sql),
            Binding::Column { index, ty, nullable } => {
                let of = FoldColumn { index, ty, nullable };
                let sql = self.read(of);
                self.read.insert(sql.value, (of, sql.null));
                sql
            }
            Binding::Field { row, depth, field, row_may_be_null } => {
                self.load_field(row, depth, field, row_may_be_null)
            }
            Binding::Null(ty) => {
                let value = self.zero_at(0, ty);
                Sql { value, null: Some(self.let_at(0, Ty::Bool, Operation::Const(Literal::Bool(true)))) }
            }
        };
        self.bindings.insert(column, Binding::Ready(sql));
        Some(sql)
    }

    /// The source's column that a column is, if it is one.
    pub fn source_column(&self, column: ColumnId) -> Option<FoldColumn> {
        match *self.bindings.get(&column)? {
            Binding::Column { index, ty, nullable } => Some(FoldColumn { index, ty, nullable }),
            Binding::Ready(sql) => self.read.get(&sql.value).filter(|read| read.1 == sql.null).map(|read| read.0),
            Binding::Field { .. } | Binding::Null(_) => None,
        }
    }

    /// The number of copies, from 1 on, that the last repetition makes.
    pub fn counts_copies(&mut self, number: Var) {
        let repetition = self.blocks[0].iter().rposition(|inst| matches!(inst, Inst::Repeat { .. }));
        self.copies.extend(repetition.map(|at| (number, at)));
    }

    /// The element of a list that has that number, if that is the number of a repetition's copy: it delivers the element with it.
    pub fn element_of_copy(&mut self, list: Sql, number: Var, (site, ty): (SiteId, Ty)) -> Option<Sql> {
        let (_, at) = *self.copies.iter().find(|(copy, _)| *copy == number)?;
        let defines = |inst: &Inst, wanted: Var| match inst {
            Inst::Let { var, .. } => *var == wanted,
            Inst::Call { results, .. } => results.contains(&wanted),
            Inst::If { results, .. } => results.iter().any(|(result, ..)| *result == wanted),
            _ => false,
        };
        let is_known = |wanted: Var| self.blocks[0][..at].iter().any(|inst| defines(inst, wanted));
        if !is_known(list.value) || !list.null.is_none_or(is_known) {
            return None;
        }
        let (list, missing) = (list.value, list.null);
        let (value, null) = (self.vars.push(ty), self.vars.push(Ty::Bool));
        let Inst::Repeat { elements, .. } = &mut self.blocks[0][at] else { return None };
        let known = elements.iter().find(|known| (known.list, known.site) == (list, site)).copied();
        let element = known.unwrap_or_else(|| {
            elements.push(RepeatedElement { list, missing, site, value, null });
            elements[elements.len() - 1]
        });
        Some(Sql { value: element.value, null: Some(element.null) })
    }

    /// The value as an element that comes with each tuple that is here: one of the last repetition, behind which nothing was left out.
    pub fn last_element(&self, sql: Sql) -> Option<FoldElement> {
        let bends = |inst: &Inst| {
            matches!(inst, Inst::Filter(_) | Inst::Match(_) | Inst::Repeat { .. } | Inst::Prefetch { .. })
        };
        let last = self.blocks[0].iter().rev().find(|inst| bends(inst)).filter(|_| self.depth() == 0)?;
        let Inst::Repeat { elements, .. } = last else { return None };
        let found = elements.iter().find(|element| (element.value, Some(element.null)) == (sql.value, sql.null))?;
        // Floats lie as doubles where they are delivered.
        if self.ty(found.value) == Ty::F32 {
            return None;
        }
        Some(FoldElement { value: found.value, null: found.null })
    }

    /// The place of the tuple by the codes of these attributes of the table that is the source, which none has asked for yet.
    pub fn read_codes(&mut self, attributes: Vec<usize>) -> Var {
        let Source::Table { columns, codes, .. } = &mut self.source else { unreachable!("tables have codes") };
        *codes = attributes;
        let index = columns.len() as u32;
        let place = self.let_at(0, Ty::I32, Operation::Column(index, Ty::I32));
        self.place = Some(place);
        place
    }

    /// How many characters the texts of a column have, as a column of the table that is the source, if the column is one: where
    /// each tuple that the scan delivers is asked for it, so that no text is looked at in vain.
    pub fn length(&mut self, column: ColumnId) -> Option<FoldColumn> {
        let chooses = |inst: &Inst| matches!(inst, Inst::Filter(_) | Inst::Match(_) | Inst::Repeat { .. });
        if self.depth() > self.trials || self.vectors().filter.is_some() || self.blocks[0].iter().any(chooses) {
            return None;
        }
        let text = self.source_column(column)?;
        let Source::Table { columns, .. } = &mut self.source else { return None };
        let of = columns.get(text.index as usize)?;
        if !matches!(of.sql_type, SqlType::Text | SqlType::Varchar(_)) {
            return None;
        }
        let length = of.length();
        let index = columns.iter().position(|c| *c == length).unwrap_or_else(|| {
            columns.push(length);
            columns.len() - 1
        });
        let behind = columns.len() as u32;
        // The place by codes lies behind all columns.
        let place = self.place;
        let is_place = |inst: &&mut Inst| matches!(inst, Inst::Let { var, .. } if Some(*var) == place);
        if let Some(Inst::Let { op, .. }) = self.blocks[0].iter_mut().find(is_place) {
            *op = Operation::Column(behind, Ty::I32);
        }
        Some(FoldColumn { index: index as u32, ty: Ty::I32, nullable: text.nullable })
    }

    /// The value of a column of the source.
    pub fn read(&mut self, FoldColumn { index, ty, nullable }: FoldColumn) -> Sql {
        let value = self.let_at(0, ty, Operation::Column(index, ty));
        let null = nullable.then(|| self.let_at(0, Ty::Bool, Operation::ColumnNull(index)));
        Sql { value, null }
    }

    fn load_field(&mut self, row: Var, depth: usize, field: Field, row_may_be_null: bool) -> Sql {
        let load = |offset, ty| Operation::Load { base: row, offset, ty, stable: true };
        if !row_may_be_null {
            let value = self.let_at(depth, field.ty, load(field.offset, field.ty));
            let null = field.null.map(|offset| self.let_at(depth, Ty::Bool, load(offset, Ty::Bool)));
            return Sql { value, null };
        }
        let missing = self.let_at(depth, Ty::Bool, Operation::IsNullPtr(row));
        let zero = self.zero_at(depth, field.ty);
        let yes = self.let_at(depth, Ty::Bool, Operation::Const(Literal::Bool(true)));
        let no = self.let_at(depth, Ty::Bool, Operation::Const(Literal::Bool(false)));
        let (loaded, flag) = (self.var(field.ty), self.var(Ty::Bool));
        let mut otherwise = vec![Inst::Let { var: loaded, op: load(field.offset, field.ty) }];
        if let Some(offset) = field.null {
            otherwise.push(Inst::Let { var: flag, op: load(offset, Ty::Bool) });
        }
        let (value, null) = (self.var(field.ty), self.var(Ty::Bool));
        let results = vec![(value, zero, loaded), (null, yes, if field.null.is_some() { flag } else { no })];
        self.blocks[depth].push(Inst::If { condition: missing, then: Block::new(), otherwise, results });
        Sql { value, null: Some(null) }
    }

    /// Binds columns to the fields of a row that is defined in the current block.
    pub fn bind_row(&mut self, row: Var, fields: &[(ColumnId, Field)], row_may_be_null: bool) {
        let depth = self.depth();
        for &(column, field) in fields {
            self.bindings.insert(column, Binding::Field { row, depth, field, row_may_be_null });
        }
    }

    pub fn bind(&mut self, column: ColumnId, sql: Sql) {
        self.bindings.insert(column, Binding::Ready(sql));
    }

    /// Stores a value and its flag into a field.
    pub fn store_field(&mut self, row: Var, field: Field, sql: Sql) {
        let value = if field.ty.is_integer() { self.widen(sql.value, field.ty) } else { sql.value };
        debug_assert_eq!(self.ty(value), field.ty);
        self.store(row, field.offset, value);
        if let Some(offset) = field.null {
            let null = sql.null.unwrap_or_else(|| self.bool(false));
            self.store(row, offset, null);
        }
    }

    /// Depends on pipelines that must end first.
    pub fn depend_on(&mut self, pipelines: &[PipelineId]) {
        for &p in pipelines {
            if !self.after.contains(&p) {
                self.after.push(p);
            }
        }
    }
}
