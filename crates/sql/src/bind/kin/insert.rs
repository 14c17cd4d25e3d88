//! INSERT into a partitioned table: its rows are made once, with what the table itself fills in, and each partition takes its own.

use base::{Result, SqlState};
use plan::{Expr, ExprKind, Node, Op};
use sqlparser::ast;
use types::SqlType;

use super::change::{Parts, insert_from};
use crate::bind::coerce::boolean;
use crate::bind::refusal::Refusal;
use crate::bind::scope::{Clause, Relation, Scope, ScopeColumn};
use crate::bind::written::shown;
use crate::bind::{Binder, Bound, Output};
use crate::parse::Overriding;
use crate::{ObjectName, Statement, Table};

impl Binder<'_> {
    pub(super) fn insert_of_kin(
        &mut self,
        insert: &ast::Insert,
        name: &ObjectName,
        table: &Table,
        text: &str,
    ) -> Result<Statement> {
        let children = self.tables_with_rows(name, table)?;
        let mut parts = Parts::default();
        let (bound, targets) = self.rows_to_insert(insert, table, name)?;
        let bound = self.filled(bound, &targets, table)?;
        let columns = table.fields_to_fill();
        let bound = self.refused_by_all(bound, &children, (name, table))?;
        let output: Vec<Output> = bound.output.into_iter().filter(|output| columns.contains(&output.name)).collect();
        let plan = self.plan.finish(Bound { node: bound.node, output })?;
        let fields = crate::bind::statement::fields(&plan);
        let rows = self.part_of_whole(&mut parts, Statement::Query(plan), Some(fields), true)?;
        let alias = match &insert.table_alias {
            Some(alias) => ObjectName { name: crate::bind::fold(&alias.alias), ..name.clone() },
            None => name.clone(),
        };
        for (child, of) in &children {
            let from = insert_from(&rows, (child, of), &columns, &alias, insert.returning.as_ref())?;
            let from = match from {
                ast::Statement::Insert(from) => ast::Statement::Insert(ast::Insert { on: insert.on.clone(), ..from }),
                other => other,
            };
            self.as_the_system(|b| b.counted_part(&mut parts, &from, text))?;
        }
        self.whole(parts, "INSERT")
    }

    /// Refuses rows that belong to no partition: 23514.
    pub(super) fn refused_by_all(
        &mut self,
        bound: Bound,
        children: &[(ObjectName, Table)],
        (name, table): (&ObjectName, &Table),
    ) -> Result<Bound> {
        let columns = bound.output.iter().map(|o| ScopeColumn { name: o.name.clone(), column: o.column }).collect();
        let scope = Scope::of(Relation { name: Some(name.name.clone()), columns, ..Relation::default() });
        let conditions: Vec<String> =
            children.iter().filter_map(|(_, child)| Some(format!("({})", child.condition()?))).collect();
        let any = if conditions.is_empty() { "false".to_owned() } else { conditions.join(" OR ") };
        let any = self.kept_text(&any, Clause::Check, scope.clone(), |_, c| boolean(c, "CHECK"))?;
        let message = format!("no partition of relation \"{}\" found for row", name.name);
        let keys = table.kin.as_ref().and_then(|kin| kin.own.partitioned.as_ref()).map_or(&[][..], |by| &by.keys);
        let text = |key: &String| self.kept_text(key, Clause::Check, scope.clone(), |_, value| shown(value));
        let texts = keys.iter().map(text).collect::<Result<Vec<_>>>()?;
        let names: Vec<String> = keys.iter().map(|key| plain(key)).collect();
        let refused = Refusal::default().about_table(name).saying(message).showing_key(names.join(", "), texts);
        let refused = refused.with(SqlState::CHECK_VIOLATION);
        let is_none = Expr::new(ExprKind::Not(Box::new(any)), SqlType::Bool);
        let otherwise = Box::new(Expr::bool(true));
        let case = Expr::new(ExprKind::Case { branches: vec![(is_none, refused)], otherwise }, SqlType::Bool);
        let Bound { node, output } = bound;
        Ok(Bound { node: Node::new(Op::Filter { input: Box::new(node), predicates: vec![case] }), output })
    }

    /// Binds INSERTs that may fill any column.
    pub(super) fn as_the_system<T>(&mut self, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let (overriding, by_name) = (self.insert.overriding, self.insert.by_name);
        (self.insert.overriding, self.insert.by_name) = (Some(Overriding::System), false);
        let bound = bind(self);
        (self.insert.overriding, self.insert.by_name) = (overriding, by_name);
        bound
    }
}

/// A name in quotes without them, if it needs none.
fn plain(key: &str) -> String {
    let name = key.strip_prefix('"').and_then(|key| key.strip_suffix('"'));
    let is_plain = |name: &&str| name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    name.filter(is_plain).unwrap_or(key).to_owned()
}
