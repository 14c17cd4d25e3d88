//! From a body's tree to a program: names of variables become slots, labels numbers.

mod actions;
mod block;
mod control;
mod cursor;

use std::collections::HashMap;
use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::{Field, Language, Mode, Name, Returns, Routine};
use sql::procedure as tree;
use types::SqlType;

use super::embedded::Embedded;
use super::place_of;
use super::program::{Action, BoundCursor, Into, Place, Program, Query, Step, plain_types};
use super::scope::{Kind, Scope, Variable, kind_of};
use super::trigger::VARIABLES;
use crate::definitions::{full_name, quoted};
use crate::environment::Environment;

/// The variables that a routine begins with.
struct Parameters {
    /// What it is given.
    given: Vec<usize>,
    /// NEW and OLD of a trigger's function.
    rows: Vec<usize>,
    /// What comes out.
    results: Vec<usize>,
    found: usize,
}

/// What a body is compiled with.
struct Compiler<'a> {
    environment: &'a Environment,
    variables: Vec<Variable>,
    domains: HashMap<usize, Embedded>,
    domains_of_fields: HashMap<usize, Vec<(usize, Embedded)>>,
    cursors: HashMap<usize, BoundCursor>,
    scope: Arc<Scope>,
    /// Loops and blocks around the place: label, number, and whether it is a loop.
    around: Vec<(Option<String>, usize, bool)>,
    numbers: usize,
}

/// A function or procedure in the procedural language.
pub(super) fn procedural(environment: &Environment, routine: &Arc<Routine>) -> Result<Program> {
    let body = tree::parse_body(&routine.body).map_err(Error::nowhere)?;
    let mut compiler = Compiler::new(environment);
    let parameters = compiler.parameters(routine);
    let body = compiler.block(&body)?;
    let body = vec![Step { line: 0, action: Action::Block(Box::new(body)) }];
    Ok(compiler.program(routine, parameters, body))
}

/// A function or procedure of statements of SQL.
pub(super) fn statements(environment: &Environment, routine: &Arc<Routine>) -> Result<Program> {
    let mut compiler = Compiler::new(environment);
    let parameters = compiler.parameters(routine);
    let pieces = sql::split(&routine.body);
    let last = pieces.len().saturating_sub(1);
    let mut body = Vec::with_capacity(pieces.len());
    for (at, piece) in pieces.into_iter().enumerate() {
        let line = at as u32 + 1;
        let embedded = compiler.sql(&routine.body[piece.range]);
        let is_result = at == last && (routine.returns != Returns::Nothing);
        let action = match is_result {
            true => Action::ReturnQuery(Query::Written(embedded)),
            false => Action::Perform(embedded),
        };
        body.push(Step { line, action });
    }
    Ok(compiler.program(routine, parameters, body))
}

/// DO.
pub(super) fn anonymous(environment: &Environment, body: &tree::Block) -> Result<Program> {
    let mut compiler = Compiler::new(environment);
    let found = compiler.found();
    let block = compiler.block(body)?;
    Ok(Program {
        place: "PL/pgSQL function inline_code_block".to_owned(),
        catalogs: environment.catalogs().each_ref().map(Arc::downgrade),
        routine: None,
        plain: plain_types(&compiler.variables, &compiler.domains),
        variables: compiler.variables,
        domains: compiler.domains,
        domains_of_fields: compiler.domains_of_fields,
        cursors: compiler.cursors,
        given: Vec::new(),
        rows: Vec::new(),
        results: Vec::new(),
        found,
        columns: Arc::new([]),
        body: vec![Step { line: 0, action: Action::Block(Box::new(block)) }],
        is_sql: false,
    })
}

fn columns_of(routine: &Routine) -> Arc<[Field]> {
    routine.columns().into()
}

impl<'a> Compiler<'a> {
    fn new(environment: &'a Environment) -> Self {
        let scope = Arc::new(Scope::default());
        let (domains, domains_of_fields, cursors) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (variables, around) = (Vec::new(), Vec::new());
        Self { environment, variables, domains, domains_of_fields, cursors, scope, around, numbers: 0 }
    }

    fn variable(&mut self, name: &str, kind: Kind) -> usize {
        let (name, is_constant, not_null) = (name.to_owned(), false, false);
        self.variables.push(Variable { name, kind, is_constant, not_null });
        self.variables.len() - 1
    }

    /// A variable is of a domain, whose name is given as SQL.
    fn is_of_domain(&mut self, slot: usize, domain: &str) {
        // Checks of domains know VALUE as something else.
        let name = format!("__domain__{slot}");
        let scope = Arc::new(Scope { label: None, names: vec![(name.clone(), slot)], around: None });
        self.domains.insert(slot, Embedded::new(format!("SELECT CAST({name} AS {domain})"), scope));
    }

    /// The fields of a variable are of domains, each if it has one.
    fn has_fields_of_domains(&mut self, slot: usize, domains: &[Option<Name>]) {
        let Kind::Row(fields) = &self.variables[slot].kind else { return };
        let name = format!("__domain__{slot}");
        let scope = Arc::new(Scope { label: None, names: vec![(name.clone(), slot)], around: None });
        let of = |(at, (field, domain)): (usize, (&Field, &Option<Name>))| {
            let (schema, domain) = domain.as_ref()?;
            let sql = format!("SELECT CAST({name}.{} AS {})", quoted(&field.name), full_name(schema, domain));
            Some((at, Embedded::new(sql, scope.clone())))
        };
        let checked: Vec<_> = fields.iter().zip(domains).enumerate().filter_map(of).collect();
        if !checked.is_empty() {
            self.domains_of_fields.insert(slot, checked);
        }
    }

    /// FOUND, in the outermost scope.
    fn found(&mut self) -> usize {
        let found = self.variable("found", Kind::Scalar(SqlType::Bool));
        self.scope = Arc::new(Scope { label: None, names: vec![("found".to_owned(), found)], around: None });
        found
    }

    /// The program of a routine with these parameters.
    fn program(
        self,
        routine: &Arc<Routine>,
        Parameters { given, rows, results, found }: Parameters,
        body: Vec<Step>,
    ) -> Program {
        Program {
            place: place_of(routine),
            catalogs: self.environment.catalogs().each_ref().map(Arc::downgrade),
            routine: Some(routine.clone()),
            plain: plain_types(&self.variables, &self.domains),
            variables: self.variables,
            domains: self.domains,
            domains_of_fields: self.domains_of_fields,
            cursors: self.cursors,
            given,
            rows,
            results,
            found,
            columns: columns_of(routine),
            body,
            is_sql: matches!(routine.language, Language::Sql),
        }
    }

    /// The parameters, by name and number, in a scope that the routine's name qualifies: those given, those that come out, FOUND.
    fn parameters(&mut self, routine: &Routine) -> Parameters {
        let found = self.found();
        let (mut given, mut rows, mut results, mut names) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        if routine.returns == Returns::Trigger {
            let argv = ("tg_argv", SqlType::array_of(SqlType::Text));
            for (name, sql_type) in VARIABLES.into_iter().chain([argv]) {
                let slot = self.variable(name, Kind::Scalar(sql_type));
                names.push((name.to_owned(), slot));
                given.push(slot);
            }
            for name in ["new", "old"] {
                let slot = self.variable(name, Kind::Record);
                names.push((name.to_owned(), slot));
                rows.push(slot);
            }
        }
        for parameter in &routine.parameters {
            let slot = self.variable(parameter.name.as_deref().unwrap_or(""), kind_of(parameter.sql_type));
            if let (Some((schema, name)), Kind::Scalar(_)) = (&parameter.domain, &self.variables[slot].kind) {
                self.is_of_domain(slot, &full_name(schema, name));
            }
            if let Some((schema, name)) = &parameter.domain {
                let domain = self.environment.catalog().domain(Some(schema), name).map(|(_, of)| of.fields.clone());
                self.has_fields_of_domains(slot, &domain.unwrap_or_default());
            }
            names.extend(parameter.name.clone().map(|name| (name, slot)));
            if parameter.mode != Mode::Table {
                let number = format!("${}", names.iter().filter(|(name, _)| name.starts_with('$')).count() + 1);
                if self.variables[slot].name.is_empty() {
                    self.variables[slot].name.clone_from(&number);
                }
                names.push((number, slot));
            }
            if parameter.mode.is_given() {
                given.push(slot);
            }
            if parameter.mode.is_result() {
                results.push(slot);
            }
        }
        let around = Some(self.scope.clone());
        self.scope = Arc::new(Scope { label: Some(routine.name.clone()), names, around });
        Parameters { given, rows, results, found }
    }

    fn sql(&self, text: &str) -> Embedded {
        Embedded::new(text.to_owned(), self.scope.clone())
    }

    fn statement(&self, sql: &tree::Sql) -> Embedded {
        self.sql(&sql.text)
    }

    fn expression(&self, sql: &tree::Sql) -> Embedded {
        self.sql(&format!("SELECT {}", sql.text))
    }

    fn expressions(&self, all: &[tree::Sql]) -> Vec<Embedded> {
        all.iter().map(|sql| self.expression(sql)).collect()
    }

    fn query(&self, query: &tree::Query) -> Query {
        match query {
            tree::Query::Written(sql) => Query::Written(self.statement(sql)),
            tree::Query::Made(text, using) => Query::Made(self.expression(text), self.expressions(using)),
        }
    }

    fn number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers
    }

    fn place(&self, target: &tree::Target) -> Result<Place> {
        let shown = target.name.join(".");
        let Some((slot, field)) = self.scope.resolve(&target.name) else { return Err(no_variable(&shown)) };
        if self.variables[slot].is_constant {
            let message = format!("variable \"{shown}\" is declared CONSTANT");
            return Err(Error::new(SqlState("22005"), message));
        }
        let subscript = target.subscript.as_ref().map(|sql| self.expression(sql));
        Ok(Place { slot, field, subscript, shown })
    }

    fn places(&self, targets: &[tree::Target]) -> Result<Vec<Place>> {
        targets.iter().map(|target| self.place(target)).collect()
    }

    fn targets(&self, into: Option<&tree::Into>) -> Result<Option<Into>> {
        let into = into.map(|into| Ok(Into { strict: into.strict, places: self.places(&into.targets)? }));
        into.transpose()
    }
}

/// 42601, as PostgreSQL has it.
#[cold]
fn no_variable(name: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, format!("\"{name}\" is not a known variable"))
}
