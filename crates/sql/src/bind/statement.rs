//! Statements.

use base::{Error, Result, SqlState};
use catalog::{Event, Field, Filling};
use plan::{ColumnInfo, Node, Plan};
use sqlparser::ast::{self, Statement as S};

use super::coerce::boolean;
use super::from::table_factor;
use super::insert::Target;
use super::parts::PlanBuilder;
use super::scope::Clause;
use super::{Binder, Output, fold, locking_within, unsupported};
use crate::parse::{
    Ast, CopyAst, CopySubject, CursorAst, MaintenanceAst, PreparedAst, changes, changes_in_with, set_config,
};
use crate::{
    Copy, CursorStatement, Isolation, Maintenance, ObjectName, ReindexKind, Resolved, Statement, Table,
    TransactionKind, TransactionModes,
};

impl Binder<'_> {
    pub(super) fn statement(&mut self, ast: &Ast, text: &str) -> Result<Statement> {
        Ok(match ast {
            Ast::Library(statement) => return self.standard(statement, text),
            Ast::Explain { analyze, stage, statement } => {
                let statement = Box::new(self.statement(statement, text)?);
                Statement::Explain { analyze: *analyze, stage: *stage, statement }
            }
            Ast::Copy(copy) => return self.copy(copy),
            Ast::Set { name, value, local, span } => {
                let (name, value) = (name.clone(), value.clone());
                Statement::Set { name, value, local: *local, position: self.text.span(*span) }
            }
            Ast::Reset { name, span } => Statement::Reset { name: name.clone(), position: self.text.span(*span) },
            Ast::Show { name, span } => {
                let position = self.text.span(*span);
                let table = |name: &String| {
                    let parts = name.split('.').map(|part| ast::Ident::with_quote('"', part));
                    ast::ObjectName::from(parts.collect::<Vec<_>>())
                };
                let described = name.as_ref().and_then(|name| self.describe(&table(name)).ok());
                Statement::Show { name: name.clone(), position, described }
            }
            Ast::Rename { kind, name, to, column, if_exists } => {
                let (name, column) = (self.text.object_name(name)?, column.as_ref().map(fold));
                Statement::Rename { kind: *kind, name, to: fold(to), column, if_exists: *if_exists }
            }
            Ast::SetSchema { kind, name, to, if_exists } => {
                let name = self.text.object_name(name)?;
                Statement::SetSchema { kind: *kind, name, to: super::fold(to), if_exists: *if_exists }
            }
            Ast::Owner { view, if_exists } => {
                let name = self.text.object_name(view)?;
                match self.resolver.table(&name) {
                    Err(error) if *if_exists && error.state() == SqlState::UNDEFINED_TABLE => {}
                    found => drop(found.map_err(|e| e.at(name.position))?),
                }
                Statement::Nothing("ALTER VIEW")
            }
            Ast::Sequence(sequence) => return self.sequence_statement(sequence),
            Ast::Session(session) => return self.session_statement(session),
            Ast::Routine(routine) => return self.routine_statement(routine, text),
            Ast::Trigger(trigger) => return self.trigger_statement(trigger),
            Ast::Rule(rule) => return self.rule_statement(rule),
            Ast::Type(user_type) => return self.type_statement(user_type),
            Ast::SetConstraints { names, deferred } => {
                let named = |names: &Vec<ast::ObjectName>| names.iter().map(|n| self.text.object_name(n)).collect();
                let names = names.as_ref().map(named).transpose()?;
                Statement::SetConstraints { names, deferred: *deferred }
            }
            Ast::Cursor(cursor) => Statement::Cursor(self.cursor_statement(cursor)?),
            Ast::Nothing(tag) => Statement::Nothing(tag),
            Ast::Domain(domain) => return self.domain_statement(domain),
            Ast::Maintenance(MaintenanceAst::Look(what, tables)) => {
                for table in tables {
                    let name = self.text.object_name(table)?;
                    self.resolver.table(&name).map_err(|e| e.at(name.position))?;
                }
                Statement::Maintenance(Maintenance::Nothing(what))
            }
            Ast::Maintenance(MaintenanceAst::Lock(lock)) => {
                let mut tables = Vec::with_capacity(lock.tables.len());
                for table in &lock.tables {
                    let name = self.text.object_name(table)?;
                    match self.resolver.table(&name).map_err(|e| e.at(name.position))? {
                        Resolved::Table(table) => {
                            tables.extend(self.tables_below(&table)?.into_iter().map(|(_, below)| below.source));
                            tables.push(table.source);
                        }
                        Resolved::View { .. } => {
                            let message = format!("cannot lock view \"{}\"", name.name);
                            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                                .hint("lock the tables that it reads")
                                .at(name.position));
                        }
                    }
                }
                Statement::LockTables { tables, refuses_writers: lock.refuses_writers, waits: lock.waits }
            }
            Ast::Maintenance(MaintenanceAst::Export(directory, options)) => {
                let (directory, options) = (directory.clone(), options.clone());
                Statement::Maintenance(Maintenance::Export { directory, options })
            }
            Ast::Maintenance(MaintenanceAst::Import(directory)) => {
                Statement::Maintenance(Maintenance::Import { directory: directory.clone() })
            }
            Ast::Maintenance(MaintenanceAst::Refresh(name, with_data)) => return self.refresh(name, *with_data),
            Ast::Maintenance(MaintenanceAst::Reindex(kind, name, concurrently)) => {
                let name = name.as_ref().map(|name| self.text.object_name(name)).transpose()?;
                if let (ReindexKind::Table, Some(name)) = (kind, &name) {
                    self.resolver.table(name).map_err(|e| e.at(name.position))?;
                }
                Statement::Maintenance(Maintenance::Reindex { kind: *kind, name, concurrently: *concurrently })
            }
            Ast::Comment(comment) => return self.comment(comment),
            Ast::Kin(alter) => return self.relate(alter),
            Ast::ShowTables => Statement::ShowTables,
            Ast::Describe(name) => Statement::Describe { columns: self.describe(name)? },
            Ast::Prepared(PreparedAst::Prepare(prepare)) => return self.prepare(prepare, text),
            Ast::Prepared(PreparedAst::Execute(execute)) => return self.execute(execute),
            Ast::Prepared(PreparedAst::Deallocate(name)) => self.deallocate(name.as_ref()),
            Ast::Summarize(query) => Statement::Query(self.summarize(query)?),
            Ast::DescribeQuery(query) => {
                let plan = self.plan_of(query)?;
                Statement::Describe { columns: fields(&plan) }
            }
        })
    }

    /// REFRESH MATERIALIZED VIEW: 0A000 if it is none, as in PostgreSQL.
    fn refresh(&mut self, name: &ast::ObjectName, with_data: bool) -> Result<Statement> {
        let name = self.text.object_name(name)?;
        let found = self.resolver.table(&name).map_err(|e| e.at(name.position))?;
        let table = match found {
            Resolved::Table(table) => Some(table),
            Resolved::View { .. } => None,
        };
        let Some((table, view)) = table.and_then(|table| table.definition.clone().map(|view| (table, view))) else {
            let message = format!("\"{}\" is not a materialized view", name.name);
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(name.position));
        };
        let mut plan = None;
        if with_data {
            let query = crate::parse(&view.sql)?;
            let session = self.resolver.set_search_path(view.path.clone());
            self.text.positions = None;
            let bound = match &query.ast {
                Ast::Library(statement) => match &**statement {
                    S::Query(query) => self.rows_of_materialized(query, &table, &name).map(Some),
                    _ => Ok(None),
                },
                _ => Ok(None),
            };
            self.resolver.set_search_path(session);
            plan = bound?;
        }
        Ok(Statement::Refresh { name, table: table.source, plan })
    }

    /// The rows of a materialized view, with what its indexes compute of them.
    fn rows_of_materialized(&mut self, query: &ast::Query, table: &Table, name: &ObjectName) -> Result<Plan> {
        let bound = self.query(query)?;
        let bound = self.plan.with_known_types(bound);
        let bound = self.with_computed(bound, (table, name), &[])?;
        self.plan.finish(bound)
    }

    fn cursor_statement(&mut self, cursor: &CursorAst) -> Result<CursorStatement> {
        Ok(match cursor {
            CursorAst::Declare { name, scrolls, holds, query } => {
                let position = self.text.at(name);
                if changes_in_with(query) {
                    let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
                }
                let plan = self.shown_plan_of(query)?;
                CursorStatement::Declare { name: fold(name), position, scrolls: *scrolls, holds: *holds, plan }
            }
            CursorAst::Fetch { name, direction, moves } => CursorStatement::Fetch {
                name: fold(name),
                position: self.text.at(name),
                direction: *direction,
                moves: *moves,
            },
            CursorAst::Close(name) => CursorStatement::Close {
                name: name.as_ref().map(fold),
                position: name.as_ref().and_then(|name| self.text.at(name)),
            },
        })
    }

    /// One that the parser library reads.
    pub(super) fn standard(&mut self, statement: &S, text: &str) -> Result<Statement> {
        if let Some(calls) = set_config(statement) {
            return self.set_config(&calls);
        }
        let locks = std::mem::take(&mut self.locks);
        if std::mem::take(&mut self.locks_within)
            && locks.is_empty()
            && let Some(query) = locking_within::as_parts(statement)?
        {
            return self.changing_with(&query, text);
        }
        if let Some(parts) = self.change_of_kin(statement, text)? {
            return Ok(parts);
        }
        match statement {
            S::Query(query) if !locks.is_empty() && !changes(&query.body) && !changes_in_with(query) => {
                self.locking(query, &locks)
            }
            _ if !locks.is_empty() => unsupported(
                format!("{} in a statement that changes data", locks[0].strength.clause()),
                self.text.positions.map(|p| p.begin()),
            ),
            S::Query(query) if changes_in_with(query) || self.changes_kin(query)? => self.changing_with(query, text),
            S::Query(query) if changes(&query.body) => self.change_of(query, text),
            S::Query(query) => self.shown_plan_of(query).map(Statement::Query),
            S::Update(update) => self.update(update),
            S::Delete(delete) => self.delete(delete),
            S::Merge(merge) => self.merge(merge),
            S::Truncate(truncate) => self.truncate(truncate),
            S::CreateTable(create) => self.create_table(create),
            S::CreateIndex(create) => {
                let own = self.create_index(create)?;
                self.indexed_with_partitions(create, own)
            }
            S::AlterTable(alter) => {
                self.check_inherited(alter)?;
                let own = self.alter_table(alter)?;
                self.altered_with_children(alter, own)
            }
            S::CreateSchema { schema_name, if_not_exists, .. } => self.text.create_schema(schema_name, *if_not_exists),
            S::CreateView(create) => self.create_view(create, text),
            S::CreateCollation(create) => self.create_collation(create),
            S::Drop { object_type, names, if_exists, cascade, .. } => {
                self.text.drop_objects(object_type, names, *if_exists, *cascade)
            }
            S::Insert(insert) => self.insert(insert),
            S::StartTransaction { modes, statements, .. } if statements.is_empty() => {
                Ok(Statement::Transaction(TransactionKind::Begin(modes_of(modes))))
            }
            S::Set(ast::Set::SetTransaction { modes, session, .. }) => {
                let modes = modes_of(modes);
                let kind = if *session { TransactionKind::SetDefault(modes) } else { TransactionKind::Set(modes) };
                Ok(Statement::Transaction(kind))
            }
            S::Commit { chain, .. } => Ok(Statement::Transaction(TransactionKind::Commit(*chain))),
            S::Rollback { chain, savepoint: None } => Ok(Statement::Transaction(TransactionKind::Rollback(*chain))),
            S::Rollback { savepoint: Some(name), .. } => {
                Ok(Statement::Transaction(TransactionKind::RollbackTo(fold(name))))
            }
            S::Savepoint { name } => Ok(Statement::Transaction(TransactionKind::Savepoint(fold(name)))),
            S::ReleaseSavepoint { name } => Ok(Statement::Transaction(TransactionKind::Release(fold(name)))),
            S::ExplainTable { table_name, .. } => Ok(Statement::Describe { columns: self.describe(table_name)? }),
            other => {
                // The first words name it: ALTER TABLE, CREATE INDEX, UPDATE, ...
                let text = other.to_string();
                let words: Vec<&str> = text.split_whitespace().take(2).collect();
                let named = match words.as_slice() {
                    [first @ ("ALTER" | "CREATE" | "DROP"), second] => format!("{first} {second}"),
                    [first, ..] => (*first).to_owned(),
                    [] => "this statement".to_owned(),
                };
                unsupported(named, self.text.positions.map(|p| p.begin()))
            }
        }
    }

    /// The columns of a table, view or file.
    pub(super) fn describe(&mut self, name: &ast::ObjectName) -> Result<Vec<Field>> {
        let position = self.text.name_position(name);
        if let [ast::ObjectNamePart::Identifier(ident)] = name.0.as_slice()
            && ident.quote_style == Some('\'')
        {
            let paths = std::slice::from_ref(&ident.value);
            return Ok(self.resolver.file("", paths, &[]).map_err(|e| e.at(position))?.fields);
        }
        let name = self.text.object_name(name)?;
        match self.resolver.table(&name).map_err(|e| e.at(position))? {
            Resolved::Table(table) => Ok(table.fields),
            Resolved::View { .. } => {
                let query = crate::parse(&format!("select * from {}", quoted(&name)))?;
                match query.ast {
                    Ast::Library(statement) => match *statement {
                        S::Query(query) => {
                            self.text.positions = None;
                            let plan = self.plan_of(&query).map_err(|e| e.at(position))?;
                            Ok(fields(&plan))
                        }
                        _ => unsupported("DESCRIBE of this", position),
                    },
                    _ => unsupported("DESCRIBE of this", position),
                }
            }
        }
    }

    fn copy(&mut self, copy: &CopyAst) -> Result<Statement> {
        let position = self.text.span(copy.target_span);
        let (target, options) = (copy.target.clone(), copy.options.clone());
        if !copy.to {
            let CopySubject::Table(name, idents) = &copy.subject else {
                return unsupported("COPY of a query FROM something", position);
            };
            let name = self.text.object_name(name)?;
            let table = self.stored_table(&name)?;
            let idents: Vec<&ast::Ident> = idents.iter().collect();
            let targets = self.copy_targets(&table, &name, &idents)?;
            let (columns, fillings) = targets.into_iter().map(|t| (t.attribute, t.filling)).unzip();
            let condition = copy.condition.as_ref().map(|only| self.copied_where(only, &table, &name)).transpose()?;
            let checked = condition.is_some()
                || !table.checks.is_empty()
                || !table.domains.is_empty()
                || !table.computed.is_empty()
                || !table.triggers.is_empty()
                || table.kin.as_ref().is_some_and(|kin| kin.condition.is_some() || kin.own.partitioned.is_some())
                || table.fillings.iter().any(Filling::is_generated);
            let fires = table.fires(self.resolver.placed(&name), &[Event::Insert], Vec::new());
            let is_partitioned = table.is_partitioned();
            let table = table.source;
            return Ok(Statement::Copy(Copy::From {
                name,
                table,
                columns,
                fillings,
                checked,
                condition,
                is_partitioned,
                fires,
                target,
                position,
                options,
            }));
        }
        let plan = match &copy.subject {
            CopySubject::Query(query) => self.shown_plan_of(query)?,
            CopySubject::Table(name, idents) => self.copied_table(name, idents)?,
        };
        Ok(Statement::Copy(Copy::To { plan, target, position, options }))
    }

    /// The condition of COPY FROM ... WHERE, which reads the columns of the table, as a text.
    fn copied_where(&mut self, only: &ast::Expr, table: &Table, name: &ObjectName) -> Result<String> {
        let position = self.text.start(only);
        let row = table.fields.iter().map(|field| {
            let info = ColumnInfo { name: field.name.clone(), sql_type: field.sql_type, nullable: true };
            Output { name: field.name.clone(), column: self.plan.columns.push(info), literal: None }
        });
        let row: Vec<Output> = row.collect();
        let scope = self.row_scope(&row, table, name);
        let bound = boolean(self.expr_in(only, Clause::Where, scope)?, "WHERE").map_err(|e| e.at(position))?;
        self.plan = PlanBuilder::default();
        if bound.has_subquery() {
            let message = "cannot use subquery in COPY FROM WHERE condition";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
        }
        Ok(only.to_string())
    }

    /// The columns that a file fills: those that are named, or all that are not computed.
    fn copy_targets(&self, table: &Table, name: &ObjectName, idents: &[&ast::Ident]) -> Result<Vec<Target>> {
        let mut targets = self.text.targets(table, name, idents)?;
        if idents.is_empty() {
            targets.retain(|target| !target.filling.is_generated());
        }
        match targets.iter().find(|target| target.filling.is_generated()) {
            None => Ok(targets),
            Some(target) => {
                let message = format!("column \"{}\" is a generated column", target.name);
                Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message)
                    .detail("Generated columns cannot be used in COPY.")
                    .at(name.position))
            }
        }
    }

    /// The plan that reads a table's columns, as COPY TO names them.
    fn copied_table(&mut self, name: &ast::ObjectName, idents: &[ast::Ident]) -> Result<Plan> {
        // Rows of children are written as those of these.
        let shown = self.text.object_name(name)?;
        let is_partitioned =
            matches!(self.resolver.table(&shown), Ok(Resolved::Table(table)) if table.is_partitioned());
        let factor = if is_partitioned { table_factor(name) } else { table_factor(&crate::parse::only::only(name)) };
        self.names.levels.push(super::scope::Level::new(super::scope::Clause::From));
        let item = self.factor(&factor, &super::scope::Scope::default());
        self.names.levels.pop();
        let item = item?;
        let mut output = Vec::new();
        if idents.is_empty() {
            output.extend(item.scope.visible.iter().map(|c| (c.name.clone(), c.column)));
        }
        for ident in idents {
            let wanted = super::fold(ident);
            let Some(column) = item.scope.visible.iter().find(|c| c.name == wanted) else {
                let message = format!("column \"{wanted}\" does not exist");
                return Err(base::Error::new(SqlState::UNDEFINED_COLUMN, message).at(self.text.at(ident)));
            };
            output.push((wanted, column.column));
        }
        let node: Node = item.node;
        let mut plan = self.plan.finish(super::Bound { node, output: Vec::new() })?;
        plan.output = output;
        Ok(plan)
    }
}

fn quoted(name: &crate::ObjectName) -> String {
    let quote = |s: &str| format!("\"{}\"", s.replace('"', "\"\""));
    match &name.schema {
        Some(schema) => format!("{}.{}", quote(schema), quote(&name.name)),
        None => quote(&name.name),
    }
}

/// A plan's output as fields.
pub(super) fn fields(plan: &Plan) -> Vec<Field> {
    let padded = plan.root.nullable_columns();
    plan.output
        .iter()
        .map(|(name, column)| {
            let info = &plan.columns[*column];
            Field { name: name.clone(), sql_type: info.sql_type, nullable: info.nullable || padded.contains(column) }
        })
        .collect()
}

/// What a transaction is asked to be.
fn modes_of(modes: &[ast::TransactionMode]) -> TransactionModes {
    use ast::{TransactionAccessMode as Access, TransactionIsolationLevel as Level, TransactionMode as Mode};
    let mut asked = TransactionModes::default();
    for mode in modes {
        match mode {
            Mode::AccessMode(mode) => asked.read_only = Some(*mode == Access::ReadOnly),
            Mode::IsolationLevel(level) => {
                asked.isolation = Some(match level {
                    Level::ReadUncommitted | Level::ReadCommitted => Isolation::ReadCommitted,
                    Level::RepeatableRead | Level::Snapshot => Isolation::RepeatableRead,
                    Level::Serializable => Isolation::Serializable,
                });
            }
        }
    }
    asked
}
