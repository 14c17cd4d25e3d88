//! WITH RECURSIVE: a query that reads itself becomes a recursion (decision 41), with PostgreSQL's rules of where it may do so.
//!
//! While the recursive term is bound, the scan of its working table has a number that no common table expression has yet, as the
//! parts of the term get theirs first.

use std::rc::Rc;

use base::ids::Id;
use base::{Error, Result, SqlState};
use plan::{ColumnId, ColumnInfo, Cte, CteId, ExprKind, Node, Op, SetOperation};
use sqlparser::ast::{self, SetExpr, SetOperator, SetQuantifier, TableAlias};
use types::SqlType;

use super::from::FromItem;
use super::parts::PlanBuilder;
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
        let of = |o: &Output| working_type(self.plan.columns[o.column].sql_type, is_constant(&first.node, o.column));
        let mut types: Vec<SqlType> = first.output.iter().map(of).collect();
        let before = self.plan.clone();
        loop {
            let own = Bound { node: first.node.clone(), output: first.output.clone() };
            let mut own = self.plan.with_types(own, &types)?;
            self.name_output(&mut own, index)?;
            match self.term_of_types(&own, &types, term, all, index)? {
                Ok(bound) => return Ok(bound),
                Err(wider) => types = wider,
            }
            self.begin_again(&before);
        }
    }

    /// Binds the recursive term with a working table of these types; the types that it has to have if they are too narrow.
    fn term_of_types(
        &mut self,
        first: &Bound,
        types: &[SqlType],
        term: &SetExpr,
        all: bool,
        index: usize,
    ) -> Result<std::result::Result<Bound, Vec<SqlType>>> {
        let nullable = first.output.iter().map(|o| self.plan.is_nullable_column(o.column)).collect();
        // A column without NULLs stays without if the recursive term makes none of those that are not there.
        let before = self.plan.clone();
        match self.recursive_term(first, (types, nullable), term, all, index)? {
            Term::Bound(bound, true) => return Ok(Ok(bound)),
            Term::Wider(types) => return Ok(Err(types)),
            Term::Bound(_, false) => {}
        }
        self.begin_again(&before);
        match self.recursive_term(first, (types, vec![true; types.len()]), term, all, index)? {
            Term::Bound(bound, _) => Ok(Ok(bound)),
            Term::Wider(types) => Ok(Err(types)),
        }
    }

    /// What the term was the first to read is read again.
    fn begin_again(&mut self, before: &PlanBuilder) {
        let known = before.ctes.len();
        for binding in &mut self.names.environment {
            binding.materialised.take_if(|(cte, _)| cte.index() >= known);
        }
        self.plan = before.clone();
    }

    /// Binds the recursive term with a working table whose columns have these types, and may be NULL or not.
    fn recursive_term(
        &mut self,
        first: &Bound,
        (types, nullable): (&[SqlType], Vec<bool>),
        term: &SetExpr,
        all: bool,
        index: usize,
    ) -> Result<Term> {
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
            if let Some(wider) = wider_numeric(own, overall) {
                let wider = types.iter().enumerate().map(|(at, own)| if at == number { wider } else { *own });
                return Ok(Term::Wider(wider.collect()));
            }
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
        Ok(Term::Bound(Bound { node, output }, holds))
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
        let relation =
            self.text.aliased(Relation { name: Some(name), columns: named, ..Relation::default() }, alias)?;
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

/// A recursive query with its terms bound for some types of its columns.
enum Term {
    /// As it is; and whether columns that are said to have no NULLs have none.
    Bound(Bound, bool),
    /// The term gives numbers of more digits: the types that it takes.
    Wider(Vec<SqlType>),
}

/// Of decimals only the scale is kept: rounds may come to any number of digits. What begins with a constant may grow without end, as a
/// factorial does.
fn working_type(own: SqlType, is_constant: bool) -> SqlType {
    match own {
        SqlType::Decimal { scale, .. } if is_constant => SqlType::numeric_showing(scale.into()),
        SqlType::Decimal { scale, .. } => SqlType::decimal(MOST_DIGITS, scale),
        other => other,
    }
}

/// The type of a working table's numbers where rounds give them more digits behind the point.
fn wider_numeric(own: SqlType, overall: SqlType) -> Option<SqlType> {
    let is_number = |t: SqlType| t.is_decimal() || t.is_long_numeric();
    if own == overall || own == SqlType::NUMERIC || !is_number(own) || !is_number(overall) {
        return None;
    }
    Some(if own.is_decimal() { SqlType::numeric_showing(own.shown_scale()) } else { SqlType::NUMERIC })
}

/// Whether a column is the same constant in all rows.
fn is_constant(node: &Node, column: ColumnId) -> bool {
    let Op::Map { input, columns } = &node.op else { return false };
    match columns.iter().find(|(own, _)| *own == column) {
        Some((_, expr)) => matches!(expr.kind, ExprKind::Const(_)),
        None => is_constant(input, column),
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
