//! Changes of single rows, as most are: nothing of them is a set.

use base::Result;
use types::{Datum, Value};

use super::version::{Before, Version};
use super::{Changing, Patch, Sidecar, note};
use crate::clock::View;
use crate::row_set::RowSet;
use crate::values::Values;
use crate::{Schema, WINDOW};

impl Sidecar {
    /// As [`change`](Self::change), of one row of the chunk, to values of the attributes' types; none: it is deleted.
    pub(crate) fn change_row(
        &self,
        row: usize,
        values: Option<&[(usize, &Value)]>,
        schema: &Schema,
        view: &View,
    ) -> Result<Changing> {
        let (stamp, statement) = view.own().expect("only transactions change rows");
        let (number, row, rows) = (row / WINDOW, row % WINDOW, RowSet::one(row % WINDOW));
        let of_text = |value: &Value| if let Value::Str(text) = value { text.len() } else { 0 };
        let each = |values: &[(usize, &Value)]| {
            values.iter().map(|(_, value)| 2 * (size_of::<Datum<'_>>() + of_text(value))).sum::<usize>()
        };
        let mut window = match self.begin_change(number, &rows, view) {
            Ok(window) => window,
            Err(refused) => return Ok(refused),
        };
        window.share.charge(size_of::<Version>() + values.map_or(0, each), &self.memory)?;
        let window = &mut *window;
        let (mut before, mut after) = (0, 0);
        let mut version = Version::new(stamp.clone(), statement);
        match values {
            None => {
                note(&self.died, number);
                window.dead.insert(row);
                version.deleted = rows;
            }
            Some(values) => {
                version.before.reserve_exact(values.len());
                for &(attribute, value) in values {
                    let sql_type = schema.attributes()[attribute].sql_type;
                    let datum = Datum::new(value, sql_type);
                    let patch = match window.patches.iter().position(|patch| patch.attribute == attribute) {
                        Some(at) => {
                            before += window.patches[at].bytes();
                            &mut window.patches[at]
                        }
                        None => window.patches.push_mut(Patch::new(attribute, sql_type)),
                    };
                    version.before.push(Before::of_row(patch, row));
                    patch.put(row, Values::from(&datum), 0);
                    after += patch.bytes();
                }
            }
        }
        self.end_change(window, version, view, (before, after));
        Ok(Changing::Done)
    }
}
