//! Groups that are known by codes: keys that depend on columns of the pipe's own table alone are the same wherever the codes
//! of these columns are. So they are computed once a combination of codes of a chunk, whatever they cost, and so is looking
//! the group up (see [`Known`](crate::ir::Known)).

use plan::Expr;

use super::super::pipe::Pipe;
use super::super::{Needed, collect_columns};
use crate::ir::{Source, Ty, Var};

/// More columns than this seldom have few combinations.
const MOST_COLUMNS: usize = 4;

/// The place of a tuple's group by codes, where that pays: some key is text, as numbers are found as fast by what they are.
pub(super) fn place_by_codes<'e>(pipe: &mut Pipe, keys: impl Iterator<Item = &'e Expr>) -> Option<Var> {
    let (mut columns, mut has_text) = (Needed::new(), false);
    for key in keys {
        let ty: Ty = key.sql_type.physical().into();
        // Of these keys, those that are equal are not all the same, so that each tuple's is looked at.
        if key.is_volatile() || matches!(ty, Ty::F32 | Ty::F64 | Ty::Interval) {
            return None;
        }
        has_text |= ty == Ty::Str;
        collect_columns(key, &mut columns);
    }
    if !has_text || !(1..=MOST_COLUMNS).contains(&columns.len()) {
        return None;
    }
    let Source::Table { columns: of_table, codes, .. } = &pipe.source else { return None };
    let attribute = |&column| Some(of_table[pipe.source_column(column)?.index as usize].attribute);
    let attributes: Vec<usize> = columns.iter().map(attribute).collect::<Option<_>>()?;
    codes.is_empty().then(|| pipe.read_codes(attributes))
}
