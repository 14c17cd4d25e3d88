//! Regions: collecting a maximal tree of movable joins and filters, and making its query graph.

use base::Result;
use base::ids::Id;
use catalog::IndexStatistics;
use plan::index_join::{column_of, rows_of_prefixes, scanned_by};
use plan::{ColumnId, Compare, Expr, ExprKind, JoinKind, Node, Op, TableId, split_conjuncts};

use super::Orderer;
use super::graph::{Class, Edge, Extender, Graph, Index, Leaf};
use super::relations::Relations;
use crate::cardinality::{Profile, equality};
use crate::rewrite::{at_most_one_row, filter};

/// Whether join ordering takes the operator apart: a movable join with filters above it, not too many of them.
pub(super) fn is_region(node: &Node) -> bool {
    is_member(node) && leaves(node) <= Relations::MOST
}

fn is_member(node: &Node) -> bool {
    let stable = |exprs: &[Expr]| !exprs.iter().any(Expr::is_volatile);
    match &node.op {
        Op::Filter { input, predicates } => stable(predicates) && is_member(input),
        Op::Join { kind, condition, .. } => stable(condition) && !matches!(kind, JoinKind::Full | JoinKind::Single),
        _ => false,
    }
}

fn leaves(node: &Node) -> usize {
    if is_member(node) { node.inputs().map(leaves).sum() } else { 1 }
}

/// A region as collected.
pub(super) struct Region {
    pub inputs: Vec<Input>,
    /// Conjuncts of inner joins and filters. First raw, then those left over by classes and leaves, aligned with
    /// `Graph::predicates`.
    pub predicates: Vec<(Relations, Expr)>,
    /// Columns of each of `Graph::classes`, aligned with its members.
    pub classes: Vec<Vec<ColumnId>>,
    /// Conjuncts without columns.
    pub constants: Vec<Expr>,
    /// The leaf that a column comes from.
    owner: Vec<u8>,
}

/// The leaves that have something that a column of a leaf is equal to: by a class, or a conjunct that is none.
fn partners(
    column: ColumnId,
    leaf: usize,
    (graph, region): (&Graph, &Region),
    conjuncts: &[(Relations, Expr)],
) -> Relations {
    let class = region.classes.iter().position(|members| members.contains(&column));
    let mut all = class.map_or(Relations::EMPTY, |class| graph.classes[class].leaves);
    for (a, b) in conjuncts.iter().filter_map(|(_, expr)| equality(expr)) {
        for (own, other) in [(a, b), (b, a)] {
            if column_of(own) == Some(column) && !region.leaves(other).contains(leaf) {
                all = all | region.leaves(other);
            }
        }
    }
    all - Relations::single(leaf)
}

/// A leaf: an optimised subplan, and the join that it is the right side of, if that is not an inner one.
pub(super) struct Input {
    pub node: Option<Node>,
    pub profile: Profile,
    pub extends: Option<Extends>,
}

/// An extender's join.
pub(super) struct Extends {
    pub kind: JoinKind,
    pub condition: Vec<Expr>,
    pub needs: Relations,
}

const NOBODY: u8 = u8::MAX;

impl Region {
    pub fn new(columns: usize) -> Self {
        let owner = vec![NOBODY; columns];
        Self { inputs: Vec::new(), predicates: Vec::new(), classes: Vec::new(), constants: Vec::new(), owner }
    }

    fn owner(&self, column: ColumnId) -> Option<usize> {
        self.owner.get(column.index()).filter(|&&o| o != NOBODY).map(|&o| o.into())
    }

    /// The leaves whose columns an expression reads.
    fn leaves(&self, expr: &Expr) -> Relations {
        let mut all = Relations::EMPTY;
        expr.visit_columns(&mut |c| {
            if let Some(leaf) = self.owner(c) {
                all = all | Relations::single(leaf);
            }
        });
        all
    }

    /// A set with all that its extenders need: their columns exist only after the join.
    fn closure(&self, set: Relations) -> Relations {
        set.iter().filter_map(|l| self.inputs[l].extends.as_ref()).fold(set, |all, e| all | e.needs)
    }

    fn is_plain(&self, leaf: usize) -> bool {
        self.inputs[leaf].extends.is_none()
    }
}

impl Orderer<'_> {
    /// Takes the members of a region apart; leaves are optimised on the way.
    pub(super) fn collect(&mut self, node: Node, region: &mut Region) -> Result<()> {
        if !is_member(&node) {
            let (node, profile) = self.node(node)?;
            self.add(region, node, profile, None);
            return Ok(());
        }
        match node.op {
            Op::Filter { input, predicates } => {
                self.collect(*input, region)?;
                self.conjuncts(predicates, region);
                Ok(())
            }
            Op::Join { kind: JoinKind::Inner, left, right, condition, .. } => {
                self.collect(*left, region)?;
                self.collect(*right, region)?;
                self.conjuncts(condition, region);
                Ok(())
            }
            Op::Join { kind: JoinKind::Right, left, right, condition, .. } => {
                self.extend(JoinKind::Left, *right, *left, condition, region)
            }
            Op::Join { kind, left, right, condition, .. } => self.extend(kind, *left, *right, condition, region),
            _ => unreachable!("only filters and joins are members"),
        }
    }

    fn conjuncts(&mut self, exprs: Vec<Expr>, region: &mut Region) {
        let mut parts = Vec::new();
        exprs.into_iter().for_each(|e| split_conjuncts(e, &mut parts));
        region.predicates.extend(parts.into_iter().map(|e| (Relations::EMPTY, e)));
    }

    fn extend(
        &mut self,
        kind: JoinKind,
        left: Node,
        right: Node,
        condition: Vec<Expr>,
        region: &mut Region,
    ) -> Result<()> {
        let start = region.inputs.len();
        self.collect(left, region)?;
        let left = Relations::first(region.inputs.len()) - Relations::first(start);
        let (right, profile) = self.node(right)?;
        let read = condition.iter().fold(Relations::EMPTY, |all, e| all | region.leaves(e)) & left;
        let needs = if read.is_empty() { left } else { region.closure(read) };
        self.add(region, right, profile, Some(Extends { kind, condition, needs }));
        Ok(())
    }

    fn add(&mut self, region: &mut Region, node: Node, profile: Profile, extends: Option<Extends>) {
        let leaf = u8::try_from(region.inputs.len()).expect("at most 128 leaves");
        let mark = extends.as_ref().and_then(|e| if let JoinKind::Mark(mark) = e.kind { Some(mark) } else { None });
        for column in node.columns().into_iter().chain(mark) {
            if column.index() >= region.owner.len() {
                region.owner.resize(column.index() + 1, NOBODY);
            }
            region.owner[column.index()] = leaf;
        }
        region.inputs.push(Input { node: Some(node), profile, extends });
    }

    /// The query graph. Conjuncts over one leaf become filters of it.
    pub(super) fn graph(&mut self, region: &mut Region) -> Graph {
        let mut graph = Graph::default();
        let (mut equal, mut others, mut local) = (Vec::new(), Vec::new(), Vec::new());
        for (_, expr) in std::mem::take(&mut region.predicates) {
            let read = region.leaves(&expr);
            let plain = read.iter().all(|l| region.is_plain(l));
            match column_equality(&expr) {
                _ if read.is_empty() => region.constants.push(expr),
                _ if read.len() == 1 && plain => local.push((read.lowest(), expr)),
                Some(pair) if plain => equal.push(pair),
                _ => others.push((region.closure(read), expr)),
            }
        }
        self.classes(equal, region, &mut graph, &mut local);
        self.filter_leaves(local, region);
        for (leaf, input) in region.inputs.iter().enumerate() {
            let extender = input.extends.as_ref().map(|extends| self.extender(leaf, extends, region, &mut graph));
            let (scanned, tables) = self.read_by(input.node.as_ref());
            let equal = |column| partners(column, leaf, (&graph, region), &others);
            let indexes = self.indexes(input.node.as_ref(), &equal);
            graph.leaves.push(Leaf { rows: input.profile.rows, scanned, tables, extender, indexes });
        }
        for (read, expr) in others {
            if let Some((edge, selectivity)) = self.equality_edge(&expr, region) {
                graph.edges.push(edge);
                graph.predicates.push((read, selectivity));
            } else {
                let rows = read.iter().map(|l| region.inputs[l].profile.rows).product();
                graph.predicates.push((read, self.estimator.selectivity(&expr, rows)));
                // Against a single row a nested loop is as good as a hash table.
                let single =
                    |&l: &usize| region.is_plain(l) && region.inputs[l].node.as_ref().is_some_and(at_most_one_row);
                if let (Some(leaf), true) = (read.iter().find(single), read.len() > 1) {
                    let leaf = Relations::single(leaf);
                    graph.edges.push(Edge { left: leaf, right: read - leaf, hashed: false });
                }
            }
            region.predicates.push((read, expr));
        }
        self.correct(region, &mut graph);
        graph.index();
        graph
    }

    /// The tables that a leaf reads, and their rows.
    fn read_by(&self, leaf: Option<&Node>) -> (f64, Vec<TableId>) {
        let (mut rows, mut tables) = (0.0, Vec::new());
        leaf.into_iter().for_each(|node| {
            node.walk(&mut |n| {
                if let Op::Scan { table, .. } = n.op {
                    rows += self.tables[table].statistics.rows() as f64;
                    tables.push(table);
                }
            });
        });
        (rows, tables)
    }

    /// The indexes of a leaf that begin with columns that are equal to something of other leaves.
    fn indexes(&self, node: Option<&Node>, equal: &dyn Fn(ColumnId) -> Relations) -> Vec<Index> {
        let Some(Op::Scan { table, columns: own, .. }) = node.and_then(scanned_by).map(|scan| &scan.op) else {
            return Vec::new();
        };
        let others = |attribute: usize| {
            let column = own.iter().find(|(known, _)| *known == attribute)?.1;
            Some(equal(column)).filter(|others| !others.is_empty())
        };
        let info = &self.tables[*table];
        let index = |index: IndexStatistics| {
            let rows = rows_of_prefixes(&index, info);
            let parts = index.parts.iter().zip(rows).map_while(|(part, rows)| Some((others(part.attribute)?, rows)));
            let parts: Vec<_> = parts.collect();
            parts.iter().any(|(_, rows)| rows.is_some()).then_some(Index { parts })
        };
        info.statistics.indexes().into_iter().filter_map(index).collect()
    }

    /// Equivalence classes of columns, and an edge between any two leaves of each.
    fn classes(
        &self,
        equal: Vec<(ColumnId, ColumnId)>,
        region: &mut Region,
        graph: &mut Graph,
        local: &mut Vec<(usize, Expr)>,
    ) {
        let mut classes: Vec<Vec<ColumnId>> = Vec::new();
        for (a, b) in equal {
            let (with_a, with_b) =
                (classes.iter().position(|c| c.contains(&a)), classes.iter().position(|c| c.contains(&b)));
            match (with_a, with_b) {
                (Some(i), Some(j)) if i != j => {
                    let merged = classes.remove(i.max(j));
                    classes[i.min(j)].extend(merged);
                }
                (Some(_), Some(_)) => {}
                (Some(i), None) => classes[i].push(b),
                (None, Some(j)) => classes[j].push(a),
                (None, None) => classes.push(vec![a, b]),
            }
        }
        for columns in classes {
            let (mut class, mut members) = (Class::default(), Vec::<ColumnId>::new());
            for column in columns {
                let leaf = region.owner(column).expect("columns of plain leaves");
                if let Some(i) = class.members.iter().position(|m| m.0 == leaf) {
                    local.push((leaf, self.equal(members[i], column)));
                    continue;
                }
                let known = self.estimator.column(column);
                class.members.push((leaf, known.domain.max(1.0), 1.0 - known.nulls));
                class.leaves = class.leaves | Relations::single(leaf);
                members.push(column);
            }
            for (i, a) in class.members.iter().enumerate() {
                for b in &class.members[i + 1..] {
                    let (left, right) = (Relations::single(a.0), Relations::single(b.0));
                    graph.edges.push(Edge { left, right, hashed: true });
                }
            }
            class.near = self.near(&class, &members);
            graph.classes.push(class);
            region.classes.push(members);
        }
    }

    /// The pairs of a class that are nearer than their domains tell.
    fn near(&self, class: &Class, columns: &[ColumnId]) -> Vec<(usize, usize, f64)> {
        let members: Vec<(usize, ColumnId)> = class.members.iter().map(|m| m.0).zip(columns.iter().copied()).collect();
        let mut near = Vec::new();
        for (i, &(a, column)) in members.iter().enumerate() {
            let factors = members[i + 1..].iter().map(|&(b, other)| (a, b, self.estimator.nearness(column, other)));
            near.extend(factors.filter(|(.., factor)| *factor > 1.0));
        }
        near
    }

    /// `a = b`
    pub(super) fn equal(&self, a: ColumnId, b: ColumnId) -> Expr {
        let column = |c: ColumnId| Expr::column(c, self.columns[c].sql_type);
        Expr::compare(Compare::Eq, column(a), column(b))
    }

    fn filter_leaves(&self, local: Vec<(usize, Expr)>, region: &mut Region) {
        for (leaf, expr) in local {
            let input = &mut region.inputs[leaf];
            input.profile = self.estimator.filter(std::slice::from_ref(&expr), &input.profile);
            let rows = input.profile.rows;
            let node = input.node.take().expect("not assembled yet");
            input.node = Some(Node { rows, ..filter(node, vec![expr]) });
        }
    }

    /// What the enumeration knows of an extender, and its edge.
    fn extender(&mut self, leaf: usize, extends: &Extends, region: &Region, graph: &mut Graph) -> Extender {
        let right = &region.inputs[leaf].profile;
        let left = match extends.needs.len() {
            1 => region.inputs[extends.needs.lowest()].profile.clone(),
            _ => Profile::new(extends.needs.iter().map(|l| region.inputs[l].profile.rows).fold(1.0, f64::max)),
        };
        let is_right = |c| region.owner(c) == Some(leaf);
        self.estimator.joined(&extends.kind, &extends.condition, &left, right, &is_right);
        let estimate = self.estimator.join(&extends.condition, &left, right, &is_right);
        let (needs, hashed) = (extends.needs, estimate.hashed);
        graph.edges.push(Edge { left: needs, right: Relations::single(leaf), hashed });
        if extends.kind == JoinKind::Left {
            for column in region.inputs[leaf].node.iter().flat_map(Node::columns) {
                let known = self.estimator.column(column);
                let nulls = known.nulls.max(1.0 - estimate.matched);
                self.estimator.set_column(column, crate::cardinality::ColumnProfile { nulls, ..known });
            }
        }
        let factor = estimate.factor(&extends.kind, right.rows);
        Extender { kind: extends.kind.clone(), needs, factor }
    }

    /// An equality of two expressions over disjoint sets of leaves.
    fn equality_edge(&self, expr: &Expr, region: &Region) -> Option<(Edge, f64)> {
        let (a, b) = equality(expr)?;
        let (left, right) = (region.closure(region.leaves(a)), region.closure(region.leaves(b)));
        if left.is_empty() || right.is_empty() || left.meets(right) {
            return None;
        }
        let not_null = (1.0 - self.estimator.null_fraction(a)) * (1.0 - self.estimator.null_fraction(b));
        let selectivity = not_null / self.estimator.domain(a).max(self.estimator.domain(b));
        Some((Edge { left, right, hashed: true }, selectivity))
    }

    /// Pairs of leaves that several classes join: their columns are correlated, or a composite key.
    fn correct(&self, region: &Region, graph: &mut Graph) {
        for a in 0..region.inputs.len() {
            for b in a + 1..region.inputs.len() {
                let (mut ours, mut theirs, mut independent) = (Vec::new(), Vec::new(), 1.0);
                for (class, columns) in graph.classes.iter().zip(&region.classes) {
                    if !class.leaves.contains(a) || !class.leaves.contains(b) {
                        continue;
                    }
                    let find = |leaf| class.members.iter().position(|m| m.0 == leaf).expect("a member");
                    let (i, j) = (find(a), find(b));
                    independent *= class.members[i].1.max(class.members[j].1);
                    ours.push(Expr::column(columns[i], types::SqlType::Null));
                    theirs.push(Expr::column(columns[j], types::SqlType::Null));
                }
                if ours.len() < 2 {
                    continue;
                }
                let (ours, theirs): (Vec<&Expr>, Vec<&Expr>) = (ours.iter().collect(), theirs.iter().collect());
                let (left, right) = (&region.inputs[a].profile, &region.inputs[b].profile);
                let together = self.estimator.key_domain((&ours, left), (&theirs, right));
                if together < independent {
                    graph.corrections.push((a, b, independent / together));
                }
            }
        }
        graph.corrections.sort_by(|x, y| y.2.total_cmp(&x.2));
    }
}

/// The columns that an equality of two bare columns compares.
fn column_equality(expr: &Expr) -> Option<(ColumnId, ColumnId)> {
    match &expr.kind {
        ExprKind::Compare(Compare::Eq, a, b) => Some((a.as_column()?, b.as_column()?)),
        _ => None,
    }
}
