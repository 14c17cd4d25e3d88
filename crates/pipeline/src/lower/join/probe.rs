//! The probe side of a join: a tuple, the entries of its hash, and what is made of them.

use base::Result;
use plan::index_join::column_of;
use plan::{ColumnId, Compare, Expr, ExprKind, JoinKind};
use types::SqlType;

use super::super::expression::{Expressions, flag};
use super::super::pipe::{Pipe, Sql};
use super::super::pipelines::Pipelines;
use super::super::{Needed, collect_columns};
use super::{Built, Join, Key, drop_null_keys, drop_nulls, exact, word_of};
use crate::ir::{Inst, KeyPlace, Match, MatchCondition, MatchKind, Ty, Var};

/// Build sides that let more of a probe's rows pass than this do not make a filter of the scan below.
const SELECTIVE: f64 = 0.75;

impl Join<'_> {
    // ---- probe side

    /// Continues a pipe of the probe side through the match.
    pub(super) fn probe(
        &self,
        pipe: &mut Pipe,
        built: &Built,
        kind: &JoinKind,
        expressions: &mut Expressions,
        pipelines: &mut Pipelines,
    ) -> Result<()> {
        let mut values = Vec::new();
        for key in &self.keys {
            let sql = expressions.scalar(pipe, &key.probe)?;
            let value = if key.ty.is_integer() { pipe.widen(sql.value, key.ty) } else { sql.value };
            values.push(Sql { value, null: sql.null });
        }
        let original = values.clone();
        let drops = matches!(self.kind, MatchKind::Inner | MatchKind::Semi);
        let mut active = None;
        if drops {
            drop_null_keys(pipe, &self.keys, &mut values);
        } else {
            let flags = self.keys.iter().zip(&values).filter(|(k, _)| !k.null_safe).map(|(_, v)| v.null);
            if let Some(null) = pipe.any_null(flags) {
                active = Some(pipe.not(null));
            }
        }
        let mut range = match &self.ranges {
            Some(ranges) => Some(ranges.of_probe(pipe, expressions)?),
            None => None,
        };
        if let Some(range) = &mut range {
            match range.null {
                _ if drops => drop_nulls(pipe, range),
                Some(null) => active = Some(pipe.not(null)),
                None => {}
            }
        }
        let hash = match &range {
            Some(range) => range.word,
            None => word_of(pipe, &self.keys, &values),
        };
        for states in [Some(built.state), built.nulls.map(|n| n.state)].into_iter().flatten() {
            pipelines.wait_for(pipe, states);
        }
        if let [key] = self.keys.as_slice()
            && let ExprKind::Column(column) = key.probe.kind
            && drops
            && exact(&self.keys)
            && self.may_be_selective(built)
        {
            pipelines.filter_by_keys(pipe, column, built.state);
        }
        if drops && self.may_be_selective(built) {
            pipelines.look_up_keys(pipe, &self.places(built), built.state);
        }
        // Columns that the condition or later operators read are loaded before or after the match, never inside of it.
        let mut before = Needed::new();
        self.residual.iter().for_each(|e| collect_columns(e, &mut before));
        for &column in &before {
            if pipe.bindings.contains_key(&column) {
                pipe.column(column);
            }
        }
        let entry = pipe.var(Ty::Ptr);
        let condition = self.match_condition(pipe, expressions, built, entry, &values)?;
        let (is_true, is_null) = (pipe.var(Ty::Bool), pipe.var(Ty::Bool));
        let match_kind = match &self.kind {
            MatchKind::Mark { .. } => MatchKind::Mark { is_true, is_null },
            other => other.clone(),
        };
        let optional = matches!(match_kind, MatchKind::Left | MatchKind::Single { .. });
        let binds = optional || match_kind == MatchKind::Inner;
        pipe.push(Inst::Match(Box::new(Match {
            state: built.state,
            kind: match_kind,
            hash,
            until: range.and_then(|range| range.until),
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
                Some(info) => info.mark(pipe, is_true, original[0]),
                None => Sql { value: is_true, null: Some(is_null) },
            };
            pipe.bind(*mark, sql);
        }
        Ok(())
    }

    /// Columns of the probe side that must be equal to a key, and where build rows have that: integers and texts.
    fn places(&self, built: &Built) -> Vec<(ColumnId, KeyPlace)> {
        let by_word = exact(&self.keys) && self.keys.len() == 1;
        let place = |(number, key): (usize, &Key)| {
            let column = column_of(&key.probe)?;
            let place = match built.keys.get(number) {
                _ if key.null_safe => return None,
                Some(field) => KeyPlace::Field { offset: field.offset, ty: field.ty, null: field.null },
                None if by_word => KeyPlace::Word,
                None => return None,
            };
            (key.ty.is_integer() || key.ty == Ty::Str).then_some((column, place))
        };
        self.keys.iter().enumerate().filter_map(place).collect()
    }

    /// Whether a good part of the probe's rows may have no match, as far as is known.
    fn may_be_selective(&self, built: &Built) -> bool {
        // Only of these joins each row that leaves is a probe's row that has a match.
        let counts_matches = self.afterwards.is_none() && (built.unique || self.kind == MatchKind::Semi);
        !counts_matches || self.rows < SELECTIVE * self.probed.rows
    }

    /// Equality of the keys beside that of the hashes, and the residual conditions.
    fn match_condition(
        &self,
        pipe: &mut Pipe,
        expressions: &mut Expressions,
        built: &Built,
        entry: Var,
        values: &[Sql],
    ) -> Result<Option<MatchCondition>> {
        if built.keys.is_empty() && self.residual.is_empty() {
            return Ok(None);
        }
        let outside = pipe.bindings.clone();
        pipe.open_block();
        pipe.bind_row(entry, &built.payload, false);
        let mut keys_equal: Option<Var> = None;
        for ((key, &field), &probe) in self.keys.iter().zip(&built.keys).zip(values) {
            let value = pipe.load(entry, field.offset, field.ty, true);
            let null = field.null.map(|offset| pipe.load(entry, offset, Ty::Bool, true));
            let op = if key.null_safe { Compare::NotDistinct } else { Compare::Eq };
            let sql = expressions.compare_values(pipe, op, Sql { value, null }, probe);
            let equal = known_true(pipe, sql);
            keys_equal = Some(match keys_equal {
                Some(all) => pipe.and(all, equal),
                None => equal,
            });
        }
        let three_valued = matches!(self.kind, MatchKind::Mark { .. });
        let condition = match (keys_equal, three_valued, self.residual.is_empty()) {
            (Some(is_true), _, true) => (is_true, None),
            (keys, false, _) => {
                let all = Expr::new(ExprKind::And(self.residual.clone()), SqlType::Bool);
                // Residual conditions are not evaluated for rows of other keys.
                let is_true = match keys {
                    None => expressions.truth(pipe, &all)?,
                    Some(keys) => pipe.if_(keys, |p| Ok([expressions.truth(p, &all)?]), |p| Ok([p.bool(false)]))?[0],
                };
                (is_true, None)
            }
            (keys, true, _) => {
                let all = Expr::new(ExprKind::And(self.residual.clone()), SqlType::Bool);
                let sql = expressions.scalar(pipe, &all)?;
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
