//! RETURNING: what a statement gives back of the rows that it has changed, as they are now and, by the names `old` and `new` or
//! those that WITH gives these, as they were and as they are.

use base::{Error, Result, SqlState};
use plan::{ColumnId, Compare, Expr, ExprKind, Node, Op};
use sqlparser::ast;
use sqlparser::parser::Parser;
use types::{SqlType, Value};

use crate::Table;
use crate::bind::coerce::cast_to;
use crate::bind::scope::{Clause, Level, Relation, Scope, ScopeColumn};
use crate::bind::{Binder, Bound, Output};
use crate::change_action;
use crate::dialect::MorselDialect;
use crate::parse::returning::{Version, named_version};

/// Which versions of its rows a statement has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::bind) enum Versions {
    /// Those that are gone.
    Old,
    Both,
}

/// What RETURNING says, and the columns of the rows as they were.
#[derive(Clone, Copy)]
pub(super) struct Returning<'a> {
    pub items: &'a [ast::SelectItem],
    pub columns: &'a [ColumnId],
    pub versions: Versions,
}

impl Binder<'_> {
    /// The items over the row that is written, in the place of the table's own columns in the scope of the level.
    pub(super) fn returning(&mut self, row: Bound, table: &Table, returning: Returning<'_>) -> Result<Bound> {
        let Returning { items, columns, versions } = returning;
        let Bound { mut node, output } = row;
        let row = output.as_slice();
        let mut scope = std::mem::take(&mut self.names.level().scope);
        if table.view.is_some() && versions == Versions::Both {
            // What the view computes is computed of the rows as they are.
            let is_shown = |relation: &&Relation| relation.columns.iter().any(|c| columns.contains(&c.column));
            let before: Vec<ColumnId> =
                scope.relations.iter().find(is_shown).into_iter().flat_map(|r| &r.columns).map(|c| c.column).collect();
            let (with_shown, after) = self.shown_row(node, table, row)?;
            node = with_shown;
            let pairs = before.iter().zip(after).filter(|(before, _)| !columns.contains(before));
            let (before, after): (Vec<ColumnId>, Vec<Output>) =
                pairs.map(|(before, c)| (*before, Output { name: c.name, column: c.column, literal: None })).unzip();
            scope = scope.with_columns(&before, &after);
        }
        self.names.level().scope = scope.with_columns(columns, row);
        let named = |&column: &ColumnId, output: &Output| ScopeColumn { name: output.name.clone(), column };
        let old = columns.iter().zip(row).map(|(column, output)| named(column, output)).collect();
        let (node, new) = match versions {
            Versions::Both => (node, row.iter().map(|o| named(&o.column, o)).collect()),
            Versions::Old => self.nothing(node, row),
        };
        self.returned(node, items, old, new)
    }

    /// The same of rows that are inserted, in a level of their own.
    pub(in crate::bind) fn returning_inserted(
        &mut self,
        node: Node,
        name: &str,
        row: &[Output],
        named: Vec<ScopeColumn>,
        items: &[ast::SelectItem],
    ) -> Result<Bound> {
        let columns: Vec<_> = row.iter().map(|o| ScopeColumn { name: o.name.clone(), column: o.column }).collect();
        let scope = Scope::of(Relation { name: Some(name.to_owned()), columns: named, ..Relation::default() });
        let (node, old) = self.nothing(node, row);
        self.names.levels.push(Level { scope, ..Level::new(Clause::Returning) });
        let bound = self.returned(node, items, old, columns);
        self.names.levels.pop();
        bound
    }

    /// The same of rows with which MERGE does something: `*` gives those of the source first.
    pub(super) fn returning_merged(
        &mut self,
        node: Node,
        action: Expr,
        row: &[Output],
        columns: &[ColumnId],
        items: &[ast::SelectItem],
    ) -> Result<Bound> {
        let is = |wanted: i64| {
            let wanted = Expr::constant(Value::Int(wanted), SqlType::BigInt);
            let kind = ExprKind::Compare(Compare::Eq, Box::new(action.clone()), Box::new(wanted));
            Expr::new(kind, SqlType::Bool)
        };
        let (is_inserted, is_deleted) = (is(change_action::INSERT), is(change_action::DELETE));
        let mut computed = Vec::new();
        let mut new = Vec::new();
        for output in row {
            let value = self.plan.reference(output.column);
            let sql_type = value.sql_type;
            let null = Expr::constant(Value::Null, sql_type);
            let kind = ExprKind::Case { branches: vec![(is_deleted.clone(), null)], otherwise: Box::new(value) };
            let value = Expr::new(kind, sql_type);
            let column = self.plan.column_for(&output.name, &value);
            computed.push((column, value));
            new.push(ScopeColumn { name: output.name.clone(), column });
        }
        let node = Node::new(Op::Map { input: Box::new(node), columns: computed });
        let named = row.iter().zip(columns);
        let old = named.map(|(o, &column)| ScopeColumn { name: o.name.clone(), column }).collect();
        let level = self.names.level();
        let mut scope = std::mem::take(&mut level.scope).with_columns(columns, row);
        let of_table = |column: &ScopeColumn| row.iter().any(|o| o.column == column.column);
        let (target, source): (Vec<_>, Vec<_>) = scope.visible.into_iter().partition(of_table);
        scope.visible = source.into_iter().chain(target).collect();
        level.scope = scope;
        let text = |word: &str| Expr::constant(Value::Str(word.into()), SqlType::Text);
        let branches = vec![(is_inserted, text("INSERT")), (is_deleted, text("DELETE"))];
        let kind = ExprKind::Case { branches, otherwise: Box::new(text("UPDATE")) };
        level.merge_action = Some(Expr::new(kind, SqlType::Text));
        self.returned(node, items, old, new)
    }

    /// The columns of rows that are written, for whoever is given them back: texts of the attributes' types, as they are read later.
    pub(in crate::bind) fn as_declared(&mut self, node: Node, row: &[Output], table: &Table) -> Result<Bound> {
        let mut output = row[..table.fields.len()].to_vec();
        let mut computed = Vec::new();
        for (output, field) in output.iter_mut().zip(&table.fields) {
            let value = self.plan.reference(output.column);
            if value.sql_type != field.sql_type && value.sql_type.is_string() && field.sql_type.is_string() {
                let value = cast_to(value, field.sql_type)?;
                let column = self.plan.column_for(&field.name, &value);
                computed.push((column, value));
                output.column = column;
            }
        }
        let node = match computed.is_empty() {
            true => node,
            false => Node::new(Op::Map { input: Box::new(node), columns: computed }),
        };
        Ok(Bound { node, output })
    }

    /// Rows that are not there: all NULL.
    fn nothing(&mut self, node: Node, row: &[Output]) -> (Node, Vec<ScopeColumn>) {
        let mut computed = Vec::with_capacity(row.len());
        let mut named = Vec::with_capacity(row.len());
        for output in row {
            let null = Expr::constant(Value::Null, self.plan.columns[output.column].sql_type);
            let column = self.plan.column_for(&output.name, &null);
            computed.push((column, null));
            named.push(ScopeColumn { name: output.name.clone(), column });
        }
        (Node::new(Op::Map { input: Box::new(node), columns: computed }), named)
    }

    /// The items in the scope of the level, in which the rows as they were and as they are have names, too.
    fn returned(
        &mut self,
        node: Node,
        mut items: &[ast::SelectItem],
        old: Vec<ScopeColumn>,
        new: Vec<ScopeColumn>,
    ) -> Result<Bound> {
        let mut names: [Option<String>; 2] = [None, None];
        while let Some((version, name)) = items.first().and_then(named_version) {
            items = &items[1..];
            let (at, what) = if version == Version::Old { (0, "OLD") } else { (1, "NEW") };
            if names[at].is_some() {
                let message = format!("{what} cannot be specified multiple times");
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            let relations = &self.names.level().scope.relations;
            let is_taken = relations.iter().any(|relation| relation.name.as_ref() == Some(&name));
            if is_taken || names.contains(&Some(name.clone())) {
                let message = format!("table name \"{name}\" specified more than once");
                return Err(Error::new(SqlState::DUPLICATE_ALIAS, message));
            }
            names[at] = Some(name);
        }
        let [old_name, new_name] = names;
        let level = self.names.level();
        level.clause = Clause::Returning;
        // Behind all others: what is called so already keeps the name.
        for (name, usual, columns) in [(old_name, "old", old), (new_name, "new", new)] {
            let name = Some(name.unwrap_or_else(|| usual.to_owned()));
            level.scope.relations.push(Relation { name, columns, ..Relation::default() });
        }
        let mut select = any_select()?;
        select.projection = items.to_vec();
        let items = self.select_list(&select)?;
        if !self.names.level().unnested.is_empty() {
            let message = "set-returning functions are not allowed in RETURNING";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let mut computed = Vec::new();
        let mut output = Vec::new();
        for item in items {
            let column = match item.expr.as_column() {
                Some(column) => column,
                None => {
                    let column = self.plan.column_for(&item.name, &item.expr);
                    computed.push((column, item.expr));
                    column
                }
            };
            output.push(Output { name: item.name, column, literal: None });
        }
        let node = match computed.is_empty() {
            true => node,
            false => Node::new(Op::Map { input: Box::new(node), columns: computed }),
        };
        Ok(self.plan.with_known_types(Bound { node, output }))
    }
}

/// A SELECT whose list can be replaced.
fn any_select() -> Result<ast::Select> {
    let wrong = || Error::internal("a SELECT that does not parse");
    let mut parser = Parser::new(&MorselDialect).try_with_sql("select 1 from t").map_err(|_| wrong())?;
    match *parser.parse_query().map_err(|_| wrong())?.body {
        ast::SetExpr::Select(select) => Ok(*select),
        _ => Err(wrong()),
    }
}
