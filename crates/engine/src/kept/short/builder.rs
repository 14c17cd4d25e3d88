//! From an optimised plan to a short one.

use std::collections::HashMap;
use std::sync::Arc;

use base::ids::Id;
use functions::ScalarFunction;
use plan::{
    ArgumentId, BuildSide, ColumnId, Expr, ExprKind, JoinKind, Node, Op, Plan, SortKey, TableId, TableInfo, Uses,
};
use sql::{ArgumentRole, ArgumentUse};
use storage::index::RowOrder;
use storage::{Comparison, Relation};
use types::SqlType;

use super::access::{Access, Asked, First, Op as AskedOp};
use super::chosen::{Choice, Chosen};
use super::frame::{FIRST_PLACE, Formula};
use super::group::{Aggregate, Group};
use super::join::{Join, Kind};
use super::{Count, Key, Limit, Place, Short, Step};
use crate::source::Source;

/// Plans over more tables are made for joins of many rows.
const MOST_TABLES: usize = 4;
/// More constant rows than these are no few.
const MOST_VALUES: usize = 64;

/// A plan that is looked at. It is no short one if values decide that are equal and not the same: which of them a group has,
/// pipelines say.
pub(super) struct Builder<'p> {
    plan: &'p Plan,
    places: HashMap<ColumnId, Place>,
    next: Place,
    /// How many there are, whose places come first.
    arguments: usize,
    relations: Vec<Arc<Relation>>,
    /// Of the sort right above a scan, the first key and which rows are enough.
    first: Option<(&'p SortKey, Limit)>,
    /// Arguments that the numbers of rows are of the plan's only LIMIT and OFFSET.
    counts: (Option<Place>, Option<Place>),
    /// Which of the conjuncts that the join above tells a scan are asked of its indexes.
    looked_up: Vec<bool>,
    /// Of the operator right above a scan.
    choices: Vec<Choice<'p>>,
    uses: Uses,
    /// Whether it is of at most one row, which is always there where it is looked at.
    is_of_one: bool,
}

/// Whether a plan is of at most one row that no operator joins, sorts or keeps.
fn is_of_one(node: &Node) -> bool {
    match &node.op {
        Op::Map { input, .. } | Op::Filter { input, .. } => is_of_one(input),
        Op::Values { rows, .. } => rows.len() == 1,
        Op::Scan { .. } => true,
        _ => false,
    }
}

/// Whether a plan that is not optimised yet may be a short one.
pub(super) fn may_be(plan: &Plan) -> bool {
    let has_index = |table: &TableInfo| match Source::of(&table.source) {
        Ok(Source::Stored(_, relation)) => {
            !relation.schema().primary_key().is_empty() || !relation.indexes().is_empty()
        }
        _ => false,
    };
    let few_rows = |node: &Node| !matches!(&node.op, Op::Values { rows, .. } if rows.len() > MOST_VALUES);
    let mut all_few = true;
    plan.root.walk(&mut |node| all_few &= few_rows(node));
    plan.tables.len() <= MOST_TABLES && plan.ctes.is_empty() && all_few && plan.tables.values().all(has_index)
}

/// Whether a plan is as the binder made it of these arguments: none has become something else.
pub(super) fn leaves_open(plan: &Plan, arguments: &[ArgumentUse]) -> bool {
    has_operands(plan, arguments) && has_counts(plan, arguments)
}

/// Whether all arguments that are operands are in a plan.
pub(in crate::kept) fn has_operands(plan: &Plan, arguments: &[ArgumentUse]) -> bool {
    let is_operand =
        |id: &ArgumentId| matches!(arguments[id.index()].role, ArgumentRole::Operand | ArgumentRole::Given);
    let operands: Vec<ArgumentId> = (0..arguments.len()).map(ArgumentId::from_index).filter(is_operand).collect();
    plan.has_arguments(&operands)
}

/// Whether the numbers of rows among the arguments are those of the plan's only LIMIT and OFFSET.
fn has_counts(plan: &Plan, arguments: &[ArgumentUse]) -> bool {
    let slice = || plan.only_slice();
    arguments.iter().all(|usage| match usage.role {
        ArgumentRole::Operand | ArgumentRole::Given => true,
        ArgumentRole::Limit(rows) => slice().is_some_and(|(limit, _)| limit == Some(rows)),
        ArgumentRole::Offset(rows) => slice().is_some_and(|(_, offset)| offset == rows),
    })
}

/// A step, and where the values of its rows lie.
type Built = (Step, Vec<Place>);

impl<'p> Builder<'p> {
    pub fn short(plan: &'p Plan, arguments: &[ArgumentUse]) -> Option<Short> {
        if plan.tables.len() > MOST_TABLES || !plan.ctes.is_empty() || !has_counts(plan, arguments) {
            return None;
        }
        let place = |is: fn(ArgumentRole) -> bool| arguments.iter().position(|usage| is(usage.role));
        let mut builder = Self {
            plan,
            places: HashMap::new(),
            next: arguments.len(),
            arguments: arguments.len(),
            relations: Vec::new(),
            first: None,
            counts: (
                place(|role| matches!(role, ArgumentRole::Limit(_))),
                place(|role| matches!(role, ArgumentRole::Offset(_))),
            ),
            looked_up: Vec::new(),
            choices: Vec::new(),
            uses: Uses::of(plan),
            is_of_one: is_of_one(&plan.root),
        };
        let (root, _) = builder.step(&plan.root, &[])?;
        let types = plan.output.iter().map(|(_, column)| plan.columns[*column].sql_type).collect();
        let output = plan.output.iter().map(|(_, column)| builder.places.get(column).copied());
        let output = output.collect::<Option<Vec<Place>>>()?;
        let is_once = |(at, place): (usize, &Place)| !output[..at].contains(place);
        Some(Short {
            is_taken: (root.is_of_key() || root.rows_given().is_some()) && output.iter().enumerate().all(is_once),
            is_of_one: root.is_of_key() || root.rows_given() == Some(1),
            root,
            types,
            output,
            relations: builder.relations.iter().map(Arc::downgrade).collect(),
            arguments: arguments.len(),
            places: builder.next,
            runs: 0.into(),
            gave_up: 0.into(),
        })
    }

    /// An operator; `told` is what a join above says of its columns.
    fn step(&mut self, node: &'p Node, told: &'p [Expr]) -> Option<Built> {
        let first = self.first.take();
        let choices = std::mem::take(&mut self.choices);
        match &node.op {
            Op::Scan { table, columns, predicates } => self.scan((*table, columns, predicates), told, first, choices),
            Op::Values { columns, rows } => {
                if rows.len() > MOST_VALUES {
                    return None;
                }
                let row = |row: &Vec<Expr>| row.iter().map(|expr| self.computable(expr)).collect::<Option<Vec<_>>>();
                let mut rows = rows.iter().map(row).collect::<Option<Vec<_>>>()?;
                if let ([row], true) = (rows.as_mut_slice(), self.is_of_one) {
                    let columns = self.new_places(columns.iter().copied().zip(std::mem::take(row)));
                    let places = columns.iter().map(|(place, _)| *place).collect();
                    return Some((Step::Values { rows: vec![columns] }, places));
                }
                let places: Vec<Place> = columns.iter().map(|column| self.new_place(*column)).collect();
                let rows = rows.into_iter().map(|row| places.iter().copied().zip(row).collect()).collect();
                Some((Step::Values { rows }, places))
            }
            Op::Filter { input, predicates } => {
                let (input, places) = self.step(input, told)?;
                let predicate =
                    |predicate| self.placed(predicate).filter(only_refuses).map(|predicate| self.formula(&predicate));
                let predicates = predicates.iter().map(predicate).collect::<Option<_>>()?;
                Some((Step::Filter { input: input.into(), predicates }, places))
            }
            Op::Map { input, columns } => {
                self.first = first;
                self.choices = self.choices_of(input, columns);
                let (input, mut places) = self.step(input, told)?;
                let is_there = |(column, _): &&(ColumnId, Expr)| !self.places.contains_key(column);
                let computed =
                    columns.iter().filter(is_there).map(|(column, expr)| Some((*column, self.computable(expr)?)));
                let computed = computed.collect::<Option<Vec<_>>>()?;
                let columns = self.new_places(computed.into_iter());
                places.extend(columns.iter().map(|(place, _)| *place));
                Some((Step::Map { input: input.into(), columns }, places))
            }
            Op::Join { kind, left, right, condition, build } => self.join(kind, (left, right), condition, *build),
            Op::Aggregate { input, groups, aggregates } => {
                if groups.iter().any(|(_, expr)| !expr.sql_type.equality_is_identity()) {
                    return None;
                }
                let (input, _) = self.step(input, &[])?;
                let keys = groups.iter().map(|(column, expr)| Some((*column, self.computable(expr)?)));
                let keys = keys.collect::<Option<Vec<_>>>()?;
                let aggregates = aggregates.iter().map(|(column, call)| Some((*column, self.aggregate(call)?)));
                let aggregates = aggregates.collect::<Option<Vec<_>>>()?;
                let keys: Vec<_> = keys.into_iter().map(|(column, expr)| (self.new_place(column), expr)).collect();
                let aggregates = aggregates.into_iter().map(|(column, of)| (self.new_place(column), of));
                let aggregates: Vec<_> = aggregates.collect();
                let places = keys.iter().map(|key| key.0).chain(aggregates.iter().map(|of| of.0)).collect();
                Some((Step::Group(Group { input, keys, aggregates }.into()), places))
            }
            Op::Distinct { input, columns } => {
                if columns.iter().any(|column| !self.plan.columns[*column].sql_type.equality_is_identity()) {
                    return None;
                }
                let (input, _) = self.step(input, &[])?;
                let places =
                    columns.iter().map(|column| self.places.get(column).copied()).collect::<Option<Vec<_>>>()?;
                Some((Step::Distinct { input: input.into(), places: places.clone() }, places))
            }
            Op::Sort { input, keys, limit, offset } => {
                let few = keys.first().filter(|_| limit.is_some_and(|most| First::few(most, *offset).is_some()));
                let limit = self.limit(*limit, *offset);
                self.first = few.map(|key| (key, limit));
                let (input, carried) = self.step(input, &[])?;
                let key = |key: &SortKey| {
                    let SortKey { expr, descending, nulls_first } = key;
                    let formula = self.computable(expr)?;
                    Some(Key { formula, descending: *descending, nulls_first: *nulls_first })
                };
                let keys = keys.iter().map(key).collect::<Option<_>>()?;
                Some((Step::Sort { input: input.into(), keys, limit, carried: carried.clone() }, carried))
            }
            Op::Limit { input, limit, offset } => {
                let (input, places) = self.step(input, &[])?;
                let limit = self.limit(*limit, *offset);
                Some((Step::Limit { input: input.into(), limit }, places))
            }
            Op::CteScan { .. }
            | Op::GroupLimit { .. }
            | Op::Window { .. }
            | Op::Repeat { .. }
            | Op::SetOp { .. }
            | Op::Recursion { .. } => None,
        }
    }

    /// What arguments choose of the columns of a scan that is of one row.
    fn choices_of(&self, input: &'p Node, columns: &'p [(ColumnId, Expr)]) -> Vec<Choice<'p>> {
        let Op::Scan { columns: scanned, .. } = &input.op else { return Vec::new() };
        let all = columns.iter().filter(|_| self.is_of_one);
        all.filter_map(|(column, expr)| Choice::of(*column, expr, scanned)).collect()
    }

    fn chosen(&mut self, Choice { column, branches, otherwise, .. }: Choice<'p>) -> Option<Chosen> {
        let branch = |(condition, attribute)| Some((self.computable(condition)?, attribute));
        let branches = branches.into_iter().map(branch).collect::<Option<_>>()?;
        Some(Chosen { place: self.new_place(column), branches, otherwise })
    }

    fn limit(&self, limit: Option<u64>, offset: u64) -> Limit {
        let (most, skipped) = self.counts;
        let most = match (limit, most) {
            (Some(_), Some(place)) => Count::At(place),
            (known, _) => Count::Known(known.unwrap_or(u64::MAX)),
        };
        let offset = match skipped {
            Some(place) if offset > 0 => Count::At(place),
            _ => Count::Known(offset),
        };
        Limit { most, offset }
    }

    fn scan(
        &mut self,
        (table, columns, predicates): (TableId, &[(usize, ColumnId)], &'p [Expr]),
        told: &'p [Expr],
        first: Option<(&SortKey, Limit)>,
        choices: Vec<Choice<'p>>,
    ) -> Option<Built> {
        let Ok(Source::Stored(_, relation)) = Source::of(&self.plan.tables[table].source) else { return None };
        let relation = relation.clone();
        let schema = relation.schema();
        // What is asked for is known before a row is there.
        let of_predicate = |predicate: &Expr| self.asked(&relation, columns, predicate);
        let own: Vec<Option<Asked>> = predicates.iter().map(of_predicate).collect();
        let is_all = own.iter().all(Option::is_some);
        let mut numbers: Vec<Option<usize>> = Vec::new();
        let mut asked = Vec::new();
        for one in own {
            numbers.push(one.is_some().then_some(asked.len()));
            asked.extend(one);
        }
        let of_join: Vec<Option<Asked>> = told.iter().map(of_predicate).collect();
        let looked_up: Vec<bool> = of_join.iter().map(Option::is_some).collect();
        asked.extend(of_join.into_iter().flatten());
        let key = Access::key_of(&asked, schema.primary_key());
        let order = first.filter(|_| key.is_none() && is_all && told.is_empty()).and_then(|(key, limit)| {
            let column = key.expr.as_column()?;
            let attribute = columns.iter().find(|(_, c)| *c == column)?.0;
            let order = RowOrder { attribute, descending: key.descending, nulls_first: Some(key.nulls_first) };
            Some(First { order, limit, ties: true })
        });
        let is_indexed = |index: &Arc<storage::index::RowIndex>| {
            let parts = &index.definition().parts;
            if !index.is_ordered() {
                let is_equal = |attribute: usize| asked.iter().any(|a| a.attribute == attribute && a.is_of_values());
                return parts.iter().all(|part| is_equal(part.attribute));
            }
            let is_asked = asked.iter().any(|asked| asked.narrows() && asked.attribute == parts[0].attribute);
            let has_order = |first: First| parts.iter().any(|part| part.attribute == first.order.attribute);
            is_asked || index.definition().only.is_some() || order.is_some_and(has_order)
        };
        if key.is_none() && !relation.indexes().iter().any(is_indexed) {
            return None;
        }
        // What is chosen is of rows that the key finds.
        let choices = if key.is_some() { choices } else { Vec::new() };
        let is_read = |column: ColumnId| !Choice::is_all_of(&choices, column, &self.uses);
        let (columns, late): (Vec<_>, Vec<_>) = columns.iter().copied().partition(|(_, column)| is_read(*column));
        let read: Vec<(usize, Place)> =
            columns.iter().map(|(attribute, column)| (*attribute, self.new_place(*column))).collect();
        let chosen = choices.into_iter().map(|choice| self.chosen(choice)).collect::<Option<Vec<_>>>()?;
        // What nobody reads but those who ask the index.
        let asking = Uses::of_expressions(predicates.iter().chain(of_conjuncts(told, &looked_up)));
        let is_read = |column: ColumnId| self.uses.times(column) > asking.times(column);
        let read_if_told = columns.iter().zip(&read).filter(|((_, column), _)| is_read(*column)).map(|(_, read)| *read);
        let read_if_told: Option<Vec<(usize, Place)>> = is_all.then(|| read_if_told.collect());
        let is_all_read =
            |order: RowOrder| matches!(read_if_told.as_deref(), Some([(only, _)]) if *only == order.attribute);
        let is_same = |order: RowOrder| {
            schema.attributes().get(order.attribute).is_some_and(|attribute| attribute.sql_type.equality_is_identity())
        };
        let first = order.map(|first| First { ties: !(is_all_read(first.order) && is_same(first.order)), ..first });
        self.looked_up = looked_up;
        let is_told = |number: &usize| key.as_ref().is_some_and(|key| key.contains(number));
        let left = predicates.iter().zip(numbers).filter(|(_, number)| !number.as_ref().is_some_and(is_told));
        let predicates = left.map(|(predicate, _)| self.computable(predicate)).collect::<Option<_>>()?;
        let count = relation.schema().attributes().len();
        let mut stored: Vec<usize> = columns.iter().chain(&late).map(|(attribute, _)| *attribute).collect();
        stored.retain(|&attribute| attribute < count);
        stored.sort_unstable();
        stored.dedup();
        let number = self.relations.len();
        self.relations.push(relation);
        let places = read.iter().map(|(_, place)| *place).chain(chosen.iter().map(|chosen| chosen.place)).collect();
        let (stored, is_any_enough) = (stored.into(), false);
        let access =
            Access { table: number, asked, key, predicates, read, read_if_told, chosen, is_any_enough, stored, first };
        Some((Step::Scan(access.into()), places))
    }

    /// What an index can be asked for so that the predicate holds.
    fn asked(&self, relation: &Relation, columns: &[(usize, ColumnId)], predicate: &Expr) -> Option<Asked> {
        let attributes = relation.schema().attributes();
        let stored = |expr: &Expr| {
            let column = expr.as_column()?;
            let attribute = columns.iter().find(|(_, c)| *c == column)?.0;
            Some((attribute, attributes.get(attribute)?.sql_type))
        };
        let asked = |(attribute, sql_type), op| Some(Asked { attribute, sql_type, op });
        match &predicate.kind {
            ExprKind::Compare(op, a, b) => {
                let (column, op, with) = match (stored(a), stored(b)) {
                    (Some(column), _) => (column, *op, b),
                    (None, Some(column)) => (column, op.swapped(), a),
                    (None, None) => return None,
                };
                let with = self.computable(with).filter(|_| is_same_form(column.1, with.sql_type))?;
                asked(column, AskedOp::Compare(op.of_scan()?, with))
            }
            ExprKind::InList(input, values) if is_same_form(stored(input)?.1, input.sql_type) => {
                asked(stored(input)?, AskedOp::In(values.clone()))
            }
            ExprKind::IsNull(input) => asked(stored(input)?, AskedOp::IsNull),
            ExprKind::Not(inner) => match &inner.kind {
                ExprKind::IsNull(input) => asked(stored(input)?, AskedOp::IsNotNull),
                _ => None,
            },
            ExprKind::Column(_) => {
                let is_true = self.formula(&Expr::bool(true));
                asked(stored(predicate)?, AskedOp::Compare(Comparison::Eq, is_true))
            }
            _ => None,
        }
    }

    fn join(
        &mut self,
        kind: &'p JoinKind,
        (left, right): (&'p Node, &'p Node),
        condition: &'p [Expr],
        build: BuildSide,
    ) -> Option<Built> {
        let mut sides = vec![(left, right)];
        if *kind == JoinKind::Inner {
            sides.push((right, left));
            if build == BuildSide::Right {
                sides.reverse();
            }
        }
        // Rows that are not looked up must not be those for which a condition is NULL: a mark would be false without them.
        let padded: Vec<ColumnId> = [left, right].into_iter().flat_map(Node::nullable_columns).collect();
        let is_open = |column| self.plan.columns[column].nullable || padded.contains(&column);
        let misses_nulls =
            matches!(kind, JoinKind::Mark(_)) && condition.iter().any(|predicate| predicate.is_nullable(&is_open));
        let told: [&[Expr]; 2] = [if misses_nulls { &[] } else { condition }, &[]];
        for told in told {
            for (outer, inner) in &sides {
                let known = (self.places.clone(), self.relations.len());
                if let Some(built) = self.sides(kind, (outer, inner), condition, told) {
                    return Some(built);
                }
                self.places = known.0;
                self.relations.truncate(known.1);
            }
        }
        None
    }

    fn sides(
        &mut self,
        kind: &JoinKind,
        (outer, inner): (&'p Node, &'p Node),
        condition: &'p [Expr],
        told: &'p [Expr],
    ) -> Option<Built> {
        let (outer, mut all) = self.step(outer, &[])?;
        let above = std::mem::take(&mut self.looked_up);
        let inner = self.step(inner, told);
        let looked_up = std::mem::replace(&mut self.looked_up, above);
        let (mut inner, places) = inner?;
        let is_looked_up = looked_up.contains(&true);
        let untold = condition.iter().enumerate().filter(|(at, _)| !looked_up.get(*at).is_some_and(|told| *told));
        let untold = untold.map(|(_, predicate)| self.computable(predicate)).collect::<Option<Vec<_>>>()?;
        let condition = condition.iter().map(|predicate| self.computable(predicate)).collect::<Option<_>>()?;
        let kind = Kind::of(kind, |column| self.new_place(column))?;
        if let (Kind::Semi | Kind::Anti | Kind::Mark(_), Step::Scan(access)) = (&kind, &mut inner) {
            access.is_any_enough = is_looked_up && untold.is_empty() && access.read_if_told.is_some();
        }
        match kind {
            Kind::Inner | Kind::Left | Kind::Single => all.extend(&places),
            Kind::Mark(place) => all.push(place),
            Kind::Semi | Kind::Anti => {}
        }
        Some((Step::Join(Join { kind, outer, inner, is_looked_up, condition, untold, places }.into()), all))
    }

    fn aggregate(&self, call: &plan::AggregateCall) -> Option<Aggregate> {
        let row = call.function.definition();
        // Which value it chooses among equal ones, and what is about right of many, pipelines say.
        let differs = |argument: &Expr| !argument.sql_type.equality_is_identity();
        if row.name.starts_with("approx") || row.ignores_duplicates && call.arguments.iter().any(differs) {
            return None;
        }
        let arguments = call.arguments.iter().map(|argument| self.computable(argument)).collect::<Option<_>>()?;
        let filter = match &call.filter {
            Some(filter) => Some(self.computable(filter)?),
            None => None,
        };
        let types = (call.argument_type(), call.sql_type);
        Some(Aggregate { function: call.function, arguments, distinct: call.distinct, filter, types })
    }

    fn new_place(&mut self, column: ColumnId) -> Place {
        let place = self.next;
        self.places.insert(column, place);
        self.next += 1;
        place
    }

    /// Columns that are computed. Of a plan of one row, what only has another name stays where it is.
    fn new_places(&mut self, computed: impl Iterator<Item = (ColumnId, Formula)>) -> Vec<(Place, Formula)> {
        let mut columns = Vec::new();
        for (column, formula) in computed {
            match formula.expr.place().filter(|_| self.is_of_one) {
                Some(place) => {
                    self.places.insert(column, place);
                }
                None => columns.push((self.new_place(column), formula)),
            }
        }
        columns
    }

    fn formula(&self, placed: &Expr) -> Formula {
        Formula::new(placed, self.arguments)
    }

    fn computable(&self, expr: &Expr) -> Option<Formula> {
        self.placed(expr).filter(|expr| !expr.is_volatile()).map(|expr| self.formula(&expr))
    }

    /// An expression over places instead of columns and arguments.
    fn placed(&self, expr: &Expr) -> Option<Expr> {
        let mut placed = expr.clone();
        self.place(&mut placed, &mut Vec::new())?;
        Some(placed)
    }

    /// `bound` are columns that the expression itself binds.
    fn place(&self, expr: &mut Expr, bound: &mut Vec<ColumnId>) -> Option<()> {
        let of = |place: Place| ExprKind::Column(ColumnId::from_index(FIRST_PLACE + place));
        match &expr.kind {
            // A long list is the matter of code.
            ExprKind::Subquery(_) | ExprKind::Each(_) => return None,
            ExprKind::Argument(id, _) => expr.kind = of(id.index()),
            ExprKind::Column(column) if bound.contains(column) => {}
            ExprKind::Column(column) => expr.kind = of(*self.places.get(column)?),
            ExprKind::Let { column, .. } => {
                bound.push(*column);
                for child in expr.children_mut() {
                    self.place(child, bound)?;
                }
                bound.pop();
            }
            _ => {
                for child in expr.children_mut() {
                    self.place(child, bound)?;
                }
            }
        }
        Some(())
    }
}

/// Those of some conjuncts that are marked.
fn of_conjuncts<'p>(conjuncts: &'p [Expr], marked: &[bool]) -> impl Iterator<Item = &'p Expr> {
    conjuncts.iter().zip(marked).filter(|(_, marked)| **marked).map(|(conjunct, _)| conjunct)
}

/// Whether an expression does nothing but compute, and perhaps refuse a row.
fn only_refuses(expr: &Expr) -> bool {
    let acts =
        |e: &Expr| matches!(&e.kind, ExprKind::Call(f, _) if f.is_volatile() && *f != ScalarFunction::REFUSE_ROW);
    !expr.any(&acts)
}

/// Whether values of both types lie in memory in the same form, so that indexes compare them.
fn is_same_form(column: SqlType, other: SqlType) -> bool {
    column.physical() == other.physical()
        && column.scale() == other.scale()
        && matches!(column, SqlType::Char(_)) == matches!(other, SqlType::Char(_))
}
