//! Domains: statements about them, and what is asserted of their values where something is cast to one, or written into a
//! column of one. A value of a domain is one of the type below; its conditions are texts that call it `value`.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::{Check, Domain, DomainChange, Filling, Name};
use plan::{ColumnId, ColumnInfo, Each, Expr, ExprKind, Node, Op, Plan};
use sqlparser::ast::{self, ArrayElemTypeDef, DataType};
use types::{SqlType, Value};

use super::coerce::{boolean, rounded};
use super::expr::call;
use super::refusal::Refusal;
use super::scope::{Clause, Relation, Scope, ScopeColumn};
use super::type_name::{is_composite, rounded_name, unsigned_name};
use super::written::within;
use super::{Binder, Bound, fold, unsupported};
use crate::parse::{DomainAction, DomainAst, DomainPart, structs};
use crate::{DomainStatement, ObjectKind, ObjectName, Statement};

impl Binder<'_> {
    /// The domain that a type name means, if it is one, or that the elements of an array are of.
    pub(super) fn domain_of(&mut self, data_type: &DataType) -> Result<Option<(Name, Arc<Domain>)>> {
        match data_type {
            DataType::Array(ArrayElemTypeDef::SquareBracket(of, _)) => self.domain_of(of),
            DataType::Custom(name, arguments) if arguments.is_empty() && rounded_name(data_type).is_none() => {
                Ok(self.resolver.domain(&self.text.object_name(name)?))
            }
            _ => {
                let of = |name: String| ObjectName { schema: None, name, position: None };
                let built_in = unsigned_name(data_type).map(str::to_owned).or_else(|| rounded_name(data_type));
                Ok(built_in.and_then(|name| self.resolver.domain(&of(name))))
            }
        }
    }

    pub(super) fn domain_statement(&mut self, ast: &DomainAst) -> Result<Statement> {
        match ast {
            DomainAst::Create { name, data_type, parts } => self.create_domain(name, data_type, parts),
            DomainAst::Alter { name, action } => self.alter_domain(name, action),
            DomainAst::Drop { names, if_exists, cascade } => {
                let names = names.iter().map(|name| self.text.object_name(name)).collect::<Result<_>>()?;
                Ok(Statement::Drop { kind: ObjectKind::Domain, names, if_exists: *if_exists, cascade: *cascade })
            }
        }
    }

    fn create_domain(&mut self, name: &ast::ObjectName, below: &DataType, parts: &[DomainPart]) -> Result<Statement> {
        let name = self.text.object_name(name)?;
        let name = self.resolver.new_name(name)?;
        // A domain of a domain has the conditions of both.
        let mut domain = match self.domain_of(below)? {
            Some(_) if matches!(below, DataType::Array(_)) => {
                return unsupported("a domain of arrays of a domain", name.position);
            }
            Some((_, below)) => Domain::clone(&below),
            None => {
                let sql_type = self.sql_type(below).map_err(|e| e.at(name.position))?;
                Domain { fields: self.domains_of_fields(below)?, ..Domain::of(sql_type) }
            }
        };
        for part in parts {
            match part {
                DomainPart::NotNull(not_null) => domain.not_null = *not_null,
                DomainPart::Default(value) => domain.filling = self.default_of(value, domain.sql_type, "value")?,
                DomainPart::Check(named, condition) => {
                    let check = self.check_of_domain(named.as_ref(), condition, &domain, &name.name)?;
                    domain.checks.push(check);
                }
            }
        }
        domain.checks.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Statement::Domain(DomainStatement::Create { name, domain }))
    }

    /// The domain of each field of a composite type, if it is of one; none at all if no field is.
    fn domains_of_fields(&mut self, composite: &DataType) -> Result<Vec<Option<Name>>> {
        let DataType::Custom(_, text) = composite else { return Ok(Vec::new()) };
        let ([text], true) = (text.as_slice(), is_composite(composite)) else { return Ok(Vec::new()) };
        let fields = structs::fields(text).unwrap_or_default();
        let of = |(_, of): &(ast::Ident, DataType)| Ok(self.domain_of(of)?.map(|(name, _)| name));
        let fields = fields.iter().map(of).collect::<Result<Vec<_>>>()?;
        Ok(if fields.iter().any(Option::is_some) { fields } else { Vec::new() })
    }

    fn check_of_domain(
        &mut self,
        named: Option<&ast::Ident>,
        condition: &ast::Expr,
        domain: &Domain,
        of: &str,
    ) -> Result<Check> {
        let position = self.text.start(condition);
        let info = ColumnInfo { name: "value".to_owned(), sql_type: domain.sql_type, nullable: true };
        let scope = scope_of(self.plan.columns.push(info));
        let bound = boolean(self.expr_in(condition, Clause::Check, scope)?, "CHECK")?;
        if bound.has_subquery() {
            return unsupported("a subquery in a check constraint", position);
        }
        let is_taken = |name: &str| domain.checks.iter().any(|check| check.name == name);
        let name = match named {
            Some(ident) if is_taken(&fold(ident)) => {
                let message = format!("constraint \"{}\" for domain \"{of}\" already exists", fold(ident));
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, message).at(self.text.at(ident)));
            }
            Some(ident) => fold(ident),
            None => {
                let mut numbers = 1..;
                let first = format!("{of}_check");
                match is_taken(&first) {
                    false => first,
                    true => {
                        numbers.find_map(|n| Some(format!("{of}_check{n}")).filter(|n| !is_taken(n))).unwrap_or(first)
                    }
                }
            }
        };
        Ok(Check { name, sql: condition.to_string() })
    }

    fn alter_domain(&mut self, name: &ast::ObjectName, action: &DomainAction) -> Result<Statement> {
        let name = self.text.object_name(name)?;
        let Some((full, domain)) = self.resolver.domain(&name) else {
            let (state, message) = match self.resolver.user_type(&name) {
                Some(_) => (SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a domain")),
                None => (SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist")),
            };
            return Err(Error::new(state, message).at(name.position));
        };
        let name = ObjectName { schema: Some(full.0.clone()), ..name };
        let mut asked = Vec::new();
        let change = match action {
            DomainAction::Owner => return Ok(Statement::Nothing("ALTER DOMAIN")),
            DomainAction::Rename(to) => DomainChange::Name(fold(to)),
            DomainAction::RenameConstraint(from, to) => DomainChange::RenameCheck(fold(from), fold(to)),
            DomainAction::DropConstraint(constraint, if_exists) => {
                DomainChange::DropCheck(fold(constraint), *if_exists)
            }
            DomainAction::Default(None) => DomainChange::Filling(Filling::NULL),
            DomainAction::Default(Some(value)) => {
                DomainChange::Filling(self.default_of(value, domain.sql_type, "value")?)
            }
            DomainAction::NotNull(not_null) | DomainAction::Add(DomainPart::NotNull(not_null)) => {
                if *not_null {
                    let new = Domain { not_null: true, checks: Vec::new(), ..Domain::clone(&domain) };
                    self.refuse_within(&full)?;
                    asked = self.ask_columns(&full, &new, |column, table| {
                        format!("column \"{column}\" of table \"{table}\" contains null values")
                    })?;
                }
                DomainChange::NotNull(*not_null)
            }
            DomainAction::Add(DomainPart::Check(named, condition)) => {
                let check = self.check_of_domain(named.as_ref(), condition, &domain, &name.name)?;
                let new = Domain { not_null: false, checks: vec![check.clone()], ..Domain::clone(&domain) };
                self.refuse_within(&full)?;
                asked = self.ask_columns(&full, &new, |column, table| {
                    format!("column \"{column}\" of table \"{table}\" contains values that violate the new constraint")
                })?;
                DomainChange::AddCheck(check)
            }
            DomainAction::Add(DomainPart::Default(_)) => return unsupported("ADD DEFAULT", name.position),
        };
        Ok(Statement::Domain(DomainStatement::Alter { name, change, asked }))
    }

    /// Fields of rows in columns are not asked for what is new, so there may be none.
    fn refuse_within(&self, domain: &Name) -> Result<()> {
        let within = self.resolver.columns_within_domain(domain);
        within.first().map_or(Ok(()), |(_, table, column)| {
            let message = format!("cannot alter type \"{}\" because column \"{table}.{column}\" uses it", domain.1);
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
        })
    }

    /// A query for each column of a domain that fails if a value is not as `new` says.
    fn ask_columns(
        &mut self,
        domain: &Name,
        new: &Domain,
        message: impl Fn(&str, &str) -> String,
    ) -> Result<Vec<Plan>> {
        let columns = self.resolver.columns_of_domain(domain);
        let ask = |(schema, table, column): (String, String, String)| {
            let name = ObjectName { schema: Some(schema), name: table, position: None };
            let read = self.stored_table(&name)?;
            let Some(attribute) = read.fields.iter().position(|field| field.name == column) else {
                return Err(Error::internal("a table without a column that it has"));
            };
            let node = self.scan(read, None, None)?.node;
            let Op::Scan { columns, .. } = &node.op else { return Err(Error::internal("a table is scanned")) };
            let about = Refusal::default().about_table(&name).about("column_name", &column);
            let refusal = |_: Option<&Check>| about.clone().saying(message(&column, &name.name));
            let branches = self.assertions(columns[attribute].1, new, refusal)?;
            let holds = Expr::new(ExprKind::Case { branches, otherwise: Box::new(Expr::bool(true)) }, SqlType::Bool);
            let node = Node::new(Op::Filter { input: Box::new(node), predicates: vec![holds] });
            self.plan.finish(Bound { node, output: Vec::new() })
        };
        columns.into_iter().map(ask).collect()
    }

    /// A value of the type below as one of the domain: an error where it must not be one.
    pub(super) fn as_domain(&mut self, value: Expr, name: &Name, domain: &Domain) -> Result<Expr> {
        self.of_domain(value, name, domain, false)
    }

    /// As [`as_domain`](Self::as_domain), but NULL where it must not be one.
    pub(super) fn try_as_domain(&mut self, value: Expr, name: &Name, domain: &Domain) -> Result<Expr> {
        self.of_domain(value, name, domain, true)
    }

    fn of_domain(&mut self, value: Expr, name: &Name, domain: &Domain, is_lenient: bool) -> Result<Expr> {
        let value = if value.sql_type.is_array() { value } else { rounded(value, domain.digits) };
        if domain.is_open() {
            return Ok(value);
        }
        let position = value.position;
        let column = self.plan.column_for("value", &value);
        let branches = self.branches_of_domain(column, name, domain, is_lenient)?;
        self.or_null(value, column, branches).map(|expr| expr.at(position))
    }

    /// The value, which a column stands for, or NULL in a branch that is not true.
    fn or_null(&mut self, value: Expr, column: ColumnId, branches: Vec<(Expr, Expr)>) -> Result<Expr> {
        let sql_type = value.sql_type;
        let holds = Expr::new(ExprKind::Case { branches, otherwise: Box::new(Expr::bool(true)) }, SqlType::Bool);
        let otherwise = Box::new(Expr::constant(Value::Null, sql_type));
        let body = ExprKind::Case { branches: vec![(holds, self.plan.reference(column))], otherwise };
        let body = Box::new(Expr::new(body, sql_type));
        Ok(Expr::new(ExprKind::Let { column, value: Box::new(value), body }, sql_type))
    }

    /// What a value of a domain must not be, each with its error.
    pub(super) fn assertions_of_domain(
        &mut self,
        column: ColumnId,
        name: &Name,
        domain: &Domain,
    ) -> Result<Vec<(Expr, Expr)>> {
        self.branches_of_domain(column, name, domain, false)
    }

    /// What a value of a domain must not be, each with its error, or with false.
    fn branches_of_domain(
        &mut self,
        column: ColumnId,
        name: &Name,
        domain: &Domain,
        is_lenient: bool,
    ) -> Result<Vec<(Expr, Expr)>> {
        let of_type = Refusal::default().about("schema_name", &name.0).about("pg_datatype_name", &name.1);
        let shown = self.name_as_seen(name);
        let refusal = |check: Option<&Check>| match check {
            None => of_type.clone().saying(format!("domain {shown} does not allow null values")),
            Some(check) => of_type
                .clone()
                .about("constraint_name", &check.name)
                .saying(format!("value for domain {shown} violates check constraint \"{}\"", check.name)),
        };
        let mut branches = self.assertions(column, domain, refusal)?;
        if is_lenient {
            branches.iter_mut().for_each(|(_, refused)| *refused = Expr::bool(false));
        }
        branches.extend(self.branch_of_fields(column, domain, is_lenient)?);
        Ok(branches)
    }

    /// A type's name, with its schema if it takes that to find it.
    fn name_as_seen(&self, name: &Name) -> String {
        let alone = ObjectName { schema: None, name: name.1.clone(), position: None };
        match self.resolver.domain(&alone) {
            Some((found, _)) if found == *name => name.1.clone(),
            _ => format!("{}.{}", name.0, name.1),
        }
    }

    /// Whether some field of a row, or of the rows in an array, is none of its domain, which is an error unless it is lenient.
    fn branch_of_fields(
        &mut self,
        column: ColumnId,
        domain: &Domain,
        is_lenient: bool,
    ) -> Result<Option<(Expr, Expr)>> {
        if domain.fields.is_empty() {
            return Ok(None);
        }
        let value = self.plan.reference(column);
        let Some(depth) = depth_above(value.sql_type, domain.sql_type) else {
            return self.fields_hold(column, domain, is_lenient).map(|holds| Some((not(holds), Expr::bool(false))));
        };
        let list = (1..depth).try_fold(value, |list, _| call("flatten", vec![list], None))?;
        let mut made = |name: &str, sql_type| {
            self.plan.columns.push(ColumnInfo { name: name.to_owned(), sql_type, nullable: true })
        };
        let (element, index) = (made("value", domain.sql_type), made("i", SqlType::BigInt));
        let body = self.fields_hold(element, domain, is_lenient)?;
        let each = Each { list, element, index, only: None, body, reduced: None };
        let each = Expr::new(ExprKind::Each(Box::new(each)), SqlType::array_of(SqlType::Bool));
        let some = call("list_contains", vec![each, Expr::bool(false)], None)?;
        Ok(Some((some, Expr::bool(false))))
    }

    /// Whether all fields of a row are of their domains.
    fn fields_hold(&mut self, row: ColumnId, domain: &Domain, is_lenient: bool) -> Result<Expr> {
        let row = self.plan.reference(row);
        let case = |branches, otherwise: Expr| {
            Expr::new(ExprKind::Case { branches, otherwise: Box::new(otherwise) }, SqlType::Bool)
        };
        let is_null = Expr::new(ExprKind::IsNull(Box::new(row.clone())), SqlType::Bool);
        let mut branches = vec![(is_null, Expr::bool(true))];
        let fields = row.sql_type.structure().map_or(&[][..], |of| &of.fields);
        for (field, of) in fields.iter().zip(&domain.fields) {
            let Some((schema, name)) = of else { continue };
            let named = ObjectName { schema: Some(schema.clone()), name: name.clone(), position: None };
            let Some((name, of)) = self.resolver.domain(&named) else { continue };
            let value = self.struct_field(row.clone(), &field.name, None)?;
            let column = self.plan.column_for("value", &value);
            let holds = case(self.branches_of_domain(column, &name, &of, is_lenient)?, Expr::bool(true));
            let holds = ExprKind::Let { column, value: Box::new(value), body: Box::new(holds) };
            branches.push((not(Expr::new(holds, SqlType::Bool)), Expr::bool(false)));
        }
        Ok(case(branches, Expr::bool(true)))
    }

    fn assertions(
        &mut self,
        column: ColumnId,
        domain: &Domain,
        refusal: impl Fn(Option<&Check>) -> Refusal,
    ) -> Result<Vec<(Expr, Expr)>> {
        let sql_type = self.plan.columns[column].sql_type;
        let mut ask = |sql: String| self.kept_text(&sql, Clause::Check, scope_of(column), |_, c| boolean(c, "CHECK"));
        let elements = elements_of(sql_type, domain.sql_type);
        // Of arrays, it must hold for each element.
        let some_element = |condition: String, is: bool, of: &str| {
            format!("list_contains(list_transform({of}, lambda value: ({condition})), {is})")
        };
        let mut branches = Vec::new();
        if domain.not_null {
            let is_null = ask(match &elements {
                None => "value IS NULL".to_owned(),
                Some(of) => some_element("value IS NULL".to_owned(), true, of),
            })?;
            branches.push((is_null, refusal(None).with(SqlState::NOT_NULL_VIOLATION)));
        }
        for check in &domain.checks {
            let is_false = ask(match &elements {
                None => format!("NOT ({})", check.sql),
                Some(of) => some_element(format!("coalesce(({}), true)", check.sql), false, of),
            });
            let is_false = is_false.map_err(|e| within(e, &format!("in the check constraint \"{}\"", check.name)))?;
            branches.push((is_false, refusal(Some(check)).with(SqlState::CHECK_VIOLATION)));
        }
        Ok(branches)
    }
}

/// The elements of an array that are of the type below a domain, whatever its dimension, as SQL; none if it is of that type itself.
fn elements_of(sql_type: SqlType, below: SqlType) -> Option<String> {
    let more = depth_above(sql_type, below)?;
    Some((1..more).fold("value".to_owned(), |of, _| format!("flatten({of})")))
}

/// How many dimensions an array has above the type of its elements; none if it is of that type itself.
fn depth_above(sql_type: SqlType, below: SqlType) -> Option<usize> {
    let depth = |of: SqlType| std::iter::successors(Some(of), |of| of.element()).skip(1).count();
    depth(sql_type).checked_sub(depth(below)).filter(|more| *more > 0)
}

fn not(condition: Expr) -> Expr {
    Expr::new(ExprKind::Not(Box::new(condition)), SqlType::Bool)
}

/// What a condition of a domain sees: the value.
fn scope_of(column: ColumnId) -> Scope {
    let columns = vec![ScopeColumn { name: "value".to_owned(), column }];
    Scope::of(Relation { name: None, columns, ..Relation::default() })
}
