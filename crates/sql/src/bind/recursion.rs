//! WITH RECURSIVE: a query that reads itself becomes a recursion (decision 41), with PostgreSQL's rules of where it may do so.
//!
//! While the recursive term is bound, the scan of its working table has a number that no common table expression has yet, as the
//! parts of the term get theirs first.

use std::rc::Rc;

use base::ids::Id;
use base::{Error, Result, SqlState};
use plan::{ColumnId, ColumnInfo, Cte, CteId, Node, Op, SetOperation};
use sqlparser::ast::{self, SetExpr, SetOperator, SetQuantifier, TableAlias};
use types::SqlType;

use super::from::FromItem;
use super::scope::{Recursing, Relation, Scope, ScopeColumn, SelfReference};
use super::{Binder, Bound, Output, unsupported};

/// Digits of a working table's decimals: those that rounds add up to are not known beforehand.
const MOST_DIGITS: u8 = 38;

impl Binder<'_> {
    /// The id and output of a common table expression that may read itself.
    pub(super) fn recursive_query(&mut self, index: usize) -> Result<(CteId, Vec<(String, ColumnId)>)> {
        let binding = &self.names.environment[index];
        let (query, name, levels) = (Rc::clone(&binding.query), binding.name.clone(), binding.levels);
        let hidden_levels = self.names.levels.split_off(levels.min(self.names.levels.len()));
        let hidden_ctes = self.names.environment.split_off(index + 1);
        let place = std::mem::take(&mut self.names.self_reference);
        let bound = self.deeper(|b| b.recursive_body(&query, index));
        self.names.self_reference = place;
        self.names.environment.truncate(index + 1);
        self.names.environment[index].recursing = None;
        self.names.environment.extend(hidden_ctes);
        self.names.levels.extend(hidden_levels);
        let Bound { node, output } = bound?;
        if !node.free_columns().is_empty() {
            return unsupported("a recursive query that refers to columns of the query around it", None);
        }
        let output: Vec<(String, ColumnId)> = output.into_iter().map(|o| (o.name, o.column)).collect();
        let columns = node.columns();
        let working = working_table(index);
        let id = self.plan.ctes.push(Cte { name, plan: node, columns });
        for (_, cte) in self.plan.ctes.iter_mut() {
            settle(&mut cte.plan, working, id);
        }
        Ok((id, output))
    }

    fn recursive_body(&mut self, query: &ast::Query, index: usize) -> Result<Bound> {
        let not_implemented = |what: &str| Err(Error::unsupported(format!("{what} in a recursive query")));
        if query.order_by.is_some() {
            return not_implemented("ORDER BY");
        }
        if query.limit_clause.is_some() || query.fetch.is_some() {
            return not_implemented("LIMIT or OFFSET");
        }
        if !query.locks.is_empty() {
            return not_implemented("FOR UPDATE or FOR SHARE");
        }
        self.with_clause(query)?;
        match query.body.as_ref() {
            SetExpr::Query(inner) => self.recursive_body(inner, index),
            SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, left, right } => {
                let all = match set_quantifier {
                    SetQuantifier::All => true,
                    SetQuantifier::Distinct | SetQuantifier::None => false,
                    _ => return unsupported("BY NAME in a recursive query", None),
                };
                self.terms(left, right, all, index)
            }
            _ => {
                let what = "does not have the form non-recursive-term UNION [ALL] recursive-term";
                Err(self.no_recursion(SqlState::INVALID_RECURSION, index, what))
            }
        }
    }

    fn no_recursion(&self, state: SqlState, index: usize, what: &str) -> Error {
        let name = &self.names.environment[index].name;
        Error::new(state, format!("recursive query \"{name}\" {what}"))
    }

    /// Binds both terms. The first one says the names and types of the columns.
    fn terms(&mut self, first: &SetExpr, term: &SetExpr, all: bool, index: usize) -> Result<Bound> {
        self.names.environment[index].recursing = Some(Recursing::FirstTerm);
        let first = self.set_expr(first)?;
        let first = self.plan.with_known_types(first);
        let types: Vec<SqlType> =
            first.output.iter().map(|o| working_type(self.plan.columns[o.column].sql_type)).collect();
        let mut first = self.plan.with_types(first, &types)?;
        self.name_output(&mut first, index)?;
        let nullable = first.output.iter().map(|o| self.plan.is_nullable_column(o.column)).collect();
        // A column without NULLs stays without if the recursive term makes none of those that are not there.
        let before = self.plan.clone();
        let (bound, holds) = self.recursive_term(&first, (&types, nullable), term, all, index)?;
        if holds {
            return Ok(bound);
        }
        // What the term was the first to read is read again.
        let known = before.ctes.len();
        for binding in &mut self.names.environment {
            binding.materialised.take_if(|(cte, _)| cte.index() >= known);
        }
        self.plan = before;
        Ok(self.recursive_term(&first, (&types, vec![true; types.len()]), term, all, index)?.0)
    }

    /// Binds the recursive term with a working table whose columns have these types, and may be NULL or not. And whether its own
    /// columns hold to the latter.
    fn recursive_term(
        &mut self,
        first: &Bound,
        (types, nullable): (&[SqlType], Vec<bool>),
        term: &SetExpr,
        all: bool,
        index: usize,
    ) -> Result<(Bound, bool)> {
        let infos = first.output.iter().zip(types).zip(&nullable);
        let infos = infos.map(|((o, &sql_type), &nullable)| ColumnInfo { name: o.name.clone(), sql_type, nullable });
        let columns: Vec<ColumnId> = infos.map(|info| self.plan.columns.push(info)).collect();
        let named = |(o, &column): (&Output, &ColumnId)| Output { name: o.name.clone(), column, literal: None };
        let output: Vec<Output> = first.output.iter().zip(&columns).map(named).collect();
        let working = output.iter().map(|o| (o.name.clone(), o.column)).collect();
        self.names.environment[index].recursing = Some(Recursing::Term { output: working, read: false });
        let term = self.set_expr(term)?;
        let first = Bound { node: first.node.clone(), output: first.output.clone() };
        let both = self.plan.combine(SetOperation::Union, all, vec![first, term])?;
        for (number, (output, &own)) in both.output.iter().zip(types).enumerate() {
            let overall = self.plan.columns[output.column].sql_type;
            if overall != own {
                let what =
                    format!("column {} has type {own} in non-recursive term but type {overall} overall", number + 1);
                return Err(self
                    .no_recursion(SqlState::DATATYPE_MISMATCH, index, &what)
                    .hint("Cast the output of the non-recursive term to the correct type."));
            }
        }
        let holds = both.output.iter().zip(&nullable).all(|(o, &may)| may || !self.plan.is_nullable_column(o.column));
        let Op::SetOp { inputs, .. } = both.node.op else { return Err(Error::internal("a union that is none")) };
        let node = Node::new(Op::Recursion { cte: working_table(index), all, inputs, columns });
        Ok((Bound { node, output }, holds))
    }

    /// The scan of the working table of a query that is being bound.
    pub(super) fn working_scan(
        &mut self,
        index: usize,
        alias: Option<&TableAlias>,
        position: Option<u32>,
    ) -> Result<FromItem> {
        let name = self.names.environment[index].name.clone();
        let misplaced = |place: &str| {
            let message = format!("recursive reference to query \"{name}\" must not appear {place}");
            Err(Error::new(SqlState::INVALID_RECURSION, message).at(position))
        };
        if self.names.environment[index + 1..].iter().any(|c| c.recursing.is_some()) {
            return Err(Error::unsupported("a recursive query in the recursive term of another one that reads both")
                .at(position));
        }
        if let Some(place) = self.names.self_reference.misplaced() {
            return misplaced(place);
        }
        let output = match &mut self.names.environment[index].recursing {
            Some(Recursing::Term { output, read }) if !*read => {
                *read = true;
                output.clone()
            }
            Some(Recursing::Term { .. }) => return misplaced("more than once"),
            _ => return misplaced("within its non-recursive term"),
        };
        let (mut columns, mut named) = (Vec::new(), Vec::new());
        for (name, from) in output {
            let info = self.plan.columns[from].clone();
            let column = self.plan.columns.push(info);
            columns.push((from, column));
            named.push(ScopeColumn { name, column });
        }
        if let Some(level) = self.names.levels.last_mut() {
            level.reads_itself = true;
        }
        let relation = self.text.aliased(Relation { name: Some(name), columns: named, value: None }, alias)?;
        let node = Node::new(Op::CteScan { cte: working_table(index), columns });
        Ok(FromItem { node, scope: Scope::of(relation) })
    }

    /// Runs `work` where a recursive query must not read itself.
    pub(super) fn not_recursive<T>(&mut self, place: SelfReference, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.names.self_reference;
        if outer == SelfReference::Allowed {
            self.names.self_reference = place;
        }
        let result = work(self);
        self.names.self_reference = outer;
        result
    }
}

/// What the working table of the expression at that place of the environment is called as long as it has no number.
fn working_table(index: usize) -> CteId {
    CteId::from_index(u32::MAX as usize - 1 - index)
}

/// Of decimals only the scale is kept: rounds may come to any number of digits.
fn working_type(own: SqlType) -> SqlType {
    match own {
        SqlType::Decimal { scale, .. } => SqlType::decimal(MOST_DIGITS, scale),
        other => other,
    }
}

/// The working table has its number.
fn settle(node: &mut Node, working: CteId, id: CteId) {
    if let Op::CteScan { cte, .. } | Op::Recursion { cte, .. } = &mut node.op
        && *cte == working
    {
        *cte = id;
    }
    node.inputs_mut().for_each(|input| settle(input, working, id));
}
