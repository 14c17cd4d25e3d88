//! SET: which attributes get which values. A query that gives several of them their values at once is joined to the rows.

use base::{Error, Result, SqlState};
use catalog::Filling;
use plan::{ColumnId, Expr, JoinKind, Node, Op};
use sqlparser::ast::{self, AssignmentTarget, ObjectNamePart};

use crate::bind::Binder;
use crate::bind::coerce::assign;
use crate::bind::expr::row;
use crate::bind::insert::Target;
use crate::bind::scope::Clause;
use crate::bind::values::is_default;
use crate::{ObjectName, Table};

/// What SET says.
#[derive(Default)]
pub(super) struct Assigned {
    /// Values of attributes.
    pub values: Vec<(usize, Expr)>,
    /// The queries whose only row some of these are of.
    queries: Vec<Node>,
}

impl Assigned {
    /// Whether queries give several attributes their values.
    pub fn has_queries(&self) -> bool {
        !self.queries.is_empty()
    }

    /// The rows with what their queries give them, which are asked only where `guard` is true; and the values.
    pub fn joined(self, mut node: Node, guard: Option<Expr>) -> (Node, Vec<(usize, Expr)>) {
        for query in self.queries {
            let condition = guard.iter().cloned().collect();
            let (left, right, build) = (Box::new(node), Box::new(query), Default::default());
            node = Node::new(Op::Join { kind: JoinKind::Single, left, right, condition, build });
        }
        (node, self.values)
    }
}

impl Binder<'_> {
    /// As [`Assigned::joined`], with the guard as a column.
    pub(super) fn guarded(
        &mut self,
        assigned: Assigned,
        node: Node,
        guard: Option<Expr>,
    ) -> (Node, Vec<(usize, Expr)>) {
        let Some(guard) = guard else { return assigned.joined(node, None) };
        let column = self.plan.column_for("guard", &guard);
        let node = Node::new(Op::Map { input: Box::new(node), columns: vec![(column, guard)] });
        assigned.joined(node, Some(self.plan.reference(column)))
    }

    /// The values of SET, of the columns' types.
    pub(super) fn assigned(
        &mut self,
        assignments: &[ast::Assignment],
        table: &Table,
        name: &ObjectName,
    ) -> Result<Assigned> {
        self.names.level().clause = Clause::Update;
        let mut assigned = Assigned::default();
        for assignment in assignments {
            match (&assignment.target, &assignment.value) {
                (AssignmentTarget::ColumnName(column), value) => {
                    self.assign_to(&mut assigned, &[column], &[value], table, name)?;
                }
                (AssignmentTarget::Tuple(columns), value) => {
                    let columns: Vec<&ast::ObjectName> = columns.iter().collect();
                    match (query_in(value), row(value), value) {
                        (Some(query), ..) => self.assign_query(&mut assigned, &columns, query, table, name)?,
                        (_, Some(values), _) => self.assign_to(&mut assigned, &columns, &values, table, name)?,
                        (.., ast::Expr::Nested(value)) if columns.len() == 1 => {
                            self.assign_to(&mut assigned, &columns, &[value], table, name)?;
                        }
                        _ => {
                            let message =
                                "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
                            let position = self.text.start(value);
                            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
                        }
                    }
                }
            }
        }
        Ok(assigned)
    }

    fn assign_to(
        &mut self,
        assigned: &mut Assigned,
        columns: &[&ast::ObjectName],
        values: &[&ast::Expr],
        table: &Table,
        name: &ObjectName,
    ) -> Result<()> {
        self.check_width(columns, values.len())?;
        for (column, value) in columns.iter().zip(values) {
            let target = self.assigned_target(column, table, name, assigned)?;
            let value = self.assignment(&target, column, value)?;
            assigned.values.push((target.attribute, value));
        }
        Ok(())
    }

    fn assign_query(
        &mut self,
        assigned: &mut Assigned,
        columns: &[&ast::ObjectName],
        query: &ast::Query,
        table: &Table,
        name: &ObjectName,
    ) -> Result<()> {
        let bound = self.subquery(query)?;
        self.check_width(columns, bound.output.len())?;
        let made: Vec<ColumnId> = bound.node.columns();
        self.plan.padded.extend(made);
        assigned.queries.push(bound.node);
        for (column, output) in columns.iter().zip(&bound.output) {
            let target = self.assigned_target(column, table, name, assigned)?;
            let position = self.text.name_position(column);
            self.check_not_computed(&target).map_err(|e| e.at(position))?;
            let value = self.plan.reference(output.column).at(position);
            let value = assign(value, target.sql_type, &target.name)?;
            assigned.values.push((target.attribute, value));
        }
        Ok(())
    }

    fn check_width(&self, columns: &[&ast::ObjectName], width: usize) -> Result<()> {
        if columns.len() == width {
            return Ok(());
        }
        let message = "number of columns does not match number of values";
        let position = columns.first().and_then(|column| self.text.name_position(column));
        Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position))
    }

    /// The column that SET names, which has no value yet.
    fn assigned_target(
        &mut self,
        column: &ast::ObjectName,
        table: &Table,
        name: &ObjectName,
        assigned: &Assigned,
    ) -> Result<Target> {
        let position = self.text.name_position(column);
        let [ObjectNamePart::Identifier(ident)] = column.0.as_slice() else {
            let part = column.0.first().map(ToString::to_string).unwrap_or_default();
            let message = format!("column \"{part}\" of relation \"{}\" does not exist", name.name);
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message)
                .hint("SET target columns cannot be qualified with the relation name")
                .at(position));
        };
        let targets = self.text.targets(table, name, &[ident])?;
        let Some(target) = targets.into_iter().next() else {
            return Err(Error::internal("a column has been found"));
        };
        if assigned.values.iter().any(|(other, _)| *other == target.attribute) {
            let message = format!("multiple assignments to same column \"{}\"", target.name);
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        }
        Ok(target)
    }

    /// Refuses a value for a column that is computed: 428C9.
    fn check_not_computed(&self, Target { name, filling, .. }: &Target) -> Result<()> {
        let what = match filling {
            Filling::Generated(_) => "a generated column",
            Filling::Identity { always: true, .. } => "an identity column defined as GENERATED ALWAYS",
            _ => return Ok(()),
        };
        let message = format!("column \"{name}\" can only be updated to DEFAULT");
        Err(Error::new(SqlState::GENERATED_ALWAYS, message).detail(format!("Column \"{name}\" is {what}.")))
    }

    fn assignment(&mut self, target: &Target, column: &ast::ObjectName, written: &ast::Expr) -> Result<Expr> {
        let Target { name, sql_type, filling, .. } = target;
        if is_default(written) {
            return self.filling(filling, name, *sql_type);
        }
        let position = self.text.name_position(column);
        self.check_not_computed(target).map_err(|e| e.at(position))?;
        let mut value = self.expr(written)?;
        self.arguments.open_calculation(&self.text, &mut value, written);
        if !self.names.level().unnested.is_empty() {
            let message = "set-returning functions are not allowed in UPDATE";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
        }
        let mut value = assign(value, *sql_type, name)?;
        self.arguments.open_given(&self.text, written, &mut value, *sql_type);
        Ok(value)
    }
}

/// The query that a value is.
fn query_in(value: &ast::Expr) -> Option<&ast::Query> {
    match value {
        ast::Expr::Subquery(query) => Some(query),
        ast::Expr::Nested(inner) => query_in(inner),
        _ => None,
    }
}
