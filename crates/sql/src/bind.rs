//! The binder: names become columns, every expression gets its type, every implicit cast is written out.

mod argument;
mod coerce;
mod definition;
mod expr;
mod from;
mod group;
mod insert;
mod join;
mod order;
mod query;
mod scope;
mod select;
mod set_operation;
mod statement;
mod type_name;
mod values;

use std::collections::HashSet;
use std::rc::Rc;

use base::{Error, IdMap, Result, SqlState};
use plan::{ColumnId, ColumnInfo, Cte, CteId, Expr, Node, Op, Plan, TableId, TableInfo};
use sqlparser::ast::{self, Ident};
use types::{SqlType, Value};

use crate::position::Positions;
use crate::{ObjectName, Parsed, Resolver, Statement};
use scope::Level;

pub use argument::{ArgumentSource, ArgumentUse, ArgumentValue};

/// Deepest nesting of expressions and queries (views included).
const MAX_DEPTH: usize = 160;
/// Deepest plan; see [`Plan::depth`].
const MAX_PLAN_DEPTH: usize = 10_000;
/// Most expressions to bind, besides eight for each byte of the text.
const MAX_WORK: usize = 200_000;
/// Deepest nesting of views.
const MAX_VIEWS: usize = 32;

/// Binds a statement. `$1` is `parameters[0]`; parameters of type text adapt as string literals do.
///
/// Errors: 42P01 and 58P01 for missing tables and files, 42703 and 42702 for columns, 42883 for functions and operators,
/// 42804 and 42846 for types, 42803 for grouping, 22xxx for constants that are no values of their type, 0A000 for SQL that
/// MorselDB does not have, 54001 for what is nested too deeply.
pub fn bind(parsed: &Parsed, resolver: &dyn Resolver, parameters: &[(Value, SqlType)]) -> Result<Statement> {
    statement(parsed, resolver, parameters, None).map(|(statement, _)| statement)
}

/// As [`bind`], but with literals and parameters as arguments of the plan where nothing follows from their values: the
/// uses of these, by [`ArgumentId`](plan::ArgumentId). A statement may be an error this way only because two literals that
/// must agree (of SELECT and GROUP BY) are two arguments.
pub fn bind_open(
    parsed: &Parsed,
    resolver: &dyn Resolver,
    parameters: &[(Value, SqlType)],
) -> Result<(Statement, Vec<ArgumentUse>)> {
    statement(parsed, resolver, parameters, Some(Vec::new()))
}

fn statement(
    parsed: &Parsed,
    resolver: &dyn Resolver,
    parameters: &[(Value, SqlType)],
    arguments: Option<Vec<ArgumentUse>>,
) -> Result<(Statement, Vec<ArgumentUse>)> {
    if parameters.len() > parsed.placeholders {
        let message = format!("{} parameters were given, the statement has {}", parameters.len(), parsed.placeholders);
        return Err(
            Error::new(SqlState::PROTOCOL_VIOLATION, message).hint("$1 or the first ? stands for the first one")
        );
    }
    let mut binder = Binder::new(Some(&parsed.positions), resolver, parameters);
    binder.work += 8 * parsed.text.len();
    binder.arguments = arguments;
    let bound = binder.statement(&parsed.ast, &parsed.text)?;
    Ok((bound, binder.arguments.unwrap_or_default()))
}

/// A common table expression in scope.
struct CteBinding {
    name: String,
    /// Names that its alias gives to its columns.
    columns: Vec<Ident>,
    query: Rc<ast::Query>,
    /// Number of levels and of common table expressions that its query sees.
    levels: usize,
    visible: usize,
    inline: bool,
    /// Once materialised: its id, and its output's names and columns.
    materialised: Option<(CteId, Vec<(String, ColumnId)>)>,
}

struct Binder<'a> {
    positions: Option<&'a Positions>,
    resolver: &'a dyn Resolver,
    parameters: &'a [(Value, SqlType)],
    /// Uses of arguments, if the plan is to have any.
    arguments: Option<Vec<ArgumentUse>>,
    columns: IdMap<ColumnId, ColumnInfo>,
    tables: IdMap<TableId, TableInfo>,
    ctes: IdMap<CteId, Cte>,
    /// Columns that some outer join pads with NULLs.
    padded: HashSet<ColumnId>,
    /// Queries around the current place, outermost first.
    levels: Vec<Level>,
    /// Common table expressions in scope; later ones hide earlier ones.
    environment: Vec<CteBinding>,
    depth: usize,
    /// How many views are around the current place.
    views: usize,
    /// What the statement's own text names in FROM.
    reads: Vec<ObjectName>,
    /// Expressions that may still be bound.
    work: usize,
}

/// A bound query: its operators and its output.
struct Bound {
    node: Node,
    output: Vec<Output>,
}

/// A column of a query's result.
#[derive(Clone)]
struct Output {
    name: String,
    column: ColumnId,
    /// The untyped literal that it is: it can still become any type.
    literal: Option<Expr>,
}

impl<'a> Binder<'a> {
    fn new(positions: Option<&'a Positions>, resolver: &'a dyn Resolver, parameters: &'a [(Value, SqlType)]) -> Self {
        Self {
            positions,
            resolver,
            parameters,
            arguments: None,
            columns: IdMap::new(),
            tables: IdMap::new(),
            ctes: IdMap::new(),
            padded: HashSet::new(),
            levels: Vec::new(),
            environment: Vec::new(),
            depth: 0,
            views: 0,
            reads: Vec::new(),
            work: MAX_WORK,
        }
    }

    /// Binds a query that is a statement's, with its untyped columns as text.
    fn plan(&mut self, query: &ast::Query) -> Result<Plan> {
        let bound = self.query(query)?;
        let bound = self.with_known_types(bound);
        self.finish(bound)
    }

    /// The plan of everything bound so far.
    fn finish(&mut self, bound: Bound) -> Result<Plan> {
        let plan = Plan {
            columns: std::mem::take(&mut self.columns),
            tables: std::mem::take(&mut self.tables),
            ctes: std::mem::take(&mut self.ctes),
            root: bound.node,
            output: bound.output.into_iter().map(|o| (o.name, o.column)).collect(),
        };
        if plan.depth() > MAX_PLAN_DEPTH {
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "the statement is too complex")
                .detail(format!("its expressions, taken together, nest more than {MAX_PLAN_DEPTH} deep"))
                .hint("split it with CREATE TABLE AS"));
        }
        Ok(plan)
    }

    /// Output columns without a type (literals, bare NULLs) become text.
    fn with_known_types(&mut self, bound: Bound) -> Bound {
        let types: Vec<SqlType> = bound
            .output
            .iter()
            .map(|o| match self.columns[o.column].sql_type {
                SqlType::Null => SqlType::Text,
                known => known,
            })
            .collect();
        self.with_types(bound, &types).expect("every literal is a text")
    }

    /// The query with its output cast to `types`, one for each column.
    fn with_types(&mut self, bound: Bound, types: &[SqlType]) -> Result<Bound> {
        let Bound { mut node, mut output } = bound;
        let mut computed = Vec::new();
        for (output, &to) in output.iter_mut().zip(types) {
            let from = self.columns[output.column].sql_type;
            if from == to {
                continue;
            }
            let expr = match output.literal.take() {
                Some(literal) => literal,
                None => Expr::column(output.column, from),
            };
            let expr = self.cast_to(expr, to)?;
            let column = self.column_for(&output.name, &expr);
            computed.push((column, expr));
            output.column = column;
        }
        if !computed.is_empty() {
            node = Node::new(Op::Map { input: Box::new(node), columns: computed });
        }
        Ok(Bound { node, output })
    }

    /// A new column that holds the value of `expr`.
    fn column_for(&mut self, name: &str, expr: &Expr) -> ColumnId {
        let nullable = self.is_nullable(expr);
        self.columns.push(ColumnInfo { name: name.to_owned(), sql_type: expr.sql_type, nullable })
    }

    fn is_nullable(&self, expr: &Expr) -> bool {
        expr.is_nullable(&|c| self.is_nullable_column(c))
    }

    fn is_nullable_column(&self, column: ColumnId) -> bool {
        self.columns[column].nullable || self.padded.contains(&column)
    }

    fn reference(&self, column: ColumnId) -> Expr {
        Expr::column(column, self.columns[column].sql_type)
    }

    /// Byte offset of an identifier.
    fn at(&self, ident: &Ident) -> Option<u32> {
        self.positions.and_then(|p| p.ident(ident))
    }

    /// Byte offset where a span starts.
    fn span(&self, span: sqlparser::tokenizer::Span) -> Option<u32> {
        self.positions.and_then(|p| p.start(span))
    }

    /// Runs `work` one level deeper, unless that is too deep.
    fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "the statement is too deeply nested")
                .hint("split it with common table expressions or views"));
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }
}

/// An identifier as the catalog knows it: folded to lower case unless it was quoted.
fn fold(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

/// 0A000 at a position.
fn unsupported<T>(what: impl std::fmt::Display, position: Option<u32>) -> Result<T> {
    Err(Error::unsupported(what).at(position))
}
