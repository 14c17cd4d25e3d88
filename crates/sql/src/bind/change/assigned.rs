//! SET: which attributes get which values. A query that gives several of them their values at once is joined to the rows.

use base::{Error, Result, SqlState};
use catalog::Filling;
use functions::ScalarFunction;
use plan::{ColumnId, Expr, ExprKind, JoinKind, Node, Op};
use sqlparser::ast::{self, AssignmentTarget, ObjectNamePart};
use types::ops::array;
use types::{SqlType, Value};

use crate::bind::coerce::{assign, cast_to};
use crate::bind::expr::named::call;
use crate::bind::expr::row;
use crate::bind::insert::Target;
use crate::bind::scope::Clause;
use crate::bind::values::is_default;
use crate::bind::{Binder, unsupported};
use crate::parse::stars::starred;
use crate::parse::subscripts::{self, Subscript};
use crate::{ObjectName, Table};

/// What SET says.
#[derive(Default)]
pub(super) struct Assigned {
    /// Values of attributes.
    pub values: Vec<(usize, Expr)>,
    /// The queries whose only row some of these are of.
    queries: Vec<Node>,
}

/// What rows of are changed.
#[derive(Clone, Copy)]
pub(super) struct To<'a> {
    pub table: &'a Table,
    name: &'a ObjectName,
    /// The columns that have what the attributes are until then.
    before: &'a [ColumnId],
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

    /// The values of SET, of the columns' types; `before` has what the attributes are until then.
    pub(super) fn assigned(
        &mut self,
        assignments: &[ast::Assignment],
        (table, name): (&Table, &ObjectName),
        before: &[ColumnId],
    ) -> Result<Assigned> {
        let to = To { table, name, before };
        self.names.level().clause = Clause::Update;
        let mut assigned = Assigned::default();
        for assignment in assignments {
            match (&assignment.target, &assignment.value) {
                (AssignmentTarget::ColumnName(column), value) => {
                    self.assign_to(&mut assigned, &[column], &[value], to)?;
                }
                (AssignmentTarget::Tuple(columns), value) => {
                    let columns: Vec<&ast::ObjectName> = columns.iter().collect();
                    match (query_in(value), row(value), value) {
                        (Some(query), ..) => self.assign_query(&mut assigned, &columns, query, to)?,
                        (_, Some(values), _) if values.iter().any(|value| starred(value).is_some()) => {
                            self.assign_starred(&mut assigned, &columns, &values, to)?;
                        }
                        (_, Some(values), _) => self.assign_to(&mut assigned, &columns, &values, to)?,
                        (.., ast::Expr::Nested(value)) if columns.len() == 1 => {
                            self.assign_to(&mut assigned, &columns, &[value], to)?;
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
        to: To<'_>,
    ) -> Result<()> {
        self.check_width(columns, values.len())?;
        for (column, value) in columns.iter().zip(values) {
            if let Some(path) = self.path_of_field(column, to) {
                self.assign_field(assigned, &path, value, to)?;
                continue;
            }
            if let Some((column, subscripts)) = self.subscripted(column) {
                self.assign_part(assigned, (&column, &subscripts), value, to)?;
                continue;
            }
            let target = self.assigned_target(column, to, assigned)?;
            let value = self.assignment(&target, column, value)?;
            assigned.values.push((target.attribute, value));
        }
        Ok(())
    }

    /// The values of a row in which a star stands for several.
    fn assign_starred(
        &mut self,
        assigned: &mut Assigned,
        columns: &[&ast::ObjectName],
        written: &[&ast::Expr],
        to: To<'_>,
    ) -> Result<()> {
        let mut values = Vec::with_capacity(columns.len());
        for &value in written {
            match self.star_values(value)? {
                Some(fields) => values.extend(fields.into_iter().map(|(_, value)| value)),
                None => values.push(self.expr(value)?),
            }
        }
        self.check_width(columns, values.len())?;
        columns.iter().zip(values).try_for_each(|(column, value)| self.assign_bound(assigned, column, value, to))
    }

    /// A column gets a value that is bound.
    fn assign_bound(
        &mut self,
        assigned: &mut Assigned,
        column: &ast::ObjectName,
        value: Expr,
        to: To<'_>,
    ) -> Result<()> {
        let target = self.assigned_target(column, to, assigned)?;
        self.check_not_computed(&target).map_err(|e| e.at(self.text.name_position(column)))?;
        assigned.values.push((target.attribute, assign(value, target.sql_type, &target.name)?));
        Ok(())
    }

    /// The column that a name with subscripts means, and these.
    fn subscripted(&self, column: &ast::ObjectName) -> Option<(ast::ObjectName, Vec<Subscript>)> {
        let [ObjectNamePart::Identifier(ident)] = column.0.as_slice() else { return None };
        let (name, number) = subscripts::parted(&ident.value);
        let subscripts = self.subscripts.get(number?)?.clone();
        let ident = ast::Ident { value: name.to_owned(), ..ident.clone() };
        Some((ast::ObjectName(vec![ObjectNamePart::Identifier(ident)]), subscripts))
    }

    /// An element of an array, or what is at a path of a document, gets a value; others may get theirs before and behind it.
    fn assign_part(
        &mut self,
        assigned: &mut Assigned,
        (column, subscripts): (&ast::ObjectName, &[Subscript]),
        written: &ast::Expr,
        To { table, name, before }: To<'_>,
    ) -> Result<()> {
        let position = self.text.name_position(column);
        let [ObjectNamePart::Identifier(ident)] = column.0.as_slice() else {
            return Err(Error::internal("a column of one name"));
        };
        let (target, old) = self.old_value(assigned, ident, To { table, name, before })?;
        let value = self.expr(written)?;
        let value = self.with_part(old, subscripts, value, &target.name).map_err(|e| e.at(position))?.at(position);
        self.refuse_sets(position)?;
        assigned.values.push((target.attribute, value));
        Ok(())
    }

    /// A column of which a part gets a value, and what it is until then.
    pub(super) fn old_value(
        &mut self,
        assigned: &mut Assigned,
        ident: &ast::Ident,
        To { table, name, before }: To<'_>,
    ) -> Result<(Target, Expr)> {
        let position = self.text.at(ident);
        let Some(target) = self.text.targets(table, name, &[ident])?.into_iter().next() else {
            return Err(Error::internal("a column has been found"));
        };
        self.check_not_computed(&target).map_err(|e| e.at(position))?;
        let at = assigned.values.iter().position(|(other, _)| *other == target.attribute);
        let old = match at {
            Some(at) => assigned.values.remove(at).1,
            None => self.plan.reference(before[target.attribute]).at(position),
        };
        Ok((target, old))
    }

    pub(super) fn with_part(&mut self, old: Expr, subscripts: &[Subscript], value: Expr, name: &str) -> Result<Expr> {
        let sql_type = old.sql_type;
        let [first, rest @ ..] = subscripts else { return assign(value, sql_type, name) };
        if sql_type == SqlType::Jsonb {
            let jsonb = |text: &str| cast_to(Expr::constant(Value::str(text), SqlType::Null), SqlType::Jsonb);
            let steps = subscripts.iter().map(|subscript| match subscript {
                Subscript::At(step) => Ok(&**step),
                Subscript::Slice(..) => {
                    let message = "jsonb subscript does not support slices";
                    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
                }
            });
            let steps = steps.collect::<Result<Vec<_>>>()?;
            let (path, is_number) = self.path(steps.into_iter())?;
            let nothing = jsonb(if is_number { "[]" } else { "{}" })?;
            let old = Expr::new(ExprKind::Coalesce(vec![old, nothing]), SqlType::Jsonb);
            let value = assign(value, SqlType::Jsonb, name)?;
            let value = Expr::new(ExprKind::Coalesce(vec![value, jsonb("null")?]), SqlType::Jsonb);
            return call("jsonb_assign", vec![old, path, value], None);
        }
        let Some(element) = sql_type.element() else {
            let message = format!("cannot subscript type {sql_type} because it does not support subscripting");
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        };
        let at = match first {
            Subscript::At(at) => at,
            Subscript::Slice(from, to) if rest.is_empty() => {
                let bounds = [(from, i64::MIN), (to, i64::MAX)];
                let bounds = bounds.map(|(written, otherwise)| self.bound_of(written.as_deref(), otherwise));
                let [from, to] = bounds;
                return with_slice(old, (from?, to?), assign(value, sql_type, name)?, element);
            }
            Subscript::Slice(..) => return unsupported("assigning to a slice of an array in several dimensions", None),
        };
        let at = self.bound_of(Some(at), 0)?;
        let inner = match rest {
            [] => assign(value, element, name)?,
            _ => {
                let arguments = vec![old.clone(), at.clone()];
                let inner = Expr::new(ExprKind::Call(ScalarFunction::ARRAY_SUBSCRIPT, arguments), element);
                self.with_part(inner, rest, value, name)?
            }
        };
        call("array_set", vec![old, at, inner], None)
    }

    fn assign_query(
        &mut self,
        assigned: &mut Assigned,
        columns: &[&ast::ObjectName],
        query: &ast::Query,
        to: To<'_>,
    ) -> Result<()> {
        let bound = self.subquery(query)?;
        self.check_width(columns, bound.output.len())?;
        let made: Vec<ColumnId> = bound.node.columns();
        self.plan.padded.extend(made);
        assigned.queries.push(bound.node);
        for (column, output) in columns.iter().zip(&bound.output) {
            let value = self.plan.reference(output.column).at(self.text.name_position(column));
            self.assign_bound(assigned, column, value, to)?;
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
        To { table, name, .. }: To<'_>,
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

    /// 0A000 if a function that returns rows has been bound.
    pub(super) fn refuse_sets(&mut self, position: Option<u32>) -> Result<()> {
        if self.names.level().unnested.is_empty() {
            return Ok(());
        }
        let message = "set-returning functions are not allowed in UPDATE";
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position))
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
        self.refuse_sets(position)?;
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

/// The array with other elements in a slice.
fn with_slice(old: Expr, (from, to): (Expr, Expr), new: Expr, element: SqlType) -> Result<Expr> {
    let sql_type = old.sql_type;
    let empty = Expr::constant(array::encode(&[], element)?, sql_type);
    // Where nothing new is given, NULL stays.
    let is_given = Expr::new(ExprKind::IsNull(Box::new(new.clone())), SqlType::Bool);
    let some = Expr::new(ExprKind::Coalesce(vec![old.clone(), empty]), sql_type);
    let bound = |bound: Expr| {
        let missing = Expr::constant(Value::Int(i64::MIN + 1), SqlType::BigInt);
        Expr::new(ExprKind::Coalesce(vec![bound, missing]), SqlType::BigInt)
    };
    let arguments = vec![some, bound(from), bound(to), new];
    let set = Expr::new(ExprKind::Call(ScalarFunction::ARRAY_SET_SLICE, arguments), sql_type);
    let case = ExprKind::Case { branches: vec![(is_given, old)], otherwise: Box::new(set) };
    Ok(Expr::new(case, sql_type))
}
