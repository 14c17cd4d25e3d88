//! A SELECT block: FROM, WHERE, GROUP BY, HAVING, windows, QUALIFY, the select list, DISTINCT, ORDER BY, LIMIT, in the order
//! in which they are evaluated.

use std::collections::HashSet;

use base::{Error, Result, SqlState};
use plan::{ColumnId, Expr, ExprKind, Node, Op, SortKey, split_conjuncts};
use sqlparser::ast::{
    self, Distinct, ExcludeSelectItem, ObjectNamePart, RenameSelectItem, Select, SelectFlavor, SelectItem,
    SelectItemQualifiedWildcardKind, WildcardAdditionalOptions,
};
use types::SqlType;

use super::coerce::{is_open_list, is_untyped, known};
use super::from::FromItem;
use super::group::Grouping;
use super::input_order::InputOrder;
use super::json_order::ordered;
use super::labelled::{is_file_name, reads_files};
use super::order::{Key, KeyOrder};
use super::output_name::output_name;
use super::sample::apart;
use super::scope::{Clause, Level, ScopeColumn, Unnested, find_relation};
use super::slice::{Slice, limited};
use super::window::Windowed;
use super::{Binder, Bound, Output, fold, unsupported};
use crate::bind::parts::PlanBuilder;
use crate::walk;

/// An item of the select list.
pub(super) struct Item {
    pub name: String,
    pub expr: Expr,
}

/// What DISTINCT says.
enum Duplicates {
    Stay,
    Go,
    /// DISTINCT ON: the first row of each group.
    GoBy(Vec<KeyOrder>),
}

impl Binder<'_> {
    /// Binds a SELECT block with the ORDER BY and LIMIT that belong to it.
    pub(super) fn select(&mut self, select: &Select, order_by: Option<&ast::OrderBy>, slice: Slice) -> Result<Bound> {
        let position = self.text.span(select.select_token.0.span);
        refuse_unsupported(select, position)?;
        self.names.levels.push(Level::new(Clause::From));
        let bound = self.select_inside(select, order_by, slice);
        self.names.levels.pop();
        bound
    }

    pub(super) fn select_inside(
        &mut self,
        select: &Select,
        order_by: Option<&ast::OrderBy>,
        slice: Slice,
    ) -> Result<Bound> {
        self.names.level().names_file = reads_files(&select.from)
            && (walk::has_expr(select, is_file_name) || order_by.is_some_and(|by| walk::has_expr(by, is_file_name)));
        let FromItem { mut node, scope } = self.tables_of(&select.from)?;
        self.names.level().input_order = InputOrder::of(&node, &self.plan);
        let (sampled, only) = apart(select.qualify.as_ref());
        if let Some(sample) = sampled {
            node = self.plan.sample_said(node, sample)?;
        }
        self.names.level().scope = scope;
        let mut listed = None;
        if let Some(condition) = &select.selection {
            self.names.level().clause = Clause::Where;
            let condition = &*self.for_all_columns(condition)?;
            let mut bound = self.condition(condition, "WHERE");
            if let Err(error) = &bound
                && error.state() == SqlState::UNDEFINED_COLUMN
                && select.projection.iter().any(|item| matches!(item, SelectItem::ExprWithAlias { .. }))
            {
                // It may be the name of an item.
                listed = Some(self.listed(select)?);
                self.names.level().clause = Clause::Where;
                bound = self.condition(condition, "WHERE");
            }
            node = filtered(node, bound?);
        }
        let mut items = match listed {
            Some(items) => items,
            None => self.listed(select)?,
        };
        self.names.level().clause = Clause::Select;
        let groups = self.group_by(&select.group_by, &items)?;
        self.names.level().aliases = items.iter().map(|i| (i.name.clone(), i.expr.clone())).collect();
        self.names.level().clause = Clause::Having;
        let mut having = select.having.as_ref().map(|h| self.condition(h, "HAVING")).transpose()?;
        self.names.level().clause = Clause::Qualify;
        let mut qualify = only.map(|q| self.condition(q, "QUALIFY")).transpose()?;
        self.names.level().clause = Clause::OrderBy;
        let distinct = matches!(select.distinct, Some(Distinct::Distinct));
        let mut keys = self.order_keys(order_by, &items, distinct)?;
        let ordered_by = keys.len();
        if let Some(Distinct::On(exprs)) = &select.distinct {
            let on = self.distinct_on(exprs, &items, order_by, &keys)?;
            keys.extend(on);
        }

        let level = self.names.level();
        if let Some((_, call)) = level.aggregates.first().filter(|_| level.reads_itself) {
            let message = "aggregate functions are not allowed in a recursive query's recursive term";
            return Err(Error::new(SqlState::INVALID_RECURSION, message).at(call.position));
        }
        let mut windows = std::mem::take(&mut level.windows);
        let mut unnested = std::mem::take(&mut level.unnested);
        let level = self.names.level();
        // Calls have copies of these; mistakes in those that nothing uses count all the same.
        let mut named_windows = std::mem::take(&mut level.named_windows);
        let is_grouped =
            groups.is_some() || !(level.aggregates.is_empty() && level.groupings.is_empty()) || having.is_some();
        if is_grouped {
            let groups = groups.unwrap_or_default();
            // Rows that a key makes are there before groups are.
            let is_key = |of: &mut Unnested| groups.keys.iter().any(|key| key.uses(|column| column == of.column));
            let below: Vec<Unnested> = unnested.extract_if(.., is_key).collect();
            if !below.is_empty() {
                node = self.plan.unnested(node, below, None);
            }
            let grouping = Grouping {
                groups,
                aggregates: std::mem::take(&mut level.aggregates),
                ordered_sets: std::mem::take(&mut level.ordered_sets),
                direct_arguments: std::mem::take(&mut level.direct_arguments),
                groupings: std::mem::take(&mut level.groupings),
            };
            let above = (having.iter_mut().chain(&mut qualify))
                .chain(windows.iter_mut().flat_map(Windowed::expressions_mut))
                .chain(unnested.iter_mut().map(|u| &mut u.array))
                .chain(named_windows.iter_mut().flat_map(|named| named.window.expressions_mut()))
                .chain(keys.iter_mut().filter_map(|key| match &mut key.key {
                    Key::Expr(expr) => Some(expr),
                    Key::Output(_) => None,
                }));
            node = self.plan.grouped(node, grouping, &mut items, above)?;
        }
        if let Some(condition) = having {
            node = filtered(node, condition);
        }
        if !is_grouped {
            self.in_input_order(&mut windows);
        }
        node = self.plan.windowed(node, windows);
        if let Some(condition) = qualify {
            node = filtered(node, condition);
        }
        if !unnested.is_empty() {
            node = self.plan.unnested(node, unnested, None);
        }
        let on = keys.split_off(ordered_by);
        let distinct = match select.distinct {
            None | Some(Distinct::All) => Duplicates::Stay,
            Some(Distinct::Distinct) => Duplicates::Go,
            Some(Distinct::On(_)) => Duplicates::GoBy(on),
        };
        Ok(self.plan.project(node, items, keys, distinct, slice))
    }

    /// The select list, with the windows that it names.
    fn listed(&mut self, select: &Select) -> Result<Vec<Item>> {
        self.names.level().clause = Clause::Select;
        self.named_windows(select)?;
        self.select_list(select)
    }

    pub(super) fn select_list(&mut self, select: &Select) -> Result<Vec<Item>> {
        let mut items = Vec::with_capacity(select.projection.len());
        if select.flavor == SelectFlavor::FromFirstNoSelect {
            let columns = self.names.level().scope.visible.clone();
            let columns = self.plan.items_of(columns);
            self.wildcard_columns(columns, None, &mut items)?;
            return Ok(items);
        }
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) if let Some(columns) = self.star_values(expr)? => {
                    items.extend(columns.into_iter().map(|(name, expr)| Item { name, expr }));
                }
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }
                    if let Some(columns) = self.unnested_fields(expr)? =>
                {
                    items.extend(columns.into_iter().map(|(name, expr)| Item { name, expr }));
                }
                SelectItem::UnnamedExpr(expr) => match self.each_column(expr)? {
                    None => items.push(Item { name: output_name(expr), expr: self.expr(expr)? }),
                    Some(each) => {
                        for each in each {
                            items.push(Item { name: each.name, expr: self.expr(&each.expr)? });
                        }
                    }
                },
                SelectItem::ExprWithAlias { expr, alias } => {
                    let name = self.text.alias(alias)?;
                    match self.each_column(expr)? {
                        None => {
                            let expr = self.expr(expr)?;
                            self.names.level().aliases.push((name.clone(), expr.clone()));
                            items.push(Item { name, expr });
                        }
                        Some(each) => {
                            for each in each {
                                items.push(Item { name: each.called(&name), expr: self.expr(&each.expr)? });
                            }
                        }
                    }
                }
                SelectItem::Wildcard(options) => {
                    if select.from.is_empty() {
                        return Err(Error::new(
                            SqlState::SYNTAX_ERROR,
                            "SELECT * with no tables specified is not valid",
                        )
                        .at(self.text.span(options.wildcard_token.0.span)));
                    }
                    let columns = self.names.level().scope.visible.clone();
                    let columns = self.plan.items_of(columns);
                    self.wildcard_columns(columns, Some(options), &mut items)?;
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    let position = self.text.name_position(name);
                    let Some(ObjectNamePart::Identifier(table)) = name.0.last() else {
                        return unsupported("this form of *", position);
                    };
                    let found = self.names.levels.iter().rev().find_map(|level| find_relation(&level.scope, table));
                    if let (None, Ok(value)) = (found, self.names.resolve(table, &self.text, &mut self.plan))
                        && value.sql_type.structure().is_some()
                    {
                        let fields = self.fields_of(&value)?.into_iter().map(|(name, expr)| Item { name, expr });
                        self.wildcard_columns(fields.collect(), Some(options), &mut items)?;
                        continue;
                    }
                    let columns = found.map(|relation| relation.columns.clone());
                    if columns.is_none()
                        && let Some(value) = self.variable(std::slice::from_ref(table))?
                        && value.sql_type.structure().is_some()
                    {
                        let fields = self.fields_of(&value)?.into_iter().map(|(name, expr)| Item { name, expr });
                        self.wildcard_columns(fields.collect(), Some(options), &mut items)?;
                        continue;
                    }
                    let columns = match columns {
                        Some(columns) => columns,
                        None => {
                            let message = format!("missing FROM-clause entry for table \"{}\"", fold(table));
                            return Err(Error::new(SqlState::UNDEFINED_TABLE, message).at(position));
                        }
                    };
                    let columns = self.plan.items_of(columns);
                    self.wildcard_columns(columns, Some(options), &mut items)?;
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(value), options) => {
                    let Some(fields) = self.fields_of_expr(value, 1)? else {
                        return unsupported("* of an expression that is no struct", self.text.start(value));
                    };
                    let fields = fields.into_iter().map(|(name, expr)| Item { name, expr });
                    self.wildcard_columns(fields.collect(), Some(options), &mut items)?;
                }
                SelectItem::ExprWithAliases { .. } => return unsupported("several aliases of one expression", None),
            }
        }
        Ok(items)
    }

    /// `*` with EXCLUDE and REPLACE.
    fn wildcard_columns(
        &mut self,
        columns: Vec<Item>,
        options: Option<&WildcardAdditionalOptions>,
        items: &mut Vec<Item>,
    ) -> Result<()> {
        let (mut excluded, mut replaced, mut renamed) = (Vec::new(), Vec::new(), &[][..]);
        if let Some(options) = options {
            if options.opt_ilike.is_some() || options.opt_alias.is_some() {
                return unsupported("an alias after *", self.text.span(options.wildcard_token.0.span));
            }
            renamed = match &options.opt_rename {
                None => &[],
                Some(RenameSelectItem::Single(one)) => std::slice::from_ref(one),
                Some(RenameSelectItem::Multiple(all)) => all,
            };
            let names = match &options.opt_exclude {
                None => Vec::new(),
                Some(ExcludeSelectItem::Single(name)) => vec![name],
                Some(ExcludeSelectItem::Multiple(names)) => names.iter().collect(),
            };
            for name in names {
                if let Some(ObjectNamePart::Identifier(ident)) = name.0.last() {
                    excluded.push(ident.clone());
                }
            }
            if let Some(except) = &options.opt_except {
                excluded.push(except.first_element.clone());
                excluded.extend(except.additional_elements.iter().cloned());
            }
            for element in options.opt_replace.iter().flat_map(|r| &r.items) {
                replaced.push((element.column_name.clone(), self.expr(&element.expr)?));
            }
        }
        let is = |column: &Item, ident: &ast::Ident| {
            column.name == fold(ident) || (ident.quote_style.is_none() && column.name.to_lowercase() == fold(ident))
        };
        let named = excluded.iter().chain(replaced.iter().map(|(i, _)| i)).chain(renamed.iter().map(|r| &r.ident));
        for ident in named {
            if !columns.iter().any(|c| is(c, ident)) {
                let message = format!("column \"{}\" is not among the columns of *", fold(ident));
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(self.text.at(ident)));
            }
        }
        for column in columns {
            if excluded.iter().any(|i| is(&column, i)) {
                continue;
            }
            let replacement = replaced.iter().position(|(i, _)| is(&column, i));
            let renamed = renamed.iter().find(|r| is(&column, &r.ident));
            let Item { name, expr } = column;
            let expr = replacement.map_or(expr, |index| replaced.swap_remove(index).1);
            let name = renamed.map_or(name, |renamed| fold(&renamed.alias));
            items.push(Item { name, expr });
        }
        Ok(())
    }
}

impl PlanBuilder {
    /// Columns as items of a select list.
    fn items_of(&self, columns: Vec<ScopeColumn>) -> Vec<Item> {
        let item = |column: ScopeColumn| Item { expr: self.reference(column.column), name: column.name };
        columns.into_iter().map(item).collect()
    }

    /// The select list on top of `node`, then DISTINCT, ORDER BY and LIMIT.
    fn project(
        &mut self,
        mut node: Node,
        items: Vec<Item>,
        mut keys: Vec<KeyOrder>,
        duplicates: Duplicates,
        slice: Slice,
    ) -> Bound {
        let (mut output, mut computed) = (Vec::with_capacity(items.len()), Vec::new());
        let own: HashSet<ColumnId> = node.columns().into_iter().collect();
        for Item { name, expr } in items {
            let column = match expr.kind {
                // A column of an outer query becomes one of this query.
                ExprKind::Column(column) if own.contains(&column) => {
                    output.push(Output { name, column, literal: None });
                    continue;
                }
                _ => self.column_for(&name, &expr),
            };
            let literal = (is_untyped(&expr) || is_open_list(&expr)).then(|| expr.clone());
            // An untyped literal is stored as what it is if nothing gives it another type.
            let expr = match &expr.kind {
                ExprKind::Const(value) if is_untyped(&expr) && !value.is_null() => {
                    self.columns[column].sql_type = SqlType::Text;
                    Expr::constant(value.clone(), SqlType::Text).at(expr.position)
                }
                _ if is_open_list(&expr) => {
                    self.columns[column].sql_type = expr.sql_type.closed();
                    known(expr)
                }
                _ => expr,
            };
            computed.push((column, expr));
            output.push(Output { name, column, literal });
        }
        // What is another value each time is computed of the rows that are left, in their order, as in PostgreSQL.
        let is_key = |column: ColumnId| {
            let named = |key: &KeyOrder| matches!(key.key, Key::Output(index) if output[index].column == column);
            keys.iter().any(named)
        };
        let is_sliced = slice.limit.is_some() && slice.offset == 0;
        let waits =
            matches!(duplicates, Duplicates::Stay) && slice.percent.is_none() && (is_sliced || !keys.is_empty());
        let (late, computed): (Vec<_>, Vec<_>) = computed
            .into_iter()
            .partition(|(column, expr)| waits && expr.is_volatile() && !expr.has_subquery() && !is_key(*column));
        if !computed.is_empty() {
            node = Node::new(Op::Map { input: Box::new(node), columns: computed });
        }
        if let Duplicates::GoBy(on) = duplicates {
            node = self.first_of_groups(node, on, &mut keys, &output);
        } else if matches!(duplicates, Duplicates::Go) {
            let mut columns: Vec<ColumnId> = Vec::with_capacity(output.len());
            for output in &output {
                if !columns.contains(&output.column) {
                    columns.push(output.column);
                }
            }
            node = Node::new(Op::Distinct { input: Box::new(node), columns });
        }
        let mut node = self.sorted(node, &keys, &output, &slice);
        if !late.is_empty() {
            node = Node::new(Op::Map { input: Box::new(node), columns: late });
        }
        Bound { node, output }
    }

    /// DISTINCT ON: the first row of each group. Keys are computed once, below, and become columns: the rows that are left
    /// are ordered by them again.
    fn first_of_groups(
        &mut self,
        mut node: Node,
        mut on: Vec<KeyOrder>,
        keys: &mut [KeyOrder],
        output: &[Output],
    ) -> Node {
        let own: HashSet<ColumnId> = node.columns().into_iter().collect();
        let (mut known, mut computed): (Vec<(Key, ColumnId)>, _) = (Vec::new(), Vec::new());
        for KeyOrder { key, .. } in keys.iter_mut().chain(&mut on) {
            let Key::Expr(expr) = &*key else { continue };
            if matches!(expr.kind, ExprKind::Const(_)) || expr.as_column().is_some_and(|c| own.contains(&c)) {
                continue;
            }
            let column = match known.iter().find(|(k, _)| k.is(key)) {
                Some(&(_, column)) => column,
                None => {
                    let column = self.column_for("distinct on", expr);
                    computed.push((column, expr.clone()));
                    known.push((key.clone(), column));
                    column
                }
            };
            *key = Key::Expr(self.reference(column));
        }
        if !computed.is_empty() {
            node = Node::new(Op::Map { input: Box::new(node), columns: computed });
        }
        let partition: Vec<ColumnId> =
            self.sort_keys(&on, output).iter().filter_map(|key| key.expr.as_column()).collect();
        if partition.is_empty() {
            // Nothing but constants: one group.
            return self.sorted(node, keys, output, &Slice { limit: Some(1), ..Slice::default() });
        }
        let keys = self.sort_keys(keys, output);
        Node::new(Op::GroupLimit { input: Box::new(node), partition, keys, limit: Some(1), offset: 0 })
    }

    /// ORDER BY and LIMIT on top of `node`.
    pub(super) fn sorted(&mut self, node: Node, keys: &[KeyOrder], output: &[Output], slice: &Slice) -> Node {
        let keys = self.sort_keys(keys, output);
        if let Some(percent) = slice.percent {
            return self.percentage_of(node, keys, percent, slice.offset);
        }
        if let Some(computed) = &slice.computed {
            return self.sliced(node, keys, slice, (**computed).clone());
        }
        if let (true, Some(limit @ 1..)) = (slice.with_ties, slice.limit) {
            return self.with_ties(node, keys, limit, slice.offset);
        }
        if keys.is_empty() {
            return limited(node, slice);
        }
        Node::new(Op::Sort { input: Box::new(node), keys, limit: slice.limit, offset: slice.offset })
    }

    /// Keys that decide something.
    fn sort_keys(&self, keys: &[KeyOrder], output: &[Output]) -> Vec<SortKey> {
        let mut sort: Vec<SortKey> = Vec::with_capacity(keys.len());
        for &KeyOrder { ref key, descending, nulls_first } in keys {
            let expr = match key {
                Key::Output(index) => self.reference(output[*index].column),
                Key::Expr(expr) => expr.clone(),
            };
            if matches!(expr.kind, ExprKind::Const(_)) || sort.iter().any(|k| k.expr.same(&expr)) {
                continue;
            }
            sort.push(SortKey { expr: ordered(expr), descending, nulls_first });
        }
        sort
    }
}

pub(super) fn refuse_unsupported(select: &Select, position: Option<u32>) -> Result<()> {
    let what = if select.top.is_some() {
        "TOP (write LIMIT)"
    } else if select.into.is_some() {
        "SELECT INTO (write CREATE TABLE AS)"
    } else if !select.lateral_views.is_empty() {
        "LATERAL VIEW"
    } else if select.prewhere.is_some() || !select.connect_by.is_empty() || select.value_table_mode.is_some() {
        "PREWHERE, CONNECT BY or SELECT AS"
    } else if !(select.cluster_by.is_empty() && select.distribute_by.is_empty() && select.sort_by.is_empty()) {
        "CLUSTER BY, DISTRIBUTE BY or SORT BY"
    } else {
        return Ok(());
    };
    unsupported(what, position)
}

/// A filter with the conjuncts of a condition.
pub(super) fn filtered(node: Node, condition: Expr) -> Node {
    let mut predicates = Vec::new();
    split_conjuncts(condition, &mut predicates);
    Node::new(Op::Filter { input: Box::new(node), predicates })
}
