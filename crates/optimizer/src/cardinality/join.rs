//! Join selectivities: one in max(d1, d2) pairs per equality, containment of the smaller key domain assumed; a unique
//! key bounds the result by the other side.

use plan::{ColumnId, Compare, Expr, ExprKind, JoinKind};

use super::{Estimator, Profile, back_off};

/// What a join condition lets through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinEstimate {
    /// Fraction of the pairs.
    pub pairs: f64,
    /// Fraction of the left rows that have a partner.
    pub matched: f64,
    /// Whether there is an equality to hash by.
    pub hashed: bool,
}

impl JoinEstimate {
    /// Rows of the join.
    pub fn rows(&self, kind: &JoinKind, left: f64, right: f64) -> f64 {
        let inner = left * right * self.pairs;
        let rows = match kind {
            JoinKind::Inner => inner,
            JoinKind::Left => inner.max(left),
            JoinKind::Right => inner.max(right),
            JoinKind::Full => inner.max(left).max(right),
            JoinKind::Semi | JoinKind::Anti => left * self.factor(kind, right),
            JoinKind::Mark(_) | JoinKind::Single => left,
        };
        rows.max(1.0)
    }

    /// By how much a join of a kind that keeps the left side multiplies its rows.
    pub fn factor(&self, kind: &JoinKind, right: f64) -> f64 {
        match kind {
            JoinKind::Semi => self.matched,
            // What has no partner is what the estimate of the others misses: never nothing.
            JoinKind::Anti => (1.0 - self.matched).max(0.02),
            JoinKind::Mark(_) | JoinKind::Single => 1.0,
            JoinKind::Left => (right * self.pairs).max(1.0),
            JoinKind::Inner | JoinKind::Right | JoinKind::Full => right * self.pairs,
        }
    }
}

/// The sides of an equality, if the condition is one.
pub(crate) fn equality(condition: &Expr) -> Option<(&Expr, &Expr)> {
    match &condition.kind {
        ExprKind::Compare(Compare::Eq | Compare::NotDistinct, a, b) => Some((a, b)),
        _ => None,
    }
}

/// Whether the expression reads columns, all of them among those of one side.
fn over(expr: &Expr, mine: &dyn Fn(ColumnId) -> bool) -> bool {
    expr.uses(|_| true) && expr.only_uses(mine)
}

impl Estimator<'_> {
    /// Estimates a join condition; `is_right` tells the right side's columns.
    pub fn join(
        &self,
        condition: &[Expr],
        left: &Profile,
        right: &Profile,
        is_right: &dyn Fn(ColumnId) -> bool,
    ) -> JoinEstimate {
        let is_left = |c| !is_right(c);
        let (mut keys, mut others) = (Vec::new(), Vec::new());
        for conjunct in condition {
            match equality(conjunct) {
                Some((a, b)) if over(a, &is_left) && over(b, is_right) => keys.push((a, b)),
                Some((a, b)) if over(a, is_right) && over(b, &is_left) => keys.push((b, a)),
                _ => others.push(self.selectivity(conjunct, left.rows * right.rows)),
            }
        }
        others.sort_by(f64::total_cmp);
        let residual = back_off(others);
        if keys.is_empty() {
            let matched = 1.0 - (1.0 - residual.min(0.999_999)).powf(right.rows.min(1e6));
            return JoinEstimate { pairs: residual, matched, hashed: false };
        }
        let (ours, theirs): (Vec<&Expr>, Vec<&Expr>) = keys.into_iter().unzip();
        let nulls = |keys: &[&Expr]| keys.iter().map(|k| 1.0 - self.null_fraction(k)).fold(1.0, f64::min);
        let not_null = nulls(&ours);
        let nearness = match (&*ours, &*theirs) {
            ([a], [b]) => a.as_column().zip(b.as_column()).map_or(1.0, |(a, b)| self.nearness(a, b)),
            _ => 1.0,
        };
        let domain = self.key_domain((&ours, left), (&theirs, right)) / nearness;
        let present = theirs.iter().map(|k| self.distinct(k, right.rows)).collect();
        let present = self.combinations(present, right.rows);
        // Partners of a left row that has one, each of which passes the other conjuncts with `residual`.
        let partners = (right.rows / present).max(1.0);
        let matched = (present / domain).min(1.0) * not_null * (1.0 - (1.0 - residual).powf(partners));
        let pairs = residual * not_null * nulls(&theirs) / domain;
        JoinEstimate { pairs, matched, hashed: true }
    }

    /// By how much likelier pairs of rows agree than their keys' domains tell, as predicates on other columns have left keys
    /// of one side that lie where those of the other side do: dates of a year, of which the other side's are all.
    pub fn nearness(&self, a: ColumnId, b: ColumnId) -> f64 {
        let (a, b) = (self.column(a), self.column(b));
        let (Some(all_a), Some(all_b)) = (a.range, b.range) else { return 1.0 };
        if a.seen.is_none() && b.seen.is_none() {
            return 1.0;
        }
        let (seen_a, seen_b) = (a.seen.unwrap_or(all_a), b.seen.unwrap_or(all_b));
        let common = (seen_a.0.max(seen_b.0), seen_a.1.min(seen_b.1));
        if common.0 > common.1 {
            return 1.0;
        }
        let width = |(low, high): (f64, f64)| high - low + 1.0;
        let common = width(common);
        // Where both have keys, so many values each.
        let domain = (common / width(all_a) * a.domain).max(common / width(all_b) * b.domain);
        let agree = (common / width(seen_a)) * (common / width(seen_b)) / domain;
        (agree * a.domain.max(b.domain)).max(1.0)
    }

    /// How many combinations of key values there were before filters: those of a unique key that one side refers to the
    /// other by, else a damped product.
    pub fn key_domain(&self, ours: (&[&Expr], &Profile), theirs: (&[&Expr], &Profile)) -> f64 {
        let domain = |(keys, profile): (&[&Expr], &Profile)| {
            let columns: Vec<ColumnId> = keys.iter().filter_map(|k| k.as_column()).collect();
            if let Some(key) = profile.keys.iter().find(|k| k.columns.iter().all(|c| columns.contains(c))) {
                return (key.domain, true);
            }
            (self.combinations(keys.iter().map(|k| self.domain(k)).collect(), f64::INFINITY), keys.len() == 1)
        };
        // What several damped columns come to says little beside a key, or a single column's count.
        match (domain(ours), domain(theirs)) {
            ((key, true), (_, false)) | ((_, false), (key, true)) => key,
            ((a, _), (b, _)) => a.max(b),
        }
    }
}
