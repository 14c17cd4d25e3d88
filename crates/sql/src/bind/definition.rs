//! CREATE TABLE, CREATE VIEW, DROP.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::{CheckOption, Field, Filling, IndexPart, Kinship, Unique};
use sqlparser::ast::{self, ColumnOption, ObjectType, OnCommit, TableConstraint};

use super::constraint::second_primary_key;
use super::foreign_key::{deferrable_key, is_primary};
use super::index::unique_shape;
use super::pivot::finds_values;
use super::sequence::serial;
use super::statement::fields;
use super::{Binder, fold, unsupported};
use crate::bind::parts::Text;
use crate::parse::recursive_view;
use crate::{ColumnDefinition, CreateTable, CreateView, IndexShape, ObjectKind, ObjectName, Statement};

/// Most columns of a table, as in PostgreSQL.
const MAX_COLUMNS: usize = 1_600;

impl Binder<'_> {
    pub(super) fn create_table(&mut self, create: &ast::CreateTable) -> Result<Statement> {
        let mut name = self.text.object_name(&create.name)?;
        match create.temporary {
            true => name.make_temporary()?,
            false => name = self.resolver.new_name(name)?,
        }
        let on_commit = [OnCommit::Drop, OnCommit::DeleteRows];
        if create.on_commit.is_some_and(|said| on_commit.contains(&said)) && !create.temporary {
            let message = "ON COMMIT can only be used on temporary tables";
            return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message).at(name.position));
        }
        if create.external || create.clone.is_some() {
            return unsupported("CREATE EXTERNAL TABLE or CLONE", name.position);
        }
        let (if_not_exists, or_replace) = (create.if_not_exists, create.or_replace);
        if let Some(parent) = &create.partition_of {
            return self.partition_of(create, parent, name);
        }
        if let Some(query) = &create.query {
            self.no_table_parameters(&create.table_options)?;
            let mut plan = self.plan_of(query)?;
            if create.columns.len() > plan.output.len() {
                let message = "too many column names were specified";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(name.position));
            }
            for (output, column) in plan.output.iter_mut().zip(&create.columns) {
                output.0 = fold(&column.name);
            }
            check_names(plan.output.iter().map(|(n, _)| (n.as_str(), name.position)))?;
            let with_data = create.with_data.as_ref().is_none_or(|w| w.data);
            return Ok(Statement::CreateTableAs { name, plan, with_data, if_not_exists, or_replace, view: None });
        }
        if let Some(like) = &create.like {
            return Ok(Statement::CreateTable(self.table_like(like, name, (if_not_exists, or_replace))?));
        }
        if create.columns.is_empty() && create.inherits.is_none() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "a table needs at least one column").at(name.position));
        }
        check_width(create.columns.len(), &name)?;
        let mut table = CreateTable {
            name,
            columns: Vec::with_capacity(create.columns.len()),
            computed: Vec::new(),
            primary_key: Vec::new(),
            checks: Vec::new(),
            indexes: Vec::new(),
            foreign_keys: Vec::new(),
            sequences: Vec::new(),
            if_not_exists,
            or_replace,
            kinship: Kinship::default(),
            asked: Vec::new(),
            partition_key: None,
            is_hashed: false,
        };
        self.inherit(create.inherits.as_deref().unwrap_or_default(), &mut table)?;
        let inherited = table.columns.len();
        for column in &create.columns {
            self.column_definition(column, &mut table)?;
            self.merge_inherited(inherited, &mut table)?;
        }
        let names: Vec<_> = create.columns.iter().map(|c| (fold(&c.name), self.text.at(&c.name))).collect();
        check_names(names.iter().map(|(n, p)| (n.as_str(), *p)))?;
        for constraint in &create.constraints {
            self.text.constraint(constraint, &mut table)?;
        }
        for &key in &table.primary_key {
            table.columns[key].nullable = false;
        }
        self.foreign_keys(create, &mut table)?;
        self.constrain(create, &mut table)?;
        self.table_parameters(&create.table_options, &mut table)?;
        if let Some(by) = &create.partition_by {
            table.kinship.partitioned = Some(self.partitioning(by, &table)?);
        }
        Ok(Statement::CreateTable(table))
    }

    pub(super) fn column_definition(&mut self, column: &ast::ColumnDef, table: &mut CreateTable) -> Result<()> {
        let position = self.text.at(&column.name);
        let name = fold(&column.name);
        let serial = serial(&column.data_type);
        let generated = self.type_of_generated(column, table)?;
        let sql_type = match serial.or(generated) {
            Some(sql_type) => sql_type,
            None => self.sql_type(&column.data_type).map_err(|e| e.at(position))?,
        };
        let domain = if generated.is_none() { self.domain_of(&column.data_type)? } else { None };
        let (mut nullable, mut filling, mut collation) = (serial.is_none(), Filling::NULL, None);
        if let Some(sql_type) = serial {
            filling = Filling::Next(self.own_sequence(table, &name, &[], sql_type)?);
        }
        let index = table.columns.len();
        for option in &column.options {
            match &option.option {
                ColumnOption::Null => {}
                ColumnOption::NotNull => nullable = false,
                ColumnOption::Default(_) | ColumnOption::Generated { generation_expr: None, .. }
                    if filling != Filling::NULL =>
                {
                    let message =
                        format!("multiple default values specified for column \"{name}\" of table \"{}\"", table.name);
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
                }
                identity @ ColumnOption::Generated { generation_expr: None, .. } => {
                    filling = self.identity(table, &name, identity, sql_type)?;
                    nullable = false;
                }
                ColumnOption::Default(expr) => filling = self.default_of(expr, sql_type, &name)?,
                ColumnOption::PrimaryKey(key) => {
                    let field = Field { name: name.clone(), sql_type, nullable };
                    let fields = [table.columns.iter().map(ColumnDefinition::field).collect(), vec![field]].concat();
                    nullable &= !set_primary_key(table, &fields, key, vec![index])?;
                }
                ColumnOption::Unique(unique) => {
                    let deferrable = deferrable_key(unique.characteristics.as_ref(), false)
                        .map_err(|e| e.at(table.name.position))?;
                    let part = IndexPart::ascending(index);
                    let field = Field { name: name.clone(), sql_type, nullable };
                    let fields = [table.columns.iter().map(ColumnDefinition::field).collect(), vec![field]].concat();
                    let nulls = match unique.nulls_distinct {
                        ast::NullsDistinctOption::NotDistinct => Unique::Yes,
                        _ => Unique::ButNull,
                    };
                    let named = option.name.as_ref().or(unique.name.as_ref());
                    let shape = unique_shape(&table.name, vec![part], &fields, named, nulls);
                    table.indexes.push(IndexShape { deferrable, ..shape });
                }
                ColumnOption::Comment(_) => {}
                // These need all columns.
                ColumnOption::ForeignKey(_)
                | ColumnOption::Check(_)
                | ColumnOption::Generated { generation_expr: Some(_), .. } => {}
                ColumnOption::Collation(name) => {
                    if !sql_type.is_string() {
                        let message = format!("collations are not supported by type {sql_type}");
                        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(position));
                    }
                    collation = Some(Arc::new(self.collation(name)?));
                }
                other => return unsupported(format!("the column option {other}"), position),
            }
        }
        let domain = domain.map(|(name, domain)| {
            let is_own = !matches!(column.data_type, ast::DataType::Array(_));
            if is_own
                && filling == Filling::NULL
                && !column.options.iter().any(|o| matches!(o.option, ColumnOption::Default(_)))
            {
                filling = domain.filling.clone();
            }
            name
        });
        table.columns.push(ColumnDefinition { name, sql_type, nullable, filling, domain, collation });
        Ok(())
    }

    pub(super) fn create_view(&mut self, create: &ast::CreateView, text: &str) -> Result<Statement> {
        let name = self.text.object_name(&create.name)?;
        let mut name = if create.temporary { name } else { self.resolver.new_name(name)? };
        if create.params.is_some() {
            return unsupported("this form of CREATE VIEW", name.position);
        }
        if create.temporary {
            name.make_temporary()?;
        }
        if !self.arguments.parameters.is_empty() {
            return unsupported("a parameter in a view", name.position);
        }
        if finds_values(&create.query) {
            let what = "PIVOT without a list of values in a view";
            return Err(Error::unsupported(what)
                .hint("a view's columns are known: PIVOT t ON c IN (1, 2)")
                .at(name.position));
        }
        let plan = self.plan_of(&create.query)?;
        if create.columns.len() > plan.output.len() {
            let message = "CREATE VIEW specifies more column names than columns";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(name.position));
        }
        let mut columns = fields(&plan);
        for (column, named) in columns.iter_mut().zip(&create.columns) {
            column.name = fold(&named.name);
        }
        check_names(columns.iter().map(|c| (c.name.as_str(), name.position)))?;
        let written = view_text(text).map(|query| recursive_view::whole(text, &query, create).unwrap_or(query));
        let sql = written.unwrap_or_else(|| create.query.to_string());
        let mut reads = std::mem::take(&mut self.reads);
        reads.iter_mut().for_each(|read| *read = self.resolver.placed(read));
        let path = self.resolver.search_path();
        // What reads something temporary is so too.
        for read in reads.iter_mut().filter(|read| self.resolver.is_temporary(read)) {
            read.make_temporary()?;
            name.make_temporary()?;
        }
        let (check_option, with_data) = self.view_options(&create.options, name.position)?;
        let (if_not_exists, or_replace, materialized) = (create.if_not_exists, create.or_replace, create.materialized);
        let create = CreateView { name, sql, columns, reads, path, check_option, if_not_exists, or_replace };
        if create.check_option.is_some() {
            self.check_changeable(&create)?;
        }
        if materialized {
            let mut plan = plan;
            plan.output.iter_mut().zip(&create.columns).for_each(|(output, field)| output.0.clone_from(&field.name));
            let (name, view) = (create.name.clone(), Some(create));
            return Ok(Statement::CreateTableAs { name, plan, with_data, if_not_exists, or_replace, view });
        }
        Ok(Statement::CreateView(create))
    }
}

impl Binder<'_> {
    /// `WITH (check_option = local)`, and WITH NO DATA, which travels like that; other options of views promise what holds anyway.
    fn view_options(
        &self,
        options: &ast::CreateTableOptions,
        position: Option<u32>,
    ) -> Result<(Option<CheckOption>, bool)> {
        let (ast::CreateTableOptions::With(options) | ast::CreateTableOptions::Options(options)) = options else {
            return Ok((None, true));
        };
        let (mut check_option, mut with_data) = (None, true);
        for option in options {
            let ast::SqlOption::KeyValue { key, value } = option else { continue };
            let value = value.to_string().trim_matches('\'').to_lowercase();
            check_option = match (fold(key).as_str(), value.as_str()) {
                ("check_option", "local") => Some(CheckOption::Local),
                ("check_option", "cascaded") => Some(CheckOption::Cascaded),
                ("check_option", _) => {
                    let message = format!("invalid value for enum option \"check_option\": {value}");
                    return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                        .detail("Valid values are \"local\" and \"cascaded\".")
                        .at(position));
                }
                ("with_data", value) => {
                    with_data = value != "no";
                    check_option
                }
                ("security_barrier" | "security_invoker" | "fillfactor" | "autovacuum_enabled", _) => check_option,
                (other, _) => {
                    let message = format!("unrecognized parameter \"{other}\"");
                    return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).at(position));
                }
            };
        }
        Ok((check_option, with_data))
    }
}

impl Text<'_> {
    pub(super) fn constraint(&mut self, constraint: &TableConstraint, table: &mut CreateTable) -> Result<()> {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                let columns = self.key_columns(&key.columns, table)?;
                let fields: Vec<Field> = table.columns.iter().map(ColumnDefinition::field).collect();
                if set_primary_key(table, &fields, key, columns.clone())? {
                    columns.into_iter().for_each(|at| table.columns[at].nullable = false);
                }
                Ok(())
            }
            TableConstraint::Unique(unique) => {
                let shape = self.unique_constraint(unique, table)?;
                table.indexes.push(shape);
                Ok(())
            }
            TableConstraint::ForeignKey(_) | TableConstraint::Check(_) => Ok(()),
            _ => unsupported("this table constraint", table.name.position),
        }
    }

    fn key_columns(&self, columns: &[ast::IndexColumn], table: &CreateTable) -> Result<Vec<usize>> {
        let mut key = Vec::with_capacity(columns.len());
        for column in columns {
            let ast::Expr::Identifier(ident) = &column.column.expr else {
                return unsupported("a key over an expression", self.start(&column.column.expr));
            };
            let wanted = fold(ident);
            let Some(index) = table.columns.iter().position(|c| c.name == wanted) else {
                let message = format!("column \"{wanted}\" named in key does not exist");
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(self.at(ident)));
            };
            if key.contains(&index) {
                let message = format!("column \"{wanted}\" appears twice in key");
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message).at(self.at(ident)));
            }
            key.push(index);
        }
        Ok(key)
    }

    pub(super) fn create_schema(&mut self, name: &ast::SchemaName, if_not_exists: bool) -> Result<Statement> {
        let ast::SchemaName::Simple(name) = name else {
            return unsupported("AUTHORIZATION of a schema", None);
        };
        let name = self.object_name(name)?;
        if name.schema.is_some() {
            let message = format!("improper qualified name: \"{name}\" is no name of a schema");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(name.position));
        }
        Ok(Statement::CreateSchema { name: name.name, if_not_exists, position: name.position })
    }

    pub(super) fn drop_objects(
        &mut self,
        kind: &ObjectType,
        names: &[ast::ObjectName],
        if_exists: bool,
        cascade: bool,
    ) -> Result<Statement> {
        let kind = match kind {
            ObjectType::Table => ObjectKind::Table,
            ObjectType::View => ObjectKind::View,
            ObjectType::MaterializedView => ObjectKind::MaterializedView,
            ObjectType::Sequence => ObjectKind::Sequence,
            ObjectType::Index => ObjectKind::Index,
            ObjectType::Type => ObjectKind::Type,
            ObjectType::Schema => ObjectKind::Schema,
            ObjectType::Collation => ObjectKind::Collation,
            other => return unsupported(format!("DROP {other}"), None),
        };
        let names = names.iter().map(|n| self.object_name(n)).collect::<Result<_>>()?;
        Ok(Statement::Drop { kind, names, if_exists, cascade })
    }
}

/// Gives a table its primary key. Whether it is one that can be deferred: an index, whose columns are not NULL.
fn set_primary_key(
    table: &mut CreateTable,
    fields: &[Field],
    key: &ast::PrimaryKeyConstraint,
    columns: Vec<usize>,
) -> Result<bool> {
    if !table.primary_key.is_empty() || table.indexes.iter().any(|index| is_primary(index.deferrable)) {
        return Err(second_primary_key(&table.name));
    }
    let deferrable = deferrable_key(key.characteristics.as_ref(), true).map_err(|e| e.at(table.name.position))?;
    if deferrable.is_none() {
        table.primary_key = columns;
        return Ok(false);
    }
    let parts = columns.into_iter().map(IndexPart::ascending).collect();
    let shape = unique_shape(&table.name, parts, fields, key.name.as_ref(), Unique::Yes);
    let name = if shape.is_named { shape.name } else { format!("{}_pkey", table.name.name) };
    table.indexes.push(IndexShape { name, deferrable, ..shape });
    Ok(true)
}

/// 54000 if these are too many columns.
pub(super) fn check_width(columns: usize, name: &ObjectName) -> Result<()> {
    if columns <= MAX_COLUMNS {
        return Ok(());
    }
    let message = format!("tables can have at most {MAX_COLUMNS} columns");
    Err(Error::new(SqlState::PROGRAM_LIMIT, message).at(name.position))
}

/// Two columns of one name are error 42701.
fn check_names<'n>(names: impl Iterator<Item = (&'n str, Option<u32>)>) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    for (name, position) in names {
        if !seen.insert(name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, message).at(position));
        }
    }
    Ok(())
}

/// The query of a CREATE VIEW as the user wrote it: what follows the AS, if that is a query by itself.
fn view_text(text: &str) -> Option<String> {
    let mut from = 0;
    while let Some(at) = text[from..].to_ascii_lowercase().find("as") {
        let start = from + at;
        from = start + 2;
        let boundary = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != '"' && c != '$');
        if boundary(text[..start].chars().next_back()) && boundary(text[from..].chars().next()) {
            let query = text[from..].trim();
            return match crate::parse(query) {
                Ok(parsed) if matches!(&parsed.ast, crate::parse::Ast::Library(s) if matches!(**s, ast::Statement::Query(_))) => {
                    Some(query.trim_end_matches(';').to_owned())
                }
                _ => None,
            };
        }
    }
    None
}
