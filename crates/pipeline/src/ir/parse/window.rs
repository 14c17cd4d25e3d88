//! Reads window states: see [`text::window`](crate::ir::text::window).

use base::Result;
use functions::WindowFunction;
use plan::{Frame, FrameBound};

use super::super::{WindowField, WindowOperand, WindowOrder, WindowState, WindowedFunction};
use super::Parser;
use crate::ir::text::window::{EXCLUSIONS, UNITS};

impl Parser<'_> {
    pub(super) fn window(&mut self) -> Result<WindowState> {
        let layout = self.layout()?;
        self.t.word("by")?;
        let keys = self.list(Self::sort_field)?;
        Ok(WindowState { layout, keys, functions: self.list(Self::windowed)? })
    }

    fn windowed(&mut self) -> Result<WindowedFunction> {
        let function = WindowFunction::named(self.t.name()?).ok_or_else(|| self.t.error("a window function"))?;
        let arguments = self.list(Self::window_operand)?;
        let distinct = self.t.take("distinct");
        let filter = if self.t.take("filter") { Some(self.window_operand()?) } else { None };
        let ignore_nulls = self.t.take("ignore_nulls");
        let order = if self.t.take("order") { self.list(Self::window_order)? } else { Vec::new() };
        self.t.word("partition")?;
        let partition = self.t.number()?;
        self.t.word("peers")?;
        let peers = self.t.number()?;
        let unit = self.one_of(&UNITS)?;
        let start = self.bound()?;
        self.t.word("to")?;
        let end = self.bound()?;
        self.t.word("exclude")?;
        let frame = Frame { unit, start, end, exclude: self.one_of(&EXCLUSIONS)? };
        let range = if self.t.take("range") { Some(self.window_order()?) } else { None };
        self.t.word("into")?;
        let result = self.window_field()?;
        let position = if self.t.take("at") { Some(self.t.number()?) } else { None };
        Ok(WindowedFunction {
            function,
            arguments,
            distinct,
            filter,
            ignore_nulls,
            order,
            partition,
            peers,
            frame,
            range,
            result,
            position,
        })
    }

    fn one_of<T: Copy>(&mut self, words: &[(T, &str)]) -> Result<T> {
        let name = self.t.name()?;
        let found = words.iter().find(|(_, word)| *word == name);
        found.map(|(t, _)| *t).ok_or_else(|| self.t.error("a unit or an exclusion"))
    }

    fn bound(&mut self) -> Result<FrameBound<WindowOperand>> {
        Ok(match self.t.name()? {
            "unbounded_preceding" => FrameBound::UnboundedPreceding,
            "preceding" => FrameBound::Preceding(self.window_operand()?),
            "current_row" => FrameBound::CurrentRow,
            "following" => FrameBound::Following(self.window_operand()?),
            "unbounded_following" => FrameBound::UnboundedFollowing,
            _ => return Err(self.t.error("a bound of a frame")),
        })
    }

    fn window_operand(&mut self) -> Result<WindowOperand> {
        Ok(match self.t.name()? {
            "field" => WindowOperand::Field(self.window_field()?),
            "param" => WindowOperand::Param(self.t.id("$")?, self.sql_type()?),
            _ => return Err(self.t.error("field or param")),
        })
    }

    fn window_field(&mut self) -> Result<WindowField> {
        let (offset, sql_type) = (self.t.number()?, self.sql_type()?);
        Ok(WindowField { offset, sql_type, null: if self.t.take("null") { Some(self.t.number()?) } else { None } })
    }

    fn window_order(&mut self) -> Result<WindowOrder> {
        Ok(WindowOrder {
            operand: self.window_operand()?,
            descending: self.t.take("descending"),
            nulls_first: self.t.take("nulls_first"),
        })
    }
}
