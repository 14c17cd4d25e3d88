//! The text form of window states:
//! ```text
//! window size 32 (...) by (0 I64) (sum (0 "bigint") distinct filter (8 "boolean") partition 0 peers 1
//!   rows preceding $0 "bigint" to current_row exclude ties range 0 "bigint" descending into 16 "bigint" null 24 at 3)
//! ```

use std::fmt::{Display, Formatter, Result};

use plan::{FrameBound, FrameExclusion, FrameUnit};

use super::super::{WindowField, WindowOperand, WindowOrder, WindowState, WindowedFunction};
use super::{Quoted, list};

/// The words of units and exclusions, for printing and parsing.
pub(in crate::ir) const UNITS: [(FrameUnit, &str); 3] =
    [(FrameUnit::Rows, "rows"), (FrameUnit::Range, "range"), (FrameUnit::Groups, "groups")];
pub(in crate::ir) const EXCLUSIONS: [(FrameExclusion, &str); 4] = [
    (FrameExclusion::NoOthers, "no_others"),
    (FrameExclusion::CurrentRow, "current_row"),
    (FrameExclusion::Group, "group"),
    (FrameExclusion::Ties, "ties"),
];

fn word<T: PartialEq>(words: &[(T, &'static str)], of: T) -> &'static str {
    words.iter().find(|(t, _)| *t == of).map_or("", |(_, word)| word)
}

impl Display for WindowState {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "window {} by (", self.layout)?;
        list(f, &self.keys, |f, key| write!(f, "{key}"))?;
        f.write_str(") (")?;
        list(f, &self.functions, |f, function| write!(f, "{function}"))?;
        f.write_str(")")
    }
}

impl Display for WindowedFunction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} (", self.function.name())?;
        list(f, &self.arguments, |f, a| write!(f, "{a}"))?;
        f.write_str(")")?;
        f.write_str(if self.distinct { " distinct" } else { "" })?;
        if let Some(filter) = &self.filter {
            write!(f, " filter {filter}")?;
        }
        f.write_str(if self.ignore_nulls { " ignore_nulls" } else { "" })?;
        if !self.order.is_empty() {
            f.write_str(" order (")?;
            list(f, &self.order, |f, key| write!(f, "{key}"))?;
            f.write_str(")")?;
        }
        write!(f, " partition {} peers {} {} ", self.partition, self.peers, word(&UNITS, self.frame.unit))?;
        bound(f, &self.frame.start)?;
        f.write_str(" to ")?;
        bound(f, &self.frame.end)?;
        write!(f, " exclude {}", word(&EXCLUSIONS, self.frame.exclude))?;
        if let Some(range) = &self.range {
            write!(f, " range {range}")?;
        }
        write!(f, " into {}", self.result)?;
        self.position.map_or(Ok(()), |position| write!(f, " at {position}"))
    }
}

fn bound(f: &mut Formatter<'_>, bound: &FrameBound<WindowOperand>) -> Result {
    match bound {
        FrameBound::UnboundedPreceding => f.write_str("unbounded_preceding"),
        FrameBound::Preceding(offset) => write!(f, "preceding {offset}"),
        FrameBound::CurrentRow => f.write_str("current_row"),
        FrameBound::Following(offset) => write!(f, "following {offset}"),
        FrameBound::UnboundedFollowing => f.write_str("unbounded_following"),
    }
}

impl Display for WindowOperand {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Field(field) => write!(f, "field {field}"),
            Self::Param(param, sql_type) => write!(f, "param {param} {}", Quoted(&sql_type.to_string())),
        }
    }
}

impl Display for WindowField {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} {}", self.offset, Quoted(&self.sql_type.to_string()))?;
        self.null.map_or(Ok(()), |null| write!(f, " null {null}"))
    }
}

impl Display for WindowOrder {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}", self.operand)?;
        f.write_str(if self.descending { " descending" } else { "" })?;
        f.write_str(if self.nulls_first { " nulls_first" } else { "" })
    }
}
