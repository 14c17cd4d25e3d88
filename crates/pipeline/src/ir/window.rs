//! Window states: rows to which functions over their neighbours add fields (thesis 5.3, 5.4).

use functions::WindowFunction;
use plan::Frame;
use types::SqlType;

use super::{ParamId, RowLayout, SortField};

/// Rows to which window functions add fields.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowState {
    /// Rows, without header; the fields of results are filled before a row is read.
    pub layout: RowLayout,
    /// By what rows are ordered, most significant first.
    pub keys: Vec<SortField>,
    /// What is computed.
    pub functions: Vec<WindowedFunction>,
}

/// A window function of a state.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowedFunction {
    /// Which.
    pub function: WindowFunction,
    /// Its arguments; see [`plan::WindowCall`].
    pub arguments: Vec<WindowOperand>,
    /// Over distinct values only.
    pub distinct: bool,
    /// Rows for which this is true are looked at.
    pub filter: Option<WindowOperand>,
    /// Rows whose first argument is NULL are not looked at.
    pub ignore_nulls: bool,
    /// The call's own order.
    pub order: Vec<WindowOrder>,
    /// So many leading keys partition...
    pub partition: usize,
    /// ...and so many, those included, order.
    pub peers: usize,
    /// What it looks at.
    pub frame: Frame<WindowOperand>,
    /// The key that offsets of RANGE are added to, and its order.
    pub range: Option<WindowOrder>,
    /// Where the result goes.
    pub result: WindowField,
    /// For errors: number of a position in the SQL text.
    pub position: Option<u32>,
}

/// What a window function reads of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum WindowOperand {
    /// A field.
    Field(WindowField),
    /// One value for all rows.
    Param(ParamId, SqlType),
}

/// A value in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowField {
    /// Offset of the value.
    pub offset: u32,
    /// Offset of its NULL flag, if it can be NULL.
    pub null: Option<u32>,
    /// Its type.
    pub sql_type: SqlType,
}

/// One key of a call's own order.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowOrder {
    /// What to order by.
    pub operand: WindowOperand,
    /// From high to low.
    pub descending: bool,
    /// NULLs first.
    pub nulls_first: bool,
}

impl WindowOperand {
    /// The type of its values.
    pub fn sql_type(&self) -> SqlType {
        match self {
            Self::Field(field) => field.sql_type,
            Self::Param(_, sql_type) => *sql_type,
        }
    }
}
