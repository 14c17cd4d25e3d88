//! The binder: names become columns, every expression gets its type, every implicit cast is written out.

mod alter;
mod argument;
mod asof;
mod by_name;
mod change;
mod changing_with;
mod coerce;
mod collation;
mod columns;
mod comment;
mod computed;
mod conjunction;
mod constraint;
mod copies;
mod definition;
mod described;
mod domain;
mod expr;
mod file;
mod foreign_key;
mod from;
mod group;
mod index;
mod inferred;
mod input_order;
mod insert;
mod join;
mod json_order;
mod kin;
mod labelled;
mod like;
mod locking;
mod locking_within;
mod order;
mod output_name;
mod parameters;
mod parts;
mod pivot;
mod positional;
mod prepared;
mod query;
mod query_of_text;
mod recursion;
mod refusal;
mod registered;
mod registered_kind;
mod routine;
mod row_id;
mod rows_from;
mod rule;
mod sample;
mod sample_again;
mod scope;
mod select;
mod sequence;
mod series;
mod set_config;
mod set_operation;
mod shown;
mod slice;
mod statement;
mod summarize;
mod ties;
mod trigger;
mod type_name;
mod unnest;
mod unpivot;
mod user_type;
mod values;
mod variables;
mod window;
mod written;
mod zone;

use base::{Error, Result, SqlState};
use plan::{ColumnId, Expr, Node, Plan};
use sqlparser::ast::{self, Ident};
use types::{SqlType, Value};

use crate::parse::subscripts::Subscripts;
use crate::parse::{Ast, InsertForm, LikeForm, LockAst};
use crate::position::Positions;
use crate::{ObjectName, Parsed, Prepare, Resolver, Statement};
use argument::Arguments;
use parts::{Limits, PlanBuilder, Text};
use scope::Names;
use variables::Variables;

pub use argument::{ArgumentRole, ArgumentSource, ArgumentUse, ArgumentValue, Open};
pub use change::ViewOf;
pub use routine::{column_type, row_type};
pub use type_name::{domains_of_fields, names_domain, type_named};
pub use variables::{CallWithin, Simple, Within, call_within, prepare_within, simple_within};

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
/// must agree (of SELECT and GROUP BY) are two arguments; with [`Open::All`], because a value has to be known.
pub fn bind_open(
    parsed: &Parsed,
    resolver: &dyn Resolver,
    parameters: &[(Value, SqlType)],
    open: Open,
) -> Result<(Statement, Vec<ArgumentUse>)> {
    statement(parsed, resolver, parameters, Some(open))
}

fn statement(
    parsed: &Parsed,
    resolver: &dyn Resolver,
    parameters: &[(Value, SqlType)],
    open: Option<Open>,
) -> Result<(Statement, Vec<ArgumentUse>)> {
    if parameters.len() > parsed.placeholders.count {
        let message =
            format!("{} parameters were given, the statement has {}", parameters.len(), parsed.placeholders.count);
        return Err(
            Error::new(SqlState::PROTOCOL_VIOLATION, message).hint("$1 or the first ? stands for the first one")
        );
    }
    let mut binder = Binder::of(parsed, resolver, parameters);
    if let Some(open) = open {
        binder.arguments.uses = Some(Vec::new());
        binder.arguments.all_parameters = open == Open::All;
        binder.arguments.repeated = argument::repeated(&parsed.text, parameters.len());
    }
    let bound = zone::in_session(resolver, || binder.statement(&parsed.ast, &parsed.text))?;
    if binder.arguments.has_open_slices() {
        return unsupported("an open limit beside another one", None);
    }
    Ok((bound, binder.arguments.uses.unwrap_or_default()))
}

/// Parses a statement and finds the types of its parameters: those that are told, and those that follow from their places,
/// where none is told or it is [`SqlType::Null`]. Error 42P18 for a parameter of which nothing follows.
pub fn prepare(text: &str, resolver: &dyn Resolver, types: &[SqlType]) -> Result<Prepare> {
    let parsed = crate::parse(text)?;
    let mut binder = Binder::of(&parsed, resolver, &[]);
    let Ast::Library(statement) = &parsed.ast else {
        return unsupported("a prepared statement of this kind", Some(parsed.positions.begin()));
    };
    zone::in_session(resolver, || binder.prepared(statement, &parsed.text, types.to_vec()))
}

/// Binds a statement: it walks the syntax, and each of its parts knows one thing about the statement.
struct Binder<'a> {
    text: Text<'a>,
    names: Names,
    plan: PlanBuilder,
    arguments: Arguments<'a>,
    limits: Limits,
    resolver: &'a dyn Resolver,
    /// What the statement's own text names in FROM.
    reads: Vec<ObjectName>,
    /// What INSERT says besides.
    insert: InsertForm,
    /// What CREATE TABLE (LIKE ...) copies.
    like: LikeForm,
    /// How the statement locks rows.
    locks: Vec<LockAst>,
    /// Whether queries within it do.
    locks_within: bool,
    /// The subscripts of columns that SET names.
    subscripts: Subscripts,
    /// What names mean that are no columns.
    variables: Variables,
    /// How many parts the statement has.
    parts: usize,
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
    /// For a statement, with what the parser has carried beside it.
    fn of(parsed: &'a Parsed, resolver: &'a dyn Resolver, parameters: &'a [(Value, SqlType)]) -> Self {
        let mut binder = Self::new(Some(&parsed.positions), resolver, parameters);
        binder.limits.allow(8 * parsed.text.len());
        binder.arguments.placeholders = parsed.placeholders.count;
        binder.arguments.names = &parsed.placeholders.names;
        (binder.insert, binder.like) = (parsed.insert.clone(), parsed.like);
        (binder.locks, binder.locks_within) = (parsed.locks.clone(), parsed.locks_within);
        binder.subscripts = parsed.subscripts.clone();
        binder
    }

    fn new(positions: Option<&'a Positions>, resolver: &'a dyn Resolver, parameters: &'a [(Value, SqlType)]) -> Self {
        Self {
            text: Text { positions },
            names: Names::default(),
            plan: PlanBuilder::default(),
            arguments: Arguments {
                parameters,
                placeholders: 0,
                names: &[],
                uses: None,
                all_parameters: false,
                repeated: Default::default(),
                slices: 0,
                row_numbers: Default::default(),
            },
            limits: Limits::default(),
            resolver,
            reads: Vec::new(),
            insert: InsertForm::default(),
            like: LikeForm::default(),
            locks: Vec::new(),
            locks_within: false,
            subscripts: Vec::new(),
            variables: Variables::None,
            parts: 0,
        }
    }

    /// Binds a query that is a statement's, with its untyped columns as text.
    fn plan_of(&mut self, query: &ast::Query) -> Result<Plan> {
        let bound = self.query(query)?;
        let bound = self.plan.with_known_types(bound);
        self.plan.finish(bound)
    }

    /// As [`plan_of`](Self::plan_of), for whoever shows the rows. Within a routine they are values.
    fn shown_plan_of(&mut self, query: &ast::Query) -> Result<Plan> {
        let bound = self.query(query)?;
        let bound = self.plan.with_known_types(bound);
        let bound = if self.resolver.is_within_routine() { bound } else { self.with_names(bound)? };
        self.plan.finish(bound)
    }

    /// The number of another part of the statement.
    fn next_part(&mut self) -> usize {
        self.parts += 1;
        self.parts - 1
    }

    /// Runs `work` one level deeper, unless that is too deep.
    fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.limits.enter()?;
        let result = work(self);
        self.limits.leave();
        result
    }
}

/// An identifier as the catalog knows it: folded to lower case unless it was quoted.
pub(crate) fn fold(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

/// 0A000 at a position.
fn unsupported<T>(what: impl std::fmt::Display, position: Option<u32>) -> Result<T> {
    Err(Error::unsupported(what).at(position))
}
