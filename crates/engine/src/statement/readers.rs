//! Views that read a table, before it is changed and after: they are texts, so what they mean is asked twice.

use base::{Error, Result, SqlState};
use catalog::{CatalogSnapshot, Kind, TableEntry};
use sql::{ObjectName, Statement};
use types::SqlType;

use crate::environment::Environment;
use crate::resolver::Resolver;

/// Names and types of what a view gives; none if its query is none any more.
type Output = Option<Vec<(String, SqlType)>>;

/// The views that read a table, with what they give.
pub(super) struct Views(Vec<(String, String, Output)>);

impl Views {
    pub fn of(environment: &Environment, name: &ObjectName) -> Self {
        let catalog = environment.catalog();
        let readers = catalog.all_readers(name.schema.as_deref(), &name.name);
        let with_output = |(schema, name): (String, String)| {
            let output = output(environment, &catalog, &schema, &name);
            (schema, name, output)
        };
        Self(readers.into_iter().map(with_output).collect())
    }

    /// Drops the views that do not give what they gave, if that is wanted; else they are errors.
    pub fn check(
        self,
        environment: &Environment,
        table: &ObjectName,
        renamed: &[(String, String)],
        dropped: Option<&String>,
        cascade: bool,
    ) -> Result<()> {
        let catalog = environment.catalog();
        for (schema, name, before) in self.0 {
            let now = output(environment, &catalog, &schema, &name);
            let same = |(old, new): (&(String, SqlType), &(String, SqlType))| {
                old.1 == new.1 && (old.0 == new.0 || renamed.iter().any(|(from, to)| (from, to) == (&old.0, &new.0)))
            };
            let is_same = match (&before, &now) {
                (None, _) => true,
                (Some(before), Some(now)) => before.len() <= now.len() && before.iter().zip(now).all(same),
                (Some(_), None) => false,
            };
            if is_same {
                continue;
            }
            if !cascade {
                return Err(refused(table, dropped, &name).at(table.position));
            }
            let kept = environment.catalog_of(Some(&schema));
            kept.drop(Kind::View, &[(Some(&schema), &name)], true, true)?;
        }
        Ok(())
    }
}

/// What a view's query gives.
fn output(environment: &Environment, catalog: &CatalogSnapshot, schema: &str, name: &str) -> Output {
    let Some(TableEntry::View(view)) = catalog.find(Some(schema), name) else { return None };
    let room = sql::parse_depth(&view.sql);
    let bound = base::stack::with_room(room, || {
        let resolver = Resolver::new(environment);
        sql::parse(&view.sql).and_then(|parsed| sql::bind(&parsed, &resolver, &[]))
    });
    let Ok(Ok(Statement::Query(plan))) = bound else { return None };
    let columns = plan.output.iter().take(view.columns.len());
    Some(columns.map(|(name, column)| (name.clone(), plan.columns[*column].sql_type)).collect())
}

#[cold]
fn refused(table: &ObjectName, dropped: Option<&String>, view: &str) -> Error {
    let table = &table.name;
    match dropped {
        Some(column) => {
            let message = format!("cannot drop column {column} of table {table} because other objects depend on it");
            Error::new(SqlState::DEPENDENT_OBJECTS, message)
                .detail(format!("view {view} depends on column {column} of table {table}"))
                .hint("DROP ... CASCADE drops the dependent objects too")
        }
        None => Error::unsupported(format!("changing columns of table {table} that the view {view} reads"))
            .hint("drop the view before, and make it anew"),
    }
}
