//! Joins (thesis 4.5.1-4.5.2). The build side's pipes end in a hash table; the probe side's pipes go on through a match.
//! What preserves build rows (outer, semi and anti joins on the build side) marks them while probing, and a further pipe
//! reads the marked or unmarked ones.

mod nulls;
mod probe;
mod ranges;

use base::Result;
use plan::{BuildSide, ColumnId, Compare, Expr, ExprKind, JoinKind, Node, Op, Plan};

use super::pipe::{Binding, Field, Pipe, Sql};
use super::unique::unique_keys;
use super::{Lowering, Needed, collect_columns, with_columns_of};
use crate::ir::{
    Conversion, Inst, JOIN_HEADER, JoinState, JoinWord, MatchKind, Operation, RowLayout, RowSet, State, StateId, Ty,
    Var,
};
use nulls::NullInfo;
use ranges::{FEW, Ranges, drop_nulls};

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
    /// Rows that are expected to leave it.
    rows: f64,
    build: &'n Node,
    probed: &'n Node,
    keys: Vec<Key>,
    /// Without keys, comparisons among the residual conjuncts that rows are found by.
    ranges: Option<Ranges>,
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
    /// Whether no two rows have one key.
    unique: bool,
    payload: Vec<(ColumnId, Field)>,
    /// Where the key values lie, for those that must be compared.
    keys: Vec<Field>,
    marker: Option<u32>,
    /// For a nullable IN: a group state that counts rows and NULL keys.
    nulls: Option<NullInfo>,
}

impl Lowering<'_> {
    pub(super) fn join(&mut self, node: &Node, needed: &Needed) -> Result<Vec<Pipe>> {
        let Op::Join { kind, left, right, condition, build } = &node.op else { unreachable!("asked for joins only") };
        let build = if matches!(kind, JoinKind::Mark(_) | JoinKind::Single) { BuildSide::Right } else { *build };
        let (build_node, probe_node) = if build == BuildSide::Left { (left, right) } else { (right, left) };
        let (match_kind, afterwards) = roles(kind, build);
        let [build_columns, probe_columns]: [Needed; 2] =
            [build_node, probe_node].map(|node| node.columns().into_iter().collect());
        let (mut keys, mut residual) = split(condition, &build_columns, &probe_columns);
        let wanted = with_columns_of(needed, condition);
        let mut null_aware = false;
        if matches!(kind, JoinKind::Mark(_)) {
            null_aware = mark_keys(self.plan, &mut keys, &mut residual, build_node, probe_node);
        }
        // A mark asks of all rows whether a comparison is NULL.
        let by_range = keys.is_empty() && !matches!(kind, JoinKind::Mark(_));
        let ranges = if by_range && build_node.rows >= FEW {
            let mut compared = Needed::new();
            residual.iter().for_each(|e| collect_columns(e, &mut compared));
            [build_node, probe_node].iter().for_each(|node| self.note_scanned(node, &compared));
            Ranges::of(&residual, &build_columns, &probe_columns, &self.expressions)
        } else {
            None
        };
        let mut join = Join {
            rows: node.rows,
            build: build_node,
            probed: probe_node,
            keys,
            ranges,
            residual,
            kind: match_kind,
            afterwards,
        };
        let built = self.build_side(&mut join, needed, &wanted, null_aware)?;
        let mut result = Vec::new();
        for mut pipe in self.node(join.probed, &wanted)? {
            join.probe(&mut pipe, &built, kind, &mut self.expressions, &mut self.pipelines)?;
            pipe.ordered_by = None;
            match join.afterwards {
                // The pipe's only effect is to mark build rows.
                Some(Afterwards::OnlyMarked | Afterwards::OnlyUnmarked) => {
                    pipe.name.push("mark".into());
                    self.pipelines.end(pipe);
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
        let (mut pipe, row) = self.pipelines.read(state, RowSet::All, "rows");
        pipe.bind_row(row, &fields, false);
        Ok(vec![pipe])
    }

    fn build_side(&mut self, join: &mut Join<'_>, needed: &Needed, wanted: &Needed, null_aware: bool) -> Result<Built> {
        let mut payload_columns: Vec<ColumnId> = Vec::new();
        let mut stored = needed.clone();
        join.residual.iter().for_each(|e| collect_columns(e, &mut stored));
        payload_columns.extend(join.build.columns().into_iter().filter(|c| stored.contains(c)));
        let pipes = self.node(join.build, wanted)?;
        if !matches!(join.kind, MatchKind::Mark { .. }) {
            // Where one side is never NULL, NULLs have no match, whoever compares them.
            let is_null = |key: &Expr| key.as_column().is_none_or(|c| pipes.iter().any(|pipe| has_null_flag(pipe, c)));
            join.keys.iter_mut().for_each(|key| key.null_safe &= is_null(&key.build));
        }
        let join = &*join;
        let mut layout = RowLayout::with_header(JOIN_HEADER);
        let preserves = join.afterwards.is_some();
        // Rows with a NULL key match nothing: they are left out unless they are to be preserved.
        let skips_null_keys = !preserves;
        let mut keys = Vec::new();
        let exact = exact(&join.keys);
        if !exact {
            for key in &join.keys {
                keys.push(Field { offset: layout.add(key.ty), ty: key.ty, null: None });
            }
        }
        let until = join.ranges.as_ref().filter(|r| r.end()).map(|_| layout.add(Ty::I64));
        let mut payload: Vec<(ColumnId, Field)> = Vec::new();
        let mut by_size = payload_columns.clone();
        by_size.sort_by_key(|&c| std::cmp::Reverse(self.type_of(c).physical().size()));
        for &column in &by_size {
            let ty: Ty = self.type_of(column).physical().into();
            payload.push((column, Field { offset: layout.add(ty), ty, null: None }));
        }
        for field in &mut keys {
            field.null = Some(layout.add_null_flag(field.offset));
        }
        for (column, field) in &mut payload {
            if pipes.iter().any(|p| has_null_flag(p, *column)) {
                field.null = Some(layout.add_null_flag(field.offset));
            }
        }
        let marker = preserves.then(|| layout.add(Ty::Bool));
        let has_numbers = exact && (!join.keys.is_empty() || join.ranges.is_some());
        let null = (has_numbers && preserves).then(|| layout.add(Ty::Bool));
        let word = match &join.ranges {
            Some(_) => JoinWord::Range { null, until },
            None if exact => JoinWord::Key { null },
            None => JoinWord::Hash,
        };
        let key_columns: Needed = join
            .keys
            .iter()
            .filter_map(|k| match k.build.kind {
                ExprKind::Column(c) => Some(c),
                _ => None,
            })
            .collect();
        let unique = unique_keys(self.plan, join.build).iter().any(|key| key.is_subset(&key_columns));
        let state = self.pipelines.add_state(State::Join(JoinState { layout, unique, word, filters: false }));
        let nulls = null_aware.then(|| NullInfo::new(&mut self.pipelines));
        for mut pipe in pipes {
            let mut values = Vec::new();
            for key in &join.keys {
                let sql = self.expressions.scalar(&mut pipe, &key.build)?;
                let value = if key.ty.is_integer() { pipe.widen(sql.value, key.ty) } else { sql.value };
                values.push(Sql { value, null: sql.null });
            }
            if let Some(info) = nulls {
                info.note(&mut pipe, values[0])?;
                pipe.fills.push(info.state);
            }
            if skips_null_keys {
                drop_null_keys(&mut pipe, &join.keys, &mut values);
            }
            let mut range = match &join.ranges {
                Some(ranges) => Some(ranges.of_build(&mut pipe, &mut self.expressions)?),
                None => None,
            };
            if let Some(range) = range.as_mut().filter(|_| skips_null_keys) {
                drop_nulls(&mut pipe, range);
            }
            let word = match &range {
                Some(range) => range.word,
                None => word_of(&mut pipe, &join.keys, &values),
            };
            let row = pipe.var(Ty::Ptr);
            let fields = payload.iter().map(|&(c, f)| Ok((f, pipe.column(c).ok_or_else(|| super::unbound(c))?)));
            let fields = fields.collect::<Result<Vec<_>>>()?;
            pipe.push(Inst::AllocRow { state, row, hash: Some(word) });
            for (&field, &value) in keys.iter().zip(&values) {
                pipe.store_field(row, field, value);
            }
            for (field, value) in fields {
                pipe.store_field(row, field, value);
            }
            if let Some(offset) = null {
                let null = range.as_ref().map_or_else(|| values[0].null, |range| range.null);
                let null = null.unwrap_or_else(|| pipe.bool(false));
                pipe.store(row, offset, null);
            }
            if let (Some(offset), Some(until)) = (until, range.and_then(|range| range.until)) {
                pipe.store(row, offset, until);
            }
            if let Some(offset) = marker {
                let unmarked = pipe.bool(false);
                pipe.store(row, offset, unmarked);
            }
            pipe.name.push("build".into());
            self.pipelines.close(pipe, state);
        }
        Ok(Built { state, unique, payload, keys, marker, nulls })
    }

    /// The pipe of the build rows that are read after all probes.
    fn read_marked(&mut self, join: &Join<'_>, built: &Built, afterwards: Afterwards, needed: &Needed) -> Pipe {
        let marker = built.marker.expect("joins that preserve build rows mark them");
        let rows = match afterwards {
            Afterwards::OnlyMarked => RowSet::Marked(marker),
            Afterwards::Unmatched | Afterwards::OnlyUnmarked => RowSet::Unmarked(marker),
        };
        let (mut pipe, row) = self.pipelines.read(built.state, rows, "build rows");
        pipe.bind_row(row, &built.payload, false);
        if afterwards == Afterwards::Unmatched {
            for column in join.probed.columns().into_iter().filter(|c| needed.contains(c)) {
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

/// A mark join's keys must compare without NULLs, for a NULL comparison counts. Returns whether the only condition is
/// a nullable equality, which then is keyed all the same, with the NULLs counted aside; in all other cases nullable
/// equalities become residual conditions.
fn mark_keys(plan: &Plan, keys: &mut Vec<Key>, residual: &mut Vec<Expr>, build: &Node, probe: &Node) -> bool {
    let padded: Needed = build.nullable_columns().into_iter().chain(probe.nullable_columns()).collect();
    let nullable = |e: &Expr| may_be_null(plan, e, &padded);
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

fn may_be_null(plan: &Plan, expr: &Expr, padded: &Needed) -> bool {
    match &expr.kind {
        ExprKind::Column(c) => plan.columns[*c].nullable || padded.contains(c),
        ExprKind::Const(v) => v.is_null(),
        _ => true,
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

/// Whether rows are found by the key itself: one key that is a number of at most 64 bits, or none.
fn exact(keys: &[Key]) -> bool {
    match keys {
        [] => true,
        [key] => matches!(key.ty, Ty::Bool | Ty::I16 | Ty::I32 | Ty::I64) && !key.null_safe,
        _ => false,
    }
}

/// What rows are found by: the key, or the hash of the keys; a constant without keys.
fn word_of(pipe: &mut Pipe, keys: &[Key], values: &[Sql]) -> Var {
    if exact(keys) {
        return match values {
            [] => pipe.int(0, Ty::I64),
            [key, ..] if pipe.ty(key.value) == Ty::Bool => {
                pipe.let_(Ty::I64, Operation::Convert(Conversion::BoolToInt, key.value, Ty::I64, None))
            }
            [key, ..] => pipe.widen(key.value, Ty::I64),
        };
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

/// Whether the column has a NULL flag in this pipe.
pub(super) fn has_null_flag(pipe: &Pipe, column: ColumnId) -> bool {
    match pipe.bindings.get(&column) {
        Some(Binding::Ready(sql)) => sql.null.is_some(),
        Some(Binding::Column { nullable, .. }) => *nullable,
        Some(Binding::Field { field, row_may_be_null, .. }) => field.null.is_some() || *row_may_be_null,
        Some(Binding::Null(_)) | None => true,
    }
}
