//! Windows: `OVER (...)`, `OVER w`, `WINDOW w AS (...)` with the standard's rules for refinement, frames; and the operators
//! that calls over them become.

mod frame;
mod operators;

use base::{Error, Result, SqlState};
use plan::{ColumnId, Expr, ExprKind, Frame, FrameBound, FrameExclusion, FrameUnit, SortKey, WindowCall};
use sqlparser::ast::{self, NamedWindowExpr, Select, WindowSpec, WindowType};

use super::expr::entries;
use super::{Binder, fold, unsupported};
use crate::parse::window::exclusion;
pub(super) use frame::check_offsets;

/// A window: what partitions rows, what orders them, and the frame if one was written.
#[derive(Clone, Default)]
pub(super) struct Window {
    pub partition: Vec<Expr>,
    pub order: Vec<SortKey>,
    pub frame: Option<Frame<Expr>>,
    /// In which order peers are, where functions could tell.
    pub ties: Vec<SortKey>,
}

/// A window of WINDOW.
pub(super) struct NamedWindow {
    name: String,
    pub window: Window,
}

/// A call of a window function and the window that it is over; the call's own numbers of keys are not known yet.
pub(super) struct Windowed {
    pub column: ColumnId,
    pub call: WindowCall,
    pub window: Window,
}

impl Window {
    /// Everything that is computed from rows.
    pub fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let Self { partition, order, frame, ties } = self;
        let offsets = frame.iter_mut().flat_map(offsets_mut);
        partition.iter_mut().chain(order.iter_mut().chain(ties).map(|key| &mut key.expr)).chain(offsets)
    }
}

impl Windowed {
    /// Everything that is computed from rows.
    pub fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let Self { call, window: Window { partition, order, ties, frame: _ }, .. } = self;
        let order = order.iter_mut().chain(ties).chain(&mut call.order).map(|key| &mut key.expr);
        let offsets = offsets_mut(&mut call.frame);
        partition.iter_mut().chain(order).chain(&mut call.arguments).chain(&mut call.filter).chain(offsets)
    }

    /// Whether it is this call over this window.
    pub fn is(&self, call: &WindowCall, window: &Window) -> bool {
        let all = |a: &[Expr], b: &[Expr]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b));
        let keys = |a: &[SortKey], b: &[SortKey]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_key(a, b));
        let offset = |a: Option<&Expr>, b: Option<&Expr>| a.zip(b).is_none_or(|(a, b)| a.same(b));
        let (a, b) = (&self.call, call);
        (a.function, a.distinct, a.ignore_nulls) == (b.function, b.distinct, b.ignore_nulls)
            && a.frame.map(|_| ()) == b.frame.map(|_| ())
            && offset(a.frame.start.offset(), b.frame.start.offset())
            && offset(a.frame.end.offset(), b.frame.end.offset())
            && all(&a.arguments, &b.arguments)
            && all(a.filter.as_slice(), b.filter.as_slice())
            && keys(&a.order, &b.order)
            && all(&self.window.partition, &window.partition)
            && keys(&self.window.order, &window.order)
    }
}

fn offsets_mut(frame: &mut Frame<Expr>) -> impl Iterator<Item = &mut Expr> {
    frame.start.offset_mut().into_iter().chain(frame.end.offset_mut())
}

/// Whether both order rows by the same keys.
pub(super) fn same_order(a: &Window, b: &Window) -> bool {
    let (a, b) = (&a.order, &b.order);
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_key(a, b))
}

fn same_key(a: &SortKey, b: &SortKey) -> bool {
    (a.descending, a.nulls_first) == (b.descending, b.nulls_first) && a.expr.same(&b.expr)
}

/// 42P20.
pub(super) fn wrong(message: impl Into<String>, position: Option<u32>) -> Error {
    Error::new(SqlState::WINDOWING_ERROR, message).at(position)
}

impl Binder<'_> {
    /// Binds WINDOW: each window may refine one before it.
    pub(super) fn named_windows(&mut self, select: &Select) -> Result<()> {
        for ast::NamedWindowDefinition(ident, definition) in &select.named_window {
            let (name, position) = (fold(ident), self.text.at(ident));
            if self.named_window(&name).is_some() {
                return Err(wrong(format!("window \"{name}\" is already defined"), position));
            }
            let window = match definition {
                NamedWindowExpr::WindowSpec(spec) => self.window_spec(spec, true, position)?,
                NamedWindowExpr::NamedWindow(_) => return unsupported("WINDOW without parentheses", position),
            };
            self.names.level().named_windows.push(NamedWindow { name, window });
        }
        Ok(())
    }

    fn named_window(&mut self, name: &str) -> Option<Window> {
        self.names.level().named_windows.iter().find(|w| w.name == name).map(|w| w.window.clone())
    }

    fn existing_window(&mut self, ident: &ast::Ident) -> Result<Window> {
        let name = fold(ident);
        self.named_window(&name).ok_or_else(|| {
            let message = format!("window \"{name}\" does not exist");
            Error::new(SqlState::UNDEFINED_OBJECT, message).at(self.text.at(ident))
        })
    }

    /// The window behind OVER; `position` is the call's.
    pub(super) fn window_of(&mut self, over: &WindowType, position: Option<u32>) -> Result<Window> {
        match over {
            WindowType::NamedWindow(ident) => self.existing_window(ident),
            WindowType::WindowSpec(spec) => self.window_spec(spec, false, position),
        }
    }

    /// `is_named`: it stands in WINDOW.
    fn window_spec(&mut self, spec: &WindowSpec, is_named: bool, position: Option<u32>) -> Result<Window> {
        const PLACE: &str = "window functions are not allowed in window definitions";
        let outside = self.names.level().without_windows.replace(PLACE);
        let bound = self.window_spec_inside(spec, is_named, position);
        self.names.level().without_windows = outside;
        bound
    }

    fn window_spec_inside(&mut self, spec: &WindowSpec, is_named: bool, position: Option<u32>) -> Result<Window> {
        let refined = match &spec.window_name {
            Some(ident) => Some((ident, self.existing_window(ident)?)),
            None => None,
        };
        // EXCLUDE travels as the first expression.
        let (excluded, partition) = match spec.partition_by.split_first() {
            Some((first, rest)) if exclusion(first).is_some() => (exclusion(first), rest),
            _ => (None, spec.partition_by.as_slice()),
        };
        let mut window = Window::default();
        for expr in partition.iter().flat_map(entries) {
            window.partition.push(self.typed_expr(expr)?);
        }
        window.order = self.inner_order(&spec.order_by)?;
        if let Some((ident, base)) = refined {
            let (name, at) = (fold(ident), self.text.at(ident));
            if !window.partition.is_empty() {
                return Err(wrong(format!("cannot override PARTITION BY clause of window \"{name}\""), at));
            }
            if !window.order.is_empty() && !base.order.is_empty() {
                return Err(wrong(format!("cannot override ORDER BY clause of window \"{name}\""), at));
            }
            if base.frame.is_some() {
                let error = wrong(format!("cannot copy window \"{name}\" because it has a frame clause"), at);
                let is_bare = !is_named && window.order.is_empty() && spec.window_frame.is_none();
                return Err(if is_bare { error.hint("omit the parentheses in this OVER clause") } else { error });
            }
            window.partition = base.partition;
            if window.order.is_empty() {
                window.order = base.order;
            }
        }
        if let Some(frame) = &spec.window_frame {
            window.frame = Some(self.frame(frame, excluded, &mut window.order, position)?);
        }
        Ok(window)
    }
}

impl Window {
    /// The frame, as it is by default if none was written.
    pub fn frame(&self) -> Frame<Expr> {
        self.frame.clone().unwrap_or(Frame {
            unit: FrameUnit::Range,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::CurrentRow,
            exclude: FrameExclusion::NoOthers,
        })
    }

    /// The keys that decide something, and how many of them partition. What is constant in a partition orders nothing, but
    /// RANGE with an offset looks at the value.
    fn keys(self, frame: &Frame<Expr>) -> (Vec<SortKey>, usize) {
        let mut keys: Vec<SortKey> = Vec::new();
        let add = |keys: &mut Vec<SortKey>, key: SortKey| {
            if !matches!(key.expr.kind, ExprKind::Const(_)) && !keys.iter().any(|k| k.expr.same(&key.expr)) {
                keys.push(key);
            }
        };
        for expr in self.partition {
            add(&mut keys, SortKey { expr, descending: false, nulls_first: false });
        }
        let partition = keys.len();
        if frame.unit == FrameUnit::Range && (frame.start.offset().is_some() || frame.end.offset().is_some()) {
            keys.extend(self.order);
        } else {
            self.order.into_iter().for_each(|key| add(&mut keys, key));
        }
        (keys, partition)
    }
}
