//! INSERT into a partitioned table: its rows are made once, with what the table itself fills in, and each partition takes its own.

use base::{Result, SqlState};
use functions::ScalarFunction;
use plan::{Expr, ExprKind, Node, Op};
use sqlparser::ast;
use types::{SqlType, Value};

use super::change::{Parts, insert_from};
use crate::bind::coerce::boolean;
use crate::bind::scope::{Clause, Relation, Scope, ScopeColumn};
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
        let bound = self.refused_by_all(bound, &children, name)?;
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
        name: &ObjectName,
    ) -> Result<Bound> {
        let columns = bound.output.iter().map(|o| ScopeColumn { name: o.name.clone(), column: o.column }).collect();
        let scope = Scope::of(Relation { name: Some(name.name.clone()), columns, ..Relation::default() });
        let conditions: Vec<String> =
            children.iter().filter_map(|(_, child)| Some(format!("({})", child.condition()?))).collect();
        let any = if conditions.is_empty() { "false".to_owned() } else { conditions.join(" OR ") };
        let any = self.kept_text(&any, Clause::Check, scope.clone(), |_, c| boolean(c, "CHECK"))?;
        let text = |text: String| Expr::constant(Value::str(text.as_str()), SqlType::Text);
        let message = format!("no partition of relation \"{}\" found for row", name.name);
        let texts = self.texts_of_row(&bound.output)?;
        let arguments =
            [text(SqlState::CHECK_VIOLATION.0.to_owned()), text(message)].into_iter().chain(texts).collect();
        let refused = Expr::new(ExprKind::Call(ScalarFunction::REFUSE_ROW, arguments), SqlType::Bool);
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
