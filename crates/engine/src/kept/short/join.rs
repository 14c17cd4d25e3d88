//! Joins of short plans: for each row of one side, the rows of the other one that an index finds for it.

use plan::JoinKind;
use types::Value;

use super::frame::Formula;
use super::{On, Out, Place, Row, Run, Step};

/// A join.
pub(super) struct Join {
    pub kind: Kind,
    pub outer: Step,
    pub inner: Step,
    /// Whether `inner` is to be looked up for each row of `outer`; its rows are the same for all of these otherwise.
    pub is_looked_up: bool,
    pub condition: Vec<Formula>,
    /// What is left of it where the index that `inner` is looked up in tells all that it is asked.
    pub untold: Vec<Formula>,
    /// Where the values of `inner` lie.
    pub places: Vec<Place>,
}

/// The kinds of join, the left side being `outer`.
pub(super) enum Kind {
    Inner,
    Left,
    Semi,
    Anti,
    Mark(Place),
    Single,
}

impl Kind {
    /// The kind, with a place for its mark; none if there is no such join here.
    pub fn of(kind: &JoinKind, place: impl FnOnce(plan::ColumnId) -> Place) -> Option<Self> {
        Some(match kind {
            JoinKind::Inner => Self::Inner,
            JoinKind::Left => Self::Left,
            JoinKind::Semi => Self::Semi,
            JoinKind::Anti => Self::Anti,
            JoinKind::Mark(column) => Self::Mark(place(*column)),
            JoinKind::Single => Self::Single,
            JoinKind::Right | JoinKind::Full => return None,
        })
    }
}

impl Join {
    pub fn each<'r>(&self, run: &mut Run<'r>, out: Out<'_, 'r>) -> On {
        let mut rows = None;
        if !self.is_looked_up {
            let mut all: Vec<Row> = Vec::new();
            self.inner.each(run, &mut |run| {
                all.push(run.row(&self.places));
                Some(true)
            })?;
            rows = Some(all);
        }
        self.outer.each(run, &mut |run| self.of_row(run, rows.as_deref(), out))
    }

    /// Joins the row that is in the frame.
    fn of_row<'r>(&self, run: &mut Run<'r>, rows: Option<&[Row]>, out: Out<'_, 'r>) -> On {
        let (mut partners, mut is_unknown, mut is_wanted) = (0, false, true);
        let mut only: Option<Row> = None;
        let mut visit = |run: &mut Run<'r>| -> On {
            let condition = if rows.is_none() && run.is_told { &self.untold } else { &self.condition };
            match run.truth(condition)? {
                Some(true) => partners += 1,
                Some(false) => return Some(true),
                None => {
                    is_unknown = true;
                    return Some(true);
                }
            }
            match self.kind {
                Kind::Inner | Kind::Left => {
                    is_wanted = out(run)?;
                    Some(is_wanted)
                }
                Kind::Single if partners > 1 => None,
                Kind::Single => {
                    only = Some(run.row(&self.places));
                    Some(true)
                }
                Kind::Semi | Kind::Anti | Kind::Mark(_) => Some(false),
            }
        };
        match rows {
            None => {
                self.inner.each(run, &mut visit)?;
            }
            Some(rows) => {
                for row in rows {
                    run.look()?;
                    run.frame.set(&self.places, row);
                    if !visit(run)? {
                        break;
                    }
                }
            }
        }
        let is_row = match self.kind {
            Kind::Inner => false,
            Kind::Left => partners == 0,
            Kind::Semi => partners > 0,
            Kind::Anti => partners == 0,
            Kind::Mark(_) | Kind::Single => true,
        };
        if !is_row || !is_wanted {
            return Some(is_wanted);
        }
        match (&self.kind, only) {
            (Kind::Mark(place), _) => {
                let unknown = is_unknown && partners == 0;
                run.frame[*place] = if unknown { Value::Null } else { Value::Bool(partners > 0) };
            }
            (Kind::Single, Some(row)) => run.frame.set(&self.places, &row),
            (Kind::Left | Kind::Single, _) => self.places.iter().for_each(|&place| run.frame[place] = Value::Null),
            _ => {}
        }
        out(run)
    }
}
