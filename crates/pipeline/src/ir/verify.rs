//! The verifier: what every program satisfies. It runs in debug builds before code is generated, and in tests.
//!
//! 1. Each variable is defined once, before its uses, in a block that encloses them, and has a type.
//! 2. Operands have the types that the operation asks for; nothing is converted silently.
//! 3. Filters, generators, `Group`, `AllocRow`, `Output` and `Count` stand at the top level of a body; `Raise` only inside
//!    of `If`, and ends its block. `Match` and `Repeat` stand before `Group` and `AllocRow`.
//! 4. `Column` occurs with sources that have columns, `Row` with sources of rows; columns have the source's types.
//! 5. States are of the kind that the instruction needs, and hashes are given exactly for join rows.
//! 6. Offsets lie inside of the row, where it is known whose row it is.
//! 7. Rounds are those of recursions.
//! 8. Pipelines come after those that they depend on.

mod operation;

use std::collections::HashMap;

use base::IdMap;
use base::ids::Id;
use types::ops::array::is_read_as_words;

use super::{
    Block, Callee, Fold, FoldElement, FoldKind, Function, GroupState, Inst, JoinState, JoinWord, KeyFilter, KeyLookup,
    KeyPlace, Known, LookupPart, Match, MatchKind, Pipeline, Program, RepeatedElement, RowLayout, RowSet, Source,
    State, StateId, Step, Ty, Var, Vectors,
};

/// Checks a program; the error names the place and what is wrong there.
pub fn verify(program: &Program) -> Result<(), String> {
    for (id, pipeline) in program.pipelines.iter() {
        verify_pipeline(program, pipeline).map_err(|e| format!("{id} ({}): {e}", pipeline.name))?;
        if let Some(late) = pipeline.after.iter().find(|p| p.index() >= id.index()) {
            return Err(format!("{id} comes before {late}, which it depends on"));
        }
    }
    for (id, state) in program.states.iter() {
        if let State::Join(JoinState { layout, word, .. }) = state {
            if word.null().is_some_and(|null| null + 1 > layout.size) {
                return Err(format!("{id}: the key's flag lies outside of the row"));
            }
            if let JoinWord::Range { until: Some(until), .. } = word
                && until + 8 > layout.size
            {
                return Err(format!("{id}: the range's end lies outside of the row"));
            }
        }
        let (Some((equal, combine)), Some(layout)) = (state.pair(), state.layout()) else { continue };
        for (f, answers, what) in equal.map(|f| (f, true, "equal")).into_iter().chain([(combine, false, "combine")]) {
            verify_function(program, layout, f, answers).map_err(|e| format!("{id} {what}: {e}"))?;
        }
    }
    match program.states.get(program.result).and_then(State::output) {
        Some(_) => Ok(()),
        None => Err(format!("{} is not a result", program.result)),
    }
}

fn verify_pipeline(program: &Program, pipeline: &Pipeline) -> Result<(), String> {
    if let Some(vectors) = &pipeline.vectors {
        verify_vectors(program, pipeline, vectors).map_err(|e| format!("vectors: {e}"))?;
    }
    let mut v = Verifier::new(program, &pipeline.vars, Some(&pipeline.source));
    v.vectors = pipeline.vectors.as_ref();
    if let Source::Rows { state, rows } = &pipeline.source {
        v.row_layout(*state)?;
        if *rows == RowSet::Round && (pipeline.rounds != Some(*state) || !v.is_recursion(*state)) {
            return Err(format!("it reads a round of {state}, and does not run in its rounds"));
        }
    }
    if let Some(state) = pipeline.rounds
        && !v.is_recursion(state)
    {
        return Err(format!("{state} has no rounds"));
    }
    let filters: &[KeyFilter] = if let Source::Table { filters, .. } = &pipeline.source { filters } else { &[] };
    for filter in filters {
        if !matches!(v.state(filter.state)?, State::Join(JoinState { word: JoinWord::Key { .. }, filters: true, .. })) {
            return Err(format!("{} is not a join whose keys filter", filter.state));
        }
    }
    if let Source::Table { lookups, .. } = &pipeline.source {
        lookups.iter().try_for_each(|lookup| verify_lookup(&v, lookup))?;
    }
    if let Source::Table { columns, .. } = &pipeline.source
        && let Some(column) = columns.iter().find(|c| c.is_length && *c != &c.length())
    {
        return Err(format!("lengths of attribute {} are no {}", column.attribute, column.sql_type));
    }
    if let Some(id) = pipeline.fills.iter().find(|&&s| program.states.get(s).is_none()) {
        return Err(format!("fills {id}, which does not exist"));
    }
    v.body(&pipeline.body)
}

fn verify_lookup(v: &Verifier<'_>, lookup: &KeyLookup) -> Result<(), String> {
    let State::Join(join) = v.state(lookup.state)? else { return Err(format!("{} is not a join", lookup.state)) };
    let is_there = |part: &LookupPart| match part.place {
        KeyPlace::Word => matches!(join.word, JoinWord::Key { .. }),
        KeyPlace::Field { offset, ty, .. } => {
            (ty.is_integer() || ty == Ty::Str) && join.layout.fields.iter().any(|f| (f.offset, f.ty) == (offset, ty))
        }
    };
    match lookup.parts.is_empty() || !lookup.parts.iter().all(is_there) {
        true => Err(format!("{} has no such keys", lookup.state)),
        false => Ok(()),
    }
}

fn verify_vectors(program: &Program, pipeline: &Pipeline, vectors: &Vectors) -> Result<(), String> {
    if !matches!(pipeline.source, Source::Table { .. }) {
        return Err("only tables compute them".into());
    }
    let mut v = Verifier::new(program, &vectors.vars, Some(&pipeline.source));
    for Step { var, op, only_if } in &vectors.steps {
        only_if.map_or(Ok(()), |condition| v.expect(condition, Ty::Bool))?;
        let declared = *vectors.vars.get(*var).ok_or_else(|| format!("{var} has no type"))?;
        let ty = v.operation(op, declared).map_err(|e| format!("{var} = {op:?}: {e}"))?;
        if !op.is_vectorised(|x| vectors.vars[x]) {
            return Err(format!("{var} = {op:?} is not for many rows at once"));
        }
        v.define(*var, ty)?;
    }
    vectors.filter.map_or(Ok(()), |filter| v.expect(filter, Ty::Bool))?;
    vectors.columns.iter().try_for_each(|&(value, null)| {
        v.used(value)?;
        null.map_or(Ok(()), |null| v.expect(null, Ty::Bool))
    })
}

fn verify_function(program: &Program, layout: &RowLayout, f: &Function, answers: bool) -> Result<(), String> {
    let mut v = Verifier::new(program, &f.vars, None);
    for row in f.rows {
        v.define(row, Ty::Ptr)?;
        v.rows.insert(row, layout);
    }
    v.block(&f.body, 1)?;
    if answers != f.result.is_some() {
        return Err("it has a result exactly if it answers a question".into());
    }
    f.result.map_or(Ok(()), |r| v.expect(r, Ty::Bool))
}

struct Verifier<'p> {
    program: &'p Program,
    vars: &'p IdMap<Var, Ty>,
    source: Option<&'p Source>,
    /// What the source computes.
    vectors: Option<&'p Vectors>,
    /// Whether the variable may be used here.
    visible: Vec<bool>,
    /// Whether it has been defined anywhere.
    defined: Vec<bool>,
    scope: Vec<Var>,
    /// Whose row a pointer points to, where that is known.
    rows: HashMap<Var, &'p RowLayout>,
}

impl<'p> Verifier<'p> {
    fn is_recursion(&self, state: StateId) -> bool {
        matches!(self.program.states.get(state), Some(State::Recursion(_)))
    }

    fn new(program: &'p Program, vars: &'p IdMap<Var, Ty>, source: Option<&'p Source>) -> Self {
        let n = vars.len();
        Self {
            program,
            vars,
            source,
            vectors: None,
            visible: vec![false; n],
            defined: vec![false; n],
            scope: Vec::new(),
            rows: HashMap::new(),
        }
    }

    /// The type of a variable that is visible here.
    fn used(&self, v: Var) -> Result<Ty, String> {
        match self.visible.get(v.index()) {
            Some(true) => Ok(self.vars[v]),
            Some(false) => Err(format!("{v} is used where it is not defined")),
            None => Err(format!("{v} has no type")),
        }
    }

    fn expect(&self, v: Var, ty: Ty) -> Result<(), String> {
        let found = self.used(v)?;
        if found == ty { Ok(()) } else { Err(format!("{v} is {found:?}, not {ty:?}")) }
    }

    fn define(&mut self, v: Var, ty: Ty) -> Result<(), String> {
        match self.vars.get(v) {
            None => return Err(format!("{v} has no type")),
            Some(&declared) if declared != ty => return Err(format!("{v} is declared {declared:?} but is {ty:?}")),
            _ => {}
        }
        if std::mem::replace(&mut self.defined[v.index()], true) {
            return Err(format!("{v} is defined twice"));
        }
        self.visible[v.index()] = true;
        self.scope.push(v);
        Ok(())
    }

    fn state(&self, id: StateId) -> Result<&'p State, String> {
        self.program.states.get(id).ok_or_else(|| format!("{id} does not exist"))
    }

    fn row_layout(&self, id: StateId) -> Result<&'p RowLayout, String> {
        self.state(id)?.layout().ok_or_else(|| format!("{id} has no rows"))
    }

    /// Runs `f` for a part of the code whose definitions are not visible behind it.
    fn scoped(&mut self, f: impl FnOnce(&mut Self) -> Result<(), String>) -> Result<(), String> {
        let mark = self.scope.len();
        f(self)?;
        for v in self.scope.drain(mark..) {
            self.visible[v.index()] = false;
        }
        Ok(())
    }

    fn body(&mut self, body: &'p Block) -> Result<(), String> {
        self.block(body, 0)
    }

    fn block(&mut self, block: &'p [Inst], depth: usize) -> Result<(), String> {
        // Behind a generator a batch may go on with another worker, who has other rows.
        let mut has_row = false;
        for (i, inst) in block.iter().enumerate() {
            has_row |= matches!(inst, Inst::Group { .. } | Inst::AllocRow { .. });
            if has_row && matches!(inst, Inst::Match(_) | Inst::Repeat { .. }) {
                return Err(format!("a generator behind a row of the worker's own: {inst:?}"));
            }
            let top = matches!(
                inst,
                Inst::Filter(_)
                    | Inst::Match(_)
                    | Inst::Repeat { .. }
                    | Inst::Prefetch { .. }
                    | Inst::Group { .. }
                    | Inst::AllocRow { .. }
                    | Inst::Output { .. }
                    | Inst::Count(_)
            );
            if top && depth > 0 {
                return Err(format!("not at the top level: {inst:?}"));
            }
            if matches!(inst, Inst::Raise { .. }) && (depth == 0 || i + 1 != block.len()) {
                return Err("raise must end a block inside of an if".into());
            }
            self.inst(inst, depth)?;
        }
        Ok(())
    }

    /// The blocks of a `Group` that see its keys.
    fn group(&mut self, inst: &'p Inst, depth: usize) -> Result<(), String> {
        let Inst::Group { hash, equal, is_equal, init, .. } = inst else { return Ok(()) };
        self.expect(*hash, Ty::I64)?;
        self.scoped(|v| {
            v.block(equal, depth + 1)?;
            v.expect(*is_equal, Ty::Bool)
        })?;
        self.scoped(|v| v.block(init, depth + 1))
    }

    fn inst(&mut self, inst: &'p Inst, depth: usize) -> Result<(), String> {
        match inst {
            Inst::Let { var, op } => {
                let declared = *self.vars.get(*var).ok_or_else(|| format!("{var} has no type"))?;
                let ty = self.operation(op, declared).map_err(|e| format!("{var} = {op:?}: {e}"))?;
                if let Some(layout) = self.whose_row(op)? {
                    self.rows.insert(*var, layout);
                }
                self.define(*var, ty)
            }
            Inst::Call { results, callee, args, .. } => self.call(results, *callee, args),
            Inst::If { condition, then, otherwise, results } => {
                self.expect(*condition, Ty::Bool)?;
                for (block, is_then) in [(then, true), (otherwise, false)] {
                    self.scoped(|v| {
                        v.block(block, depth + 1)?;
                        for &(result, a, b) in results {
                            let ty = *v.vars.get(result).ok_or_else(|| format!("{result} has no type"))?;
                            v.expect(if is_then { a } else { b }, ty)?;
                        }
                        Ok(())
                    })?;
                }
                results.iter().try_for_each(|&(r, ..)| self.define(r, self.vars[r]))
            }
            Inst::Loop { times, index, carried, body } => {
                self.expect(*times, Ty::I64)?;
                for &(var, first, _) in carried {
                    let ty = *self.vars.get(var).ok_or_else(|| format!("{var} has no type"))?;
                    self.expect(first, ty)?;
                    self.define(var, ty)?;
                }
                self.define(*index, Ty::I64)?;
                self.scoped(|v| {
                    v.block(body, depth + 1)?;
                    carried.iter().try_for_each(|&(var, _, next)| v.expect(next, v.vars[var]))
                })
            }
            Inst::Store { base, offset, value } => {
                self.expect(*base, Ty::Ptr)?;
                let ty = self.used(*value)?;
                self.in_row(*base, *offset, ty)
            }
            Inst::AddToSum { base, offset, value } => {
                self.expect(*base, Ty::Ptr)?;
                self.expect(*value, Ty::F64)?;
                [0, 8].iter().try_for_each(|&at| self.in_row(*base, offset + at, Ty::F64))
            }
            Inst::Fold(fold) => self.fold(fold),
            Inst::Raise { .. } | Inst::Count(_) => Ok(()),
            Inst::Filter(condition) => self.expect(*condition, Ty::Bool),
            Inst::Repeat { times, index, elements } => {
                self.expect(*times, Ty::I64)?;
                self.define(*index, Ty::I64)?;
                elements.iter().try_for_each(|element| self.repeated(element))
            }
            Inst::Prefetch { state, hash } => {
                self.expect(*hash, Ty::I64)?;
                match self.state(*state)? {
                    State::Group(g) if g.has_keys => Ok(()),
                    _ => Err(format!("{state} is not a group state with keys")),
                }
            }
            Inst::Match(m) => self.a_match(m),
            Inst::Group { state, row, known, .. } => {
                let layout = match self.state(*state)? {
                    State::Group(g) if g.has_keys => &g.layout,
                    _ => return Err(format!("{state} is not a group state with keys")),
                };
                self.rows.insert(*row, layout);
                // The row is another one in each of the blocks and behind them; to the verifier it is one definition.
                self.define(*row, Ty::Ptr)?;
                match known {
                    None => self.group(inst, depth),
                    Some(Known { place, keys }) => {
                        self.expect(*place, Ty::I32)?;
                        self.scoped(|v| {
                            v.block(keys, depth + 1)?;
                            v.group(inst, depth)
                        })
                    }
                }
            }
            Inst::AllocRow { state, row, hash } => {
                let layout = self.row_layout(*state)?;
                let state_kind = self.state(*state)?;
                if matches!(state_kind, State::Group(_)) {
                    return Err(format!("rows of {state} are made by group"));
                }
                if hash.is_some() != matches!(state_kind, State::Join(_)) {
                    return Err("a hash is given exactly for join rows".into());
                }
                hash.map_or(Ok(()), |h| self.expect(h, Ty::I64))?;
                self.rows.insert(*row, layout);
                self.define(*row, Ty::Ptr)
            }
            Inst::Output { state, values } => {
                let Some(types) = self.state(*state)?.output() else { return Err(format!("{state} is not a result")) };
                if types.len() != values.len() {
                    return Err(format!("{} values for {} columns", values.len(), types.len()));
                }
                for (&(value, null), sql_type) in values.iter().zip(types) {
                    self.expect(value, sql_type.physical().into())?;
                    null.map_or(Ok(()), |n| self.expect(n, Ty::Bool))?;
                }
                Ok(())
            }
        }
    }

    fn fold(&self, fold: &Fold) -> Result<(), String> {
        if self.source.is_none() {
            return Err("folds are for tuples of a source".into());
        }
        let State::Group(GroupState { layout, has_keys: false, .. }) = self.state(fold.state)? else {
            return Err(format!("{} is not a group state without keys", fold.state));
        };
        if let Some(FoldElement { value, null }) = fold.element {
            self.expect(null, Ty::Bool)?;
            let ty = self.used(value)?;
            let sums = fold.kind == FoldKind::Count || fold.kind == FoldKind::Sum;
            if fold.column.is_some() || !sums || !matches!(ty, Ty::I32 | Ty::I64 | Ty::F64) {
                return Err(format!("no such fold of an element: {fold:?}"));
            }
        }
        let size = match (fold.kind, fold.column) {
            (FoldKind::Sum, None) if fold.element.is_some() => 16,
            (FoldKind::Count, _) if fold.seen.is_none() => 8,
            (FoldKind::Sum, Some(c)) if c.ty == Ty::I128 => 24,
            (FoldKind::Sum, Some(c)) if c.ty.is_number() => 16,
            (FoldKind::SumAsDouble, Some(c)) if matches!(c.ty, Ty::I16 | Ty::I32 | Ty::I64) => 16,
            (FoldKind::Variance, Some(c)) if c.ty.is_number() && c.ty != Ty::I128 && fold.seen.is_none() => 48,
            (FoldKind::Min | FoldKind::Max, Some(c)) if c.ty.is_number() && fold.seen.is_some() => c.ty.size(),
            _ => return Err(format!("no such fold: {fold:?}")),
        };
        if fold.offset + size > layout.size || fold.seen.is_some_and(|at| at >= layout.size) {
            return Err(format!("{fold:?} in a row of {} bytes", layout.size));
        }
        fold.column.map_or(Ok(()), |c| self.column(c.index, c.ty).map(drop))
    }

    fn call(&mut self, results: &[Var], callee: Callee, args: &[Var]) -> Result<(), String> {
        let (params, outs) = match callee {
            Callee::Site(id) => {
                let site = self.program.sites.get(id).ok_or_else(|| format!("{id} does not exist"))?;
                let params = site.arguments.iter().map(|t| t.physical().into()).collect();
                (params, vec![site.result.physical().into(), Ty::Bool])
            }
            _ => callee.signature().ok_or_else(|| format!("{callee:?} has no typed form"))?,
        };
        if let Callee::ElementCount(id)
        | Callee::Element(id, _)
        | Callee::Subscript(id, _)
        | Callee::OfLists(id, ..)
        | Callee::FieldStart(id)
        | Callee::ListPush(id, _)
        | Callee::MakeList { elements: id, .. } = callee
        {
            let site = self.program.sites.get(id).ok_or_else(|| format!("{id} does not exist"))?;
            let ty = Ty::from(site.result.physical());
            if matches!(callee, Callee::Element(_, of) | Callee::Subscript(_, of) | Callee::ListPush(_, of) if of != ty)
            {
                return Err(format!("{callee:?} of elements that are {ty:?}"));
            }
        }
        if let Callee::Like(p) | Callee::InSet(p, _) = callee {
            self.program.params.get(p).ok_or_else(|| format!("{p} does not exist"))?;
        }
        if params.len() != args.len() || outs.len() != results.len() {
            return Err(format!("{callee:?} has {} arguments and {} results", params.len(), outs.len()));
        }
        args.iter().zip(params).try_for_each(|(&v, ty)| self.expect(v, ty))?;
        results.iter().zip(outs).try_for_each(|(&v, ty)| self.define(v, ty))
    }

    fn repeated(&mut self, element: &RepeatedElement) -> Result<(), String> {
        let site = self.program.sites.get(element.site).ok_or_else(|| format!("{} does not exist", element.site))?;
        if !is_read_as_words(site.result.physical()) {
            return Err(format!("elements of type {} are not repeated", site.result));
        }
        self.expect(element.list, Ty::Str)?;
        element.missing.map_or(Ok(()), |missing| self.expect(missing, Ty::Bool))?;
        self.define(element.value, site.result.physical().into())?;
        self.define(element.null, Ty::Bool)
    }

    fn a_match(&mut self, m: &'p Match) -> Result<(), String> {
        let State::Join(join) = self.state(m.state)? else { return Err(format!("{} is not a join", m.state)) };
        self.expect(m.hash, Ty::I64)?;
        m.active.map_or(Ok(()), |a| self.expect(a, Ty::Bool))?;
        m.until.map_or(Ok(()), |u| self.expect(u, Ty::I64))?;
        if m.until.is_some() != matches!(join.word, JoinWord::Range { until: Some(_), .. }) {
            return Err("a match by ranges that end has two numbers, and no other one has".into());
        }
        if m.marker.is_some_and(|at| at + 1 > join.layout.size) {
            return Err("the marker lies outside of the row".into());
        }
        self.rows.insert(m.entry, &join.layout);
        let seen_later = matches!(m.kind, MatchKind::Inner | MatchKind::Left | MatchKind::Single { .. });
        let mark = self.scope.len();
        self.define(m.entry, Ty::Ptr)?;
        self.scoped(|v| {
            let Some(c) = &m.condition else { return Ok(()) };
            v.block(&c.block, 1)?;
            v.expect(c.is_true, Ty::Bool)?;
            if c.is_null.is_some() && !matches!(m.kind, MatchKind::Mark { .. }) {
                return Err("only a mark asks whether the condition is NULL".into());
            }
            c.is_null.map_or(Ok(()), |n| v.expect(n, Ty::Bool))
        })?;
        if !seen_later {
            self.visible[m.entry.index()] = false;
            self.scope.truncate(mark);
        }
        if let MatchKind::Mark { is_true, is_null } = m.kind {
            self.define(is_true, Ty::Bool)?;
            self.define(is_null, Ty::Bool)?;
        }
        Ok(())
    }

    /// Checks that a value lies inside of the row, if it is known whose row it is.
    fn in_row(&self, base: Var, offset: u32, ty: Ty) -> Result<(), String> {
        match self.rows.get(&base) {
            Some(layout) if offset + ty.size() > layout.size => {
                Err(format!("bytes {offset} to {} of a row of {}", offset + ty.size(), layout.size))
            }
            _ => Ok(()),
        }
    }
}
