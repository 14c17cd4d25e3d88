//! CALLs that come again: parsed once, and bound once for parameters of the same types.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use catalog::{CatalogSnapshot, Routine};
use plan::Expr;
use plan::eval::{self, Found, RowExpr};
use sql::Statement;
use types::{SqlType, Value};

use crate::environment::Environment;
use crate::resolver::Resolver;

/// Most lists of types that a text is bound for.
const MOST_BOUND: usize = 8;

/// A parameter's value and type.
type Parameter = (Value, SqlType);

/// The text of a CALL.
pub(crate) struct KnownCall {
    pub parsed: sql::Parsed,
    bound: Mutex<Vec<Arc<BoundCall>>>,
}

/// What it calls with parameters of these types, and with what.
struct BoundCall {
    catalogs: [Weak<CatalogSnapshot>; 2],
    settings: u64,
    types: Vec<SqlType>,
    routine: Arc<Routine>,
    /// Over the numbers of parameters.
    arguments: Vec<RowExpr<usize>>,
}

impl KnownCall {
    pub fn new(parsed: sql::Parsed) -> Self {
        Self { parsed, bound: Mutex::default() }
    }

    /// The procedure and its arguments; none if it has to be bound with these parameters.
    pub fn bound(&self, environment: &Environment, parameters: &[Parameter]) -> Option<(Arc<Routine>, Vec<Value>)> {
        if environment.block.as_ref().is_some_and(|block| block.is_told()) {
            return None;
        }
        let mut all = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.iter().find(|known| known.holds(environment, parameters)) {
            let known = known.clone();
            drop(all);
            return Some((known.routine.clone(), known.arguments(parameters)?));
        }
        let made = BoundCall::new(&self.parsed, environment, parameters)?;
        let call = (made.routine.clone(), made.arguments(parameters)?);
        all.truncate(MOST_BOUND - 1);
        all.insert(0, Arc::new(made));
        Some(call)
    }
}

impl BoundCall {
    /// None if it means something else where parameters are values.
    fn new(parsed: &sql::Parsed, environment: &Environment, parameters: &[Parameter]) -> Option<Self> {
        let number = |name: &[String]| match name {
            [name] => name.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1),
            _ => None,
        };
        let find = |name: &[String]| Ok(number(name).and_then(|at| Some((at, parameters.get(at)?.1))));
        let resolver = Resolver::new(environment).seeing(&find);
        let call = sql::call_within(parsed, &resolver).ok()??;
        if resolver.has_asked_now() || call.arguments.iter().any(Expr::is_volatile) {
            return None;
        }
        let place = |column| call.columns.iter().find(|(known, _)| *known == column).map(|(_, at)| *at);
        let made = Self {
            catalogs: environment.catalogs().each_ref().map(Arc::downgrade),
            settings: environment.settings.of_plans(),
            types: parameters.iter().map(|parameter| parameter.1).collect(),
            routine: call.routine,
            arguments: call.arguments.iter().map(|argument| RowExpr::new(argument, &place)).collect(),
        };
        // A text, say, is a literal where it is a parameter: of any type.
        let resolver = Resolver::new(environment);
        let Statement::Call { routine, arguments } = sql::bind(parsed, &resolver, parameters).ok()? else {
            return None;
        };
        let (values, own) = (arguments.iter().map(eval::constant), made.arguments(parameters)?);
        let is_same = routine.number == made.routine.number
            && arguments.len() == own.len()
            && values.zip(&own).all(|(value, own)| value.is_ok_and(|value| value.is_identical(own)));
        is_same.then_some(made)
    }

    fn holds(&self, environment: &Environment, parameters: &[Parameter]) -> bool {
        self.settings == environment.settings.of_plans()
            && environment.has_catalogs(&self.catalogs)
            && self.types.len() == parameters.len()
            && self.types.iter().zip(parameters).all(|(own, (_, now))| own == now)
    }

    /// None if one is an error, which is told with its place.
    fn arguments(&self, parameters: &[Parameter]) -> Option<Vec<Value>> {
        let parameters = Found::by(|number: usize| &parameters[number].0);
        self.arguments.iter().map(|argument| argument.value(&parameters).ok()).collect()
    }
}
