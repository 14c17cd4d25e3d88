//! Which names mean which columns.

use std::collections::HashSet;
use std::rc::Rc;

use base::{Error, Result, SqlState};
use catalog::{Field, nearest_name};
use plan::{AggregateCall, ColumnId, CteId, Expr, ExprKind, TableId, TableSource};
use sqlparser::ast::{self, Ident};
use types::{SqlType, Value};

use super::fold;
use super::group::keys::GroupingCall;
use super::input_order::InputOrder;
use super::window::{NamedWindow, Windowed, wrong};
use crate::bind::parts::{PlanBuilder, Text};

/// A column under the name by which expressions call it.
#[derive(Clone, Debug)]
pub(super) struct ScopeColumn {
    pub name: String,
    pub column: ColumnId,
}

/// A table, file or subquery in FROM.
#[derive(Clone, Debug, Default)]
pub(super) struct Relation {
    /// Its alias or name; none for a subquery without alias.
    pub name: Option<String>,
    pub columns: Vec<ScopeColumn>,
    /// The column that its name means where a value stands: that of a function whose rows are values.
    pub value: Option<ColumnId>,
    /// The table whose rows it has, if they are stored rows.
    pub rows: Option<TableId>,
    /// The number of the table, which `tableoid` means.
    pub number: Option<i64>,
    /// A column that its name alone gives, where no other has it: the file that a row is from.
    pub hidden: Option<ScopeColumn>,
}

/// The names that FROM gives.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// What qualified names and `t.*` look into.
    pub relations: Vec<Relation>,
    /// What unqualified names and `*` look into: columns merged by USING occur once.
    pub visible: Vec<ScopeColumn>,
}

impl Scope {
    /// A scope of one relation.
    pub fn of(relation: Relation) -> Self {
        Self { visible: relation.columns.clone(), relations: vec![relation] }
    }

    /// Both scopes' names.
    pub fn join(mut self, other: Scope) -> Self {
        self.relations.extend(other.relations);
        self.visible.extend(other.visible);
        self
    }

    /// Two relations of one name are error 42712.
    pub fn check_aliases(&self, position: Option<u32>) -> Result<()> {
        for (i, relation) in self.relations.iter().enumerate() {
            if relation.name.is_some() && self.relations[..i].iter().any(|r| r.name == relation.name) {
                let name = relation.name.as_deref().unwrap_or_default();
                let message = format!("table name \"{name}\" specified more than once");
                return Err(Error::new(SqlState::DUPLICATE_ALIAS, message).hint("give one an alias").at(position));
            }
        }
        Ok(())
    }
}

/// Where an expression stands, for what is allowed there and for messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Clause {
    From,
    JoinCondition,
    Where,
    GroupBy,
    Having,
    Select,
    Qualify,
    OrderBy,
    Values,
    /// The arguments of EXECUTE.
    Execute,
    /// ORDER BY of what is no plain SELECT.
    OutputOrder,
    Default,
    Check,
    Generated,
    /// A key of an index.
    IndexKey,
    /// Which rows an index has.
    IndexPredicate,
    /// SET.
    Update,
    Returning,
    /// LIMIT and OFFSET.
    Limit,
}

impl Clause {
    /// The clause in messages, if aggregates are not allowed in it.
    pub fn forbids_aggregates(self) -> Option<&'static str> {
        Some(match self {
            Self::From => "functions in FROM",
            Self::JoinCondition => "JOIN conditions",
            Self::Where => "WHERE",
            Self::GroupBy => "GROUP BY",
            Self::Values => "VALUES",
            Self::Execute => "EXECUTE parameters",
            Self::OutputOrder => "ORDER BY of a set operation or VALUES",
            Self::Default => "DEFAULT expressions",
            Self::Check => "check constraints",
            Self::Generated => "column generation expressions",
            Self::IndexKey => "index expressions",
            Self::IndexPredicate => "index predicates",
            Self::Update => "UPDATE",
            Self::Returning => "RETURNING",
            Self::Limit => "LIMIT",
            Self::Having | Self::Select | Self::Qualify | Self::OrderBy => return None,
        })
    }

    /// The state of a call that must not stand here, which elsewhere is `state`.
    pub fn state_of_misplaced(self, state: SqlState) -> SqlState {
        if self == Self::OutputOrder { SqlState::FEATURE_NOT_SUPPORTED } else { state }
    }

    /// The clause in messages, if window functions are not allowed in it.
    fn forbids_windows(self) -> Option<&'static str> {
        if self == Self::Having { Some("HAVING") } else { self.forbids_aggregates() }
    }
}

/// An array whose elements become rows.
pub(super) struct Unnested {
    pub array: Expr,
    /// The element.
    pub column: ColumnId,
}

/// What a query that locks rows reads.
pub(super) struct Lockable {
    pub name: Option<String>,
    pub rows: LockableRows,
}

pub(super) enum LockableRows {
    /// A table, with the column of its rows' ids.
    Table(TableSource, ColumnId),
    /// Something without rows that could be locked.
    Nothing(&'static str),
    /// Rows of tables that the query does not name.
    Derived,
}

/// One query around the current place.
pub(super) struct Level {
    pub scope: Scope,
    pub clause: Clause,
    /// Whether FROM has the working table of a recursive query.
    pub reads_itself: bool,
    /// Aggregates met so far, each once.
    pub aggregates: Vec<(ColumnId, AggregateCall)>,
    /// Whether we are inside of an aggregate's argument.
    pub inside_aggregate: bool,
    /// Ordered-set aggregates met so far, each once; the aggregates read their columns, which are made below them.
    pub ordered_sets: Vec<Windowed>,
    /// What ordered-set aggregates are given besides the rows: they may read what GROUP BY lets through.
    pub direct_arguments: Vec<Expr>,
    /// Calls of GROUPING met so far.
    pub groupings: Vec<GroupingCall>,
    /// Calls of window functions met so far, each once.
    pub windows: Vec<Windowed>,
    /// Set-returning functions in the select list met so far.
    pub unnested: Vec<Unnested>,
    /// What WINDOW defines.
    pub named_windows: Vec<NamedWindow>,
    /// Why no window function may stand at the current place, whatever the clause.
    pub without_windows: Option<&'static str>,
    /// Whether the current place is in a FILTER.
    pub inside_filter: bool,
    /// Whether it is in a condition.
    pub inside_condition: bool,
    /// Output names that expressions may use where FROM has no such column (ORDER BY, HAVING, QUALIFY).
    pub aliases: Vec<(String, Expr)>,
    /// The order of the rows that FROM gives.
    pub input_order: InputOrder,
    /// What FROM reads whose rows may be locked: in a query that locks rows.
    pub lockable: Option<Vec<Lockable>>,
    /// What `merge_action()` means: in the RETURNING of a MERGE.
    pub merge_action: Option<Expr>,
    /// Whether the query reads files and speaks of a column by the name of that which tells them apart.
    pub names_file: bool,
}

impl Level {
    pub fn new(clause: Clause) -> Self {
        Self {
            scope: Scope::default(),
            clause,
            reads_itself: false,
            aggregates: Vec::new(),
            inside_aggregate: false,
            ordered_sets: Vec::new(),
            direct_arguments: Vec::new(),
            groupings: Vec::new(),
            windows: Vec::new(),
            unnested: Vec::new(),
            named_windows: Vec::new(),
            without_windows: None,
            inside_filter: false,
            inside_condition: false,
            aliases: Vec::new(),
            lockable: None,
            input_order: InputOrder::Open,
            merge_action: None,
            names_file: false,
        }
    }

    /// The columns that exist above GROUP BY only.
    pub fn above_groups(&self) -> HashSet<ColumnId> {
        let aggregates = self.aggregates.iter().map(|(column, _)| *column);
        aggregates.chain(self.groupings.iter().map(|call| call.column)).collect()
    }

    /// Whether the expression reads a window function's result.
    pub fn is_windowed(&self, expr: &Expr) -> bool {
        expr.uses(|c| self.windows.iter().any(|w| w.column == c))
    }

    /// Whether a window function may stand here.
    pub fn check_windows(&self, position: Option<u32>) -> Result<()> {
        if self.inside_aggregate {
            let message = "aggregate function calls cannot contain window function calls";
            return Err(Error::new(SqlState::GROUPING_ERROR, message)
                .hint("compute the window function in a subquery")
                .at(position));
        }
        if let Some(reason) = self.without_windows {
            return Err(wrong(reason, position).hint("compute the inner one in a subquery"));
        }
        let Some(clause) = self.clause.forbids_windows() else { return Ok(()) };
        let message = format!("window functions are not allowed in {clause}");
        let error = Error::new(self.clause.state_of_misplaced(SqlState::WINDOWING_ERROR), message).at(position);
        Err(match self.clause {
            Clause::Where | Clause::Having => error.hint("conditions on window functions go into QUALIFY"),
            Clause::JoinCondition | Clause::GroupBy => error.hint("compute the window function in a subquery"),
            _ => error,
        })
    }
}

/// What names mean at the current place.
#[derive(Default)]
pub(super) struct Names {
    /// Queries around the current place, outermost first.
    pub levels: Vec<Level>,
    /// Common table expressions in scope; later ones hide earlier ones.
    pub environment: Vec<CteBinding>,
    /// Parameters of the lambdas around the current place, innermost last.
    pub lambdas: Vec<ScopeColumn>,
    /// Whether a recursive query may read itself here.
    pub self_reference: SelfReference,
}

/// A common table expression in scope.
pub(super) struct CteBinding {
    pub name: String,
    /// Names that its alias gives to its columns.
    pub columns: Vec<Ident>,
    pub query: Rc<ast::Query>,
    /// Number of levels and of common table expressions that its query sees.
    pub levels: usize,
    pub visible: usize,
    pub inline: bool,
    /// Whether it may read itself.
    pub recursive: bool,
    /// While it is bound, if it does.
    pub recursing: Option<Recursing>,
    /// If the WITH changes data: what its rows are.
    pub part: Option<PartRows>,
    /// Once materialised: its id, and its output's names and columns.
    pub materialised: Option<(CteId, Vec<(String, ColumnId)>)>,
}

impl CteBinding {
    /// The same in a statement of its own; none if it is what it is in this one only.
    pub fn alone(&self) -> Option<Self> {
        let of_statement = self.recursing.is_some() || self.part.is_some();
        let (query, columns) = (self.query.clone(), self.columns.clone());
        (!of_statement).then(|| Self {
            name: self.name.clone(),
            columns,
            query,
            levels: 0,
            visible: self.visible,
            inline: self.inline,
            recursive: self.recursive,
            recursing: None,
            part: None,
            materialised: None,
        })
    }
}

/// What a part of WITH gives to those that read it.
#[derive(Clone)]
pub(super) struct PartRows {
    pub number: usize,
    /// None of a change without RETURNING.
    pub fields: Option<Vec<Field>>,
}

/// How far a query that may read itself is bound.
#[derive(Clone)]
pub(super) enum Recursing {
    /// In its first term it may not.
    FirstTerm,
    /// In its recursive term it may, once: the names and columns of its working table.
    Term { output: Vec<(String, ColumnId)>, read: bool },
}

/// Whether a recursive query may read itself at the current place.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum SelfReference {
    #[default]
    Allowed,
    Subquery,
    OuterJoin,
    Intersect,
    Except,
}

impl SelfReference {
    /// Why it may not.
    pub fn misplaced(self) -> Option<&'static str> {
        match self {
            Self::Allowed => None,
            Self::Subquery => Some("within a subquery"),
            Self::OuterJoin => Some("within an outer join"),
            Self::Intersect => Some("within INTERSECT"),
            Self::Except => Some("within EXCEPT"),
        }
    }
}

/// Whether a column's name is what was written: exactly, or in any case if it was not quoted.
fn matches(name: &str, wanted: &str, ident: &Ident, exact: bool) -> bool {
    if exact { name == wanted } else { ident.quote_style.is_none() && name.to_lowercase() == wanted }
}

fn candidates<'s>(columns: &'s [ScopeColumn], ident: &Ident) -> Vec<&'s ScopeColumn> {
    let wanted = fold(ident);
    for exact in [true, false] {
        let found: Vec<_> = columns.iter().filter(|c| matches(&c.name, &wanted, ident, exact)).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

fn unique(found: &[&ScopeColumn], ident: &Ident, position: Option<u32>) -> Result<ColumnId> {
    if found.len() > 1 { Err(ambiguous(ident, position)) } else { Ok(found[0].column) }
}

fn ambiguous(ident: &Ident, position: Option<u32>) -> Error {
    let message = format!("column reference \"{}\" is ambiguous", fold(ident));
    Error::new(SqlState::AMBIGUOUS_COLUMN, message).hint("qualify it with the table's name or alias").at(position)
}

impl Names {
    /// The column that a parameter of a lambda is.
    pub(super) fn lambda_parameter(&self, ident: &Ident) -> Option<ColumnId> {
        let wanted = (!self.lambdas.is_empty()).then(|| fold(ident))?;
        self.lambdas.iter().rev().find(|parameter| parameter.name == wanted).map(|parameter| parameter.column)
    }

    /// Whether an expression reads a parameter of a lambda around the current place.
    pub(super) fn reads_lambda(&self, expr: &Expr) -> bool {
        !self.lambdas.is_empty() && expr.uses(|c| self.lambdas.iter().any(|parameter| parameter.column == c))
    }

    /// The column of an unqualified name, in the innermost query that has it.
    pub(super) fn resolve(&self, ident: &Ident, text: &Text<'_>, plan: &mut PlanBuilder) -> Result<Expr> {
        let position = text.at(ident);
        for level in self.levels.iter().rev() {
            let found = candidates(&level.scope.visible, ident);
            if !found.is_empty() {
                return Ok(plan.reference(unique(&found, ident, position)?).at(position));
            }
            if matches!(level.clause, Clause::OrderBy | Clause::Having | Clause::Qualify) && !level.inside_aggregate {
                let wanted = fold(ident);
                let alias = level.aliases.iter().find(|(name, _)| *name == wanted);
                if let Some((_, expr)) = alias.filter(|(_, expr)| !expr.has_subquery()) {
                    if level.is_windowed(expr) {
                        level.check_windows(position)?;
                    }
                    return Ok(expr.clone().at(position));
                }
            }
            if let Some(id) = row_id(level.scope.relations.iter(), ident, position, plan)? {
                return Ok(id);
            }
            let hidden: Vec<ScopeColumn> = level.scope.relations.iter().filter_map(|r| r.hidden.clone()).collect();
            let found = candidates(&hidden, ident);
            if !found.is_empty() {
                return Ok(plan.reference(unique(&found, ident, position)?).at(position));
            }
        }
        let named = self.levels.iter().rev().find_map(|level| find_relation(&level.scope, ident)?.value);
        match named {
            Some(column) => Ok(plan.reference(column).at(position)),
            None => match self.item_before(&fold(ident)) {
                Some(expr) => Ok(expr.clone().at(position)),
                None => Err(self.undefined(&fold(ident), None).at(position)),
            },
        }
    }

    /// The item of a select list that has this name, for the items behind it and WHERE, where nothing else has, as DuckDB has it.
    fn item_before(&self, name: &str) -> Option<&Expr> {
        self.levels.iter().rev().find_map(|level| {
            let is_seen = matches!(level.clause, Clause::Select | Clause::Where);
            let (_, expr) = level.aliases.iter().find(|(alias, _)| is_seen && alias == name)?;
            let above = level.above_groups();
            // What is computed twice must be the same, and an aggregate has none within it.
            let is_of_rows = !expr.uses(|column| above.contains(&column)) && !level.is_windowed(expr);
            let may_be = is_of_rows || level.clause == Clause::Select && !level.inside_aggregate;
            (may_be && !expr.is_volatile() && !expr.has_subquery()).then_some(expr)
        })
    }

    /// The column of a qualified name.
    pub(super) fn resolve_qualified(
        &self,
        table: &Ident,
        ident: &Ident,
        text: &Text<'_>,
        plan: &mut PlanBuilder,
    ) -> Result<Expr> {
        let position = text.at(table);
        for level in self.levels.iter().rev() {
            if let Some(relation) = find_relation(&level.scope, table) {
                let found = candidates(&relation.columns, ident);
                if found.is_empty() {
                    if let Some(id) = row_id([relation].into_iter(), ident, position, plan)? {
                        return Ok(id);
                    }
                    if let Some(hidden) = relation.hidden.as_ref().filter(|hidden| hidden.name == fold(ident)) {
                        return Ok(plan.reference(hidden.column).at(position));
                    }
                    return Err(self.undefined(&fold(ident), Some(relation)).at(position));
                }
                return Ok(plan.reference(unique(&found, ident, position)?).at(position));
            }
        }
        let name = fold(table);
        let mut error =
            Error::new(SqlState::UNDEFINED_TABLE, format!("missing FROM-clause entry for table \"{name}\""))
                .at(position);
        let known = self.levels.iter().flat_map(|l| &l.scope.relations).filter_map(|r| r.name.as_deref());
        if let Some(near) = nearest_name(&name, known) {
            error = error.hint(format!("perhaps you meant the table \"{near}\""));
        }
        Err(error)
    }

    fn undefined(&self, name: &str, relation: Option<&Relation>) -> Error {
        let full = match relation.and_then(|r| r.name.as_deref()) {
            Some(table) => format!("column {table}.{name} does not exist"),
            None => format!("column \"{name}\" does not exist"),
        };
        let error = Error::new(SqlState::UNDEFINED_COLUMN, full);
        let near = match relation {
            Some(relation) => nearest_name(name, relation.columns.iter().map(|c| c.name.as_str())),
            None => {
                nearest_name(name, self.levels.iter().rev().flat_map(|l| &l.scope.visible).map(|c| c.name.as_str()))
            }
        };
        match near {
            Some(near) if near.to_lowercase() == *near => {
                error.hint(format!("perhaps you meant the column \"{near}\""))
            }
            Some(near) => error.hint(format!("perhaps you meant the column \"{near}\", in double quotes")),
            None => error,
        }
    }
}

/// The ids of the rows of a stored table, which have names that are no column's: PostgreSQL's and DuckDB's.
fn row_id<'s>(
    relations: impl Iterator<Item = &'s Relation>,
    ident: &Ident,
    position: Option<u32>,
    plan: &mut PlanBuilder,
) -> Result<Option<Expr>> {
    if fold(ident) == TABLE_NUMBER {
        return table_number(relations, ident, position, plan);
    }
    if !["ctid", "rowid"].contains(&fold(ident).as_str()) {
        return Ok(None);
    }
    let mut tables = relations.filter_map(|relation| relation.rows);
    let Some(table) = tables.next() else { return Ok(None) };
    match tables.next() {
        Some(_) => Err(ambiguous(ident, position)),
        None => Ok(plan.row_id(table).map(|id| plan.reference(id).at(position))),
    }
}

/// What PostgreSQL calls the number of the table that a row is of.
pub(super) const TABLE_NUMBER: &str = "tableoid";

/// The number of the table that a row is of: NULL where an outer join has found none.
fn table_number<'s>(
    relations: impl Iterator<Item = &'s Relation>,
    ident: &Ident,
    position: Option<u32>,
    plan: &mut PlanBuilder,
) -> Result<Option<Expr>> {
    let mut tables = relations.filter_map(|relation| Some((relation.number?, relation.rows)));
    let Some((number, rows)) = tables.next() else { return Ok(None) };
    if tables.next().is_some() {
        return Err(ambiguous(ident, position));
    }
    let number = Expr::constant(Value::Int(number), SqlType::BigInt);
    let Some(id) = rows.and_then(|table| plan.row_id(table)) else { return Ok(Some(number.at(position))) };
    let is_none = Expr::new(ExprKind::IsNull(Box::new(plan.reference(id))), SqlType::Bool);
    let branches = vec![(is_none, Expr::constant(Value::Null, SqlType::BigInt))];
    let case = ExprKind::Case { branches, otherwise: Box::new(number) };
    Ok(Some(Expr::new(case, SqlType::BigInt).at(position)))
}

/// The relation of that name.
pub(super) fn find_relation<'s>(scope: &'s Scope, table: &Ident) -> Option<&'s Relation> {
    let wanted = fold(table);
    let by = |exact: bool| {
        scope.relations.iter().find(|r| r.name.as_deref().is_some_and(|name| matches(name, &wanted, table, exact)))
    };
    by(true).or_else(|| by(false))
}
