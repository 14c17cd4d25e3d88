//! Walking over syntax trees. The parser's crate compiles its walk anew for each visitor, thousands of functions of which nearly
//! all do nothing; here there are two, which call whoever looks.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, ObjectName, Query, TableFactor, Visit, VisitMut, Visitor, VisitorMut};

/// What a walk has come to.
pub(crate) enum Node<'a> {
    /// The name of a table, or of what stands for one.
    Relation(&'a ObjectName),
    Factor(&'a TableFactor),
    /// Before what is below it.
    Expr(&'a Expr),
}

/// What a walk has come to, which may be changed.
pub(crate) enum NodeMut<'a> {
    /// Before what is below it.
    Query(&'a mut Query),
    QueryEnd,
    /// Before what is below it.
    Expr(&'a mut Expr),
    /// After what is below it.
    ExprEnd(&'a mut Expr),
}

/// Whether `is_wanted` of some node; the walk ends there.
pub(crate) fn has_node(tree: &impl Visit, mut is_wanted: impl FnMut(Node<'_>) -> bool) -> bool {
    tree.visit(&mut Walk(&mut is_wanted)).is_break()
}

/// Whether `is_wanted` of some expression; the walk ends there.
pub(crate) fn has_expr(tree: &impl Visit, mut is_wanted: impl FnMut(&Expr) -> bool) -> bool {
    has_node(tree, |node| matches!(node, Node::Expr(expr) if is_wanted(expr)))
}

/// Calls `look` for each expression, before those below it.
pub(crate) fn each_expr(tree: &impl Visit, mut look: impl FnMut(&Expr)) {
    has_expr(tree, |expr| {
        look(expr);
        false
    });
}

/// Calls `change` for each expression, after those below it.
pub(crate) fn change_each_expr(tree: &mut impl VisitMut, mut change: impl FnMut(&mut Expr)) {
    change_each_node(tree, |node| {
        if let NodeMut::ExprEnd(expr) = node {
            change(expr);
        }
    });
}

/// Calls `change` for each node, as often as [`NodeMut`] says.
pub(crate) fn change_each_node(tree: &mut impl VisitMut, mut change: impl FnMut(NodeMut<'_>)) {
    let _: ControlFlow<()> = tree.visit(&mut WalkMut(&mut change));
}

struct Walk<'a>(&'a mut dyn FnMut(Node<'_>) -> bool);

impl Walk<'_> {
    fn come(&mut self, node: Node<'_>) -> ControlFlow<()> {
        if (self.0)(node) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Visitor for Walk<'_> {
    type Break = ();

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        self.come(Node::Relation(name))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.come(Node::Factor(factor))
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.come(Node::Expr(expr))
    }
}

struct WalkMut<'a>(&'a mut dyn FnMut(NodeMut<'_>));

impl WalkMut<'_> {
    fn come(&mut self, node: NodeMut<'_>) -> ControlFlow<()> {
        (self.0)(node);
        ControlFlow::Continue(())
    }
}

impl VisitorMut for WalkMut<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.come(NodeMut::Query(query))
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.come(NodeMut::QueryEnd)
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.come(NodeMut::Expr(expr))
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.come(NodeMut::ExprEnd(expr))
    }
}
