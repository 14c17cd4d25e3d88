//! Joins (thesis 4.5.1-4.5.2). The build side's pipes end in a hash table; the probe side's pipes go on through a match.
//! What preserves build rows (outer, semi and anti joins on the build side) marks them while probing, and a further pipe
//! reads the marked or unmarked ones.

use base::Result;
use plan::{BuildSide, ColumnId, Compare, Expr, ExprKind, JoinKind, Node};
use types::SqlType;

use super::compare::flag;
use super::pipe::{Binding, Field, Pipe, Sql};
use super::unique::unique_keys;
use super::{Lowering, Needed, collect_columns, with_columns_of};
use crate::ir::{
    GroupState, Inst, JOIN_HEADER, JoinState, Match, MatchCondition, MatchKind, Operation, RowLayout, RowSet, State,
    StateId, Ty, Var,
};

/// Joins that a pipe probes before its rows are stored: what a probe needs is handed through those before it, so that code
/// and time to compile it grow with the square of their number.
const MOST_MATCHES: usize = 32;

/// A conjunct `build expression = probe expression` that the hash table is keyed by.
struct Key {
    build: Expr,
    probe: Expr,
    /// IS NOT DISTINCT FROM: NULLs match each other.
    null_safe: bool,
    /// Layout in which both sides are hashed.
    ty: Ty,
}

/// Everything that is known of a join before code is made.
struct Join<'n> {
    build: &'n Node,
    probe: &'n Node,
    keys: Vec<Key>,
    /// Conjuncts that are no keys.
    residual: Vec<Expr>,
    /// What happens to a probe row.
    kind: MatchKind,
    /// Whether build rows are marked, and which of them are read afterwards.
    afterwards: Option<Afterwards>,
}

#[derive(Clone, Copy, PartialEq)]
enum Afterwards {
    /// Build rows without a match, padded with NULLs (outer joins).
    Unmatched,
    /// Only build rows with a match leave the join (semi join).
    OnlyMarked,
    /// Only build rows without a match leave the join (anti join).
    OnlyUnmarked,
}

/// The finished build side.
struct Built {
    state: StateId,
    payload: Vec<(ColumnId, Field)>,
    /// Where the key values lie, for those that must be compared.
    keys: Vec<Field>,
    marker: Option<u32>,
    /// For a nullable IN: a group state that counts rows and NULL keys.
    nulls: Option<NullInfo>,
}

#[derive(Clone, Copy)]
struct NullInfo {
    state: StateId,
    rows: u32,
    has_null: u32,
}

impl Lowering<'_> {
    pub(super) fn join(
        &mut self,
        kind: &JoinKind,
        left: &Node,
        right: &Node,
        condition: &[Expr],
        build: BuildSide,
        needed: &Needed,
    ) -> Result<Vec<Pipe>> {
        let build = if matches!(kind, JoinKind::Mark(_) | JoinKind::Single) { BuildSide::Right } else { build };
        let (build_node, probe_node) = if build == BuildSide::Left { (left, right) } else { (right, left) };
        let (match_kind, afterwards) = roles(kind, build);
        let (mut keys, mut residual) =
            split(condition, &build_node.columns().into_iter().collect(), &probe_node.columns().into_iter().collect());
        let wanted = with_columns_of(needed, condition);
        let mut null_aware = false;
        if matches!(kind, JoinKind::Mark(_)) {
            null_aware = self.mark_keys(&mut keys, &mut residual, build_node, probe_node);
        }
        let join = Join { build: build_node, probe: probe_node, keys, residual, kind: match_kind, afterwards };
        let built = self.build_side(&join, needed, &wanted, null_aware)?;
        let mut result = Vec::new();
        for mut pipe in self.node(join.probe, &wanted)? {
            self.probe(&mut pipe, &join, &built, kind)?;
            pipe.ordered_by = None;
            match join.afterwards {
                // The pipe's only effect is to mark build rows.
                Some(Afterwards::OnlyMarked | Afterwards::OnlyUnmarked) => {
                    pipe.name.push("mark".into());
                    self.end(pipe);
                }
                _ => result.push(pipe),
            }
        }
        if let Some(afterwards) = join.afterwards {
            result.push(self.read_marked(&join, &built, afterwards, needed));
        }
        if result.iter().any(|pipe| pipe.matches() >= MOST_MATCHES) {
            return self.cut(result, needed);
        }
        Ok(result)
    }

    /// Ends pipes in rows, and goes on from these.
    fn cut(&mut self, pipes: Vec<Pipe>, needed: &Needed) -> Result<Vec<Pipe>> {
        let Some(first) = pipes.first() else { return Ok(pipes) };
        let mut columns: Vec<ColumnId> = needed.iter().copied().filter(|c| first.bindings.contains_key(c)).collect();
        columns.sort_unstable();
        let (state, fields) = self.materialize(pipes, &columns, "rows")?;
        let (mut pipe, row) = self.read(state, RowSet::All, "rows");
        pipe.bind_row(row, &fields, false);
        Ok(vec![pipe])
    }

    /// A mark join's keys must compare without NULLs, for a NULL comparison counts. Returns whether the only condition is
    /// a nullable equality, which then is keyed all the same, with the NULLs counted aside; in all other cases nullable
    /// equalities become residual conditions.
    fn mark_keys(&self, keys: &mut Vec<Key>, residual: &mut Vec<Expr>, build: &Node, probe: &Node) -> bool {
        let padded: Needed = build.nullable_columns().into_iter().chain(probe.nullable_columns()).collect();
        let nullable = |e: &Expr| self.may_be_null(e, &padded);
        let is_nullable = |k: &Key| !k.null_safe && (nullable(&k.build) || nullable(&k.probe));
        if residual.is_empty() && keys.len() == 1 && is_nullable(&keys[0]) {
            return true;
        }
        let (open, closed): (Vec<Key>, Vec<Key>) = std::mem::take(keys).into_iter().partition(is_nullable);
        *keys = closed;
        // First, as for keys: what can fail is not evaluated for rows of other keys.
        residual.splice(..0, open.into_iter().map(|k| Expr::compare(Compare::Eq, k.build, k.probe)));
        false
    }

    fn may_be_null(&self, expr: &Expr, padded: &Needed) -> bool {
        match &expr.kind {
            ExprKind::Column(c) => self.plan.columns[*c].nullable || padded.contains(c),
            ExprKind::Const(v) => v.is_null(),
            _ => true,
        }
    }

    // ---- build side

    fn build_side(&mut self, join: &Join<'_>, needed: &Needed, wanted: &Needed, null_aware: bool) -> Result<Built> {
        let mut payload_columns: Vec<ColumnId> = Vec::new();
        let mut stored = needed.clone();
        join.residual.iter().for_each(|e| collect_columns(e, &mut stored));
        payload_columns.extend(join.build.columns().into_iter().filter(|c| stored.contains(c)));
        let pipes = self.node(join.build, wanted)?;
        let mut layout = RowLayout::with_header(JOIN_HEADER);
        let preserves = join.afterwards.is_some();
        // Rows with a NULL key match nothing: they are left out unless they are to be preserved.
        let skips_null_keys = !preserves;
        let compared = !exact(&join.keys, skips_null_keys);
        let mut keys = Vec::new();
        if compared {
            for key in &join.keys {
                keys.push(Field { offset: layout.add(key.ty), ty: key.ty, null: None });
            }
        }
        let mut payload: Vec<(ColumnId, Field)> = Vec::new();
        let mut by_size = payload_columns.clone();
        by_size.sort_by_key(|&c| std::cmp::Reverse(self.type_of(c).physical().size()));
        for &column in &by_size {
            let ty: Ty = self.type_of(column).physical().into();
            payload.push((column, Field { offset: layout.add(ty), ty, null: None }));
        }
        for field in &mut keys {
            field.null = compared.then(|| layout.add_null_flag(field.offset));
        }
        for (column, field) in &mut payload {
            if pipes.iter().any(|p| has_null_flag(p, *column)) {
                field.null = Some(layout.add_null_flag(field.offset));
            }
        }
        let marker = preserves.then(|| layout.add(Ty::Bool));
        let key_columns: Needed = join
            .keys
            .iter()
            .filter_map(|k| match k.build.kind {
                ExprKind::Column(c) => Some(c),
                _ => None,
            })
            .collect();
        let unique = unique_keys(self.plan, join.build).iter().any(|key| key.is_subset(&key_columns));
        let state = self.add_state(State::Join(JoinState { layout, unique }));
        let nulls = null_aware.then(|| self.null_info_state());
        for mut pipe in pipes {
            let mut values = Vec::new();
            for key in &join.keys {
                let sql = self.scalar(&mut pipe, &key.build)?;
                let value = if key.ty.is_integer() { pipe.widen(sql.value, key.ty) } else { sql.value };
                values.push(Sql { value, null: sql.null });
            }
            if let Some(info) = nulls {
                self.note_nulls(&mut pipe, info, values[0])?;
                pipe.fills.push(info.state);
            }
            if skips_null_keys {
                drop_null_keys(&mut pipe, &join.keys, &mut values);
            }
            let hash = hash(&mut pipe, &join.keys, &values);
            let row = pipe.var(Ty::Ptr);
            let fields = payload.iter().map(|&(c, f)| Ok((f, pipe.column(c).ok_or_else(|| super::unbound(c))?)));
            let fields = fields.collect::<Result<Vec<_>>>()?;
            pipe.push(Inst::AllocRow { state, row, hash: Some(hash) });
            for (&field, &value) in keys.iter().zip(&values) {
                pipe.store_field(row, field, value);
            }
            for (field, value) in fields {
                pipe.store_field(row, field, value);
            }
            if let Some(offset) = marker {
                let unmarked = pipe.bool(false);
                pipe.store(row, offset, unmarked);
            }
            pipe.name.push("build".into());
            self.close(pipe, state);
        }
        Ok(Built { state, payload, keys, marker, nulls })
    }

    /// A group state without keys that counts build rows and notes whether a key is NULL.
    fn null_info_state(&mut self) -> NullInfo {
        let mut layout = RowLayout::with_header(crate::ir::GROUP_HEADER);
        let (rows, has_null) = (layout.add(Ty::I64), layout.add(Ty::Bool));
        let combine = super::aggregate::combine_function(&[], |p, into, from| {
            let (a, b) = (p.load(into, rows, Ty::I64, false), p.load(from, rows, Ty::I64, false));
            let sum = p.wrapping(crate::ir::Arithmetic::Add, a, b);
            p.store(into, rows, sum);
            let (a, b) = (p.load(into, has_null, Ty::Bool, false), p.load(from, has_null, Ty::Bool, false));
            let any = p.or(a, b);
            p.store(into, has_null, any);
            Ok(())
        })
        .expect("this function cannot fail");
        let state = self.add_state(State::Group(GroupState { layout, has_keys: false, equal: None, combine }));
        NullInfo { state, rows, has_null }
    }

    fn note_nulls(&mut self, pipe: &mut Pipe, info: NullInfo, key: Sql) -> Result<()> {
        let row = pipe.let_(Ty::Ptr, Operation::LocalRow(info.state));
        let (count, one) = (pipe.load(row, info.rows, Ty::I64, false), pipe.int(1, Ty::I64));
        let count = pipe.wrapping(crate::ir::Arithmetic::Add, count, one);
        pipe.store(row, info.rows, count);
        let Some(null) = key.null else { return Ok(()) };
        pipe.when(null, |p| {
            let yes = p.bool(true);
            p.store(row, info.has_null, yes);
            Ok(())
        })
    }

    // ---- probe side

    fn probe(&mut self, pipe: &mut Pipe, join: &Join<'_>, built: &Built, kind: &JoinKind) -> Result<()> {
        let mut values = Vec::new();
        for key in &join.keys {
            let sql = self.scalar(pipe, &key.probe)?;
            let value = if key.ty.is_integer() { pipe.widen(sql.value, key.ty) } else { sql.value };
            values.push(Sql { value, null: sql.null });
        }
        let original = values.clone();
        let drops = matches!(join.kind, MatchKind::Inner | MatchKind::Semi);
        let mut active = None;
        if drops {
            drop_null_keys(pipe, &join.keys, &mut values);
        } else {
            let flags = join.keys.iter().zip(&values).filter(|(k, _)| !k.null_safe).map(|(_, v)| v.null);
            if let Some(null) = pipe.any_null(flags) {
                active = Some(pipe.not(null));
            }
        }
        let hash = hash(pipe, &join.keys, &values);
        for states in [Some(built.state), built.nulls.map(|n| n.state)].into_iter().flatten() {
            let fillers = self.fillers.get(&states).cloned().unwrap_or_default();
            pipe.depend_on(&fillers);
        }
        // Columns that the condition or later operators read are loaded before or after the match, never inside of it.
        let mut before = Needed::new();
        join.residual.iter().for_each(|e| collect_columns(e, &mut before));
        for &column in &before {
            if pipe.bindings.contains_key(&column) {
                pipe.column(column);
            }
        }
        let entry = pipe.var(Ty::Ptr);
        let condition = self.match_condition(pipe, join, built, entry, &values)?;
        let (is_true, is_null) = (pipe.var(Ty::Bool), pipe.var(Ty::Bool));
        let match_kind = match &join.kind {
            MatchKind::Mark { .. } => MatchKind::Mark { is_true, is_null },
            other => other.clone(),
        };
        let optional = matches!(match_kind, MatchKind::Left | MatchKind::Single { .. });
        let binds = optional || match_kind == MatchKind::Inner;
        pipe.push(Inst::Match(Box::new(Match {
            state: built.state,
            kind: match_kind,
            hash,
            active,
            entry,
            condition,
            marker: built.marker,
        })));
        pipe.name.push("probe".into());
        if built.marker.is_some() {
            pipe.marks.push(built.state);
        }
        if binds {
            pipe.bind_row(entry, &built.payload, optional);
        }
        if let JoinKind::Mark(mark) = kind {
            let sql = match built.nulls {
                Some(info) => null_aware_mark(pipe, info, is_true, original[0]),
                None => Sql { value: is_true, null: Some(is_null) },
            };
            pipe.bind(*mark, sql);
        }
        Ok(())
    }

    /// Equality of the keys beside that of the hashes, and the residual conditions.
    fn match_condition(
        &mut self,
        pipe: &mut Pipe,
        join: &Join<'_>,
        built: &Built,
        entry: Var,
        values: &[Sql],
    ) -> Result<Option<MatchCondition>> {
        if built.keys.is_empty() && join.residual.is_empty() {
            return Ok(None);
        }
        let outside = pipe.bindings.clone();
        pipe.open_block();
        pipe.bind_row(entry, &built.payload, false);
        let mut keys_equal: Option<Var> = None;
        for ((key, &field), &probe) in join.keys.iter().zip(&built.keys).zip(values) {
            let value = pipe.load(entry, field.offset, field.ty, true);
            let null = field.null.map(|offset| pipe.load(entry, offset, Ty::Bool, true));
            let op = if key.null_safe { Compare::NotDistinct } else { Compare::Eq };
            let sql = self.compare_values(pipe, op, Sql { value, null }, probe);
            let equal = known_true(pipe, sql);
            keys_equal = Some(match keys_equal {
                Some(all) => pipe.and(all, equal),
                None => equal,
            });
        }
        let three_valued = matches!(join.kind, MatchKind::Mark { .. });
        let condition = match (keys_equal, three_valued, join.residual.is_empty()) {
            (Some(is_true), _, true) => (is_true, None),
            (keys, false, _) => {
                let all = Expr::new(ExprKind::And(join.residual.clone()), SqlType::Bool);
                // Residual conditions are not evaluated for rows of other keys.
                let is_true = match keys {
                    None => self.truth(pipe, &all)?,
                    Some(keys) => pipe.if_(keys, |p| Ok([self.truth(p, &all)?]), |p| Ok([p.bool(false)]))?[0],
                };
                (is_true, None)
            }
            (keys, true, _) => {
                let all = Expr::new(ExprKind::And(join.residual.clone()), SqlType::Bool);
                let sql = self.scalar(pipe, &all)?;
                let (is_true, is_null) = (known_true(pipe, sql), flag(pipe, sql));
                match keys {
                    None => (is_true, Some(is_null)),
                    Some(keys) => (pipe.and(keys, is_true), Some(pipe.and(keys, is_null))),
                }
            }
        };
        let block = pipe.close_block();
        pipe.bindings = outside;
        Ok(Some(MatchCondition { block, is_true: condition.0, is_null: condition.1 }))
    }

    /// The pipe of the build rows that are read after all probes.
    fn read_marked(&mut self, join: &Join<'_>, built: &Built, afterwards: Afterwards, needed: &Needed) -> Pipe {
        let marker = built.marker.expect("joins that preserve build rows mark them");
        let rows = match afterwards {
            Afterwards::OnlyMarked => RowSet::Marked(marker),
            Afterwards::Unmatched | Afterwards::OnlyUnmarked => RowSet::Unmarked(marker),
        };
        let (mut pipe, row) = self.read(built.state, rows, "build rows");
        pipe.bind_row(row, &built.payload, false);
        if afterwards == Afterwards::Unmatched {
            for column in join.probe.columns().into_iter().filter(|c| needed.contains(c)) {
                pipe.bindings.insert(column, Binding::Null(self.type_of(column).physical().into()));
            }
            // The probing pipes are still open: whoever closes them closes them before this one.
            pipe.reads_marks_of = Some(built.state);
        }
        pipe
    }
}

/// What happens to probe rows, and which build rows are read afterwards.
fn roles(kind: &JoinKind, build: BuildSide) -> (MatchKind, Option<Afterwards>) {
    let unmatched = Some(Afterwards::Unmatched);
    match (kind, build) {
        (JoinKind::Inner, _) => (MatchKind::Inner, None),
        (JoinKind::Left, BuildSide::Right) | (JoinKind::Right, BuildSide::Left) => (MatchKind::Left, None),
        (JoinKind::Left, BuildSide::Left) | (JoinKind::Right, BuildSide::Right) => (MatchKind::Inner, unmatched),
        (JoinKind::Full, _) => (MatchKind::Left, unmatched),
        (JoinKind::Semi, BuildSide::Right) => (MatchKind::Semi, None),
        (JoinKind::Semi, BuildSide::Left) => (MatchKind::Inner, Some(Afterwards::OnlyMarked)),
        (JoinKind::Anti, BuildSide::Right) => (MatchKind::Anti, None),
        (JoinKind::Anti, BuildSide::Left) => (MatchKind::Inner, Some(Afterwards::OnlyUnmarked)),
        (JoinKind::Mark(_), _) => (MatchKind::Mark { is_true: Var(0), is_null: Var(0) }, None),
        (JoinKind::Single, _) => (MatchKind::Single { position: None }, None),
    }
}

/// Splits a condition into hash keys and the rest.
fn split(condition: &[Expr], build: &Needed, probe: &Needed) -> (Vec<Key>, Vec<Expr>) {
    let side = |e: &Expr| {
        let mut columns = Needed::new();
        collect_columns(e, &mut columns);
        match (columns.is_subset(build), columns.is_subset(probe)) {
            _ if columns.is_empty() => None,
            (true, _) => Some(BuildSide::Right),
            (_, true) => Some(BuildSide::Left),
            _ => None,
        }
    };
    let (mut keys, mut residual) = (Vec::new(), Vec::new());
    for conjunct in condition {
        let key = match &conjunct.kind {
            ExprKind::Compare(op @ (Compare::Eq | Compare::NotDistinct), a, b) => match (side(a), side(b)) {
                (Some(BuildSide::Right), Some(BuildSide::Left)) => Some((a, b, *op)),
                (Some(BuildSide::Left), Some(BuildSide::Right)) => Some((b, a, *op)),
                _ => None,
            },
            _ => None,
        };
        match key {
            Some((build, probe, op)) => {
                let (tb, tp): (Ty, Ty) = (build.sql_type.physical().into(), probe.sql_type.physical().into());
                let ty = if tb.size() >= tp.size() { tb } else { tp };
                let (build, probe) = ((**build).clone(), (**probe).clone());
                keys.push(Key { build, probe, null_safe: op == Compare::NotDistinct, ty });
            }
            None => residual.push(conjunct.clone()),
        }
    }
    (keys, residual)
}

/// Whether equal hashes imply equal keys: one key of at most 64 bits, hashed one to one, NULLs aside.
fn exact(keys: &[Key], skips_null_keys: bool) -> bool {
    match keys {
        [] => true,
        [key] => matches!(key.ty, Ty::Bool | Ty::I16 | Ty::I32 | Ty::I64) && !key.null_safe && skips_null_keys,
        _ => false,
    }
}

/// The hash of the keys; a constant without keys.
fn hash(pipe: &mut Pipe, keys: &[Key], values: &[Sql]) -> Var {
    if keys.is_empty() {
        return pipe.int(0, Ty::I64);
    }
    let flagged = keys.iter().zip(values).map(|(k, v)| (v.value, v.null.filter(|_| k.null_safe))).collect();
    pipe.let_(Ty::I64, Operation::Hash(flagged))
}

/// Lets only tuples through whose keys are not NULL; their flags are known from then on.
fn drop_null_keys(pipe: &mut Pipe, keys: &[Key], values: &mut [Sql]) {
    let flags = keys.iter().zip(values.iter()).filter(|(k, _)| !k.null_safe).map(|(_, v)| v.null);
    if let Some(null) = pipe.any_null(flags) {
        let there = pipe.not(null);
        pipe.push(Inst::Filter(there));
    }
    for (_, value) in keys.iter().zip(values).filter(|(k, _)| !k.null_safe) {
        value.null = None;
    }
}

fn known_true(pipe: &mut Pipe, sql: Sql) -> Var {
    match sql.null {
        None => sql.value,
        Some(null) => {
            let known = pipe.not(null);
            pipe.and(sql.value, known)
        }
    }
}

/// `x IN (subquery)` with NULLs about: NULL unless true, if x is NULL and there are rows, or if some row is NULL.
fn null_aware_mark(pipe: &mut Pipe, info: NullInfo, is_true: Var, probe: Sql) -> Sql {
    let row = pipe.let_(Ty::Ptr, Operation::OnlyRow(info.state));
    let mut null = pipe.load(row, info.has_null, Ty::Bool, true);
    if let Some(probe_null) = probe.null {
        let (rows, zero) = (pipe.load(row, info.rows, Ty::I64, true), pipe.int(0, Ty::I64));
        let some = pipe.compare(crate::ir::Compare::Gt, rows, zero);
        let unknown = pipe.and(probe_null, some);
        null = pipe.or(null, unknown);
    }
    let not_true = pipe.not(is_true);
    Sql { value: is_true, null: Some(pipe.and(null, not_true)) }
}

/// Whether the column has a NULL flag in this pipe.
pub(super) fn has_null_flag(pipe: &Pipe, column: ColumnId) -> bool {
    match pipe.bindings.get(&column) {
        Some(Binding::Ready(sql)) => sql.null.is_some(),
        Some(Binding::Column { nullable, .. }) => *nullable,
        Some(Binding::Field { field, row_may_be_null, .. }) => field.null.is_some() || *row_may_be_null,
        Some(Binding::Null(_)) | None => true,
    }
}
