//! What a scan computes for many rows at once ([`Vectors`]): filters that decide about its rows, and what aggregates without
//! keys take of each of them. Whether an expression can be computed so shows when it has been lowered: its instructions
//! are operations on numbers and booleans, without calls. Branches become choices between values that are both computed,
//! one of them in vain; what can fail is computed only for rows that take its branch.

use std::collections::HashSet;

use base::ids::Id;

use super::computed::Conversion;
use super::pipe::{Pipe, Sql};
use crate::ir::{Block, FoldColumn, Inst, Logic, Source, Var, Vectors, each_use_within};

/// Numbers of computed columns while the others are not counted yet.
const COMPUTED: u32 = 1 << 31;

impl Pipe {
    /// Has the source compute a value, as the instructions of `block` do; none if that can't be. Otherwise the block is needed
    /// no more, and the column is to be folded.
    pub fn computed(&mut self, block: &Block, sql: Sql) -> Option<FoldColumn> {
        let number = self.convert(block, |conversion| {
            let value = conversion.value(sql.value)?;
            let null = match sql.null {
                Some(null) => Some(conversion.value(null)?),
                None => None,
            };
            let columns = &mut conversion.computed.vectors.columns;
            let known = columns.iter().position(|&column| column == (value, null));
            Some(known.unwrap_or_else(|| {
                columns.push((value, null));
                columns.len() - 1
            }))
        })?;
        Some(FoldColumn { index: COMPUTED + number as u32, ty: self.ty(sql.value), nullable: sql.null.is_some() })
    }

    /// Has the source let only rows through for which a condition is true that the instructions of `block` compute; false if
    /// that can't be. Otherwise the block is needed no more.
    pub fn filtered(&mut self, block: &Block, condition: Var) -> bool {
        let filter = self.convert(block, |conversion| {
            let value = conversion.value(condition)?;
            match conversion.computed.vectors.filter {
                Some(filter) => conversion.logic(Logic::And, filter, value),
                None => Some(value),
            }
        });
        if filter.is_some() {
            self.computed.vectors.filter = filter;
        }
        filter.is_some()
    }

    /// What the source computes.
    pub fn vectors(&self) -> &Vectors {
        &self.computed.vectors
    }

    /// Ends the body: what the source computes, and the body that reads it.
    pub fn take_vectors(&mut self, body: &mut Block) -> Option<Vectors> {
        let vectors = std::mem::take(&mut self.computed).vectors;
        if vectors.is_empty() {
            return None;
        }
        place(body, self.source.column_count() as u32);
        drop_unused(body);
        Some(vectors)
    }

    fn convert<T>(&mut self, block: &Block, f: impl FnOnce(&mut Conversion<'_>) -> Option<T>) -> Option<T> {
        let mut computed = std::mem::take(&mut self.computed);
        computed.look_at(self.body());
        // Inside of a block, nobody knows for which rows something may fail.
        let may_fail = self.depth() == 0;
        let result = match self.source {
            // Where predicates leave rows here and there, reading them is the most of it, whoever computes.
            Source::Table { ref predicates, .. } if predicates.is_empty() && !computed.chosen => {
                computed.convert(&self.vars, block, may_fail, f)
            }
            _ => None,
        };
        self.computed = computed;
        result
    }
}

/// Numbers computed columns behind the others, of which there are `count`.
fn place(block: &mut Block, count: u32) {
    for inst in block {
        match inst {
            Inst::Fold(fold) => {
                if let Some(column) = fold.column.as_mut().filter(|column| column.index >= COMPUTED) {
                    column.index = column.index - COMPUTED + count;
                }
            }
            Inst::If { then, otherwise, .. } => [then, otherwise].into_iter().for_each(|block| place(block, count)),
            Inst::Loop { body, .. } => place(body, count),
            _ => {}
        }
    }
}

/// Drops what is computed for nobody.
fn drop_unused(body: &mut Block) {
    let mut used = HashSet::new();
    let mut kept = Block::with_capacity(body.len());
    while let Some(inst) = body.pop() {
        if let Inst::Let { var, op } = &inst
            && op.never_fails()
            && !used.contains(&var.index())
        {
            continue;
        }
        each_use_within(std::slice::from_ref(&inst), &mut |var| _ = used.insert(var.index()));
        kept.push(inst);
    }
    kept.reverse();
    *body = kept;
}
