//! From a region to its graph, to the best tree, to operators.

use base::Result;
use plan::{BuildSide, Expr, JoinKind, Node, Op};

use super::Orderer;
use super::graph::Graph;
use super::region::Region;
use super::relations::Relations;
use super::tree::{Space, Table};
use crate::cardinality::Profile;
use crate::rewrite::filter;

impl Orderer<'_> {
    /// Orders a region.
    pub(super) fn region(&mut self, node: Node) -> Result<(Node, Profile)> {
        let mut region = Region::new(self.columns.len());
        self.collect(node, &mut region)?;
        let graph = self.graph(&mut region);
        let space = Space { graph: &graph, sizes: self.sizes, costs: self.costs };
        let (table, best) = self.search.search(space);
        let keys = region.inputs.iter().filter(|i| i.extends.is_none() && i.profile.rows * 1.01 >= best.rows);
        let keys = keys.flat_map(|i| i.profile.keys.clone()).collect();
        let assembler = Assembler { graph: &graph, table: &table };
        let mut node = self.assemble(&assembler, &mut region, graph.all());
        let constants = std::mem::take(&mut region.constants);
        if !constants.is_empty() {
            let rows = self.estimator.filter(&constants, &Profile::new(node.rows)).rows;
            node = Node { rows, ..filter(node, constants) };
        }
        let profile = Profile { rows: node.rows, keys };
        Ok((node, profile))
    }

    fn assemble(&self, assembler: &Assembler<'_>, region: &mut Region, set: Relations) -> Node {
        let tree = assembler.table[&set];
        let Some((left, right)) = tree.inputs else {
            return region.inputs[set.lowest()].node.take().expect("each leaf is used once");
        };
        let (left_node, right_node) = (self.assemble(assembler, region, left), self.assemble(assembler, region, right));
        let (residual, selectivity) = assembler.residual(region, left, right);
        let rows = tree.rows.max(1.0);
        let extends = if right.len() == 1 { region.inputs[right.lowest()].extends.take() } else { None };
        let (kind, condition, above) = match extends {
            // What is tested after an outer join may not decide about its partners.
            Some(extends) => (extends.kind, extends.condition, residual),
            None => {
                let mut condition = self.equalities(assembler.graph, region, left, right);
                condition.extend(residual);
                (JoinKind::Inner, condition, Vec::new())
            }
        };
        let (left, right) = (Box::new(left_node), Box::new(right_node));
        let before = if above.is_empty() { rows } else { (tree.rows / selectivity.max(1e-9)).max(rows) };
        let join = Node { op: Op::Join { kind, left, right, condition, build: BuildSide::default() }, rows: before };
        if above.is_empty() { join } else { Node { rows, ..filter(join, above) } }
    }

    /// One equality for each class that both sides have columns of; within a side they are equal already.
    fn equalities(&self, graph: &Graph, region: &Region, left: Relations, right: Relations) -> Vec<Expr> {
        let mut all = Vec::new();
        for (class, columns) in graph.classes.iter().zip(&region.classes) {
            let member = |set: Relations| class.members.iter().position(|m| set.contains(m.0));
            if let (Some(l), Some(r)) = (member(left), member(right)) {
                all.push(self.equal(columns[l], columns[r]));
            }
        }
        all
    }
}

struct Assembler<'a> {
    graph: &'a Graph,
    table: &'a Table,
}

impl Assembler<'_> {
    /// The predicates that can first be tested where both sets meet (equalities, which are hashed, first), and their
    /// selectivity together.
    fn residual(&self, region: &mut Region, left: Relations, right: Relations) -> (Vec<Expr>, f64) {
        let both = left | right;
        let (mut exprs, mut selectivity) = (Vec::new(), 1.0);
        for ((read, expr), (_, fraction)) in region.predicates.iter().zip(&self.graph.predicates) {
            if both.covers(*read) && !left.covers(*read) && !right.covers(*read) {
                exprs.push(expr.clone());
                selectivity *= fraction;
            }
        }
        exprs.sort_by_key(|e| crate::cardinality::equality(e).is_none());
        (exprs, selectivity)
    }
}
