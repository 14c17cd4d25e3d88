//! TRUNCATE: all rows of tables are deleted, and with CASCADE those of the tables that reference them.

use base::{Error, Result, SqlState};
use sqlparser::ast;

use super::Changed;
use crate::bind::from::table_factor;
use crate::bind::parts::PlanBuilder;
use crate::bind::{Binder, Bound};
use crate::parse::only::is_only;
use crate::{Change, ChangeKind, ObjectName, Resolved, Statement, Truncate};
use catalog::Event;

impl Binder<'_> {
    pub(in crate::bind) fn truncate(&mut self, truncate: &ast::Truncate) -> Result<Statement> {
        let mut names: Vec<ObjectName> = Vec::with_capacity(truncate.table_names.len());
        for target in &truncate.table_names {
            let name = self.text.object_name(&target.name)?;
            if let Resolved::View { .. } = self.resolver.table(&name).map_err(|e| e.at(name.position))? {
                let message = format!("\"{}\" is not a table", name.name);
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(name.position));
            }
            let only = target.only || is_only(&target.name);
            if only && self.stored_table(&name)?.is_partitioned() {
                let message = "cannot truncate only a partitioned table";
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(name.position));
            }
            push(&mut names, self.resolver.placed(&name));
            let mut next = names.len() - 1;
            while let (false, Some(name)) = (only, names.get(next).cloned()) {
                if let Resolved::Table(table) = self.resolver.table(&name)? {
                    table.children().into_iter().flatten().for_each(|child| push(&mut names, child));
                }
                next += 1;
            }
        }
        if truncate.cascade == Some(ast::CascadeOption::Cascade) {
            let mut next = 0;
            while let Some(name) = names.get(next).cloned() {
                for other in self.resolver.referencing(&name) {
                    push(&mut names, ObjectName { position: name.position, ..other });
                }
                next += 1;
            }
        }
        let restarts = truncate.identity == Some(ast::TruncateIdentityOption::Restart);
        let mut changes = Vec::with_capacity(names.len());
        for name in &names {
            changes.push(self.emptied(name, Truncate { restarts, together: names.clone() })?);
            self.plan = PlanBuilder::default();
        }
        match changes.len() {
            1 => Ok(Statement::Change(Box::new(changes.remove(0)))),
            _ => Ok(Statement::Truncate(changes)),
        }
    }

    fn emptied(&mut self, name: &ObjectName, truncate: Truncate) -> Result<Change> {
        let mut parts: Vec<ast::Ident> = Vec::with_capacity(2);
        parts.extend(name.schema.iter().map(|schema| ast::Ident::with_quote('"', schema)));
        parts.push(ast::Ident::with_quote('"', &name.name));
        let factor = table_factor(&ast::ObjectName::from(parts));
        self.at_level(|b| {
            let Changed { name: of, table, item, id, .. } = b.changed(&factor)?;
            let fires = table.fires(b.resolver.placed(&of), &[Event::Truncate], Vec::new());
            let (bound, kind) = (Bound { node: item.node, output: Vec::new() }, (ChangeKind::Truncate, fires));
            let of = ObjectName { position: name.position, ..of };
            match b.change(of, table, kind, Vec::new(), Some(id), bound, None)? {
                Statement::Change(change) => Ok(Change { truncate: Some(truncate), ..*change }),
                _ => Err(Error::internal("a TRUNCATE was bound to something else")),
            }
        })
    }
}

/// Adds a name, once.
fn push(names: &mut Vec<ObjectName>, name: ObjectName) {
    if !names.iter().any(|known| (&known.schema, &known.name) == (&name.schema, &name.name)) {
        names.push(name);
    }
}
